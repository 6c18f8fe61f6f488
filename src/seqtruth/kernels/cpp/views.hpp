// The structs that travel together, as the NamedTuples of kernels/views.py and kernels/grammar.py say.
// Order and types of their fields are those of the NamedTuples.
#pragma once

#include "arrays.hpp"

namespace {

struct Grammar {
    static constexpr int fields = 5;
    Bools start;
    In<bool, 2> allowed;
    Bools end;
    Bools is_entity;
    int64_t outside;
};

template <class Tag>
struct CrowdView {
    static constexpr int fields = 6;
    In<Tag> tags;
    I64 tag_offsets;
    I64 token_offsets;
    I64 sentence_rows;
    I32 row_annotator;
    Grammar grammar;

    INLINE int64_t length(int64_t s) const { return token_offsets[s + 1] - token_offsets[s]; }
    INLINE int64_t rows(int64_t s) const { return sentence_rows[s + 1] - sentence_rows[s]; }
};

// The largest difference of neighbours among offsets first … last, at least 1: the longest sentence by the
// offsets of its tokens, the one with the most rows by those of its rows.
int64_t largest_step(I64 offsets, int64_t first, int64_t last) {
    int64_t found = 1;
    for (int64_t s = first; s < last; s++) found = most(found, offsets[s + 1] - offsets[s]);
    return found;
}

template <class Tag>
void count_labelled(In<Tag> tags, I64 row_offsets, Out<int32_t> out) {
    for (int64_t r = 0; r < out.size(); r++) {
        int32_t n = 0;
        for (int64_t i = row_offsets[r]; i < row_offsets[r + 1]; i++) n += tags[i] >= 0;
        out[r] = n;
    }
}

template <class Tag>
void count_illegal(In<Tag> tags, I64 offsets, Grammar grammar, Out<int64_t> out) {
    for (int64_t s = 0; s + 1 < offsets.size(); s++) {
        int64_t a = offsets[s], b = offsets[s + 1];
        if (a == b) continue;
        out[s] += tags[a] >= 0 && !grammar.start[tags[a]];
        out[s] += tags[b - 1] >= 0 && !grammar.end[tags[b - 1]];
        for (int64_t i = a + 1; i < b; i++)
            out[s] += tags[i - 1] >= 0 && tags[i] >= 0 && !grammar.allowed(tags[i - 1], tags[i]);
    }
}

// Number of forbidden transitions of a path tag[n], Eq inc, sentence start and end included.
template <class Tag>
INLINE int64_t inconsistency(const Array<Tag, 1>& path, int64_t n, const Grammar& grammar) {
    if (n == 0) return 0;
    int64_t found = !grammar.start[path[0]];
    found += !grammar.end[path[n - 1]];
    for (int64_t i = 1; i < n; i++) found += !grammar.allowed(path[i - 1], path[i]);
    return found;
}

}  // namespace
