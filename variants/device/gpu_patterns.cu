// Sparsity patterns on the device by sorting: an entry (i, j) is the word i * 2^b + j with 2^b >=
// n, so that the sorted words without repetitions are the pattern with sorted rows. No row is the
// work of one thread, however long it is.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "variants/device/device_patterns.hpp"
#include "variants/device/matrix_entries.hpp"
#include "variants/device/sorted_words.hpp"

namespace gsofa::gpu::patterns {

namespace {

constexpr std::uint32_t no_row = 0xffffffffU;

/// The first fault: row pointers that do not ascend.
GSOFA_KERNEL void check_rows_kernel(rows_view a, std::uint32_t* bad) {
  simt::after_earlier_launches();
  for (const offset_t i : grid_items(a.n)) {
    const offset_t begin = a.row_ptr[i];
    const offset_t end = a.row_ptr[i + 1];
    const bool fits = (i > 0 || begin == 0) && begin >= 0 && begin <= end && end <= a.nnz &&
                      (i + 1 < a.n || end == a.nnz);
    if (!fits) simt::atomic_min(bad, static_cast<std::uint32_t>(i));
  }
}

/// The first fault: a column outside the matrix. Writes the words of all entries.
GSOFA_KERNEL void entries_kernel(matrix_view a, coding code, word_t* words, std::uint32_t* bad) {
  simt::after_earlier_launches();
  for_each_place(
      a,
      [&](bool is_entry, offset_t e, index_t i, index_t j) {
        if (!is_entry) return;
        const bool inside = j >= 0 && j < a.n;
        if (!inside) simt::atomic_min(bad, static_cast<std::uint32_t>(i));
        words[e] = inside ? code.word(i, j) : code.row_begin(a.n);
      },
      [] {});
}

GSOFA_KERNEL void transposed_kernel(matrix_view a, coding code, word_t* words) {
  simt::after_earlier_launches();
  for_each_place(
      a,
      [&](bool is_entry, offset_t e, index_t i, index_t j) {
        if (is_entry) words[e] = code.word(j, i);
      },
      [] {});
}

/// Words 2e and 2e + 1 are entry e and its mirror image.
GSOFA_KERNEL void graph_kernel(matrix_view a, coding code, word_t* words) {
  simt::after_earlier_launches();
  for_each_place(
      a,
      [&](bool is_entry, offset_t e, index_t i, index_t j) {
        if (!is_entry) return;
        words[2 * e] = i == j ? code.row_begin(a.n) : code.word(i, j);
        words[2 * e + 1] = i == j ? code.row_begin(a.n) : code.word(j, i);
      },
      [] {});
}

GSOFA_KERNEL void permuted_kernel(matrix_view a, coding code, const index_t* row_label,
                                  const index_t* col_label, word_t* words) {
  simt::after_earlier_launches();
  for_each_place(
      a,
      [&](bool is_entry, offset_t e, index_t i, index_t j) {
        if (is_entry) words[e] = code.word(row_label[i], col_label[j]);
      },
      [] {});
}

/// label[order[k]] = k; `label` is -1 before.
GSOFA_KERNEL void label_kernel(index_t n, const index_t* order, index_t* label,
                               std::uint32_t* bad) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(n)) {
    const index_t v = order[k];
    const bool inside = v >= 0 && v < n;
    // Of the positions that hold v, one meets the -1.
    const bool first =
        inside && simt::atomic_cas(reinterpret_cast<std::uint32_t*>(label + v), 0xffffffffU,
                                   static_cast<std::uint32_t>(k)) == 0xffffffffU;
    if (!first) simt::atomic_min(bad, std::uint32_t{0});
  }
}

GSOFA_KERNEL void diagonal_kernel(matrix_view a, std::uint32_t* has) {
  simt::after_earlier_launches();
  for_each_entry(a, [&](index_t i, index_t j) {
    // All writers store the same word.
    if (i == j) simt::atomic_max(has + i, std::uint32_t{1});
  });
}

GSOFA_KERNEL void count_zeros_kernel(index_t n, const std::uint32_t* values, std::uint32_t* count) {
  simt::after_earlier_launches();
  const offset_t step = offset_t{simt::grid_size()} * simt::block_size();
  for (offset_t base = offset_t{simt::block_index()} * simt::block_size(); base < n; base += step) {
    const offset_t k = base + simt::thread_index();
    const unsigned zeros = simt::ballot(k < n && values[k] == 0);
    if (lane_index() == 0 && zeros != 0) {
      simt::atomic_add(count, static_cast<std::uint32_t>(simt::population(zeros)));
    }
  }
}

/// Values of another width; those that do not fit become -1.
template <class From, class To>
GSOFA_KERNEL void converted_kernel(const From* from, offset_t count, To* to) {
  for (const offset_t k : grid_items(count)) {
    const auto value = static_cast<To>(from[k]);
    to[k] = static_cast<From>(value) == from[k] ? value : To{-1};
  }
}

/// Throws input_error unless the array is in memory of the current device.
void check_place([[maybe_unused]] const void* array, [[maybe_unused]] const char* name) {
  if (array == nullptr) throw input_error(std::string("pattern: ") + name + " is null");
#if defined(__CUDACC__)
  cudaPointerAttributes where{};
  check(cudaPointerGetAttributes(&where, array), name);
  if (where.type == cudaMemoryTypeManaged) return;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  if (where.type != cudaMemoryTypeDevice || where.device != device) {
    throw input_error(std::string("pattern: ") + name + " is not in memory of device " +
                      std::to_string(device) + ", the current one");
  }
#endif
}

void check_foreign(const foreign_rows& a) {
  if (a.n < 1) {
    throw input_error("pattern: order " + std::to_string(a.n) + "; at least 1 is needed");
  }
  narrow<index_t>(a.n, "pattern: order");
  if (a.nnz < 0) throw input_error("pattern: " + std::to_string(a.nnz) + " entries");
  check_place(a.row_ptr, "row_ptr");
  if (a.nnz > 0) check_place(a.col_idx, "col_idx");
#if defined(__CUDACC__)
  const auto stream = static_cast<cudaStream_t>(a.stream);
  check(cudaStreamSynchronize(stream == nullptr ? cudaStreamLegacy : stream), "stream");
#endif
}

matrix_view entries_of(const rows_view& a) {
  return gpu::entries_of(a.row_ptr, a.col_idx, a.n, a.nnz);
}

/// One word on the device that holds the least row with a fault.
class first_fault {
 public:
  explicit first_fault(memory_budget& budget) : row_(budget, "control", 1) {
    fill_bytes(row_.data(), 0xff, 1);
  }
  [[nodiscard]] std::uint32_t* data() const { return row_.data(); }
  [[nodiscard]] std::uint32_t read() const {
    std::uint32_t row = 0;
    copy_to_host(&row, row_.data(), 1);
    return row;
  }

 private:
  device_array<std::uint32_t> row_;
};

/// new position by old index
device_array<index_t> labels(index_t n, const index_t* order, const char* what,
                             memory_budget& budget) {
  device_array<index_t> label(budget, "labels", n);
  if (n == 0) return label;
  fill_bytes(label.data(), 0xff, n);
  const first_fault fault(budget);
  launch_overlapping(label_kernel, blocks_for(n), threads_per_block, 0, n, order, label.data(),
                     fault.data());
  if (fault.read() != no_row) {
    throw input_error(std::string(what) + ": not a permutation of 0 .. " + std::to_string(n - 1));
  }
  return label;
}

}  // namespace

device_pattern pattern_of(sorted_words& words, const coding& code, bool repeats,
                          memory_budget& budget) {
  words.sort(code.word_bits());
  if (repeats) words.remove_repetitions();
  device_pattern out;
  out.n = code.n;
  out.row_ptr = {budget, "pattern", offset_t{code.n} + 1};
  launch_overlapping(row_begins_kernel, blocks_for(offset_t{code.n} + 1), threads_per_block, 0,
                     words.data(), words.count(), code, offset_t{code.n} + 1, out.row_ptr.data());
  copy_to_host(&out.nnz, out.row_ptr.data() + code.n, 1);
  out.col_idx = {budget, "pattern", out.nnz};
  if (out.nnz == 0) return out;
  launch_overlapping(columns_kernel, blocks_for(out.nnz), threads_per_block, 0, words.data(),
                     out.nnz, code, out.col_idx.data());
  return out;
}

adopted adopt(const foreign_rows& a, memory_budget& budget) {
  check_foreign(a);
  adopted out;
  out.rows.n = static_cast<index_t>(a.n);
  out.rows.nnz = a.nnz;
  const offset_t pointers = a.n + 1;
  if (a.long_row_ptr) {
    out.rows.row_ptr = static_cast<const offset_t*>(a.row_ptr);
  } else {
    out.copy.row_ptr = {budget, "pattern", pointers};
    launch(converted_kernel<std::int32_t, offset_t>, blocks_for(pointers), threads_per_block, 0,
           static_cast<const std::int32_t*>(a.row_ptr), pointers, out.copy.row_ptr.data());
    out.rows.row_ptr = out.copy.row_ptr.data();
  }
  if (!a.long_col_idx) {
    out.rows.col_idx = static_cast<const index_t*>(a.col_idx);
  } else if (a.nnz > 0) {
    out.copy.col_idx = {budget, "pattern", a.nnz};
    launch(converted_kernel<std::int64_t, index_t>, blocks_for(a.nnz), threads_per_block, 0,
           static_cast<const std::int64_t*>(a.col_idx), a.nnz, out.copy.col_idx.data());
    out.rows.col_idx = out.copy.col_idx.data();
  }
  return out;
}

device_pattern upload(const pattern_view& a, memory_budget& budget) {
  device_pattern out;
  out.n = a.n_rows;
  out.nnz = a.nnz();
  out.row_ptr = {budget, "pattern", offset_t{a.n_rows} + 1};
  out.col_idx = {budget, "pattern", out.nnz};
  copy_to_device(out.row_ptr.data(), a.row_ptr.data(), out.row_ptr.size());
  copy_to_device(out.col_idx.data(), a.col_idx.data(), out.nnz);
  return out;
}

pattern download(const rows_view& a) {
  pattern out;
  out.n_rows = out.n_cols = a.n;
  out.row_ptr.resize(at(a.n) + 1);
  out.col_idx.resize(at(a.nnz));
  copy_to_host(out.row_ptr.data(), a.row_ptr, offset_t{a.n} + 1);
  copy_to_host(out.col_idx.data(), a.col_idx, a.nnz);
  return out;
}

device_pattern sorted_rows(const rows_view& raw, memory_budget& budget) {
  if (raw.n == 0 && raw.nnz != 0) throw input_error("a pattern without rows has entries");
  const first_fault fault(budget);
  const auto refuse_row = [&](const char* what) {
    const std::uint32_t row = fault.read();
    if (row == no_row) return;
    throw input_error("row " + std::to_string(row) +
                      " (from 0) of the pattern on the device: " + what);
  };
  if (raw.n > 0) {
    launch_overlapping(check_rows_kernel, blocks_for(raw.n), threads_per_block, 0, raw,
                       fault.data());
  }
  refuse_row("the row pointers do not ascend from 0 to the number of entries");
  const coding code(raw.n);
  sorted_words words(raw.nnz, budget);
  if (raw.nnz > 0) {
    launch_on_entries(entries_kernel, entries_of(raw), code, words.data(), fault.data());
  }
  refuse_row("a column is outside the matrix");
  return pattern_of(words, code, true, budget);
}

device_pattern transposed(const rows_view& a, memory_budget& budget) {
  const coding code(a.n);
  sorted_words words(a.nnz, budget);
  if (a.nnz > 0) launch_on_entries(transposed_kernel, entries_of(a), code, words.data());
  return pattern_of(words, code, true, budget);
}

device_pattern symmetric_graph(const rows_view& a, memory_budget& budget) {
  const coding code(a.n);
  sorted_words words(2 * a.nnz, budget);
  if (a.nnz > 0) launch_on_entries(graph_kernel, entries_of(a), code, words.data());
  return pattern_of(words, code, true, budget);
}

device_pattern permuted(const rows_view& a, const index_t* row_order, const index_t* col_order,
                        memory_budget& budget) {
  const device_array<index_t> row_label = labels(a.n, row_order, "row order", budget);
  device_array<index_t> own_columns;
  if (col_order != row_order) own_columns = labels(a.n, col_order, "column order", budget);
  const index_t* const col_label = col_order == row_order ? row_label.data() : own_columns.data();
  const coding code(a.n);
  sorted_words words(a.nnz, budget);
  if (a.nnz > 0) {
    launch_on_entries(permuted_kernel, entries_of(a), code,
                      static_cast<const index_t*>(row_label.data()), col_label, words.data());
  }
  return pattern_of(words, code, false, budget);
}

index_t missing_diagonal(const rows_view& a, memory_budget& budget) {
  if (a.n == 0) return 0;
  // The last word counts.
  const device_array<std::uint32_t> has(budget, "diagonal", offset_t{a.n} + 1);
  fill_bytes(has.data(), 0, offset_t{a.n} + 1);
  if (a.nnz > 0) launch_on_entries(diagonal_kernel, entries_of(a), has.data());
  launch_overlapping(count_zeros_kernel, blocks_for(a.n), threads_per_block, 0, a.n,
                     static_cast<const std::uint32_t*>(has.data()), has.data() + a.n);
  std::uint32_t missing = 0;
  copy_to_host(&missing, has.data() + a.n, 1);
  return static_cast<index_t>(missing);
}

}  // namespace gsofa::gpu::patterns

#endif
