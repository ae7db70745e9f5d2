#pragma once

/// The common part of all peers: how a build without a peer's package lists the peer. The file of a
/// peer defines its class if the package is present, and uses `absent` otherwise:
///
///     #ifdef GSOFA_HAVE_X
///     class peer_x final : public variant { ... };
///     #else
///     using peer_x = peers::absent;
///     #endif
///     std::optional<std::string> missing() { return peers::built_without<peer_x>("X"); }
///     std::unique_ptr<variant> create() { return peers::create<peer_x>("peer_x", missing()); }

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "common/error.hpp"
#include "common/variant.hpp"

namespace gsofa::peers {

/// Replaces the class of a peer whose package this build lacks.
struct absent {};

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
