#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gsofa::soak {

/// A reader of untrusted bytes.
struct fuzz_target {
  std::string name;
  std::vector<std::string> (*seeds)();  ///< inputs to begin from
  /// Reads `bytes` and checks what must then hold. Returns the message of the refusal, or "" if
  /// they were accepted. Ends the process where something does not hold; an exception that escapes
  /// is a fault too.
  std::string (*read)(std::string_view bytes);
};

/// All of them; one whose name begins with "planted_" has a fault that must be found.
const std::vector<fuzz_target>& fuzz_targets();

/// While a target reads, allocations of more bytes than this fail, so that a few bytes of input
/// can ask for little memory only.
inline constexpr long most_bytes = long{4} << 20;

}  // namespace gsofa::soak
