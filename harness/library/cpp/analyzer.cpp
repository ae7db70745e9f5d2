#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "common/parallel.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/analyze.hpp"
#include "harness/library/cpp/errors.hpp"
#include "harness/library/cpp/progress.hpp"

namespace gsofa {

using namespace library;

struct analyzer::state {
  // Working storage of one process. A forked process does not touch the storage of its parent,
  // which may be half written.
  struct parts {
    workspace kept;
    analysis found;
    bool busy = false;
    const std::uint64_t process = process_number();

    parts() { kept.keeps = true; }
  };

  analysis_options options;
  std::unique_ptr<parts, leave_in_child> own = left_in_child<parts>();

  // Before another analysis.
  parts& taken_back() {
    if (own->process != process_number()) own = left_in_child<parts>();
    if (own->busy) throw invalid_input("analyzer: an analysis has not ended yet");
    own->kept.updates.on = false;
    return *own;
  }

  const analysis& analyze(const given_pattern& a) {
    return reporting([&]() -> const analysis& { return analyze_with(taken_back(), a); });
  }

  const analysis& update(const given_pattern& a, std::span<const std::int32_t> previous) {
    return reporting([&]() -> const analysis& {
      parts& with = taken_back();
      updating& updates = with.kept.updates;
      updates.on = true;
      updates.previous = previous;
      updates.next.reset();  // of an update that failed
      updates.counts = false;
      analyze_with(with, a);
      updates.last = std::exchange(updates.next, std::nullopt);
      updates.rows_before = with.found.n;
      return with.found;
    });
  }

 private:
  const analysis& analyze_with(parts& with, const given_pattern& a) {
    // A callback may change the options.
    const analysis_options with_options = options;
    struct busy_scope {
      parts& of;
      explicit busy_scope(parts& p) : of(p) { of.busy = true; }
      busy_scope(const busy_scope&) = delete;
      busy_scope& operator=(const busy_scope&) = delete;
      ~busy_scope() { of.busy = false; }
    } const scope(with);
    analyze_into(a, with_options, with.kept, with.found);
    return with.found;
  }
};

analyzer::analyzer(analysis_options options) : state_(std::make_unique<state>()) {
  state_->options = std::move(options);
}
analyzer::~analyzer() = default;
analyzer::analyzer(analyzer&&) noexcept = default;
analyzer& analyzer::operator=(analyzer&&) noexcept = default;
analysis_options& analyzer::options() { return state_->options; }

const analysis& analyzer::analyze(const csr_view& a) { return analyze<csr_view>(a); }

template <class View>
const analysis& analyzer::analyze(const View& a) {
  return state_->analyze(given_pattern(a));
}

const analysis& analyzer::update(const csr_view& a, std::span<const std::int32_t> previous) {
  return update<csr_view>(a, previous);
}

template <class View>
const analysis& analyzer::update(const View& a, std::span<const std::int32_t> previous) {
  return state_->update(given_pattern(a), previous);
}

#define GSOFA_INSTANTIATE(View)                                      \
  template GSOFA_API const analysis& analyzer::analyze(const View&); \
  template GSOFA_API const analysis& analyzer::update(const View&, std::span<const std::int32_t>)
GSOFA_INSTANTIATE(csr_view_32);
GSOFA_INSTANTIATE(csr_view_64);
GSOFA_INSTANTIATE(csc_view);
GSOFA_INSTANTIATE(csc_view_32);
GSOFA_INSTANTIATE(csc_view_64);
GSOFA_INSTANTIATE(device_csr_view);
GSOFA_INSTANTIATE(device_csr_view_32);
GSOFA_INSTANTIATE(device_csr_view_64);
#undef GSOFA_INSTANTIATE

}  // namespace gsofa
