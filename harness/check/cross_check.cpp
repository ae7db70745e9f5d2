#include "harness/check/cross_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/mpi_context.hpp"
#include "common/order_zero.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/row_union.hpp"

namespace gsofa {

namespace {

constexpr index_t prime_field_order = 40;
constexpr index_t dense_order = 300;

std::vector<std::string> values_to_check(const option_spec& spec) {
  std::vector<std::string> values;
  if (const auto* on = std::get_if<bool>(&spec.default_value)) {
    values.emplace_back(*on ? "false" : "true");
  } else if (const auto* number = std::get_if<std::int64_t>(&spec.default_value)) {
    std::set<std::int64_t> tried;
    for (const std::int64_t step : {0, 1, 2, 7}) {
      if (spec.minimum <= spec.maximum - step) tried.insert(spec.minimum + step);
    }
    // Bounds far above any small matrix are sizes; allocating them would only test memory.
    if (spec.maximum <= 4096) tried.insert(spec.maximum);
    tried.erase(*number);
    for (const auto v : tried) values.push_back(std::to_string(v));
  } else {
    for (const auto& c : spec.choices) {
      if (c != std::get<std::string>(spec.default_value)) values.push_back(c);
    }
  }
  return values;
}

std::optional<std::string> refute_one(const variant_info& info, const run_settings& settings,
                                      const pattern& a, const reference::truth& expected,
                                      const result& r) {
  const auto consistent =
      reference::check_consistency(r, settings.wants, a.n_rows, settings.chunk_size);
  if (!consistent.ok) return consistent.reason;
  if (r.of_own_order && !info.exact) return std::nullopt;
  if (info.orders != !r.row_order.empty()) return "the result does not include its ordering";
  const auto verdict =
      reference::compare_in_order(a, expected, r, settings.wants, settings.chunk_size);
  if (verdict.ok) return std::nullopt;
  if (!info.exact && r.nnz_l >= expected.nnz_l && r.nnz_u >= expected.nnz_u) return std::nullopt;
  return verdict.reason;
}

}  // namespace

std::vector<check_setting> settings_to_check(const variant_info& info) {
  run_settings base = settings_with(info, info.gives);
  std::vector<check_setting> all{{base, "defaults"}};
  run_settings turned = base;
  for (const auto& spec : info.options) {
    bool first = true;
    for (const auto& value : values_to_check(spec)) {
      run_settings s = base;
      s.options.set(info.options, spec.name, value);
      all.push_back({s, spec.name + "=" + value});
      if (first) turned.options.set(info.options, spec.name, value);
      first = false;
    }
  }
  if (info.options.size() > 1) all.push_back({turned, "every option turned"});
  for (const index_t chunk : {0, 1, 2, 3}) {
    run_settings s = base;
    s.chunk_size = chunk;
    all.push_back({s, fmt::format("chunk size {}", chunk)});
  }
  if (info.multithreaded) {
    for (std::size_t k = 0, count = all.size(); k < count; ++k) {
      check_setting s = all[k];
      s.settings.threads = 2;
      s.text += ", 2 threads";
      all.push_back(std::move(s));
    }
  }
  return all;
}

std::optional<refutation> refute(const variant_info& info, const run_settings& asked,
                                 const pattern& a, const reference::truth& expected,
                                 double time_limit) {
  try {
    mpi_context& j = mpi_context::world();
    run_settings settings = asked;
    if (j.ranks() > 1) settings.wants = settings.wants.without(want::pattern);
    run_context context;
    const auto v = create_for(info, a.n_rows);
    v->prepare(a.view(), settings, context);
    for (int k = 0; k < 2; ++k) {
      context.set_timeout(time_limit);
      const result r = run_once(*v, settings.wants, context);
      std::string why;
      if (j.root()) why = refute_one(info, settings, a, expected, r).value_or("");
      if (j.ranks() > 1) j.broadcast(why);
      if (!why.empty()) return refutation{.reason = k == 0 ? why : "second run: " + why};
    }
  } catch (const timeout_error&) {
    return refutation{.reason = fmt::format("no answer within {:g} s", time_limit),
                      .timed_out = true};
  } catch (const std::exception& e) {
    return refutation{.reason = std::string("exception: ") + e.what()};
  }
  return std::nullopt;
}

reference::truth small_truth(const pattern& a) {
  if (a.n_rows > dense_order) return sparse_truth(a);
  return reference::make_truth(reference::eliminate_boolean(a.view()));
}

reference::truth sparse_truth(const pattern& a) {
  return reference::make_truth(reference::row_union(a.view()));
}

std::optional<std::string> refute_oracles(const pattern& a, const reference::truth& expected) {
  auto differs = [&](const pattern& filled) {
    return reference::make_truth(filled).digest != expected.digest;
  };
  if (a.n_rows <= dense_order && differs(reference::row_union(a.view())))
    return "row_union disagrees with elimination";
  if (a.n_rows <= prime_field_order && differs(reference::eliminate_prime_field(a.view(), 1))) {
    return "elimination over a prime field disagrees with Boolean elimination";
  }
  const auto verdict = reference::check_certificate(a.view(), expected.l, expected.u, 1);
  if (!verdict.ok) return "the certificate refutes elimination: " + verdict.reason;
  return std::nullopt;
}

}  // namespace gsofa
