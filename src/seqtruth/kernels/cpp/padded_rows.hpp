// Arithmetic on rows of label scores that are padded to a multiple of four: `width` numbers from a pointer on.
#pragma once

#include "four.hpp"

namespace {

constexpr double LOG2_E = 1.4426950408889634;
// exp of less is taken as 0 (in powers of two; next to the smallest normal number).
constexpr double LEAST_EXPONENT = -1021.0;

// row += factor · other
INLINE void add_row(double* row, const double* other, int64_t width, double factor) {
    Four f = all(factor);
    for (int64_t b = 0; b < width; b += 4) store(row + b, multiply_add(f, load(other + b), load(row + b)));
}

INLINE void scale_row(double* row, int64_t width, double factor) {
    Four f = all(factor);
    for (int64_t b = 0; b < width; b += 4) store(row + b, f * load(row + b));
}

// out = factor · row ∘ other; returns its sum.
INLINE double multiply_row(const double* row, const double* other, double factor, double* out, int64_t width) {
    Four f = all(factor), total = all(0.0);
    for (int64_t b = 0; b < width; b += 4) {
        Four value = f * load(row + b) * load(other + b);
        total += value;
        store(out + b, value);
    }
    return sum(total);
}

INLINE double total_of(const double* row, int64_t width) {
    Four total = all(0.0);
    for (int64_t b = 0; b < width; b += 4) total += load(row + b);
    return sum(total);
}

INLINE double top_of(const double* row, int64_t width) {
    Four top = all(-INFINITY);
    for (int64_t b = 0; b < width; b += 4) {
        Four value = load(row + b);
        top = where_greater(value, top, value, top);
    }
    return largest(top);
}

// Replaces a row by exp(score - largest score); returns the largest score.
//
// With x = k + f, |f| ≤ 1/2, 2^x is a polynomial of f times 2^k. Right to 1e-13.
INLINE double exponential_row(double* row, int64_t width) {
    double top = top_of(row, width);
    Four least = all(LEAST_EXPONENT), shift = all(ROUNDING_SHIFT);
    for (int64_t b = 0; b < width; b += 4) {
        Four x = (load(row + b) + all(-top)) * all(LOG2_E);
        Four near = where_greater(least, x, least, x);
        Four k = near + shift;
        Four f = near - (k - shift);
        // ln(2)^n / n! for n = 11, 10, …
        Four p = multiply_add(all(4.44553827187081e-10), f, all(7.054911620801121e-09));
        p = multiply_add(p, f, all(1.0178086009239696e-07));
        p = multiply_add(p, f, all(1.3215486790144305e-06));
        p = multiply_add(p, f, all(1.5252733804059838e-05));
        p = multiply_add(p, f, all(0.00015403530393381606));
        p = multiply_add(p, f, all(0.0013333558146428441));
        p = multiply_add(p, f, all(0.009618129107628477));
        p = multiply_add(p, f, all(0.055504108664821576));
        p = multiply_add(p, f, all(0.2402265069591007));
        p = multiply_add(p, f, all(0.6931471805599453));
        p = multiply_add(p, f, all(1.0));
        store(row + b, where_greater(least, x, all(0.0), p * power_of_two(k)));
    }
    return top;
}

// out[k] = factor · Σ_j row[j] matrix[j, k], over n_labels of the matrix's rows.
INLINE void multiply_matrix(const double* row, const double* matrix, int64_t n_labels, double factor,
                            double* out, int64_t width) {
    for (int64_t b = 0; b < width; b += 4) {
        Four even = all(0.0), odd = all(0.0);
        int64_t j = 0;
        for (; j + 1 < n_labels; j += 2) {
            even = multiply_add(all(row[j]), load(matrix + j * width + b), even);
            odd = multiply_add(all(row[j + 1]), load(matrix + (j + 1) * width + b), odd);
        }
        if (j < n_labels) even = multiply_add(all(row[j]), load(matrix + j * width + b), even);
        store(out + b, all(factor) * (even + odd));
    }
}

// For the tests, which hold each against NumPy.
void add_to_row(Out<double, 2> rows, int64_t r, Table others, int64_t o, double factor) {
    add_row(rows.row(r), others.row(o), rows.shape[1], factor);
}
double multiply_rows(Table rows, int64_t r, Table others, int64_t o, double factor, Out<double, 2> out, int64_t to) {
    return multiply_row(rows.row(r), others.row(o), factor, out.row(to), rows.shape[1]);
}
double row_total(Table rows, int64_t r) { return total_of(rows.row(r), rows.shape[1]); }
double exponentiate_row(Out<double, 2> rows, int64_t r) { return exponential_row(rows.row(r), rows.shape[1]); }

}  // namespace
