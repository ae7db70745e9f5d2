// Programs of others as orders and variants. A run starts the program without a shell, in a folder
// and a process group of its own.

#include "harness/run/programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "common/command_methods.hpp"
#include "common/file.hpp"
#include "common/matrix_file.hpp"
#include "common/matrix_market.hpp"
#include "common/ordering.hpp"
#include "common/permutation_file.hpp"
#include "common/process.hpp"
#include "common/sha256.hpp"
#include "common/variant.hpp"
#include "harness/run/status.hpp"
#include "variants/support/row_store.hpp"

namespace gsofa {

namespace {

namespace fs = std::filesystem;

option_spec limit(const char* name, std::int64_t standard, std::int64_t minimum) {
  return {name, standard, "", minimum, /*maximum=*/1 << 30};
}

const std::vector<option_spec>& limits() {
  static const std::vector<option_spec> known{limit("time_s", 600, 1), limit("memory_mb", 0, 0),
                                              limit("output_mb", 4096, 1)};
  return known;
}

struct program_command {
  std::vector<std::string> words{};  // with places such as {matrix}
  option_set most{limits()};
  std::string sha256{};  // of the files among the words

  [[nodiscard]] bool has(const std::string& place) const {
    auto names_it = [&](const std::string& word) { return word.find(place) != word.npos; };
    return std::ranges::any_of(words, names_it);
  }
};

// exec:LIMIT=VALUE ... WORD ... Words that name existing files become absolute, since the program
// runs elsewhere, and so does a program with a slash in its name.
program_command parse_command(const std::string& name, const std::vector<std::string>& places) {
  program_command c;
  std::string given;
  std::istringstream text(name.substr(name.find(':') + 1));
  for (std::string word; text >> std::quoted(word);) {
    if (c.words.empty() && word.find('=') != word.npos) {
      given += word + ",";
      continue;
    }
    std::error_code failed;
    const bool is_file =
        (!c.words.empty() || word.find('/') != word.npos) && fs::exists(word, failed);
    c.words.push_back(is_file ? fs::absolute(word).string() : word);
    if (is_file && fs::is_regular_file(word, failed)) c.sha256 += sha256_of_file(word);
  }
  c.sha256 = sha256_hex(c.sha256).substr(0, 16);
  c.most = parse_options(limits(), given, name);
  if (c.words.empty()) throw input_error(name + ": names no program");
  const bool names_any = std::ranges::any_of(places, [&](auto& place) { return c.has(place); });
  for (const std::string& place : places) {
    if (!names_any) c.words.push_back(place);
    if (!c.has(place)) throw input_error(name + ": lacks " + place);
  }
  return c;
}

// In the new process, where only system calls are safe.
[[noreturn]] void become(char* const* argv, const char* folder, rlim_t memory, rlim_t output) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int s = 1; s < NSIG; ++s) ::signal(s, SIG_DFL);
  syscall(SYS_close_range, 3U, ~0U, 0U);
  const rlimit bounds[] = {{0, 0}, {memory, memory}, {output, output}};
  setrlimit(RLIMIT_CORE, &bounds[0]);
  setrlimit(RLIMIT_DATA, &bounds[1]);
  setrlimit(RLIMIT_FSIZE, &bounds[2]);
  if (chdir(folder) == 0) {
    const char* const files[] = {"/dev/null", "stdout", "stderr"};
    for (int d = 0; d < 3; ++d) {
      const int opened = open(files[d], d == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND, 0600);
      dup2(opened, d);
      if (opened > 2) close(opened);
    }
    execvp(argv[0], argv);
  }
  dprintf(2, "cannot start %s: %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

// The parent of a process; 0 if it has gone.
pid_t parent_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;  // getline() does not throw if the process goes meanwhile
  std::getline(in, text, '\0');
  const std::size_t name = text.rfind(')');  // ends the name; a state and the parent follow
  return name == text.npos || name + 4 > text.size() ? 0 : std::atoi(text.c_str() + name + 4);
}

// Ends the processes that a program left behind in sessions of their own: this process has become
// their parent.
void end_sessions() {
  for (bool found = true; found;) {
    found = false;
    std::error_code unreadable;
    for (const fs::directory_entry& e : fs::directory_iterator("/proc", unreadable)) {
      const pid_t pid = std::atoi(e.path().filename().c_str());
      if (pid <= 0 || parent_of(pid) != getpid() || getsid(pid) == getsid(0)) continue;
      ::kill(pid, SIGKILL);
      found = waitpid(pid, nullptr, 0) == pid || found;
    }
  }
}

// Of all files but one.
std::uintmax_t bytes_in(const fs::path& folder, const fs::path& without) {
  std::uintmax_t sum = 0;
  try {
    for (const fs::directory_entry& e : fs::recursive_directory_iterator(folder)) {
      if (e.is_regular_file() && !e.is_symlink() && e.path() != without) sum += e.file_size();
    }
  } catch (const fs::filesystem_error&) {  // a file has gone meanwhile
  }
  return sum;
}

// What follows `beginning` in the last line of a file that begins so and has more.
std::string last_line(const fs::path& file, const std::string& beginning) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  in.seekg(std::max<std::streamoff>(0, in.tellg() - std::streamoff{1 << 16}));
  std::string last;
  for (std::string line; std::getline(in, line);) {
    const std::size_t rest = line.find_first_not_of(" \t\r", beginning.size());
    if (line.starts_with(beginning) && rest != line.npos) last = line.substr(rest, 200);
  }
  return last;
}

// A program at work on one matrix.
class program_run {
 public:
  program_run(const program_command& command, const pattern_view& a, int threads)
      : command_(command), values_{{"{threads}", std::to_string(threads)}} {
    write_matrix_market(add_file("{matrix}", "matrix.mtx"), a, "");
  }

  fs::path add_file(const std::string& place, const std::string& name) {
    return values_[place] = (folder_.path() / name).string();
  }
  // What the program wrote there; np.save() adds an ending to the name.
  [[nodiscard]] fs::path written(const std::string& place) const {
    const std::string& file = values_.at(place);
    for (const std::string& name : {file, file + ".npy"}) {
      if (fs::is_regular_file(name)) return name;
    }
    throw input_error("no " + place);
  }
  // Only the matrix is in the folder before. `check` may throw to end the program.
  void run(const std::function<void()>& check);
  // Calls `reading`, whose complaints are about the program.
  template <class Read>
  auto read(Read&& reading) const {
    try {
      return reading();
    } catch (const input_error& e) {
      std::string why = e.what();
      const std::string inside = folder_.path().string() + "/";
      for (std::size_t k = 0; (k = why.find(inside)) != why.npos;) why.erase(k, inside.size());
      throw error(exit_code::run_failed, "the program wrote " + why);
    }
  }

  double seconds = 0;    // of the process
  double reported = -1;  // by its last line `time_s: SECONDS` on standard output; -1: nothing

 private:
  [[nodiscard]] std::string failure(const std::string& what) const {
    const std::string words = last_line(folder_.path() / "stderr", "");
    return one_line("the program " + what + (words.empty() ? "" : ": " + words));
  }

  const program_command& command_;
  temporary_directory folder_;
  std::map<std::string, std::string> values_;
};

bool has_ended(pid_t pid) {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid == pid;
}

void program_run::run(const std::function<void()>& check) {
  std::vector<std::string> words = command_.words;
  std::vector<char*> argv;
  for (std::string& word : words) {
    for (const auto& [place, value] : values_) {
      const std::size_t at = word.find(place);
      if (at != word.npos) word.replace(at, place.size(), value);
    }
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  for (const fs::directory_entry& e : fs::directory_iterator(folder_.path())) {
    if (e.path() != values_["{matrix}"]) fs::remove_all(e);
  }
  auto written_bytes = [&] { return bytes_in(folder_.path(), values_["{matrix}"]); };
  constexpr std::int64_t mb = 1'000'000;
  const std::int64_t time = command_.most.integer("time_s");
  const std::int64_t wanted = command_.most.integer("memory_mb") * mb;
  const auto memory = static_cast<rlim_t>(wanted > 0 ? wanted : available_memory() / 4 * 3);
  const rlim_t output = std::min(static_cast<rlim_t>(command_.most.integer("output_mb") * mb),
                                 fs::space(folder_.path()).available / 2);
  const auto begin = std::chrono::steady_clock::now();
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // for end_sessions()
  const pid_t pid = fork();
  if (pid < 0) throw error(exit_code::run_failed, "cannot start a process");
  if (pid == 0) become(argv.data(), folder_.path().c_str(), memory, output);
  setpgid(pid, pid);
  int status = 0;
  auto end = [&] {  // of the program and of all that it has started
    ::kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    end_sessions();
  };
  try {
    for (int polls = 1; !has_ended(pid); ++polls) {
      check();
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(time)) {
        throw timeout_error(failure(fmt::format("passed its limit time_s={}", time)));
      }
      if (polls % 128 == 0 && written_bytes() > output) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
    end();
    throw;
  }
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  end();
  if (written_bytes() >= output) {
    throw error(exit_code::run_failed, failure(fmt::format("wrote {} MB, its limit", output / mb)));
  }
  const int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  if (number != 0) {
    throw error(exit_code::run_failed, failure(text_of_end(WIFSIGNALED(status), number)));
  }
  const std::string text = last_line(folder_.path() / "stdout", "time_s:");
  double value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (value >= 0 && std::isfinite(value)) reported = value;
}

ordering order_by_program(const program_command& command, const pattern_view& a,
                          const order_settings& settings) {
  if (a.n_rows == 0) return {};
  program_run program(command, a, settings.threads);
  program.add_file("{permutation}", "permutation.txt");
  program.run([&] {
    if (settings.stop != nullptr && settings.stop->load()) throw cancelled_error();
  });
  ordering o;
  o.order = program.read([&] {
    return read_permutation_file(program.written("{permutation}").string(), a.n_rows).order;
  });
  o.phases_s["process"] = program.seconds;
  if (program.reported >= 0) o.phases_s["reported"] = program.reported;
  return o;
}

// Only the program is timed, not the writing and reading of its files.
class program_variant final : public variant {
 public:
  explicit program_variant(const program_command& command) : command_(command) {}

  void prepare(const pattern_view& a, const run_settings& settings, run_context&) override {
    n_ = a.n_rows;
    program_ = std::make_unique<program_run>(command_, a, settings.threads);
    program_->add_file("{L}", "L.mtx");
    program_->add_file("{U}", "U.mtx");
  }

  void run(run_context& context) override {
    program_->run([&] { context.check_deadline(); });
    if (program_->reported >= 0) {
      context.derived["reported_us"] = std::llround(program_->reported * 1e6);
    }
  }

  result collect(want_set wants) override {
    const factor_patterns f = program_->read(
        [&] { return read_factors(program_->written("{L}"), program_->written("{U}"), n_); });
    detail::row_store rows;
    rows.reset(n_, 1, true);
    for (index_t i = 0; i < n_; ++i) rows.add(0, i, f.l.row(i), f.u.row(i));
    return rows.collect(wants);
  }

 private:
  const program_command& command_;
  index_t n_ = 0;
  std::unique_ptr<program_run> program_;
};

void complete(order_info& info, program_command&& command) {
  info.device = "cpu";
  info.library = "another program";
  info.compute = [c = std::move(command)](const pattern_view& a, const order_settings& settings) {
    return order_by_program(c, a, settings);
  };
}

// The description, and with it the command, outlives every variant.
void complete(variant_info& info, program_command&& command) {
  info.device = "peer";
  info.gives = want_set(want::counts) | want::digest | want::pattern;
  info.options = {{.name = "program",
                   .default_value = command.sha256,
                   .help = "",
                   .choices = {command.sha256}}};
  info.create = [c = std::move(command)] { return std::make_unique<program_variant>(c); };
}

// Descriptions are kept, as those of a registry are.
template <class Info>
const Info& describe(const std::string& name, const std::vector<std::string>& places) {
  static std::mutex one_at_a_time;
  static std::map<std::string, Info> known;
  const std::scoped_lock holding(one_at_a_time);
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  program_command command = parse_command(name, places);
  Info info;
  info.name = info.citation = name;
  info.summary = "what a program computes";
  info.multithreaded = command.has("{threads}");
  complete(info, std::move(command));
  return known.emplace(name, std::move(info)).first->second;
}

pattern read_factor(const fs::path& file, index_t n, bool with_its_diagonal) {
  const pattern p = read_matrix_file(file);
  if (p.n_rows != n || p.n_cols != n) {
    throw input_error(fmt::format("{}: the factor is {} x {}, the matrix has order {}",
                                  file.string(), p.n_rows, p.n_cols, n));
  }
  pattern out;
  out.n_rows = out.n_cols = n;
  for (index_t i = 0; i < n; ++i) {
    std::ranges::copy_if(p.row(i), std::back_inserter(out.col_idx),
                         [&](index_t j) { return with_its_diagonal || j != i; });
    out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
  }
  return out;
}

}  // namespace

void accept_programs() {
  describe_command<order_info> = [](const std::string& name) -> const order_info& {
    return describe<order_info>(name, {"{matrix}", "{permutation}"});
  };
  describe_command<variant_info> = [](const std::string& name) -> const variant_info& {
    return describe<variant_info>(name, {"{matrix}", "{L}", "{U}"});
  };
}

factor_patterns read_factors(const fs::path& l_file, const fs::path& u_file, index_t n) {
  factor_patterns f{.l = read_factor(l_file, n, false), .u = {}};
  f.u = u_file.empty() ? with_diagonal(transpose(f.l)) : read_factor(u_file, n, true);
  return f;
}

}  // namespace gsofa
