#pragma once

/// Device-wide scan and selection: CUB under nvcc, loops on the emulator.

#include "variants/device/runtime.hpp"

#if defined(__CUDACC__)
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#endif

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Selects the entries that differ from `value`.
struct differs_from {
  std::uint64_t value;
#if defined(__CUDACC__)
  __host__ __device__
#endif
      bool
      operator()(std::uint64_t x) const {
    return x != value;
  }
};

class scanner {
 public:
  /// Allocates the temporary storage for at most `items` items.
  void prepare(offset_t items, memory_budget& budget) {
    selected_ = {budget, "scan_buffer", 1};
#if defined(__CUDACC__)
    std::size_t scan_bytes = 0;
    std::size_t select_bytes = 0;
    std::uint32_t* words = nullptr;
    std::uint64_t* entries = nullptr;
    check(cub::DeviceScan::ExclusiveSum(nullptr, scan_bytes, words, words, items), "scan");
    check(cub::DeviceSelect::If(nullptr, select_bytes, entries, entries, words, items,
                                differs_from{0}),
          "select");
    temporary_ = {budget, "scan_buffer",
                  static_cast<offset_t>(scan_bytes > select_bytes ? scan_bytes : select_bytes)};
#else
    (void)items;
#endif
  }

  /// out[k] = sum of in[0 .. k); returns the sum of all `count` values. in and out have count + 1
  /// places.
  std::uint32_t exclusive_sum(std::uint32_t* in, std::uint32_t* out, std::uint32_t count) {
    fill_bytes(in + count, 0, 1);
    std::uint32_t total = 0;
#if defined(__CUDACC__)
    auto bytes = static_cast<std::size_t>(temporary_.size());
    check(cub::DeviceScan::ExclusiveSum(temporary_.data(), bytes, in, out,
                                        static_cast<offset_t>(count) + 1),
          "scan");
    copy_to_host(&total, out + count, 1);
#else
    for (std::uint32_t k = 0; k <= count; ++k) {
      out[k] = total;
      total += in[k];
    }
#endif
    return total;
  }

  /// Packs the entries of `in` that differ from `value` into `out`; returns their number.
  std::uint32_t select_other_than(std::uint64_t value, const std::uint64_t* in, std::uint64_t* out,
                                  std::uint32_t count) {
    std::uint32_t found = 0;
#if defined(__CUDACC__)
    auto bytes = static_cast<std::size_t>(temporary_.size());
    check(cub::DeviceSelect::If(temporary_.data(), bytes, in, out, selected_.data(),
                                static_cast<offset_t>(count), differs_from{value}),
          "select");
    copy_to_host(&found, selected_.data(), 1);
#else
    for (std::uint32_t k = 0; k < count; ++k) {
      if (in[k] != value) out[found++] = in[k];
    }
#endif
    return found;
  }

  /// Copies `count` entries within the device.
  static void append(std::uint64_t* to, const std::uint64_t* from, std::uint32_t count) {
#if defined(__CUDACC__)
    check(cudaMemcpyAsync(to, from, std::size_t{8} * count, cudaMemcpyDeviceToDevice), "copy");
#else
    std::memcpy(to, from, std::size_t{8} * count);
#endif
  }

 private:
  device_array<std::uint32_t> selected_;
  device_array<unsigned char> temporary_;
};

#endif

}  // namespace gsofa::gpu
