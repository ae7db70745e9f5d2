#pragma once

// The stages of bisection on a device: all parts of one depth of the tree at once.

#include <memory>
#include <span>
#include <vector>

#include "variants/device/timeline.hpp"
#include "variants/orderings/dissection/device/stages.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

/// Graphs and trials of the parts of one depth, as bisection<> needs them.
class bisection_stages {
 public:
  bisection_stages(const dissection_settings& settings, memory_budget& budget, host_link& link,
                   timeline& time)
      : settings_(settings),
        budget_(budget),
        link_(link),
        time_(time),
        coarsening_(budget),
        trials_(budget),
        searches_(budget) {}

  /// From now on the parts are the graphs of `whole`.
  void begin(const level& whole) {
    whole_ = &whole;
    searches_begun_ = false;
    coarsens_ = true;
    time_.mark("coarsen");
  }
  [[nodiscard]] const trials& of_level() const { return trials_; }
  std::vector<winner> best(std::span<const group> groups) {
    return device::best(link_, trials_, *whole_, groups);
  }

  [[nodiscard]] index_t graphs(std::size_t l) const { return at_level(l).graphs(); }
  [[nodiscard]] index_t size_of(std::size_t l, index_t g) const { return at_level(l).size_of(g); }
  [[nodiscard]] offset_t total(std::size_t l, index_t g) const { return at_level(l).total[at(g)]; }

  void check_limits() const {
    if (settings_.stop != nullptr && settings_.stop->load(std::memory_order_relaxed)) {
      throw cancelled_error();
    }
    if (settings_.run != nullptr) settings_.run->check_deadline();
  }
  void search(std::span<const index_t> parts, std::span<const std::uint64_t> keys) {
    search_levels(link_, searches_, *whole_, parts, keys);
    searches_begun_ = true;
  }
  std::vector<index_t> coarsen(std::size_t l, std::span<const coarsening> wanted) {
    while (levels_.size() <= l + 1) levels_.push_back(std::make_unique<level>(budget_));
    return device::coarsen(link_, coarsening_, at_level(l), wanted, *levels_[l + 1]);
  }
  /// The device runs the search concurrently with the work that body() enqueues.
  template <class Body>
  void beside(bool, Body&& body) {
    body();
  }
  void project(std::size_t coarser, std::size_t l, std::span<const trial_spec> specs) {
    if (coarsens_) time_.mark("separate");
    coarsens_ = false;
    if (l == 0) join(searches_);
    const bool first = coarser == bisection<bisection_stages>::no_level;
    device::project(link_, trials_, first ? nullptr : &at_level(coarser), at_level(l), specs,
                    searches_begun_ ? found(searches_) : found_levels{});
    first_cuts(trials_, at_level(l));
  }
  void refine(std::size_t l) { device::refine(trials_, at_level(l), settings_, l); }

 private:
  [[nodiscard]] const level& at_level(std::size_t l) const {
    return l == 0 ? *whole_ : *levels_[l];
  }

  const dissection_settings& settings_;
  memory_budget& budget_;
  host_link& link_;
  timeline& time_;
  const level* whole_ = nullptr;
  std::vector<std::unique_ptr<level>> levels_;  // from 1 on
  coarsening_space coarsening_;
  trials trials_;
  search_space searches_;  // its searches read the graphs until its end
  bool searches_begun_ = false;
  bool coarsens_ = false;  // has no trials yet
};

}  // namespace gsofa::orders::device

#endif
