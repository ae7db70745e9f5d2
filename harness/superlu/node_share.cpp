#include "harness/superlu/node_share.hpp"

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
#include <system_error>
#include <thread>

namespace gsofa::superlu {

namespace {

using std::chrono::microseconds;

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

descriptor new_socket() { return descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

// Abstract names have no permissions: others could answer or ask.
bool is_of_this_user(const descriptor& connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

// A message of one byte, with room for a descriptor.
struct descriptor_message {
  char one = 1;
  iovec data{&one, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};

  descriptor_message() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  descriptor_message(const descriptor_message&) = delete;
  descriptor_message& operator=(const descriptor_message&) = delete;
};

void send_descriptor(const descriptor& connection, const descriptor& memory) {
  descriptor_message m;
  cmsghdr* const header = CMSG_FIRSTHDR(&m.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = memory.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  // Who has ended meanwhile needs nothing.
  sendmsg(connection.get(), &m.message, MSG_NOSIGNAL);
}

descriptor receive_descriptor(const descriptor& connection) {
  descriptor_message m;
  ssize_t size = 0;
  do {
    size = recvmsg(connection.get(), &m.message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  const cmsghdr* const header = CMSG_FIRSTHDR(&m.message);
  if (size != 1 || header == nullptr || header->cmsg_type != SCM_RIGHTS) return descriptor();
  int number = -1;
  std::memcpy(&number, CMSG_DATA(header), sizeof number);
  return descriptor(number);
}

}  // namespace

descriptor::~descriptor() {
  if (number_ >= 0) close(number_);
}

// Answers the others in a thread of its own, which ends when all have been answered.
class node_share::server {
 public:
  server(descriptor listening, int others)
      : listening_(std::move(listening)),
        wake_(eventfd(0, EFD_CLOEXEC)),
        others_(static_cast<std::size_t>(others)) {
    // Signals are for the threads of the program.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] {
      try {
        run();
      } catch (const std::exception&) {
        // Who waits gets nothing, and finds for itself.
      }
      listening_ = descriptor();
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    wake();
    thread_.join();
  }

  std::vector<helper> helpers(microseconds least, microseconds most) {
    const auto now = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    arrived_.wait_until(lock, now + least, [&] { return !helpers_.empty(); });
    if (!helpers_.empty()) {
      arrived_.wait_until(lock, now + most, [&] { return helpers_.size() >= others_; });
    }
    return helpers_;
  }

  void give(std::function<descriptor()> make) {
    {
      const std::scoped_lock lock(mutex_);
      make_ = std::move(make);
    }
    wake();
  }

 private:
  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
  }

  void run() {
    std::vector<descriptor> waiting;
    descriptor memory;
    std::size_t answered = 0;
    while (answered < others_) {
      std::array<pollfd, 2> events{{{listening_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
      if (poll(events.data(), events.size(), -1) < 0 && errno != EINTR) break;
      if (events[0].revents != 0 && !accept_one(waiting)) break;
      if ((events[1].revents & POLLIN) != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t read_bytes = read(wake_.get(), &count, sizeof count);
      }
      std::function<descriptor()> make;
      {
        const std::scoped_lock lock(mutex_);
        if (stopped_) break;
        if (!waiting.empty()) make = std::exchange(make_, {});
      }
      if (make) {
        memory = make();
        if (!memory) break;
      }
      if (!memory) continue;
      for (const descriptor& connection : waiting) send_descriptor(connection, memory);
      answered += waiting.size();
      waiting.clear();
    }
    const std::scoped_lock lock(mutex_);
    make_ = {};
  }

  // False if no more can be accepted.
  bool accept_one(std::vector<descriptor>& waiting) {
    descriptor connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return errno == EINTR || errno == ECONNABORTED;
    if (!is_of_this_user(connection)) return true;
    const timeval limit{1, 0};
    setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    helper who;
    if (recv(connection.get(), &who, sizeof who, 0) != sizeof who) return true;
    waiting.push_back(std::move(connection));
    const std::scoped_lock lock(mutex_);
    helpers_.push_back(who);
    arrived_.notify_all();
    return true;
  }

  descriptor listening_, wake_;
  std::size_t others_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<helper> helpers_;
  std::function<descriptor()> make_;
  bool stopped_ = false;
  std::thread thread_;
};

node_share::node_share(const std::string& name, int others, const helper& self) {
  const address here(name);
  for (int attempt = 0; attempt < 100; ++attempt) {
    descriptor own = new_socket();
    if (!own) return;
    if (bind(own.get(), here.get(), here.size) == 0) {
      if (listen(own.get(), others) != 0) return;
      try {
        server_ = std::make_unique<server>(std::move(own), others);
      } catch (const std::system_error&) {
        // No thread to be had: this process finds for itself alone.
      }
      return;
    }
    if (errno != EADDRINUSE) return;
    descriptor connection = new_socket();
    if (!connection) return;
    if (connect(connection.get(), here.get(), here.size) == 0) {
      if (!is_of_this_user(connection) ||
          send(connection.get(), &self, sizeof self, MSG_NOSIGNAL) != sizeof self) {
        return;
      }
      connection_ = std::move(connection);
      finds_ = false;
      return;
    }
    // Bound, but not yet or no longer listening.
    std::this_thread::sleep_for(microseconds(100));
  }
}

node_share::~node_share() = default;

bool node_share::finds() const { return finds_; }

std::vector<helper> node_share::helpers(microseconds least, microseconds most) {
  return server_ ? server_->helpers(least, most) : std::vector<helper>();
}

void node_share::give(std::function<descriptor()> make) {
  if (server_) server_->give(std::move(make));
}

descriptor node_share::wait() {
  descriptor memory = receive_descriptor(connection_);
  connection_ = descriptor();
  return memory;
}

descriptor sealed_memory(std::span<const std::span<const std::byte>> parts) {
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size();
  descriptor memory(memfd_create("gsofa", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || size == 0 || ftruncate(memory.get(), static_cast<off_t>(size)) != 0) {
    return descriptor();
  }
  // Of a write that finds no memory the answer is an error, of a mapping's a signal.
  for (const auto& part : parts) {
    for (std::size_t done = 0; done < part.size();) {
      const ssize_t written = write(memory.get(), part.data() + done, part.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return descriptor();
      done += static_cast<std::size_t>(written);
    }
  }
  if (fcntl(memory.get(), F_ADD_SEALS, fixed_size) != 0) return descriptor();
  return memory;
}

mapped_memory::mapped_memory(const descriptor& memory) {
  struct stat found {};
  if (!memory || (fcntl(memory.get(), F_GET_SEALS) & fixed_size) != fixed_size ||
      fstat(memory.get(), &found) != 0 || found.st_size <= 0) {
    return;
  }
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
