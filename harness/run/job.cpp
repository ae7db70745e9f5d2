#include "harness/run/job.hpp"

#include <new>

#include "common/mpi_context.hpp"
#include "common/rank_errors.hpp"
#include "harness/run/distribute.hpp"

namespace gsofa {

namespace {

class alone final : public job {
 public:
  verifier::plan plan_for(verifier& check, const variant_info& info, want_set& wants) override {
    verifier::plan plan = check.plan_for(info, wants);
    wants |= plan.extra;
    return plan;
  }
  double run(variant& v, run_context& context) override { return run_timed(v, context); }
  std::int64_t max(std::int64_t value) override { return value; }
  void together(const std::function<void()>& action) override { action(); }
  std::vector<std::map<std::string, double>> phases_by_rank(
      const std::map<std::string, double>& /*mine*/) override {
    return {};
  }
  judgement judge(verifier& check, const variant_info& info, want_set wants,
                  const result& r) override {
    return check.judge(info, wants, r);
  }
  void end_others(const std::exception& /*e*/) override {}
};

// No rank has the whole pattern: the verifier on rank 0 sees everything else, and every rank checks
// its rows against the counts and digests that rank 0 has verified.
class all_ranks final : public job {
 public:
  verifier::plan plan_for(verifier& check, const variant_info& info, want_set& wants) override {
    verifier::plan plan;
    j_.on_root([&] { plan = check.plan_for(without_pattern(info), wants.without(want::pattern)); });
    j_.broadcast(plan.extra);
    wants |= plan.extra;
    if (wants.has(want::pattern)) wants |= want_set(want::counts) | want::digest;
    return plan;
  }

  double run(variant& v, run_context& context) override {
    j_.barrier();
    context.phases.start(phase_id::traverse);
    v.run(context);
    {
      const phase timed(context, phase_id::comm);
      j_.barrier();
    }
    return context.phases.stop();
  }

  std::int64_t max(std::int64_t value) override { return j_.max(value); }
  void together(const std::function<void()>& action) override { j_.collective_try(action); }

  std::vector<std::map<std::string, double>> phases_by_rank(
      const std::map<std::string, double>& mine) override {
    std::vector<double> seconds;
    for (int k = 0; k < static_cast<int>(phase_id::count_); ++k) {
      const auto hit = mine.find(phase_name(static_cast<phase_id>(k)));
      seconds.push_back(hit == mine.end() ? 0.0 : hit->second);
    }
    std::vector<std::map<std::string, double>> all;
    for (const auto& rank : j_.gather(seconds)) {
      auto& phases = all.emplace_back();
      for (std::size_t k = 0; k < rank.size(); ++k) {
        if (rank[k] > 0) phases[phase_name(static_cast<phase_id>(k))] = rank[k];
      }
    }
    return all;
  }

  judgement judge(verifier& check, const variant_info& info, want_set wants,
                  const result& r) override {
    judgement judged;
    j_.on_root(
        [&] { judged = check.judge(without_pattern(info), wants.without(want::pattern), r); });
    if (wants.has(want::pattern)) {
      const std::string fault = distributed_pattern_fault(j_, r);
      if (!fault.empty()) {
        judged = {.status = run_status::fail, .reason = one_line("pattern: " + fault)};
      }
    }
    j_.broadcast(judged.status);
    j_.broadcast(judged.reason);
    return judged;
  }

  void end_others(const std::exception& e) override {
    if (dynamic_cast<const thrown_by_all_ranks*>(&e) != nullptr) return;
    abort_job(dynamic_cast<const std::bad_alloc*>(&e) != nullptr ? "out of host memory" : e.what());
  }

 private:
  static variant_info without_pattern(variant_info info) {
    info.gives = info.gives.without(want::pattern);
    return info;
  }

  mpi_context& j_ = mpi_context::world();
};

}  // namespace

std::unique_ptr<job> job::of(const variant_info& info) {
  if (info.distributed && mpi_context::world().ranks() > 1) return std::make_unique<all_ranks>();
  return std::make_unique<alone>();
}

}  // namespace gsofa
