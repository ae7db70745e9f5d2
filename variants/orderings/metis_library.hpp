#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/types.hpp"

namespace gsofa {

class private_library;

/// Options of METIS_NodeND. The defaults are those of METIS.
struct metis_options {
  std::int64_t seed = -1;      ///< < 0: the default seed
  std::int64_t nseps = 1;      ///< separators computed at each level; the smallest is kept
  std::int64_t ufactor = 200;  ///< the larger side of a separator has at most 1 + ufactor / 1000
                               ///< times half of the weight
  bool no2hop = false;         ///< coarsening never matches vertices that only share a neighbour
};

/// A private copy of the METIS in a shared library. No other code of the process sees the copy, and
/// the copy sees no other METIS that the process has.
class metis_library {
 public:
  /// Loads `file`. Throws unavailable_error with the reason where that is impossible here,
  /// std::bad_alloc.
  explicit metis_library(const std::string& file);
  ~metis_library();
  metis_library(const metis_library&) = delete;
  metis_library& operator=(const metis_library&) = delete;

  /// 32 or 64: the bits of idx_t in this METIS.
  [[nodiscard]] int index_bits() const { return index_bits_; }

  /// METIS_NodeND on a graph (xadj: n + 1 offsets, adjncy: neighbours without the vertex itself):
  /// old number by new position.
  ///
  /// The same arguments give the same order, that of METIS on the rand() of the C library, whatever
  /// other threads do; the caller's rand() and signal handlers are left alone. Threads may call at
  /// the same time. Throws cancelled_error soon after *stop has become true, std::bad_alloc where
  /// METIS runs out of memory, error where it fails otherwise.
  [[nodiscard]] std::vector<index_t> node_nd(std::span<index_t> xadj, std::span<index_t> adjncy,
                                             const metis_options& options,
                                             const std::atomic<bool>* stop = nullptr) const;

 private:
  std::unique_ptr<private_library> copy_;
  void* node_nd_ = nullptr;
  void* set_default_options_ = nullptr;
  int index_bits_ = 0;
};

/// The METIS that this build looks for: the library that CMake found or, where that file is gone,
/// the libmetis that the dynamic linker finds. Loaded by the first call. Throws unavailable_error
/// where there is none, std::bad_alloc.
const metis_library& metis();

/// Why metis() throws unavailable_error; nullopt where it returns. Throws std::bad_alloc.
std::optional<std::string> metis_fault();

/// "METIS 5.1.0", of the library that CMake found; empty in a build without METIS.
std::string metis_version();

}  // namespace gsofa
