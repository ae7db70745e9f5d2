#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "harness/soak/cases.hpp"

namespace gsofa::soak {

// Each attack is a function of the seed and the number of the case; it throws fault.

/// Calls every function of the C interface with a random pattern and random options and compares
/// what it gives with dense elimination; then with arguments that it must refuse.
void attack_c_interface(std::uint64_t seed, std::uint64_t number, const abilities& can);

/// Names of the functions of the C interface that this process has called through
/// attack_c_interface().
std::set<std::string> functions_called();

}  // namespace gsofa::soak
