#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/claim_expression.hpp"
#include "harness/record.hpp"

namespace gsofa {

/// Records of one machine, as what expressions of claims are computed from.
///
/// Leaves (V a variant; options that are not named have their defaults; also ranks= and
/// chunk_size=, by default 1 and 128, and threads=, to be named where records differ in it; of
/// several records of a case the last counts):
///   time(V)            lower median of the samples, seconds
///   bare(V)            the same without the phase compact, the digests that only verification
///   needs phase(NAME, V)     seconds of a phase in the median run; 0 if it was not entered
///   mem(NAME, V)       bytes: device_peak, host_peak, device.NAME, predicted.NAME
///   result(NAME, V)    nnz_l, nnz_u, fill, supernodes
///   counter(NAME, V)   of the counting build
///   series_max(NAME, V), series_min(NAME, V), series_rank(NAME, V): largest and smallest positive
///                      value over sources, and Spearman's correlation with the source
///   matrix(NAME)       n, nnz; paper.order, paper.nnz, paper.symmetry, paper.fill_ratio
///   profile(NAME, V)   throughput by ncu, from profile.jsonl
///   simulated(...)     seconds of the scheduling simulator, from simulated.jsonl, for the member
///   of
///                      the family of the matrix's stand-in that is largest; gpus=, schedule=
class claim_records {
 public:
  /// Reads every *.jsonl of the folders and files. Records that neither passed nor are of a peer or
  /// of cpu_gilbert_peierls are left out. Throws input_error if a line is no record, or if the
  /// records are of several machines.
  explicit claim_records(const std::vector<std::filesystem::path>& sources);

  [[nodiscard]] std::optional<double> answer(const claim_leaf& leaf,
                                             const std::string& matrix) const;
  /// True if what was measured under this abbreviation is a stand-in.
  [[nodiscard]] bool is_stand_in(const std::string& matrix) const;
  [[nodiscard]] std::string machine() const;  ///< "4 x NVIDIA H200, Intel(R) Xeon(R) Processor"
  [[nodiscard]] std::vector<std::string> commits() const;

 private:
  struct entry {
    std::string matrix;  // abbreviation
    json record;
  };
  void add(json line);
  [[nodiscard]] const json* find(const claim_leaf& leaf, const std::string& matrix,
                                 const std::string& variant, bool counting, bool with_series) const;
  [[nodiscard]] const json* find_simulated(const claim_leaf& leaf, const std::string& matrix) const;

  std::vector<entry> entries_;
  std::vector<entry> profiles_;
  std::vector<json> simulated_;
};

}  // namespace gsofa
