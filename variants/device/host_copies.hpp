#pragma once

/// Copies of gigabytes from the device to pageable memory of the host, on several host threads:
/// while one piece is on its way into a thread's own pinned memory, the thread maps the pages of
/// the previous piece and copies it. The driver's own copy uses one thread and reaches a few GB/s.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/large_pages.hpp"
#include "common/parallel.hpp"
#include "variants/device/runtime.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// A mark after the work that the calling host thread has enqueued on the device.
class device_mark {
 public:
#if defined(__CUDACC__)
  device_mark() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "event"); }
  device_mark(const device_mark&) = delete;
  device_mark& operator=(const device_mark&) = delete;
  ~device_mark() { cudaEventDestroy(event_); }
  void set() { check(cudaEventRecord(event_, cudaStreamPerThread), "event"); }
  [[nodiscard]] cudaEvent_t event() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
#else
  void set() {}
#endif
};

/// Bytes of a piece: a large page of the host.
#if defined(__CUDACC__)
inline constexpr std::size_t piece_bytes = large_page;
#else
inline constexpr std::size_t piece_bytes = 64;  // small patterns must have several
#endif

/// Bytes on their way from the device.
struct piece {
  char* to = nullptr;
  const char* from = nullptr;
  std::size_t bytes = 0;
  const device_mark* after = nullptr;  ///< bytes are complete at it; null: complete now
};

/// Pieces of `bytes` bytes; every host page belongs to one piece.
inline std::vector<piece> pieces_of(char* to, const char* from, std::size_t bytes,
                                    const device_mark* after = nullptr) {
  std::vector<piece> pieces;
  for (std::size_t done = 0; done < bytes;) {
    const auto place = reinterpret_cast<std::uintptr_t>(to + done);
    const std::size_t now = std::min(piece_bytes - place % piece_bytes, bytes - done);
    pieces.push_back({to + done, from + done, now, after});
    done += now;
  }
  return pieces;
}

/// The copy channel of a host thread: pinned memory for two pieces, and its own stream.
class copy_lane {
 public:
  copy_lane() {
#if defined(__CUDACC__)
    check(cudaGetDevice(&device_), "cudaGetDevice");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    for (cudaEvent_t& e : arrived_) {
      check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "event");
    }
#endif
    pinned_.resize(2 * piece_bytes);
  }
  copy_lane(const copy_lane&) = delete;
  copy_lane& operator=(const copy_lane&) = delete;
#if defined(__CUDACC__)
  ~copy_lane() {
    for (const cudaEvent_t e : arrived_) cudaEventDestroy(e);
    cudaStreamDestroy(stream_);
  }
#endif

  [[nodiscard]] int device() const { return device_; }
  /// Starts the copy of a piece into one of two places.
  void send(const piece& p, int place) {
    char* const to = pinned_.data() + static_cast<std::size_t>(place) * piece_bytes;
#if defined(__CUDACC__)
    if (p.after != nullptr) check(cudaStreamWaitEvent(stream_, p.after->event(), 0), "event");
    check(cudaMemcpyAsync(to, p.from, p.bytes, cudaMemcpyDeviceToHost, stream_),
          "copy to the host");
    check(cudaEventRecord(arrived_[place], stream_), "event");
#else
    std::memcpy(to, p.from, p.bytes);
#endif
  }
  /// Waits for the piece in that place and copies it to its target.
  void receive(const piece& p, int place) {
#if defined(__CUDACC__)
    map_pages(p.to, p.bytes);
    check(cudaEventSynchronize(arrived_[place]), "copy to the host");
#endif
    std::memcpy(p.to, pinned_.data() + static_cast<std::size_t>(place) * piece_bytes, p.bytes);
  }
  /// Waits for all copies that have started.
  void drain() noexcept {
#if defined(__CUDACC__)
    cudaStreamSynchronize(stream_);
#endif
  }

 private:
  int device_ = 0;
  pinned_vector<char> pinned_;
#if defined(__CUDACC__)
  cudaStream_t stream_ = nullptr;
  cudaEvent_t arrived_[2] = {};
#endif
};

/// Lanes that are not in use. Allocating pinned memory takes longer than filling it, so the process
/// keeps it for the next analysis.
class idle_lanes {
 public:
  static std::unique_ptr<copy_lane> take(int device) {
    {
      idle_lanes& all = instance();
      const std::scoped_lock lock(all.mutex_);
      const auto found = std::ranges::find(all.lanes_, device, &copy_lane::device);
      if (found != all.lanes_.end()) {
        std::unique_ptr<copy_lane> lane = std::move(*found);
        all.lanes_.erase(found);
        return lane;
      }
    }
    return std::make_unique<copy_lane>();
  }
  static void give(std::unique_ptr<copy_lane> lane) {
    idle_lanes& all = instance();
    const std::scoped_lock lock(all.mutex_);
    all.lanes_.push_back(std::move(lane));
  }

 private:
  // It lives as long as the process: at its end the runtime of the device may be gone.
  static idle_lanes& instance() {
    static auto* const all = new idle_lanes;  // NOLINT(cppcoreguidelines-owning-memory)
    return *all;
  }
  std::mutex mutex_;
  std::vector<std::unique_ptr<copy_lane>> lanes_;
};

/// Copies shared by several host threads.
class host_copies {
 public:
  /// Copies made by run() with at most `threads` threads.
  explicit host_copies(int threads) : threads_(std::clamp(threads, 1, most_threads)) {
#if defined(__CUDACC__)
    check(cudaGetDevice(&device_), "cudaGetDevice");
#endif
  }

  /// Called in `produce` after all work that writes `count` elements at `from` has been enqueued:
  /// copies the elements to storage_to_write(v, count). take_written() may follow after run() has
  /// returned. Neither array may move until then.
  template <class T>
  void add(std::vector<T>& v, const T* from, offset_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    add_bytes(storage_to_write(v, static_cast<std::size_t>(count)), from, bytes);
  }

  /// Calls produce() on this thread, which add()s arrays as the device computes them. The other
  /// threads copy meanwhile; this thread copies after produce() has returned. `bytes`: about the
  /// number of bytes to be copied. Rethrows the exception of any thread after all copies have
  /// ended.
  template <class Produce>
  void run(std::size_t bytes, Produce&& produce) {
    const int threads = useful_threads(threads_, bytes / piece_bytes);
    at_once_ = bytes < piece_bytes;
    on_ready_threads(threads, [&](int thread) {
      if (thread == 0) {
        try {
          produce();
        } catch (...) {
          end(true);
          throw;
        }
        end(false);
      }
      try {
        copy_pieces();
      } catch (...) {
        end(true);
        throw;
      }
    });
  }

 private:
  static constexpr int most_threads = 16;

  void add_bytes(void* to, const void* from, std::size_t bytes) {
    if (at_once_) {
      return copy_to_host(static_cast<char*>(to), static_cast<const char*>(from),
                          static_cast<offset_t>(bytes));
    }
    auto mark = std::make_unique<device_mark>();
    mark->set();
    const std::vector<piece> added =
        pieces_of(static_cast<char*>(to), static_cast<const char*>(from), bytes, mark.get());
    const std::scoped_lock lock(mutex_);
    pieces_.insert(pieces_.end(), added.begin(), added.end());
    marks_.push_back(std::move(mark));
    more_.notify_all();
  }

  void end(bool failed) {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    if (failed) next_ = pieces_.size();
    more_.notify_all();
  }

  // The next piece; waits for a piece if `wait` is set. False if no piece is left.
  bool take(piece& p, bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) more_.wait(lock, [&] { return ended_ || next_ < pieces_.size(); });
    if (next_ >= pieces_.size()) return false;
    p = pieces_[next_++];
    return true;
  }

  void copy_pieces() {
    piece p[2];
    if (!take(p[0], true)) return;
#if defined(__CUDACC__)
    check(cudaSetDevice(device_), "cudaSetDevice");
#endif
    std::unique_ptr<copy_lane> lane = idle_lanes::take(device_);
    try {
      bool there = true;
      lane->send(p[0], 0);
      for (int k = 0; there; k ^= 1) {
        bool another = take(p[k ^ 1], false);
        if (another) lane->send(p[k ^ 1], k ^ 1);
        lane->receive(p[k], k);
        if (!another && (another = take(p[k ^ 1], true))) lane->send(p[k ^ 1], k ^ 1);
        there = another;
      }
    } catch (...) {
      lane->drain();
      throw;
    }
    idle_lanes::give(std::move(lane));
  }

  int threads_;
  int device_ = 0;
  bool at_once_ = false;  // too little for a lane
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<piece> pieces_;
  std::size_t next_ = 0;
  bool ended_ = false;
  std::vector<std::unique_ptr<device_mark>> marks_;
};

#endif

}  // namespace gsofa::gpu
