// Four numbers at a time, in a vector register or two of them, whatever the machine has.
//
// The compiler does not by itself see that short loops over labels could use vector registers (for all it
// knows, the arrays may overlap), and it must not change the order of sums. So the kernels say it.
#pragma once

#include "arrays.hpp"

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace {

typedef double Four __attribute__((vector_size(32)));
typedef float FourFloats __attribute__((vector_size(16)));
typedef int64_t FourLongs __attribute__((vector_size(32)));

INLINE Four load(const double* from) {
    Four found;
    std::memcpy(&found, from, sizeof found);
    return found;
}

INLINE void store(double* to, Four value) { std::memcpy(to, &value, sizeof value); }

// The same of numbers kept in single precision.
INLINE Four load(const float* from) {
    FourFloats found;
    std::memcpy(&found, from, sizeof found);
    return __builtin_convertvector(found, Four);
}

INLINE void store(float* to, Four value) {
    FourFloats rounded = __builtin_convertvector(value, FourFloats);
    std::memcpy(to, &rounded, sizeof rounded);
}

INLINE Four all(double value) { return Four{value, value, value, value}; }

// a · b + c, in one instruction where the machine has it.
INLINE Four multiply_add(Four a, Four b, Four c) {
#if defined(__FMA__)
    return Four(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
#elif defined(__aarch64__)
    return Four{__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1]),
                __builtin_fma(a[2], b[2], c[2]), __builtin_fma(a[3], b[3], c[3])};
#else
    return a * b + c;
#endif
}

// yes where a > b, no elsewhere (also where either is not a number).
INLINE Four where_greater(Four a, Four b, Four yes, Four no) { return a > b ? yes : no; }

INLINE double sum(Four a) { return (a[0] + a[2]) + (a[1] + a[3]); }

INLINE double largest(Four a) {
    double even = a[0] > a[2] ? a[0] : a[2], odd = a[1] > a[3] ? a[1] : a[3];
    return even > odd ? even : odd;
}

// Adding this to a number leaves it, rounded, in the lowest bits.
constexpr double ROUNDING_SHIFT = 6755399441055744.0;

// 2^k of k + ROUNDING_SHIFT: k put where a number has its exponent.
INLINE Four power_of_two(Four shifted) { return Four((FourLongs(shifted) + 1023) << 52); }

}  // namespace
