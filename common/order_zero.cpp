#include "common/order_zero.hpp"

#include "common/mpi_context.hpp"

namespace gsofa {

namespace {

class order_zero final : public variant {
 public:
  explicit order_zero(bool distributed) : distributed_(distributed) {}

  void prepare(const pattern_view&, const run_settings&, run_context&) override {}
  void run(run_context&) override {}
  result collect(want_set) override {
    result r;
    if (distributed_) r.pattern_rows.emplace();
    return r;
  }

 private:
  bool distributed_;
};

}  // namespace

std::unique_ptr<variant> create_for(const variant_info& info, index_t n) {
  if (n > 0) return info.create();
  return std::make_unique<order_zero>(info.distributed && mpi_context::world().ranks() > 1);
}

}  // namespace gsofa
