#pragma once

// Messages between the host and a device in page-locked memory: kernels read and write them, since
// launches would wait for the copy engine.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "variants/device/lent.hpp"
#include "variants/orderings/dissection/device/graphs.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

/// Copies what the host has written, word by word, and sets other words to 0.
GSOFA_KERNEL void copy_words_kernel(const std::uint64_t* from, std::uint64_t* to, offset_t words,
                                    offset_t* zeros, offset_t zeros_count) {
  simt::after_earlier_launches();
  const auto step = offset_t{simt::grid_size()} * simt::block_size();
  const auto thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
  for (offset_t k = thread; k < words; k += step) to[k] = from[k];
  for (offset_t k = thread; k < zeros_count; k += step) zeros[k] = 0;
}

GSOFA_KERNEL void note_kernel(std::uint32_t* note, std::uint32_t stamp) {
  simt::after_earlier_launches();
  if (simt::thread_index() == 0) simt::store_to_host(note, stamp);
}

/// Words of page-locked memory, which is slow to get and to give back.
class word_arena {
 public:
  std::uint64_t* take(std::size_t words) {
    if (chunks_.empty() || used_ + words > chunks_.back().size()) {
      const std::size_t last = chunks_.empty() ? at(least) : 2 * chunks_.back().size();
      chunks_.emplace_back(std::max(last, words));
      used_ = 0;
    }
    std::uint64_t* const p = chunks_.back().data() + used_;
    used_ += words;
    return p;
  }
  /// Nobody reads the words any more.
  void give_back() {
    if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
    used_ = 0;
  }

 private:
  static constexpr offset_t least = 1 << 15;
  std::vector<pinned_vector<std::uint64_t>> chunks_;
  std::size_t used_ = 0;
};

/// The messages of one dissection.
class host_link {
 public:
  host_link() {
    for (word_arena& arena : memory_->arenas) arena.give_back();  // of an order that has thrown
  }

  /// Room for `count` elements, which host and device may write and read until the second wait()
  /// from now on.
  template <class T>
  T* room(std::size_t count) {
    static_assert(alignof(T) <= sizeof(std::uint64_t));
    const std::size_t words = (count * sizeof(T) + sizeof(std::uint64_t) - 1) / 8;
    return reinterpret_cast<T*>(memory_->arenas[memory_->current].take(words));
  }

  /// Copies elements that are in room() to the device, and sets elements there to 0; asynchronous.
  template <class T>
  void upload(T* to, const T* from, std::size_t count, offset_t* zeros = nullptr,
              offset_t zeros_count = 0) {
    static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
    const auto words = static_cast<offset_t>(count * (sizeof(T) / sizeof(std::uint64_t)));
    launch_overlapping(copy_words_kernel, blocks_for(std::max<offset_t>(1, words + zeros_count)),
                       threads_per_block, 0, reinterpret_cast<const std::uint64_t*>(from),
                       reinterpret_cast<std::uint64_t*>(to), words, zeros, zeros_count);
  }

  /// Waits for all launches of this host thread.
  void wait() {
    launch_overlapping(note_kernel, 1, 32, 0, memory_->note.data(), ++memory_->stamp);
    wait_for_note(memory_->note.data(), memory_->stamp);
    memory_->current = 1 - memory_->current;
    memory_->arenas[memory_->current].give_back();
  }

 private:
  struct memory {
    word_arena arenas[2];
    int current = 0;
    pinned_vector<std::uint32_t> note = pinned_vector<std::uint32_t>(1, 0);
    std::uint32_t stamp = 0;
  };
  lent<memory> memory_;
};

}  // namespace gsofa::orders::device

#endif
