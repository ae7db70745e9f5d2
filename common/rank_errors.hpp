#pragma once

#include <exception>
#include <string>
#include <vector>

#include "common/error.hpp"

namespace gsofa {

/// Mixed into exceptions that all ranks of a job throw alike: one of them reports it.
class thrown_by_all_ranks {
 public:
  virtual ~thrown_by_all_ranks() = default;
};

/// An error that every rank of the job knows.
class collective_error : public error, public thrown_by_all_ranks {
 public:
  using error::error;
};

/// An exception as bytes that one rank sends to the others: its kind, exit status and message.
std::vector<char> packed_failure(const std::exception_ptr& caught);

/// Throws what packed_failure() packed on `rank`, as thrown_by_all_ranks: timeout_error and
/// budget_error keep their type, std::bad_alloc becomes budget_error, all else collective_error.
/// "rank R: " precedes the message unless R is 0.
[[noreturn]] void throw_failure(std::vector<char> packed, int rank);

}  // namespace gsofa
