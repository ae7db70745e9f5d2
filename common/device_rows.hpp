#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/pattern.hpp"
#include "common/run_context.hpp"
#include "common/types.hpp"
#include "common/variant.hpp"

namespace gsofa {

/// A square pattern in compressed rows in the memory of a device: row i is
/// col_idx[row_ptr[i] .. row_ptr[i+1]).
struct device_rows {
  index_t n = 0;
  offset_t nnz = 0;
  const offset_t* row_ptr = nullptr;  ///< n + 1, in device memory
  const index_t* col_idx = nullptr;   ///< nnz, in device memory
};

/// A variant whose matrix may lie in the memory of the current device.
class takes_device_rows {
 public:
  takes_device_rows() = default;
  takes_device_rows(const takes_device_rows&) = delete;
  takes_device_rows& operator=(const takes_device_rows&) = delete;
  virtual ~takes_device_rows() = default;

  /// As variant::prepare(). The arrays must outlive the variant and be complete: work that other
  /// streams do on them has ended.
  virtual void prepare_device(const device_rows& a, const run_settings& settings,
                              run_context& context) = 0;
};

/// Compressed rows of a user in device memory, unchecked, in integers of 32 or 64 bits.
struct foreign_rows {
  std::int64_t n = 0;
  std::int64_t nnz = 0;
  const void* row_ptr = nullptr;  ///< n + 1
  const void* col_idx = nullptr;  ///< nnz
  bool long_row_ptr = false;      ///< of 64 bits
  bool long_col_idx = false;
  /// A cudaStream_t: what it was given before makes the arrays complete. Null: the legacy default
  /// stream.
  void* stream = nullptr;
  bool matches = true;  ///< false: a run ends with error where the diagonal has zeros
};

/// A variant that takes such rows.
class takes_foreign_rows {
 public:
  takes_foreign_rows() = default;
  takes_foreign_rows(const takes_foreign_rows&) = delete;
  takes_foreign_rows& operator=(const takes_foreign_rows&) = delete;
  virtual ~takes_foreign_rows() = default;

  /// As variant::prepare(); rows may be in any order, with repeated columns, and run() throws
  /// input_error where they are no pattern. Arrays of 64-bit pointers and 32-bit columns are used
  /// in place and must outlive the run. Throws input_error for sizes that cannot be and for arrays
  /// that are not in memory of the current device.
  virtual void prepare_foreign(const foreign_rows& a, const run_settings& settings,
                               run_context& context) = 0;
  /// A copy on the host, its rows as they are. Throws as prepare_foreign(); a column beyond 32 bits
  /// becomes -1.
  virtual pattern fetch(const foreign_rows& a) = 0;
};

/// Memory of the current device that the caller owns.
struct device_destination {
  /// At least so many bytes, aligned to 8; null if there is none.
  std::function<void*(std::size_t bytes)> allocate;
  /// A cudaStream_t: the memory is written after what this was given when allocate() returns. Null:
  /// at once.
  void* stream = nullptr;
};

/// supernodal_pattern in device memory.
struct device_supernodal_pattern {
  index_t supernodes = 0;
  offset_t row_count = 0;
  offset_t segment_count = 0;
  const index_t* begin = nullptr;           ///< supernodes + 1
  const offset_t* row_begin = nullptr;      ///< supernodes + 1
  const index_t* rows = nullptr;            ///< row_count
  const offset_t* segment_begin = nullptr;  ///< n + 1
  const index_t* segments = nullptr;        ///< segment_count
};

/// A variant that leaves L and U on the device, in memory of the caller; an array without entries
/// is null. Calls follow a run for which prepare() was told run_settings::leaves_on_device. They
/// throw budget_error where the caller has no memory, and what the allocator throws.
class leaves_device_results {
 public:
  leaves_device_results() = default;
  leaves_device_results(const leaves_device_results&) = delete;
  leaves_device_results& operator=(const leaves_device_results&) = delete;
  virtual ~leaves_device_results() = default;

  /// L below the diagonal and U with it, of a run that was asked for want::pattern, which collect()
  /// then does not hand over.
  virtual void rows_on_device(const device_destination& to, device_rows& l, device_rows& u) = 0;
  /// As variant::supernodal().
  virtual device_supernodal_pattern supernodal_on_device(const supernode_rule& rule,
                                                         const device_destination& to) = 0;
  /// The same of a pattern with one vertex for each relaxed supernode, expanded by expand_leaves();
  /// `added` becomes added_columns(). `rule` has contraction::fixed.
  virtual device_supernodal_pattern expanded_on_device(const supernode_rule& rule,
                                                       std::span<const column_range> of,
                                                       const device_destination& to,
                                                       std::vector<std::uint32_t>& added) = 0;
};

}  // namespace gsofa
