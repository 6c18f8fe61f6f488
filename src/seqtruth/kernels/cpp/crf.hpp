// What the CRF needs beside forward-backward: sums of rows, and the vector sums of L-BFGS; see predictors/crf.
// Sums are in an order of their own and not BLAS's, so that they are the same on any number of threads.
#pragma once

#include "four.hpp"

namespace {

// The sum of chosen rows of a table, columns `k` to `k + 4 · fours` (each cell a sum in order) into `to`.
template <int fours>
INLINE void add_chosen(const int32_t* chosen, int64_t count, const double* table, int64_t width, double* to) {
    Four total[fours];
    for (int f = 0; f < fours; f++) total[f] = all(0.0);
    for (int64_t n = 0; n < count; n++) {
        const double* row = table + chosen[n] * width;
        for (int f = 0; f < fours; f++) total[f] += load(row + 4 * f);
    }
    for (int f = 0; f < fours; f++) store(to + 4 * f, total[f]);
}

// Row r of `out` is the sum of the rows chosen[start[r] : start[r + 1]] of a table; a cell is a sum in order.
// Twelve columns at a time, so that rows are fetched seldom; the last four may be the same ones once more.
void sum_rows(I64 start, I32 chosen, Table table, int64_t first, int64_t last, Out<double, 2> out) {
    const int64_t width = table.shape[1], fours = width / 4 * 4;
    for (int64_t r = first; r < last; r++) {
        const int64_t begin = start[r], count = start[r + 1] - begin;
        for (int64_t n = begin; n < begin + count; n++) check(chosen[n], table.shape[0]);
        const int32_t* which = chosen.data + begin;
        double* to = out.row(r);
        int64_t k = 0;
        for (; k + 12 <= width; k += 12) add_chosen<3>(which, count, table.data + k, width, to + k);
        for (; k + 8 <= width; k += 8) add_chosen<2>(which, count, table.data + k, width, to + k);
        for (; k + 4 <= width; k += 4) add_chosen<1>(which, count, table.data + k, width, to + k);
        if (k < width && width >= 4) {
            k = width - 4;
            add_chosen<1>(which, count, table.data + k, width, to + k);
            continue;
        }
        for (k = fours; k < width; k++) {
            double total = 0.0;
            for (int64_t n = begin; n < begin + count; n++) total += table(chosen[n], k);
            to[k] = total;
        }
    }
}

void turn_rows(I64 start, I32 chosen, Out<int64_t> place, Out<int32_t> back) {
    for (int64_t r = 0; r + 1 < start.size(); r++)
        for (int64_t n = start[r]; n < start[r + 1]; n++) back[place[chosen[n]]++] = int32_t(r);
}

// (P(y_i = l) - target) · weight of the token.
void residuals(In<float, 2> marginals, Table target, F64 weights, Out<double, 2> out) {
    for (int64_t i = 0; i < weights.size(); i++)
        for (int64_t k = 0; k < target.shape[1]; k++) out(i, k) = (marginals(i, k) - target(i, k)) * weights[i];
}

INLINE double sum_in_order(Four a) { return (a[0] + a[1]) + (a[2] + a[3]); }

// Σ x·y in four interleaved sums, so that the processor need not wait for each.
template <typename Kept>
double dot(In<Kept> x, F64 y) {
    const int64_t size = x.size(), n = size / 4 * 4;
    check(size - 1, y.size() + 1);
    Four total = all(0.0);
    for (int64_t i = 0; i < n; i += 4) total += load(x.data + i) * load(y.data + i);
    for (int64_t i = n; i < size; i++) total[0] += x[i] * y[i];
    return sum_in_order(total);
}

// x + factor · y into `out`, which may be x.
void add_vector(F64 x, double factor, F64 y, Out<double> out) {
    const int64_t size = x.size(), n = size / 4 * 4;
    for (int64_t i = 0; i < n; i += 4) store(out.data + i, load(x.data + i) + all(factor) * load(y.data + i));
    for (int64_t i = n; i < size; i++) out[i] = x[i] + factor * y[i];
}

// (x + factor · y) · scale into `out` (which may be x), and its dot with z.
template <typename Kept, typename Other>
double add_dot(F64 x, double factor, In<Kept> y, double scale, In<Other> z, Out<double> out) {
    const int64_t size = x.size(), n = size / 4 * 4;
    Four total = all(0.0);
    for (int64_t i = 0; i < n; i += 4) {
        Four value = (load(x.data + i) + all(factor) * load(y.data + i)) * all(scale), other = load(z.data + i);
        store(out.data + i, value);
        total += value * other;
    }
    for (int64_t i = n; i < size; i++) {
        const double value = (x[i] + factor * y[i]) * scale, other = z[i];
        out[i] = value;
        total[0] += value * other;
    }
    return sum_in_order(total);
}

// new - x and new_gradient - gradient, as exact as they are kept; change · turn and turn · turn into `products`.
// Keeps the new gradient.
template <typename Kept>
void differences(F64 x, F64 new_x, Out<double> gradient, F64 new_gradient, Out<Kept> change, Out<Kept> turn,
                 Out<double> products) {
    const int64_t size = x.size(), n = size / 4 * 4;
    Four curvature = all(0.0), sharpness = all(0.0);
    for (int64_t i = 0; i < n; i += 4) {
        const Four now = load(new_gradient.data + i);
        const Four step = load(new_x.data + i) - load(x.data + i), bend = now - load(gradient.data + i);
        store(change.data + i, step);
        store(turn.data + i, bend);
        store(gradient.data + i, now);
        curvature += step * bend;
        sharpness += bend * bend;
    }
    for (int64_t i = n; i < size; i++) {
        const double step = new_x[i] - x[i], bend = new_gradient[i] - gradient[i];
        change[i] = Kept(step);
        turn[i] = Kept(bend);
        gradient[i] = new_gradient[i];
        curvature[0] += step * bend;
        sharpness[0] += bend * bend;
    }
    products[0] = sum_in_order(curvature);
    products[1] = sum_in_order(sharpness);
}

}  // namespace
