// labels: unit oracle
#include "harness/run/verifier.hpp"

#include <doctest/doctest.h>

#include "common/digest.hpp"
#include "common/ordering.hpp"
#include "harness/testing/fake_variant.hpp"
#include "reference/worked_example.hpp"

using namespace gsofa;

namespace {

judgement judge(verify_mode mode, const std::function<void(result&)>& tamper,
                variant_info info = testing::fake_info()) {
  const auto a = testing::as_it_is(reference::worked_example());
  verifier v(a, mode, 128, 1);
  const want_set wants = want_set::all();
  v.plan_for(info, wants);
  result r = testing::right_result(a.view());
  if (tamper) tamper(r);
  return v.judge(info, wants, r);
}

constexpr verify_mode judging_modes[] = {verify_mode::automatic, verify_mode::oracle,
                                         verify_mode::certificate, verify_mode::digest};

}  // namespace

TEST_CASE("a right result passes in every mode") {
  for (const auto mode : judging_modes) {
    const auto j = judge(mode, {});
    CHECK_MESSAGE(j.status == run_status::pass, j.reason);
  }
  CHECK(judge(verify_mode::none, {}).status == run_status::unverified);
}

TEST_CASE("a tampered result is refuted in every mode") {
  const std::function<void(result&)> faults[] = {
      [](result& r) { r.nnz_u += 1; },
      [](result& r) { r.digest ^= 1; },
      [](result& r) { r.row_digests[3] ^= 1; },
      [](result& r) { std::swap(r.row_digests[3], r.row_digests[4]); },
      [](result& r) { r.u_row_counts[2] += 1; },
      [](result& r) { std::swap(r.l.col_idx[0], r.l.col_idx[1]); },
      [](result& r) { r.u.col_idx[0] = 9; },
      [](result& r) { r.supernode_starts.pop_back(); },
      [](result& r) { r.l_row_counts.pop_back(); },
  };
  int number = 0;
  for (const auto& fault : faults) {
    CAPTURE(number);
    ++number;
    for (const auto mode : judging_modes) {
      const auto j = judge(mode, fault);
      CHECK(j.status == run_status::fail);
      CHECK_FALSE(j.reason.empty());
    }
  }
}

TEST_CASE("an inconsistent result fails even without verification") {
  CHECK(judge(verify_mode::none, [](result& r) { r.nnz_l += 1; }).status == run_status::fail);
}

TEST_CASE("a superset of the fill is unverified for peers only") {
  // The whole matrix as "fill": consistent in itself.
  const pattern full = [] {
    triplets t;
    t.n_rows = t.n_cols = 10;
    for (index_t i = 0; i < 10; ++i) {
      for (index_t j = 0; j < 10; ++j) {
        t.rows.push_back(i);
        t.cols.push_back(j);
      }
    }
    return from_triplets(t, duplicates::reject);
  }();
  auto over_fill = [&](result& r) { r = testing::right_result(full.view()); };
  CHECK(judge(verify_mode::oracle, over_fill).status == run_status::fail);
  CHECK(judge(verify_mode::certificate, over_fill).status == run_status::fail);
  variant_info peer = testing::fake_info();
  peer.exact = false;
  const auto j = judge(verify_mode::oracle, over_fill, peer);
  CHECK(j.status == run_status::unverified);
  CHECK(j.reason.find("superset") != std::string::npos);
  CHECK(judge(verify_mode::certificate, over_fill, peer).status == run_status::unverified);
  CHECK(judge(verify_mode::oracle, {}, peer).status == run_status::pass);
  CHECK(judge(verify_mode::certificate, {}, peer).status == run_status::pass);
  // More entries in all, but the last row lacks one.
  const auto lacking = [&](result& r) {
    const index_t needed = r.l_row_counts.back();
    over_fill(r);
    while (r.l_row_counts.back() >= needed) {
      const std::uint64_t lost = entry_hash(9, r.l.col_idx.back());
      r.l.col_idx.pop_back();
      --r.l.row_ptr.back();
      --r.l_row_counts.back();
      --r.nnz_l;
      r.row_digests.back() -= lost;
      r.digest -= lost;
    }
    r.supernode_starts = reference::t3_supernodes(r.l, r.u, 128);
  };
  for (const auto mode : {verify_mode::oracle, verify_mode::certificate}) {
    const auto lack = judge(mode, lacking, peer);
    CHECK_MESSAGE(lack.status == run_status::fail, lack.reason);
    CHECK(lack.reason.find("inconsistent") == std::string::npos);
  }
}

TEST_CASE("totals alone are never a pass") {
  const auto a = testing::as_it_is(reference::worked_example());
  variant_info peer = testing::fake_info();
  peer.gives = {};
  peer.exact = false;
  for (const auto mode : judging_modes) {
    verifier v(a, mode, 128, 1);
    CHECK(v.plan_for(peer, {}).extra == want_set());
    result r;
    const auto right = testing::right_result(a.view());
    r.nnz_l = right.nnz_l;
    r.nnz_u = right.nnz_u;
    CHECK(v.judge(peer, {}, r).status == run_status::unverified);
    if (mode == verify_mode::certificate) continue;  // which has no pattern to judge
    CHECK(v.judge(peer, {}, r).reason.find("totals only") != std::string::npos);
    ++r.nnz_u;
    CHECK(v.judge(peer, {}, r).reason.find("superset: 1 entries") != std::string::npos);
    r.nnz_l = right.nnz_l - 1;
    CHECK(v.judge(peer, {}, r).status == run_status::fail);
    r.of_own_order = true;
    CHECK(v.judge(peer, {}, r).status == run_status::unverified);
    CHECK(v.judge(peer, {}, r).reason.find("its own order") != std::string::npos);
    CHECK(v.judge(testing::fake_info(), {}, r).status == run_status::fail);
  }
}

TEST_CASE("a result in an order of the variant's own is judged in that order") {
  variant_info info = testing::fake_info();
  info.orders = true;
  const pattern given = reference::worked_example();
  std::vector<index_t> order(at(given.n_rows));
  for (index_t k = 0; k < given.n_rows; ++k) order[at(k)] = (7 * k + 3) % given.n_rows;
  result right = testing::right_result(permute(given, order, order));
  right.of_own_order = true;
  right.row_order = right.col_order = order;
  const auto judge_own = [&](verify_mode mode, const result& r) {
    const auto a = testing::as_it_is(given);
    verifier v(a, mode, 128, 1);
    v.plan_for(info, want_set::all());
    const judgement first = v.judge(info, want_set::all(), r);
    CHECK(v.judge(info, want_set::all(), r).status == first.status);
    return first;
  };
  for (const auto mode : judging_modes) {
    CHECK(judge_own(mode, right).status == run_status::pass);
    result other = testing::right_result(given);
    other.row_order = other.col_order = order;
    CHECK(judge_own(mode, other).status == run_status::fail);
    other.row_order = other.col_order = identity_order(given.n_rows);
    CHECK(judge_own(mode, other).status == run_status::pass);
    result repeated = right;
    repeated.row_order[0] = repeated.row_order[1];
    CHECK(judge_own(mode, repeated).reason.find("row order of the result") != std::string::npos);
    result shifted = right;
    std::ranges::rotate(shifted.row_order, shifted.row_order.begin() + 1);
    CHECK(judge_own(mode, shifted).status == run_status::fail);
    result untold = right;
    untold.row_order.clear();
    CHECK(judge_own(mode, untold).reason == "the result does not include its ordering");
  }
  CHECK(judge_own(verify_mode::none, right).status == run_status::unverified);
}

TEST_CASE("plans ask for what their method compares") {
  const auto a = testing::as_it_is(reference::worked_example());
  const auto info = testing::fake_info();
  auto plan = [&](verify_mode mode) {
    return verifier(a, mode, 128, 1).plan_for(info, want::counts);
  };
  CHECK(plan(verify_mode::automatic).mode == "oracle");
  CHECK(plan(verify_mode::automatic).extra.has(want::digest));
  CHECK(plan(verify_mode::certificate).mode == "certificate");
  CHECK(plan(verify_mode::certificate).extra.has(want::pattern));
  CHECK(plan(verify_mode::none).extra == want_set());
}

TEST_CASE("mode names") {
  CHECK(parse_verify_mode("auto") == verify_mode::automatic);
  CHECK_THROWS_AS(parse_verify_mode("perhaps"), input_error);
}
