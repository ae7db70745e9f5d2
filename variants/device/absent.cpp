// What the GPU variants answer in a build without GPU code.
#if !defined(GSOFA_EMULATE_GPU) && !defined(GSOFA_BUILD_CUDA)

#include "variants/device/gpu_variants.hpp"

namespace gsofa::gpu {

std::optional<std::string> unavailable() { return "built without CUDA (nvcc was not found)"; }
std::optional<std::string> unavailable_to_races() { return unavailable(); }

namespace {

std::unique_ptr<variant> refuse() { throw unavailable_error("GPU variant: " + *unavailable()); }

}  // namespace

std::unique_ptr<variant> make_maxid(const maxid_config&) { return refuse(); }
std::unique_ptr<variant> make_distributed_maxid() { return refuse(); }
std::unique_ptr<variant> make_fill2_naive(const fill2_naive_config&) { return refuse(); }
std::unique_ptr<variant> make_maxid_tuned() { return refuse(); }
std::unique_ptr<variant> make_fill2_bitparallel() { return refuse(); }
std::unique_ptr<variant> make_bitmap_panels() { return refuse(); }

}  // namespace gsofa::gpu

#endif
