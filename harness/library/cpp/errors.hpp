#pragma once

namespace gsofa::library {

/// Rethrows the exception that is being handled: what a callback threw as it is, every other one as
/// analysis_error.
[[noreturn]] void rethrow_for_caller();

/// What call() returns; throws as rethrow_for_caller() does.
template <class Call>
decltype(auto) reporting(const Call& call) {
  try {
    return call();
  } catch (...) {
    rethrow_for_caller();
  }
}

}  // namespace gsofa::library
