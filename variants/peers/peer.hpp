#pragma once

/// The common part of all peers: how a build without a peer's package lists the peer. The file of a
/// peer defines its class if the package is present, and uses `absent` otherwise:
///
///     #ifdef GSOFA_HAVE_X
///     class peer_x final : public variant { ... };
///     const std::string library = peers::release("X", {X_MAJOR, X_MINOR, X_PATCH});
///     #else
///     using peer_x = peers::absent;
///     const std::string library;
///     #endif
///     std::optional<std::string> missing() { return peers::built_without<peer_x>("X"); }
///     std::unique_ptr<variant> create() { return peers::create<peer_x>("peer_x", missing()); }

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "common/error.hpp"
#include "common/variant.hpp"

namespace gsofa::peers {

/// Replaces the class of a peer whose package this build lacks.
struct absent {};

/// "NAME 8.1.2": the release whose headers a peer is compiled with.
inline std::string release(const char* name, std::initializer_list<int> numbers) {
  std::string text(name);
  for (const char* before = " "; const int number : numbers) {
    text += before + std::to_string(number);
    before = ".";
  }
  return text;
}

/// Why a peer cannot run in a build that lacks `package`; nullopt in a build that has it.
template <class Peer>
std::optional<std::string> built_without(const char* package) {
  if constexpr (std::is_same_v<Peer, absent>) return std::string("built without ") + package;
  return std::nullopt;
}

/// Makes a peer; throws unavailable_error with its name and the reason `why` if there is one. An
/// absent peer always has one.
template <class Peer>
std::unique_ptr<variant> create(const char* name, const std::optional<std::string>& why) {
  if (why) throw unavailable_error(std::string(name) + ": " + *why);
  if constexpr (std::is_same_v<Peer, absent>) {
    return nullptr;
  } else {
    return std::make_unique<Peer>();
  }
}

}  // namespace gsofa::peers
