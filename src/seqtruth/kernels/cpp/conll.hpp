// Passes over the bytes of CoNLL text and over its grid of tokens and annotators; see io/formats/conll.
#pragma once

#include "arrays.hpp"
#include "names.hpp"

namespace {

// The next line feed at or after a place; the buffer's end where there is none.
INLINE int64_t line_feed(const U8& buffer, int64_t from) {
    const void* found = std::memchr(buffer.data + from, '\n', std::size_t(buffer.size() - from));
    return found ? static_cast<const uint8_t*>(found) - buffer.data : buffer.size();
}

int64_t count_lines(U8 buffer) {
    int64_t n = 0;
    for (int64_t i = 0; i < buffer.size(); i++) n += buffer[i] == '\n';
    return n;
}

// Start and end of each line (all end in a line feed), and whether it holds anything visible.
void find_lines(U8 buffer, Out<int64_t> starts, Out<int64_t> ends, Out<bool> filled) {
    for (int64_t line = 0, i = 0; i < buffer.size(); line++) {
        starts[line] = i;
        while (buffer[i] <= ' ' && buffer[i] != '\n') i++;
        filled[line] = buffer[i] != '\n';
        ends[line] = line_feed(buffer, i);
        i = ends[line] + 1;
    }
}

// The first byte that is not UTF-8 (shortest forms, no halves of surrogate pairs, up to U+10FFFF); -1 if all is.
int64_t find_not_utf8(U8 buffer) {
    const int64_t n = buffer.size();
    int64_t i = 0;
    while (i < n) {
        while (i + 8 <= n && !(buffer.word(i) & 0x8080808080808080ULL)) i += 8;
        if (i == n) break;
        const uint8_t c = buffer[i];
        if (c < 0x80) {
            i++;
            continue;
        }
        const int64_t size = c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
        if (!size || i + size > n) return i;
        const uint8_t low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80, high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
        if (buffer[i + 1] < low || buffer[i + 1] > high) return i;
        for (int64_t k = 2; k < size; k++)
            if ((buffer[i + k] & 0xC0) != 0x80) return i;
        i += size;
    }
    return -1;
}

// The line's end without the carriage return before the line feed.
INLINE int64_t line_end(const U8& buffer, int64_t start, int64_t end) {
    return end > start && buffer[end - 1] == '\r' ? end - 1 : end;
}

// Whether the same bytes stand at two places.
INLINE bool same_bytes(const U8& buffer, int64_t a, int64_t b, int64_t size) {
    if (0 < size && size < 8 && a + 8 <= buffer.size() && b + 8 <= buffer.size())
        return !((buffer.word(a) ^ buffer.word(b)) << (64 - 8 * size));
    return !std::memcmp(buffer.data + a, buffer.data + b, std::size_t(size));
}

// Where the cell that begins at a place ends.
INLINE int64_t cell_end(const U8& buffer, const Bools& gap, bool tabbed, int64_t first, int64_t end) {
    if (!tabbed) {
        while (first < end && !gap[buffer[first]]) first++;
        return first;
    }
    const void* found = std::memchr(buffer.data + first, '\t', std::size_t(end - first));
    return found ? static_cast<const uint8_t*>(found) - buffer.data : end;
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

// Reads the cells of the lines `rows`: the first of each to `data` (its size to `sizes`), the others as numbers into
// [rows, columns - 1], equal where the bytes are; `names` and `offsets` get what the numbers stand for. Stops at a line
// with another number of cells than `wanted`; 0 wants only the first. Returns how many lines were read;
// `state` gets the number of names and of bytes in `data`.
int64_t read_cells(U8 buffer, I64 starts, I64 ends, I64 rows, Bools gap, int64_t wanted, Out<int32_t> sizes,
                   Out<uint8_t> data, Out<int32_t, 2> codes, Out<uint8_t> names, Out<int32_t> offsets, Out<int64_t> state) {
    const int64_t n_columns = codes.shape[1];
    const bool tabbed = !gap[' '];  // or a line feed, which no line holds
    Names known(names, offsets);
    int64_t k = 0, n_bytes = 0, tail = 0, tail_size = -1;  // where the line above goes on behind its first cell
    for (; k < rows.size(); k++) {
        const int64_t start = starts[rows[k]], end = line_end(buffer, start, ends[rows[k]]);
        int64_t i = start, cell = -1;
        while (true) {
            while (i < end && gap[buffer[i]]) i++;
            if (i == end || (cell == 0 && !wanted)) break;
            const int64_t first = i;
            i = cell_end(buffer, gap, tabbed && cell < 0, i, end);
            if (++cell == 0) {
                copy_bytes(buffer, first, i - first, data, n_bytes);
                n_bytes += i - first;
                sizes[k] = int32_t(i - first);
                // most often the rest is what stands above
                const bool same = wanted && end - i == tail_size && same_bytes(buffer, i, tail, tail_size);
                tail = i, tail_size = end - i;
                if (!same) continue;
                for (int64_t c = 0; c < n_columns; c++) codes(k, c) = codes(k - 1, c);
                cell = n_columns;
                break;
            } else if (cell <= n_columns) {
                const int32_t above = k ? codes(k - 1, cell - 1) : -1;
                const bool same = above >= 0 && known.is(above, buffer, first, i - first);
                codes(k, cell - 1) = same ? above : known.number(buffer, first, i - first);
            }
        }
        if (wanted ? cell + 1 != wanted : cell < 0) break;
    }
    state[0] = known.n, state[1] = n_bytes;
    return k;
}

// Who gave any tag, into [sentences, annotators].
template <class Number>
void find_seen(I64 offsets, In<Number, 2> codes, Out<bool, 2> seen) {
    for (int64_t s = 0; s + 1 < offsets.size(); s++)
        for (int64_t t = offsets[s]; t < offsets[s + 1]; t++)
            for (int64_t w = 0; w < codes.shape[1]; w++)
                if (codes(t, w) >= 0) seen(s, w) = true;
}

// Which numbers stand in each column, into [columns, numbers + 1]; the last place is for negative ones. Returns how many
// are too large.
template <class Number>
int64_t mark_numbers(In<Number, 2> codes, Out<bool, 2> used) {
    const int64_t last = used.shape[1] - 1;
    int64_t beyond = 0;
    for (int64_t t = 0; t < codes.shape[0]; t++)
        for (int64_t w = 0; w < codes.shape[1]; w++) {
            const int64_t code = codes(t, w);
            beyond += code >= last;
            used(w, code < 0 || code >= last ? last : code) = true;
        }
    return beyond;
}

// Tags of each row, one row after the other.
template <class Number>
void read_columns(I64 offsets, In<Number, 2> codes, I32 sentence, I32 annotator, Out<Number> tags) {
    int64_t n = 0;
    for (int64_t r = 0; r < sentence.size(); r++)
        for (int64_t t = offsets[sentence[r]]; t < offsets[sentence[r] + 1]; t++) tags[n++] = codes(t, annotator[r]);
}

}  // namespace
