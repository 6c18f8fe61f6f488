// Passes over the bytes of CoNLL text and over its grid of tokens and annotators; see io/formats/conll.
#pragma once

#include "arrays.hpp"

namespace {

int64_t count_lines(U8 buffer) {
    int64_t n = 0;
    for (int64_t i = 0; i < buffer.size(); i++) n += buffer[i] == '\n';
    return n;
}

// Start and end of each line (all end in a line feed), and whether it holds anything visible.
void find_lines(U8 buffer, Out<int64_t> starts, Out<int64_t> ends, Out<bool> filled) {
    int64_t line = 0, start = 0;
    for (int64_t i = 0; i < buffer.size(); i++) {
        if (buffer[i] == '\n') {
            starts[line] = start, ends[line] = i;
            line++, start = i + 1;
        } else if (buffer[i] > ' ') {
            filled[line] = true;
        }
    }
}

// The line's end without the carriage return before the line feed.
INLINE int64_t line_end(const U8& buffer, int64_t start, int64_t end) {
    return end > start && buffer[end - 1] == '\r' ? end - 1 : end;
}

// Number of cells on each of the lines `rows`.
void count_cells(U8 buffer, I64 starts, I64 ends, I64 rows, Bools gap, Out<int64_t> counts) {
    for (int64_t k = 0; k < rows.size(); k++) {
        const int64_t start = starts[rows[k]], end = line_end(buffer, start, ends[rows[k]]);
        bool inside = false;
        int64_t n = 0;
        for (int64_t i = start; i < end; i++) {
            const bool now = !gap[buffer[i]];
            n += now && !inside;
            inside = now;
        }
        counts[k] = n;
    }
}

// First byte of each cell and the one after its last, line after line.
void find_cells(U8 buffer, I64 starts, I64 ends, I64 rows, Bools gap, Out<int64_t> first, Out<int64_t> last) {
    int64_t n = 0;
    for (int64_t k = 0; k < rows.size(); k++) {
        const int64_t start = starts[rows[k]], end = line_end(buffer, start, ends[rows[k]]);
        bool inside = false;
        for (int64_t i = start; i < end; i++) {
            const bool now = !gap[buffer[i]];
            if (now && !inside) first[n] = i;
            if (!now && inside) last[n++] = i;
            inside = now;
        }
        if (inside) last[n++] = end;
    }
}

INLINE bool same_bytes(const U8& buffer, int64_t a, int64_t a_end, int64_t b, int64_t b_end) {
    if (a_end - a != b_end - b) return false;
    while (a < a_end && buffer[a] == buffer[b]) a++, b++;
    return a == a_end;
}

// A number from the bytes (FNV-1a, 32 bits).
INLINE int64_t hash_bytes(const U8& buffer, int64_t first, int64_t last) {
    uint32_t h = 0x811C9DC5u;
    for (int64_t i = first; i < last; i++) h = (h ^ buffer[i]) * 0x01000193u;
    return h ^ (h >> 15);
}

// A number for each cell but those of the first column, equal where the bytes are, into [rows, columns - 1];
// `firsts` gets the first cell that has each number. Returns how many numbers there are.
int64_t number_cells(U8 buffer, I64 first, I64 last, Out<int32_t, 2> codes, Out<int32_t> firsts) {
    const int64_t n_columns = codes.shape[1] + 1;
    Space<int32_t, 1> table(256);
    table.fill(-1);
    int64_t n = 0;
    // where a cell is in the table, or the free place for it
    auto place_of = [&](int64_t c) {
        const int64_t mask = table.size() - 1;
        int64_t slot = hash_bytes(buffer, first[c], last[c]) & mask;
        while (table[slot] >= 0) {
            const int64_t known = firsts[table[slot]];
            if (same_bytes(buffer, first[c], last[c], first[known], last[known])) break;
            slot = (slot + 1) & mask;
        }
        return slot;
    };
    for (int64_t row = 0; row < codes.size(); row++)
        for (int64_t column = 0; column < n_columns - 1; column++) {
            const int64_t c = row * n_columns + column + 1, above = c - n_columns;
            if (row && same_bytes(buffer, first[c], last[c], first[above], last[above])) {
                codes(row, column) = codes(row - 1, column);  // most often what stands above
                continue;
            }
            if (n * 2 > table.size()) {  // make room, and put what is known in its new place
                Space<int32_t, 1> larger(table.size() * 4);
                larger.fill(-1);
                table.swap(larger);
                for (int64_t k = 0; k < n; k++) table[place_of(firsts[k])] = int32_t(k);
            }
            const int64_t slot = place_of(c);
            if (table[slot] < 0) {
                firsts[n] = int32_t(c);
                table[slot] = int32_t(n++);
            }
            codes(row, column) = table[slot];
        }
    return n;
}

// The cells' bytes one after the other; offsets say where each begins.
void copy_cells(U8 buffer, I64 first, I64 offsets, Out<uint8_t> data) {
    for (int64_t c = 0; c + 1 < offsets.size(); c++)
        for (int64_t i = offsets[c]; i < offsets[c + 1]; i++) data[i] = buffer[first[c] + i - offsets[c]];
}

// Who gave any tag, into [sentences, annotators].
void find_seen(I64 offsets, In<int32_t, 2> codes, Out<bool, 2> seen) {
    for (int64_t s = 0; s + 1 < offsets.size(); s++)
        for (int64_t t = offsets[s]; t < offsets[s + 1]; t++)
            for (int64_t w = 0; w < codes.shape[1]; w++)
                if (codes(t, w) >= 0) seen(s, w) = true;
}

// Tags of each row, one row after the other.
void read_columns(I64 offsets, In<int32_t, 2> codes, I64 sentence, I64 annotator, Out<int32_t> tags) {
    int64_t n = 0;
    for (int64_t r = 0; r < sentence.size(); r++)
        for (int64_t t = offsets[sentence[r]]; t < offsets[sentence[r] + 1]; t++) tags[n++] = codes(t, annotator[r]);
}

}  // namespace
