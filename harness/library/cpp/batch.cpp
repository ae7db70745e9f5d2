#include <algorithm>
#include <atomic>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/preprocess.hpp"
#include "common/variant.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/direct_sum.hpp"
#include "harness/library/cpp/errors.hpp"
#include "harness/library/cpp/factorize.hpp"
#include "harness/library/cpp/forms.hpp"
#include "harness/library/cpp/options.hpp"
#include "harness/library/cpp/results.hpp"
#include "harness/library/cpp/supervision.hpp"

namespace gsofa {

namespace library {

namespace {

// Finds L and U of many small patterns as those of one direct sum.
constexpr const char* batch_variant = "gpu_diagonal_blocks";
// Most rows of patterns that a device analyzes at once; it bounds the memory that they hold
// meanwhile.
constexpr offset_t most_batch_rows = offset_t{1} << 24;

using taker = std::function<void(std::size_t, const analysis&)>;

// What `found` does for pattern k; the text of an exception begins with the number of the pattern.
template <class Function>
void numbered(std::size_t k, const Function& found) {
  const auto where = [k](const std::exception& e) {
    return "pattern " + std::to_string(k) + ": " + e.what();
  };
  try {
    reporting(found);
  } catch (const invalid_input& e) {
    throw invalid_input(where(e));
  } catch (const analysis_error& e) {
    if (e.kind() == failure::out_of_memory || e.kind() == failure::cancelled) throw;
    throw analysis_error(e.kind(), where(e));
  }
}

void hand_over(std::size_t k, const analysis& found, const taker& take) {
  const std::uint64_t process = process_number();
  try {
    take(k, found);
  } catch (...) {
    throw callback_failure{std::current_exception()};
  }
  if (process != process_number()) throw detail::lost_threads();
}

// Calls work(thread, k) for the numbers begin .. end - 1, one at a time on each thread.
template <class Work>
void for_each_pattern(int threads, std::size_t begin, std::size_t end, const Work& work) {
  parallel_ranges(threads, end - begin, std::size_t{1},
                  [&](int thread, std::size_t from, std::size_t to) {
                    for (std::size_t k = from; k < to; ++k) work(thread, begin + k);
                  });
}

// Analyzes patterns begin .. end - 1 one by one, in storage that each thread keeps; `fallback` is
// why no device does.
void analyze_each(std::span<const csr_view> patterns, std::size_t begin, std::size_t end,
                  const analysis_options& options, const std::string& fallback, supervision& s,
                  const taker& take) {
  analysis_options own = options;
  const bool on_device = options.device == compute_device::gpu;
  const int threads = on_device ? 1 : useful_threads(host_threads(options), end - begin);
  if (!on_device) own.device = compute_device::cpu;
  own.threads = 1;
  std::vector<std::pair<workspace, analysis>> by(at(threads));
  for (auto& [w, found] : by) w.keeps = true;
  for_each_pattern(threads, begin, end, [&](int thread, std::size_t k) {
    auto& [w, found] = by[at(thread)];
    numbered(k, [&] {
      analyze_rows(read(given_pattern(patterns[k]), w.arrays), clock::now(), own, w, s, found);
    });
    if (!fallback.empty()) found.fallback = fallback;
    hand_over(k, found, take);
  });
}

// Whether the batch is for a device that analyzes all patterns at once. Only panels have supernodes
// of columns, a device that computes the order does all by itself, and a chunk that ends inside of
// a pattern ends elsewhere in the direct sum.
bool is_for_device(std::span<const csr_view> patterns, const analysis_options& options) {
  if (options.device == compute_device::cpu || needs_supernodes_of_columns(options) ||
      options.order == order_method::gpu_nested_dissection ||
      (!options.variant.empty() && options.variant != batch_variant)) {
    return false;
  }
  offset_t rows = 0;
  for (const csr_view& a : patterns) {
    if (options.supernodes && options.chunk_size > 0 && a.n > options.chunk_size) return false;
    rows += std::max(a.n, 0);
  }
  const bool pays = rows >= least_device_order;
  const bool asked = options.device == compute_device::gpu || !options.variant.empty();
  return (asked || pays) && !find_variant(batch_variant).unavailable();
}

// Whether an analysis of `a` alone has the order of the device. So has that in a batch: the device
// is given such patterns one by one.
bool is_large(const csr_view& a, const analysis_options& options) {
  return a.n >= least_device_order && options.device != compute_device::cpu &&
         is_for_device_order(options, choose_variants(options).front()->device == "gpu", a.n);
}

void analyze_alone(std::span<const csr_view> patterns, std::size_t k,
                   const analysis_options& options, supervision& s, const taker& take) {
  workspace w;
  analysis found;
  numbered(k, [&] {
    analyze_rows(read(given_pattern(patterns[k]), w.arrays), clock::now(), options, w, s, found);
  });
  hand_over(k, found, take);
}

// A pattern of a batch, matched, ordered and permuted.
struct batch_member {
  pattern permuted;
  analysis out;
};

batch_member order_member(const csr_view& a, const analysis_options& options, workspace& w,
                          supervision& s) {
  auto since = clock::now();
  batch_member m;
  const checked_input in = read(given_pattern(a), w.arrays);
  check_options(options, in.a.n_rows);
  begin_result(in.a.n_rows, w, m.out);
  elimination_input e;
  e.a = in.a;
  permute_for_elimination(in, options, false, e, w, s, m.out);
  m.permuted = {e.a.n_rows,
                e.a.n_cols,
                {e.a.row_ptr.begin(), e.a.row_ptr.end()},
                {e.a.col_idx.begin(), e.a.col_idx.end()}};
  m.out.order_seconds = lap(since);
  return m;
}

// Finds L and U of all members at once; the result is that of their direct sum.
void eliminate_members(const direct_sum& sum, const analysis_options& options, workspace& w,
                       supervision& s, analysis& of_sum) {
  analysis_options own = options;
  own.chunk_size = 0;
  elimination_input e;
  e.a = sum.all();
  run_context context;
  run_variant(find_variant(batch_variant), e, nullptr, own, w, context, s, of_sum);
}

// Analyzes patterns begin .. end - 1 at once on the device. If the device fails, the host takes
// over, unless the options name the device.
void analyze_at_once(std::span<const csr_view> patterns, std::size_t begin, std::size_t end,
                     const analysis_options& options, supervision& s, const taker& take) {
  const int threads = useful_threads(host_threads(options), end - begin);
  analysis_options own = options;
  own.threads = 1;
  std::vector<workspace> by(at(threads));
  for (workspace& w : by) w.keeps = true;
  std::vector<batch_member> members(end - begin);
  for_each_pattern(threads, begin, end, [&](int thread, std::size_t k) {
    numbered(k, [&] { members[k - begin] = order_member(patterns[k], own, by[at(thread)], s); });
  });
  std::vector<pattern_view> views;
  views.reserve(members.size());
  for (const batch_member& m : members) views.push_back(m.permuted);
  direct_sum sum(views);
  for_each_pattern(threads, begin, end, [&](int, std::size_t k) {
    sum.put(k - begin, views[k - begin]);
    members[k - begin].permuted = {};
  });
  workspace of_sum;
  analysis times;
  const auto eliminate = [&] {
    if (sum.all().n_rows > 0) eliminate_members(sum, own, of_sum, s, times);
  };
  if (options.device == compute_device::automatic && options.variant.empty()) {
    const auto failed = failure_of_device(find_variant(batch_variant), of_sum, eliminate);
    if (failed) return analyze_each(patterns, begin, end, options, *failed, s, take);
  } else {
    eliminate();
  }
  const auto share = 1.0 / static_cast<double>(end - begin);
  const want_set wants = wants_of(options);
  for_each_pattern(threads, begin, end, [&](int thread, std::size_t k) {
    auto since = clock::now();
    workspace& w = by[at(thread)];
    batch_member m = std::move(members[k - begin]);
    numbered(k, [&] {
      w.found = sum.part(k - begin, of_sum.found, wants);
      m.out.variant = batch_variant;
      give(options, w, m.out);
    });
    m.out.setup_seconds = times.setup_seconds * share;
    m.out.analysis_seconds = times.analysis_seconds * share;
    m.out.output_seconds = times.output_seconds * share + lap(since);
    hand_over(k, m.out, take);
  });
}

void analyze_all(std::span<const csr_view> patterns, const analysis_options& options,
                 supervision& s, const taker& take) {
  const bool at_once = is_for_device(patterns, options);
  for (std::size_t begin = 0; begin < patterns.size();) {
    if (is_large(patterns[begin], options)) {
      analyze_alone(patterns, begin++, options, s, take);
      continue;
    }
    offset_t rows = 0;
    std::size_t end = begin;
    do rows += std::max(patterns[end++].n, 0);
    while (end < patterns.size() && !is_large(patterns[end], options) &&
           (!at_once || rows + patterns[end].n <= most_batch_rows));
    if (at_once) {
      analyze_at_once(patterns, begin, end, options, s, take);
    } else {
      analyze_each(patterns, begin, end, options, "", s, take);
    }
    begin = end;
  }
}

}  // namespace

}  // namespace library

void analyze_batch(std::span<const csr_view> patterns, const analysis_options& options,
                   const std::function<void(std::size_t, const analysis&)>& take) {
  using namespace library;
  reporting([&] {
    if (options.log) throw invalid_input("options: a batch has no log");
    std::atomic<std::size_t> taken{0};
    analysis_options watched = options;
    if (options.progress) {
      watched.progress = [&](const analysis_progress& p) {
        const auto count = static_cast<double>(std::max<std::size_t>(patterns.size(), 1));
        return options.progress({p.stage, static_cast<double>(taken) / count});
      };
    }
    supervise(watched, [&](supervision& s) {
      analyze_all(patterns, options, s, [&](std::size_t k, const analysis& found) {
        take(k, found);
        ++taken;
      });
    });
  });
}

}  // namespace gsofa
