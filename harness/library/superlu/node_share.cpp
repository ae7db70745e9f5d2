#include "harness/library/superlu/node_share.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <new>
#include <thread>
#include <utility>

namespace gsofa::superlu {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// The beginning of the shared memory, zero at first. The result follows.
struct alignas(64) node_share::segment {
  std::atomic<bool> is_locked, is_ready;
  std::atomic<int> arrived;  // processes that opened it; from `others` on the name is gone
  std::size_t result_bytes;  // once ready
  // Of the processes in the sequence of their arrival; further ones lend nothing.
  std::array<helper, 256> lent;
  std::array<std::atomic<bool>, 256> has_lent;
};

namespace {

// Reserves and maps memory: a store to memory that is not reserved may raise a signal. Null where
// memory is short.
std::shared_ptr<void> mapped(int file, std::size_t size) {
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(file, 0, static_cast<off_t>(size));
  if (error != 0) return nullptr;
  void* const place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) return nullptr;
  try {
    return {place, [size](void* at) { munmap(at, size); }};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

node_share::node_share(const std::string& name, int others, const helper& self)
    : name_("/" + name), others_(others) {
  std::replace(name_.begin() + 1, name_.end(), '/', '_');
  // About one second. A name that is still not locked belongs to a process that ended.
  int attempt = 0;
  while (!create() && !open(self)) {
    if (++attempt == 10'000) {
      shm_unlink(name_.c_str());
      return;
    }
    std::this_thread::sleep_for(microseconds(100));
  }
}

node_share::~node_share() {
  if (segment_ && finds_) unlink_unless_all_came();
  if (file_ >= 0) close(file_);
}

// False if another process has created it.
bool node_share::create() {
  file_ = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (file_ < 0) return errno != EEXIST;
  segment_ = std::static_pointer_cast<segment>(mapped(file_, sizeof(segment)));
  if (segment_ && flock(file_, LOCK_EX) != 0) segment_.reset();
  if (segment_) segment_->is_locked = true;
  if (!segment_) shm_unlink(name_.c_str());
  return true;
}

// False if it is not there, or not locked yet.
bool node_share::open(const helper& self) {
  file_ = shm_open(name_.c_str(), O_RDWR, 0);
  if (file_ < 0) return errno != ENOENT;
  struct stat found {};
  if (fstat(file_, &found) != 0 || found.st_uid != geteuid()) return true;
  auto there = std::static_pointer_cast<segment>(mapped(file_, sizeof(segment)));
  if (there && !there->is_locked) {
    close(std::exchange(file_, -1));
    return false;
  }
  segment_ = std::move(there);
  finds_ = !segment_;
  if (finds_) return true;
  const auto place = static_cast<std::size_t>(segment_->arrived++);
  if (place + 1 == static_cast<std::size_t>(others_)) shm_unlink(name_.c_str());
  if (place < segment_->lent.size()) {
    segment_->lent[place] = self;
    segment_->has_lent[place] = true;
  }
  return true;
}

std::vector<helper> node_share::helpers(microseconds least, microseconds most) {
  std::vector<helper> out;
  if (!segment_) return out;
  const auto all = std::min(static_cast<std::ptrdiff_t>(others_), std::ssize(segment_->lent));
  const auto have_lent = [&] {
    return std::ranges::count_if(segment_->has_lent, [](const auto& x) { return x.load(); });
  };
  const auto begin = steady_clock::now();
  while (have_lent() < all &&
         steady_clock::now() < begin + (segment_->arrived == 0 ? least : most)) {
    std::this_thread::sleep_for(microseconds(50));
  }
  for (std::size_t k = 0; k < segment_->lent.size(); ++k) {
    if (segment_->has_lent[k]) out.push_back(segment_->lent[k]);
  }
  return out;
}

void node_share::give(std::span<const std::span<const std::byte>> parts) {
  if (!segment_) return;
  std::size_t size = sizeof(segment);
  for (const auto& part : parts) size += part.size();
  if (const auto memory = mapped(file_, size)) {
    std::byte* next = static_cast<std::byte*>(memory.get()) + sizeof(segment);
    for (const auto& part : parts) next = std::ranges::copy(part, next).out;
    segment_->result_bytes = size - sizeof(segment);
    segment_->is_ready = true;
  }
  flock(file_, LOCK_UN);
}

shared_bytes node_share::wait(std::chrono::seconds limit) {
  const auto end = steady_clock::now() + limit;
  while (flock(file_, LOCK_SH | LOCK_NB) != 0 && steady_clock::now() < end) {
    std::this_thread::sleep_for(microseconds(200));
  }
  const std::size_t size = segment_->result_bytes;
  if (const auto memory = segment_->is_ready ? mapped(file_, sizeof(segment) + size) : nullptr) {
    return {{static_cast<const std::byte*>(memory.get()) + sizeof(segment), size}, memory};
  }
  unlink_unless_all_came();
  return {};
}

// Each name is unlinked once: by the last process that opens it, or here, and then nobody follows.
void node_share::unlink_unless_all_came() {
  if (segment_->arrived.fetch_add(others_) < others_) shm_unlink(name_.c_str());
}

}  // namespace gsofa::superlu
