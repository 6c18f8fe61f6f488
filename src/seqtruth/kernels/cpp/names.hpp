// Strings numbered as they come.
#pragma once

#include "arrays.hpp"

namespace {

// Strings that come again and again, numbered in the order of their first coming.
struct Names {
    Out<uint8_t> data;     // their bytes, one after the other
    Out<int32_t> offsets;  // where each begins, and where the last ends
    int64_t n = 0;
    Space<int32_t, 1> table{256};

    Names(Out<uint8_t> data, Out<int32_t> offsets) : data(data), offsets(offsets) {
        table.fill(-1);
        offsets[0] = 0;
    }

    template <class Bytes>
    INLINE bool is(int64_t number, const Bytes& from, int64_t first, int64_t size) const {
        const int64_t at = offsets[number];
        if (offsets[number + 1] - at != size) return false;
        for (int64_t i = 0; i < size; i++)
            if (data[at + i] != from[first + i]) return false;
        return true;
    }

    template <class Bytes>
    static uint32_t hash(const Bytes& from, int64_t first, int64_t size) {
        uint32_t h = 0x811C9DC5u;
        for (int64_t i = 0; i < size; i++) h = (h ^ from[first + i]) * 0x01000193u;
        return h ^ (h >> 15);
    }

    void grow() {
        Space<int32_t, 1> larger(table.size() * 4);
        larger.fill(-1);
        table.swap(larger);
        for (int64_t k = 0; k < n; k++) {
            int64_t slot = hash(data, offsets[k], offsets[k + 1] - offsets[k]) & (table.size() - 1);
            while (table[slot] >= 0) slot = (slot + 1) & (table.size() - 1);
            table[slot] = int32_t(k);
        }
    }

    // The number of a string, which is a new one if it was not met before.
    template <class Bytes>
    int32_t number(const Bytes& from, int64_t first, int64_t size) {
        if (n * 2 > table.size()) grow();
        int64_t slot = hash(from, first, size) & (table.size() - 1);
        while (table[slot] >= 0) {
            if (is(table[slot], from, first, size)) return table[slot];
            slot = (slot + 1) & (table.size() - 1);
        }
        const int64_t at = offsets[n];
        for (int64_t i = 0; i < size; i++) data[at + i] = from[first + i];
        offsets[n + 1] = int32_t(at + size);
        table[slot] = int32_t(n);
        return int32_t(n++);
    }
};

}  // namespace
