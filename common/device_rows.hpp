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

/// A square pattern in compressed rows in device memory: row i is col_idx[row_ptr[i] ..
/// row_ptr[i+1]).
struct device_rows {
  index_t n = 0;
  offset_t nnz = 0;
  const offset_t* row_ptr = nullptr;  ///< n + 1, in device memory
  const index_t* col_idx = nullptr;   ///< nnz, in device memory
};

/// A variant that accepts a matrix in the memory of the current device.
class takes_device_rows {
 public:
  takes_device_rows() = default;
  takes_device_rows(const takes_device_rows&) = delete;
  takes_device_rows& operator=(const takes_device_rows&) = delete;
  virtual ~takes_device_rows() = default;

  /// As variant::prepare(). The arrays must outlive the variant and be complete: all work on them
  /// in other streams has ended.
  virtual void prepare_device(const device_rows& a, const run_settings& settings,
                              run_context& context) = 0;
};

/// Compressed rows of a user in device memory, unchecked, in integers of 32 or 64 bits.
struct foreign_rows {
  std::int64_t n = 0;
  std::int64_t nnz = 0;
  const void* row_ptr = nullptr;  ///< n + 1
  const void* col_idx = nullptr;  ///< nnz
  bool long_row_ptr = false;      ///< 64 bits
  bool long_col_idx = false;
  /// A cudaStream_t: the arrays are complete once all work enqueued on it has finished. Null: the
  /// legacy default stream.
  void* stream = nullptr;
};

/// A variant that takes such rows.
class takes_foreign_rows {
 public:
  takes_foreign_rows() = default;
  takes_foreign_rows(const takes_foreign_rows&) = delete;
  takes_foreign_rows& operator=(const takes_foreign_rows&) = delete;
  virtual ~takes_foreign_rows() = default;

  /// As variant::prepare(); rows may be in any order, with repeated columns; run() throws
  /// input_error if they are not a valid pattern. Arrays of 64-bit pointers and 32-bit columns are
  /// used in place and must outlive the run. Throws input_error for impossible sizes and for arrays
  /// outside the memory of the current device.
  virtual void prepare_foreign(const foreign_rows& a, const run_settings& settings,
                               run_context& context) = 0;
  /// A copy on the host with unchanged rows. Throws as prepare_foreign(); a column beyond 32 bits
  /// becomes -1.
  virtual pattern fetch(const foreign_rows& a) = 0;
};

/// Memory on the current device that the caller owns.
struct device_destination {
  /// Returns at least `bytes` bytes, aligned to 8; null if there is no memory.
  std::function<void*(std::size_t bytes)> allocate;
  /// A cudaStream_t: the memory is written after all work that was enqueued on this stream when
  /// allocate() returned. Null: the memory may be written at once.
  void* stream = nullptr;
};

/// A supernodal_pattern in device memory.
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

/// A variant that leaves L and U on the device, in the caller's memory; an array without entries is
/// null. Call these functions after a run whose prepare() received run_settings::leaves_on_device.
/// They throw budget_error if the caller provides no memory, and rethrow what the allocator throws.
class leaves_device_results {
 public:
  leaves_device_results() = default;
  leaves_device_results(const leaves_device_results&) = delete;
  leaves_device_results& operator=(const leaves_device_results&) = delete;
  virtual ~leaves_device_results() = default;

  /// L below the diagonal and U with the diagonal, after a run with want::pattern; collect() then
  /// does not deliver the pattern.
  virtual void rows_on_device(const device_destination& to, device_rows& l, device_rows& u) = 0;
  /// As variant::supernodal().
  virtual device_supernodal_pattern supernodal_on_device(const supernode_rule& rule,
                                                         const device_destination& to) = 0;
  /// As supernodal(), for a pattern with one vertex per relaxed supernode, expanded by
  /// expand_leaves(); `added` receives added_columns(). `rule` has contraction::fixed.
  virtual device_supernodal_pattern expanded_on_device(const supernode_rule& rule,
                                                       std::span<const column_range> of,
                                                       const device_destination& to,
                                                       std::vector<std::uint32_t>& added) = 0;
};

}  // namespace gsofa
