// Times the analysis of a 7-point grid that is numbered by geometric nested dissection (George
// 1973), up to 10^8 vertices. The pattern is made in parallel (gen:dissected) and goes to the
// variant as it is: it is square, sorted, with its diagonal, and numbered by a postorder of its
// elimination tree.
//
//   large_grid NX REPEAT [OPTION=VALUE | digest | supernodes | rows | masks | interleaved | oneway
//                         ...]
//
// rows: the sorted rows of L and U, too. masks: copies panels and masks to the host, into new
// arrays, into the same ones again, and into new ones once more, and prints the rates.
// interleaved: the nodes of two smallest boxes side by side are numbered alternately, so that the
// numbering is not a postorder. oneway: every edge has one direction.
//
// Prints a line with the size, the time of each run in ms, its phases, and the device memory.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "common/error.hpp"
#include "common/generators.hpp"
#include "common/mask_pattern.hpp"
#include "common/variant.hpp"

using namespace gsofa;

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void print(const run_context& context, double seconds) {
  std::string phases;
  for (const auto& [name, spent] : context.phases.seconds()) {
    phases += fmt::format(" {} {:.1f}", name, 1e3 * spent);
  }
  std::string derived;
  for (const auto& [name, number] : context.derived) derived += fmt::format(" {}={}", name, number);
  fmt::print("  {:.1f} ms:{};{}; device peak {:.1f} GB\n", 1e3 * seconds, phases, derived,
             1e-9 * static_cast<double>(context.device_peak_bytes));
  std::fflush(stdout);
}

void copy_masks(variant& v) {
  auto* const giver = dynamic_cast<gives_masks*>(&v);
  mask_pattern first;
  mask_pattern second;
  const auto copy = [&](mask_pattern& masks, const char* where) {
    const auto since = std::chrono::steady_clock::now();
    if (giver == nullptr || !giver->masks_into(masks)) throw error(exit_code::run_failed, "masks");
    const double seconds = seconds_since(since);
    const double bytes = 8.0 * static_cast<double>(masks.masks.size()) +
                         4.0 * static_cast<double>(masks.vertices.size());
    fmt::print("  masks to the host, {}: {:.2f} GB in {:.1f} ms, {:.1f} GB/s\n", where,
               1e-9 * bytes, 1e3 * seconds, 1e-9 * bytes / seconds);
  };
  copy(first, "new arrays, first copy of all");
  copy(first, "the same arrays");
  copy(second, "new arrays");
}

int run(int argc, char** argv) {
  const index_t side = std::atoi(argv[1]);
  const int repeat = std::atoi(argv[2]);
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (side < 1 || side > 1290 || repeat < 1) throw input_error("large_grid: NX REPEAT expected");
  const auto is_asked = [&](const char* word) {
    return std::find(argv + 3, argv + argc, std::string(word)) != argv + argc;
  };
  auto since = std::chrono::steady_clock::now();
  const pattern a = generate("dissected:nx=" + std::to_string(side) +
                             (is_asked("interleaved") ? ",interleaved=1" : "") +
                             (is_asked("oneway") ? ",oneway=1" : ""));
  const double made = seconds_since(since);
  const variant_info& info = find_variant("gpu_bitmap_panels");
  if (const auto why = info.unavailable()) throw unavailable_error(*why);
  run_settings settings = settings_with(info, want::counts);
  settings.threads = threads;
  for (int k = 3; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "interleaved" || word == "oneway") continue;
    const std::size_t equals = word.find('=');
    if (word == "digest" || word == "supernodes" || word == "rows") {
      settings.wants |= word == "rows"     ? want::pattern
                        : word == "digest" ? want::digest
                                           : want::supernodes;
      continue;
    }
    if (word == "masks") {
      settings.supernodal = true;
      continue;
    }
    if (equals == std::string::npos)
      throw input_error("large_grid: expected OPTION=VALUE: " + word);
    settings.options.set(info.options, word.substr(0, equals), word.substr(equals + 1));
  }
  run_context context;
  context.say = [](const std::string& line) { std::cerr << line + '\n'; };
  const auto v = info.create();
  since = std::chrono::steady_clock::now();
  v->prepare(a, settings, context);
  fmt::print("{0}^3: n = {1}, nnz = {2}, made in {3:.1f} s, prepared in {4:.1f} s\n", side,
             a.n_rows, a.nnz(), made, seconds_since(since));
  std::fflush(stdout);
  for (int k = 0; k < repeat; ++k) {
    const double seconds = run_timed(*v, context);
    print(context, seconds);
  }
  if (settings.supernodal) copy_masks(*v);
  const result r = v->collect(settings.wants);
  fmt::print("  nnz(L+U) = {}, digest {:016x}, supernodes {}\n", r.nnz_l + r.nnz_u, r.digest,
             r.supernode_starts.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "large_grid: NX REPEAT [OPTION=VALUE | digest | supernodes | rows | masks | "
                 "interleaved ...] expected\n";
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << std::string("large_grid: ") + e.what() + '\n';
    return 4;
  }
}
