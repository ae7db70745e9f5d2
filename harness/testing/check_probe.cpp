// The program with variants that end or block their process: what only a process of its own
// survives. They are right until a pattern has an entry (2, 0).

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "common/variant.hpp"
#include "harness/commands/cli.hpp"

using namespace gsofa;

namespace {

class faulty_variant final : public variant {
 public:
  explicit faulty_variant(void (*fault)()) : right_(inner().create()), fault_(fault) {}
  static const variant_info& inner() { return find_variant("cpu_fill1"); }

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    struck_ = a.n_rows > 2 && std::ranges::binary_search(a.row(2), 0);
    right_->prepare(a, settings, context);
  }
  void run(run_context& context) override {
    if (struck_) fault_();
    right_->run(context);
  }
  result collect(want_set wants) override { return right_->collect(wants); }

 private:
  std::unique_ptr<variant> right_;
  void (*fault_)();
  bool struck_ = false;
};

variant_info describe(const char* name, void (*fault)()) {
  variant_info info;
  info.name = name;
  info.device = "cpu";
  info.summary = "for tests";
  info.citation = "none";
  info.create = [fault] { return std::make_unique<faulty_variant>(fault); };
  return info;
}

namespace segfault {
GSOFA_REGISTER_VARIANT(describe("cpu_segfault", [] { std::raise(SIGSEGV); }));
}
namespace abort {
GSOFA_REGISTER_VARIANT(describe("cpu_abort", [] { std::abort(); }));
}
namespace exit {
GSOFA_REGISTER_VARIANT(describe("cpu_exit", [] { std::exit(0); }));
}
namespace endless {
GSOFA_REGISTER_VARIANT(describe("cpu_endless", [] {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}));
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv); }
