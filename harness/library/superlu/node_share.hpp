#pragma once

// One process of a node finds a result for all processes of its job. The first process that binds
// an abstract socket finds the result. The others connect, lend their processors, and map the
// memory whose descriptor they receive.
//
// Invariants: no wait is without a limit; whatever a peer does, a process ends up with sealed
// memory or with nothing, and then finds the result itself. Peers of other users are refused. No
// file exists, so nothing is left behind however a process ends.
//
// Messages: a process that asks sends its `helper`. The process that finds sends one byte,
// `working`, five times a second, and at the end one byte, `ready`, with the descriptor.

#include <sched.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gsofa::superlu {

class descriptor {
 public:
  explicit descriptor(int number = -1) : number_(number) {}
  descriptor(descriptor&& o) noexcept : number_(std::exchange(o.number_, -1)) {}
  descriptor& operator=(descriptor&& o) noexcept {
    std::swap(number_, o.number_);
    return *this;
  }
  ~descriptor();
  [[nodiscard]] int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

/// What a process lends while it waits.
struct helper {
  cpu_set_t processors{};
  int threads = 1;
};

/// The one byte of a message of the process that finds; `ready` comes with exactly one descriptor.
enum class message : char { working = 1, ready = 2 };

/// How long a process waits for another one before it finds the result itself.
struct wait_limits {
  std::chrono::milliseconds connect{1000};   ///< while the listener's queue is full
  std::chrono::milliseconds silence{10000};  ///< without a message
  std::chrono::milliseconds total{600000};   ///< in all, even if `working` keeps coming
};

/// Makes the memory that is shared. Calls its argument at least every few megabytes.
using make_memory = std::function<descriptor(const std::function<void()>& still_working)>;

class node_share {
 public:
  /// name: names the result; equal in all processes of this user that want the same result.
  /// others: number of processes that may ask in addition to this one, at least 1.
  node_share(const std::string& name, int others, const helper& self,
             const wait_limits& limits = {});
  node_share(const node_share&) = delete;
  node_share& operator=(const node_share&) = delete;
  /// Processes that still wait receive nothing.
  ~node_share();

  /// True if this process finds the result: it calls helpers() and give(); otherwise it calls
  /// wait(). Also true if sockets are unavailable or the listener does not answer in time.
  [[nodiscard]] bool finds() const;

  /// What the processes that wait lend. Returns when all of them have asked, after `least` if none
  /// has, and after `most` at the latest.
  std::vector<helper> helpers(std::chrono::microseconds least, std::chrono::microseconds most);
  /// Offers memory to all processes that wait or, until this object ends, ask later. Another thread
  /// calls `make` once, when the first process asks; an empty descriptor means that there is no
  /// memory to share.
  void give(make_memory make);

  /// The descriptor that the process that finds sent, unchecked. Empty if that process ended,
  /// failed, sent something else, or exceeded a limit.
  descriptor wait();

 private:
  class server;
  void serve(descriptor listening, int others);
  void ask(descriptor connection, const helper& self);

  wait_limits limits_;
  std::unique_ptr<server> server_;
  descriptor connection_;
  bool finds_ = true;
};

/// Sealed memory with these bytes: no process can change it. Empty if memory is short. Calls
/// `still_working` every few megabytes.
descriptor sealed_memory(
    std::span<const std::span<const std::byte>> parts,
    const std::function<void()>& still_working = [] {});

/// Digest of bytes, filled up with zeros to a multiple of 8; `begin`: that of the bytes before
/// them.
std::uint64_t memory_digest(std::span<const std::byte> bytes, std::uint64_t begin = 0);

/// The bytes of sealed memory. Empty for any other descriptor: none, of a file or a pipe, unsealed,
/// of size 0, or with holes (which would take memory when they are read).
class mapped_memory {
 public:
  explicit mapped_memory(const descriptor& memory);
  mapped_memory(const mapped_memory&) = delete;
  mapped_memory& operator=(const mapped_memory&) = delete;
  ~mapped_memory();
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gsofa::superlu
