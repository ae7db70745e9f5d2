#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/variant.hpp"
#include "harness/run/verifier.hpp"

namespace gsofa {

/// The ranks that run one case together: this rank alone, or all ranks of the MPI job if the
/// variant is distributed. All of them call the members in the same order.
class job {
 public:
  static std::unique_ptr<job> of(const variant_info& info);
  virtual ~job() = default;

  /// How the results will be verified. Adds to `wants` what prepare() needs for that.
  virtual verifier::plan plan_for(verifier& check, const variant_info& info, want_set& wants) = 0;
  /// Seconds from before v.run() to after it, on the clock that the phases divide. On several ranks
  /// from a barrier before v.run() to the return from one after it, on this rank.
  virtual double run(variant& v, run_context& context) = 0;
  virtual std::int64_t max(std::int64_t value) = 0;
  /// `action` on every rank; if it throws on one rank, all ranks throw alike.
  virtual void together(const std::function<void()>& action) = 0;
  /// The phases of all ranks, on rank 0; nothing for a rank alone.
  virtual std::vector<std::map<std::string, double>> phases_by_rank(
      const std::map<std::string, double>& mine) = 0;
  /// Judges a result, for which `wants` were asked; the same on all ranks.
  virtual judgement judge(verifier& check, const variant_info& info, want_set wants,
                          const result& r) = 0;
  /// The other ranks wait for this rank: ends them unless they throw `e` too.
  virtual void end_others(const std::exception& e) = 0;
};

}  // namespace gsofa
