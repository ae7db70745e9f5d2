// cudss_solve [options] MATRIX...: solves A x = b by cuDSS in its own order and in the orders of
// METIS and of this project, each with its tree of separators, the latter also by
// gsofa::cudss::set_order(). Runs the configurations alternately and prints each run as a line of
// JSON. LOG.md has the configurations.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/cuda_device.hpp"
#include "common/order_quality.hpp"
#include "common/ordering.hpp"
#include "common/partition_tree.hpp"
#include "common/pattern.hpp"
#include "experiments/solvers/cudss_solver.hpp"
#include "experiments/solvers/linear_system.hpp"
#include "harness/run/build_info.hpp"
#include "harness/run/gpu_state.hpp"

namespace {

using namespace gsofa;
using namespace cudss_solver;
using partition::tree_layout;
using json = nlohmann::ordered_json;
using seconds = std::chrono::duration<double>;
using clock_type = std::chrono::steady_clock;

double since(clock_type::time_point begin) { return seconds(clock_type::now() - begin).count(); }

const std::map<std::string, cudssMatrixType_t> matrix_types{{"general", CUDSS_MTYPE_GENERAL},
                                                            {"symmetric", CUDSS_MTYPE_SYMMETRIC},
                                                            {"spd", CUDSS_MTYPE_SPD}};

struct choices {
  std::vector<std::string> matrices;
  std::vector<std::string> configurations;
  int repeat = 3;
  std::string type = "general";
  std::vector<std::string> orders;
  std::string threading_layer;
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool count = true;
  double configuration_seconds = 10;
  std::string out;
};

// ---- configurations

enum class origin { cudss, metis, ours, set_order };

struct configuration {
  std::string name;
  origin from = origin::cudss;
  bool threaded = true;
  std::string order{};  // that is handed over
};

const std::vector<configuration> configurations{{"own_1", origin::cudss, false},
                                                {"own_threads", origin::cudss},
                                                {"metis_tree", origin::metis, true, "metis"},
                                                {"ours_tree", origin::ours},
                                                {"set_order", origin::set_order},
                                                {"set_order_1", origin::set_order, false}};

std::vector<std::string> configuration_names() {
  std::vector<std::string> names;
  for (const configuration& k : configurations) names.push_back(k.name);
  return names;
}

std::vector<configuration> plan(const choices& c) {
  std::vector<configuration> planned;
  for (const configuration& k : configurations) {
    if (k.name == "own_threads" && c.threading_layer.empty()) continue;
    if (c.configurations.empty() ||
        std::ranges::find(c.configurations, k.name) != c.configurations.end()) {
      if (k.from != origin::ours) planned.push_back(k);
      for (const std::string& order : c.orders) {
        if (k.from == origin::ours) planned.push_back({k.name, k.from, true, order});
      }
    }
  }
  return planned;
}

// An order and what it took.
struct timed_order {
  ordering found;
  double seconds = 0;
};

// What is known of a configuration on one matrix.
struct record {
  configuration how;
  double spent = 0;
  double residual = 0;
  std::string fault;
};

class session {
 public:
  explicit session(const choices& c);
  int run();

 private:
  struct matrix_state {
    linear_system system;
    std::unique_ptr<device_system> device;
    std::map<std::string, timed_order> orders;  // of this round, METIS's of the first
    std::vector<index_t> own;                   // the order that cuDSS found
    std::map<std::pair<origin, std::string>, order_quality> quality;
  };
  // The order that a run hands over, and what making it took.
  struct handed {
    std::vector<index_t> order;
    std::vector<std::int32_t> tree;
    double ordering = 0, conversion = 0;
  };

  void warm_up();
  void run_matrix(const std::string& name);
  void run_once(matrix_state& m, record& r, int round);
  [[nodiscard]] json describe_run(const matrix_state& m, const record& r, const handed& h,
                                  const outcome& found, double all) const;
  handed hand_over(matrix_state& m, const configuration& k);
  void describe_quality(matrix_state& m, const configuration& k, const std::vector<index_t>& order,
                        json& line);
  timed_order compute(const linear_system& s, const std::string& spec) const;
  void emit(const json& line);
  [[nodiscard]] json head(const char* kind) const;
  [[nodiscard]] const solver& solver_of(const configuration& k) const {
    return k.threaded && threaded_ ? *threaded_ : *single_;
  }

  choices choices_;
  std::vector<configuration> planned_;
  std::unique_ptr<solver> single_, threaded_;
  std::ofstream file_;
  bool failed_ = false;
};

session::session(const choices& c) : choices_(c) {
  const cuda_devices& found = find_cuda_devices();
  if (found.devices.empty()) throw unavailable_error(found.reason);
  if (!c.out.empty()) {
    file_.open(c.out, std::ios::app);
    if (!file_) throw input_error(c.out + ": cannot be written");
  }
  for (const std::string& order : choices_.orders) static_cast<void>(find_order(order));
  if (choices_.orders.empty()) {
    const auto gpu = find_order("gpu_nested_dissection");
    choices_.orders = {gpu->info->unavailable() ? "cpu_nested_dissection"
                                                : "gpu_nested_dissection"};
  }
  planned_ = plan(choices_);
  if (planned_.empty()) throw input_error("no configuration is left to run");
  cudss_solver::settings how{.threading_layer = {}, .threads = c.threads};
  single_ = std::make_unique<solver>(how);
  how.threading_layer = c.threading_layer;
  if (!c.threading_layer.empty()) threaded_ = std::make_unique<solver>(how);
}

json session::head(const char* kind) const {
  const cuda_device& gpu = find_cuda_devices().devices.front();
  const build_info& build = this_build();
  int version[3] = {};
  cudssGetProperty(MAJOR_VERSION, &version[0]);
  cudssGetProperty(MINOR_VERSION, &version[1]);
  cudssGetProperty(PATCH_LEVEL, &version[2]);
  return {{"kind", kind},
          {"git", {{"sha", build.git_sha}, {"dirty", build.git_dirty}}},
          {"gpu", gpu.name},
          {"driver", nvml::driver_version()},
          {"cudss", std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
                        std::to_string(version[2])},
          {"type", choices_.type},
          {"host_threads", choices_.threads},
          {"threading_layer", !choices_.threading_layer.empty()}};
}

void session::emit(const json& line) {
  const std::string text = line.dump();
  if (file_.is_open()) {
    file_ << text << '\n' << std::flush;
  } else {
    std::cout << text << '\n' << std::flush;
  }
}

timed_order session::compute(const linear_system& s, const std::string& spec) const {
  const auto begin = clock_type::now();
  timed_order t{compute_order(s.pattern_of(), spec, -1, choices_.threads, nullptr, false, {},
                              single_->default_levels())};
  t.seconds = since(begin);
  return t;
}

// Libraries load their kernels at first use: all phases once on each handle, and one order.
void session::warm_up() {
  const linear_system s =
      read_system("gen:grid7:nx=30,ny=30,nz=30,drop=0.2", choices_.type != "general");
  const device_system device(s.a, s.b, matrix_types.at(choices_.type));
  (void)single_->solve(device, {}, false);
  if (threaded_) (void)threaded_->solve(device, {}, false);
  for (const std::string& order : choices_.orders) {
    if (find_order(order)) (void)compute(s, order);
  }
}

session::handed session::hand_over(matrix_state& m, const configuration& k) {
  handed h;
  if (k.from == origin::cudss || k.from == origin::set_order) return h;
  auto order = m.orders.find(k.order);
  if (order == m.orders.end()) order = m.orders.emplace(k.order, compute(m.system, k.order)).first;
  const ordering& found = order->second.found;
  h.ordering = order->second.seconds;
  const int levels = single_->default_levels();
  const auto begin = clock_type::now();
  partition::partition_tree t = found.separators.empty()
                                    ? partition::tree_of_etree(m.system.pattern_of(), found.order,
                                                               levels, tree_layout::by_level)
                                    : partition::binary_tree(found, levels, tree_layout::by_level);
  h.conversion = since(begin);
  if (partition::crossing_entries(m.system.pattern_of(), t) != 0) {
    throw error(exit_code::run_failed, "the converted tree does not separate");
  }
  h.order = std::move(t.order);
  h.tree = std::move(t.size);
  return h;
}

void session::describe_quality(matrix_state& m, const configuration& k,
                               const std::vector<index_t>& order, json& line) {
  if (!choices_.count || order.empty()) return;
  const auto key = std::pair(k.from, k.order);
  auto found = m.quality.find(key);
  if (found == m.quality.end()) {
    found =
        m.quality.emplace(key, quality_of(m.system.pattern_of(), order, choices_.threads)).first;
  }
  const order_quality& q = found->second;
  line["exact"] = {{"nnz", q.nnz_l + q.nnz_u}, {"flops", q.flops}, {"height", q.height}};
}

json session::describe_run(const matrix_state& m, const record& r, const handed& h,
                           const outcome& found, double all) const {
  json line = head("run");
  line["matrix"] = m.system.name;
  line["n"] = m.system.a.n();
  line["nnz"] = m.system.a.values.size();
  line["diagonal_added"] = m.system.diagonal_added;
  line["configuration"] = r.how.name;
  line["order"] = r.how.from == origin::set_order ? found.set.order
                  : r.how.order.empty()           ? "cudss"
                                                  : r.how.order;
  if (const auto made = m.orders.find(r.how.order); made != m.orders.end()) {
    line["method"] = made->second.found.title();
  }
  line["status"] = "ok";
  line["seconds"] = {{"ordering", h.ordering},
                     {"conversion", h.conversion},
                     {"handing", found.handing},
                     {"reordering", found.reordering},
                     {"symbolic", found.symbolic},
                     {"numeric", found.numeric},
                     {"refactorization", found.refactorization},
                     {"solve", found.solve},
                     {"all", all}};
  line["residual"] = r.residual;
  line["lu_nnz"] = found.lu_nnz;
  return line;
}

void session::run_once(matrix_state& m, record& r, int round) {
  const auto begin = clock_type::now();
  handed h = hand_over(m, r.how);
  const bool own = r.how.from == origin::cudss;
  const outcome found = solver_of(r.how).solve(
      *m.device, {h.order, h.tree, r.how.from == origin::set_order}, own && m.own.empty());
  if (!found.permutation.empty()) m.own = found.permutation;
  if (own) h.order = m.own;
  if (r.how.from == origin::set_order) h.order = found.set.permutation;
  r.residual = static_lu::relative_residual(m.system.a, found.x, m.system.b);
  r.spent += since(begin);
  const double made = h.ordering + h.conversion + found.handing;
  const double all = made + found.reordering + found.symbolic + found.numeric + found.solve;
  json line = describe_run(m, r, h, found, all);
  line["round"] = round;
  describe_quality(m, r.how, h.order, line);
  emit(line);
}

void session::run_matrix(const std::string& name) {
  matrix_state m;
  m.system = read_system(name, choices_.type != "general");
  m.device =
      std::make_unique<device_system>(m.system.a, m.system.b, matrix_types.at(choices_.type));
  std::vector<record> records(planned_.size());
  for (std::size_t k = 0; k < planned_.size(); ++k) records[k].how = planned_[k];
  for (int round = 0; round < choices_.repeat; ++round) {
    std::erase_if(m.orders, [](const auto& o) { return o.first != "metis"; });
    for (record& r : records) {
      if (!r.fault.empty()) continue;
      if (round > 0 && r.spent > choices_.configuration_seconds) continue;
      try {
        run_once(m, r, round);
      } catch (const std::exception& e) {
        // An error of a kernel stays with the device: nothing runs there any more.
        peers::cudss::check(cudaDeviceSynchronize(), "the device is lost");
        failed_ = true;
        r.fault = e.what();
        std::cerr << "cudss_solve: " << name << ", " << r.how.name << ": " << r.fault << '\n';
        json line = head("run");
        line["matrix"] = name;
        line["configuration"] = r.how.name;
        line["round"] = round;
        line["status"] = r.fault;
        emit(line);
      }
    }
  }
}

int session::run() {
  warm_up();
  for (const std::string& name : choices_.matrices) {
    try {
      run_matrix(name);
    } catch (const input_error& e) {
      failed_ = true;
      std::cerr << "cudss_solve: " << e.what() << '\n';
    } catch (const std::exception& e) {
      failed_ = true;
      const std::string what = e.what();
      std::cerr << "cudss_solve: " << (what.starts_with(name) ? "" : name + ": ") << what << '\n';
      if (cudaDeviceSynchronize() != cudaSuccess) break;
    }
  }
  return static_cast<int>(failed_ ? exit_code::run_failed : exit_code::ok);
}

void add_options(CLI::App& app, choices& c) {
  app.add_option("matrix", c.matrices, "Matrix Market files with values, or gen:SPEC")->required();
  app.add_option("--configurations", c.configurations,
                 "Configurations (see LOG.md), separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(configuration_names()));
  app.add_option("--repeat", c.repeat, "Rounds; each round runs every configuration once")
      ->check(CLI::Range(1, 1000));
  app.add_option("--type", c.type, "general, symmetric, spd (symmetric positive definite)")
      ->check(CLI::IsMember(matrix_types));
  app.add_option("--order", c.orders,
                 "Ours, or the file of a permutation; repeat it for several; by default "
                 "gpu_nested_dissection, without a GPU cpu_nested_dissection")
      ->expected(1)
      ->take_all();
  app.add_option("--threading-layer", c.threading_layer, "libcudss_mtlayer_gomp.so.1")
      ->check(CLI::ExistingFile);
  app.add_option("--threads", c.threads, "Host threads")->check(CLI::Range(1, 4096));
  app.add_flag("!--no-count", c.count, "No exact count of the entries of each order");
  app.add_option("--configuration-seconds", c.configuration_seconds,
                 "A configuration that took longer on a matrix is not repeated on it")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--out", c.out, "File that the lines of JSON are appended to");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    choices c;
    CLI::App app("Solves A x = b by cuDSS in several orders and prints the time of each phase");
    add_options(app, c);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      return app.exit(e) == 0 ? 0 : static_cast<int>(gsofa::exit_code::bad_input);
    }
    return session(c).run();
  } catch (const gsofa::error& e) {
    std::fprintf(stderr, "cudss_solve: %s\n", e.what());
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cudss_solve: %s\n", e.what());
    return static_cast<int>(gsofa::exit_code::run_failed);
  }
}
