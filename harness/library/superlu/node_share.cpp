#include "harness/library/superlu/node_share.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace gsofa::superlu {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int fixed_size = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

// An abstract name: a leading zero byte, and no file.
struct address {
  sockaddr_un name{};
  socklen_t size = 0;

  explicit address(const std::string& text) {
    name.sun_family = AF_UNIX;
    const std::size_t length = std::min(text.size(), sizeof name.sun_path - 1);
    std::copy_n(text.begin(), length, name.sun_path + 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

// Non-blocking: connect() to a listener whose queue is full would otherwise wait without a limit.
descriptor new_socket() {
  return descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Abstract names have no permissions: any user can listen or connect.
bool is_of_this_user(const descriptor& connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

// A message of one byte with room for descriptors: the kernel closes those beyond.
struct descriptor_message {
  static constexpr std::size_t room = 2;

  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(room * sizeof(int))> control{};
  msghdr header{};

  descriptor_message() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  descriptor_message(const descriptor_message&) = delete;
  descriptor_message& operator=(const descriptor_message&) = delete;
};

// False if the peer has ended or reads nothing.
bool send_working(const descriptor& connection) {
  const auto byte = message::working;
  return send(connection.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

bool send_descriptor(const descriptor& connection, const descriptor& memory) {
  descriptor_message m;
  m.byte = static_cast<char>(message::ready);
  m.header.msg_controllen = CMSG_SPACE(sizeof(int));
  cmsghdr* const header = CMSG_FIRSTHDR(&m.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = memory.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  return sendmsg(connection.get(), &m.header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

// Owns every descriptor that came with a message.
std::vector<descriptor> descriptors_of(msghdr& header) {
  std::vector<descriptor> out;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t k = 0; k < count; ++k) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(c) + k * sizeof number, sizeof number);
      out.emplace_back(number);
    }
  }
  return out;
}

// The next message if it is well formed: `working` alone, or `ready` with one descriptor.
struct received {
  bool well_formed = false;
  descriptor memory = descriptor();
};

received receive(const descriptor& connection) {
  descriptor_message m;
  const ssize_t size = recvmsg(connection.get(), &m.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) return {.well_formed = errno == EINTR || errno == EAGAIN};
  std::vector<descriptor> sent = descriptors_of(m.header);
  const bool cut = (m.header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  if (size != 1 || cut) return {};
  if (m.byte == static_cast<char>(message::working) && sent.empty()) return {.well_formed = true};
  if (m.byte != static_cast<char>(message::ready) || sent.size() != 1) return {};
  return {.well_formed = true, .memory = std::move(sent.front())};
}

// poll() takes an int of milliseconds; rounded up, so that it does not return just before the end.
int poll_time(steady_clock::duration left) {
  return static_cast<int>(std::chrono::ceil<milliseconds>(left).count());
}

// Blocks all signals for the calling thread, and for threads that it starts, until this object
// ends.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

descriptor::~descriptor() {
  if (number_ >= 0) close(number_);
}

// Answers the processes that ask, in a thread of its own, which ends when all have been answered.
class node_share::server {
 public:
  server(descriptor listening, int others)
      : listening_(std::move(listening)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        others_(static_cast<std::size_t>(others)) {
    if (!wake_) throw std::system_error(errno, std::generic_category());
    const signals_blocked blocked;  // signals are for the threads of the program
    thread_ = std::thread([this] {
      try {
        run();
      } catch (const std::exception&) {
        // Processes that wait receive nothing and find the result themselves.
      }
      // A process that was forked meanwhile holds the socket too: without shutdown() others would
      // go on connecting to it, and nobody would answer.
      shutdown(listening_.get(), SHUT_RDWR);
      listening_ = descriptor();
      peers_.clear();
    });
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() {
    if (getpid() != owner_) {  // a fork copied this object, but not its thread
      thread_.detach();
      return;
    }
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    wake();
    thread_.join();
  }

  std::vector<helper> helpers(microseconds least, microseconds most) {
    const auto now = steady_clock::now();
    std::unique_lock lock(mutex_);
    arrived_.wait_until(lock, now + least, [&] { return !lent_.empty(); });
    if (!lent_.empty()) {
      arrived_.wait_until(lock, now + most, [&] { return lent_.size() >= others_; });
    }
    return lent_;
  }

  void give(make_memory make) {
    {
      const std::scoped_lock lock(mutex_);
      make_ = std::move(make);
    }
    wake();
  }

 private:
  // A connection; it asks once it has said what it lends.
  struct peer {
    descriptor connection;
    steady_clock::time_point since;
    std::optional<helper> lends;
  };

  static constexpr milliseconds beat{200};       // between two messages `working`
  static constexpr milliseconds greeting{1000};  // within which a connection has to ask
  static constexpr std::size_t most_silent = 16;

  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
  }

  void run() {
    descriptor memory;
    std::size_t answered = 0;
    while (answered < others_) {
      std::vector<pollfd> events{{wake_.get(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
      // Nobody is accepted while too many connections are open: they wait in the socket's queue.
      if (peers_.size() >= others_ + most_silent) events[1].fd = -1;
      for (const peer& p : peers_) events.push_back({p.connection.get(), POLLIN, 0});
      const int time = peers_.empty() ? -1 : poll_time(beat);
      if (poll(events.data(), events.size(), time) < 0 && errno != EINTR) return;
      if ((events[0].revents & POLLIN) != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t read_bytes = read(wake_.get(), &count, sizeof count);
      }
      hear(std::span(events).subspan(2));
      if (events[1].revents != 0 && !accept_one()) return;
      make_memory make;
      {
        const std::scoped_lock lock(mutex_);
        if (stopped_) return;
        if (!lent_.empty()) make = std::exchange(make_, {});
      }
      say_working();
      if (make) {
        memory = make([this] { say_working(); });
        if (!memory) return;
      }
      if (memory) answered += answer(memory);
    }
  }

  // Takes greetings; drops connections that ended, say something else, or say nothing for too long.
  void hear(std::span<const pollfd> events) {
    const auto now = steady_clock::now();
    bool changed = false;
    for (std::size_t k = events.size(); k-- > 0;) {
      peer& p = peers_[k];
      bool stays = p.lends.has_value() || now - p.since < greeting;
      if (events[k].revents != 0) {
        stays = !p.lends && greeted(p);
        changed = true;
      }
      if (!stays) peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    if (changed) tell_lent();
  }

  // Reads what a connection lends; false if the message has another size.
  static bool greeted(peer& p) {
    helper lends;
    const ssize_t size = recv(p.connection.get(), &lends, sizeof lends, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size != sizeof lends) return false;
    p.lends = lends;
    return true;
  }

  void tell_lent() {
    std::vector<helper> lent;
    for (const peer& p : peers_) {
      if (p.lends && lent.size() < others_) lent.push_back(*p.lends);
    }
    const std::scoped_lock lock(mutex_);
    lent_ = std::move(lent);
    arrived_.notify_all();
  }

  // False if no connection can be accepted any more.
  bool accept_one() {
    descriptor connection(
        accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return errno == EINTR || errno == EAGAIN || errno == ECONNABORTED;
    if (is_of_this_user(connection)) {
      peers_.push_back({std::move(connection), steady_clock::now(), std::nullopt});
    }
    return true;
  }

  void say_working() {
    const auto now = steady_clock::now();
    if (now - last_beat_ < beat) return;
    last_beat_ = now;
    for (const peer& p : peers_) {
      if (p.lends) send_working(p.connection);
    }
  }

  // Sends the descriptor to every process that asks; returns how many processes can receive it.
  std::size_t answer(const descriptor& memory) {
    std::size_t answered = 0;
    std::erase_if(peers_, [&](const peer& p) {
      if (!p.lends) return false;
      if (send_descriptor(p.connection, memory)) ++answered;
      return true;
    });
    tell_lent();
    return answered;
  }

  const pid_t owner_ = getpid();
  descriptor listening_, wake_;
  std::size_t others_;
  std::vector<peer> peers_;  // of the thread alone
  steady_clock::time_point last_beat_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<helper> lent_;
  make_memory make_;
  bool stopped_ = false;
  std::thread thread_;
};

node_share::node_share(const std::string& name, int others, const helper& self,
                       const wait_limits& limits)
    : limits_(limits) {
  const address here(name);
  const auto end = steady_clock::now() + limits.connect;
  microseconds pause{100};
  do {
    descriptor own = new_socket();
    if (!own) return;
    if (bind(own.get(), here.get(), here.size) == 0) {
      serve(std::move(own), others);
      return;
    }
    if (errno != EADDRINUSE) return;
    descriptor connection = new_socket();
    if (!connection) return;
    if (connect(connection.get(), here.get(), here.size) == 0) {
      ask(std::move(connection), self);
      return;
    }
    // Refused: bound, but not yet or no longer listening. EAGAIN: the listener's queue is full.
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) return;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, microseconds(10000));
  } while (steady_clock::now() < end);
}

node_share::~node_share() = default;

void node_share::serve(descriptor listening, int others) {
  if (listen(listening.get(), others) != 0) return;
  try {
    server_ = std::make_unique<server>(std::move(listening), others);
  } catch (const std::system_error&) {
    // No thread or no descriptor left: this process finds the result for itself alone.
  }
}

void node_share::ask(descriptor connection, const helper& self) {
  if (!is_of_this_user(connection) ||
      send(connection.get(), &self, sizeof self, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof self) {
    return;
  }
  connection_ = std::move(connection);
  finds_ = false;
}

bool node_share::finds() const { return finds_; }

std::vector<helper> node_share::helpers(microseconds least, microseconds most) {
  return server_ ? server_->helpers(least, most) : std::vector<helper>();
}

void node_share::give(make_memory make) {
  if (server_) server_->give(std::move(make));
}

descriptor node_share::wait() {
  const descriptor connection = std::move(connection_);
  const auto end = steady_clock::now() + limits_.total;
  auto silent_until = steady_clock::now() + limits_.silence;
  while (connection) {
    const auto left = std::min(end, silent_until) - steady_clock::now();
    if (left <= left.zero()) break;
    pollfd event{connection.get(), POLLIN, 0};
    const int ready = poll(&event, 1, poll_time(left));
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) continue;
    received next = receive(connection);
    if (!next.well_formed) break;
    if (next.memory) return std::move(next.memory);
    silent_until = steady_clock::now() + limits_.silence;
  }
  return descriptor();
}

descriptor sealed_memory(std::span<const std::span<const std::byte>> parts,
                         const std::function<void()>& still_working) {
  constexpr std::size_t most_at_once = 16 << 20;
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size();
  descriptor memory(memfd_create("gsofa", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || size == 0 || ftruncate(memory.get(), static_cast<off_t>(size)) != 0) {
    return descriptor();
  }
  // write() returns an error where memory is short; a store to mapped memory would raise a signal.
  for (const auto& part : parts) {
    for (std::size_t done = 0; done < part.size();) {
      const std::size_t next = std::min(most_at_once, part.size() - done);
      const ssize_t written = write(memory.get(), part.data() + done, next);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return descriptor();
      done += static_cast<std::size_t>(written);
      still_working();
    }
  }
  if (fcntl(memory.get(), F_ADD_SEALS, fixed_size) != 0) return descriptor();
  return memory;
}

std::uint64_t memory_digest(std::span<const std::byte> bytes, std::uint64_t begin) {
  std::uint64_t digest = begin;
  constexpr std::size_t word = sizeof digest;
  for (std::size_t k = 0; k < bytes.size(); k += word) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + k, std::min(word, bytes.size() - k));
    digest = (digest ^ value) * 0x9e3779b97f4a7c15ULL;
    digest ^= digest >> 32;
  }
  return digest;
}

mapped_memory::mapped_memory(const descriptor& memory) {
  if (!memory) return;
  const int seals = fcntl(memory.get(), F_GET_SEALS);
  // -1: not memory of memfd_create().
  if (seals < 0 || (seals & fixed_size) != fixed_size) return;
  struct stat found {};
  if (fstat(memory.get(), &found) != 0 || found.st_size <= 0) return;
  if (found.st_blocks < found.st_size / 512) return;  // holes; st_blocks counts units of 512 bytes
  const auto size = static_cast<std::size_t>(found.st_size);
  void* const place = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, memory.get(), 0);
  if (place == MAP_FAILED) return;
  data_ = static_cast<const std::byte*>(place);
  size_ = size;
}

mapped_memory::~mapped_memory() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace gsofa::superlu
