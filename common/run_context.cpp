#include "common/run_context.hpp"

namespace gsofa {

void progress_probe::answer(std::int64_t done, std::int64_t total) {
  if (!asked_.load(std::memory_order_relaxed) || total <= 0) return;
  asked_.store(false, std::memory_order_relaxed);
  share_.store(static_cast<double>(done) / static_cast<double>(total), std::memory_order_relaxed);
}

const char* phase_name(phase_id id) {
  static constexpr std::array<const char*, static_cast<std::size_t>(phase_id::count_)> names{
      "h2d",       "init", "schedule", "traverse", "spill", "compact", "expand",
      "supernode", "comm", "d2h",      "sort",     "match", "order",   "permute"};
  return names.at(static_cast<std::size_t>(id));
}

std::map<std::string, double> phase_clock::seconds() const {
  std::map<std::string, double> out;
  for (std::size_t i = 0; i < spent_.size(); ++i) {
    if (spent_[i] > 0) out[phase_name(static_cast<phase_id>(i))] = spent_[i];
  }
  return out;
}

void run_context::set_timeout(double seconds) {
  // Beyond this a point in time overflows the clock; nobody waits 30 years.
  limited_ = seconds > 0 && seconds < 1e9;
  if (limited_) {
    deadline_ =
        phase_clock::clock::now() + std::chrono::duration_cast<phase_clock::clock::duration>(
                                        std::chrono::duration<double>(seconds));
  }
}

}  // namespace gsofa
