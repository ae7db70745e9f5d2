#pragma once

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

#include <stdexcept>

namespace gsofa {

/// A failed assertion of toml++, for example for `matrices = [}`. The text is the condition.
class toml_assertion : public std::logic_error {
 public:
  using std::logic_error::logic_error;
  [[noreturn]] static void fail(const char* condition) { throw toml_assertion(condition); }
};

}  // namespace gsofa

// toml++ asserts conditions that a malformed file need not fulfil. Its assertions throw, in every
// build: with NDEBUG toml++ would promise the conditions to the compiler. Every file that uses
// toml++ includes this header, so that all files have the same definition.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::gsofa::toml_assertion::fail(#condition))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#endif
