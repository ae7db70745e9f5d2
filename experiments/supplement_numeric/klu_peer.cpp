#include "experiments/supplement_numeric/klu_peer.hpp"

#ifdef GSOFA_HAVE_KLU

#include <klu.h>

#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>

namespace refactor {

namespace {

using static_lu::at;
using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

class klu_solver final : public klu_peer {
 public:
  klu_solver(const static_lu::matrix& a, const plan* given) {
    if (a.values.size() > at(std::numeric_limits<int>::max())) {
      throw std::runtime_error("KLU: more entries than its 32-bit interface takes");
    }
    klu_defaults(&common_);
    to_columns(a);
    if (given == nullptr) {
      symbolic_ = klu_analyze(a.n(), begin_.data(), row_.data(), &common_);
    } else {
      common_.btf = 0;
      std::vector<int> rows(given->row_order.begin(), given->row_order.end());
      std::vector<int> columns(given->col_order.begin(), given->col_order.end());
      symbolic_ = klu_analyze_given(a.n(), begin_.data(), row_.data(), rows.data(), columns.data(),
                                    &common_);
    }
    if (symbolic_ == nullptr) refuse("analysis");
    take(a.values);
    const auto begin = clock::now();
    numeric_ = klu_factor(begin_.data(), row_.data(), value_.data(), symbolic_, &common_);
    factor_seconds_ = seconds_since(begin);
    if (numeric_ == nullptr || common_.status != KLU_OK) {
      release();
      refuse("factorization");
    }
    klu_flops(symbolic_, numeric_, &common_);
  }
  ~klu_solver() override { release(); }
  klu_solver(const klu_solver&) = delete;
  klu_solver& operator=(const klu_solver&) = delete;

  [[nodiscard]] std::int64_t entries() const override {
    return std::int64_t{numeric_->lnz} + numeric_->unz - numeric_->n + numeric_->nzoff;
  }
  [[nodiscard]] double flops() const override { return common_.flops; }
  [[nodiscard]] double factor_seconds() const override { return factor_seconds_; }

  double refactor(std::span<const double> values) override {
    take(values);
    const auto begin = clock::now();
    const int done =
        klu_refactor(begin_.data(), row_.data(), value_.data(), symbolic_, numeric_, &common_);
    const double taken = seconds_since(begin);
    if (done == 0 || common_.status != KLU_OK) refuse("refactorization");
    return taken;
  }

  double solve(const static_lu::matrix& a, int refinements, std::vector<double>& b) override {
    const auto begin = clock::now();
    std::vector<double> x(b.size(), 0.0);
    for (int k = 0; k <= refinements; ++k) {
      std::vector<double> r = static_lu::residual(a, x, b);
      klu_solve(symbolic_, numeric_, a.n(), 1, r.data(), &common_);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += r[i];
    }
    b = std::move(x);
    return seconds_since(begin);
  }

 private:
  [[noreturn]] void refuse(const std::string& step) const {
    throw std::runtime_error("KLU: " + step + ": " +
                             (common_.status == KLU_SINGULAR        ? "a pivot is zero"
                              : common_.status == KLU_OUT_OF_MEMORY ? "out of memory"
                                                                    : "refused") +
                             ", status " + std::to_string(common_.status));
  }

  void release() {
    klu_free_numeric(&numeric_, &common_);
    klu_free_symbolic(&symbolic_, &common_);
  }

  // The pattern by columns, and which value of A each of its entries is.
  void to_columns(const static_lu::matrix& a) {
    begin_.assign(at(a.n()) + 1, 0);
    for (const std::int32_t j : a.pattern.col_idx) ++begin_[at(j) + 1];
    for (std::size_t j = 1; j < begin_.size(); ++j) begin_[j] += begin_[j - 1];
    std::vector<int> next(begin_.begin(), begin_.end() - 1);
    row_.resize(a.values.size());
    from_.resize(a.values.size());
    value_.resize(a.values.size());
    std::int64_t p = 0;
    for (std::int32_t i = 0; i < a.n(); ++i) {
      for (const std::int32_t j : a.pattern.row(i)) {
        const auto q = at(next[at(j)]++);
        row_[q] = i;
        from_[q] = p++;
      }
    }
  }

  void take(std::span<const double> values) {
    for (std::size_t q = 0; q < from_.size(); ++q) value_[q] = values[at(from_[q])];
  }

  klu_common common_{};
  klu_symbolic* symbolic_ = nullptr;
  klu_numeric* numeric_ = nullptr;
  std::vector<int> begin_, row_;
  std::vector<std::int64_t> from_;
  std::vector<double> value_;
  double factor_seconds_ = 0;
};

}  // namespace

std::unique_ptr<klu_peer> klu_peer::create(const static_lu::matrix& a, const plan* given) {
  return std::make_unique<klu_solver>(a, given);
}

}  // namespace refactor

#else

namespace refactor {

std::unique_ptr<klu_peer> klu_peer::create(const static_lu::matrix&, const plan*) {
  return nullptr;
}

}  // namespace refactor

#endif
