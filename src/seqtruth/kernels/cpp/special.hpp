// Functions around Γ; see kernels/special.py. Each is right to some 1e-14.
#pragma once

#include "arrays.hpp"

namespace {

// From here on the series in 1/x are used; what is below is moved up by as much.
constexpr double FAR = 10.0;

// ψ(x), x > 0:  ψ(x) = ψ(x + 10) - Σ_{k<10} 1 / (x + k), that sum as one fraction.
INLINE double digamma_of(double x) {
    double shift = 0.0;
    if (x < FAR) {
        double above = 1.0, below = x;
        for (int k = 1; k < int(FAR); k++) {
            above = above * (x + k) + below;
            below *= x + k;
        }
        shift = above / below;
        x += FAR;
    }
    const double r = 1.0 / x, s = r * r;
    // B_2n / (2n) for n = 8, 7, …
    double series = -3617.0 / 8160;
    series = series * s + 1.0 / 12;
    series = series * s - 691.0 / 32760;
    series = series * s + 1.0 / 132;
    series = series * s - 1.0 / 240;
    series = series * s + 1.0 / 252;
    series = series * s - 1.0 / 120;
    series = series * s + 1.0 / 12;
    return std::log(x) - 0.5 * r - series * s - shift;
}

// log Γ(x), x > 0, likewise.
INLINE double log_gamma_of(double x) {
    double shift = 0.0;
    if (x < FAR) {
        double product = x;
        for (int k = 1; k < int(FAR); k++) product *= x + k;
        shift = std::log(product);
        x += FAR;
    }
    const double r = 1.0 / x, s = r * r;
    // B_2n / (2n (2n - 1)) for n = 7, 6, …
    double series = 1.0 / 156;
    series = series * s - 691.0 / 360360;
    series = series * s + 1.0 / 1188;
    series = series * s - 1.0 / 1680;
    series = series * s + 1.0 / 1260;
    series = series * s - 1.0 / 360;
    series = series * s + 1.0 / 12;
    constexpr double HALF_LOG_2_PI = 0.91893853320467274178;
    return (x - 0.5) * std::log(x) - x + HALF_LOG_2_PI + series * r - shift;
}

// P(a, x), the share of a gamma distribution of shape a below x: its series below the mean, and beyond it the
// continued fraction of what is above (Lentz's method).
inline double gamma_share(double a, double x) {
    if (x <= 0.0) return 0.0;
    const double front = std::exp(a * std::log(x) - x - log_gamma_of(a));
    if (x < a + 1.0) {
        double term = 1.0 / a, total = term;
        for (double k = a + 1.0; term > total * 1e-17; k += 1.0) total += term *= x / k;
        return front * total;
    }
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, fraction = d;
    for (double k = 1.0; k < 1e6; k += 1.0) {
        const double an = -k * (k - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        fraction *= d * c;
        if (std::fabs(d * c - 1.0) < 1e-16) break;
    }
    return 1.0 - front * fraction;
}

// The x with P(a, x) = p, 0 < p < 1: Newton's steps on log x, kept between bounds that close in on it.
inline double gamma_quantile_of(double a, double p) {
    double low = 0.0, high = a + 1.0;
    while (gamma_share(a, high) < p) low = high, high *= 2.0;
    double x = 0.5 * (low + high);
    const double small = std::exp((std::log(p) + log_gamma_of(a + 1.0)) / a);  // P(a, x) ≈ x^a / Γ(a + 1)
    if (small > low && small < x) x = small;
    for (int step = 0; step < 200; step++) {
        const double off = gamma_share(a, x) - p;
        (off > 0.0 ? high : low) = x;
        const double slope = std::exp(a * std::log(x) - x - log_gamma_of(a));  // dP / d log x
        double next = x * std::exp(-off / slope);
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        if (std::fabs(next - x) <= 1e-15 * x) return next;
        x = next;
    }
    return x;
}

void digamma(F64 x, Out<double> out) {
    for (int64_t i = 0; i < x.size(); i++) out[i] = digamma_of(x[i]);
}
void log_gamma(F64 x, Out<double> out) {
    for (int64_t i = 0; i < x.size(); i++) out[i] = log_gamma_of(x[i]);
}
void gamma_quantile(F64 shape, double p, Out<double> out) {
    for (int64_t i = 0; i < shape.size(); i++) out[i] = gamma_quantile_of(shape[i], p);
}

}  // namespace
