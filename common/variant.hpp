#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/factor_profile.hpp"
#include "common/pattern.hpp"
#include "common/registry.hpp"
#include "common/run_context.hpp"
#include "common/supernodal.hpp"

namespace gsofa {

/// The parts of a result that a caller can request.
enum class want : unsigned {
  counts = 1,      ///< row counts of L and of U
  digest = 2,      ///< per-row digests of L+U and their sum
  pattern = 4,     ///< CSR of L and of U, columns ascending
  supernodes = 8,  ///< first rows of the T3 supernodes
};

/// A set of `want`s.
class want_set {
 public:
  constexpr want_set() = default;
  constexpr want_set(want w) : bits_(static_cast<unsigned>(w)) {}  // NOLINT
  static constexpr want_set all() {
    return want_set(want::counts) | want::digest | want::pattern | want::supernodes;
  }
  [[nodiscard]] constexpr bool has(want w) const { return (bits_ & static_cast<unsigned>(w)) != 0; }
  [[nodiscard]] constexpr bool contains(want_set other) const {
    return (bits_ & other.bits_) == other.bits_;
  }
  constexpr want_set operator|(want_set other) const {
    want_set r;
    r.bits_ = bits_ | other.bits_;
    return r;
  }
  [[nodiscard]] constexpr want_set without(want_set other) const {
    want_set r;
    r.bits_ = bits_ & ~other.bits_;
    return r;
  }
  constexpr want_set& operator|=(want_set other) { return *this = *this | other; }
  constexpr bool operator==(const want_set&) const = default;
  /// Names in the order counts, digest, pattern, supernodes.
  [[nodiscard]] std::vector<std::string> names() const;
  /// The names with commas, for a message; "totals" for the empty set: every result has the totals.
  [[nodiscard]] std::string text() const;
  /// Parses one name; throws input_error on anything else.
  static want parse(const std::string& name);

 private:
  unsigned bits_ = 0;
};

/// Value of an option: a switch, an integer, or a word from a list.
using option_value = std::variant<bool, std::int64_t, std::string>;

/// A typed option that a variant declares at its registration. The type is that of
/// `default_value`; integers are limited to [minimum, maximum], words to `choices`.
struct option_spec {
  std::string name;
  option_value default_value;
  std::string help;
  std::int64_t minimum = 0;
  std::int64_t maximum = std::int64_t{1} << 62;
  std::vector<std::string> choices{};
  /// Values that tests use, including values that reach rare paths of the code; empty: only the
  /// default.
  std::vector<std::string> tested{};

  [[nodiscard]] std::string type_name() const;  ///< "bool", "int" or "choice"
};

std::string to_string(const option_value& value);

/// Values of all options of one variant, defaults included.
class option_set {
 public:
  /// Starts from the defaults of `specs`.
  explicit option_set(const std::vector<option_spec>& specs = {});
  /// Parses `value` for option `name`; -1 means the default, for an integer option whose minimum is
  /// not negative; throws input_error with the type and range on any fault.
  void set(const std::vector<option_spec>& specs, const std::string& name,
           const std::string& value);
  /// The same for a value of the option's type, which is not checked.
  void put(const std::string& name, option_value value) { values_.at(name) = std::move(value); }

  [[nodiscard]] bool flag(const std::string& name) const;
  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  [[nodiscard]] const std::string& choice(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, option_value>& values() const { return values_; }

 private:
  std::map<std::string, option_value> values_;
};

/// Everything that determines a run, in addition to the matrix.
struct run_settings {
  option_set options;
  want_set wants = want::counts;
  int threads = 1;          ///< host threads that the variant may use
  bool supernodal = false;  ///< supernodal() will be called; see variant_info
  /// The variant is a leaves_device_results; the caller takes rows through it and not by collect().
  bool leaves_on_device = false;
  index_t chunk_size = 128;  ///< supernodes never cross a multiple of it; 0: unlimited
};

/// The result of collect(); only requested parts are filled.
struct result {
  offset_t nnz_l = 0;  ///< strictly lower part of L+U; always filled
  offset_t nnz_u = 0;  ///< upper part including the diagonal; always filled
  std::vector<index_t> l_row_counts, u_row_counts;  ///< want::counts, n entries each
  std::vector<std::uint64_t> row_digests;           ///< want::digest, n entries
  std::uint64_t digest = 0;                         ///< want::digest, sum of row_digests
  pattern l, u;                                     ///< want::pattern; u includes the diagonal
  std::vector<index_t> supernode_starts;            ///< want::supernodes, ascending, begins with 0
  /// In a job of several ranks no rank holds the complete pattern: l and u (n rows) then hold only
  /// the rows listed here, ascending. All other parts are complete on rank 0 and absent elsewhere.
  std::optional<std::vector<index_t>> pattern_rows{};
  /// The variant ordered the matrix itself: the result belongs to the variant's order, not to the
  /// given order.
  bool of_own_order = false;
  /// The variant's order if it returns the order, n entries each: entry (i, j) of the factorized
  /// pattern is entry (row_order[i], col_order[j]) of the given pattern.
  std::vector<index_t> row_order{}, col_order{};
};

/// One symbolic factorization algorithm at work on one matrix. Life cycle:
/// prepare (allocate, upload) -> run (the only timed part, may be repeated) -> collect (copy out).
class variant {
 public:
  variant() = default;
  variant(const variant&) = delete;
  variant& operator=(const variant&) = delete;
  virtual ~variant() = default;

  /// Takes a square pattern with sorted rows and structurally nonzero diagonal, which must outlive
  /// this object.
  virtual void prepare(const pattern_view& a, const run_settings& settings,
                       run_context& context) = 0;
  /// Factorizes symbolically. A second call starts from the beginning.
  virtual void run(run_context& context) = 0;
  /// Returns the parts `wants` of the last run's result; prepare() must have received at least
  /// these.
  virtual result collect(want_set wants) = 0;
  /// As above, into `out`, whose arrays the variant may reuse. Members of `out` that are not in
  /// `wants` are unspecified.
  virtual void collect_into(want_set wants, result& out);
  /// Column counts of L and the density of L + U of the last run, `cells` in each direction. The
  /// default implementation uses explicit rows: prepare() must have received want::pattern.
  virtual factor_profile profile(index_t cells);
  /// L + U of the last run by supernodes of columns. prepare() must have received
  /// run_settings::supernodal if variant_info::supernodal is set, else want::pattern: the default
  /// implementation uses explicit rows. Throws input_error for a fault of `rule`.
  virtual supernodal_pattern supernodal(const supernode_rule& rule);
  /// As above, into `out`, whose arrays the variant may reuse.
  virtual void supernodal_into(const supernode_rule& rule, supernodal_pattern& out);
};

/// run() of a prepared variant, with all time charged to phases; returns seconds.
double run_timed(variant& v, run_context& context);
/// run() and collect() of a prepared variant.
result run_once(variant& v, want_set wants, run_context& context);

/// A variant's entry in the registry.
struct variant_info {
  std::string name;                  ///< <device>_<algorithm>[_<twist>]
  std::string device;                ///< "cpu", "gpu", "mpi" or "peer"
  std::string summary;               ///< one line
  std::string citation;              ///< paper section or reference
  want_set gives = want_set::all();  ///< empty: only the totals nnz_l and nnz_u
  std::vector<option_spec> options{};
  bool multithreaded = false;  ///< uses run_settings::threads
  bool supernodal = false;     ///< supernodal() usually needs no explicit rows
  bool exact = true;           ///< false: may report a superset of the fill, or bounds (peers)
  bool orders = false;         ///< orders the matrix itself: result::row_order
  /// prepare, run and collect are collective over the ranks of the MPI job; other variants run only
  /// in jobs of one rank.
  bool distributed = false;
  std::string library{};  ///< of a peer: name and release of what it calls, "SuperLU_DIST 8.1.2"
  std::string planted{};  ///< non-empty: deliberately wrong; names the fault to be found
  /// The planted fault ends or blocks the process: the variant runs only in separate processes.
  bool fatal = false;
  /// Why the variant cannot run in this build or on this machine; nullopt if it can.
  std::function<std::optional<std::string>()> unavailable = [] {
    return std::optional<std::string>{};
  };
  std::function<std::unique_ptr<variant>()> create;
};

/// Settings of a run that shall give `wants`: the given options, values by name, and the variant's
/// defaults for all others. Throws input_error like option_set::set.
run_settings settings_with(const variant_info& info, want_set wants,
                           const std::map<std::string, std::string>& options = {});

/// All registered variants in order of name, planted ones included. Throws std::bad_alloc, and
/// error if two have the same name.
const std::vector<variant_info>& all_variants();

/// Looks a variant up by name; throws input_error that suggests the nearest names.
const variant_info& find_variant(std::string_view name);

/// The variant with this name, or the variants that a shell pattern such as gpu_maxid* matches,
/// except those that order the matrix themselves; throws input_error if there is no match.
std::vector<const variant_info*> find_variants(const std::string& name_or_pattern);

}  // namespace gsofa

/// Registers the variant described by a variant_info expression; the last line of a variant file.
#define GSOFA_REGISTER_VARIANT(...) \
  GSOFA_REGISTER_VARIANTS(1, [](std::size_t) -> ::gsofa::variant_info { return __VA_ARGS__; })
/// Registers the variants describe(0) .. describe(count - 1), rows of a table.
#define GSOFA_REGISTER_VARIANTS(count, ...) \
  GSOFA_REGISTER(::gsofa::variant_info, count, __VA_ARGS__)
