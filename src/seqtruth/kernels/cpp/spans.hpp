// Spans of tags and tags of spans, and spans held against a gold standard; see kernels/spans.py and
// kernels/annotator_counts.py.
#pragma once

#include "views.hpp"

namespace {

// What a tag does, whatever letter the scheme uses for it; numbers as in kernels/spans.py.
enum Role : int64_t { OUTSIDE, BEGIN, INSIDE, END, SINGLE, PLAIN };

template <class Column64, class Column32, class Column16>
struct SpanColumns {
    static constexpr int fields = 4;
    Column64 sequence;
    Column32 start;
    Column32 end;
    Column16 type;
};
using Spans = SpanColumns<I64, I32, I16>;
using SpansOut = SpanColumns<Out<int64_t>, Out<int32_t>, Out<int16_t>>;

struct Reading {
    static constexpr int fields = 3;
    I8 roles;
    I16 type_of;
    bool begin_required;
};

// Does a span begin here: conlleval's startOfChunk, written once for all schemes.
INLINE bool opens(int64_t role, int64_t kind, int64_t prev_role, int64_t prev_kind) {
    return role != OUTSIDE && (role == BEGIN || role == SINGLE || role == PLAIN || prev_role == OUTSIDE ||
                               prev_role == END || prev_role == SINGLE || prev_kind != kind);
}

// The spans of n tags, each handed to found(start, end, type); tag_at(i) is the i-th tag, -1 where there is none.
template <class TagAt, class Found>
INLINE void each_span(int64_t n, const Reading& by, TagAt tag_at, Found found) {
    int64_t open_at = -1, open_type = -1, prev_role = OUTSIDE, prev_type = -1;
    for (int64_t i = 0; i <= n; i++) {
        int64_t role = OUTSIDE, type = -1;
        if (i < n) {
            int64_t tag = tag_at(i);
            if (tag >= 0) role = by.roles[tag], type = by.type_of[tag];
        }
        if (role == OUTSIDE && prev_role == OUTSIDE) continue;
        const bool begins = opens(role, type, prev_role, prev_type);
        if (open_at >= 0 && (role == OUTSIDE || begins)) {
            found(open_at, i, open_type);
            open_at = -1;
        }
        if (begins && (!by.begin_required || role == BEGIN || role == SINGLE)) open_at = i, open_type = type;
        prev_role = role, prev_type = type;
    }
}

// Writes the spans of sequences first … last - 1 from place `at` on; returns the place after. Where `out` has no
// room they are only counted.
template <class Tag>
int64_t extract_spans(In<Tag> tags, I64 offsets, int64_t first, int64_t last, Reading by, SpansOut out, int64_t at) {
    const bool write = out.sequence.size() > 0;
    for (int64_t s = first; s < last; s++) {
        const int64_t begin = offsets[s];
        each_span(offsets[s + 1] - begin, by, [&](int64_t i) { return tags[begin + i]; },
                  [&](int64_t start, int64_t end, int64_t type) {
                      if (write) {
                          out.sequence[at] = s, out.type[at] = int16_t(type);
                          out.start[at] = int32_t(start), out.end[at] = int32_t(end);
                      }
                      at++;
                  });
    }
    return at;
}

// Spells spans into tags; of overlapping ones the later wins.
template <class Tag>
void paint_spans(Spans spans, I64 offsets, In<Tag, 2> table, I16 type_of, bool only_if_touching, Out<Tag> tags) {
    for (int64_t n = 0; n < spans.sequence.size(); n++) {
        const int64_t first = offsets[spans.sequence[n]], type = spans.type[n];
        const int64_t a = first + spans.start[n], b = first + spans.end[n];
        for (int64_t i = a; i < b; i++) tags[i] = table(type, INSIDE);
        if (only_if_touching) {
            if (spans.start[n] > 0 && type_of[tags[a - 1]] == type) tags[a] = table(type, BEGIN);
            continue;
        }
        tags[a] = table(type, BEGIN);
        tags[b - 1] = table(type, END);
        if (b - a == 1)
            tags[a] = table(type, SINGLE);
        else if (table(type, END) == table(type, INSIDE))
            tags[b - 1] = table(type, INSIDE);
    }
}

template <class Tag>
struct Gold {
    static constexpr int fields = 3;
    I64 partner;
    In<Tag> tags;
    I64 offsets;
};

// Adds to int64[4, W]: sentences, correct, predicted and gold spans of each annotator. `table` gives the gold's
// numbers of the crowd's labels.
template <class Tag, class GoldTag>
void count_spans(CrowdView<Tag> crowd, int64_t first, int64_t last, In<GoldTag> table, Gold<GoldTag> gold, Reading by,
                 Out<int64_t, 2> out) {
    const int64_t longest = largest_step(crowd.token_offsets, first, last);
    Space<int32_t, 2> wanted(longest, 3), given(longest, 3);
    for (int64_t s = first; s < last; s++) {
        if (gold.partner[s] < 0 || crowd.rows(s) == 0) continue;
        const int64_t n = crowd.length(s), at = gold.offsets[gold.partner[s]];
        auto write = [](const Out<int32_t, 2>& to, int64_t& count) {
            return [&to, &count](int64_t start, int64_t end, int64_t type) {
                to(count, 0) = int32_t(start), to(count, 1) = int32_t(end), to(count, 2) = int32_t(type);
                count++;
            };
        };
        int64_t n_gold = 0;
        bool known = false;
        each_span(n, by,
                  [&](int64_t i) {
                      known = known || gold.tags[at + i] >= 0;
                      return gold.tags[at + i];
                  },
                  write(wanted, n_gold));
        // a row counts where they said anything and there is anything to compare it with
        if (n > 0 && !known) continue;
        int64_t row = crowd.tag_offsets[s];
        for (int64_t r = crowd.sentence_rows[s]; r < crowd.sentence_rows[s + 1]; r++, row += n) {
            int64_t n_given = 0, j = 0;
            bool said = false;
            each_span(n, by,
                      [&](int64_t i) {
                          const Tag tag = crowd.tags[row + i];
                          said = said || tag >= 0;
                          return tag >= 0 ? table[tag] : GoldTag(-1);
                      },
                      write(given, n_given));
            if (n > 0 && !said) continue;
            const int64_t annotator = crowd.row_annotator[r];
            out(0, annotator)++;
            out(3, annotator) += n_gold;
            for (int64_t m = 0; m < n_given; m++) {
                const int32_t start = given(m, 0), end = given(m, 1);
                // what lies on a token without gold cannot be judged
                bool judged = true;
                for (int64_t i = start; i < end; i++) judged = judged && gold.tags[at + i] >= 0;
                if (!judged) continue;
                out(2, annotator)++;
                while (j < n_gold && wanted(j, 0) < start) j++;
                if (j < n_gold && wanted(j, 0) == start)
                    out(1, annotator) += wanted(j, 1) == end && wanted(j, 2) == given(m, 2);
            }
        }
    }
}

}  // namespace
