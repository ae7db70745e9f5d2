#include "harness/library/superlu/column_order.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "gsofa/gsofa.hpp"

namespace gsofa::superlu {

namespace {

// Shared memory holds this header, the permutation, and the text, without its end.
struct order_header {
  std::array<char, 8> magic{'g', 's', 'o', 'f', 'a', 'p', '0', '1'};
  std::uint64_t digest = 0;  // of all bytes behind this one
  std::uint64_t key = 0;
  std::uint64_t columns = 0;
};

constexpr std::size_t digested = offsetof(order_header, key);
constexpr std::size_t longest_text = 200;

bool is_permutation_of(std::span<const std::int32_t> order) {
  std::vector<bool> seen(order.size());
  return std::ranges::all_of(order, [&](std::int32_t column) {
    const auto j = static_cast<std::size_t>(column);
    if (column < 0 || j >= order.size() || seen[j]) return false;
    seen[j] = true;
    return true;
  });
}

}  // namespace

std::uint64_t key_of(const SuperMatrix& a, const std::string& method) {
  const auto& store = *static_cast<const NCformat*>(a.Store);
  const auto n = static_cast<std::size_t>(a.ncol);
  if (store.colptr[n] < 0) throw invalid_input("the column pointers end with a negative number");
  const auto entries = static_cast<std::size_t>(store.colptr[n]);
  std::uint64_t key = memory_digest(std::as_bytes(std::span(method)));
  key = memory_digest(std::as_bytes(std::span(store.colptr, n + 1)), key);
  return memory_digest(std::as_bytes(std::span(store.rowind, entries)), key);
}

descriptor to_memory(const column_order& o, const std::function<void()>& still_working) {
  std::vector<std::byte> body(o.permutation.size() * sizeof(std::int32_t) + o.how.size());
  order_header header{.key = o.key, .columns = o.permutation.size()};
  std::ranges::copy(std::as_bytes(std::span(o.permutation)), body.begin());
  std::ranges::copy(std::as_bytes(std::span(o.how)),
                    body.end() - static_cast<std::ptrdiff_t>(o.how.size()));
  const auto header_bytes = std::as_bytes(std::span(&header, 1));
  header.digest = memory_digest(body, memory_digest(header_bytes.subspan(digested)));
  const std::array<std::span<const std::byte>, 2> parts{header_bytes, body};
  return sealed_memory(parts, still_working);
}

std::optional<column_order> order_of_memory(const descriptor& memory, std::uint64_t key,
                                            std::size_t columns) {
  const mapped_memory mapped(memory);
  const auto bytes = mapped.bytes();
  const std::size_t text_begin = sizeof(order_header) + columns * sizeof(std::int32_t);
  if (bytes.size() < text_begin || bytes.size() > text_begin + longest_text) return std::nullopt;
  order_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != order_header().magic || header.key != key || header.columns != columns ||
      header.digest != memory_digest(bytes.subspan(digested))) {
    return std::nullopt;
  }
  column_order out{.key = key, .permutation = std::vector<std::int32_t>(columns), .how = {}};
  std::memcpy(out.permutation.data(), bytes.data() + sizeof header, columns * sizeof(std::int32_t));
  const auto text = bytes.subspan(text_begin);
  out.how.assign(reinterpret_cast<const char*>(text.data()), text.size());
  const bool printable = std::ranges::all_of(out.how, [](char c) { return ' ' <= c && c <= '~'; });
  if (!printable || !is_permutation_of(out.permutation)) return std::nullopt;
  return out;
}

}  // namespace gsofa::superlu
