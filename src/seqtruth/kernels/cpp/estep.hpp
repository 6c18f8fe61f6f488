// What annotators, chain and evidence say of the truth; see kernels/estep.py.
#pragma once

#include "recursions.hpp"
#include "views.hpp"

namespace {

// As in kernels/estep.py.
template <class Tag>
struct Heard {
    static constexpr int fields = 7;
    Table table;  // [W * P * C, width], or those of its rows that anybody uses
    In<int32_t> where;  // [W * P * C], where each is, or nothing where all are there
    int64_t n_previous;
    int64_t n_tags;
    Table base;  // [1, width]
    In<float, 2> evidence;
    In<Tag> known;

    INLINE int64_t width() const { return table.shape[1]; }
};

// Which rows of the table one sentence's tags speak through: token i's are rows[ends[i] : ends[i + 1]], its
// annotators in order; missing tags have none.
struct Said {
    Space<int64_t, 1> rows, ends;

    Said(int64_t tags, int64_t longest) : rows(tags), ends(longest + 1) {}
};

template <class Tag>
INLINE int64_t row_of(const CrowdView<Tag>& crowd, int64_t r, int64_t i, int64_t at, int64_t n_previous, int64_t n_tags) {
    int64_t row = crowd.row_annotator[r];
    if (n_previous > 1) {
        int64_t previous = i > 0 ? crowd.tags[at - 1] : -1;
        row = row * n_previous + (previous >= 0 ? previous : crowd.grammar.outside);
    }
    return row * n_tags + crowd.tags[at];
}

// Marks the rows [W * P * C] that the tags of some sentences speak through.
template <class Tag>
void mark_rows(CrowdView<Tag> crowd, int64_t first, int64_t last, int64_t n_previous, int64_t n_tags, Out<bool> used) {
    for (int64_t s = first; s < last; s++) {
        const int64_t n = crowd.length(s);
        int64_t at = crowd.tag_offsets[s];
        for (int64_t r = crowd.sentence_rows[s]; r < crowd.sentence_rows[s + 1]; r++)
            for (int64_t i = 0; i < n; i++, at++)
                if (crowd.tags[at] >= 0) used[row_of(crowd, r, i, at, n_previous, n_tags)] = true;
    }
}

template <class Tag>
INLINE void find_rows(const CrowdView<Tag>& crowd, int64_t s, const Heard<Tag>& heard, const Said& said) {
    const int64_t n = crowd.length(s), first = crowd.sentence_rows[s], last = crowd.sentence_rows[s + 1];
    int64_t found = 0;
    said.ends[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = crowd.tag_offsets[s] + i;
        for (int64_t r = first; r < last; r++, at += n) {
            if (crowd.tags[at] < 0) continue;
            const int64_t row = row_of(crowd, r, i, at, heard.n_previous, heard.n_tags);
            said.rows[found++] = heard.where.size() ? heard.where[row] : row;
        }
        said.ends[i + 1] = found;
    }
}

// Scores of one sentence's tokens: base, what every annotator says, evidence.
template <class Tag>
INLINE void add_evidence(const Heard<Tag>& heard, const Said& said, int64_t at, int64_t n, const Out<double, 2>& scores) {
    const int64_t width = heard.width();
    const double* base = heard.base.row(0);
    for (int64_t i = 0; i < n; i++) {
        const int64_t begin = said.ends[i], end = said.ends[i + 1];
        double* row = scores.row(i);
        for (int64_t b = 0; b < width; b += 4) {
            Four total = load(base + b);
            for (int64_t m = begin; m < end; m++) total += load(heard.table.row(said.rows[m]) + b);
            store(row + b, total);
        }
    }
    if (heard.evidence.size())
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < heard.evidence.shape[1]; k++) scores(i, k) += heard.evidence(at + i, k);
}

// Adds each token's posterior to the rows its tags speak through.
INLINE void add_counts(const Out<double, 2>& q, int64_t n, const Said& said, const Out<double, 2>& counts) {
    const int64_t width = q.shape[1];
    for (int64_t i = 0; i < n; i++) {
        const int64_t begin = said.ends[i], end = said.ends[i + 1];
        const double* row = q.row(i);
        for (int64_t b = 0; b < width; b += 4) {
            Four share = load(row + b);
            for (int64_t m = begin; m < end; m++) {
                double* to = counts.row(said.rows[m]) + b;
                store(to, load(to) + share);
            }
        }
    }
}

// Labels that are known leave no other: its score becomes `low`, on top of what it begins with.
template <class Tag>
INLINE void keep_known(const Heard<Tag>& heard, int64_t a, int64_t n, int64_t n_labels, double low, bool on_base,
                       const Out<double, 2>& scores) {
    if (!heard.known.size()) return;
    for (int64_t i = 0; i < n; i++)
        if (heard.known[a + i] >= 0)
            for (int64_t k = 0; k < n_labels; k++)
                if (k != heard.known[a + i]) scores(i, k) = on_base ? low + heard.base(0, k) : low;
}

// Brings rows to the sum 1; returns Σ log of what they summed up to.
inline double normalise_rows(const Out<double, 2>& q, int64_t n) {
    const int64_t width = q.shape[1];
    double total = 0.0, product = 1.0;
    for (int64_t i = 0; i < n; i++) {
        double scale = total_of(q.row(i), width);
        scale_row(q.row(i), width, 1.0 / scale);
        product *= scale;
        if (!(product < LARGEST_PRODUCT)) {
            total += std::log(product);
            product = 1.0;
        }
    }
    return total + std::log(product);
}

// Posterior [T, L] (or [0, L]), counts as heard.table, pairs [L + 2, width] (start and prior last).
template <class Tag>
double expect(CrowdView<Tag> crowd, int64_t first, int64_t last, Heard<Tag> heard, PaddedChain chain, bool chained,
              Out<float, 2> posterior, Out<double, 2> counts, Out<double, 2> pairs) {
    const int64_t n_labels = chain.n_labels, width = heard.width();
    const int64_t longest = largest_step(crowd.token_offsets, first, last);
    Space<double, 2> q(longest, width);
    SmootherSpace space(longest, width);
    Said said(largest_step(crowd.tag_offsets, first, last), longest);
    double total = 0.0;
    for (int64_t s = first; s < last; s++) {
        const int64_t a = crowd.token_offsets[s], n = crowd.length(s);
        find_rows(crowd, s, heard, said);
        add_evidence(heard, said, a, n, q);
        keep_known(heard, a, n, n_labels, FORBIDDEN, true, q);
        for (int64_t i = 0; i < n; i++) total += exponential_row(q.row(i), width);
        total += chained ? smooth_sentence(q, n, chain, 1.0, space, pairs) : normalise_rows(q, n);
        add_counts(q, n, said, counts);
        for (int64_t i = 0; i < n; i++)
            if (chained || said.ends[i + 1] > said.ends[i]) add_row(pairs.row(n_labels + 1), q.row(i), width, 1.0);
        if (n) add_row(pairs.row(n_labels), q.row(0), width, 1.0);
        if (posterior.size())
            for (int64_t i = 0; i < n; i++)
                for (int64_t k = 0; k < n_labels; k++) posterior(a + i, k) = float(q(i, k));
    }
    return total;
}

template <class Tag>
void best_crowd_paths(CrowdView<Tag> crowd, int64_t first, int64_t last, Heard<Tag> heard, PaddedChain logs,
                      bool chained, Out<Tag> path) {
    const int64_t n_labels = logs.n_labels, width = heard.width();
    const int64_t longest = largest_step(crowd.token_offsets, first, last);
    Space<double, 2> scores(longest, width);
    ViterbiSpace space(longest, width);
    Said said(largest_step(crowd.tag_offsets, first, last), longest);
    for (int64_t s = first; s < last; s++) {
        const int64_t a = crowd.token_offsets[s], n = crowd.length(s);
        find_rows(crowd, s, heard, said);
        add_evidence(heard, said, a, n, scores);
        // more than what the scheme forbids: known tags stay even against it
        keep_known(heard, a, n, n_labels, 4 * FORBIDDEN, false, scores);
        if (chained) {
            viterbi_sentence(scores, n, logs, space, path, a);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            int64_t choice = 0;
            for (int64_t k = 1; k < n_labels; k++)
                if (scores(i, k) > scores(i, choice) + SCORE_TIE) choice = k;
            path[a + i] = Tag(choice);
        }
    }
}

// What all annotators say of each token: Σ_j table[j, previous, tag, ·], into scores [T, L].
template <class Tag>
void add_label_scores(CrowdView<Tag> crowd, int64_t first, int64_t last, In<double, 3> table, int64_t n_previous,
                      Out<double, 2> scores) {
    // table is [W * P, C, L]
    const int64_t outside = crowd.grammar.outside, n_labels = table.shape[2];
    for (int64_t s = first; s < last; s++) {
        const int64_t a = crowd.token_offsets[s], n = crowd.length(s);
        int64_t at = crowd.tag_offsets[s];
        for (int64_t r = crowd.sentence_rows[s]; r < crowd.sentence_rows[s + 1]; r++, at += n) {
            const int64_t annotator = crowd.row_annotator[r];
            int64_t previous = n_previous > 1 ? outside : 0;
            for (int64_t i = 0; i < n; i++) {
                int64_t tag = crowd.tags[at + i];
                if (tag >= 0)
                    for (int64_t k = 0; k < n_labels; k++)
                        scores(a + i, k) += table(annotator * n_previous + previous, tag, k);
                if (n_previous > 1) previous = tag >= 0 ? tag : outside;
            }
        }
    }
}

}  // namespace
