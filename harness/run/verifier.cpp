#include "harness/run/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "common/order_zero.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/row_union.hpp"

namespace gsofa {

namespace {

// Seconds after which the verifier does without the trusted variant.
constexpr double trusted_timeout = 900;
// reference::row_union handles up to 64 columns a step.
constexpr double row_union_budget = 10 * certificate_budget;
// Equal totals alone do not make two patterns equal.
constexpr const char* only_totals = "gives totals only, which agree";

pattern join(const pattern& l, const pattern& u) {
  pattern f;
  f.n_rows = u.n_rows;
  f.n_cols = u.n_cols;
  f.row_ptr.clear();
  f.row_ptr.reserve(u.row_ptr.size());
  f.row_ptr.push_back(0);
  f.col_idx.reserve(l.col_idx.size() + u.col_idx.size());
  for (index_t i = 0; i < f.n_rows; ++i) {
    const auto lower = l.row(i);
    const auto upper = u.row(i);
    f.col_idx.insert(f.col_idx.end(), lower.begin(), lower.end());
    f.col_idx.insert(f.col_idx.end(), upper.begin(), upper.end());
    f.row_ptr.push_back(static_cast<offset_t>(f.col_idx.size()));
  }
  return f;
}

// Whether no row has fewer entries than it must have.
bool at_least(const std::vector<index_t>& counts, const std::vector<index_t>& needed) {
  return std::ranges::equal(counts, needed, std::ranges::greater_equal());
}

judgement fail(std::string reason) {
  return {.status = run_status::fail, .reason = one_line(std::move(reason))};
}
judgement unverified(std::string reason) {
  return {.status = run_status::unverified, .reason = one_line(std::move(reason))};
}

}  // namespace

verify_mode parse_verify_mode(const std::string& name) {
  if (name == "auto") return verify_mode::automatic;
  if (name == "none") return verify_mode::none;
  if (name == "digest") return verify_mode::digest;
  if (name == "oracle") return verify_mode::oracle;
  if (name == "certificate") return verify_mode::certificate;
  throw input_error("unknown verification '" + name +
                    "': one of none, digest, oracle, certificate, auto");
}

verifier::verifier(const prepared_pattern& a, verify_mode mode, index_t chunk_size, int threads)
    : a_(a), mode_(mode), chunk_size_(chunk_size), threads_(threads) {}
verifier::~verifier() = default;

void verifier::assume_fill(const pattern_view& fill, std::string mode) {
  truth_ = reference::make_truth(fill);
  truth_mode_ = std::move(mode);
}

void verifier::find_trusted() {
  if (tried_trusted_) return;
  tried_trusted_ = true;
  const auto& variants = all_variants();
  const auto info = std::ranges::find(variants, trusted_variant, &variant_info::name);
  if (info == variants.end()) {
    no_trust_ = fmt::format("{} is not in this build", trusted_variant);
    return;
  }
  try {
    if (const auto why = info->unavailable()) throw unavailable_error(*why);
    auto solve = [&](want_set wants) {
      run_context context;
      const auto v = create_for(*info, a_.view().n_rows);
      const run_settings settings{.options = option_set(info->options),
                                  .wants = wants,
                                  .threads = threads_,
                                  .chunk_size = chunk_size_};
      v->prepare(a_.view(), settings, context);
      context.set_timeout(trusted_timeout);
      return run_once(*v, wants, context);
    };
    const want_set small = want_set(want::counts) | want::digest;
    result r = solve(small);
    const offset_t total = r.nnz_l + r.nnz_u;
    if (mode_ == verify_mode::automatic && total <= pattern_budget) {
      result full = solve(small | want::pattern);
      const auto form = reference::check_structure(full.l, full.u, a_.view().n_rows);
      const double cost = form.ok ? reference::certificate_cost(full.l, full.u) : 0;
      if (cost <= certificate_budget) {
        const auto verdict =
            form.ok ? reference::check_certificate(a_.view(), full.l, full.u, threads_) : form;
        if (!verdict.ok) {
          no_trust_ = fmt::format("{} was refuted: {}", trusted_variant, verdict.reason);
          return;
        }
        truth_ = reference::make_truth(join(full.l, full.u));
        truth_mode_ = "certificate";
        return;
      }
      if (cost <= row_union_budget) {
        truth_ = reference::make_truth(reference::row_union(a_.view()));
        truth_mode_ = "oracle";
        return;
      }
    }
    trusted_ = std::move(r);
  } catch (const std::exception& e) {
    no_trust_ = fmt::format("no digest of {}: {}", trusted_variant, e.what());
  }
}

verifier::method verifier::method_for(const variant_info& info) {
  const index_t n = a_.view().n_rows;
  switch (mode_) {
    case verify_mode::none:
      return method::none;
    case verify_mode::oracle:
      if (!truth_) {
        truth_ = reference::make_truth(n <= reference::max_boolean_order
                                           ? reference::eliminate_boolean(a_.view())
                                           : reference::row_union(a_.view()));
        truth_mode_ = "oracle";
      }
      return method::truth;
    case verify_mode::certificate:
      return truth_ ? method::truth : method::own_certificate;
    case verify_mode::digest:
      find_trusted();
      return method::digest;
    case verify_mode::automatic:
      break;
  }
  if (!truth_ && n <= oracle_order) {
    truth_ = reference::make_truth(reference::eliminate_boolean(a_.view()));
    truth_mode_ = "oracle";
  }
  if (!truth_) find_trusted();
  if (truth_) return method::truth;
  return trusted_ ? method::digest
                  : (info.gives.has(want::pattern) ? method::own_certificate : method::digest);
}

verifier::plan verifier::plan_for_own_order(const variant_info& info, want_set compared) const {
  if (mode_ == verify_mode::none) return {.mode = "none", .extra = {}};
  if (mode_ == verify_mode::certificate) {
    return {.mode = "certificate",
            .extra = info.gives.has(want::pattern) ? want_set(want::pattern) : want_set()};
  }
  const bool oracle = mode_ == verify_mode::oracle ||
                      (mode_ == verify_mode::automatic && a_.view().n_rows <= oracle_order);
  return {.mode = oracle ? "oracle" : "digest", .extra = compared};
}

verifier::plan verifier::plan_for(const variant_info& info, want_set wants) {
  // Row digests decide equality entry by entry; row counts are the next best.
  const want_set compared = info.gives.has(want::digest)   ? want_set(want::digest)
                            : info.gives.has(want::counts) ? want_set(want::counts)
                                                           : want_set();
  if (info.orders) return plan_for_own_order(info, compared);
  switch (method_for(info)) {
    case method::none:
      return {.mode = "none", .extra = {}};
    case method::truth:
      return {.mode = truth_mode_, .extra = wants.has(want::pattern) ? want_set() : compared};
    case method::digest:
      return {.mode = "digest", .extra = compared};
    case method::own_certificate:
      return {.mode = "certificate",
              .extra = info.gives.has(want::pattern) ? want_set(want::pattern) : want_set()};
  }
  return {};
}

judgement verifier::judge(const variant_info& info, want_set wants, const result& r) {
  return info.orders ? judge_own_order(info, wants, r) : judge_given_order(info, wants, r);
}

judgement verifier::judge_own_order(const variant_info& info, want_set wants, const result& r) {
  if (r.row_order.empty()) return fail("the result does not include its ordering");
  try {
    // An order is the same in every run, and so is the truth of it.
    if (!own_ || !std::ranges::equal(own_pattern_->row_order(), r.row_order) ||
        !std::ranges::equal(own_pattern_->col_order(), r.col_order)) {
      own_.reset();
      own_pattern_ = std::make_unique<prepared_pattern>(reference::pattern_of(a_.view(), r),
                                                        r.row_order, r.col_order, a_.origin());
      own_ = std::make_unique<verifier>(*own_pattern_, mode_, chunk_size_, threads_);
    }
  } catch (const input_error& e) {
    return fail(e.what());
  }
  return own_->judge_given_order(info, wants, r);
}

judgement verifier::judge_given_order(const variant_info& info, want_set wants, const result& r) {
  const auto consistent = reference::check_consistency(r, wants, a_.view().n_rows, chunk_size_);
  if (!consistent.ok) return fail("inconsistent result: " + consistent.reason);
  if (r.of_own_order && !info.orders) {
    return info.exact ? fail("entries in its own order")
                      : unverified("entries in its own order, not in the given order");
  }
  switch (method_for(info)) {
    case method::none:
      return unverified("verification was turned off");
    case method::truth:
      return compare_with_truth(info, wants, r);
    case method::own_certificate:
      return certify(info, wants, r);
    case method::digest:
      return compare_digests(info, wants, r);
  }
  return {};
}

judgement verifier::compare_with_truth(const variant_info& info, want_set wants,
                                       const result& r) const {
  const auto verdict = reference::compare(*truth_, r, wants, chunk_size_);
  if (verdict.ok) return wants == want_set() ? unverified(only_totals) : judgement{};
  const offset_t excess = (r.nnz_l - truth_->nnz_l) + (r.nnz_u - truth_->nnz_u);
  const bool some_row_lacks =
      wants.has(want::counts) && !(at_least(r.l_row_counts, truth_->l_row_counts) &&
                                   at_least(r.u_row_counts, truth_->u_row_counts));
  if (!info.exact && excess > 0 && !some_row_lacks && r.nnz_l >= truth_->nnz_l &&
      r.nnz_u >= truth_->nnz_u) {
    return unverified(fmt::format("reports a superset: {} entries more than the fill", excess));
  }
  return fail(verdict.reason);
}

judgement verifier::certify(const variant_info& info, want_set wants, const result& r) {
  if (!wants.has(want::pattern)) return unverified("gives no pattern to certify");
  const auto form = reference::check_structure(r.l, r.u, a_.view().n_rows);
  if (!form.ok) return fail(form.reason);
  if (mode_ == verify_mode::automatic) {
    const double cost = reference::certificate_cost(r.l, r.u);
    if (cost > certificate_budget) {
      return unverified(fmt::format("{}; the certificate takes {:.2g} steps", no_trust_, cost));
    }
  }
  const auto verdict = reference::check_certificate(a_.view(), r.l, r.u, threads_);
  if (!verdict.ok && !info.exact) {
    // The certificate does not tell a superset from a fill with entries missing.
    truth_ = reference::make_truth(reference::row_union(a_.view()));
    truth_mode_ = "oracle";
    return compare_with_truth(info, wants, r);
  }
  if (!verdict.ok) return fail(verdict.reason);
  truth_ = reference::make_truth(join(r.l, r.u));
  truth_mode_ = "certificate";
  const auto rest = reference::compare(*truth_, r, wants, chunk_size_);
  return rest.ok ? judgement{} : fail(rest.reason);
}

judgement verifier::compare_digests(const variant_info& info, want_set wants,
                                    const result& r) const {
  if (!trusted_) return unverified(no_trust_);
  const bool same_totals = r.nnz_l == trusted_->nnz_l && r.nnz_u == trusted_->nnz_u;
  if (!same_totals) {
    if (!info.exact && r.nnz_l >= trusted_->nnz_l && r.nnz_u >= trusted_->nnz_u) {
      return unverified(fmt::format("reports a superset: {} entries more than {}",
                                    (r.nnz_l - trusted_->nnz_l) + (r.nnz_u - trusted_->nnz_u),
                                    trusted_variant));
    }
    return fail(fmt::format("nnz_l, nnz_u = {}, {}; {} has {}, {}", r.nnz_l, r.nnz_u,
                            trusted_variant, trusted_->nnz_l, trusted_->nnz_u));
  }
  if (wants.has(want::counts) &&
      (r.l_row_counts != trusted_->l_row_counts || r.u_row_counts != trusted_->u_row_counts)) {
    return fail(fmt::format("row counts differ from those of {}", trusted_variant));
  }
  if (wants.has(want::digest)) {
    const auto differ = std::ranges::mismatch(r.row_digests, trusted_->row_digests);
    if (differ.in1 != r.row_digests.end()) {
      return fail(fmt::format("row {}: digest differs from that of {}",
                              differ.in1 - r.row_digests.begin(), trusted_variant));
    }
  }
  if (info.name == trusted_variant) {
    return unverified(
        fmt::format("{} is what others are compared with; too large for an oracle", info.name));
  }
  if (wants == want_set()) return unverified(only_totals);
  if (!wants.has(want::digest)) return unverified("gives no digest; the counts agree");
  return {};
}

}  // namespace gsofa
