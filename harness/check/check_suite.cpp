#include "harness/check/check_suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "common/mpi_context.hpp"
#include "harness/matrices/datasets.hpp"
#include "harness/matrices/matrix_source.hpp"
#include "harness/run/distribute.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/status.hpp"
#include "harness/run/verifier.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/row_union.hpp"

namespace gsofa {

namespace {

named_pattern read_alone(const std::string& spec) {
  if (is_prepared(spec)) {
    const auto stored = prepared_pattern::load(spec);
    const pattern_view a = stored.view();
    return {stored.origin().stand_in ? spec + " (stand-in)" : spec,
            {a.n_rows,
             a.n_cols,
             {a.row_ptr.begin(), a.row_ptr.end()},
             {a.col_idx.begin(), a.col_idx.end()}}};
  }
  raw_matrix raw = read_matrix(spec);
  const std::string name = raw.origin.stand_in ? marked_name(raw.origin) : spec;
  if (raw.a.n_rows != raw.a.n_cols) throw input_error(name + ": the matrix is not square");
  if (count_missing_diagonal(raw.a) > 0) {
    throw input_error(name + ": a diagonal position is structurally zero; it is checked as it is");
  }
  return {name, std::move(raw.a)};
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (failure) throw input_error(folder.string() + ": " + failure.message());
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> bundled_names() {
  try {
    return dataset_catalog::repository().bundled();
  } catch (const error& e) {
    std::fprintf(stderr, "bundled matrices left out: %s\n", one_line(e.what()).c_str());
    return {};
  }
}

std::vector<index_t> identity(index_t n) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

check_suite find_suite(const std::string& name) {
  if (name == "small") return {500, 5000, {"metis"}, 2, 0.25};
  if (name == "full") return {5000, max_index, {"metis", "natural"}, 10, 5};
  throw input_error("unknown suite '" + name + "': one of small, full");
}

check_plan::check_plan(const check_options& options)
    : options_(options), suite_(find_suite(options.suite)) {
  // A folder that is not there is refused before anything runs.
  if (!options_.prepared.empty()) static_cast<void>(files_in(options_.prepared));
  if (!options_.matrix.empty()) {
    specials_.push_back(read_alone(options_.matrix));
    special_ = 1;
    return;
  }
  specials_ = special_patterns();
  special_ = specials_.size();
  random_ = suite_.random_patterns;
  large_ = large_pattern_count();
  if (options_.patterns >= 0) {
    random_ = static_cast<std::size_t>(options_.patterns);
    special_ = std::min(special_, random_);
    large_ = 0;
  }
}

check_plan::kind check_plan::kind_of(std::size_t k) const {
  if (!options_.matrix.empty()) return kind::given;
  if (k < special_) return kind::special;
  return k < special_ + random_ ? kind::random : kind::large;
}

named_pattern check_plan::at(std::size_t k) const {
  switch (kind_of(k)) {
    case kind::given:
      return specials_.front();
    case kind::special:
      // A limited number of shapes is taken at equal distances.
      return specials_[k * specials_.size() / special_];
    case kind::random:
      break;
    case kind::large:
      return large_pattern(k - special_ - random_);
  }
  k -= special_;
  named_pattern p = random_pattern(static_cast<std::uint64_t>(options_.seed), k);
  p.name = fmt::format("random pattern {} of seed {}, {}", k, options_.seed, p.name);
  return p;
}

bool check_plan::includes(std::size_t k, std::size_t s, std::size_t count) const {
  const kind of = kind_of(k);
  if (of == kind::large) {
    return s == 0 && (options_.rotate == 0 || (k - special_ - random_) % 2 == 1);
  }
  if (s == 0) return true;
  if (of != kind::random || options_.rotate == 0) return true;
  const auto each = static_cast<std::size_t>(options_.rotate);
  const std::size_t others = count - 1;
  return (s - 1 + others - each * (k - special_) % others) % others < each;
}

bool check_plan::includes_matrix(std::size_t number, const variant_info& v) const {
  const std::size_t orders = options_.prepared.empty() ? suite_.orders.size() : 1;
  const auto variant = static_cast<std::size_t>(&v - all_variants().data());
  return options_.rotate == 0 || (number + number / orders + variant) % orders == 0;
}

double check_plan::time_limit(std::size_t k) const {
  return kind_of(k) == kind::large ? std::min(options_.timeout, suite_.large_timeout)
                                   : options_.timeout;
}

void for_each_matrix(const check_options& options, std::size_t first,
                     const std::function<bool(check_matrix&)>& visit) {
  if (!options.matrix.empty()) return;
  const check_suite suite = find_suite(options.suite);
  std::size_t number = 0;
  bool go_on = true;
  auto hand_over = [&](const std::function<prepared_pattern()>& load,
                       const std::filesystem::path& known = {}) {
    if (number++ < first) return;
    check_matrix m{.number = number - 1, .name = {}, .a = load(), .known = known};
    m.name = marked_name(m.a.origin());
    if (m.a.view().n_rows <= suite.largest_bundled) go_on = visit(m);
  };
  if (!options.shared.empty()) {
    // NUMBER.matrix, then NUMBER.oracle or NUMBER.certificate.
    const auto files = files_in(options.shared);
    for (std::size_t k = 0; k < files.size() && go_on; ++k) {
      if (files[k].extension() != ".matrix") continue;
      std::filesystem::path known;
      for (const char* how : {".oracle", ".certificate"}) {
        auto file = files[k];
        if (std::filesystem::exists(file.replace_extension(how))) known = file;
      }
      hand_over([&] { return prepared_pattern::load(files[k], false); }, known);
    }
    return;
  }
  if (!options.prepared.empty()) {
    for (const auto& file : files_in(options.prepared)) {
      if (go_on) hand_over([&] { return prepared_pattern::load(file); });
    }
    return;
  }
  for (const auto& name : bundled_names()) {
    if (!go_on) return;
    const raw_matrix raw = read_matrix(name);
    for (const auto& order : suite.orders) {
      if (!go_on) break;
      if (raw.a.n_rows > suite.largest_bundled) {
        ++number;
        continue;
      }
      prepare_options how;
      how.order = order;
      hand_over([&] {
        return load_on_root(mpi_context::world(), [&] { return prepare(raw.a, how, raw.origin); });
      });
    }
  }
}

void share_matrices(const check_options& options, const std::filesystem::path& folder) {
  const int threads = this_machine().hardware_threads;
  for_each_matrix(options, 0, [&](check_matrix& m) {
    auto file = folder / fmt::format("{:06}.matrix", m.number);
    m.a.save(file);
    // The fill is found by reference/ alone: a variant could end this process.
    const index_t n = m.a.view().n_rows;
    pattern fill = n <= oracle_order ? reference::eliminate_boolean(m.a.view())
                                     : reference::row_union(m.a.view());
    const auto truth = reference::make_truth(fill);
    const bool certified = n > oracle_order &&
                           reference::certificate_cost(truth.l, truth.u) <= certificate_budget &&
                           reference::check_certificate(m.a.view(), truth.l, truth.u, threads).ok;
    prepared_pattern(std::move(fill), identity(n), identity(n), m.a.origin())
        .save(file.replace_extension(certified ? ".certificate" : ".oracle"));
    return true;
  });
}

}  // namespace gsofa
