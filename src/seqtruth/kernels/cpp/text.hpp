// Texts as arrays of characters, cut into tokens; see io/text_batch.py, whose kinds of characters these are.
#pragma once

#include "arrays.hpp"

namespace {

enum Kind : uint8_t { BLANK_KIND, OTHER_KIND, LETTER_KIND, DIGIT_KIND, UNSPACED_KIND, COMPLEX_KIND };

// Whether tokens k and k + 2 are digits and k + 1 is a point or comma between them, without gaps.
INLINE bool joins(const I32& codes, const Out<int64_t>& starts, const Out<int64_t>& ends, const Space<bool, 1>& digits,
                  int64_t k, int64_t n) {
    if (k + 2 >= n || !digits[k] || !digits[k + 2] || ends[k + 1] - starts[k + 1] != 1) return false;
    const int32_t sign = codes[starts[k + 1]];
    return (sign == '.' || sign == ',') && ends[k] == starts[k + 1] && ends[k + 1] == starts[k + 2];
}

// Runs of letters and digits, numbers with points (unless a letter follows that is a token of its own), and all other
// visible characters one by one. Returns how many tokens there are.
int64_t find_tokens(U8 kinds, I32 codes, Out<int64_t> starts, Out<int64_t> ends) {
    int64_t n = 0, n_digits = 0;
    Space<bool, 1> digits(starts.size());
    for (int64_t i = 0; i < kinds.size();) {
        const uint8_t kind = kinds[i];
        if (kind == BLANK_KIND) {
            i++;
            continue;
        }
        starts[n] = i;
        if (kind == LETTER_KIND || kind == DIGIT_KIND) {
            bool all = true;
            while (i < kinds.size() && (kinds[i] == LETTER_KIND || kinds[i] == DIGIT_KIND)) {
                all = all && kinds[i] == DIGIT_KIND;
                i++;
            }
            digits[n] = all, n_digits += all;
        } else {
            i++;
        }
        ends[n++] = i;
    }
    if (n_digits < 2) return n;
    int64_t kept = 0;
    for (int64_t k = 0; k < n; kept++) {
        int64_t last = k;
        while (joins(codes, starts, ends, digits, last, n)) last += 2;
        if (last > k && ends[last] < kinds.size() && kinds[ends[last]] == UNSPACED_KIND) last -= 2;
        starts[kept] = starts[k], ends[kept] = ends[last];
        k = last + 1;
    }
    return kept;
}

// Stretches of characters as UTF-8, one after the other; the bytes of each into `sizes`. Returns how many bytes; -1
// where there is half a surrogate pair.
int64_t encode_stretches(I32 codes, I64 starts, I64 ends, Out<int32_t> sizes, Out<uint8_t> data) {
    int64_t to = 0;
    for (int64_t k = 0; k < starts.size(); k++) {
        const int64_t before = to;
        for (int64_t i = starts[k]; i < ends[k]; i++) {
            const uint32_t c = uint32_t(codes[i]);
            if (c < 0x80) {
                data[to++] = uint8_t(c);
                continue;
            }
            if (c >= 0xD800 && c < 0xE000) return -1;
            if (c < 0x800) {
                data[to++] = uint8_t(0xC0 | c >> 6);
            } else {
                if (c < 0x10000) {
                    data[to++] = uint8_t(0xE0 | c >> 12);
                } else {
                    data[to++] = uint8_t(0xF0 | c >> 18);
                    data[to++] = uint8_t(0x80 | (c >> 12 & 63));
                }
                data[to++] = uint8_t(0x80 | (c >> 6 & 63));
            }
            data[to++] = uint8_t(0x80 | (c & 63));
        }
        sizes[k] = int32_t(to - before);
    }
    return to;
}

}  // namespace
