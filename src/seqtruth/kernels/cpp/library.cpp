// The doors of the library: which kernels there are, for the machine that this runs on.
#include <cstdint>

#if defined(_WIN32)
#define DOOR extern "C" __declspec(dllexport)
#else
#define DOOR extern "C" __attribute__((visibility("default")))
#endif

extern "C" const void* seqtruth_kernels_plain(int64_t* n);
#ifdef SEQTRUTH_WIDER
#include <cpuid.h>

extern "C" const void* seqtruth_kernels_avx2(int64_t* n);

// Asked of the processor itself: __builtin_cpu_supports needs a symbol that Zig's runtime does not have.
static bool has_avx2() {
    unsigned a, b, c, d, low, high;
    constexpr unsigned FMA = 1u << 12, OSXSAVE = 1u << 27, AVX = 1u << 28;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (FMA | OSXSAVE | AVX)) != (FMA | OSXSAVE | AVX)) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6) return false;  // the system keeps the wide registers
    constexpr unsigned BMI = 1u << 3, AVX2 = 1u << 5, BMI2 = 1u << 8;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (BMI | AVX2 | BMI2)) == (BMI | AVX2 | BMI2);
}
#endif

// The digest of the sources that this was built from, and how.
DOOR const char* seqtruth_build() { return SEQTRUTH_BUILD; }

// A table of `n` kernels (struct Kernel in binding.hpp), for the widest vectors of this machine. `plain` asks for
// those that run anywhere.
DOOR const void* seqtruth_kernels(int plain, int64_t* n) {
#ifdef SEQTRUTH_WIDER
    if (!plain && has_avx2()) return seqtruth_kernels_avx2(n);
#endif
    (void)plain;
    return seqtruth_kernels_plain(n);
}
