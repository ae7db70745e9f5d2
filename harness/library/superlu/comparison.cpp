#include "harness/library/superlu/comparison.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace gsofa::superlu {

namespace {

void* routine_of_superlu_dist(const char* name) {
  void* library = dlopen(GSOFA_SUPERLU_DIST, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  void* const routine = dlsym(library, name);
  Dl_info where;
  if (dladdr(routine, &where) == 0 ||
      std::string(where.dli_fname).find("superlu_dist") == std::string::npos) {
    throw std::runtime_error(std::string(name) + " of SuperLU_DIST was not found");
  }
  return routine;
}

}  // namespace

decltype(symbfact)& original() {
  static const auto found =
      reinterpret_cast<decltype(&symbfact)>(routine_of_superlu_dist("symbfact"));
  return *found;
}

decltype(get_perm_c_dist)& original_order() {
  static const auto found =
      reinterpret_cast<decltype(&get_perm_c_dist)>(routine_of_superlu_dist("get_perm_c_dist"));
  return *found;
}

call_input::call_input(std::span<const std::int64_t> col_ptr, std::span<const std::int32_t> rows,
                       std::span<const std::int32_t> parent)
    : rows_(rows.begin(), rows.end()),
      begin_(col_ptr.begin(), col_ptr.end() - 1),
      end_(col_ptr.begin() + 1, col_ptr.end()),
      identity_(parent.size()),
      values_(rows.size(), 1.0) {
  const auto n = static_cast<int_t>(parent.size());
  std::iota(identity_.begin(), identity_.end(), 0);
  for (const std::int32_t p : parent) etree_.push_back(p < 0 ? n : p);
  store_ = {static_cast<int_t>(rows_.size()), values_.data(), rows_.data(), begin_.data(),
            end_.data()};
  matrix_ = {SLU_NCP, SLU_D, SLU_GE, n, n, &store_};
}

bool output::operator==(const output& o) const {
  const auto compared = [](const output& x) {
    return std::tie(x.xsup, x.supno, x.row_begin, x.segment_begin, x.rows, x.segments, x.entries,
                    x.blocks_lead, x.others_empty);
  };
  return compared(*this) == compared(o);
}

output call(decltype(symbfact)& routine, call_input& in, int relax) {
  superlu_dist_options_t options;
  set_default_options_dist(&options);
  options.superlu_relax = relax;
  options.PrintStat = NO;
  Glu_persist_t persist{};
  Glu_freeable_t lists{};
  output out;
  out.status = routine(&options, 0, &in.matrix(), in.identity(), in.etree(), &persist, &lists);
  if (out.status > 0) return out;
  const int_t n = in.matrix().ncol;
  const int_t supernodes = persist.supno[n] + 1;
  out.xsup.assign(persist.xsup, persist.xsup + supernodes + 1);
  out.supno.assign(persist.supno, persist.supno + n + 1);
  out.row_begin.assign(lists.xlsub, lists.xlsub + n + 1);
  out.segment_begin.assign(lists.xusub, lists.xusub + n + 1);
  const auto add = [&](auto& to, std::vector<int_t> list) {
    out.unsorted += !std::ranges::is_sorted(list);
    std::ranges::sort(list);
    to.push_back(std::move(list));
  };
  for (int_t s = 0; s < supernodes; ++s) {
    const int_t first = persist.xsup[s];
    const int_t next = persist.xsup[s + 1];
    std::vector<int_t> rows(lists.lsub + lists.xlsub[first], lists.lsub + lists.xlsub[first + 1]);
    for (int_t j = first; j < next; ++j) {
      out.blocks_lead = out.blocks_lead && rows[static_cast<std::size_t>(j - first)] == j;
      if (j > first) out.others_empty = out.others_empty && lists.xlsub[j] == lists.xlsub[j + 1];
    }
    add(out.rows, std::move(rows));
  }
  for (int_t j = 0; j < n; ++j) {
    add(out.segments, {lists.usub + lists.xusub[j], lists.usub + lists.xusub[j + 1]});
  }
  out.entries = lists.nnzLU;
  superlu_dist_mem_usage_t memory;
  QuerySpace_dist(n, -out.status, &lists, &memory);
  out.memory = memory.total;
  symbfact_SubFree(&lists);
  superlu_free_dist(persist.xsup);
  superlu_free_dist(persist.supno);
  return out;
}

}  // namespace gsofa::superlu
