// Times the analysis of a 7-point grid that is numbered by geometric nested dissection (George
// 1973), up to 10^8 vertices. The pattern is made here, in parallel, and goes to the variant as it
// is: it is square, sorted, with its diagonal, and numbered by a postorder of its elimination tree.
//
//   large_grid NX REPEAT [OPTION=VALUE | digest | supernodes | rows | masks | interleaved ...]
//
// rows: the sorted rows of L and U, too. masks: copies panels and masks to the host, twice into the
// same arrays, and prints the rate. With the option gpus: gpu_bitmap_panels_multi, else
// gpu_bitmap_panels. interleaved: the smallest boxes side by side are numbered in turn, which is no
// postorder.
//
// Prints a line with the size, the time of each run in ms, its phases, and the device memory.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "common/error.hpp"
#include "common/mask_pattern.hpp"
#include "common/parallel.hpp"
#include "common/variant.hpp"

using namespace gsofa;

namespace {

/// Vertices low .. high - 1 of a grid in each direction, x first, and the number of the first.
struct box {
  std::array<index_t, 3> low, high;
  index_t first;
  index_t stride = 1;  ///< of the numbers

  [[nodiscard]] index_t side(std::size_t d) const { return high[d] - low[d]; }
  [[nodiscard]] offset_t vertices() const { return offset_t{side(0)} * side(1) * side(2); }
};

class grid {
 public:
  grid(index_t side, bool interleaved, int threads)
      : side_(side), interleaved_(interleaved), threads_(threads) {
    number_.resize(at(offset_t{side} * side * side));
    std::vector<box> parts;
    divide({{0, 0, 0}, {side, side, side}, 0}, std::max<offset_t>(most_natural, size() / 4096),
           [&](const box& b) { parts.push_back(b); });
    parallel_ranges(threads, parts.size(), std::size_t{1}, [&](int, std::size_t k, std::size_t) {
      divide(parts[k], most_natural, [&](const box& b) { number(b); });
    });
  }

  [[nodiscard]] pattern rows() const {
    pattern a;
    a.n_rows = a.n_cols = static_cast<index_t>(size());
    a.row_ptr.assign(at(size()) + 1, 0);
    for_each([&](index_t v, const std::array<index_t, 7>&, int degree) {
      a.row_ptr[at(v) + 1] = degree;
    });
    for (std::size_t v = 0; v < at(size()); ++v) a.row_ptr[v + 1] += a.row_ptr[v];
    a.col_idx.resize(at(a.row_ptr.back()));
    for_each([&](index_t v, std::array<index_t, 7> neighbours, int degree) {
      std::sort(neighbours.begin(), neighbours.begin() + degree);
      std::copy_n(neighbours.begin(), degree, a.col_idx.begin() + a.row_ptr[at(v)]);
    });
    return a;
  }

 private:
  static constexpr offset_t most_natural = 64;  // vertices of a box that is not dissected

  [[nodiscard]] offset_t size() const { return static_cast<offset_t>(number_.size()); }
  [[nodiscard]] index_t& number(index_t x, index_t y, index_t z) {
    return number_[(at(z) * at(side_) + at(y)) * at(side_) + at(x)];
  }

  // Calls part(b) for the boxes of at most `most` vertices that are left, and for separators.
  template <class Part>
  void divide(const box& b, offset_t most, Part&& part) {
    if (b.vertices() <= most) {
      if (b.vertices() > 0) part(b);
      return;
    }
    std::size_t d = 0;
    for (std::size_t k = 1; k < 3; ++k) d = b.side(k) > b.side(d) ? k : d;
    const index_t middle = (b.low[d] + b.high[d]) / 2;
    box left = b;
    left.high[d] = middle;
    box right = b;
    right.low[d] = middle + 1;
    right.first = left.first + static_cast<index_t>(left.vertices());
    box separator = b;
    separator.low[d] = middle;
    separator.high[d] = middle + 1;
    separator.first = right.first + static_cast<index_t>(right.vertices());
    if (interleaved_ && most == most_natural && left.vertices() <= most &&
        left.vertices() == right.vertices()) {
      left.stride = right.stride = 2;
      right.first = left.first + 1;
    }
    divide(left, most, part);
    divide(right, most, part);
    number(separator);
  }

  void number(const box& b) {
    index_t next = b.first;
    for (index_t z = b.low[2]; z < b.high[2]; ++z) {
      for (index_t y = b.low[1]; y < b.high[1]; ++y) {
        for (index_t x = b.low[0]; x < b.high[0]; ++x, next += b.stride) number(x, y, z) = next;
      }
    }
  }

  // Calls visit(v, numbers, how many) with v and its neighbours for all vertices.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const auto s = offset_t{side_};
    parallel_ranges(threads_, s * s, offset_t{64}, [&](int, offset_t begin, offset_t end) {
      for (offset_t line = begin; line < end; ++line) {
        const offset_t y = line % s;
        const offset_t z = line / s;
        for (offset_t x = 0; x < s; ++x) {
          const offset_t here = line * s + x;
          std::array<index_t, 7> found{};
          int degree = 0;
          const auto add = [&](bool inside, offset_t other) {
            if (inside) found[at(degree++)] = number_[at(other)];
          };
          add(true, here);
          add(x > 0, here - 1);
          add(x + 1 < s, here + 1);
          add(y > 0, here - s);
          add(y + 1 < s, here + s);
          add(z > 0, here - s * s);
          add(z + 1 < s, here + s * s);
          visit(number_[at(here)], found, degree);
        }
      }
    });
  }

  index_t side_;
  bool interleaved_;
  int threads_;
  std::vector<index_t> number_;
};

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
  mask_pattern masks;
  for (int k = 0; k < 2; ++k) {
    const auto since = std::chrono::steady_clock::now();
    if (giver == nullptr || !giver->masks_into(masks)) throw error(exit_code::run_failed, "masks");
    const double seconds = seconds_since(since);
    const double bytes = 8.0 * static_cast<double>(masks.masks.size()) +
                         4.0 * static_cast<double>(masks.vertices.size());
    fmt::print("  masks to the host: {:.2f} GB in {:.1f} ms, {:.1f} GB/s\n", 1e-9 * bytes,
               1e3 * seconds, 1e-9 * bytes / seconds);
  }
}

int run(int argc, char** argv) {
  const index_t side = std::atoi(argv[1]);
  const int repeat = std::atoi(argv[2]);
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (side < 1 || side > 1290 || repeat < 1) throw input_error("large_grid: NX REPEAT expected");
  const bool interleaved =
      std::find(argv + 3, argv + argc, std::string("interleaved")) != argv + argc;
  auto since = std::chrono::steady_clock::now();
  const pattern a = grid(side, interleaved, threads).rows();
  const double made = seconds_since(since);
  const bool several = std::any_of(
      argv + 3, argv + argc, [](const std::string& word) { return word.starts_with("gpus="); });
  const variant_info& info =
      find_variant(several ? "gpu_bitmap_panels_multi" : "gpu_bitmap_panels");
  if (const auto why = info.unavailable()) throw unavailable_error(*why);
  run_settings settings;
  settings.options = option_set(info.options);
  settings.wants = want::counts;
  settings.threads = threads;
  for (int k = 3; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "interleaved") continue;
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
