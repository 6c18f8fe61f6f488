// Linear label chains over given scores; see kernels/chain.py.
#pragma once

#include "recursions.hpp"
#include "views.hpp"

namespace {

template <class Score, class Tag>
void best_chain_paths(In<Score, 2> scores, I64 offsets, int64_t first, int64_t last, PaddedChain logs, Out<Tag> tags) {
    const int64_t n_labels = scores.shape[1], width = logs.width(), longest = largest_step(offsets, first, last);
    Space<double, 2> rows(longest, width);
    ViterbiSpace space(longest, width);
    for (int64_t s = first; s < last; s++) {
        int64_t a = offsets[s], n = offsets[s + 1] - a;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < n_labels; k++) rows(i, k) = scores(a + i, k);
        viterbi_sentence(rows, n, logs, space, tags, a);
    }
}

// Marginals [T, L], log normalisers [S], counts [L + 2, width] (start and end last).
template <class Score>
void smooth_chain(In<Score, 2> scores, I64 offsets, int64_t first, int64_t last, PaddedChain chain, F64 weights,
                  Out<float, 2> marginals, Out<double> log_z, Out<double, 2> counts) {
    const int64_t n_labels = chain.n_labels, width = chain.width(), longest = largest_step(offsets, first, last);
    Space<double, 2> q(longest, width);
    SmootherSpace space(longest, width);
    for (int64_t s = first; s < last; s++) {
        int64_t a = offsets[s], n = offsets[s + 1] - a;
        double tops = 0.0;
        for (int64_t i = 0; i < n; i++) {
            double* row = q.row(i);
            for (int64_t k = 0; k < n_labels; k++) row[k] = scores(a + i, k);
            for (int64_t k = n_labels; k < width; k++) row[k] = -INFINITY;
            tops += exponential_row(row, width);
        }
        log_z[s] = tops + smooth_sentence(q, n, chain, weights[s], space, counts);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < n_labels; k++) marginals(a + i, k) = float(q(i, k));
        if (n) {
            add_row(counts.row(n_labels), q.row(0), width, weights[s]);
            add_row(counts.row(n_labels + 1), q.row(n - 1), width, weights[s]);
        }
    }
}

}  // namespace
