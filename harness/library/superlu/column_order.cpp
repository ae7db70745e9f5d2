#include "harness/library/superlu/column_order.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "gsofa/gsofa.hpp"

namespace gsofa::superlu {

namespace {

// The permutation and the text, without its end, follow.
struct order_header {
  std::uint64_t key = 0;
  std::uint64_t columns = 0;
};

// Digest of bytes, padded with zeros to a multiple of 8. `begin`: the digest of the bytes before
// them.
std::uint64_t digest_of(std::span<const std::byte> bytes, std::uint64_t begin = 0) {
  std::uint64_t digest = begin;
  for (std::size_t k = 0; k < bytes.size(); k += sizeof digest) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + k, std::min(sizeof digest, bytes.size() - k));
    digest = (digest ^ value) * 0x9e3779b97f4a7c15ULL;
    digest ^= digest >> 32;
  }
  return digest;
}

}  // namespace

std::uint64_t key_of(const SuperMatrix& a, const std::string& method) {
  const auto& store = *static_cast<const NCformat*>(a.Store);
  const auto n = static_cast<std::size_t>(a.ncol);
  if (store.colptr[n] < 0) throw invalid_input("the column pointers end with a negative number");
  const auto entries = static_cast<std::size_t>(store.colptr[n]);
  std::uint64_t key = digest_of(std::as_bytes(std::span(method)));
  key = digest_of(std::as_bytes(std::span(store.colptr, n + 1)), key);
  return digest_of(std::as_bytes(std::span(store.rowind, entries)), key);
}

void give_to(node_share& share, const column_order& order) {
  const order_header header{.key = order.key, .columns = order.permutation.size()};
  const std::array<std::span<const std::byte>, 3> parts{std::as_bytes(std::span(&header, 1)),
                                                        std::as_bytes(std::span(order.permutation)),
                                                        std::as_bytes(std::span(order.how))};
  share.give(parts);
}

std::optional<column_order> order_of_memory(const shared_bytes& memory, std::uint64_t key,
                                            std::size_t columns) {
  const std::size_t text_begin = sizeof(order_header) + columns * sizeof(std::int32_t);
  if (memory.bytes.size() < text_begin) return std::nullopt;
  order_header header;
  std::memcpy(&header, memory.bytes.data(), sizeof header);
  if (header.key != key || header.columns != columns) return std::nullopt;
  column_order out{.key = key, .permutation = std::vector<std::int32_t>(columns), .how = {}};
  std::memcpy(out.permutation.data(), memory.bytes.data() + sizeof header,
              columns * sizeof(std::int32_t));
  const auto text = memory.bytes.subspan(text_begin);
  out.how.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return out;
}

}  // namespace gsofa::superlu
