#include "harness/library/cpp/errors.hpp"

#include <exception>
#include <new>

#include "common/error.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/progress.hpp"

namespace gsofa {

analysis_error::analysis_error(failure kind, const std::string& message)
    : std::runtime_error(message), kind_(kind) {}
analysis_error::~analysis_error() = default;
invalid_input::invalid_input(const std::string& message)
    : analysis_error(failure::invalid_input, message) {}
invalid_input::~invalid_input() = default;

namespace library {

namespace {

// It allocates nothing: an empty string has no memory of its own.
class host_out_of_memory final : public analysis_error {
 public:
  host_out_of_memory() : analysis_error(failure::out_of_memory, "") {}
  [[nodiscard]] const char* what() const noexcept override { return "the host is out of memory"; }
};

}  // namespace

void rethrow_for_caller() {
  try {
    throw;
  } catch (const analysis_error&) {
    throw;
  } catch (const callback_failure& e) {
    std::rethrow_exception(e.thrown);
  } catch (const overflow_error& e) {
    throw analysis_error(failure::overflow, e.what());
  } catch (const input_error& e) {
    throw invalid_input(e.what());
  } catch (const cancelled_error& e) {
    throw analysis_error(failure::cancelled, e.what());
  } catch (const unavailable_error& e) {
    throw analysis_error(failure::unavailable, e.what());
  } catch (const budget_error& e) {
    throw analysis_error(failure::out_of_memory, e.what());
  } catch (const std::bad_alloc&) {
    throw host_out_of_memory();
  } catch (const std::exception& e) {
    throw analysis_error(failure::internal, e.what());
  }
}

}  // namespace library

}  // namespace gsofa
