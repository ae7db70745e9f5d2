// Feeds one fuzz target. In a build with libFuzzer (GSOFA_FUZZ), libFuzzer chooses the inputs,
// guided by coverage; else they are mutations of the seeds, and of earlier inputs that got an
// answer not seen before. Either way `gsofa_fuzz --target=NAME FILE` reads one input again.

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/fuzz_mutator.hpp"
#include "harness/soak/allocations.hpp"
#include "harness/soak/fuzz_targets.hpp"

namespace gsofa::soak {

namespace {

struct fuzz_settings {
  const fuzz_target* target = nullptr;
  unsigned seed = 1;
  double seconds = 0;       // 0: no limit
  std::uint64_t runs = 0;   // 0: no limit
  std::string artifact;     // file that holds an input while it is read
  std::string write_seeds;  // folder
  std::vector<std::string> inputs;
};

[[noreturn]] void usage(const std::string& why) {
  std::fprintf(
      stderr,
      "gsofa_fuzz: %s\nUsage: gsofa_fuzz --target=NAME [--seed=N] [--seconds=S] [--runs=N] "
      "[--artifact=FILE] [FILE]...\n       gsofa_fuzz --target=NAME --write-seeds=FOLDER\n"
      "       gsofa_fuzz --list\n",
      why.c_str());
  std::exit(2);
}

fuzz_settings parse(int argc, char** argv) {
  fuzz_settings s;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    const auto value = [&](std::string_view name) {
      return word.starts_with(name) ? argv[k] + name.size() : nullptr;
    };
    if (word == "--list") {
      for (const fuzz_target& t : fuzz_targets()) {
        if (!t.name.starts_with("planted_")) std::printf("%s\n", t.name.c_str());
      }
      std::exit(0);
    } else if (const char* name = value("--target=")) {
      for (const fuzz_target& t : fuzz_targets()) {
        if (t.name == name) s.target = &t;
      }
    } else if (const char* seed = value("--seed=")) {
      s.seed = static_cast<unsigned>(std::strtoul(seed, nullptr, 10));
    } else if (const char* seconds = value("--seconds=")) {
      s.seconds = std::strtod(seconds, nullptr);
    } else if (const char* runs = value("--runs=")) {
      s.runs = std::strtoull(runs, nullptr, 10);
    } else if (const char* artifact = value("--artifact=")) {
      s.artifact = artifact;
    } else if (const char* folder = value("--write-seeds=")) {
      s.write_seeds = folder;
    } else if (!word.starts_with("-")) {
      s.inputs.emplace_back(word);
    }
  }
  if (s.target == nullptr) usage("no such target; --list names them");
  return s;
}

void write(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// Writes each seed as a file, and the words that mutations draw on as a dictionary.
void write_seeds(const fuzz_settings& s) {
  const std::filesystem::path folder = s.write_seeds;
  std::filesystem::create_directories(folder / "seeds");
  int number = 0;
  for (const std::string& seed : s.target->seeds()) {
    write(folder / "seeds" / std::to_string(number++), seed);
  }
  std::ofstream dictionary(folder / "dictionary");
  for (const std::string& word : fuzz::nasty_words) {
    if (word.empty()) continue;
    dictionary << '"';
    for (const char c : word) {
      char text[8];
      std::snprintf(text, sizeof text, "\\x%02x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      dictionary << text;
    }
    dictionary << "\"\n";
  }
}

std::string read_once(const fuzz_target& target, std::string_view bytes) {
  watch_allocations({.largest = largest_allocation});
  std::string answer;
  try {
    answer = target.read(bytes);
  } catch (const std::bad_alloc&) {
    answer = "out of memory";
  }
  unwatch_allocations();
  return answer;
}

}  // namespace

#ifdef GSOFA_LIBFUZZER

const fuzz_target* chosen = nullptr;

#else

namespace {

// The words of an answer that are neither numbers nor quoted from the input: inputs that get the
// same are alike.
std::string kind_of(const std::string& answer, std::string_view input) {
  std::string kind;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t k = 0; k < answer.size() && kind.size() < 160;) {
    const std::size_t begin = k;
    while (k < answer.size() && is_letter(answer[k])) ++k;
    const std::string_view word(answer.data() + begin, k - begin);
    if (!word.empty() && input.find(word) == std::string_view::npos) {
      kind += word;
      kind += ' ';
    }
    if (k == begin) ++k;
  }
  return kind;
}

// A file that holds the current input, in case that reading it ends the process.
class artifact_file {
 public:
  explicit artifact_file(const std::string& name) {
    if (name.empty()) return;
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) usage(name + " cannot be written");
  }
  ~artifact_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  artifact_file(const artifact_file&) = delete;
  artifact_file& operator=(const artifact_file&) = delete;

  void put(std::string_view input) const {
    if (descriptor_ < 0) return;
    const bool whole =
        ::ftruncate(descriptor_, static_cast<off_t>(input.size())) == 0 &&
        ::pwrite(descriptor_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size());
    if (!whole) usage("the artifact cannot be written");
  }

 private:
  int descriptor_ = -1;
};

int fuzz(const fuzz_settings& s) {
  std::vector<std::string> corpus = s.target->seeds();
  std::set<std::string> kinds;
  const artifact_file artifact(s.artifact);
  for (const std::string& seed : corpus) {
    artifact.put(seed);
    kinds.insert(kind_of(read_once(*s.target, seed), seed));
  }
  fuzz::mutator mutate(s.seed, s.target->delimiters);
  const bool text = !s.target->delimiters.empty();
  const auto begin = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::uint64_t done = 0;
  for (; (s.runs == 0 || done < s.runs) && (s.seconds == 0 || spent() < s.seconds); ++done) {
    std::string input = corpus[mutate.below(corpus.size())];
    if (mutate.below(8) == 0) {
      const std::string& other = corpus[mutate.below(corpus.size())];
      input = input.substr(0, mutate.below(input.size() + 1)) +
              other.substr(mutate.below(other.size() + 1));
    }
    input = text && mutate.below(4) != 0 ? mutate.text(input) : mutate.bytes(input);
    if (input.size() > 8192) input.resize(8192);
    artifact.put(input);
    ::alarm(20);
    const bool fresh = kinds.insert(kind_of(read_once(*s.target, input), input)).second;
    ::alarm(0);
    if (fresh && corpus.size() < 4096) corpus.push_back(std::move(input));
  }
  std::printf("%llu executions, %zu kinds of answers\n", static_cast<unsigned long long>(done),
              kinds.size());
  return 0;
}

}  // namespace

#endif

}  // namespace gsofa::soak

using namespace gsofa::soak;

#ifdef GSOFA_LIBFUZZER

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const fuzz_settings s = parse(*argc, *argv);
  chosen = s.target;
  if (!s.write_seeds.empty()) {
    write_seeds(s);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  read_once(*chosen, {reinterpret_cast<const char*>(data), size});
  return 0;
}

#else

int main(int argc, char** argv) {
  const fuzz_settings s = parse(argc, argv);
  if (!s.write_seeds.empty()) {
    write_seeds(s);
    return 0;
  }
  for (const std::string& file : s.inputs) {
    std::ifstream in(file, std::ios::binary);
    if (!in) usage(file + " cannot be read");
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const std::string answer = read_once(*s.target, bytes);
    std::printf("%s: %s\n", file.c_str(), answer.empty() ? "accepted" : answer.c_str());
  }
  return s.inputs.empty() ? fuzz(s) : 0;
}

#endif
