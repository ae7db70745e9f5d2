// Multilevel nested dissection of A + A^T by Scotch. Its tree of column
// blocks is not handed on: entries join column blocks of one leaf that are siblings in it.
// Pellegrini & Roman, SCOTCH: a software package for static mapping by dual recursive
// bipartitioning, 1996; Pellegrini, Roman & Amestoy, Hybridizing nested dissection and halo
// approximate minimum degree, 2000.

#include "common/ordering.hpp"

#ifdef GSOFA_HAVE_SCOTCH
#include <cstdint>
#include <cstdio>
#include <mutex>

#include <scotch.h>
#endif

namespace gsofa {

namespace {

#ifdef GSOFA_HAVE_SCOTCH

void check(int status, const char* call) {
  if (status != 0) throw error(exit_code::run_failed, std::string("Scotch: ") + call + " failed");
}

// The default strategy merges columns of leaves until supernodes have 8 % more entries, which costs
// 20 to 140 % more entries of L and U; this one merges only columns that are alike (frat).
constexpr const char* strategy_text =
    "n{sep=m{vert=100,low=h{pass=10},asc=b{width=3,bnd=f{bal=0.2},org=h{pass=10}f{bal=0.2}}},"
    "ole=f{cmin=0,cmax=100000,frat=0.0},ose=s}";

// Scotch's random numbers belong to the process.
std::mutex& one_at_a_time() {
  static std::mutex m;
  return m;
}

// Objects of Scotch with the function that frees what they hold.
template <class Object, void (*Exit)(Object*)>
struct held {
  Object object{};
  held() = default;
  held(const held&) = delete;
  held& operator=(const held&) = delete;
  ~held() { Exit(&object); }
  Object* operator&() { return &object; }  // NOLINT
};

ordering scotch_order(const pattern_view& a, const order_settings& settings) {
  static_assert(sizeof(SCOTCH_Num) == sizeof(index_t), "Scotch with 32-bit indices");
  const pattern s = symmetrized(a, diagonal::drop);
  if (s.nnz() == 0) return {.order = identity_order(a.n_rows), .method = {}, .library = {}};
  const std::scoped_lock lock(one_at_a_time());
  const std::vector<SCOTCH_Num> xadj = narrow_offsets(s, "edges of A + A^T for Scotch");
  held<SCOTCH_Context, SCOTCH_contextExit> context;
  check(SCOTCH_contextInit(&context), "contextInit");
  check(SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1), "contextOption");
  check(SCOTCH_contextRandomClone(&context), "contextRandomClone");
  SCOTCH_contextRandomSeed(&context,
                           settings.seed < 0 ? 0 : narrow<SCOTCH_Num>(settings.seed, "seed"));
  SCOTCH_contextRandomReset(&context);
  check(SCOTCH_contextThreadSpawn(&context, static_cast<int>(settings.options.integer("threads")),
                                  nullptr),
        "contextThreadSpawn");
  held<SCOTCH_Graph, SCOTCH_graphExit> graph;
  check(SCOTCH_graphInit(&graph), "graphInit");
  check(SCOTCH_graphBuild(&graph, 0, a.n_rows, xadj.data(), nullptr, nullptr, nullptr, xadj.back(),
                          s.col_idx.data(), nullptr),
        "graphBuild");
  held<SCOTCH_Graph, SCOTCH_graphExit> bound;
  check(SCOTCH_graphInit(&bound), "graphInit");
  check(SCOTCH_contextBindGraph(&context, &graph, &bound), "contextBindGraph");
  held<SCOTCH_Strat, SCOTCH_stratExit> strategy;
  check(SCOTCH_stratInit(&strategy), "stratInit");
  check(SCOTCH_stratGraphOrder(&strategy, strategy_text), "stratGraphOrder");
  ordering o{.order = std::vector<index_t>(at(a.n_rows)), .method = {}, .library = {}};
  std::vector<SCOTCH_Num> position(at(a.n_rows));
  check(SCOTCH_graphOrder(&bound, &strategy, position.data(), o.order.data(), nullptr, nullptr,
                          nullptr),
        "graphOrder");
  return o;
}

std::string library() {
  return "Scotch " + std::to_string(SCOTCH_VERSION) + "." + std::to_string(SCOTCH_RELEASE) + "." +
         std::to_string(SCOTCH_PATCHLEVEL);
}

std::optional<std::string> absent() { return std::nullopt; }

#else

ordering scotch_order(const pattern_view&, const order_settings&) { return {}; }

std::string library() { return ""; }

std::optional<std::string> absent() {
  return needs_library("--order scotch", "Scotch", "libscotch-dev").what();
}

#endif

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "scotch",
    .device = "cpu",
    .summary = "nested dissection of A + A^T with halo minimum degree at its leaves",
    .citation = "Pellegrini, Roman & Amestoy 2000",
    .library = library(),
    .options = {{.name = "threads",
                 .default_value = std::int64_t{1},
                 .help = "host threads; another number gives another order",
                 .minimum = 1,
                 .maximum = 1024}},
    .unavailable = absent,
    .compute = scotch_order,
});

}  // namespace gsofa
