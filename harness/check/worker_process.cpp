#include "harness/check/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <utility>

#include "common/error.hpp"
#include "common/file.hpp"
#include "harness/run/status.hpp"

extern char** environ;

namespace gsofa {

namespace {

// Descriptors of the worker.
constexpr int pipe_in_worker = 3;
constexpr int page_in_worker = 4;

[[noreturn]] void refuse(const char* what, int error_number) {
  throw error(exit_code::run_failed,
              fmt::format("cannot start a worker: {}: {}", what, reason_of(error_number)));
}

worker_page* map_page(int descriptor) {
  void* const place =
      mmap(nullptr, sizeof(worker_page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return place == MAP_FAILED ? nullptr : static_cast<worker_page*>(place);
}

// A descriptor above those that the worker gets, closed at the end of the scope and in children.
class owned_descriptor {
 public:
  explicit owned_descriptor(int number)
      : number_(fcntl(number, F_DUPFD_CLOEXEC, page_in_worker + 1)) {
    close(number);
    if (number_ < 0) refuse("descriptor", errno);
  }
  ~owned_descriptor() {
    if (number_ >= 0) close(number_);
  }
  owned_descriptor(const owned_descriptor&) = delete;
  owned_descriptor& operator=(const owned_descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace

std::string process_end::text() const { return text_of_end(by_signal, number); }

worker_process::worker_process(const std::string& program,
                               const std::vector<std::string>& arguments) {
  const int memory = memfd_create("gsofa worker", MFD_CLOEXEC);
  if (memory < 0) refuse("shared memory", errno);
  const owned_descriptor shared(memory);
  if (ftruncate(shared.number(), sizeof(worker_page)) != 0) refuse("shared memory", errno);
  page_ = map_page(shared.number());
  if (page_ == nullptr) refuse("shared memory", errno);
  new (page_) worker_page;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse("pipe", errno);
  owned_descriptor out(ends[0]);
  const owned_descriptor in(ends[1]);
  fcntl(out.number(), F_SETFL, O_NONBLOCK);

  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& t : texts) pointers.push_back(t.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.number(), pipe_in_worker);
  posix_spawn_file_actions_adddup2(&actions, shared.number(), page_in_worker);
  const int refused =
      posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (refused != 0) {
    munmap(page_, sizeof(worker_page));
    refuse("process", refused);
  }
  pipe_ = out.release();
}

worker_process::~worker_process() {
  if (!ended()) {
    kill();
    waitpid(pid_, nullptr, 0);
  }
  munmap(page_, sizeof(worker_page));
  close(pipe_);
}

std::vector<std::string> worker_process::read_lines() {
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t size = read(pipe_, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    partial_.append(buffer.data(), static_cast<std::size_t>(size));
  }
  std::vector<std::string> lines;
  for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
    lines.push_back(partial_.substr(0, end));
    partial_.erase(0, end + 1);
  }
  return lines;
}

std::optional<process_end> worker_process::ended() {
  if (end_) return end_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) {
    end_ = WIFSIGNALED(status) ? process_end{.by_signal = true, .number = WTERMSIG(status)}
                               : process_end{.by_signal = false, .number = WEXITSTATUS(status)};
  }
  return end_;
}

void worker_process::kill() {
  if (!end_) ::kill(pid_, SIGKILL);
}

worker_channel::worker_channel() {
  struct stat pipe {};
  struct stat page {};
  const bool both = fstat(pipe_in_worker, &pipe) == 0 && S_ISFIFO(pipe.st_mode) &&
                    fstat(page_in_worker, &page) == 0 && page.st_size == sizeof(worker_page);
  if (both) page_ = map_page(page_in_worker);
  if (page_ == nullptr || fcntl(pipe_in_worker, F_SETFD, FD_CLOEXEC) != 0) {
    throw input_error("--worker: gsofa check itself starts its workers");
  }
  close(page_in_worker);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
}

void worker_channel::send(const std::string& line) const {
  const std::string whole = line + "\n";
  for (std::size_t sent = 0; sent < whole.size();) {
    const ssize_t size = write(pipe_in_worker, whole.data() + sent, whole.size() - sent);
    if (size < 0 && errno == EINTR) continue;
    // Nobody is left to tell.
    if (size < 0) std::_Exit(1);
    sent += static_cast<std::size_t>(size);
  }
}

}  // namespace gsofa
