#pragma once

// Hostile neighbours: what a process may do at the socket of a result (node_share.hpp). For tests;
// no part of the library.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gsofa::superlu {

struct target {
  std::string socket;             ///< name of the abstract socket
  std::vector<std::byte> result;  ///< bytes of a true result, which attacks change
  std::uint64_t seed = 0;         ///< of an attack's random numbers
};

struct attack {
  std::string name;
  /// True: takes the socket's name before the processes of the job do. False: connects to the
  /// process that finds, again and again.
  bool listens;
  /// Attacks until the process is killed. Calls `ready` once, when the attack has begun.
  std::function<void(const target&, const std::function<void()>& ready)> run;
};

const std::vector<attack>& attacks();

/// Starts a process that runs an attack, as the user `uid` if that is not -1, and returns its id
/// once the attack has begun; -1 if it could not begin. The process ends with its parent.
int start_attack(const attack& what, const target& at, int uid = -1);

}  // namespace gsofa::superlu
