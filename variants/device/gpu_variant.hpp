#pragma once

/// The header that the file of a GPU variant includes first. The file, a .cu, is compiled by nvcc,
/// by the host compiler with GSOFA_EMULATE_GPU (simt.hpp), and in builds without either as a host
/// source that has the registration alone, so that the variant is listed with the reason why it
/// cannot run:
///
///     #include "variants/device/gpu_variant.hpp"
///     #if defined(GSOFA_GPU)
///     namespace gsofa::gpu { namespace { ... kernels, class my_idea final : public variant ... }}
///     #endif
///     GSOFA_REGISTER_VARIANT({.name = "gpu_my_idea", .device = "gpu", ...,
///                             .unavailable = gsofa::gpu::unavailable,
///                             .create = GSOFA_GPU_CREATE(my_idea)});

#include <optional>
#include <string>

#include "common/variant.hpp"
#include "variants/device/simt.hpp"

namespace gsofa::gpu {

/// Why GPU variants cannot run in this build or on this machine; nullopt if they can.
std::optional<std::string> unavailable();
/// The same for a planted race of plain loads and stores, which the emulator shows only while it
/// switches threads at loads and stores.
std::optional<std::string> unavailable_to_races();

/// The option memory_budget_mb, with this name and meaning in all GPU variants.
option_spec memory_budget_option();

/// Throws unavailable_error: this build has no GPU code.
[[noreturn]] void refuse();

}  // namespace gsofa::gpu

/// A function that makes a variant of a class of gsofa::gpu, from what follows the class.
#if defined(GSOFA_GPU)
#define GSOFA_GPU_CREATE(type, ...)                           \
  []() -> std::unique_ptr<::gsofa::variant> {                 \
    return std::make_unique<::gsofa::gpu::type>(__VA_ARGS__); \
  }
#else
#define GSOFA_GPU_CREATE(...) []() -> std::unique_ptr<::gsofa::variant> { ::gsofa::gpu::refuse(); }
#endif
