// Who wins where labels are equally good; see kernels/ties.py and kernels/random.py.
#pragma once

#include "arrays.hpp"

namespace {

// Keys of sentences from the bytes of their ids (FNV-1a).
void hash_ids(U8 data, I64 offsets, uint64_t salt, Out<uint64_t> keys) {
    for (int64_t s = 0; s < keys.size(); s++) {
        uint64_t value = 14695981039346656037ULL ^ salt;
        for (int64_t i = offsets[s]; i < offsets[s + 1]; i++) value = (value ^ data[i]) * 1099511628211ULL;
        keys[s] = value;
    }
}

// A number below n for place i of the sentence with this key (SplitMix64).
inline int64_t draw(uint64_t key, int64_t i, int64_t n) {
    uint64_t z = key + uint64_t(i + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return int64_t((z ^ (z >> 31)) % uint64_t(n));
}

// Label with the largest of values[L]; near-equal values are a tie for `preference` or the draw.
template <class Tag>
INLINE Tag pick(const double* values, const In<Tag>& preference, bool random, uint64_t key, int64_t i) {
    const int64_t n_labels = preference.size();
    double top = values[0];
    for (int64_t k = 1; k < n_labels; k++) top = most(top, values[k]);
    const double bar = top - SCORE_TIE * most(std::fabs(top), 1e-300);
    int64_t tied = 0;
    for (int64_t k = 0; k < n_labels; k++) tied += values[k] >= bar;
    int64_t chosen = random && tied > 1 ? draw(key, i, tied) : 0;
    for (int64_t place = 0; place < n_labels; place++)
        if (values[preference[place]] >= bar && chosen-- == 0) return preference[place];
    return preference[0];
}

}  // namespace
