#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/made_once.hpp"

namespace gsofa::detail {

/// Registered things 0 .. count - 1 of one file, in static storage. Their descriptions (an Info has
/// a name) are created at the first use of the registry: they allocate, and a failed allocation
/// cannot be reported before main() begins.
template <class Info>
struct registration {
  Info (*describe)(std::size_t k);
  std::size_t count = 1;
  const registration* next = nullptr;
};

/// The last registration of a chain.
template <class Info>
inline constinit const registration<Info>* registrations = nullptr;

/// Adds to the chain while static objects are initialised.
template <class Info>
bool add_registration(registration<Info>& mine) noexcept {
  mine.next = std::exchange(registrations<Info>, &mine);
  return true;
}

/// All registered things, in order of name. Throws std::bad_alloc, and error if two have the same
/// name; kind: "variants", for the message.
template <class Info>
std::vector<Info> describe_all(const char* kind) {
  std::vector<Info> all;
  for (const auto* r = registrations<Info>; r != nullptr; r = r->next) {
    for (std::size_t k = 0; k < r->count; ++k) all.push_back(r->describe(k));
  }
  std::ranges::sort(all, {}, &Info::name);
  const auto twice = std::ranges::adjacent_find(all, {}, &Info::name);
  if (twice != all.end()) {
    throw error(exit_code::run_failed,
                std::string("two ") + kind + " are named '" + twice->name + "'");
  }
  return all;
}

/// The same, described by the first call.
template <class Info>
const std::vector<Info>& described(const char* kind) {
  static std::atomic<const std::vector<Info>*> all;
  return made_once(
      all, [&] { return std::make_unique<const std::vector<Info>>(describe_all<Info>(kind)); });
}

}  // namespace gsofa::detail

/// Registers the things describe(0) .. describe(count - 1) of type Info.
#define GSOFA_REGISTER(Info, count, ...) GSOFA_REGISTER_AS(Info, __COUNTER__, count, __VA_ARGS__)
#define GSOFA_REGISTER_AS(Info, number, count, ...) \
  GSOFA_REGISTER_NUMBERED(Info, number, count, __VA_ARGS__)
#define GSOFA_REGISTER_NUMBERED(Info, number, count, ...)                                   \
  GSOFA_REGISTER_NAMED(Info, gsofa_registration_##number, gsofa_registered_##number, count, \
                       __VA_ARGS__)
#define GSOFA_REGISTER_NAMED(Info, things, done, count, ...)                         \
  static constinit ::gsofa::detail::registration<Info> things{__VA_ARGS__, (count)}; \
  [[maybe_unused]] static const bool done = ::gsofa::detail::add_registration<Info>(things)
