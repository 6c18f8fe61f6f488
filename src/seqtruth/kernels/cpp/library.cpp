// The doors of the library: which kernels there are, for the machine that this runs on.
#include <cstdint>

#if defined(_WIN32)
#define DOOR extern "C" __declspec(dllexport)
#else
#define DOOR extern "C" __attribute__((visibility("default")))
#endif

extern "C" const void* seqtruth_kernels_plain(int64_t* n);
#ifdef SEQTRUTH_WIDER
extern "C" const void* seqtruth_kernels_avx2(int64_t* n);
#endif

// The digest of the sources that this was built from, and how.
DOOR const char* seqtruth_build() { return SEQTRUTH_BUILD; }

// A table of `n` kernels (struct Kernel in binding.hpp), for the widest vectors of this machine. `plain` asks for
// those that run anywhere.
DOOR const void* seqtruth_kernels(int plain, int64_t* n) {
#ifdef SEQTRUTH_WIDER
    if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return seqtruth_kernels_avx2(n);
#endif
    (void)plain;
    return seqtruth_kernels_plain(n);
}
