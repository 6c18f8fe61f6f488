// Annotators held against each other; see kernels/agreement.py for what is counted.
#pragma once

#include "spans.hpp"

namespace {

struct Mute {
    static constexpr int fields = 4;
    int64_t outside;
    In<bool, 2> on;
    Bools any;
    bool some;
};

struct TokenSums {  // [G, L], [G], [G], [G, 2], [G, L]
    static constexpr int fields = 5;
    Out<double, 2> pairable;
    Out<double> disagreement;
    Out<double> agreement;
    Out<double, 2> tokens;
    Out<double, 2> share;
};

struct TypedTokenSums {  // the same with an axis of types in between: [G, K, 2], [G, K] …
    static constexpr int fields = 5;
    Out<double, 3> pairable;
    Out<double, 2> disagreement;
    Out<double, 2> agreement;
    Out<double, 3> tokens;
    Out<double, 3> share;
};

template <class Tag>
void count_tokens(CrowdView<Tag> crowd, I16 type_of, I64 unit, Mute mute, TokenSums whole, TypedTokenSums typed) {
    const int64_t n_labels = whole.share.shape[1], n_types = typed.share.shape[1];
    Space<int64_t, 1> counts(n_labels), of_type(n_types), unheard(n_types);
    for (int64_t s = 0; s + 1 < crowd.sentence_rows.size(); s++) {
        const int64_t n = crowd.length(s), g = unit[s];
        for (int64_t i = 0; i < n; i++) {
            counts.fill(0), of_type.fill(0), unheard.fill(0);
            int64_t votes = 0, labels = 0, at = crowd.tag_offsets[s] + i;
            for (int64_t r = crowd.sentence_rows[s]; r < crowd.sentence_rows[s + 1]; r++, at += n) {
                const int64_t tag = crowd.tags[at];
                if (tag < 0) continue;
                labels++;
                if (type_of[tag] >= 0) of_type[type_of[tag]]++;
                if (mute.some && tag == mute.outside) {
                    const int64_t w = crowd.row_annotator[r];
                    for (int64_t k = 0; k < n_types; k++) unheard[k] += mute.on(w, k);
                    if (mute.any[w]) continue;
                }
                counts[tag]++;
                votes++;
            }
            if (labels == 0) continue;
            int64_t squares = 0;
            for (int64_t c = 0; c < n_labels; c++) {
                if (counts[c] == 0) continue;
                squares += counts[c] * counts[c];
                whole.share(g, c) += double(counts[c]) / double(votes);
                if (votes >= 2) whole.pairable(g, c) += double(counts[c]);
            }
            whole.tokens(g, 0) += votes > 0;
            if (votes >= 2) {
                whole.tokens(g, 1) += 1;
                whole.disagreement[g] += double(votes * votes - squares) / double(votes - 1);
                whole.agreement[g] += double(squares - votes) / double(votes * (votes - 1));
            }
            for (int64_t k = 0; k < n_types; k++) {
                const int64_t others = labels - unheard[k];
                if (others == 0) continue;
                const double yes = double(of_type[k]), m = double(others);
                typed.tokens(g, k, 0) += 1;
                typed.share(g, k, 0) += yes / m;
                typed.share(g, k, 1) += 1 - yes / m;
                if (others < 2) continue;
                const double apart = 2.0 * yes * (m - yes);
                typed.tokens(g, k, 1) += 1;
                typed.pairable(g, k, 0) += yes;
                typed.pairable(g, k, 1) += m - yes;
                typed.disagreement(g, k) += apart / (m - 1);
                typed.agreement(g, k) += 1 - apart / (m * (m - 1));
            }
        }
    }
}

struct RowPairs {
    static constexpr int fields = 3;
    I64 left;
    I64 right;
    I64 cell;
};

struct PairSums {
    static constexpr int fields = 6;
    Out<double> tokens;
    Out<double> agree;
    Out<double, 3> margins;
    Out<double, 2> typed_tokens;
    Out<double, 2> typed_agree;
    Out<double, 3> typed;
};

template <class Tag>
void compare_rows(CrowdView<Tag> crowd, I64 row_offsets, I16 type_of, RowPairs both, Mute mute, PairSums out) {
    const int64_t n_types = out.typed.shape[2];
    for (int64_t p = 0; p < both.left.size(); p++) {
        const int64_t e = both.cell[p], left = both.left[p], right = both.right[p];
        const int64_t a = row_offsets[left], b = row_offsets[right], n = row_offsets[left + 1] - a;
        const int64_t v = crowd.row_annotator[left], w = crowd.row_annotator[right];
        const bool some = mute.some && (mute.any[v] || mute.any[w]);
        int64_t n_both = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t x = crowd.tags[a + i], y = crowd.tags[b + i];
            if (x < 0 || y < 0) continue;
            const int64_t kx = type_of[x], ky = type_of[y];
            if (kx >= 0) out.typed(e, 0, kx) += 1;
            if (ky >= 0) {
                out.typed(e, 1, ky) += 1;
                if (kx == ky) out.typed_agree(e, kx) += 1;
            }
            if (some) {
                const bool quiet_v = x == mute.outside, quiet_w = y == mute.outside;
                for (int64_t k = 0; k < n_types; k++) {
                    if ((quiet_v && mute.on(v, k)) || (quiet_w && mute.on(w, k))) {
                        // what the other says of the type was said to nobody
                        out.typed(e, 0, k) -= kx == k;
                        out.typed(e, 1, k) -= ky == k;
                    } else {
                        out.typed_tokens(e, k) += 1;
                    }
                }
                if ((quiet_v && mute.any[v]) || (quiet_w && mute.any[w])) continue;
            }
            n_both++;
            out.margins(e, 0, x) += 1;
            out.margins(e, 1, y) += 1;
            out.agree[e] += x == y;
        }
        out.tokens[e] += double(n_both);
        for (int64_t k = 0; !some && k < n_types; k++) out.typed_tokens(e, k) += double(n_both);
    }
}

// Every span i of one row of each pair, both ways round, with those of the other row that touch it: calls
// found(pair, side, other row, i, first, last) where first … last - 1 are the other's spans that overlap it.
template <class Found>
INLINE void each_meeting(const Spans& spans, const I64& row_spans, const RowPairs& both, Found found) {
    for (int64_t p = 0; p < both.left.size(); p++)
        for (int side = 0; side < 2; side++) {
            const int64_t mine = side ? both.right[p] : both.left[p], other = side ? both.left[p] : both.right[p];
            int64_t j = row_spans[other];
            const int64_t end = row_spans[other + 1];
            for (int64_t i = row_spans[mine]; i < row_spans[mine + 1]; i++) {
                while (j < end && spans.end[j] <= spans.start[i]) j++;
                int64_t last = j;
                while (last < end && spans.start[last] < spans.end[i]) last++;
                found(p, side, other, i, j, last);
            }
        }
}

struct SpanSums {
    static constexpr int fields = 4;
    Out<double, 3> found;
    Out<double, 2> same;
    Out<double, 3> covered;
    Out<double> same_ends;
};

template <class Tag>
void compare_spans(CrowdView<Tag> crowd, I64 row_offsets, Spans spans, I64 row_spans, RowPairs both, Mute mute, SpanSums out) {
    each_meeting(spans, row_spans, both, [&](int64_t p, int side, int64_t other, int64_t i, int64_t first, int64_t last) {
        const int64_t e = both.cell[p], kind = spans.type[i], start = spans.start[i], end = spans.end[i];
        int64_t covered = 0;
        for (int64_t h = first; h < last; h++) {
            if (spans.type[h] == kind) covered += least<int64_t>(spans.end[h], end) - most<int64_t>(spans.start[h], start);
            if (side == 0 && spans.start[h] == start && spans.end[h] == end) {
                out.same_ends[e] += 1;
                out.same(e, kind) += spans.type[h] == kind;
            }
        }
        const bool touched = last > first;
        bool said = touched || !mute.on(crowd.row_annotator[other], kind);
        for (int64_t t = start; !touched && t < end; t++) said = said && crowd.tags[row_offsets[other] + t] >= 0;
        if (!said) return;
        out.found(e, side, kind) += 1;
        out.covered(e, side, kind) += double(covered) / double(end - start);
    });
}

void unitising_differences(Spans spans, I64 row_spans, I64 row_sentence, RowPairs both, In<bool, 2> heard, In<int64_t, 2> voices,
                           I64 unit, Out<double, 2> out) {
    auto square = [](int64_t x) { return double(x * x); };
    each_meeting(spans, row_spans, both, [&](int64_t p, int side, int64_t other, int64_t i, int64_t first, int64_t last) {
        const int64_t s = row_sentence[both.left[p]], kind = spans.type[i], start = spans.start[i], end = spans.end[i];
        if (!heard(other, kind)) return;
        bool met = false;
        double apart = 0.0;
        for (int64_t h = first; h < last; h++) {
            if (spans.type[h] != kind) continue;
            met = true;
            if (side == 0) apart += square(spans.start[h] - start) + square(spans.end[h] - end);
        }
        if (!met) apart = square(end - start);
        out(unit[s], kind) += 2 * apart / double(voices(s, kind) - 1);
    });
}

// A sparse table (its cells by row and column) times a full one: out[row] += value · table[column].
void add_scaled_rows(I64 row, I64 column, F64 value, Table table, Out<double, 2> out) {
    for (int64_t n = 0; n < row.size(); n++) {
        double* to = out.row(row[n]);
        const double *from = table.row(column[n]), factor = value[n];
        for (int64_t k = 0; k < table.shape[1]; k++) to[k] += factor * from[k];
    }
}

struct Walk {
    static constexpr int fields = 4;
    I64 row;
    I64 unit;
    I64 length;
    Bools goes_on;
};

struct Lengths {
    static constexpr int fields = 3;
    Out<double, 3> units;
    Out<double, 3> gaps;
    Out<double, 3> gap_sum;

    void close(int64_t unit, int64_t kind, int64_t length) const {
        if (length <= 0) return;
        const int64_t place = least(length, units.shape[2] - 1);
        gaps(unit, kind, place) += 1;
        gap_sum(unit, kind, place) += double(length);
    }
};

void count_lengths(Walk walk, Spans spans, I64 row_spans, In<bool, 2> heard, Lengths out) {
    const int64_t n_types = out.units.shape[1], n = walk.row.size();
    Space<int64_t, 1> open_gap(n_types);
    for (int64_t at = 0; at < n; at++) {
        const int64_t unit = walk.unit[at], length = walk.length[at], row = walk.row[at];
        for (int64_t k = 0; k < n_types; k++) {
            if (!walk.goes_on[at]) {
                if (at > 0) out.close(walk.unit[at - 1], k, open_gap[k]);
                open_gap[k] = 0;
            }
            if (heard(at, k)) {
                open_gap[k] += length;
            } else {
                out.close(unit, k, open_gap[k]);
                open_gap[k] = 0;
            }
        }
        for (int64_t i = row_spans[row]; i < row_spans[row + 1]; i++) {
            const int64_t k = spans.type[i], start = spans.start[i], end = spans.end[i];
            if (!heard(at, k)) continue;
            // the gap so far counted the whole row: what lies behind this span's start is not in it
            out.close(unit, k, open_gap[k] - (length - start));
            open_gap[k] = length - end;
            out.units(unit, k, end - start) += 1;
        }
    }
    for (int64_t k = 0; n > 0 && k < n_types; k++) out.close(walk.unit[n - 1], k, open_gap[k]);
}

}  // namespace
