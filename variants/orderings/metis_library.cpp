// METIS as a part of this library that nobody else shares. A process may hold several METIS of
// different index widths, whose functions have the same names; METIS draws from rand(), installs
// handlers of SIGABRT and SIGTERM, prints when an allocation fails, and holds 28 kB for each
// thread, whose failed allocation ends the process. So this file loads a private_library and points
// its references to the functions of `imports` to functions of this file, which work on the state
// of the call that runs on the thread:
//  * rand: random_r on a state of initstate_r with 128 bytes is, number for number, what glibc's
//    rand() gives after srand() with the same seed.
//  * signal, raise: METIS installs a handler to raise an error of its own; that needs no signal.
//  * malloc, realloc: a failure calls METIS's handler of SIGABRT, which jumps out of METIS_NodeND,
//    which releases what it had. METIS itself gets there after printing; where realloc fails, it
//    first sets the table of its allocations to null and then reads it. A call that is to stop
//    leaves METIS in the same way, at its next malloc.
//  * __tls_get_addr: the variables of a thread are in a block of the call. (Compilers that use TLS
//    descriptors, the default of AArch64, call no function: those variables stay with the thread.)
//
// The copy is never unloaded while the process may call it, and its slots hold addresses of this
// file: a shared library with this file is linked with -z nodelete.

#include "variants/orderings/metis_library.hpp"

#include "common/error.hpp"
#include "common/made_once.hpp"
#include "common/ordering.hpp"

#if defined(GSOFA_METIS_LIBRARY) && defined(__linux__) && defined(__GLIBC__) && \
    (defined(__x86_64__) || defined(__aarch64__))

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <metis.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "common/private_library.hpp"

namespace gsofa {

namespace {

using handler = void (*)(int);

// One call of the copy, by the thread that makes it.
class metis_call {
 public:
  random_data random{};
  alignas(std::int64_t) std::array<char, 128> random_state{};
  std::array<handler, NSIG> handlers{};  // null: none
  std::vector<std::max_align_t> thread_block;
  const std::atomic<bool>* stop;

  metis_call(const private_library& copy, const std::atomic<bool>* when);
  ~metis_call();
  metis_call(const metis_call&) = delete;
  metis_call& operator=(const metis_call&) = delete;

  [[nodiscard]] bool stopped() const {
    return stop != nullptr && stop->load(std::memory_order_relaxed);
  }
  // Does not return if METIS has installed a handler, since the handler jumps.
  void handle(int signal) const {
    if (const handler action = handlers[static_cast<std::size_t>(signal)]) action(signal);
  }

 private:
  std::size_t place_ = 0;
};

// The calls that run, each with its thread; 0: nobody's place. A variable of each thread would need
// memory that may not be there.
constexpr std::size_t most_calls = 64;
std::array<std::atomic<pthread_t>, most_calls> callers;
std::array<metis_call*, most_calls> calls;

// In a child of fork() the other threads do not exist.
[[maybe_unused]] const int forgets_other_threads = pthread_atfork(nullptr, nullptr, [] {
  for (auto& caller : callers) caller.store(0, std::memory_order_relaxed);
});

metis_call::metis_call(const private_library& copy, const std::atomic<bool>* when)
    : thread_block(copy.thread_bytes() / sizeof(std::max_align_t) + 1), stop(when) {
  std::ranges::copy(copy.thread_image(), reinterpret_cast<char*>(thread_block.data()));
  for (pthread_t nobody = 0; !callers[place_].compare_exchange_strong(nobody, pthread_self());
       nobody = 0) {
    if (++place_ < most_calls) continue;
    place_ = 0;
    if (stopped()) throw cancelled_error();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  calls[place_] = this;
}
metis_call::~metis_call() { callers[place_].store(0, std::memory_order_release); }

// That of this thread: the copy runs in no other way.
metis_call& current() {
  const pthread_t self = pthread_self();
  for (std::size_t place = 0; place < most_calls; ++place) {
    if (callers[place].load(std::memory_order_relaxed) == self) return *calls[place];
  }
  std::abort();
}

int own_rand() {
  std::int32_t drawn = 0;
  random_r(&current().random, &drawn);
  return drawn;
}

void own_srand(unsigned seed) {
  metis_call& c = current();
  c.random = {};
  initstate_r(seed, c.random_state.data(), c.random_state.size(), &c.random);
}

bool is_signal(int number) { return number > 0 && number < NSIG; }

handler own_signal(int number, handler action) {
  if (!is_signal(number)) return SIG_ERR;
  if (action == SIG_DFL || action == SIG_IGN) action = nullptr;
  return std::exchange(current().handlers[static_cast<std::size_t>(number)], action);
}

int own_raise(int number) {
  if (is_signal(number)) current().handle(number);
  return 0;
}

void* own_malloc(std::size_t bytes) {
  const metis_call& c = current();
  if (c.stopped()) c.handle(SIGABRT);
  void* const block = std::malloc(bytes);
  if (block == nullptr) c.handle(SIGABRT);
  return block;
}

void* own_realloc(void* old, std::size_t bytes) {
  void* const block = std::realloc(old, bytes);
  if (block != nullptr || bytes == 0) return block;
  // METIS has struck a block that it shrinks off its list: after a jump nobody would release it.
  if (old != nullptr && malloc_usable_size(old) >= bytes) return old;
  current().handle(SIGABRT);
  return nullptr;
}

struct thread_variable {
  unsigned long module, offset;
};
void* own_thread_variable(const thread_variable* v) {
  return reinterpret_cast<char*>(current().thread_block.data()) + v->offset;
}

template <class Function>
std::uintptr_t address(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function);
}

const std::array<bound_import, 10> imports{{
    {"rand", address(own_rand)},
    {"srand", address(own_srand)},
    {"signal", address(own_signal)},
    {"__sysv_signal", address(own_signal)},
    {"raise", address(own_raise)},
    {"malloc", address(own_malloc)},
    {"realloc", address(own_realloc)},
    {"calloc", address(static_cast<void* (*)(std::size_t, std::size_t)>(std::calloc))},
    {"free", address(static_cast<void (*)(void*)>(std::free))},
    {"__tls_get_addr", address(own_thread_variable)},
}};

template <class Index>
using node_nd_function = int(Index*, Index*, Index*, Index*, Index*, Index*, Index*);

template <class Index>
using default_options_function = int(Index*);

template <class Index>
int order_by(void* node_nd, void* set_default_options, const metis_options& requested,
             std::span<Index> xadj, std::span<Index> adjncy, std::span<Index> perm,
             std::span<Index> iperm) {
  std::array<Index, METIS_NOPTIONS> options{};
  reinterpret_cast<default_options_function<Index>*>(set_default_options)(options.data());
  constexpr metis_options defaults;
  // Defaults stay METIS's own: other versions may have other numbers of options.
  const auto set = [&](int option, std::int64_t value, std::int64_t by_default) {
    if (value != by_default) options[at(option)] = narrow<Index>(value, "option of METIS");
  };
  if (requested.seed >= 0) set(METIS_OPTION_SEED, requested.seed, defaults.seed);
  set(METIS_OPTION_NSEPS, requested.nseps, defaults.nseps);
  set(METIS_OPTION_UFACTOR, requested.ufactor, defaults.ufactor);
  set(METIS_OPTION_NO2HOP, requested.no2hop ? 1 : 0, defaults.no2hop ? 1 : 0);
  auto n = static_cast<Index>(perm.size());
  return reinterpret_cast<node_nd_function<Index>*>(node_nd)(
      &n, xadj.data(), adjncy.data(), nullptr, options.data(), perm.data(), iperm.data());
}

}  // namespace

metis_library::metis_library(const std::string& file)
    : copy_(std::make_unique<private_library>(file, imports)),
      node_nd_(copy_->find("METIS_NodeND")),
      set_default_options_(copy_->find("METIS_SetDefaultOptions")) {
  if (node_nd_ == nullptr || set_default_options_ == nullptr) {
    throw unavailable_error("METIS cannot be loaded from " + file + ": has no METIS_NodeND");
  }
  // It fills METIS_NOPTIONS numbers of its width.
  std::array<std::int32_t, 2 * METIS_NOPTIONS> options{};
  constexpr std::int32_t untouched = 0x5a5a5a5a;
  options.fill(untouched);
  {
    const metis_call call(*copy_, nullptr);
    reinterpret_cast<default_options_function<std::int32_t>*>(set_default_options_)(options.data());
  }
  index_bits_ = options[METIS_NOPTIONS] == untouched ? 32 : 64;
}

metis_library::~metis_library() = default;

std::vector<index_t> metis_library::node_nd(std::span<index_t> xadj, std::span<index_t> adjncy,
                                            const metis_options& options,
                                            const std::atomic<bool>* stop) const {
  std::vector<index_t> perm(xadj.size() - 1);
  const auto status = [&] {
    if (index_bits_ == 32) {
      std::vector<index_t> iperm(perm.size());
      const metis_call call(*copy_, stop);
      return order_by<std::int32_t>(node_nd_, set_default_options_, options, xadj, adjncy, perm,
                                    iperm);
    }
    std::vector<std::int64_t> long_xadj(xadj.begin(), xadj.end());
    std::vector<std::int64_t> long_adjncy(adjncy.begin(), adjncy.end());
    std::vector<std::int64_t> order(perm.size());
    std::vector<std::int64_t> iperm(perm.size());
    const metis_call call(*copy_, stop);
    const int ended = order_by<std::int64_t>(node_nd_, set_default_options_, options, long_xadj,
                                             long_adjncy, order, iperm);
    std::ranges::transform(order, perm.begin(), [](auto v) { return static_cast<index_t>(v); });
    return ended;
  }();
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw cancelled_error();
  if (status == METIS_ERROR_MEMORY) throw std::bad_alloc();
  if (status != METIS_OK) {
    throw error(exit_code::run_failed, "METIS_NodeND failed with status " + std::to_string(status));
  }
  return perm;
}

namespace {

// The file of the libmetis that the dynamic linker finds; empty: none.
std::string file_of(const char* soname) {
  void* const handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return {};
  link_map* object = nullptr;
  const bool found = dlinfo(handle, RTLD_DI_LINKMAP, &object) == 0;
  const std::string file = found ? object->l_name : "";
  dlclose(handle);
  return file;
}

std::unique_ptr<metis_library> find_metis() {
  std::string reasons;
  for (const bool built : {true, false}) {
    for (const char* name : {"libmetis.so.5", "libmetis.so"}) {
      const std::string file = built ? GSOFA_METIS_LIBRARY : file_of(name);
      if (file.empty()) continue;
      try {
        return std::make_unique<metis_library>(file);
      } catch (const unavailable_error& e) {
        reasons += (reasons.empty() ? "" : "; ") + std::string(e.what());
      }
      if (built) break;
    }
  }
  throw unavailable_error(reasons);
}

}  // namespace

const metis_library& metis() {
  // Not unloaded at exit: threads may still be in it. That there is none is remembered too.
  static std::atomic<const metis_library*> found;
  static std::atomic<const std::string*> missing;
  return made_once(found, [] {
    if (const std::string* const why = missing.load(std::memory_order_acquire)) {
      throw unavailable_error(*why);
    }
    try {
      return find_metis();
    } catch (const unavailable_error& e) {
      auto why = std::make_unique<std::string>(e.what());
      const std::string* nothing = nullptr;
      if (missing.compare_exchange_strong(nothing, why.get())) why.release();
      throw;
    }
  });
}

std::optional<std::string> metis_fault() {
  try {
    metis();
    return std::nullopt;
  } catch (const unavailable_error& e) {
    return e.what();
  }
}

std::string metis_version() {
  return "METIS " + std::to_string(METIS_VER_MAJOR) + "." + std::to_string(METIS_VER_MINOR) + "." +
         std::to_string(METIS_VER_SUBMINOR);
}

}  // namespace gsofa

#else

namespace gsofa {

class private_library {};

metis_library::metis_library(const std::string&) {
  throw needs_library("--order metis", "METIS", "libmetis-dev");
}
metis_library::~metis_library() = default;

std::vector<index_t> metis_library::node_nd(std::span<index_t>, std::span<index_t>,
                                            const metis_options&, const std::atomic<bool>*) const {
  return {};
}

const metis_library& metis() {
  static const metis_library none("");
  return none;
}

std::optional<std::string> metis_fault() {
  return needs_library("--order metis", "METIS", "libmetis-dev").what();
}

std::string metis_version() { return ""; }

}  // namespace gsofa

#endif
