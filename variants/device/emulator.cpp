#ifdef GSOFA_EMULATE_GPU

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "common/random.hpp"
#include "variants/device/simt.hpp"

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
#include <ucontext.h>
#define GSOFA_FIBER_UCONTEXT 1
#endif

namespace gsofa::simt::emulator {

namespace {

#ifndef GSOFA_FIBER_UCONTEXT
// Saves the callee-saved registers of the System V ABI on the old stack and returns on the new.
extern "C" void gsofa_fiber_switch(void** save, void* to);
asm(R"(
.text
.type gsofa_fiber_switch, @function
gsofa_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gsofa_fiber_switch, .-gsofa_fiber_switch
)");
#endif

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr unsigned usual_calls = 8;  // of collectives and atomics, on average, for one switch

enum class state : char { ready, at_warp, at_block, at_cluster, at_grid, finished };

#ifdef GSOFA_FIBER_UCONTEXT
using fiber_context = ucontext_t;
void switch_fibers(fiber_context& from, fiber_context& to) { swapcontext(&from, &to); }
#else
using fiber_context = void*;
void switch_fibers(fiber_context& from, fiber_context& to) { gsofa_fiber_switch(&from, to); }
#endif

struct fiber {
  fiber_context context{};
  std::unique_ptr<char[]> stack;
  unsigned thread = 0;
  unsigned block = 0;
  unsigned slot = 0;  // of the block, among the resident ones
  state at = state::finished;
};

struct warp {
  std::array<std::uint64_t, 32> in{};
  std::array<std::array<std::uint64_t, 32>, 2> out{};
  unsigned arrived = 0;
  unsigned turn = 0;
  collective kind = collective::barrier;
};

// The threads of a block that are at its barrier, and the OR of their predicates.
struct block_vote {
  unsigned arrived = 0;
  bool any = false;
  std::array<bool, 2> outcome{};  // of the last two barriers
  unsigned turn = 0;
};

struct machine {
  unsigned blocks = 0;
  unsigned threads = 0;
  const std::function<void()>* body = nullptr;
  std::vector<fiber> fibers;                       // resident blocks x threads
  std::vector<warp> warps;                         // resident blocks x threads / 32
  std::vector<std::vector<std::uint64_t>> shared;  // by resident block
  std::vector<block_vote> votes;                   // by resident block
  unsigned arrived_grid = 0;
  unsigned cluster = 1;                    // blocks
  std::vector<unsigned> arrived_clusters;  // threads at the barrier of each
  std::vector<std::size_t> ready;
  fiber* current = nullptr;
  random_source random{1};
  std::exception_ptr failure;
  fiber_context home{};
};

machine& the_machine() {
  static machine m;
  return m;
}

// This host thread executes a kernel, not the emulator or the host's part of a variant.
thread_local bool in_kernel = false;

// The emulator at work for a fiber: none of its own accesses, which may be instrumented where they
// are those of inline functions, switches fibers.
class emulator_scope {
 public:
  emulator_scope() { in_kernel = false; }
  ~emulator_scope() { in_kernel = true; }
  emulator_scope(const emulator_scope&) = delete;
  emulator_scope& operator=(const emulator_scope&) = delete;
};

std::atomic<unsigned> accesses_per_switch{0};

// One of the fibers that are ready, now the current one.
fiber& take_ready(machine& m) {
  const auto pick = static_cast<std::size_t>(m.random.below(m.ready.size()));
  m.current = &m.fibers[m.ready[pick]];
  m.ready[pick] = m.ready.back();
  m.ready.pop_back();
  return *m.current;
}

// The current fiber lets another run: the way through run_grid() would take two switches.
void leave(machine& m) {
  fiber& from = *m.current;
  if (m.ready.empty()) {
    switch_fibers(from.context, m.home);  // the grid is in deadlock
  } else if (fiber& to = take_ready(m); &to != &from) {
    switch_fibers(from.context, to.context);
  }
}

void fiber_main() {
  machine& m = the_machine();
  try {
    in_kernel = true;
    (*m.body)();
  } catch (...) {
    if (!m.failure) m.failure = std::current_exception();
  }
  in_kernel = false;
  m.current->at = state::finished;
  switch_fibers(m.current->context, m.home);
}

void start(fiber& f) {
  if (!f.stack) f.stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
#ifdef GSOFA_FIBER_UCONTEXT
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = f.stack.get();
  f.context.uc_stack.ss_size = stack_bytes;
  f.context.uc_link = nullptr;
  makecontext(&f.context, fiber_main, 0);
#else
  auto top = reinterpret_cast<std::uintptr_t>(f.stack.get() + stack_bytes) & ~std::uintptr_t{15};
  auto** sp = reinterpret_cast<void**>(top);
  *--sp = nullptr;  // the ABI wants rsp = 8 mod 16 at function entry
  *--sp = reinterpret_cast<void*>(&fiber_main);
  for (int k = 0; k < 6; ++k) *--sp = nullptr;
  f.context = sp;
#endif
  f.at = state::ready;
}

void block_on(state where) {
  machine& m = the_machine();
  m.current->at = where;
  leave(m);
}

void make_ready(machine& m, std::size_t first, std::size_t count, state from) {
  for (std::size_t k = first; k < first + count; ++k) {
    if (m.fibers[k].at != from) continue;
    m.fibers[k].at = state::ready;
    m.ready.push_back(k);
  }
}

void load_block(machine& m, unsigned slot, unsigned block) {
  std::ranges::fill(m.shared[slot], 0xdeadbeefdeadbeefULL);
  m.votes[slot] = {};
  for (unsigned t = 0; t < m.threads; ++t) {
    const std::size_t k = std::size_t{slot} * m.threads + t;
    fiber& f = m.fibers[k];
    f.thread = t;
    f.block = block;
    f.slot = slot;
    start(f);
    m.ready.push_back(k);
  }
  for (unsigned w = 0; w < m.threads / 32; ++w) m.warps[slot * (m.threads / 32) + w] = {};
}

}  // namespace

void set_seed(std::uint64_t seed) { the_machine().random = random_source(seed); }

unsigned thread_index() { return the_machine().current->thread; }
unsigned block_index() { return the_machine().current->block; }
unsigned block_size() { return the_machine().threads; }
unsigned grid_size() { return the_machine().blocks; }
void* shared_bytes() { return the_machine().shared[the_machine().current->slot].data(); }

namespace {

// Lets other fibers run, on average, in one of `calls` calls.
void yield_once_in(unsigned calls) {
  machine& m = the_machine();
  if (m.random.below(calls) != 0) return;
  m.ready.push_back(static_cast<std::size_t>(m.current - m.fibers.data()));
  block_on(state::ready);
}

}  // namespace

void maybe_yield() {
  const emulator_scope here;
  yield_once_in(usual_calls);
}

void switch_at_accesses(unsigned accesses) { accesses_per_switch = accesses; }
bool switches_at_accesses() { return accesses_per_switch != 0; }

void before_access(const void* address) {
  if (!in_kernel) return;
  const unsigned accesses = accesses_per_switch.load(std::memory_order_relaxed);
  if (accesses == 0) return;
  const emulator_scope here;
  // No other thread sees the stack of this one.
  const auto* const place = static_cast<const char*>(address);
  const char* const stack = the_machine().current->stack.get();
  if (std::less<>{}(place, stack) || !std::less<>{}(place, stack + stack_bytes)) {
    yield_once_in(accesses);
  }
}

const std::uint64_t* exchange_warp(std::uint64_t mine, collective kind) {
  const emulator_scope here;
  machine& m = the_machine();
  fiber& me = *m.current;
  const std::size_t w = std::size_t{me.slot} * (m.threads / 32) + me.thread / 32;
  warp& mates = m.warps[w];
  if (mates.arrived > 0 && mates.kind != kind) {
    throw std::logic_error("lanes of a warp are at different collectives");
  }
  mates.kind = kind;
  mates.in[me.thread % 32] = mine;
  if (++mates.arrived == 32) {
    mates.arrived = 0;
    mates.turn ^= 1U;
    mates.out[mates.turn] = mates.in;
    make_ready(m, w * 32, 32, state::at_warp);
    const auto* result = mates.out[mates.turn].data();
    yield_once_in(usual_calls);
    return result;
  }
  const unsigned turn = mates.turn ^ 1U;
  block_on(state::at_warp);
  return m.warps[w].out[turn].data();
}

void barrier_block() { barrier_block_or(false); }

bool barrier_block_or(bool predicate) {
  const emulator_scope here;
  machine& m = the_machine();
  const unsigned slot = m.current->slot;
  block_vote& vote = m.votes[slot];
  vote.any = vote.any || predicate;
  const unsigned turn = vote.turn;
  if (++vote.arrived == m.threads) {
    vote.outcome[turn] = vote.any;
    vote.arrived = 0;
    vote.any = false;
    vote.turn ^= 1U;
    make_ready(m, std::size_t{slot} * m.threads, m.threads, state::at_block);
    yield_once_in(usual_calls);
  } else {
    block_on(state::at_block);
  }
  return m.votes[slot].outcome[turn];
}

void barrier_grid() {
  const emulator_scope here;
  machine& m = the_machine();
  if (++m.arrived_grid == m.threads * m.blocks) {
    m.arrived_grid = 0;
    make_ready(m, 0, std::size_t{m.threads} * m.blocks, state::at_grid);
    yield_once_in(usual_calls);
    return;
  }
  block_on(state::at_grid);
}

unsigned cluster_size() { return the_machine().cluster; }

void barrier_cluster() {
  const emulator_scope here;
  machine& m = the_machine();
  const unsigned cluster = m.current->block / m.cluster;
  if (++m.arrived_clusters[cluster] < m.threads * m.cluster) {
    block_on(state::at_cluster);
    return;
  }
  m.arrived_clusters[cluster] = 0;
  for (std::size_t k = 0; k < std::size_t{m.threads} * m.blocks; ++k) {
    if (m.fibers[k].block / m.cluster == cluster) make_ready(m, k, 1, state::at_cluster);
  }
  yield_once_in(usual_calls);
}

void run_grid(unsigned blocks, unsigned threads, std::size_t shared_size, bool cooperative,
              const std::function<void()>& body, unsigned cluster) {
  if (threads == 0 || threads % 32 != 0 || blocks == 0) {
    throw std::logic_error("a grid needs whole warps and at least one block");
  }
  if (cluster == 0 || blocks % cluster != 0 || (cluster > 1 && !cooperative)) {
    throw std::logic_error("clusters are whole and their blocks run at once");
  }
  // Host threads take turns: one grid runs at a time.
  static std::mutex one_grid;
  const std::scoped_lock turn(one_grid);
  machine& m = the_machine();
  const unsigned resident = cooperative ? blocks : std::min(blocks, 3U);
  m.blocks = blocks;
  m.threads = threads;
  m.body = &body;
  m.failure = nullptr;
  m.arrived_grid = 0;
  m.cluster = cluster;
  m.arrived_clusters.assign(blocks / cluster, 0);
  m.ready.clear();
  // Stacks are kept between grids: new stacks cost more than the threads of a small kernel.
  if (m.fibers.size() < std::size_t{resident} * threads) {
    m.fibers.resize(std::size_t{resident} * threads);
  }
  m.warps.assign(std::size_t{resident} * threads / 32, {});
  m.shared.assign(resident, std::vector<std::uint64_t>(shared_size / 8 + 1));
  m.votes.assign(resident, {});
  std::vector<unsigned> order(blocks);
  for (unsigned b = 0; b < blocks; ++b) order[b] = b;
  for (std::size_t b = blocks; b > 1; --b) std::swap(order[b - 1], order[m.random.below(b)]);
  std::vector<unsigned> running(resident, threads);
  unsigned next = 0;
  for (unsigned slot = 0; slot < resident; ++slot) load_block(m, slot, order[next++]);

  unsigned finished_blocks = 0;
  while (finished_blocks < blocks) {
    if (m.ready.empty()) throw std::logic_error("deadlock: threads wait at different barriers");
    switch_fibers(m.home, take_ready(m).context);
    if (m.failure) std::rethrow_exception(m.failure);
    if (m.current->at == state::finished) {
      const unsigned slot = m.current->slot;
      if (--running[slot] == 0) {
        ++finished_blocks;
        if (next < blocks) {
          running[slot] = threads;
          load_block(m, slot, order[next++]);
        }
      }
    }
  }
}

}  // namespace gsofa::simt::emulator

#endif
