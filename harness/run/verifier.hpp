#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/prepared.hpp"
#include "common/variant.hpp"
#include "harness/run/status.hpp"
#include "reference/verify_result.hpp"

namespace gsofa {

/// How results are verified.
enum class verify_mode {
  automatic,    ///< oracle up to oracle_order, else certificate if affordable, else digest
  none,         ///< only the self-consistency of a result
  digest,       ///< equality with the digests of an independent variant
  oracle,       ///< comparison with Gaussian elimination of reference/
  certificate,  ///< reference::check_certificate on the variant's own pattern
};
verify_mode parse_verify_mode(const std::string& name);

/// Limits of verify_mode::automatic.
inline constexpr index_t oracle_order = 1500;          ///< largest n for dense elimination
inline constexpr double certificate_budget = 2e9;      ///< steps, see certificate_cost()
inline constexpr offset_t pattern_budget = 400000000;  ///< entries of L+U that are kept in memory

/// The variant whose digests replace the truth where no oracle can compute it.
inline constexpr const char* trusted_variant = "cpu_gilbert_peierls";

/// Judges the results of all variants on one prepared matrix. The truth is computed when it is
/// first needed and reused.
///
/// A pattern that passes the certificate is the fill closure, whoever computed it; so under
/// verify_mode::automatic one certified pattern of the trusted variant serves as the truth for all.
class verifier {
 public:
  /// `a` must outlive this. Supernodes are compared for `chunk_size`; `threads` may be used off the
  /// clock.
  verifier(const prepared_pattern& a, verify_mode mode, index_t chunk_size, int threads);
  ~verifier();

  /// How results of `info` will be verified ("oracle", "certificate", "digest" or "none") and what
  /// prepare() must be asked for in addition to `wants`. Computes the truth if necessary, which
  /// may take long. For a variant that orders the matrix itself, only judge() computes it.
  struct plan {
    std::string mode;
    want_set extra;
  };
  plan plan_for(const variant_info& info, want_set wants);

  /// Adopts L+U that the caller found by `mode`, "oracle" or "certificate".
  void assume_fill(const pattern_view& fill, std::string mode);

  /// Judges one result, for which `wants` (with the plan's extra) were asked.
  judgement judge(const variant_info& info, want_set wants, const result& r);

 private:
  enum class method { none, truth, own_certificate, digest };

  judgement judge_given_order(const variant_info& info, want_set wants, const result& r);
  judgement judge_own_order(const variant_info& info, want_set wants, const result& r);
  plan plan_for_own_order(const variant_info& info, want_set compared) const;
  void find_trusted();
  method method_for(const variant_info& info);
  judgement compare_with_truth(const variant_info& info, want_set wants, const result& r) const;
  judgement certify(const variant_info& info, want_set wants, const result& r);
  judgement compare_digests(const variant_info& info, want_set wants, const result& r) const;

  const prepared_pattern& a_;
  verify_mode mode_;
  index_t chunk_size_;
  int threads_;
  std::optional<reference::truth> truth_;
  std::string truth_mode_;  // "oracle" or "certificate"
  bool tried_trusted_ = false;
  std::optional<result> trusted_;  // counts and digests of the trusted variant
  std::string no_trust_;           // why trusted_ is empty or does not serve for itself
  std::unique_ptr<prepared_pattern> own_pattern_;  // in the order of the last such result
  std::unique_ptr<verifier> own_;                  // of it
};

}  // namespace gsofa
