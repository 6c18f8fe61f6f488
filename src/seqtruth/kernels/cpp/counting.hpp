// Counts over rows of tags: confirmations and silence (kernels/confirmation.py), pairs of labels (kernels/tags.py),
// and labels on marked tokens (methods/marked.py, methods/dependence.py).
#pragma once

#include "views.hpp"

namespace {

struct Confirmations {
    static constexpr int fields = 5;
    Out<int64_t, 3> asked;
    Out<int64_t, 3> given;
    Out<int64_t, 2> claims;
    Out<int64_t> labelled;
    Out<int64_t> marked;
};

template <class Tag>
void count_confirmations(CrowdView<Tag> crowd, int64_t first, int64_t last, I16 type_of, Bools counted, Confirmations out) {
    Space<int64_t, 1> support(out.claims.shape[1]), named(out.claims.shape[1]);
    for (int64_t s = first; s < last; s++) {
        const int64_t n = crowd.length(s), begin = crowd.tag_offsets[s], row = crowd.sentence_rows[s], n_rows = crowd.rows(s);
        for (int64_t i = 0; i < n; i++) {
            int64_t n_named = 0, total = 0;
            for (int64_t r = 0; r < n_rows; r++) {
                const Tag tag = crowd.tags[begin + r * n + i];
                const int64_t who = crowd.row_annotator[row + r];
                out.labelled[who] += tag >= 0;
                if (tag < 0 || type_of[tag] < 0) continue;
                const int64_t kind = type_of[tag];
                out.claims(who, kind)++;
                if (!counted[who]) continue;
                if (support[kind]++ == 0) named[n_named++] = kind;
                total++;
            }
            if (n_named == 0) continue;
            out.marked[0]++;
            for (int64_t r = 0; r < n_rows; r++) {
                const Tag tag = crowd.tags[begin + r * n + i];
                const int64_t who = crowd.row_annotator[row + r];
                if (tag < 0 || !counted[who]) continue;
                out.marked[1]++;
                for (int64_t x = 0; x < n_named; x++) {
                    const bool mine = type_of[tag] == named[x];
                    const int64_t others = support[named[x]] - mine;
                    if (others <= 0 || total != others + mine) continue;  // somebody claims another type
                    out.asked(who, named[x], least<int64_t>(others, 2) - 1)++;
                    out.given(who, named[x], least<int64_t>(others, 2) - 1) += mine;
                }
            }
            for (int64_t x = 0; x < n_named; x++) support[named[x]] = 0;
        }
    }
}

template <class Tag>
void drop_silence(CrowdView<Tag> crowd, int64_t first, int64_t last, I16 type_of, In<bool, 2> silent, Out<Tag> tags,
                  Out<bool, 2> allowed) {
    Space<int64_t, 1> claimed(silent.shape[1] + 1);
    for (int64_t s = first; s < last; s++) {
        const int64_t a = crowd.token_offsets[s], n = crowd.length(s);
        const int64_t begin = crowd.tag_offsets[s], row = crowd.sentence_rows[s], n_rows = crowd.rows(s);
        for (int64_t i = 0; i < n; i++) {
            int64_t n_claimed = 0;
            bool seen = false;
            for (int64_t r = 0; r < n_rows; r++) {
                const Tag tag = crowd.tags[begin + r * n + i];
                seen = seen || tag >= 0;
                if (tag < 0 || type_of[tag] < 0) continue;
                bool known = false;
                for (int64_t x = 0; x < n_claimed; x++) known = known || claimed[x] == type_of[tag];
                if (!known) claimed[n_claimed++] = type_of[tag];
            }
            if (n_claimed == 0) {
                if (seen && allowed.size())
                    for (int64_t c = 0; c < type_of.size(); c++) allowed(a + i, c) = type_of[c] < 0;
                continue;
            }
            bool named = true;
            for (int64_t r = 0; r < n_rows; r++) {
                const int64_t at = begin + r * n + i;
                if (crowd.tags[at] < 0 || type_of[crowd.tags[at]] >= 0) continue;
                bool denies = false;
                for (int64_t x = 0; x < n_claimed; x++)
                    denies = denies || !silent(crowd.row_annotator[row + r], claimed[x]);
                if (denies)
                    named = false;
                else
                    tags[at] = -1;
            }
            if (!named || !allowed.size()) continue;
            for (int64_t c = 0; c < type_of.size(); c++) {
                allowed(a + i, c) = false;
                for (int64_t x = 0; x < n_claimed; x++)
                    if (type_of[c] == claimed[x]) allowed(a + i, c) = true;
            }
        }
    }
}

// How often a label stands after another one, into int64[L + 1, L].
template <class Number>
void count_pairs(In<Number> tags, I64 row_offsets, Out<int64_t, 2> pairs) {
    const int64_t n_labels = pairs.shape[1];
    for (int64_t r = 0; r + 1 < row_offsets.size(); r++) {
        int64_t before = n_labels;
        for (int64_t i = row_offsets[r]; i < row_offsets[r + 1]; i++) {
            if (tags[i] >= 0) pairs(before, tags[i])++;
            before = tags[i] >= 0 ? tags[i] : n_labels;
        }
    }
}

template <class Number, class Tag>
void recode(In<Number> tags, In<Tag> table, Out<Tag> out) {
    for (int64_t i = 0; i < tags.size(); i++) out[i] = tags[i] >= 0 ? table[tags[i]] : Tag(-1);
}

template <class Number>
void count_given(In<Number> tags, I64 row_offsets, I32 row_annotator, Out<int64_t> given) {
    for (int64_t r = 0; r < row_annotator.size(); r++)
        for (int64_t i = row_offsets[r]; i < row_offsets[r + 1]; i++) given[row_annotator[r]] += tags[i] >= 0;
}

template <class Tag>
struct Labels {
    static constexpr int fields = 4;
    I64 token;
    I32 annotator;
    In<Tag> previous;
    In<Tag> tag;
};

// Adds table[annotator, previous, tag, ·] of every label to [A, L]; the table is [W * P, C, L].
template <class Tag>
void add_marked_evidence(Labels<Tag> labels, In<double, 3> table, int64_t n_previous, Out<double, 2> out) {
    for (int64_t m = 0; m < labels.token.size(); m++) {
        const int64_t before = n_previous > 1 ? labels.previous[m] : 0;
        for (int64_t k = 0; k < out.shape[1]; k++)
            out(labels.token[m], k) += table(labels.annotator[m] * n_previous + before, labels.tag[m], k);
    }
}

// Adds posteriors [A, L] to [W, L, L], the truth first.
template <class Tag>
void add_marked_counts(Labels<Tag> labels, Table posterior, Out<double, 3> out) {
    for (int64_t m = 0; m < labels.token.size(); m++)
        for (int64_t k = 0; k < posterior.shape[1]; k++)
            out(labels.annotator[m], k, labels.tag[m]) += posterior(labels.token[m], k);
}

// Labels sorted by token, `starts` where each token's begin; adds to [4, W, W], see methods/dependence.py.
template <class Tag>
void add_dependence(I32 annotator, In<Tag> tag, I64 starts, int64_t outside, Out<double, 3> counts) {
    for (int64_t t = 0; t + 1 < starts.size(); t++) {
        const int64_t a = starts[t], b = starts[t + 1];
        bool agreed = true;  // all who mark the token mark it alike
        int64_t first = -1;
        for (int64_t z = a; z < b; z++) {
            if (tag[z] == outside) continue;
            if (first >= 0 && tag[z] != first) agreed = false;
            first = tag[z];
        }
        for (int64_t x = a; x < b; x++)
            for (int64_t y = x + 1; y < b; y++) {
                if (tag[x] == outside && tag[y] == outside) continue;
                const int64_t p = annotator[x], q = annotator[y];
                const bool alike = tag[x] == tag[y];
                counts(0, p, q) += 1;
                counts(1, p, q) += alike;
                if (agreed || tag[x] == outside || tag[y] == outside) continue;
                bool third = alike;  // somebody differs, and it is neither of the two
                for (int64_t z = a; z < b && !third; z++)
                    third = z != x && z != y && tag[z] != outside;  // they contradict one of two who differ
                if (third) {
                    counts(2, p, q) += 1;
                    counts(3, p, q) += alike;
                }
            }
    }
}

// Labels sorted by token, `starts` where each token's begin, `wrong` how likely each label is an error, and the tokens'
// posteriors [A, L]; adds to [L, W, W] and [2, W, W], see methods/accord/relatives.py.
template <class Tag>
void add_kinship(I32 annotator, In<Tag> tag, In<double> wrong, I64 starts, Table posterior, Out<double, 3> both,
                 Out<double, 3> counts) {
    for (int64_t t = 0; t + 1 < starts.size(); t++)
        for (int64_t x = starts[t]; x < starts[t + 1]; x++)
            for (int64_t y = starts[t]; y < starts[t + 1]; y++) {
                if (x == y) continue;
                const int64_t p = annotator[x], q = annotator[y];
                for (int64_t k = 0; k < posterior.shape[1]; k++) both(k, p, q) += posterior(t, k);
                if (tag[x] == tag[y]) counts(0, p, q) += wrong[x] < wrong[y] ? wrong[x] : wrong[y];
                counts(1, p, q) += wrong[x];
            }
}

}  // namespace
