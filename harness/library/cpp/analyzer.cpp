#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "common/parallel.hpp"
#include "common/thread_device.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/errors.hpp"
#include "harness/library/cpp/forms.hpp"
#include "harness/library/cpp/pending.hpp"

namespace gsofa {

using namespace library;

struct analyzer::state {
  // What the analyses of one process work in and with. Those of a forked process leave it alone: it
  // may be half written, and its thread does not exist there.
  struct parts {
    workspace kept;
    analysis found;
    std::shared_ptr<pending_analysis::state> last;  // of start()
    work_thread worker;
    cancellation stop;              // of analyze()
    std::atomic<bool> busy{false};  // with analyze()
    std::atomic<bool> left{false};  // by its owner, to analyze()
    const std::uint64_t process = process_number();

    parts() { kept.keeps = true; }
    parts(const parts&) = delete;
    parts& operator=(const parts&) = delete;
    ~parts() {
      if (last == nullptr) return;
      last->stop.request();
      if (!last->ended()) last->wait();
      last->withdraw();
    }
  };

  analysis_options options;
  std::unique_ptr<parts> own = std::make_unique<parts>();

  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() { leave(std::move(own)); }

  // Ends the parts now, or, where a callback of their analysis calls, once that has ended.
  static void leave(std::unique_ptr<parts> parts) noexcept {
    if (parts->process != process_number()) {
      static_cast<void>(parts.release());
    } else if (parts->busy) {
      parts->left = true;
      parts->stop.silence();
      static_cast<void>(parts.release());
    } else if (parts->last != nullptr && parts->last->is_done_here()) {
      parts->last->stop.silence();
      work_thread& worker = parts->worker;
      worker.end_with([of = parts.release()] { delete of; });  // NOLINT
    }
  }

  // Before another analysis.
  parts& taken_back() {
    if (own->process != process_number()) {
      auto fresh = std::make_unique<parts>();
      static_cast<void>(own.release());
      own = std::move(fresh);
    }
    if (own->busy || (own->last != nullptr && !own->last->ended())) {
      throw invalid_input("analyzer: an analysis has not ended yet");
    }
    if (own->last != nullptr) own->last->withdraw();
    own->last = nullptr;
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
    const analysis_options with_options = options;
    with.busy = true;
    const auto end = [&] {
      with.busy = false;
      if (!with.left) return false;
      delete &with;  // NOLINT(cppcoreguidelines-owning-memory)
      return true;
    };
    try {
      analyze_into(a, with_options, with.kept, &with.stop, with.found);
    } catch (...) {
      if (with.process == process_number()) end();
      throw;
    }
    if (end()) throw cancelled_error();
    return with.found;
  }
};

namespace {

// The caller's functions are gone when the analysis has ended.
void analyze_pending(const given_pattern& a, analysis_options&& options, workspace& kept,
                     analysis& found, pending_state& pending) {
  std::exception_ptr failed;
  try {
    const analysis_options with = std::move(options);
    reporting([&] { analyze_into(a, with, kept, &pending.stop, found); });
  } catch (...) {
    failed = std::current_exception();
  }
  pending.end(failed, failed ? nullptr : &found);
}

}  // namespace

analyzer::analyzer(analysis_options options) : state_(std::make_unique<state>()) {
  state_->options = std::move(options);
}
analyzer::~analyzer() = default;
analyzer::analyzer(analyzer&&) noexcept = default;
analyzer& analyzer::operator=(analyzer&& o) noexcept {
  if (this == &o) return *this;
  const analyzer before(std::move(*this));  // a callback of its own analysis may look at this one
  state_ = std::move(o.state_);
  return *this;
}
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

template <class View>
pending_analysis analyzer::start(const View& a) {
  return reporting([&] {
    state::parts& with = state_->taken_back();
    const auto pending = std::make_shared<pending_analysis::state>();
    with.last = pending;
    try {
      with.worker.give([&with, a = given_pattern(a), pending, options = state_->options,
                        device = thread_device()]() mutable {
        use_thread_device(device);
        analyze_pending(a, std::move(options), with.kept, with.found, *pending);
      });
    } catch (...) {
      with.last = nullptr;
      throw;
    }
    return pending_analysis(pending);
  });
}

template GSOFA_API pending_analysis analyzer::start(const csr_view&);
#define GSOFA_INSTANTIATE(View)                                                                    \
  template GSOFA_API const analysis& analyzer::analyze(const View&);                               \
  template GSOFA_API const analysis& analyzer::update(const View&, std::span<const std::int32_t>); \
  template GSOFA_API pending_analysis analyzer::start(const View&)
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
