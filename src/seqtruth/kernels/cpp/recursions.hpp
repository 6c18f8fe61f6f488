// The recursions of a label chain on one sentence: filter, smoother, best path. They work on padded rows, in
// work space that their callers keep from one sentence to the next.
#pragma once

#include "padded_rows.hpp"

namespace {

// Totals below are multiplied by LIFT_FACTOR before their reciprocal is taken.
constexpr double LEAST_TOTAL = 1e-290, LIFT_FACTOR = 0x1p600;
// Filtered probabilities below count as 0.
constexpr double LEAST_FILTERED = 1e-305;
// Factors within these bounds are multiplied up, and one logarithm is taken of many.
constexpr double LARGEST_FACTOR = 1e60, LARGEST_PRODUCT = 1e240;
// Logarithm of what is forbidden; finite, so that a forbidden path still has an order.
constexpr double FORBIDDEN = -1e9;

// As in kernels/chain.py.
struct PaddedChain {
    static constexpr int fields = 5;
    Table start;        // [1, width]
    Table transition;   // [width, width], (from, to)
    Table transposed;   // (to, from)
    Table end;
    int64_t n_labels;

    INLINE int64_t width() const { return start.shape[1]; }
};

// Work space for sentences of up to `longest` tokens.
struct SmootherSpace {
    Space<double, 2> alpha;    // filtered weights
    Space<double, 1> inverse;  // 1 / their sums
    Space<double, 2> beta;

    SmootherSpace(int64_t longest, int64_t width) : alpha(longest, width), inverse(longest), beta(2, width) {}
};

struct ViterbiSpace {
    Space<double, 2> best, back;

    ViterbiSpace(int64_t longest, int64_t width) : best(2, width), back(longest, width) {}
};

// Filtered weights α_i = e_i ∘ (α_{i-1} · A) / c_{i-1} and 1/c_i, c_i = Σ α_i; Σ_i log c_i.
//
// Where nothing can follow (c_i = 0), the chain is ignored at that token: α_i = e_i.
inline double filter_sentence(const Out<double, 2>& e, int64_t n, const PaddedChain& chain,
                              const SmootherSpace& space) {
    const int64_t width = chain.width();
    double total = 0.0, product = 1.0;
    for (int64_t i = 0; i < n; i++) {
        double *alpha = space.alpha.row(i), *weights = e.row(i), scale;
        if (i == 0) {
            scale = multiply_row(chain.start.row(0), weights, 1.0, alpha, width);
        } else {
            multiply_matrix(space.alpha.row(i - 1), chain.transition.data, chain.n_labels, space.inverse[i - 1],
                            alpha, width);
            scale = multiply_row(alpha, weights, 1.0, alpha, width);
        }
        if (scale <= 0.0) {
            scale = total_of(weights, width);
            std::memcpy(alpha, weights, sizeof(double) * width);
        }
        if (scale < LEAST_TOTAL) {
            scale_row(alpha, width, LIFT_FACTOR);
            scale_row(weights, width, LIFT_FACTOR);
            scale *= LIFT_FACTOR;
            total -= std::log(LIFT_FACTOR);
        }
        space.inverse[i] = 1.0 / scale;
        if (1.0 / LARGEST_FACTOR < scale && scale < LARGEST_FACTOR) {
            product *= scale;
            if (!(1.0 / LARGEST_PRODUCT < product && product < LARGEST_PRODUCT)) {
                total += std::log(product);
                product = 1.0;
            }
        } else {
            total += std::log(scale);
        }
    }
    return total + std::log(product);
}

// onward = e ∘ beta / c, then e = alpha ∘ beta / c; returns the sum of e.
//
// Labels that cannot be reached have no part in `onward`, where they would only grow without bound.
INLINE double backward_row(double* e, const double* alpha, double inverse, const double* beta, double* onward,
                           int64_t width) {
    Four f = all(inverse), total = all(0.0);
    for (int64_t b = 0; b < width; b += 4) {
        Four reached = f * load(alpha + b), back = load(beta + b);
        Four step = f * load(e + b) * back;
        store(onward + b, where_greater(reached, all(LEAST_FILTERED), step, all(0.0)));
        Four both = reached * back;
        total += both;
        store(e + b, both);
    }
    return sum(total);
}

// Replaces the weights e[:n] of one sentence by its marginals; returns its log normaliser.
//
// Scaled recursions (Rabiner 1989): β_{i-1} = A · (e_i ∘ β_i) / c_i,  q_i = α_i ∘ β_i / c_i, with α and c
// from filter_sentence. Adds `weight` · α_{i-1}[j] (e_i ∘ β_i / c_i)[k] to pairs(j, k): expected transitions,
// once multiplied by A[j, k].
inline double smooth_sentence(const Out<double, 2>& e, int64_t n, const PaddedChain& chain, double weight,
                              const SmootherSpace& space, const Out<double, 2>& pairs) {
    if (n == 0) return 0.0;
    const int64_t width = chain.width();
    double *beta = space.beta.row(0), *onward = space.beta.row(1);
    const double* end = chain.end.row(0);
    double total = filter_sentence(e, n, chain, space);
    double scale = multiply_row(space.alpha.row(n - 1), end, space.inverse[n - 1], beta, width);
    if (scale > 0.0) total += std::log(scale);
    for (int64_t k = 0; k < width; k++) beta[k] = scale > 0.0 ? end[k] / scale : 1.0;
    for (int64_t i = n - 1; i >= 0; i--) {
        double *q = e.row(i), *alpha = space.alpha.row(i), inverse = space.inverse[i];
        scale = backward_row(q, alpha, inverse, beta, onward, width);
        if (scale >= LEAST_TOTAL) {
            scale_row(q, width, 1.0 / scale);
        } else {
            for (int64_t k = 0; k < width; k++) q[k] = scale > 0.0 ? q[k] / scale : alpha[k] * inverse;
        }
        if (i > 0) {
            const double *before = space.alpha.row(i - 1), factor = weight * space.inverse[i - 1];
            for (int64_t j = 0; j < chain.n_labels; j++) add_row(pairs.row(j), onward, width, before[j] * factor);
            multiply_matrix(onward, chain.transposed.data, chain.n_labels, 1.0, beta, width);
        }
    }
    return total;
}

// One sentence's best path into tags[at : at + n]; ties go to the label that comes first.
// `scores` and `logs` are logarithms.
template <class Tag>
void viterbi_sentence(const Array<double, 2>& scores, int64_t n, const PaddedChain& logs,
                      const ViterbiSpace& space, const Out<Tag>& tags, int64_t at) {
    if (n == 0) return;
    const int64_t width = logs.width(), n_labels = logs.n_labels;
    const double *start = logs.start.row(0), *end = logs.end.row(0), *trans = logs.transition.data;
    const Four tie = all(SCORE_TIE);
    for (int64_t k = 0; k < width; k++) space.best(0, k) = start[k] + scores(0, k);
    for (int64_t i = 1; i < n; i++) {
        const double* before = space.best.row(1 - (i & 1));
        double *now = space.best.row(i & 1), *back = space.back.row(i);
        const double* score = scores.row(i);
        for (int64_t b = 0; b < width; b += 4) {
            Four top = all(before[0]) + load(trans + b), source = all(0.0);
            for (int64_t j = 1; j < n_labels; j++) {
                Four value = all(before[j]) + load(trans + j * width + b), bar = top + tie;
                source = where_greater(value, bar, all(double(j)), source);
                top = where_greater(value, bar, value, top);
            }
            store(now + b, top + load(score + b));
            store(back + b, source);
        }
    }
    const double* last = space.best.row((n - 1) & 1);
    int64_t choice = 0;
    for (int64_t k = 1; k < n_labels; k++)
        if (last[k] + end[k] > last[choice] + end[choice] + SCORE_TIE) choice = k;
    tags[at + n - 1] = Tag(choice);
    for (int64_t i = n - 1; i > 0; i--) {
        choice = int64_t(space.back(i, choice));
        tags[at + i - 1] = Tag(choice);
    }
}

}  // namespace
