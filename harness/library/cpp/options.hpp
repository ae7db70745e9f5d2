#pragma once

#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "common/types.hpp"
#include "common/variant.hpp"
#include "gsofa/gsofa.hpp"

namespace gsofa::library {

inline constexpr const char* device_order = "gpu_nested_dissection";
/// The variant that orders as device_order and finds L and U, all on the device.
inline constexpr const char* device_analysis = "gpu_full_analysis";

/// Throws invalid_input for the first option that is out of range or contradicts another one, and
/// analysis_error (unavailable) for an order that this machine lacks.
void check_options(const analysis_options& o, index_t n);

/// The order in the notation of find_order(). Throws invalid_input.
std::string order_name(const order_choice& order);
const order_info& info_of_device_order();
/// The method of options.order with its options, and with options.purpose if it is automatic.
order_request request_of(const analysis_options& options);
/// The purpose of a pattern in device memory.
inline order_purpose purpose_there(order_purpose p) {
  if (p.kind == factorization_kind::automatic) p.kind = factorization_kind::gpu;
  return p;
}
/// Whether the automatic order of n rows is device_order with orders::options_on_device.
bool is_for_device_order(const analysis_options& options, index_t n);

int host_threads(const analysis_options& options);
/// Whether the result needs the supernodes of columns.
bool needs_supernodes_of_columns(const analysis_options& o);
want_set wants_of(const analysis_options& options);

/// Whether a caller may name the variant: it is exact, complete, in one process, and takes the
/// order of its input.
bool is_public(const variant_info& v);
/// The variant of NAME or NAME:OPTION=VALUE,...; throws invalid_input if none of this name is
/// public.
const variant_info& public_variant(std::string_view text);
/// The variants to try, in this order. Throws invalid_input and analysis_error (unavailable).
std::vector<const variant_info*> choose_variants(const analysis_options& options);

run_settings settings_for(const variant_info& info, const analysis_options& options);

}  // namespace gsofa::library
