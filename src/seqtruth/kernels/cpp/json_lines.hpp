// Records of JSON lines into columns; see io/json_blocks.py.
//
// Only records that are as most are: anything else (a key that is not known or stands twice, a wrong type, an empty
// token, a number of tags that differs) ends the run before that line, and Python reads it, or says what is wrong
// with it. The buffer ends in a line feed, which no value may hold, so that looking at the next byte is always safe.
#pragma once

#include "arrays.hpp"
#include "names.hpp"
#include "text.hpp"

namespace {

// Walks over one line; `good` is false from the first thing that is not as it should be.
struct JsonCursor {
    U8 buffer;
    int64_t at;
    bool good = true;

    INLINE uint8_t next() const { return buffer[at]; }
    INLINE void blanks() {
        while (next() == ' ' || next() == '\t' || next() == '\r') at++;
    }
    // Whether this sign comes now, after blanks; it is then passed.
    INLINE bool take(uint8_t sign) {
        blanks();
        if (next() != sign) return false;
        at++;
        return true;
    }
    INLINE void need(uint8_t sign) { good = take(sign) && good; }

    bool word(const char* text) {
        int64_t i = 0;
        while (text[i] && buffer[at + i] == uint8_t(text[i])) i++;  // a line feed stops it
        if (text[i]) return false;
        at += i;
        return true;
    }

    int64_t hex() {
        int64_t value = 0;
        for (int k = 0; k < 4; k++, at++) {
            const uint8_t c = next();
            const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
            if (digit < 0) {
                good = false;
                return 0;
            }
            value = value * 16 + digit;
        }
        return value;
    }

    static int64_t put(const Out<uint8_t>& out, int64_t to, int64_t point) {
        if (point < 0x80) {
            out[to++] = uint8_t(point);
        } else if (point < 0x800) {
            out[to++] = uint8_t(0xC0 | point >> 6);
            out[to++] = uint8_t(0x80 | (point & 63));
        } else if (point < 0x10000) {
            out[to++] = uint8_t(0xE0 | point >> 12);
            out[to++] = uint8_t(0x80 | (point >> 6 & 63));
            out[to++] = uint8_t(0x80 | (point & 63));
        } else {
            out[to++] = uint8_t(0xF0 | point >> 18);
            out[to++] = uint8_t(0x80 | (point >> 12 & 63));
            out[to++] = uint8_t(0x80 | (point >> 6 & 63));
            out[to++] = uint8_t(0x80 | (point & 63));
        }
        return to;
    }

    // What stands after a backslash, as UTF-8.
    int64_t escaped(const Out<uint8_t>& out, int64_t to) {
        const uint8_t c = next();
        at++;
        switch (c) {
            case '"': case '\\': case '/': out[to++] = c; return to;
            case 'n': out[to++] = '\n'; return to;
            case 't': out[to++] = '\t'; return to;
            case 'r': out[to++] = '\r'; return to;
            case 'b': out[to++] = '\b'; return to;
            case 'f': out[to++] = '\f'; return to;
            case 'u': break;
            default: good = false, at--; return to;
        }
        int64_t point = hex();
        if (good && point >= 0xD800 && point < 0xE000) {
            if (point >= 0xDC00 || next() != '\\' || buffer[at + 1] != 'u') return good = false, to;
            at += 2;
            const int64_t low = hex();
            if (low < 0xDC00 || low >= 0xE000) return good = false, to;
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        }
        return put(out, to, point);
    }

    // Bytes of a string up to its end or what else has to be looked at, eight at once while there is room; returns where
    // they end in `out`.
    INLINE int64_t plain_bytes(const Out<uint8_t>& out, int64_t to) {
        const U8 from = buffer;
        int64_t i = at;
        for (; i + 8 <= from.size() && to + 8 <= out.size(); i += 8, to += 8) {
            const uint64_t word = from.word(i), quotes = word ^ EACH_BYTE * '"', slashes = word ^ EACH_BYTE * '\\';
            // the lowest bit found is right; those above it may be borrows
            const uint64_t found = (((quotes - EACH_BYTE) & ~quotes) | ((slashes - EACH_BYTE) & ~slashes) |
                                    ((word - EACH_BYTE * 0x20) & ~word)) & EACH_BYTE * 0x80;
            out.set_word(to, word);
            if (found) {
                const int64_t n = __builtin_ctzll(found) >> 3;
                at = i + n;
                return to + n;
            }
        }
        at = i;
        return to;
    }

    // A string's bytes to `out` from `to` on, behind which nothing stands yet; returns where they end. The opening quote
    // comes now.
    INLINE int64_t string(const Out<uint8_t>& out, int64_t to) {
        need('"');
        while (good) {
            to = plain_bytes(out, to);
            const uint8_t c = next();
            if (c == '"') {
                at++;
                break;
            }
            if (c < 0x20) {
                good = false;
            } else if (c == '\\') {
                at++;
                to = escaped(out, to);
            } else {
                out[to++] = c;
                at++;
            }
        }
        return to;
    }

    // A whole number of at most 18 digits, without sign.
    int64_t whole() {
        blanks();
        int64_t value = 0;
        const int64_t first = at;
        while (next() >= '0' && next() <= '9' && at - first < 18) value = value * 10 + (next() - '0'), at++;
        const uint8_t c = next();
        const bool more = (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E';
        if (at == first || more || (buffer[first] == '0' && at - first > 1)) good = false;
        return value;
    }
};

// Keys that records have; what else there is, Python looks at.
enum Key {
    ID_KEY, DOC_KEY, SCHEME_KEY, TOKENS_KEY, TEXT_KEY, OFFSET_KEY, ANNOTATIONS_KEY, START_KEY, END_KEY, LABEL_KEY, OTHER_KEY
};

// The key that comes now, with its colon.
Key key_of(JsonCursor& in) {
    static const char* const words[] = {"id\"", "doc\"", "scheme\"", "tokens\"", "text\"", "offset\"", "annotations\"",
                                        "start\"", "end\"", "label\""};
    in.need('"');
    int found = OTHER_KEY;
    for (int k = 0; in.good && k < OTHER_KEY; k++)
        if (uint8_t(words[k][0]) == in.next() && in.word(words[k])) {
            found = k;
            break;
        }
    if (found == OTHER_KEY)
        in.good = false;
    else
        in.need(':');
    return Key(found);
}

// Passes a key once: false where it stood before.
INLINE bool fresh(uint32_t& seen, Key key) {
    const bool first = !(seen >> key & 1);
    seen |= 1u << key;
    return first;
}

// Where a record's name begins and ends in `ids`.
INLINE int64_t read_id(JsonCursor& in, const Out<uint8_t>& ids, int64_t to) {
    in.blanks();
    if (in.next() == '"') return in.string(ids, to);
    const int64_t first = in.at;
    in.whole();
    for (int64_t i = first; in.good && i < in.at; i++) ids[to++] = in.buffer[i];
    return to;
}

// A name out of the line, by its number; `scratch` is room for it. Empty ones are not good.
INLINE int32_t read_name(JsonCursor& in, Names& names, const Out<uint8_t>& scratch) {
    const int64_t size = in.string(scratch, 0);
    in.good = in.good && size > 0;
    return in.good ? names.number(scratch, 0, size) : -1;
}

// A number in digits; returns where they end.
INLINE int64_t put_number(const Out<uint8_t>& out, int64_t to, int64_t number) {
    int64_t size = 1;
    for (int64_t rest = number; rest >= 10; rest /= 10) size++;
    for (int64_t k = size - 1; k >= 0; k--, number /= 10) out[to + k] = uint8_t('0' + number % 10);
    return to + size;
}

// Counters of what stands in the columns; Python gets them in `state`.
enum State { PLACE, RECORDS, ITEMS, TAGS, ROWS, NAMES, ID_BYTES, DATA_BYTES, BEFORE, STATES };  // BEFORE: records before these

// Columns of records: `ids` and `id_ends`; `place` is (first byte, document, scheme) of each, -1 for none.
struct RecordColumns {
    static constexpr int fields = 6;
    Out<uint8_t> ids;
    Out<int32_t> id_ends;
    Out<int32_t, 2> place;
    Out<uint8_t> names;
    Out<int32_t> name_offsets;
    Out<uint8_t> scratch;
};

// Reads id, doc and scheme; returns false where the key is another one.
INLINE bool read_common(JsonCursor& in, Key key, const RecordColumns& out, Names& names, int64_t* state, int64_t n) {
    if (key == ID_KEY) {
        state[ID_BYTES] = read_id(in, out.ids, state[ID_BYTES]);
    } else if (key == DOC_KEY || key == SCHEME_KEY) {
        const int64_t size = in.string(out.scratch, 0);
        if (in.good) out.place(n, key) = names.number(out.scratch, 0, size);
    } else {
        return false;
    }
    return true;
}

// Goes over lines from state[PLACE] on, record by record, until one is not plain, and undoes that one.
template <class Record>
void read_lines(U8 buffer, const RecordColumns& out, Out<int64_t> state, Names& names, Record record) {
    int64_t now[STATES];
    for (int k = 0; k < STATES; k++) now[k] = state[k];
    JsonCursor in{buffer, now[PLACE]};
    while (in.at < buffer.size()) {
        in.blanks();
        if (in.next() == '\n') {
            in.at++;
            now[PLACE] = state[PLACE] = in.at;
            continue;
        }
        const int64_t n = now[RECORDS];
        out.place(n, 0) = int32_t(in.at), out.place(n, 1) = out.place(n, 2) = -1;
        uint32_t seen = 0;
        in.need('{');
        do {
            in.blanks();
            const Key key = key_of(in);
            if (!in.good || !fresh(seen, key)) in.good = false;
            else if (!read_common(in, key, out, names, now, n)) record.field(in, key, now);
        } while (in.good && in.take(','));
        in.need('}');
        in.blanks();
        if (!in.good || in.next() != '\n' || !(seen >> ANNOTATIONS_KEY & 1) || !record.whole(seen, now)) break;
        if (!(seen >> ID_KEY & 1)) now[ID_BYTES] = put_number(out.ids, now[ID_BYTES], now[BEFORE] + n);
        in.at++;
        out.id_ends[n] = int32_t(now[ID_BYTES]);
        now[PLACE] = in.at, now[RECORDS] = n + 1, now[NAMES] = names.n;
        for (int k = 0; k < STATES; k++) state[k] = now[k];
    }
}

// Tokens and tags. `sizes` and `data` are the tokens, `lengths` how many each record has, `rows` (record, annotator),
// the record -1 for an annotator who did not see it, `tags` numbers of names, -1 where none was given.
struct TokenColumns {
    static constexpr int fields = 5;
    Out<uint8_t> data;
    Out<int32_t> sizes;
    Out<int32_t> lengths;
    Out<int32_t, 2> rows;
    Out<int32_t> tags;
};

struct TokenRecord {
    const RecordColumns& common;
    const TokenColumns& out;
    Names& names;
    Space<int32_t, 1>& last;  // the record in which each annotator was met last, and one
    int64_t tokens = 0, wanted = -1;  // tokens of this record; tags of every row of it
    bool plain = false;               // whether the last tag was written without escapes

    void field(JsonCursor& in, Key key, int64_t* state) {
        if (key == TOKENS_KEY) return read_tokens(in, state);
        if (key != ANNOTATIONS_KEY) {
            in.good = false;
            return;
        }
        in.need('{');
        if (in.take('}')) return;
        do {
            in.blanks();
            const int32_t who = read_name(in, names, common.scratch);
            in.need(':');
            if (!in.good || again(who, int32_t(state[RECORDS]))) {
                in.good = false;
                return;
            }
            read_row(in, who, state);
        } while (in.good && in.take(','));
        in.need('}');
    }

    bool again(int32_t who, int32_t record) {
        while (who >= last.size()) {
            Space<int32_t, 1> larger(last.size() * 4);
            for (int64_t k = 0; k < last.size(); k++) larger[k] = last[k];
            last.swap(larger);
        }
        if (last[who] == record + 1) return true;
        last[who] = record + 1;
        return false;
    }

    void read_tokens(JsonCursor& in, int64_t* state) {
        tokens = 0;
        in.need('[');
        if (in.take(']')) return;
        do {
            in.blanks();
            const int64_t first = state[DATA_BYTES], end = in.string(out.data, first);
            if (end == first) in.good = false;
            if (!in.good) return;
            out.sizes[state[ITEMS]++] = int32_t(end - first);
            state[DATA_BYTES] = end;
            tokens++;
        } while (in.take(','));
        in.need(']');
    }

    void read_row(JsonCursor& in, int32_t who, int64_t* state) {
        in.blanks();
        int64_t row = state[ROWS]++;
        out.rows(row, 0) = -1, out.rows(row, 1) = who;
        if (in.next() == 'n') {
            in.good = in.word("null");
            return;
        }
        out.rows(row, 0) = int32_t(state[RECORDS]);
        int64_t n = 0;
        int32_t before = -1;
        in.need('[');
        if (!in.take(']')) {
            do {
                in.blanks();
                int32_t tag = -1;
                if (in.next() == 'n') {
                    in.good = in.word("null");
                } else {
                    tag = same_as_before(in, before);
                    if (tag < 0) before = tag = read_tag(in);
                }
                if (!in.good) return;
                out.tags[state[TAGS]++] = tag;
                n++;
            } while (in.take(','));
            in.need(']');
        }
        if (wanted >= 0 && n != wanted) in.good = false;
        wanted = n;
    }

    // The tag before, where it comes again: most often it does.
    INLINE int32_t same_as_before(JsonCursor& in, int32_t before) {
        if (before < 0 || !plain || in.next() != '"') return -1;
        const int64_t first = names.offsets[before], size = names.offsets[before + 1] - first;
        for (int64_t i = 0; i < size; i++)
            if (names.data[first + i] != in.buffer[in.at + 1 + i] || in.buffer[in.at + 1 + i] == '\n') return -1;
        if (in.buffer[in.at + 1 + size] != '"') return -1;
        in.at += size + 2;
        return before;
    }

    // A tag; where it was written with escapes, the next one cannot be compared byte by byte.
    int32_t read_tag(JsonCursor& in) {
        const int64_t first = in.at;
        const int32_t tag = read_name(in, names, common.scratch);
        plain = tag >= 0 && in.at - first == names.offsets[tag + 1] - names.offsets[tag] + 2;
        return tag;
    }

    bool whole(uint32_t seen, int64_t* state) {
        const bool good = (seen >> TOKENS_KEY & 1) && (wanted < 0 || wanted == tokens);
        if (good) out.lengths[state[RECORDS]] = int32_t(tokens);
        wanted = -1;
        return good;
    }
};

void read_token_lines(U8 buffer, RecordColumns common, TokenColumns out, Out<int64_t> state) {
    Names names(common.names, common.name_offsets);
    Space<int32_t, 1> last(256);
    read_lines<TokenRecord>(buffer, common, state, names, TokenRecord{common, out, names, last});
}

// Texts and spans. `data` holds the texts, each with a line feed behind it, `lengths` their characters, `offset` where
// each stands in its document (-1: not told); `rows` as above; `spans` (row, start, end, label).
struct MarkColumns {
    static constexpr int fields = 5;
    Out<uint8_t> data;
    Out<int32_t> lengths;
    Out<int64_t> offset;
    Out<int32_t, 2> rows;
    Out<int32_t, 2> spans;
};

struct SpanRecord {
    const RecordColumns& common;
    const MarkColumns& out;
    Names& names;
    Space<int32_t, 1>& last;

    void field(JsonCursor& in, Key key, int64_t* state) {
        const int64_t n = state[RECORDS];
        if (key == TEXT_KEY) {
            const int64_t first = state[DATA_BYTES], end = in.string(out.data, first);
            out.lengths[n] = int32_t(count_characters(out.data, first, end));
            out.data[end] = '\n';  // there is room: a string has quotes
            state[DATA_BYTES] = end + 1;
        } else if (key == OFFSET_KEY) {
            out.offset[n] = in.whole();
        } else if (key == ANNOTATIONS_KEY) {
            in.need('{');
            if (in.take('}')) return;
            TokenRecord met{common, TokenColumns{}, names, last};
            do {
                in.blanks();
                const int32_t who = read_name(in, names, common.scratch);
                in.need(':');
                if (!in.good || met.again(who, int32_t(n))) {
                    in.good = false;
                    return;
                }
                read_row(in, who, state);
            } while (in.good && in.take(','));
            in.need('}');
        } else {
            in.good = false;
        }
    }

    void read_row(JsonCursor& in, int32_t who, int64_t* state) {
        in.blanks();
        const int64_t row = state[ROWS]++;
        out.rows(row, 0) = -1, out.rows(row, 1) = who;
        if (in.next() == 'n') {
            in.good = in.word("null");
            return;
        }
        out.rows(row, 0) = int32_t(state[RECORDS]);
        in.need('[');
        if (in.take(']')) return;
        do {
            read_span(in, row, state);
        } while (in.good && in.take(','));
        in.need(']');
    }

    void read_span(JsonCursor& in, int64_t row, int64_t* state) {
        const int64_t n = state[ITEMS]++;
        uint32_t seen = 0;
        out.spans(n, 0) = int32_t(row);
        in.need('{');
        do {
            in.blanks();
            const Key key = key_of(in);
            if (!in.good || !fresh(seen, key)) {
                in.good = false;
                return;
            }
            if (key == START_KEY || key == END_KEY) {
                const int64_t place = in.whole();
                if (place > 0x7FFFFFFF) in.good = false;
                out.spans(n, key == START_KEY ? 1 : 2) = int32_t(place);
            } else if (key == LABEL_KEY) {
                out.spans(n, 3) = read_name(in, names, common.scratch);
            } else {
                in.good = false;
            }
        } while (in.good && in.take(','));
        in.need('}');
        if (seen != (1u << START_KEY | 1u << END_KEY | 1u << LABEL_KEY)) in.good = false;
    }

    bool whole(uint32_t seen, int64_t* state) {
        if (!(seen >> OFFSET_KEY & 1)) out.offset[state[RECORDS]] = -1;
        return seen >> TEXT_KEY & 1;
    }
};

void read_span_lines(U8 buffer, RecordColumns common, MarkColumns out, Out<int64_t> state) {
    Names names(common.names, common.name_offsets);
    Space<int32_t, 1> last(256);
    read_lines<SpanRecord>(buffer, common, state, names, SpanRecord{common, out, names, last});
}

}  // namespace
