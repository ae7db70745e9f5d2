// The last graphs of the process and their orders.
//
// Graphs are found by a hash of their keys and compared outside of the lock. A process that forks
// holds the lock meanwhile, so that its child remembers too. Nothing is destroyed when the process
// ends: a destructor of the program may still call.

#include "harness/library/metis/graph_memory.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <tuple>
#include <vector>

namespace gsofa::metis_abi {

namespace {

std::uint64_t hash_of(const order_key& key) {
  std::uint64_t hash = 0;
  const auto take = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  for (std::span<const std::byte> part : key) {
    take(part.size());
    while (!part.empty()) {
      std::uint64_t word = 0;
      const std::size_t bytes = std::min(part.size(), sizeof word);
      std::memcpy(&word, part.data(), bytes);
      take(word);
      part = part.subspan(bytes);
    }
  }
  return hash;
}

// So that looking for one takes no time.
constexpr std::size_t most_graphs = 256;

struct memory {
  std::uint64_t hash = 0;
  std::array<std::vector<std::byte>, std::tuple_size_v<order_key>> key;
  pattern_order order;

  [[nodiscard]] bool is_of(const order_key& other) const {
    return std::ranges::equal(key, other, [](const auto& a, const auto& b) {
      return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
    });
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = sizeof(memory) + 256;  // its places in the containers, and headers of blocks
    for (const auto& part : key) sum += part.size();
    return sum + sizeof(std::int32_t) * (order.permutation.size() + order.tree_sizes.size());
  }
};

class memories {
 public:
  memories() {
    const auto lock = [] { all().mutex_.lock(); };
    const auto unlock = [] { all().mutex_.unlock(); };
    may_fork_ = pthread_atfork(lock, unlock, unlock) == 0;
  }
  static memories& all() {
    alignas(memories) static std::byte place[sizeof(memories)];
    static memories& only = *new (place) memories;
    return only;
  }

  std::shared_ptr<const memory> find(std::uint64_t hash, std::size_t budget) {
    const std::scoped_lock lock(mutex_);
    release(budget);
    const auto found = std::ranges::find(by_use_, hash, &memory::hash);
    if (found == by_use_.end()) return nullptr;
    std::rotate(found, found + 1, by_use_.end());
    return by_use_.back();
  }
  void add(const std::shared_ptr<const memory>& one, std::size_t budget) {
    const std::scoped_lock lock(mutex_);
    const bool is_known = std::ranges::find(by_use_, one->hash, &memory::hash) != by_use_.end();
    if (!may_fork_ || is_known || one->bytes() > budget) return;
    release(budget - one->bytes());
    if (by_use_.size() == most_graphs) release(bytes_ - 1);
    by_use_.push_back(one);
    bytes_ += one->bytes();
  }

 private:
  void release(std::size_t budget) {
    while (bytes_ > budget) {
      bytes_ -= by_use_.front()->bytes();
      by_use_.erase(by_use_.begin());
    }
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<const memory>> by_use_;  // the last used one last
  std::size_t bytes_ = 0;
  bool may_fork_ = false;
};

}  // namespace

std::shared_ptr<const pattern_order> remembered_order(const order_key& key, std::size_t budget) {
  const auto found = memories::all().find(budget == 0 ? 0 : hash_of(key), budget);
  if (found == nullptr || !found->is_of(key)) return nullptr;
  return {found, &found->order};
}

void remember(const order_key& key, const pattern_order& order, std::size_t budget) noexcept {
  std::size_t bytes = sizeof(std::int32_t) * order.permutation.size();
  for (const auto& part : key) bytes += part.size();
  if (bytes > budget) return;
  try {
    const auto one = std::make_shared<memory>();
    one->hash = hash_of(key);
    one->order = order;
    for (std::size_t k = 0; k < key.size(); ++k) one->key[k].assign(key[k].begin(), key[k].end());
    memories::all().add(one, budget);
  } catch (const std::bad_alloc&) {
    // Not remembered.
  }
}

}  // namespace gsofa::metis_abi
