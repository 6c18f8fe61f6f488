// Ends of sentences; see io/sentences.py, whose rules these are.
#pragma once

#include "arrays.hpp"

namespace {

// What a character may mean for the end of a sentence: it ends one where a blank follows, or whatever follows; it closes a
// quotation; it is a full stop; a sentence goes on with it; it is a letter; it may stand in an abbreviation; it is blank.
enum Sign : uint8_t {
    END_SIGN = 1, WIDE_END_SIGN = 2, CLOSING_SIGN = 4, STOP_SIGN = 8, GOING_ON_SIGN = 16, LETTER_SIGN = 32, WORD_SIGN = 64,
    BLANK_SIGN = 128
};

// The first place from i on without such a sign.
INLINE int64_t after_signs(const U8& signs, int64_t i, uint8_t sign) {
    while (i < signs.size() && signs[i] & sign) i++;
    return i;
}

// Where the word before a full stop begins, if it is not longer than an abbreviation; else -1.
INLINE int64_t short_word(const U8& signs, int64_t stop, int64_t long_word, int64_t longest) {
    int64_t first = stop;
    while (stop - first < long_word && first > 0 && signs[first - 1] & LETTER_SIGN) first--;
    if (stop - first == long_word) return -1;
    while (stop - first < longest && first > 0 && signs[first - 1] & WORD_SIGN) first--;
    while (first < stop && signs[first] & STOP_SIGN) first++;
    return first < stop && stop - first < long_word ? first : -1;
}

// Places where sentences end, unless a short word before a full stop is an abbreviation: where that word begins (-1: there
// is none), where the signs of the end begin, and where the text goes on behind them and blanks. Returns how many.
int64_t find_ends(U8 signs, int64_t long_word, int64_t longest, Out<int64_t, 2> found) {
    const int64_t size = signs.size();
    int64_t n = 0;
    for (int64_t i = 0; i < size;) {
        while (i + 8 <= size && !(signs.word(i) & EACH_BYTE * (END_SIGN | WIDE_END_SIGN))) i += 8;
        while (i < size && !(signs[i] & (END_SIGN | WIDE_END_SIGN))) i++;
        if (i == size) break;
        const int64_t start = i;
        const bool wide = signs[i] & WIDE_END_SIGN;
        i = after_signs(signs, i, wide ? WIDE_END_SIGN : END_SIGN);
        const int64_t closed = after_signs(signs, i, CLOSING_SIGN), end = after_signs(signs, closed, BLANK_SIGN);
        if (end == size || (!wide && (end == closed || signs[end] & GOING_ON_SIGN))) continue;
        const bool asked = !wide && signs[start] & STOP_SIGN && signs[start + 1] & BLANK_SIGN;
        found(n, 0) = asked ? short_word(signs, start, long_word, longest) : -1;
        found(n, 1) = start, found(n++, 2) = end;
    }
    return n;
}

}  // namespace
