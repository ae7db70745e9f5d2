#pragma once

/// The first include of a GPU variant's file. nvcc compiles the .cu file for the GPU; the host
/// compiler compiles it for the emulator (GSOFA_EMULATE_GPU, simt.hpp); a build with neither
/// compiles only the registration, so that the variant is listed with the reason why it cannot run:
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
/// unavailable() for planted races of plain loads and stores: the emulator shows such a race only
/// while it switches threads at loads and stores.
std::optional<std::string> unavailable_to_races();

/// The option memory_budget_mb, with this name and meaning in all GPU variants.
option_spec memory_budget_option();

/// Throws unavailable_error: this build has no GPU code.
[[noreturn]] void refuse();

}  // namespace gsofa::gpu

/// A function that creates a variant of class gsofa::gpu::type; the remaining arguments go to its
/// constructor.
#if defined(GSOFA_GPU)
#define GSOFA_GPU_CREATE(type, ...)                           \
  []() -> std::unique_ptr<::gsofa::variant> {                 \
    return std::make_unique<::gsofa::gpu::type>(__VA_ARGS__); \
  }
/// A function that makes a variant by evaluating an expression.
#define GSOFA_GPU_MAKE(...) \
  []() -> std::unique_ptr<::gsofa::variant> { return __VA_ARGS__; }
#else
#define GSOFA_GPU_MAKE(...) GSOFA_GPU_CREATE()
#define GSOFA_GPU_CREATE(...) []() -> std::unique_ptr<::gsofa::variant> { ::gsofa::gpu::refuse(); }
#endif
