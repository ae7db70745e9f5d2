// Hostile neighbours: whatever a peer does, a process ends up with the right bytes or finds them
// itself, in a limited time, and keeps no descriptor.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "harness/library/superlu/attacks.hpp"
#include "harness/library/superlu/node_share.hpp"
#include "harness/library/superlu/test_processes.hpp"

using namespace gsofa::superlu;
using namespace std::chrono_literals;

namespace {

constexpr wait_limits short_limits{.connect = 300ms, .silence = 500ms, .total = 3s};
constexpr int nobody = 65534;

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

target new_target() {
  const auto values = numbers(300);
  const auto bytes = std::as_bytes(std::span(values));
  return {new_name(), {bytes.begin(), bytes.end()}, 1};
}

// What a process gets where another one has taken the socket.
int result_at(const target& at) {
  const auto before = open_descriptors();
  int out = found;
  {
    node_share share(at.socket, 2, {}, short_limits);
    if (!share.finds()) out = result_of(share, numbers(300));
  }
  return open_descriptors() == before ? out : int{wrong};
}

void end_process(pid_t process) {
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
}

}  // namespace

TEST_CASE("no listener stops a process or gives it memory that may change") {
  for (const attack& a : attacks()) {
    if (!a.listens) continue;
    CAPTURE(a.name);
    for (std::uint64_t seed = 1; seed < 3; ++seed) {
      target at = new_target();
      at.seed = seed;
      const pid_t attacker = start_attack(a, at);
      REQUIRE(attacker > 0);
      const auto out = ends(2, [&](int) { return result_at(at); });
      end_process(attacker);
      for (const int end : out) {
        // The next layer refuses sealed bytes of another content.
        const bool sealed = a.name == "short memory" || a.name.starts_with("malformed");
        CHECK((end == found || end == nothing || (sealed && end == wrong)));
      }
      if (a.name == "full queue") CHECK(out == std::vector<int>{found, found});
      if (a.name == "silence") CHECK(out == std::vector<int>{nothing, nothing});
    }
  }
}

TEST_CASE("a peer that says that it works for ever is left in the end") {
  const std::string name = new_name();
  const auto over = in_all_processes<std::atomic<int>>();
  const auto listens = in_all_processes<std::atomic<int>>();
  const auto out = ends(2, [&](int k) {
    while (k == 1 && *listens == 0) std::this_thread::sleep_for(1ms);
    node_share share(name, 1, {}, {.connect = 5s, .silence = 5s, .total = 1s});
    *listens = 1;
    const int end = share.finds() ? int{found} : result_of(share, {});
    while (k == 0 && *over == 0) std::this_thread::sleep_for(1ms);
    *over = 1;
    return end;
  });
  CHECK(out == std::vector<int>{found, nothing});
}

TEST_CASE("nobody waits for a process that was stopped") {
  const std::string name = new_name();
  const auto asked = in_all_processes<std::atomic<pid_t>>();
  const auto left = in_all_processes<std::atomic<int>>();
  const auto out = ends(3, [&](int k) {
    if (k == 2) {  // stops the process that finds once the other one waits, and lets it go on
      while (*asked == 0) std::this_thread::sleep_for(1ms);
      kill(*asked, SIGSTOP);
      while (*left == 0) std::this_thread::sleep_for(1ms);
      kill(*asked, SIGCONT);
      return int{given};
    }
    node_share share(name, 1, {}, {.connect = 1s, .silence = 1s, .total = 600s});
    if (!share.finds()) {
      const int end = result_of(share, numbers(10));
      *left = 1;
      return end;
    }
    if (share.helpers(10s, 10s).size() != 1) return int{wrong};
    *asked = getpid();
    while (*left == 0) std::this_thread::sleep_for(1ms);
    share.give([](auto&) { return memory_of(numbers(10)); });
    return int{found};
  });
  CHECK(out == std::vector<int>{found, given, nothing});
}

TEST_CASE("a process that works for longer than the limit of silence is waited for") {
  const std::string name = new_name();
  const auto served = in_all_processes<std::atomic<int>>();
  const auto out = ends(2, [&](int) {
    node_share share(name, 1, {}, {.connect = 1s, .silence = 1500ms, .total = 600s});
    if (!share.finds()) {
      const int end = result_of(share, numbers(10));
      *served = 1;
      return end;
    }
    if (share.helpers(10s, 10s).size() != 1) return int{wrong};
    std::this_thread::sleep_for(1800ms);
    share.give([](auto& still_working) {
      for (int k = 0; k < 18; ++k) {  // memory that takes long to write
        std::this_thread::sleep_for(100ms);
        still_working();
      }
      return memory_of(numbers(10));
    });
    while (*served == 0) std::this_thread::sleep_for(1ms);
    return int{found};
  });
  CHECK(out == std::vector<int>{found, given});
}

TEST_CASE("connections that are hostile keep nobody from the process that finds") {
  for (const attack& a : attacks()) {
    if (a.listens) continue;
    CAPTURE(a.name);
    const bool harmless = a.name == "garbage in greetings" || a.name == "greets and closes";
    const target at = new_target();
    const auto served = in_all_processes<std::atomic<int>>();
    const auto listens = in_all_processes<std::atomic<int>>();
    const auto out = ends(2, [&](int k) {
      while (k == 1 && *listens == 0) std::this_thread::sleep_for(1ms);
      const auto before = open_descriptors();
      int end = found;
      {
        node_share share(at.socket, 2, {}, harmless ? wait_limits() : short_limits);
        if (k == 0) {
          const pid_t attacker = start_attack(a, at);
          *listens = 1;
          if (!share.finds() || attacker < 0) return int{wrong};
          if (share.helpers(100ms, 100ms).size() > 2) end = wrong;
          share.give([](auto&) { return memory_of(numbers(300)); });
          while (*served == 0) std::this_thread::sleep_for(1ms);
          end_process(attacker);
        } else if (!share.finds()) {
          end = result_of(share, numbers(300));
        }
        *served = 1;
      }
      return open_descriptors() == before ? end : int{wrong};
    });
    // A process that floods the queue, or takes the answers, may leave nothing for others.
    CHECK(out[0] == found);
    CHECK((out[1] == given || out[1] == found || out[1] == nothing));
    if (harmless) CHECK(out[1] == given);
  }
}

TEST_CASE("other users get nothing and give nothing" * doctest::skip(geteuid() != 0)) {
  for (const attack& a : attacks()) {
    CAPTURE(a.name);
    const target at = new_target();
    if (a.listens) {
      const pid_t attacker = start_attack(a, at, nobody);
      REQUIRE(attacker > 0);
      CHECK(ends(1, [&](int) { return result_at(at); }) == std::vector<int>{found});
      end_process(attacker);
      continue;
    }
    node_share first(at.socket, 1, {}, short_limits);
    REQUIRE(first.finds());
    const pid_t attacker = start_attack(a, at, nobody);
    REQUIRE(attacker > 0);
    CHECK(first.helpers(100ms, 100ms).empty());
    first.give([](auto&) { return memory_of(numbers(300)); });
    std::this_thread::sleep_for(50ms);
    end_process(attacker);
    // No answer was spent on the other user.
    const auto out = ends(1, [&](int) {
      node_share own(at.socket, 1, {});
      return own.finds() ? int{found} : result_of(own, numbers(300));
    });
    CHECK(out == std::vector<int>{given});
  }
}

TEST_CASE("a process that can start no thread finds alone and keeps its signals") {
  const auto out = ends(1, [](int) {
    const rlimit none{0, 0};
    if (geteuid() == 0 && setuid(nobody) != 0) return int{wrong};  // no limit holds for root
    if (setrlimit(RLIMIT_NPROC, &none) != 0) return int{wrong};
    node_share share(new_name(), 2, {});
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (sigismember(&blocked, SIGINT) != 0) return int{wrong};
    return share.finds() && share.helpers(1ms, 1ms).empty() ? int{found} : int{wrong};
  });
  CHECK(out == std::vector<int>{found});
}

TEST_CASE("a process that was forked from the one that finds ends, and leaves it alone") {
  const std::string name = new_name();
  auto share = std::make_unique<node_share>(name, 1, helper(), wait_limits());
  REQUIRE(share->finds());
  share->give([](auto&) { return memory_of(numbers(10)); });
  const auto out = ends(1, [&](int) {
    share.reset();  // as static objects are destroyed at exit
    return int{found};
  });
  CHECK(out == std::vector<int>{found});
  node_share later(name, 1, {});
  REQUIRE(!later.finds());
  CHECK(result_of(later, numbers(10)) == given);
}

TEST_CASE(
    "the socket of a share that has ended waits for nobody, though a forked process holds it") {
  const std::string name = new_name();
  auto share = std::make_unique<node_share>(name, 1, helper(), wait_limits());
  REQUIRE(share->finds());
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  share.reset();
  const node_share later(name, 1, {}, {.connect = 50ms, .silence = 60000ms, .total = 60000ms});
  CHECK(later.finds());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("only memory that cannot change is mapped") {
  const auto values = numbers(10);
  const std::size_t size = sizeof(int) * values.size();
  const descriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(write(unsealed.get(), values.data(), size) > 0);
  CHECK(mapped_memory(unsealed).bytes().empty());
  std::string path = std::filesystem::temp_directory_path() / "gsofa.test.XXXXXX";
  const descriptor file(mkostemp(path.data(), O_CLOEXEC));  // fcntl(F_GET_SEALS) fails
  unlink(path.c_str());
  REQUIRE(write(file.get(), values.data(), size) > 0);
  CHECK(mapped_memory(file).bytes().empty());
  CHECK(mapped_memory(descriptor(open("/dev/zero", O_RDONLY | O_CLOEXEC))).bytes().empty());
  CHECK(mapped_memory(descriptor()).bytes().empty());
  const descriptor holes(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(holes.get(), 1 << 24) == 0);
  REQUIRE(fcntl(holes.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0);
  CHECK(mapped_memory(holes).bytes().empty());
  const descriptor sealed = memory_of(values);
  CHECK(holds(sealed, values));
  CHECK(write(sealed.get(), "x", 1) < 0);
  CHECK(ftruncate(sealed.get(), 1) != 0);
  CHECK(!memory_of({}));
}
