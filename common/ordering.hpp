#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/pattern.hpp"
#include "common/registry.hpp"
#include "common/variant.hpp"

namespace gsofa {

/// Separator tree of an order: node k owns positions start[k] .. start[k+1] - 1: a separator, or
/// the vertices of a leaf. Children come before parents: parent[k] > k, -1 for roots. An edge of A
/// + A^T joins vertices of one node, or of a node and one of its ancestors (George 1973).
struct separator_tree {
  std::vector<index_t> start{0};  ///< nodes + 1
  std::vector<index_t> parent;    ///< nodes

  [[nodiscard]] bool empty() const { return parent.empty(); }
};

/// An order that a tournament computed.
struct order_candidate {
  std::string order;       ///< method with its options
  std::int64_t seed = -1;  ///< -1: the default of the method
  double flops = 0;        // 0: not counted
                           ///< of the exact factorization: order_quality::flops
};

/// What a factorization costs, counted.
struct order_cost {
  double operations = 0;
  offset_t entries = 0;           ///< of L and U without the diagonal
  index_t height = 0;             ///< of the elimination tree, in vertices; 0: not counted
  index_t supernodes = 0;         ///< 0: not counted
  index_t supernodal_height = 0;  ///< most supernodes on a path of the tree
};

/// A fill-reducing symmetric order of a square pattern (old index by new position).
struct ordering {
  std::vector<index_t> order;
  /// The method given to compute_order(); for `automatic`, the method that it selected, with its
  /// options, as find_order() takes it; "file" for a file.
  std::string method;
  std::string library;               ///< name and version; the path of a file; empty: this program
  separator_tree separators{};       ///< empty if the method finds none
  std::optional<order_cost> cost{};  ///< for A + A^T, at most, if the method bounds it
  std::map<std::string, double> phases_s{};   ///< seconds by step, if the method reports them
  std::vector<order_candidate> candidates{};  ///< orders among which the method chose
  /// Predicted seconds of all factorizations, where a second matching may save a part of them
  /// (symmetric_may_pay() of preprocess.hpp); 0: none contends.
  double contested_s = 0;
  std::string fallback{};  ///< what failed before this method was taken; empty: nothing
  std::string why{};       ///< of a method that chose: one line; else empty
  std::string note{};      ///< what was done besides or instead of the method; empty: nothing

  [[nodiscard]] const std::string& title() const { return note.empty() ? method : note; }
};

/// Everything that determines an order, in addition to the pattern.
struct order_settings {
  option_set options;
  std::int64_t seed = -1;  ///< -1: the default of the method
  int threads = 1;         ///< host threads; any number gives the same order
  bool host_only = false;  ///< a method that chooses among others does not choose one of a GPU
  bool is_graph = false;   ///< the pattern is known to be symmetric and without diagonal
  /// Of the vertices, 1 or more; empty: all are 1. cpu_nested_dissection looks for separators of
  /// small weight, amf orders as many vertices with one neighbourhood; others ignore weights.
  std::span<const index_t> weights{};
  /// Above 1: dissections divide the graph evenly on this many levels of their separator tree.
  int tree_levels = 0;
  /// If it becomes true, the method ends with cancelled_error as soon as it can; null: never.
  const std::atomic<bool>* stop = nullptr;
};

/// What the registry knows about an ordering method.
struct order_info {
  std::string name;
  std::string device;     ///< "cpu" or "gpu"
  std::string summary;    ///< one line
  std::string citation;   ///< reference
  std::string library{};  ///< name and version of the library that computes it
  std::vector<option_spec> options{};
  bool multithreaded = false;  ///< uses order_settings::threads
  bool dissects = false;       ///< returns a separator tree
  std::string same_as{};       ///< the method that finds the same order from the same options
  std::string planted{};       ///< non-empty: deliberately wrong; names the fault to be found
  std::function<std::optional<std::string>()> unavailable = [] {
    return std::optional<std::string>{};
  };
  /// Computes the order of a square pattern with any diagonal, and the separator tree if the method
  /// has one.
  std::function<ordering(const pattern_view& a, const order_settings& settings)> compute;
};

/// All registered methods in order of name, planted ones included. Throws std::bad_alloc, error if
/// two have one name.
const std::vector<order_info>& all_orders();

/// The options in `text`, OPTION=VALUE,OPTION=VALUE, of an order or a variant, and the defaults of
/// all others. Throws input_error that begins with `subject`.
option_set parse_options(const std::vector<option_spec>& specs, std::string_view text,
                         const std::string& subject);

/// A method in the user's notation, NAME or NAME:OPTION=VALUE,OPTION=VALUE.
struct order_request {
  const order_info* info = nullptr;
  option_set options;
  std::string spec;  ///< in this notation
};

/// Parses this notation; nullopt if `spec` names no method but may be the path of a permutation
/// file. Throws input_error for a name that can be neither (the message suggests the nearest name),
/// and for an option or value that the method does not have.
std::optional<order_request> find_order(const std::string& spec);

/// The order of a square pattern by the method or the permutation file that `spec` names, on at
/// most `threads` host threads, and at most one per 1,000 rows. The result is a permutation. Throws
/// input_error as find_order() and for a file without a permutation; unavailable_error if this
/// build or machine lacks the method; overflow_error if its integers are too short for the pattern.
ordering compute_order(const pattern_view& a, const std::string& spec, std::int64_t seed,
                       int threads = 1, const std::atomic<bool>* stop = nullptr,
                       bool host_only = false, std::span<const index_t> weights = {},
                       int tree_levels = 0);
/// The same for a method; `settings` but its options.
ordering compute_order(const pattern_view& a, const order_request& request,
                       order_settings settings);

/// Names of the methods that are available here, except planted ones.
std::vector<std::string> available_orders();
/// The method if the user names none: automatic.
inline constexpr const char* default_order = "automatic";

/// The natural order.
std::vector<index_t> identity_order(index_t n);
/// A random order (Fisher & Yates), the same for a seed on every platform.
std::vector<index_t> random_order(index_t n, std::uint64_t seed);
/// Offsets of `a` as int; throws overflow_error naming `what` if there are too many.
std::vector<int> narrow_offsets(const pattern_view& a, const char* what);
/// The error of a build that lacks a library; debian: the library's package.
unavailable_error needs_library(const std::string& task, const char* library, const char* debian);

}  // namespace gsofa

/// Registers the method described by an order_info expression; the last line of its file.
#define GSOFA_REGISTER_ORDER(...)        \
  GSOFA_REGISTER(::gsofa::order_info, 1, \
                 [](std::size_t) -> ::gsofa::order_info { return __VA_ARGS__; })
