// Where values of JSON begin and end; see io/json_split.py.
#pragma once

#include "arrays.hpp"

namespace {

// Whether none of eight bytes is a quote or a backslash.
INLINE bool inside_string(uint64_t word) {
    const uint64_t quotes = word ^ EACH_BYTE * '"', slashes = word ^ EACH_BYTE * '\\';
    return !((((quotes - EACH_BYTE) & ~quotes) | ((slashes - EACH_BYTE) & ~slashes)) & EACH_BYTE * 0x80);
}

// The places before outermost opening brackets and behind outermost closing ones. `state` is how many brackets are open,
// whether a string is, and whether a backslash stands before what comes; it goes on from chunk to chunk, up to the place
// of a closing bracket too many, after which -1 are open. Returns how many.
int64_t find_cuts(U8 chunk, Out<int64_t> state, Out<int64_t> places) {
    int64_t depth = state[0], n = 0;
    bool string = state[1], escaped = state[2];
    for (int64_t i = 0; i < chunk.size() && depth >= 0; i++) {
        while (string && !escaped && i + 8 < chunk.size() && inside_string(chunk.word(i))) i += 8;
        const uint8_t c = chunk[i];
        if (escaped || c == '\\') {
            escaped = !escaped;
        } else if (c == '"') {
            string = !string;
        } else if (!string && (c == '{' || c == '[')) {
            if (depth++ == 0) places[n++] = i;
        } else if (!string && (c == '}' || c == ']')) {
            if (depth-- <= 1) places[n++] = depth < 0 ? i : i + 1;
        }
    }
    state[0] = depth, state[1] = string, state[2] = escaped;
    return n;
}

}  // namespace
