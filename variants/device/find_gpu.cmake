# gsofa_find_gpu(): asks the NVIDIA driver which GPUs this machine has. The cache entry GSOFA_GPU becomes the
# list of their compute capabilities without the dot, ascending and without repetition (90; or 80;90), and is
# empty where no GPU answers: no driver, no GPU, an error, or no answer within GSOFA_GPU_SECONDS seconds.
# The next configuration asks again if it is empty, and keeps it otherwise: a build does not lose its kernels
# because a driver is being exchanged.
#
# The program that asks loads libcuda.so.1 by name: neither the toolkit nor nvidia-smi is needed, and containers
# often lack nvidia-smi.
set(gsofa_gpu_probe [[
#include <dlfcn.h>
#include <cstdio>
int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return 1;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  const auto attribute = reinterpret_cast<int (*)(int*, int, int)>(dlsym(driver, "cuDeviceGetAttribute"));
  int devices = 0;
  if (!init || !count || !attribute || init(0) || count(&devices)) return 1;
  for (int device = 0; device < devices; ++device) {
    int major = 0, minor = 0;  // attributes 75 and 76
    if (attribute(&major, 75, device) || attribute(&minor, 76, device)) return 1;
    std::printf("%d;", 10 * major + minor);
  }
}
]])

function(gsofa_find_gpu)
  set(found "${GSOFA_GPU}")
  if(NOT found AND NOT CMAKE_CROSSCOMPILING)
    set(source ${CMAKE_BINARY_DIR}/CMakeFiles/gsofa_gpu_probe.cpp)
    set(program ${CMAKE_BINARY_DIR}/CMakeFiles/gsofa_gpu_probe)
    file(WRITE ${source} "${gsofa_gpu_probe}")
    try_compile(compiled ${CMAKE_BINARY_DIR}/CMakeFiles/gsofa_gpu ${source}
      LINK_LIBRARIES ${CMAKE_DL_LIBS} COPY_FILE ${program} COPY_FILE_ERROR error)
    unset(compiled CACHE)
    if(NOT error AND EXISTS ${program})
      set(seconds 20)
      if(GSOFA_GPU_SECONDS)
        set(seconds ${GSOFA_GPU_SECONDS})
      endif()
      execute_process(COMMAND ${program} TIMEOUT ${seconds} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_QUIET)
      if(failed STREQUAL "0" AND text MATCHES "^([0-9]+;)+$")
        string(REGEX MATCHALL "[0-9]+" found "${text}")
        list(REMOVE_DUPLICATES found)
        list(SORT found COMPARE NATURAL)
      endif()
    endif()
  endif()
  set(GSOFA_GPU "${found}" CACHE INTERNAL "Compute capabilities of the GPUs that answered")
endfunction()

# gsofa_gpu_architectures(out capabilities supported): CMAKE_CUDA_ARCHITECTURES for GPUs of these compute
# capabilities and a compiler that supports those. A GPU that is newer than the compiler gets the newest
# intermediate code (PTX) that is older than the GPU, which the driver compiles; a GPU that is too old for the
# compiler gets nothing.
function(gsofa_gpu_architectures out capabilities supported)
  set(architectures "")
  list(SORT supported COMPARE NATURAL ORDER DESCENDING)
  foreach(capability IN LISTS capabilities)
    foreach(candidate IN LISTS supported)
      if(candidate EQUAL capability)
        list(APPEND architectures ${candidate})
        break()
      elseif(candidate LESS capability)
        list(APPEND architectures ${candidate}-virtual)
        break()
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES architectures)
  set(${out} "${architectures}" PARENT_SCOPE)
endfunction()
