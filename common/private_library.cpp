// Loads a copy of a shared library that nobody else shares:
//  1. The file is copied into memory. The copy loses its name (DT_SONAME): the dynamic linker takes
//  it for no other
//     object and offers it to nobody.
//  2. The references of the copy to its own symbols (slots of its relocation tables) are pointed
//  back to the copy: the
//     linker has let them go to the first symbol of the name in the global scope.
//  3. The references to the functions of `imports` are pointed to their replacements.
//
// dlmopen() with a lock would be shorter, but gives the copy a C library of its own: its malloc()
// loses 130 kB for each thread that ends, a child of fork() waits for its lock for ever, and static
// TLS ends after 11 copies.

#include "common/private_library.hpp"

#if defined(__linux__) && defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "common/error.hpp"
#include "common/types.hpp"

namespace gsofa {

namespace {

// A file descriptor and, if mapped, its bytes.
struct open_file {
  int fd = -1;
  char* bytes = nullptr;
  std::size_t size = 0;

  open_file() = default;
  explicit open_file(int opened) : fd(opened) {}
  open_file(open_file&& o) noexcept
      : fd(std::exchange(o.fd, -1)), bytes(std::exchange(o.bytes, nullptr)), size(o.size) {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    if (bytes != nullptr) munmap(bytes, size);
    if (fd >= 0) close(fd);
  }
};

[[noreturn]] void fail(const std::string& file, const std::string& reason) {
  throw unavailable_error("METIS cannot be loaded from " + file + ": " + reason);
}

// By errno.
[[noreturn]] void fail(const std::string& file) {
  if (errno == ENOMEM || errno == ENOSPC) throw std::bad_alloc();
  if (errno == EMFILE || errno == ENFILE) {
    throw error(exit_code::run_failed,
                "METIS cannot be loaded from " + file + ": " + std::strerror(errno));
  }
  fail(file, std::strerror(errno));
}

// A copy of `file` in memory, mapped.
open_file copy_of(const std::string& file) {
  const open_file from(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (from.fd < 0 || fstat(from.fd, &about) != 0) fail(file);
  if (!S_ISREG(about.st_mode) || about.st_size == 0) fail(file, "is no file with content");
  open_file to(memfd_create("metis", MFD_CLOEXEC));
  if (to.fd < 0) fail(file);
  to.size = static_cast<std::size_t>(about.st_size);
  // A write beyond the limit sends SIGXFSZ.
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < to.size) {
    fail(file, "the limit of file sizes (RLIMIT_FSIZE) is below its size, " +
                     std::to_string(to.size) + " bytes");
  }
  for (std::size_t left = to.size; left > 0;) {
    const ssize_t sent = sendfile(to.fd, from.fd, nullptr, left);
    if (sent <= 0) fail(file);
    left -= static_cast<std::size_t>(sent);
  }
  void* const mapped = mmap(nullptr, to.size, PROT_READ | PROT_WRITE, MAP_SHARED, to.fd, 0);
  if (mapped == MAP_FAILED) fail(file);  // NOLINT
  to.bytes = static_cast<char*>(mapped);
  return to;
}

// What is needed of the headers of a shared library.
struct elf_headers {
  std::array<std::uintptr_t, DT_JMPREL + 1> dynamic{};
  ElfW(Phdr) thread{};
};

// Reads the headers of a copy. Takes its name out, and the order to protect its slots after
// loading.
elf_headers anonymous(const open_file& copy, const std::string& file) {
  const auto at_offset = [&]<class T>(std::size_t offset, std::size_t count, T*& out) {
    if (offset > copy.size || count > (copy.size - offset) / sizeof(T)) {
      fail(file, "is truncated");
    }
    out = reinterpret_cast<T*>(copy.bytes + offset);
  };
  ElfW(Ehdr)* head = nullptr;
  at_offset(0, 1, head);
  if (std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_type != ET_DYN ||
      head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_phentsize != sizeof(ElfW(Phdr))) {
    fail(file, "is no shared library of this machine");
  }
  elf_headers out;
  ElfW(Phdr)* parts = nullptr;
  at_offset(head->e_phoff, head->e_phnum, parts);
  for (ElfW(Phdr) & part : std::span(parts, head->e_phnum)) {
    if (part.p_type == PT_TLS) out.thread = part;
    if (part.p_type == PT_GNU_RELRO) part.p_type = PT_NULL;
    if (part.p_type != PT_DYNAMIC) continue;
    ElfW(Dyn)* entries = nullptr;
    at_offset(part.p_offset, part.p_filesz / sizeof(ElfW(Dyn)), entries);
    for (ElfW(Dyn) & e : std::span(entries, part.p_filesz / sizeof(ElfW(Dyn)))) {
      if (e.d_tag > 0 && e.d_tag <= DT_JMPREL) out.dynamic[at(e.d_tag)] = e.d_un.d_ptr;
      if (e.d_tag == DT_SONAME) e.d_tag = DT_BIND_NOW;  // which says what RTLD_NOW does
    }
  }
  return out;
}

// Loads a copy under a name that no other object has.
void* load(const open_file& copy, const std::string& file) {
  open_file same;
  std::string name;
  for (int fd = copy.fd;; fd = same.fd) {
    name = "/proc/self//fd/" + std::to_string(fd);  // others write one slash
    void* const other = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (other == nullptr) break;
    dlclose(other);
    const int next = fcntl(copy.fd, F_DUPFD_CLOEXEC, fd + 1);
    if (next < 0) fail(file);
    if (same.fd >= 0) close(same.fd);
    same.fd = next;
  }
  if (void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* const said = dlerror();
  const std::string why = said == nullptr ? "cannot be loaded" : said;
  if (why.find(std::strerror(ENOMEM)) != why.npos) throw std::bad_alloc();
  fail(file, why);
}

// Points the slots of one relocation table to the object itself and to the replacements of
// `imports`.
void bind_slots(std::uintptr_t base, const elf_headers& elf, std::size_t table_tag,
                std::size_t bytes_tag, std::span<const bound_import> imports) {
#ifdef __x86_64__
  constexpr unsigned long addresses[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64};
  constexpr unsigned long offset = R_X86_64_DTPOFF64;
#else
  constexpr unsigned long addresses[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
  constexpr unsigned long offset = R_AARCH64_TLS_DTPREL;
#endif
  const auto* symbols =
      reinterpret_cast<const ElfW(Sym)*>(base + elf.dynamic[DT_SYMTAB]);                   // NOLINT
  const auto* names = reinterpret_cast<const char*>(base + elf.dynamic[DT_STRTAB]);        // NOLINT
  const auto* table = reinterpret_cast<const ElfW(Rela)*>(base + elf.dynamic[table_tag]);  // NOLINT
  for (const ElfW(Rela) & r : std::span(table, elf.dynamic[bytes_tag] / sizeof(ElfW(Rela)))) {
    const unsigned long type = ELF64_R_TYPE(r.r_info);
    const bool is_address = std::ranges::find(addresses, type) != std::end(addresses);
    if (!is_address && type != offset) continue;
    const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(r.r_info)];
    auto& slot = *reinterpret_cast<std::uintptr_t*>(base + r.r_offset);  // NOLINT
    if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC) {
      slot = (is_address ? base : 0) + symbol.st_value + static_cast<std::uintptr_t>(r.r_addend);
      continue;
    }
    const auto known = std::ranges::find(imports, names + symbol.st_name, &bound_import::name);
    if (known != imports.end()) slot = known->replacement;
  }
}

}  // namespace

private_library::private_library(const std::string& file, std::span<const bound_import> imports) {
  elf_headers elf;
  {
    const open_file copy = copy_of(file);
    elf = anonymous(copy, file);
    handle_ = load(copy, file);
  }
  const auto unload = [](void* handle) { dlclose(handle); };
  std::unique_ptr<void, decltype(unload)> loaded(handle_, unload);
  link_map* object = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &object) != 0) fail(file, "cannot be inspected");
  const std::uintptr_t base = object->l_addr;
  if (elf.dynamic[DT_PLTREL] == DT_RELA) bind_slots(base, elf, DT_JMPREL, DT_PLTRELSZ, imports);
  bind_slots(base, elf, DT_RELA, DT_RELASZ, imports);
  const auto* image = reinterpret_cast<const char*>(base + elf.thread.p_vaddr);  // NOLINT
  thread_image_.assign(image, image + elf.thread.p_filesz);
  thread_bytes_ = elf.thread.p_memsz;
  loaded.release();
}

private_library::~private_library() { dlclose(handle_); }

void* private_library::find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace gsofa

#endif
