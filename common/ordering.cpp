#include "common/ordering.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <utility>

#include "common/ascii.hpp"
#include "common/command_methods.hpp"
#include "common/parallel.hpp"
#include "common/permutation_file.hpp"
#include "common/random.hpp"
#include "common/text.hpp"

namespace gsofa {

std::vector<int> narrow_offsets(const pattern_view& a, const char* what) {
  narrow<int>(a.nnz(), what);
  return {a.row_ptr.begin(), a.row_ptr.end()};
}

std::vector<index_t> identity_order(index_t n) {
  std::vector<index_t> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<index_t> random_order(index_t n, std::uint64_t seed) {
  std::vector<index_t> order = identity_order(n);
  random_source random(seed);
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
  return order;
}

unavailable_error needs_library(const std::string& task, const char* library, const char* debian) {
  return unavailable_error(task + " needs " + library +
                           ", which this build lacks (apt-get install " + debian +
                           " and configure again)");
}

const std::vector<order_info>& all_orders() { return detail::described<order_info>("orders"); }

std::vector<std::string> available_orders() {
  std::vector<std::string> names;
  for (const order_info& o : all_orders()) {
    if (o.planted.empty() && !o.unavailable()) names.push_back(o.name);
  }
  return names;
}

namespace {

// True of what can only be meant as the path of a file.
bool looks_like_path(const std::string& spec) {
  std::error_code failure;
  return spec.find('/') != spec.npos || spec.find('.') != spec.npos ||
         std::filesystem::is_regular_file(spec, failure);
}

std::string known_orders() {
  std::string list;
  for (const order_info& o : all_orders()) {
    if (o.planted.empty()) list += (list.empty() ? "" : ", ") + o.name;
  }
  return list;
}

}  // namespace

option_set parse_options(const std::vector<option_spec>& specs, std::string_view text,
                         const std::string& subject) {
  option_set options(specs);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t equals = word.find('=');
    if (equals == word.npos) {
      throw input_error(subject + ": " + "'" + excerpt(word, 20) + "' is not OPTION=VALUE");
    }
    try {
      options.set(specs, std::string(word.substr(0, equals)), std::string(word.substr(equals + 1)));
    } catch (const input_error& e) {
      throw input_error(subject + ": " + e.what());
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return options;
}

std::optional<order_request> find_order(const std::string& spec) {
  if (is_command(spec)) return order_request{&find_command<order_info>(spec), option_set{}, spec};
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const std::string name = spec.substr(0, colon);
  const auto& orders = all_orders();
  const auto info = std::ranges::find(orders, name, &order_info::name);
  if (info != orders.end()) {
    const std::string_view options =
        std::string_view(spec).substr(std::min(colon + 1, spec.size()));
    return order_request{&*info, parse_options(info->options, options, "order " + name), spec};
  }
  if (looks_like_path(spec)) return std::nullopt;
  std::vector<std::string> names;
  for (const order_info& o : orders) {
    if (o.planted.empty()) names.push_back(o.name);
  }
  const std::string hint = nearest(name, names);
  throw input_error("unknown order '" + spec + "'" +
                    (hint.empty() ? ": one of " : "; did you mean '" + hint + "'? One of ") +
                    known_orders() + ", or the path of a permutation file");
}

ordering compute_order(const pattern_view& a, const order_request& request,
                       order_settings settings) {
  const order_info& info = *request.info;
  if (const auto why = info.unavailable()) throw unavailable_error(*why);
  settings.options = request.options;
  // Starting a thread takes as long as ordering some hundred rows.
  settings.threads = useful_threads(settings.threads, a.n_rows / 1000);
  ordering o = info.compute(a, settings);
  const bool is_cancelled =
      settings.stop != nullptr && settings.stop->load(std::memory_order_relaxed);
  if (is_cancelled) throw cancelled_error();
  if (o.method.empty()) o.method = request.spec;
  if (o.library.empty()) o.library = info.library;
  validate_permutation(o.order, a.n_rows, "order " + o.method);
  return o;
}

ordering compute_order(const pattern_view& a, const std::string& spec, std::int64_t seed,
                       int threads, const std::atomic<bool>* stop, bool host_only,
                       std::span<const index_t> weights, int tree_levels) {
  if (const std::optional<order_request> request = find_order(spec)) {
    return compute_order(a, *request,
                         {.options = request->options,
                          .seed = seed,
                          .threads = threads,
                          .host_only = host_only,
                          .weights = weights,
                          .tree_levels = tree_levels,
                          .stop = stop});
  }
  return {read_permutation_file(spec, a.n_rows).order, "file", spec};
}

}  // namespace gsofa
