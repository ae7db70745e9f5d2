#include "common/rank_errors.hpp"

#include <new>

namespace gsofa {

namespace {

class collective_timeout : public timeout_error, public thrown_by_all_ranks {
 public:
  using timeout_error::timeout_error;
};
class collective_budget : public budget_error, public thrown_by_all_ranks {
 public:
  using budget_error::budget_error;
};

enum class failure : char { collective, timeout, budget };

// The message, then the kind and the exit status, a byte each.
std::vector<char> packed(failure kind, exit_code code, std::string text) {
  std::vector<char> out(text.begin(), text.end());
  out.push_back(static_cast<char>(kind));
  out.push_back(static_cast<char>(code));
  return out;
}

}  // namespace

std::vector<char> packed_failure(const std::exception_ptr& caught) {
  constexpr exit_code run_failed = exit_code::run_failed;
  try {
    std::rethrow_exception(caught);
  } catch (const timeout_error& e) {
    return packed(failure::timeout, run_failed, e.what());
  } catch (const budget_error& e) {
    return packed(failure::budget, run_failed, e.what());
  } catch (const error& e) {
    return packed(failure::collective, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return packed(failure::budget, run_failed, "out of host memory");
  } catch (const std::exception& e) {
    return packed(failure::collective, run_failed, e.what());
  } catch (...) {
    return packed(failure::collective, run_failed, "unknown exception");
  }
}

void throw_failure(std::vector<char> packed, int rank) {
  const auto code = static_cast<exit_code>(packed.back());
  packed.pop_back();
  const auto kind = static_cast<failure>(packed.back());
  packed.pop_back();
  std::string text(packed.begin(), packed.end());
  if (rank != 0) text = "rank " + std::to_string(rank) + ": " + text;
  if (kind == failure::timeout) throw collective_timeout(text);
  if (kind == failure::budget) throw collective_budget(text);
  throw collective_error(code, text);
}

}  // namespace gsofa
