// METIS_NodeND without its three ties to the whole process. METIS 5 draws from rand(), so that its
// order depends on whatever else calls rand() or srand() meanwhile; it installs signal handlers for
// SIGABRT and SIGTERM during a call, which two calls at a time can leave installed for good, to
// jump into a dead frame later; and it prints a failed allocation. The rest of METIS_NodeND is
// re-entrant: its allocation list and jump buffers belong to the thread, its only other variable
// with static storage on that path (whether an error raises) is never written.
//
// Bound: the imports of the object that holds METIS_NodeND (libmetis.so) are entries of its
// relocation table, each with a slot that holds an address. The slots of rand, srand, signal,
// raise, malloc and realloc are pointed to functions of this file, once. Within a call made here
// these work on the state of that call, a thread-local variable; in all other calls they do what
// the C library does, so that METIS serves other users in the process as before.
//  * rand: random_r on a state of initstate_r with 128 bytes is, number for number, what glibc's
//    rand() gives after srand() with the same seed.
//  * signal, raise: METIS installs its handler to raise an error of its own; that needs no signal.
//  * malloc, realloc: a failure calls METIS's handler of SIGABRT, which is where METIS itself gets
//    to after printing, and jumps out of METIS_NodeND, which releases what it had. (METIS's own way
//    sets the table of its allocations to null where realloc fails on it, and then reads it.) A
//    call that is to stop leaves METIS in the same way, at its next malloc.
// Interposing functions by name instead would change them for the whole program, and does nothing
// where METIS is loaded before this library; a lock alone keeps out no caller of rand().
//
// A slot that is resolved lazily is overwritten by the dynamic linker if another thread, in METIS
// by a call of its own, is just then resolving it. A call counts therefore only if its seed arrived
// at srand here and all slots are still in place after it.
//
// Locked, where that cannot be (METIS linked statically into a static program, another generator in
// METIS, another C library, a system that forbids to write to the slots, a profiler or a second
// copy of this file that has them, the race above): one call at a time, on rand() with a state of
// its own by initstate(), and the caller's restored after it.
//
// The slots point here for the life of the process: a shared library with this file is linked with
// -z nodelete. METIS linked statically shares the slots of the object that it is in, this one.

#include "common/metis_guard.hpp"

#ifdef GSOFA_HAVE_METIS

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/error.hpp"

#if defined(__linux__) && defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#define GSOFA_BINDS_METIS 1
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace gsofa {

namespace {

// What the calls of METIS share with each other: rand() in a locked call, the slots while they are
// found.
constinit std::mutex process_lock;

#ifdef GSOFA_BINDS_METIS

using handler = void (*)(int);

// One call of METIS_NodeND, on the thread that makes it.
struct metis_call {
  random_data random{};
  alignas(std::int64_t) std::array<char, 128> random_state{};
  bool seeded = false;
  std::array<handler, NSIG> handlers{};  // null: none
  const std::atomic<bool>* stop;

  explicit metis_call(const std::atomic<bool>* when);
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
};

thread_local metis_call* current = nullptr;

metis_call::metis_call(const std::atomic<bool>* when) : stop(when) { current = this; }
metis_call::~metis_call() { current = nullptr; }

// Imports of METIS that are bound here, with what the C library has for them.
enum import_id { id_rand, id_srand, id_raise, id_malloc, id_realloc, id_signal, id_sysv_signal };
struct binding {
  const char* name;
  void* replacement;
  bool required = true;
  std::atomic<void*> original{};
};
extern std::array<binding, 7> imports;

template <class Function>
Function* original(import_id id) {
  return reinterpret_cast<Function*>(imports[id].original.load(std::memory_order_relaxed));
}

int bound_rand() {
  if (current == nullptr) return original<int()>(id_rand)();
  std::int32_t drawn = 0;
  random_r(&current->random, &drawn);
  return drawn;
}

void bound_srand(unsigned seed) {
  if (current == nullptr) return original<void(unsigned)>(id_srand)(seed);
  current->random = {};
  initstate_r(seed, current->random_state.data(), current->random_state.size(), &current->random);
  current->seeded = true;
}

template <import_id id>
handler bound_signal(int signal, handler action) {
  if (current == nullptr || signal <= 0 || signal >= NSIG) {
    return original<handler(int, handler)>(id)(signal, action);
  }
  if (action == SIG_DFL || action == SIG_IGN) action = nullptr;
  return std::exchange(current->handlers[static_cast<std::size_t>(signal)], action);
}

int bound_raise(int signal) {
  if (current != nullptr && signal > 0 && signal < NSIG) current->handle(signal);
  return original<int(int)>(id_raise)(signal);
}

void* bound_malloc(std::size_t bytes) {
  if (current != nullptr && current->stopped()) current->handle(SIGABRT);
  void* block = original<void*(std::size_t)>(id_malloc)(bytes);
  if (block == nullptr && current != nullptr) current->handle(SIGABRT);
  return block;
}

void* bound_realloc(void* old, std::size_t bytes) {
  void* block = original<void*(void*, std::size_t)>(id_realloc)(old, bytes);
  if (block != nullptr || current == nullptr || bytes == 0) return block;
  // METIS has struck a block that it shrinks off its list: after a jump nobody would release it.
  if (old != nullptr && malloc_usable_size(old) >= bytes) return old;
  current->handle(SIGABRT);
  return nullptr;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

std::array<binding, 7> imports{{
    {"rand", address(bound_rand)},
    {"srand", address(bound_srand)},
    {"raise", address(bound_raise)},
    {"malloc", address(bound_malloc)},
    {"realloc", address(bound_realloc)},
    {"signal", address(bound_signal<id_signal>), false},
    {"__sysv_signal", address(bound_signal<id_sysv_signal>), false},
}};

struct slot {
  void** where = nullptr;
  import_id what = id_rand;
  [[nodiscard]] std::atomic_ref<void*> value() const { return std::atomic_ref<void*>(*where); }
  [[nodiscard]] bool bound() const {
    return value().load(std::memory_order_relaxed) == imports[what].replacement;
  }
};

struct address_range {
  std::uintptr_t begin = 0, end = 0;
  [[nodiscard]] bool has(const void* address) const {
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    return a >= begin && a < end;
  }
};

// The object that holds METIS_NodeND: its slots, at most one for calls and one for the address of
// each function, where it lies, and the part of it that is read-only after relocation.
struct metis_object {
  std::array<slot, 2 * imports.size()> slot_array{};
  std::size_t slot_count = 0;
  address_range all, read_only;

  [[nodiscard]] std::span<const slot> slots() const { return {slot_array.data(), slot_count}; }
  void add(const slot& s) {
    if (slot_count < slot_array.size()) slot_array[slot_count++] = s;
  }
  // False if another than the C library or the dynamic linker has put something there.
  [[nodiscard]] bool may_bind(const slot& s) const {
    const void* value = s.value().load(std::memory_order_relaxed);
    return value == imports[s.what].original.load(std::memory_order_relaxed) || all.has(value);
  }
};

// Finds the slots of one relocation table.
void find_slots(std::uintptr_t base, const ElfW(Rela) * table, std::size_t bytes,
                const ElfW(Sym) * symbols, const char* names, metis_object& found) {
#ifdef __x86_64__
  constexpr unsigned long slot_types[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
#else
  constexpr unsigned long slot_types[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
#endif
  for (std::size_t k = 0; k < bytes / sizeof(ElfW(Rela)); ++k) {
    const unsigned long type = ELF64_R_TYPE(table[k].r_info);
    if (type != slot_types[0] && type != slot_types[1]) continue;
    const std::string_view name = names + symbols[ELF64_R_SYM(table[k].r_info)].st_name;
    for (std::size_t id = 0; id < imports.size(); ++id) {
      if (name != imports[id].name) continue;
      found.add({reinterpret_cast<void**>(base + table[k].r_offset),  // NOLINT
                 static_cast<import_id>(id)});
    }
  }
}

// The beginning of the page that holds an address.
std::uintptr_t page_of(std::uintptr_t address) {
  const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return address / size * size;
}

int visit_object(dl_phdr_info* object, std::size_t /*size*/, void* out) {
  const std::uintptr_t base = object->dlpi_addr;
  const auto code = reinterpret_cast<std::uintptr_t>(&METIS_NodeND);
  const ElfW(Dyn)* dynamic = nullptr;
  bool here = false;
  address_range all{.begin = UINTPTR_MAX}, read_only;
  for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum;
       ++part) {
    const std::uintptr_t begin = base + part->p_vaddr;
    const std::uintptr_t end = begin + part->p_memsz;
    if (part->p_type == PT_LOAD) {
      here = here || (code >= begin && code < end);
      all = {std::min(all.begin, begin), std::max(all.end, end)};
    }
    if (part->p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);  // NOLINT
    // The dynamic linker rounds the end down, too.
    if (part->p_type == PT_GNU_RELRO) read_only = {page_of(begin), page_of(end)};
  }
  if (!here || dynamic == nullptr) return 0;
  auto& found = *static_cast<metis_object*>(out);
  found.all = all;
  found.read_only = read_only;
  std::array<std::uintptr_t, DT_JMPREL + 1> entry{};
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag > 0 && dynamic->d_tag <= DT_JMPREL) {
      entry[static_cast<std::size_t>(dynamic->d_tag)] = dynamic->d_un.d_ptr;
    }
  }
  // glibc has turned the pointers among them into addresses; other linkers leave offsets.
  const auto at = [&](std::size_t tag) {
    return entry[tag] < base ? base + entry[tag] : entry[tag];
  };
  const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(at(DT_SYMTAB));  // NOLINT
  const auto* names = reinterpret_cast<const char*>(at(DT_STRTAB));         // NOLINT
  if (entry[DT_PLTREL] == DT_RELA) {
    const auto* table = reinterpret_cast<const ElfW(Rela)*>(at(DT_JMPREL));  // NOLINT
    find_slots(base, table, entry[DT_PLTRELSZ], symbols, names, found);
  }
  const auto* table = reinterpret_cast<const ElfW(Rela)*>(at(DT_RELA));  // NOLINT
  find_slots(base, table, entry[DT_RELASZ], symbols, names, found);
  return 1;
}

// Finds the slots and the C library's functions; no slots if any that is needed is missing.
metis_object find_metis() {
  metis_object found;
  dl_iterate_phdr(visit_object, &found);
  int handlers = 0;
  for (std::size_t id = 0; id < imports.size(); ++id) {
    const auto slots = found.slots();
    const bool imported =
        std::ranges::find(slots, static_cast<import_id>(id), &slot::what) != slots.end();
    void* const function = dlsym(RTLD_DEFAULT, imports[id].name);
    imports[id].original.store(function, std::memory_order_relaxed);
    if ((imports[id].required && !imported) || (imported && function == nullptr)) return {};
    handlers += !imports[id].required && imported ? 1 : 0;
  }
  if (handlers == 0) return {};
  return found;
}

bool set_writable(const slot& s, bool writable) {
  const std::uintptr_t begin = page_of(reinterpret_cast<std::uintptr_t>(s.where));
  return mprotect(reinterpret_cast<void*>(begin), sizeof(void*),  // NOLINT
                  writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

bool all_bound(const metis_object& metis) {
  return metis.slot_count > 0 && std::ranges::all_of(metis.slots(), &slot::bound);
}

// The slots of METIS, all pointed to this file unless something forbids it.
const metis_object& bind_metis() {
  const std::scoped_lock holding(process_lock);
  static const metis_object metis = find_metis();
  for (const slot& s : metis.slots()) {
    if (s.bound()) continue;
    const bool read_only = metis.read_only.has(s.where);
    if (!metis.may_bind(s) || (read_only && !set_writable(s, true))) break;
    s.value().store(imports[s.what].replacement, std::memory_order_release);
    if (read_only) set_writable(s, false);
  }
  return metis;
}

#endif

// rand() with a state of its own until the end of the scope. The caller must hold the lock.
class own_rand {
 public:
#ifdef __GLIBC__
  own_rand() : callers_(initstate(1, state_.data(), state_.size())) {}
  ~own_rand() { setstate(callers_); }

 private:
  alignas(std::int64_t) std::array<char, 128> state_{};
  char* callers_;
#else
  own_rand() = default;
  ~own_rand() = default;

 public:
#endif
  own_rand(const own_rand&) = delete;
  own_rand& operator=(const own_rand&) = delete;
};

}  // namespace

metis_isolation metis_node_nd(idx_t n, idx_t* xadj, idx_t* adjncy, idx_t* options, idx_t* perm,
                              idx_t* iperm, metis_isolation most,
                              [[maybe_unused]] const std::atomic<bool>* stop) {
  const auto order = [&] {
    const int status = METIS_NodeND(&n, xadj, adjncy, nullptr, options, perm, iperm);
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw cancelled_error();
    if (status == METIS_ERROR_MEMORY) throw std::bad_alloc();
    if (status != METIS_OK) {
      throw error(exit_code::run_failed,
                  "METIS_NodeND failed with status " + std::to_string(status));
    }
  };
#ifdef GSOFA_BINDS_METIS
  if (most == metis_isolation::bound) {
    const metis_object& metis = bind_metis();
    if (all_bound(metis)) {
      metis_call call(stop);
      order();
      if (call.seeded && all_bound(metis)) return metis_isolation::bound;
    }
  }
#endif
  const std::scoped_lock holding(process_lock);
  const own_rand state;
  order();
  return metis_isolation::locked;
}

}  // namespace gsofa

#endif
