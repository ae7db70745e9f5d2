#include "harness/library/superlu/attacks.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <thread>

#include "harness/library/superlu/node_share.hpp"

namespace gsofa::superlu {

namespace {

using namespace std::chrono_literals;
using random_engine = std::mt19937_64;
using on_ready = std::function<void()>;
// What a listener sends to a process that has connected.
using reply = std::function<void(const descriptor& peer, const target& at, random_engine& random)>;

std::size_t below(random_engine& random, std::size_t end) { return random() % end; }

descriptor new_socket(int flags = 0) {
  return descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

// Calls bind() or connect() for the abstract name.
template <class Call>
bool at_address(Call call, const descriptor& of, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::copy_n(name.begin(), length, address.sun_path + 1);
  return call(of.get(), reinterpret_cast<const sockaddr*>(&address),
              static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length)) == 0;
}

descriptor listener(const std::string& name, int queue) {
  descriptor out = new_socket();
  const bool listens = at_address(bind, out, name) && listen(out.get(), queue) == 0;
  return listens ? std::move(out) : descriptor();
}

descriptor connected(const std::string& name) {
  descriptor out = new_socket(SOCK_NONBLOCK);
  return at_address(connect, out, name) ? std::move(out) : descriptor();
}

[[noreturn]] void wait_for_end() {
  while (true) pause();
}

// One message with any number of descriptors.
void send_message(const descriptor& peer, std::span<const std::byte> bytes,
                  std::span<const int> descriptors) {
  iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
  std::vector<char> control(CMSG_SPACE(descriptors.size_bytes()));
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
  }
  sendmsg(peer.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void send_one(const descriptor& peer, message what, std::span<const int> descriptors) {
  const auto byte = static_cast<std::byte>(what);
  send_message(peer, {&byte, 1}, descriptors);
}

void send_memory(const descriptor& peer, const descriptor& memory) {
  const int number = memory.get();
  send_one(peer, message::ready, {&number, 1});
}

std::vector<std::byte> random_bytes(random_engine& random, std::size_t most) {
  std::vector<std::byte> out(1 + below(random, most));
  std::ranges::generate(out, [&] { return static_cast<std::byte>(random()); });
  return out;
}

descriptor sealed(std::span<const std::byte> bytes) {
  const std::array<std::span<const std::byte>, 1> parts{bytes};
  return sealed_memory(parts);
}

// --- listeners -----------------------------------------------------------------------------------

void fill_queue(const target& at, const on_ready& ready) {
  const descriptor own = listener(at.socket, 0);
  if (!own) return;
  std::vector<descriptor> queue;
  for (descriptor next = connected(at.socket); next; next = connected(at.socket)) {
    queue.push_back(std::move(next));
  }
  ready();
  wait_for_end();
}

void bind_only(const target& at, const on_ready& ready) {
  const descriptor own = new_socket();
  if (!at_address(bind, own, at.socket)) return;
  ready();
  wait_for_end();
}

// Accepts everybody, replies, and holds the connections or closes them.
void listen_and(const target& at, const on_ready& ready, const reply& answer, bool holds = true) {
  const descriptor own = listener(at.socket, 64);
  if (!own) return;
  ready();
  random_engine random(at.seed);
  std::vector<descriptor> peers;
  while (true) {
    descriptor peer(accept4(own.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!peer) continue;
    answer(peer, at, random);
    if (holds) peers.push_back(std::move(peer));
  }
}

void send_garbage(const descriptor& peer, const target&, random_engine& random) {
  for (std::size_t k = 0; k < 20; ++k) send_message(peer, random_bytes(random, 300), {});
}

void send_unsealed(const descriptor& peer, const target& at, random_engine&) {
  const descriptor memory(memfd_create("attack", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (write(memory.get(), at.result.data(), at.result.size()) > 0) send_memory(peer, memory);
}

void send_file(const descriptor& peer, const target& at, random_engine& random) {
  std::string name = "/tmp/gsofa.attack.XXXXXX";
  const descriptor file(mkostemp(name.data(), O_CLOEXEC));
  unlink(name.c_str());
  if (write(file.get(), at.result.data(), at.result.size()) <= 0) return;
  const descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  send_memory(peer, below(random, 4) == 0 ? null : file);
}

// A terabyte of memory of which not a byte was written.
void send_holes(const descriptor& peer, const target&, random_engine&) {
  const descriptor memory(memfd_create("attack", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (ftruncate(memory.get(), off_t{1} << 40) != 0) return;
  fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  send_memory(peer, memory);
}

void send_short(const descriptor& peer, const target& at, random_engine& random) {
  const std::size_t size = 1 + below(random, std::max<std::size_t>(at.result.size(), 2) - 1);
  send_memory(peer, sealed(std::span(at.result).first(std::min(size, at.result.size()))));
}

// Some words of the header or of the arrays changed to values that no index or length has.
std::vector<std::byte> malformed(const target& at, random_engine& random) {
  constexpr std::array<std::int64_t, 3> extremes{-1, std::numeric_limits<std::int32_t>::max(),
                                                 std::numeric_limits<std::int64_t>::max()};
  std::vector<std::byte> bytes = at.result;
  for (std::size_t k = 1 + below(random, 3); k > 0; --k) {
    const std::size_t end =
        below(random, 2) == 0 ? std::min<std::size_t>(bytes.size(), 128) : bytes.size();
    const std::size_t width = below(random, 2) == 0 ? 4 : 8;
    if (end < width) continue;
    const std::int64_t value = extremes[below(random, extremes.size())];
    std::memcpy(bytes.data() + below(random, end / width) * width, &value, width);
  }
  return bytes;
}

void send_malformed(const descriptor& peer, const target& at, random_engine& random) {
  std::vector<std::byte> bytes = malformed(at, random);
  bytes[below(random, bytes.size())] ^= static_cast<std::byte>(1 << below(random, 8));
  send_memory(peer, sealed(bytes));
}

// The second word is the digest of all later words.
void send_malformed_with_digest(const descriptor& peer, const target& at, random_engine& random) {
  std::vector<std::byte> bytes = malformed(at, random);
  const std::uint64_t digest = memory_digest(std::span(bytes).subspan(16));
  std::memcpy(bytes.data() + 8, &digest, sizeof digest);
  send_memory(peer, sealed(bytes));
}

void send_many(const descriptor& peer, std::size_t count) {
  const descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const std::vector<int> numbers(count, null.get());
  send_one(peer, message::working, numbers);
  send_one(peer, message::ready, numbers);
}

void send_flood(const descriptor& peer, const target&, random_engine& random) {
  for (std::size_t k = 0; k < 20; ++k) send_many(peer, 1 + below(random, 250));
}

// --- connections ---------------------------------------------------------------------------------

// Connects again and again, and holds at most `most_held` connections.
void connect_and(const target& at, const on_ready& ready, std::size_t most_held,
                 const reply& greet) {
  random_engine random(at.seed);
  std::vector<descriptor> held;
  ready();
  while (true) {
    descriptor peer = connected(at.socket);
    if (!peer) {
      std::this_thread::sleep_for(100us);
      continue;
    }
    greet(peer, at, random);
    if (most_held == 0) continue;
    if (held.size() >= most_held) held.erase(held.begin());
    held.push_back(std::move(peer));
  }
}

void say_nothing(const descriptor&, const target&, random_engine&) {}

void greet(const descriptor& peer, std::span<const int> descriptors) {
  helper lends;
  std::memset(&lends.processors, 0xff, sizeof lends.processors);
  lends.threads = std::numeric_limits<int>::max();
  send_message(peer, std::as_bytes(std::span(&lends, 1)), descriptors);
}

std::vector<attack> all_attacks() {
  const auto answering = [](const reply& answer, bool holds = true) {
    return [=](const target& at, const on_ready& ready) { listen_and(at, ready, answer, holds); };
  };
  const auto connecting = [](std::size_t most_held, const reply& greeting) {
    return [=](const target& at, const on_ready& ready) {
      connect_and(at, ready, most_held, greeting);
    };
  };
  const reply greeting = [](const descriptor& peer, const target&, random_engine&) {
    greet(peer, {});
  };
  return {
      {"full queue", true, fill_queue},
      {"bound, not listening", true, bind_only},
      {"silence", true, answering(say_nothing)},
      {"closes at once", true, answering(say_nothing, false)},
      {"garbage", true, answering(send_garbage)},
      {"no descriptor", true, answering([](const descriptor& peer, const target&, random_engine&) {
         send_one(peer, message::ready, {});
       })},
      {"unsealed memory", true, answering(send_unsealed)},
      {"file", true, answering(send_file)},
      {"memory with holes", true, answering(send_holes)},
      {"short memory", true, answering(send_short)},
      {"malformed memory", true, answering(send_malformed)},
      {"malformed, right digest", true, answering(send_malformed_with_digest)},
      {"two descriptors", true,
       answering(
           [](const descriptor& peer, const target&, random_engine&) { send_many(peer, 2); })},
      {"flood of descriptors", true, answering(send_flood)},
      {"silent connections", false, connecting(200, say_nothing)},
      {"garbage in greetings", false, connecting(8, send_garbage)},
      {"greets and closes", false, connecting(0, greeting)},
      {"greets and sends more", false,
       connecting(8,
                  [](const descriptor& peer, const target& at, random_engine& random) {
                    greet(peer, {});
                    send_garbage(peer, at, random);
                  })},
      {"greets with descriptors", false,
       connecting(8,
                  [](const descriptor& peer, const target&, random_engine&) {
                    const std::vector<int> numbers(250, 2);
                    greet(peer, numbers);
                  })},
  };
}

}  // namespace

const std::vector<attack>& attacks() {
  static const std::vector<attack> all = all_attacks();
  return all;
}

int start_attack(const attack& what, const target& at, int uid) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (uid != -1 && setuid(static_cast<uid_t>(uid)) != 0) _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // which setuid() would undo
    what.run(at, [&] {
      const char one = 1;
      if (write(ends[1], &one, 1) != 1) _exit(1);
    });
    _exit(1);
  }
  close(ends[1]);
  char one = 0;
  const bool begun = child > 0 && read(ends[0], &one, 1) == 1;
  close(ends[0]);
  if (begun || child < 0) return child;
  waitpid(child, nullptr, 0);
  return -1;
}

}  // namespace gsofa::superlu
