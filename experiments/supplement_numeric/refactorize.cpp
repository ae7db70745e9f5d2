// gsofa_refactorize [options] MATRIX.mtx[.gz]...: analyses the pattern of A once, then factors and
// solves with new values many times on the device, inside the predicted pattern of L + U
// (device_lu.cu), as simulators of circuits and of time steps do. Alternates with cuSOLVER's
// refactorization and with KLU, on the same values. Prints one line of CSV for each matrix, and a
// table at the end.
//
// Exit status: 0; 1 a residual is above 1e-10; 2 bad input, a value that has no place in the
// predicted pattern, or another error. A matrix that fails does not keep the others from being run.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/supplement_numeric/device_lu.hpp"
#include "experiments/supplement_numeric/klu_peer.hpp"
#include "experiments/supplement_numeric/refactor_plan.hpp"
#include "experiments/supplement_numeric/rf_peer.hpp"

namespace {

using refactor::row_choice;
using static_lu::at;

constexpr double largest_residual = 1e-10;

struct choices {
  std::vector<std::string> matrices;
  std::vector<std::string> with;
  std::string csv;
  refactor::plan_options plan;
  refactor::device_options device;
  int steps = 10;
  int refinements = 2;
  int repeats = 1;
  double change = 0.1;
  double peer_seconds = 10;

  [[nodiscard]] bool has(const std::string& peer) const {
    return std::find(with.begin(), with.end(), peer) != with.end();
  }
};

double seconds(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// One method on one matrix, over the steps.
struct measured {
  std::vector<double> refactor_seconds, solve_seconds;
  double residual = 0;  // the largest
  double used = 0;      // seconds in all

  void add(double factored, double solved, double residual_now) {
    refactor_seconds.push_back(factored);
    solve_seconds.push_back(solved);
    used += factored + solved;
    residual = std::isnan(residual_now) ? residual_now : std::max(residual, residual_now);
  }
};

// A peer, if the caller requests it and it accepts the matrix.
template <class Peer>
struct contender {
  std::unique_ptr<Peer> peer;
  measured times;

  // An error of a peer is a note: it is no fault of the factorization that is shown here.
  void attempt(const std::string& file, const std::function<void()>& action) {
    try {
      action();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "refactorize: %s: %s\n", file.c_str(), e.what());
      peer.reset();
      times = {};
    }
  }
};

// The values of a step, from those of the file, which the first step has.
std::vector<double> values_of(std::vector<double> out, int step, double change) {
  for (std::size_t p = 0; step > 1 && p < out.size(); ++p) {
    out[p] *= 1 + change * std::sin(1.7 * step + static_cast<double>(p));
  }
  return out;
}

std::string text(double value, const char* format = "%.4g") {
  char out[32];
  std::snprintf(out, sizeof out, format, value);
  return out;
}

std::string hexadecimal(std::uint64_t value) {
  char out[32];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(value));
  return out;
}

std::string median_ms(std::vector<double> samples) {
  if (samples.empty()) return "-";
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  const double median =
      samples.size() % 2 != 0 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
  return text(1e3 * median);
}

// FNV-1a over the bits of the values.
std::uint64_t digest(const std::vector<double>& values) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const double value : values) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3U;
  }
  return hash;
}

std::string ms(double s) { return text(1e3 * s); }

std::string stem(const std::string& file) {
  const auto slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return name.substr(0, name.find(".mtx"));
}

// A row of the CSV: names and values in order.
using record = std::vector<std::pair<std::string, std::string>>;

class case_run {
 public:
  case_run(const choices& c, const std::string& file)
      : c_(c),
        file_(file),
        a_(static_lu::read_matrix_market(file)),
        plan_(refactor::make_plan(a_, c.plan)),
        b_(static_lu::some_right_side(a_.n())) {}

  // Whether all residuals are small.
  [[nodiscard]] bool run() {
    upload_seconds_ = seconds([&] {
      lu_ = std::make_unique<refactor::device_lu>(plan_, c_.device);
      lu_->set_values(a_.values);
      lu_->set_right_side(b_);
    });
    refactor::step_report first;
    first_seconds_ = seconds([&] { first = lu_->factorize(); });
    require_finite(first);
    create_peers(first);
    const std::vector<double> original = a_.values;
    for (int step = 1; step <= c_.steps; ++step) {
      a_.values = values_of(original, step, c_.change);
      run_step();
    }
    repeat();
    return ours_.residual <= largest_residual;
  }

  [[nodiscard]] record result() const {
    record r{{"matrix", stem(file_)},
             {"n", std::to_string(plan_.n)},
             {"nnz", std::to_string(plan_.a_column.size())},
             {"nnz_lu", std::to_string(plan_.column.size())},
             {"levels", std::to_string(plan_.lower_levels)},
             {"upper_levels", std::to_string(plan_.upper_levels)},
             {"flops", text(plan_.flops)},
             {"replaced", std::to_string(replaced_)},
             {"outside", std::to_string(lu_->outside())},
             {"residual", text(ours_.residual, "%.2g")},
             {"digest", hexadecimal(digest_)},
             {"match_ms", ms(plan_.match_seconds)},
             {"analysis_ms", ms(plan_.analysis_seconds)},
             {"schedule_ms", ms(plan_.schedule_seconds)},
             {"upload_plan_ms", ms(upload_seconds_)},
             {"first_ms", ms(first_seconds_)},
             {"upload_values_ms", median_ms(upload_values_seconds_)},
             {"refactor_ms", median_ms(ours_.refactor_seconds)},
             {"solve_ms", median_ms(ours_.solve_seconds)},
             {"scheduled", lu_->scheduled() ? "1" : "0"},
             {"threads", std::to_string(lu_->threads())},
             {"blocks", std::to_string(lu_->blocks())},
             {"device_mb", text(static_cast<double>(lu_->bytes()) / (1 << 20))},
             {"rf_setup_ms", rf_.peer ? ms(rf_.peer->setup_seconds()) : "-"}};
    add(r, "rf", rf_.peer != nullptr, rf_.times);
    for (const auto& [name, klu] :
         {std::pair<std::string, const klu_contender&>("klu", klu_),
          std::pair<std::string, const klu_contender&>("klu_given", given_)}) {
      const bool there = klu.peer != nullptr;
      r.emplace_back(name + "_nnz_lu", there ? std::to_string(klu.peer->entries()) : "-");
      r.emplace_back(name + "_flops", there ? text(klu.peer->flops()) : "-");
      r.emplace_back(name + "_factor_ms", there ? ms(klu.peer->factor_seconds()) : "-");
      add(r, name, there, klu.times);
    }
    return r;
  }

 private:
  using klu_contender = contender<refactor::klu_peer>;

  static void add(record& r, const std::string& name, bool there, const measured& m) {
    r.emplace_back(name + "_refactor_ms", median_ms(m.refactor_seconds));
    r.emplace_back(name + "_solve_ms", median_ms(m.solve_seconds));
    r.emplace_back(name + "_residual",
                   there && !m.solve_seconds.empty() ? text(m.residual, "%.2g") : "-");
  }

  static void require_finite(const refactor::step_report& report) {
    if (report.not_finite != 0) {
      throw std::runtime_error(std::to_string(report.not_finite) + " values are not finite");
    }
  }

  void create_peers(const refactor::step_report& first) {
    if (c_.has("rf")) {
      rf_.attempt(file_, [&] {
        rf_.peer = refactor::rf_peer::create(plan_, *lu_, std::ldexp(first.norm, -26));
        if (!rf_.peer) throw std::runtime_error("this build has no cusolverRf");
      });
    }
    for (const auto& [name, klu, order] :
         {std::tuple<std::string, klu_contender*, const refactor::plan*>("klu", &klu_, nullptr),
          std::tuple<std::string, klu_contender*, const refactor::plan*>("klu-given", &given_,
                                                                         &plan_)}) {
      if (!c_.has(name)) continue;
      klu->attempt(file_, [&, k = klu, o = order] {
        k->peer = refactor::klu_peer::create(a_, o);
        if (!k->peer) throw std::runtime_error("this build has no KLU");
      });
    }
  }

  void run_step() {
    upload_values_seconds_.push_back(seconds([&] {
      lu_->set_values(a_.values);
      refactor::device_lu::wait();
    }));
    refactor::step_report report;
    const double factored = seconds([&] { report = lu_->factorize(); });
    require_finite(report);
    replaced_ = std::max(replaced_, report.replaced);
    const double solved = seconds([&] {
      lu_->solve(c_.refinements);
      refactor::device_lu::wait();
    });
    ours_.add(factored, solved, residual_of(lu_->solution()));
    run_rf();
    run_klu(klu_);
    run_klu(given_);
  }

  // The same values again: no bit of L + U or of the solution may differ.
  void repeat() {
    for (int k = 0; k < c_.repeats; ++k) {
      lu_->factorize();
      lu_->solve(c_.refinements);
      const std::uint64_t found = digest(lu_->factors()) ^ (digest(lu_->solution()) << 1);
      if (k > 0 && found != digest_) {
        throw std::runtime_error("factorization " + std::to_string(k + 1) +
                                 " of the same values differs from the first");
      }
      digest_ = found;
    }
  }

  void run_rf() {
    if (!rf_.peer || rf_.times.used > c_.peer_seconds) return;
    rf_.attempt(file_, [&] {
      const double factored = rf_.peer->refactor();
      const double solved = rf_.peer->solve(c_.refinements);
      rf_.times.add(factored, solved, residual_of(lu_->solution()));
    });
  }

  void run_klu(klu_contender& klu) {
    if (!klu.peer || klu.times.used > c_.peer_seconds) return;
    klu.attempt(file_, [&] {
      std::vector<double> x = b_;
      const double factored = klu.peer->refactor(a_.values);
      const double solved = klu.peer->solve(a_, c_.refinements, x);
      klu.times.add(factored, solved, residual_of(x));
    });
  }

  [[nodiscard]] double residual_of(const std::vector<double>& x) const {
    return static_lu::relative_residual(a_, x, b_);
  }

  const choices& c_;
  std::string file_;
  static_lu::matrix a_;  // with the values of the step
  refactor::plan plan_;
  std::vector<double> b_;
  std::unique_ptr<refactor::device_lu> lu_;
  measured ours_;
  contender<refactor::rf_peer> rf_;
  klu_contender klu_, given_;
  std::vector<double> upload_values_seconds_;
  double upload_seconds_ = 0;
  double first_seconds_ = 0;
  std::int64_t replaced_ = 0;
  std::uint64_t digest_ = 0;
};

class csv_file {
 public:
  explicit csv_file(const std::string& name) : name_(name) {
    if (name.empty()) return;
    file_.reset(std::fopen(name.c_str(), "w"));
    if (!file_) throw std::runtime_error(name + ": cannot be written");
  }
  void write(const record& r) {
    if (!file_) return;
    if (first_) write_line(r, [](const auto& field) { return field.first; });
    first_ = false;
    write_line(r, [](const auto& field) { return field.second; });
    if (std::fflush(file_.get()) != 0) throw std::runtime_error(name_ + ": cannot be written");
  }

 private:
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  template <class Part>
  void write_line(const record& r, Part&& part) {
    for (std::size_t k = 0; k < r.size(); ++k) {
      std::fprintf(file_.get(), "%s%s", k > 0 ? "," : "", part(r[k]).c_str());
    }
    std::fputc('\n', file_.get());
  }

  std::string name_;
  std::unique_ptr<std::FILE, closer> file_;
  bool first_ = true;
};

void print_table(const std::vector<record>& records) {
  const std::vector<std::pair<std::string, int>> columns{
      {"matrix", 20},      {"n", 7},        {"nnz_lu", 9},          {"levels", 6},
      {"flops", 9},        {"replaced", 8}, {"outside", 7},         {"residual", 8},
      {"refactor_ms", 11}, {"solve_ms", 8}, {"rf_refactor_ms", 14}, {"klu_refactor_ms", 15},
      {"klu_residual", 12}};
  for (const auto& [name, width] : columns) std::printf("%-*s ", width, name.c_str());
  std::printf("\n");
  for (const record& r : records) {
    for (const auto& [name, width] : columns) {
      const auto field =
          std::find_if(r.begin(), r.end(), [&n = name](const auto& f) { return f.first == n; });
      std::printf("%-*s ", width, field->second.c_str());
    }
    std::printf("\n");
  }
}

int run(const choices& c) {
  refactor::device_lu::wait();  // the first use of the device belongs to no matrix
  csv_file csv(c.csv);
  std::vector<record> records;
  int code = 0;
  for (const std::string& file : c.matrices) {
    try {
      case_run one(c, file);
      if (!one.run()) {
        std::fprintf(stderr, "refactorize: %s: a residual above %g\n", file.c_str(),
                     largest_residual);
        code = std::max(code, 1);
      }
      records.push_back(one.result());
    } catch (const std::exception& e) {
      // Errors of the reader name the file.
      const std::string what = e.what();
      const std::string where = what.starts_with(file) ? "" : file + ": ";
      std::fprintf(stderr, "refactorize: %s%s\n", where.c_str(), what.c_str());
      code = 2;
      continue;
    }
    csv.write(records.back());
  }
  print_table(records);
  return code;
}

void add_options(CLI::App& app, choices& c) {
  app.add_option("matrix", c.matrices, "Matrix Market files with real values")->required();
  app.add_option("--steps", c.steps, "Refactorizations, all but the first with new values")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--repeats", c.repeats, "Factorizations of the last values, equal in every bit")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--refine", c.refinements, "Steps of iterative refinement")
      ->check(CLI::Range(0, 100));
  app.add_option("--change", c.change, "Largest relative change of a value from the file's")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--rows", c.plan.rows, "Row permutation: weighted, structural, none")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, row_choice>{{"weighted", row_choice::weighted},
                                            {"structural", row_choice::structural},
                                            {"none", row_choice::none}}));
  app.add_option("--order", c.plan.order, "Fill-reducing order: automatic, metis, amd, natural")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, gsofa::order_method>{{"automatic", gsofa::order_method::automatic},
                                                     {"metis", gsofa::order_method::metis},
                                                     {"amd", gsofa::order_method::amd},
                                                     {"natural", gsofa::order_method::natural}}));
  app.add_option("--analysis", c.plan.device, "Where the analysis runs: automatic, cpu, gpu")
      ->transform(CLI::CheckedTransformer(std::map<std::string, gsofa::compute_device>{
          {"automatic", gsofa::compute_device::automatic},
          {"cpu", gsofa::compute_device::cpu},
          {"gpu", gsofa::compute_device::gpu}}));
  app.add_option("--with", c.with, "Peers: rf (cuSOLVER), klu, klu-given (KLU in this order)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"rf", "klu", "klu-given"}));
  app.add_option("--peer-seconds", c.peer_seconds, "A peer takes no more steps after this time")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", c.device.threads, "Threads of the block of a row; 0: chosen")
      ->check(CLI::Range(0, 512));
  app.add_option("--schedule-mb", c.device.schedule_mb,
                 "Most MiB for the places of updates on the device; else they are searched")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--csv", c.csv, "File that gets a line for each matrix");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    choices c;
    CLI::App app("Factors matrices of one pattern again and again on the device");
    add_options(app, c);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      return app.exit(e) == 0 ? 0 : 2;
    }
    return run(c);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "refactorize: %s\n", e.what());
    return 2;
  }
}
