#pragma once

// What one process of a node finds for all of its job. The first to bind an abstract socket finds
// it; the others wait there, lend their processors meanwhile, and map the memory whose descriptor
// they get. Nothing is left behind whatever becomes of a process, and none waits for one that
// ended.

#include <sched.h>

#include <chrono>
#include <cstddef>
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

class node_share {
 public:
  /// name: of what is looked for, the same in all processes of this user that look for it; others:
  /// how many besides this one may ask, at least 1.
  node_share(const std::string& name, int others, const helper& self);
  node_share(const node_share&) = delete;
  node_share& operator=(const node_share&) = delete;
  /// Those that still wait get nothing.
  ~node_share();

  /// Whether this process is the one that finds: it calls helpers() and give(), the others wait().
  /// True too where there are no such sockets.
  [[nodiscard]] bool finds() const;

  /// What the others lend: returns when all are here, if none has come after `least`, and after
  /// `most` at the latest.
  std::vector<helper> helpers(std::chrono::microseconds least, std::chrono::microseconds most);
  /// For all that wait and, until this object ends, all that ask later. `make` is called by another
  /// thread, once, when somebody asks; what it gives may be empty.
  void give(std::function<descriptor()> make);

  /// The memory that was given; empty if the process that finds has ended or failed.
  descriptor wait();

 private:
  class server;
  std::unique_ptr<server> server_;
  descriptor connection_;
  bool finds_ = true;
};

/// Memory with these bytes that nobody can change any more. Empty if there is none to be had.
descriptor sealed_memory(std::span<const std::span<const std::byte>> parts);

/// The bytes of sealed memory; empty if it is no such memory.
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
