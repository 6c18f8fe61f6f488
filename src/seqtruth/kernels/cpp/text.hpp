// Texts as UTF-8 and as kinds of characters, cut into tokens; see io/text_batch.py, whose kinds these are.
#pragma once

#include "arrays.hpp"

namespace {

enum Kind : uint8_t { BREAK_KIND, BLANK_KIND, OTHER_KIND, POINT_KIND, LETTER_KIND, DIGIT_KIND, UNSPACED_KIND, COMPLEX_KIND };

constexpr uint64_t HIGH_BITS = EACH_BYTE * 0x80;

// Whether a byte goes on with the character before it.
INLINE bool goes_on(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// The number of each character of UTF-8 in `table`, which has one for every code point. Returns how many there are.
int64_t look_up(U8 data, U8 table, Out<uint8_t> found) {
    const int64_t size = data.size();
    int64_t n = 0;
    for (int64_t i = 0; i < size;) {
        while (i + 8 <= size && !(data.word(i) & HIGH_BITS))
            for (const int64_t end = i + 8; i < end; i++) found[n++] = table[data[i]];
        if (i == size) break;
        const uint8_t c = data[i++];
        int64_t point = c < 0x80 ? c : c < 0xE0 ? c & 31 : c < 0xF0 ? c & 15 : c & 7;
        for (; i < size && goes_on(data[i]); i++) point = point << 6 | (data[i] & 63);
        found[n++] = table[point];
    }
    return n;
}

INLINE bool in_word(uint8_t kind) { return (kind & ~1) == LETTER_KIND; }  // or a digit

// Where letters and digits end that begin at a place; the last character is blank.
INLINE int64_t word_end(const U8& kinds, int64_t i) {
    for (; i + 8 <= kinds.size(); i += 8) {
        const uint64_t others = (kinds.word(i) ^ EACH_BYTE * LETTER_KIND) & EACH_BYTE * 0xFE;
        if (others) return i + (__builtin_ctzll(others) >> 3);
    }
    while (in_word(kinds[i])) i++;
    return i;
}

// Where a number ends whose first digits end at `end`: points and commas between digits belong to it, unless a letter
// follows that is a token of its own.
INLINE int64_t number_end(const U8& kinds, int64_t end) {
    int64_t before = end;
    while (kinds[end] == POINT_KIND && kinds[end + 1] == DIGIT_KIND) {
        int64_t next = end + 1;
        while (kinds[next] == DIGIT_KIND) next++;
        if (kinds[next] == LETTER_KIND) break;
        before = end, end = next;
    }
    return kinds[end] == UNSPACED_KIND ? before : end;
}

// Runs of letters and digits, numbers with points, and all other visible characters one by one; the last character is
// blank. Returns how many tokens there are.
int64_t find_tokens(U8 kinds, Out<int64_t> starts, Out<int64_t> ends) {
    int64_t n = 0;
    for (int64_t i = 0; i < kinds.size();) {
        const uint8_t kind = kinds[i];
        if (kind <= BLANK_KIND) {
            i++;
            continue;
        }
        starts[n] = i;
        if (kind == DIGIT_KIND)
            while (kinds[i] == DIGIT_KIND) i++;
        if (in_word(kinds[i]))
            i = word_end(kinds, i);
        else
            i = kind == DIGIT_KIND ? number_end(kinds, i) : i + 1;
        ends[n++] = i;
    }
    return n;
}

// Bytes of a word that go on with a character: they have their highest bit, and not the next one.
INLINE int64_t count_going_on(uint64_t word) { return __builtin_popcountll(word & ~(word << 1) & HIGH_BITS); }

template <class Bytes>
INLINE int64_t count_characters(const Bytes& data, int64_t first, int64_t end) {
    int64_t n = end - first;
    for (; first + 8 <= end; first += 8) n -= count_going_on(data.word(first));
    for (; first < end; first++) n -= goes_on(data[first]);
    return n;
}

// Walks over UTF-8 from character to character.
struct CharacterWalk {
    U8 data;
    int64_t byte = 0, character = 0;

    // The byte at which a character begins that does not lie before the last one asked for.
    INLINE int64_t to(int64_t wanted) {
        const int64_t steps = wanted - character;
        if (steps < 8 && byte + 8 <= data.size() && !(data.word(byte) & HIGH_BITS & ((uint64_t(1) << 8 * steps) - 1))) {
            character = wanted;
            return byte += steps;
        }
        while (wanted - character >= 8 && byte + 8 <= data.size()) {
            character += 8 - count_going_on(data.word(byte));
            byte += 8;
        }
        // the words may end inside of a character, which counts already
        while (byte < data.size() && goes_on(data[byte])) byte++;
        for (; character < wanted; character++)
            for (byte++; byte < data.size() && goes_on(data[byte]);) byte++;
        return byte;
    }
};

// Stretches of characters, in ascending order, one after the other; the bytes of each into `sizes`. Returns how many
// bytes.
int64_t copy_stretches(U8 data, I64 starts, I64 ends, Out<int32_t> sizes, Out<uint8_t> out) {
    CharacterWalk walk{data};
    int64_t to = 0;
    for (int64_t k = 0; k < starts.size(); k++) {
        const int64_t first = walk.to(starts[k]), size = walk.to(ends[k]) - first;
        copy_bytes(data, first, size, out, to);
        sizes[k] = int32_t(size);
        to += size;
    }
    return to;
}

// How many numbers of an ordered column are less than a value, looked for from a guess.
INLINE int64_t count_less(const I64& column, int64_t value, int64_t guess) {
    const int64_t n = column.size();
    int64_t low = guess - 1, high = guess, step = 1;  // column[low] < value <= column[high], in the end
    if (guess < n && column[guess] < value) {
        for (low = guess, high = guess + 1; high < n && column[high] < value; step *= 2) low = high, high += step;
        high = least(high, n);
    } else {
        for (; low >= 0 && column[low] >= value; step *= 2) high = low, low -= step;
        low = most(low, int64_t(-1));
    }
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        (column[middle] < value ? low : high) = middle;
    }
    return high;
}

// Spans (opinion, start, end, node) of characters as (row, first token, token after the last, node), tokens counted in
// their sentence; those of an opinion lie near each other. `first_row` is the row of an opinion's text in sentence 0, if
// all sentences had one, and `rows` the numbers of those rows that there are.
void place_spans(I64 token_starts, I64 tokens_of, I64 first_row, I64 rows, In<int64_t, 2> spans, Out<int32_t, 2> out) {
    int64_t first = 0, sentence = 0;
    for (int64_t k = 0; k < spans.size(); k++) {
        first = count_less(token_starts, spans(k, 1), first);
        sentence = count_less(tokens_of, first + 1, sentence);
        const int64_t zero = tokens_of[sentence - 1];
        out(k, 0) = int32_t(rows[first_row[spans(k, 0)] + sentence - 1]);
        out(k, 1) = int32_t(first - zero);
        out(k, 2) = int32_t(count_less(token_starts, spans(k, 2), first) - zero);
        out(k, 3) = int32_t(spans(k, 3));
    }
}

}  // namespace
