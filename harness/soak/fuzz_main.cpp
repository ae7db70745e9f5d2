// Feeds one target of fuzz_targets.hpp. In a build with libFuzzer (GSOFA_FUZZ), libFuzzer chooses
// the inputs, guided by coverage. In any build, `gsofa_fuzz --target=NAME FILE...` reads files.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "harness/soak/fuzz_targets.hpp"
#include "harness/testing/failing_malloc.hpp"

namespace gsofa::soak {

namespace {

// Words that readers of numbers and of text tend to trip over.
const std::vector<std::string> nasty_words{"-1",
                                           "0",
                                           "1",
                                           "2",
                                           "2147483647",
                                           "2147483648",
                                           "4294967295",
                                           "4294967297",
                                           "1000000000000000000",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551617",
                                           "99999999999999999999999999999999",
                                           "1e5",
                                           "1.5",
                                           "nan",
                                           "-NaN",
                                           "inf",
                                           "-Infinity",
                                           "1e999",
                                           "0x10",
                                           "+3",
                                           "%",
                                           "%%MatrixMarket",
                                           "array",
                                           "general",
                                           "symmetric",
                                           "pattern",
                                           "vector",
                                           "",
                                           "\n",
                                           "\r",
                                           "\t",
                                           std::string(1, '\0'),
                                           "\xff\xfe",
                                           "1 1 1\n1 1 1\n"};

struct fuzz_settings {
  const fuzz_target* target = nullptr;
  std::string write_seeds;  // folder
  std::vector<std::string> inputs;
};

[[noreturn]] void usage(const std::string& why) {
  std::fprintf(stderr,
               "gsofa_fuzz: %s\nUsage: gsofa_fuzz --target=NAME FILE...\n"
               "       gsofa_fuzz --target=NAME --write-seeds=FOLDER\n"
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

// Writes each seed as a file, and the words as a dictionary of libFuzzer.
void write_seeds(const fuzz_settings& s) {
  const std::filesystem::path folder = s.write_seeds;
  std::filesystem::create_directories(folder / "seeds");
  int number = 0;
  for (const std::string& seed : s.target->seeds()) {
    write(folder / "seeds" / std::to_string(number++), seed);
  }
  std::ofstream dictionary(folder / "dictionary");
  for (const std::string& word : nasty_words) {
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
  limit_allocations(most_bytes);
  std::string answer;
  try {
    answer = target.read(bytes);
  } catch (const std::bad_alloc&) {
    answer = "out of memory";
  }
  fail_allocations(0, 0);
  return answer;
}

}  // namespace

}  // namespace gsofa::soak

using namespace gsofa::soak;

#ifdef GSOFA_LIBFUZZER

namespace {
const fuzz_target* chosen = nullptr;
}

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
  if (s.inputs.empty()) usage("no file to read; only a build with libFuzzer makes inputs");
  for (const std::string& file : s.inputs) {
    std::ifstream in(file, std::ios::binary);
    if (!in) usage(file + " cannot be read");
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    // The name comes first, in case that reading the file ends the process.
    std::printf("%s: ", file.c_str());
    std::fflush(stdout);
    ::alarm(20);
    const std::string answer = read_once(*s.target, bytes);
    std::printf("%s\n", answer.empty() ? "accepted" : answer.c_str());
  }
  std::printf("%zu executions\n", s.inputs.size());
  return 0;
}

#endif
