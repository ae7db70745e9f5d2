#include "common/archive_reader.hpp"

#ifdef GSOFA_HAVE_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <locale.h>
#include <sys/mman.h>
#endif

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "common/ascii.hpp"
#include "common/error.hpp"
#include "common/made_once.hpp"

namespace gsofa {

namespace {

const char* name_of(wrapping kind) {
  switch (kind) {
    case wrapping::none:
      break;
    case wrapping::gzip:
      return ".gz file";
    case wrapping::xz:
      return ".xz file";
    case wrapping::bzip2:
      return ".bz2 file";
    case wrapping::zstd:
      return ".zst file";
    case wrapping::compress:
      return ".Z file";
    case wrapping::lzip:
      return ".lz file";
    case wrapping::tar:
      return ".tar archive";
    case wrapping::zip:
      return ".zip or .npz archive";
  }
  return "plain file";
}

}  // namespace

#ifdef GSOFA_HAVE_ARCHIVE

namespace {

// libarchive ends the process where one of its small allocations fails, and reports it where a
// large one fails. Throws std::bad_alloc unless the small ones of a call will find their memory.
void require_room() {
  constexpr std::size_t room = std::size_t{8} << 20;
  void* const there =
      ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (there == MAP_FAILED) throw std::bad_alloc();
  ::munmap(there, room);
}

// Functions of libarchive. It is loaded when a file needs it, and its symbols stay its own: a
// program that links libgsofa gets neither libarchive nor the libraries behind it (libxml2,
// libcrypto, ...).
class libarchive {
 public:
  // Never unloaded. Throws std::bad_alloc.
  static const libarchive& loaded() {
    static std::atomic<const libarchive*> found;
    return made_once(found, [] { return std::unique_ptr<const libarchive>(new libarchive); });
  }
  // Throws unavailable_error beginning with `name`, std::bad_alloc.
  static const libarchive& get(const std::string& name) {
    require_room();
    const std::string reason = loaded().unavailable();
    if (!reason.empty()) throw unavailable_error(name + ": " + reason);
    return loaded();
  }
  [[nodiscard]] std::string unavailable() const {
    return reason_.empty() ? "" : "needs libarchive: " + reason_ + ": apt-get install libarchive13";
  }

 private:
  static constexpr const char* file = "libarchive.so.13";
  void* const handle_ = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  std::string reason_;

  libarchive() {
    if (handle_ != nullptr) return;
    const char* const said = ::dlerror();
    const std::string why = said != nullptr ? said : file;
    // Both are what the loader says where an address space is full.
    for (const char* const full :
         std::initializer_list<const char*>{"failed to map segment", std::strerror(ENOMEM)}) {
      if (why.find(full) != std::string::npos) throw std::bad_alloc();
    }
    reason_ = excerpt(why, 160);
  }

  template <class Function>
  Function find(const char* name) {
    if (handle_ == nullptr) return nullptr;
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr) reason_ = std::string(file) + " lacks " + name;
    return reinterpret_cast<Function>(found);
  }

 public:
#define GSOFA_FROM_LIBARCHIVE(member, function) \
  decltype(&::function) member = find<decltype(&::function)>(#function)
  GSOFA_FROM_LIBARCHIVE(create, archive_read_new);
  GSOFA_FROM_LIBARCHIVE(free, archive_read_free);
  GSOFA_FROM_LIBARCHIVE(set_error, archive_set_error);
  GSOFA_FROM_LIBARCHIVE(error_number, archive_errno);
  GSOFA_FROM_LIBARCHIVE(error_text, archive_error_string);
  GSOFA_FROM_LIBARCHIVE(filter_xz, archive_read_support_filter_xz);
  GSOFA_FROM_LIBARCHIVE(filter_bzip2, archive_read_support_filter_bzip2);
  GSOFA_FROM_LIBARCHIVE(filter_zstd, archive_read_support_filter_zstd);
  GSOFA_FROM_LIBARCHIVE(filter_compress, archive_read_support_filter_compress);
  GSOFA_FROM_LIBARCHIVE(filter_lzip, archive_read_support_filter_lzip);
  GSOFA_FROM_LIBARCHIVE(format_zip, archive_read_support_format_zip_streamable);
  GSOFA_FROM_LIBARCHIVE(format_tar, archive_read_support_format_tar);
  GSOFA_FROM_LIBARCHIVE(format_raw, archive_read_support_format_raw);
  GSOFA_FROM_LIBARCHIVE(open, archive_read_open);
  GSOFA_FROM_LIBARCHIVE(next_header, archive_read_next_header);
  GSOFA_FROM_LIBARCHIVE(format, archive_format);
  GSOFA_FROM_LIBARCHIVE(read_data, archive_read_data);
  GSOFA_FROM_LIBARCHIVE(file_type, archive_entry_filetype);
  GSOFA_FROM_LIBARCHIVE(path, archive_entry_pathname);
  GSOFA_FROM_LIBARCHIVE(utf8_path, archive_entry_pathname_utf8);
#undef GSOFA_FROM_LIBARCHIVE
};

}  // namespace

// Names of members are UTF-8 for this thread until the object ends, whatever its locale is.
class utf8_names {
 public:
  utf8_names() : own_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (own_ != nullptr) before_ = uselocale(own_);
  }
  ~utf8_names() {
    if (own_ == nullptr) return;
    uselocale(before_);
    freelocale(own_);
  }
  utf8_names(const utf8_names&) = delete;
  utf8_names& operator=(const utf8_names&) = delete;

 private:
  locale_t own_, before_ = nullptr;
};

struct archive_reader::state {
  state(source from, wrapping k, std::string n)
      : bytes(std::move(from)),
        kind(k),
        name(std::move(n)),
        library(libarchive::get(name)),
        handle(library.create()) {
    if (handle == nullptr) throw std::bad_alloc();
  }
  ~state() { library.free(handle); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  // Called by libarchive, through which no exception may pass.
  static la_ssize_t fill(struct archive*, void* self, const void** out) {
    auto* const s = static_cast<state*>(self);
    try {
      *out = s->block.data();
      return static_cast<la_ssize_t>(s->bytes(s->block));
    } catch (...) {
      s->failure = std::current_exception();
      s->library.set_error(s->handle, EIO, "cannot read");
      return -1;
    }
  }

  void open() {
    int status = ARCHIVE_OK;
    switch (kind) {
      case wrapping::xz:
        status = library.filter_xz(handle);
        break;
      case wrapping::bzip2:
        status = library.filter_bzip2(handle);
        break;
      case wrapping::zstd:
        status = library.filter_zstd(handle);
        break;
      case wrapping::compress:
        status = library.filter_compress(handle);
        break;
      case wrapping::lzip:
        status = library.filter_lzip(handle);
        break;
      case wrapping::none:
      case wrapping::gzip:
      case wrapping::tar:
      case wrapping::zip:
        break;
    }
    // ARCHIVE_WARN: libarchive would start another program.
    if (status != ARCHIVE_OK) {
      throw unavailable_error(name + ": is a " + name_of(kind) +
                              ", which the installed libarchive cannot decompress");
    }
    if (kind == wrapping::zip) {
      library.format_zip(handle);
    } else {
      library.format_tar(handle);
      if (kind != wrapping::tar) library.format_raw(handle);
    }
    require_room();
    check(library.open(handle, this, nullptr, fill, nullptr));
  }

  // Passes on what the source threw, and reports other failures.
  void check(la_ssize_t status) {
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    if (status >= ARCHIVE_OK) return;
    const char* const why = library.error_text(handle);
    const int number = library.error_number(handle);
    if (number == ENOMEM) throw std::bad_alloc();
    throw input_error(name + ": corrupt or truncated " + name_of(kind) +
                      (why != nullptr ? " (" + excerpt(why, 80) + ")" : ""));
  }

  source bytes;
  wrapping kind;
  std::string name;
  const libarchive& library;
  struct archive* handle;
  std::exception_ptr failure;
  bool ended = false;
  std::vector<char> block = std::vector<char>(std::size_t{1} << 16);
};

archive_reader::archive_reader(source bytes, wrapping kind, std::string name)
    : state_(std::make_unique<state>(std::move(bytes), kind, std::move(name))) {
  state_->open();
}
archive_reader::~archive_reader() = default;

std::string archive_reader::unavailable() { return libarchive::loaded().unavailable(); }

bool archive_reader::next(std::string& path) {
  const utf8_names names;
  while (!state_->ended) {
    require_room();
    struct archive_entry* entry = nullptr;
    const int status = state_->library.next_header(state_->handle, &entry);
    if (status == ARCHIVE_EOF) {
      state_->check(ARCHIVE_OK);
      state_->ended = true;
      break;
    }
    // A warning: a name that the locale cannot write.
    if (status != ARCHIVE_WARN) state_->check(status);
    if (!single() && state_->library.file_type(entry) != AE_IFREG) continue;
    const char* found = state_->library.utf8_path(entry);
    if (found == nullptr) found = state_->library.path(entry);
    if (found == nullptr && !single()) {
      throw input_error(state_->name + ": is an archive with a member whose name is not UTF-8");
    }
    path = found != nullptr ? found : "";
    return true;
  }
  return false;
}

bool archive_reader::single() const {
  return state_->library.format(state_->handle) == ARCHIVE_FORMAT_RAW;
}

std::size_t archive_reader::read(std::span<char> out) {
  std::size_t done = 0;
  while (done < out.size() && !state_->ended) {
    require_room();
    const la_ssize_t got =
        state_->library.read_data(state_->handle, out.data() + done, out.size() - done);
    state_->check(got);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

#else

struct archive_reader::state {};

archive_reader::archive_reader(source, wrapping kind, std::string name) {
  throw unavailable_error(name + ": is a " + name_of(kind) + ", and " + unavailable());
}
archive_reader::~archive_reader() = default;
std::string archive_reader::unavailable() {
  return "this build lacks libarchive: apt-get install libarchive-dev";
}
bool archive_reader::next(std::string&) { return false; }
bool archive_reader::single() const { return false; }
std::size_t archive_reader::read(std::span<char>) { return 0; }

#endif

}  // namespace gsofa
