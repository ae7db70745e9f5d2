#include "harness/soak/fuzz_targets.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/digest.hpp"
#include "common/file.hpp"
#include "common/fuzz_mutator.hpp"
#include "common/generators.hpp"
#include "common/matrix_archives.hpp"
#include "common/matrix_file.hpp"
#include "common/matrix_market.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/experiment.hpp"
#include "harness/matrices/datasets.hpp"
#include "harness/record/record_file.hpp"
#include "harness/run/case_plan.hpp"
#include "variants/maxid/distributed/checkpoint.hpp"

namespace gsofa::soak {

namespace {

namespace fs = std::filesystem;
using texts = std::vector<std::string>;

constexpr std::int64_t memory_limit = std::int64_t{2} << 20;

[[noreturn]] void violated(const char* property) {
  std::fprintf(stderr, "fuzz: violated: %s\n", property);
  std::abort();
}
void require(bool holds, const char* property) {
  if (!holds) violated(property);
}

// A file without a disk, reached through /proc; the same path for every content.
class memory_file {
 public:
  explicit memory_file(const char* name) : descriptor_(::memfd_create(name, 0)) {
    require(descriptor_ >= 0, "memfd_create works here");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  ~memory_file() { ::close(descriptor_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  const fs::path& put(std::string_view content) {
    require(::ftruncate(descriptor_, 0) == 0, "a file in memory can be emptied");
    while (!content.empty()) {
      const ssize_t written = ::pwrite(descriptor_, content.data(), content.size(), size());
      require(written > 0, "a file in memory can be written");
      content.remove_prefix(static_cast<std::size_t>(written));
    }
    return path_;
  }
  [[nodiscard]] off_t size() const { return ::lseek(descriptor_, 0, SEEK_END); }

 private:
  int descriptor_;
  fs::path path_;
};

memory_file& scratch() {
  static memory_file file("gsofa-fuzz");
  return file;
}

const fs::path& folder() {
  static const temporary_directory directory;
  return directory.path();
}

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A number that depends on the bytes only: chooses the costlier checks.
std::size_t chance(std::string_view bytes) {
  std::uint64_t h = bytes.size();
  for (const char b : bytes) h = mix64(h + static_cast<unsigned char>(b));
  return h;
}

std::string checked(const std::exception& e) {
  const std::string message = e.what();
  require(!message.empty(), "an error says something");
  return message;
}

std::string gzip(std::string_view text) {
  z_stream stream{};
  require(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) ==
              Z_OK,
          "zlib compresses");
  std::string input(text);
  std::string output(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib compresses");
  output.resize(stream.total_out);
  deflateEnd(&stream);
  return output;
}

// --- matrices ----------------------------------------------------------------------------------

struct outcome {
  std::optional<pattern> read;
  matrix_file_header header;
  std::string refusal;  // without file and line

  [[nodiscard]] bool about_memory() const { return refusal.find("memory") != std::string::npos; }
  bool operator==(const outcome& other) const {
    return read == other.read && header.field == other.header.field &&
           header.symmetry == other.header.symmetry &&
           header.stored_entries == other.header.stored_entries && refusal == other.refusal;
  }
};

outcome read_text(std::string_view bytes) {
  outcome o;
  const fs::path& file = scratch().put(bytes);
  try {
    o.read = read_matrix_file(file, &o.header, memory_limit);
    validate(*o.read, "accepted file");
    return o;
  } catch (const error& e) {
    o.refusal = checked(e);
  }
  require(!o.read, "an accepted file holds a valid pattern");
  require(o.refusal.starts_with(file.string() + ":"), "a refusal names the file");
  require(std::ranges::all_of(o.refusal, [](char c) { return c >= ' ' && c <= '~'; }),
          "a refusal is one printable line");
  require(o.refusal.size() < 300, "a refusal is short");
  o.refusal.erase(0, file.string().size() + 1);
  o.refusal.erase(0, o.refusal.find_first_not_of("0123456789"));
  o.header = {};
  return o;
}

// Where blocks of the reader end must not matter: comments push the entries over such an end.
void check_shifted(std::string_view bytes, const outcome& straight) {
  const std::size_t banner = bytes.find('\n');
  if (banner == std::string_view::npos) return;
  constexpr std::size_t block = std::size_t{1} << 18;
  const std::size_t behind = chance(bytes) / 8 % (bytes.size() - banner);
  const std::size_t comment = block - banner - 1 - behind;
  std::string shifted(bytes.substr(0, banner + 1));
  shifted += "%" + std::string(comment - 2, 'c') + "\n";
  shifted += bytes.substr(banner + 1);
  const outcome moved = read_text(shifted);
  if (moved.about_memory() || straight.about_memory()) return;
  require(moved == straight, "comments change nothing");
}

std::string read_matrix_text(std::string_view bytes) {
  const outcome o = read_text(bytes);
  const bool compressed = bytes.starts_with("\x1f\x8b");
  const std::size_t dice = chance(bytes);
  if (bytes.starts_with("%%MatrixMarket") && dice % 8 == 0) check_shifted(bytes, o);
  if (!compressed && dice % 8 == 1) {
    // The same text in two gzip members, cut anywhere.
    const std::size_t cut = dice / 8 % (bytes.size() + 1);
    const outcome unzipped = read_text(gzip(bytes.substr(0, cut)) + gzip(bytes.substr(cut)));
    if (!o.about_memory() && !unzipped.about_memory()) {
      require(unzipped == o, "compression changes nothing");
    }
  }
  if (o.read && dice % 8 == 2) {
    const fs::path copy = folder() / "copy.mtx";
    write_matrix_market(copy, *o.read, "a comment\nof two lines");
    require(read_matrix_file(copy) == *o.read, "a pattern comes back as it was written");
  }
  return o.refusal;
}

texts matrix_seeds() {
  texts seeds = fuzz::matrix_market_seeds;
  std::string large = "%%MatrixMarket matrix coordinate pattern general\n40 40 160\n";
  for (int i = 0; i < 40; ++i) {
    for (const int j : {i, (i + 1) % 40, (i + 7) % 40, (i * 3 + 20) % 40}) {
      large += std::to_string(i + 1) + " " + std::to_string(j + 1) + "\n";
    }
  }
  seeds.push_back(std::move(large));
  return seeds;
}

texts compressed_seeds() {
  texts seeds;
  for (const std::string& text : matrix_seeds()) {
    seeds.push_back(gzip(text));
    seeds.push_back(gzip(text.substr(0, text.size() / 2)) + gzip(text.substr(text.size() / 2)));
    seeds.push_back(gzip(text) + std::string(512, '\0'));
  }
  return seeds;
}

// What zlib's own reader of files returns before its first error.
std::string inflated(std::string_view bytes) {
  const fs::path& file = scratch().put(bytes);
  gzFile in = gzopen(file.c_str(), "rb");
  require(in != nullptr, "zlib opens a file");
  std::string text;
  std::string part(1 << 16, '\0');
  int got = 0;
  while ((got = gzread(in, part.data(), static_cast<unsigned>(part.size()))) > 0 &&
         text.size() < std::size_t{1} << 24) {
    text.append(part, 0, static_cast<std::size_t>(got));
  }
  gzclose(in);
  return text;
}

std::string read_compressed(std::string_view bytes) {
  const outcome o = read_text(bytes);
  if (o.read) {
    const outcome plain = read_text(inflated(bytes));
    require(plain.about_memory() || plain == o, "zlib reads the same");
  }
  return o.refusal;
}

std::string read_archive(std::string_view bytes) { return read_text(bytes).refusal; }

texts harwell_boeing_seeds() { return fuzz::harwell_boeing_seeds; }

texts archive_seeds() {
  texts seeds = testing::sample_archives();
  seeds.push_back(gzip(seeds.front()));
  return seeds;
}

provenance sample_origin() {
  provenance p;
  p.name = "tridiagonal \xc3\xbc";
  p.source = "gen:tridiagonal:n=6";
  p.sha256 = std::string(64, 'a');
  p.nnz_input = 16;
  p.match = "kept";
  p.order = "amd";
  p.order_library = "Eigen 3.4.0";
  p.seed = 7;
  p.prepare_seconds = 0.25;
  return p;
}

const pattern& sample() {
  static const pattern a = generate("tridiagonal:n=6");
  return a;
}

texts prepared_seeds() {
  const fs::path file = folder() / "seed";
  texts seeds;
  prepared_pattern(sample(), {5, 4, 3, 2, 1, 0}, {0, 2, 4, 1, 3, 5}, sample_origin()).save(file);
  seeds.push_back(content(file));
  prepared_pattern(generate("diagonal:n=1"), {0}, {0}, {}).save(file);
  seeds.push_back(content(file));
  return seeds;
}

std::string read_prepared(std::string_view bytes) {
  const fs::path& file = scratch().put(bytes);
  const bool verified = chance(bytes) % 2 == 0;
  try {
    const prepared_pattern p = prepared_pattern::load(file, verified);
    require(prepared_pattern::is_prepared_file(file), "a file that loads has the magic bytes");
    validate(p.view(), "loaded file");
    validate_permutation(p.row_order(), p.view().n_rows, "row order");
    validate_permutation(p.col_order(), p.view().n_rows, "column order");
    require(count_missing_diagonal(p.view()) == 0, "a prepared pattern has its diagonal");
    if (verified) {
      require(pattern_digest(p.view()) == p.digest(), "the digest is that of the pattern");
      const fs::path copy = folder() / "copy";
      p.save(copy);
      const prepared_pattern again = prepared_pattern::load(copy);
      require(again.digest() == p.digest() && to_json(again.origin()) == to_json(p.origin()),
              "what was loaded can be saved and loaded");
    }
    return "";
  } catch (const input_error& e) {
    return checked(e);
  }
}

std::string read_provenance(std::string_view bytes) {
  try {
    const std::string text = to_json(from_json(bytes, "fuzz"));
    require(to_json(from_json(text, "again")) == text, "a provenance comes back as it was written");
    return "";
  } catch (const input_error& e) {
    return checked(e);
  }
}

texts provenance_seeds() { return {to_json(sample_origin()), to_json({}), "{\"name\": 1e400}"}; }

std::string read_generator(std::string_view bytes) {
  const std::string spec(bytes);
  try {
    const pattern a = generate(spec);
    validate(a, "generated pattern");
    require(a.n_rows == a.n_cols, "a generated pattern is square");
    if (chance(bytes) % 4 == 0) require(generate(spec) == a, "a generator is deterministic");
    return "";
  } catch (const input_error& e) {
    return checked(e);
  }
}

texts generator_seeds() {
  texts seeds{"random:n=2147483647,degree=1", "grid7:nx=46341,ny=46341,nz=1", "diagonal:n=0",
              "dense:n=65536"};
  for (const generator_info& g : generators()) {
    // "nx=.. drop=0 element=hex1(hex1|tet1)": required ones become 3.
    std::string spec = g.name + ":";
    std::string item;
    std::istringstream in(g.parameters);
    while (in >> item) {
      item.resize(std::min(item.size(), item.find('(')));
      if (item.ends_with("..")) item.replace(item.size() - 2, 2, "3");
      const std::string value = item.substr(item.find('=') + 1);
      if (value.find_first_not_of("0123456789.") != std::string::npos && value.size() < 3) continue;
      spec += (spec.back() == ':' ? "" : ",") + item;
    }
    seeds.push_back(spec);
  }
  return seeds;
}

// --- orders, checkpoints -----------------------------------------------------------------------

std::string read_order(std::string_view bytes) {
  try {
    const ordering o = compute_order(sample(), scratch().put(bytes).string(), -1);
    validate_permutation(o.order, sample().n_rows, "order");
    return "";
  } catch (const input_error& e) {
    return checked(e);
  }
}

texts order_seeds() { return {"0\n1\n2\n3\n4\n5\n", "# comment\n5 4 3\n% more\n2 1 0", "0 0 1"}; }

// Order 10 in chunks of 4: rows of the chunks are 4, 4 and 2.
constexpr maxid::checkpoint_key key{
    .pattern_digest = 42, .n = 10, .chunk_size = 4, .digests = true, .supernodes = true};

const std::string& checkpoint_header() {
  static const std::string header = [] {
    const fs::path file = folder() / "header.chunks";
    fs::remove(file);
    { const maxid::checkpoint_file empty(file, key); }
    return content(file);
  }();
  return header;
}

// The checksum of a record, so that mutated records get beyond its check.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = bytes.size();
  for (const char b : bytes) sum = mix64(sum + static_cast<unsigned char>(b));
  return sum;
}

std::string read_checkpoint(std::string_view bytes) {
  // 'R', then records of which the first byte gives the length: they get header and checksums.
  std::string file_bytes(bytes);
  if (bytes.starts_with("R")) {
    bytes.remove_prefix(1);
    file_bytes = checkpoint_header();
    while (!bytes.empty()) {
      const auto length = static_cast<std::size_t>(static_cast<unsigned char>(bytes.front()));
      const std::string_view record = bytes.substr(1, length);
      bytes.remove_prefix(1 + record.size());
      const std::uint64_t sum = checksum(record);
      file_bytes += record;
      file_bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    }
  }
  const fs::path& file = scratch().put(file_bytes);
  std::vector<maxid::chunk_record> found;
  std::uint64_t whole = 0;
  try {
    found = maxid::checkpoint_file::read(file, key, &whole);
  } catch (const input_error& e) {
    return checked(e);
  }
  require(whole <= file_bytes.size(), "whole records lie within the file");
  for (const maxid::chunk_record& c : found) {
    require(c.chunk >= 0 && c.chunk < 3, "a chunk of the matrix");
    const std::size_t rows = c.chunk == 2 ? 2 : 4;
    require(c.l_counts.size() == rows && c.u_counts.size() == rows && c.digests.size() == rows &&
                c.starts.size() == rows,
            "a record has all rows of its chunk");
  }
  maxid::chunk_record next{
      .chunk = 2, .l_counts = {1, 2}, .u_counts = {2, 1}, .digests = {3, 4}, .starts = {1, 0}};
  { maxid::checkpoint_file(file, key).append(next); }
  const auto again = maxid::checkpoint_file::read(file, key);
  require(again.size() == found.size() + 1 && again.back().digests == next.digests,
          "a damaged file can be continued");
  return found.empty() ? "no record" : "";
}

texts checkpoint_seeds() {
  texts seeds;
  const fs::path file = folder() / "seed.chunks";
  fs::remove(file);
  std::string records = "R";
  for (index_t c = 0; c < 3; ++c) {
    maxid::chunk_record r{.chunk = c, .l_counts = {}, .u_counts = {}, .digests = {}, .starts = {}};
    for (index_t k = 0; k < (c == 2 ? 2 : 4); ++k) {
      r.l_counts.push_back(k);
      r.u_counts.push_back(4 - k);
      r.digests.push_back(mix64(static_cast<std::uint64_t>(c * 4 + k)));
      r.starts.push_back(k == 0 ? 1 : 0);
    }
    const std::size_t before = fs::exists(file) ? fs::file_size(file) : checkpoint_header().size();
    { maxid::checkpoint_file(file, key).append(r); }
    seeds.push_back(content(file));
    const std::string record = seeds.back().substr(before, seeds.back().size() - before - 8);
    records += static_cast<char>(record.size());
    records += record;
  }
  seeds.push_back(records);
  return seeds;
}

// --- specs, records, options -------------------------------------------------------------------

std::string read_experiment_spec(std::string_view bytes) {
  try {
    for (const experiment_case& c : read_experiment(scratch().put(bytes)).cases) {
      plan_cases(c.cases);
    }
    return "";
  } catch (const error& e) {
    return checked(e);
  }
}

texts experiment_seeds() {
  return {
      "name = \"soak\"\ntitle = \"t\"\nclaim = \"c\"\n\n[[case]]\ngroups = [\"smoke\", \"paper\"]\n"
      "matrices = [\"@bundled\", \"gen:grid5:nx=4\", \"a/b.mtx\"]\norders = [\"metis\", "
      "\"natural\"]\nmatch = \"none\"\nseed = 3\nvariants = [\"cpu_maxid\", \"gpu_maxid\"]\n"
      "options = [\"line_9_5=true,false\", \"gpu_maxid.block_size=128\"]\nwant = [\"counts\", "
      "\"digest\"]\nrepeat = 2\nwarmup = 0\ntimeout = 1.5\nthreads = 2\nchunk_size = 64\n"
      "verify = \"oracle\"\ncounting = false\nseries = false\nranks = 1\ngpus = 0\n",
      "[[case]]\ngroups = ['''a''']\nmatrices = [\"\"\"x\"\"\"]\n# comment\n[[case]]\n"
      "groups = [\"smoke\"]\nmatrices = [\"add32\"]\nrepeat = 0x10\ntimeout = 1e3\n",
      "case = [{groups = [\"smoke\"], matrices = [\"AU\"]}]\nname = 1979-05-27T07:32:00Z\n"
      "a.b.\"c\".d = nan\n",
      "name = \"\\u00e9\\U0001F600\\t\"\n[case]\nx = [[[[[[[[1]]]]]]]]\n",
  };
}

std::string read_datasets(std::string_view bytes) {
  try {
    const dataset_catalog catalog = dataset_catalog::load(scratch().put(bytes));
    for (const dataset& d : catalog.entries()) {
      require(catalog.find(d.name) != nullptr, "an entry is found by its name");
    }
    return "";
  } catch (const error& e) {
    return checked(e);
  }
}

texts dataset_seeds() {
  return {"[[bundled]]\nname = \"a\"\nfile = \"matrices/a.mtx.gz\"\nsha256 = \"" +
          std::string(64, 'b') +
          "\"\n\n[[matrix]]\nname = \"b\"\nabbr = \"BB\"\ngroup = \"G\"\nstand_in = "
          "\"gen:diagonal:n=3\"\npaper = {order = 4, nnz = 7, symmetry = 0.5, fill_ratio = 2.5}\n"};
}

std::string read_records(std::string_view bytes) {
  const fs::path& file = scratch().put(bytes);
  try {
    recorded_keys(file);
    return "";
  } catch (const input_error& e) {
    return checked(e);
  }
}

texts record_seeds() {
  session_info session;
  session.run_id = "r";
  session.argv = {"gsofa", "run"};
  provenance origin = sample_origin();
  origin.name = "audikw_1";
  const prepared_pattern a(sample(), {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}, origin);
  case_request request;
  request.info = &find_variant("cpu_maxid");
  request.settings.options = option_set(request.info->options);
  case_outcome outcome;
  outcome.judged = {run_status::pass, ""};
  outcome.samples_s = {0.5, 0.25};
  outcome.phases_s = {{"traverse", 0.25}};
  outcome.last.emplace();
  const std::string passed = json_line(make_record(session, a, request, outcome, true)) + "\n";
  const std::string skipped =
      json_line(make_record(session, a, request, skipped_case("no GPU"), false)) + "\n";
  return {passed, skipped + passed,
          "{\"simulated\": 1.5, \"matrix\": \"AU\", \"gpus\": 4, \"schedule\": \"dynamic\"}\n"
          "{\"dram_gb_per_s\": 1, \"matrix\": \"AU\", \"variant\": \"cpu_maxid\"}\n"};
}

// The command line, its arguments separated by lines; nothing is carried out.
std::string read_command_line(std::string_view bytes) {
  texts words{"gsofa"};
  for (std::size_t at = 0; at <= bytes.size() && words.size() < 64;) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    std::string word(bytes.substr(at, end - at));
    std::erase(word, '\0');
    words.push_back(std::move(word));
    at = end + 1;
  }
  std::vector<const char*> argv;
  for (const std::string& w : words) argv.push_back(w.c_str());
  CLI::App app("fuzz", "gsofa");
  app.require_subcommand(1);
  app.set_version_flag("--version", "0");
  command_action action;
  add_commands(app, action);
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
    require(static_cast<bool>(action), "a command line that parses says what to do");
    return "";
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? "" : checked(e);
  } catch (const error& e) {
    return checked(e);
  }
}

texts command_line_seeds() {
  return {
      "run\n--matrix\nbcsstk18\n-v\ncpu_maxid\n--variant\ncpu_fill2\n--set\nline_9_5=true,false\n"
      "--repeat\n3\n--warmup=0\n--timeout\n1.5\n--want\ncounts\n--chunk-size\n64\n--threads\n2",
      "run\n--matrix\nx\n--checkpoint\nd\n--resume\n--json\n--out\nf\n--verify\noracle\n--series",
      "prepare\n--matrix\nx\n--order\namd\n--match\nnone\n--seed\n7\n-o\nf\n--order-out\ng",
      "experiment\ns.toml\n--group\npaper\n--device\ncpu\n--out\nf\n--resume\n--matrix\nAU",
      "check\n--suite\nfull\n--seed\n2\n--patterns\n6\n--variant\ncpu_maxid\n--save\nd",
      "info\n--matrix\ngen:grid5:nx=4\n--json\n--no-fill",
      "list\n--json\n--planted",
      "--version",
      "--help"};
}

// Lines "v NAME", "w WANT", "s KEY=VALUE": what a run asks of the registry.
std::string read_case_options(std::string_view bytes) {
  case_options asked;
  asked.skip_unavailable = true;
  std::istringstream in{std::string(bytes)};
  std::size_t values = 1;
  for (std::string line; std::getline(in, line);) {
    const std::string word = line.size() > 2 ? line.substr(2) : "";
    if (line.starts_with("v")) asked.variants.push_back(word);
    if (line.starts_with("w")) asked.wants.push_back(word);
    if (line.starts_with("s")) {
      values *= static_cast<std::size_t>(std::ranges::count(word, ',')) + 1;
      asked.sets.push_back(word);
    }
  }
  // The user asks for combinations, whose number is a product.
  if (values > 64) return "more cases than one wants here";
  try {
    for (const planned_case& c : plan_cases(asked)) {
      require(c.request.info != nullptr, "a planned case has a variant");
    }
    return "";
  } catch (const error& e) {
    return checked(e);
  }
}

texts case_option_seeds() {
  texts seeds{
      "v cpu_maxid\nv gpu_maxid\nw counts\nw digest\ns line_9_5=true,false\n"
      "s gpu_maxid.block_size=128\n"};
  for (const variant_info& v : all_variants()) {
    std::string seed = "v " + v.name + "\n";
    for (const option_spec& o : v.options) {
      seed += "s " + o.name + "=" + to_string(o.default_value) + "\n";
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

// A fault for the tests of the fuzzer: texts with two words and a third that begins with 4.
std::string read_planted(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  std::string a, b, c;
  in >> a >> b >> c;
  require(!c.starts_with('4'), "the planted property");
  return a.empty() ? "no word" : "";
}

texts planted_seeds() { return {"one two three"}; }

}  // namespace

const std::vector<fuzz_target>& fuzz_targets() {
  static const std::vector<fuzz_target> all{
      {"matrix_market", " \r\n\t", matrix_seeds, read_matrix_text},
      {"matrix_market_gz", "", compressed_seeds, read_compressed},
      {"harwell_boeing", " \r\n\t", harwell_boeing_seeds, read_archive},
      {"archive", "", archive_seeds, read_archive},
      {"prepared", "", prepared_seeds, read_prepared},
      {"provenance", " \n,:{}\"", provenance_seeds, read_provenance},
      {"checkpoint", "", checkpoint_seeds, read_checkpoint},
      {"order", " \r\n\t", order_seeds, read_order},
      {"generator", " ,:=", generator_seeds, read_generator},
      {"experiment", " \n,=\"[]", experiment_seeds, read_experiment_spec},
      {"datasets", " \n,=\"[]", dataset_seeds, read_datasets},
      {"records", " \n,:{}\"[]", record_seeds, read_records},
      {"command_line", "\n=", command_line_seeds, read_command_line},
      {"case_options", " \n,=.", case_option_seeds, read_case_options},
      {"planted_fault", " ", planted_seeds, read_planted},
  };
  return all;
}

}  // namespace gsofa::soak
