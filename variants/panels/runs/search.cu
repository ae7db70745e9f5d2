// The fall-back: another variant takes over if the panels do not fit in memory.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <string>

#include "variants/panels/runs/search.hpp"

namespace gsofa::panels {

bool announce_search(const device_rows& a, double silent, offset_t bytes_missing,
                     const run_context& context) {
  // Pairs of a row and an entry of A: between 1e11 and 1e13 on an H200, 1e12 in the middle.
  constexpr double pairs_per_second = 1e12;
  const double seconds = static_cast<double>(a.n) * static_cast<double>(a.nnz) / pairs_per_second;
  if (!context.say || seconds < silent) return false;
  context.say("panels do not fit in device memory: rows are searched, which takes about " +
              std::to_string(static_cast<std::int64_t>(seconds) + 1) + " s for " +
              std::to_string(a.n) + " rows and " + std::to_string(a.nnz) +
              " entries; memory_budget_mb=" + std::to_string((bytes_missing >> 20) + 1) +
              " or more would avoid that");
  return true;
}

std::unique_ptr<variant> run_instead(
    const char* name, const pattern_view& a, const run_settings& settings,
    std::initializer_list<std::pair<const char*, std::int64_t>> options, run_context& context) {
  const variant_info& info = find_variant(name);
  run_settings own = settings;
  own.options = option_set(info.options);
  for (const auto& [option, value] : options) {
    own.options.set(info.options, option, std::to_string(value));
  }
  std::unique_ptr<variant> other = info.create();
  {
    const phase timed(context, phase_id::init);
    other->prepare(a, own, context);
  }
  other->run(context);
  return other;
}

pattern on_host(const device_rows& a) {
  pattern copied;
  copied.n_rows = copied.n_cols = a.n;
  copied.row_ptr.resize(at(a.n) + 1);
  copied.col_idx.resize(at(a.nnz));
  copy_to_host(copied.row_ptr.data(), a.row_ptr, offset_t{a.n} + 1);
  copy_to_host(copied.col_idx.data(), a.col_idx, a.nnz);
  return copied;
}

}  // namespace gsofa::panels

#endif
