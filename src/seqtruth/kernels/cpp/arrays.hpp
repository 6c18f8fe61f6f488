// Arrays as kernels see them: a pointer and its sizes, in C order. In<T, N> is read, Out<T, N> is written;
// a[i] is a number of a one-dimensional array, a(i, j) of others, and a.row(i) points to the i-th row.
//
// Everything here and in the other headers is in a namespace without a name: this code is compiled once for
// each vector width (see kernels.cpp), and the linker must not take one for the other. For the same reason
// nothing of the standard library is used but what is a plain C function.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cmath>

namespace {

using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

#define INLINE inline __attribute__((always_inline))

// What a kernel stops with; the caller in Python raises it.
struct Failure {
    const char* what;
};

#ifdef SEQTRUTH_CHECKED
inline void check(int64_t i, int64_t size) {
    if (i < 0 || i >= size) throw Failure{"IndexError: a kernel reached outside of an array"};
}
#else
INLINE void check(int64_t, int64_t) {}
#endif

template <class T, int N>
struct Array {
    T* data = nullptr;
    int64_t shape[N] = {};

    Array() = default;
    INLINE Array(T* data, int64_t n) : data(data), shape{n} {}
    INLINE Array(T* data, int64_t n, int64_t m) : data(data), shape{n, m} {}

    INLINE int64_t size() const { return shape[0]; }
    INLINE T& operator[](int64_t i) const {
        static_assert(N == 1, "a(i, j) where there is more than one axis");
        check(i, shape[0]);
        return data[i];
    }
    INLINE T& operator()(int64_t i, int64_t j) const {
        static_assert(N == 2, "as many places as axes");
        check(i, shape[0]), check(j, shape[1]);
        return data[i * shape[1] + j];
    }
    INLINE T& operator()(int64_t i, int64_t j, int64_t k) const {
        static_assert(N == 3, "as many places as axes");
        check(i, shape[0]), check(j, shape[1]), check(k, shape[2]);
        return data[(i * shape[1] + j) * shape[2] + k];
    }
    INLINE T* row(int64_t i) const {
        static_assert(N == 2, "rows of a table");
        check(i, shape[0]);
        return data + i * shape[1];
    }
    // Eight bytes from place i on, of an array of tags.
    INLINE uint64_t word(int64_t i) const {
        check(i, shape[0]), check(i + 8 / int64_t(sizeof(T)) - 1, shape[0]);
        uint64_t found;
        std::memcpy(&found, data + i, 8);
        return found;
    }
    INLINE void set_word(int64_t i, uint64_t value) const {
        check(i, shape[0]), check(i + 8 / int64_t(sizeof(T)) - 1, shape[0]);
        std::memcpy(data + i, &value, 8);
    }
};

template <class T, int N = 1>
using In = Array<const T, N>;
template <class T, int N = 1>
using Out = Array<T, N>;

// Work space: an array that is freed where it goes out of sight. It begins as zeros.
template <class T, int N>
struct Space : Array<T, N> {
    explicit Space(int64_t n) : Array<T, N>(make(n), n) {}
    Space(int64_t n, int64_t m) : Array<T, N>(make(n * m), n, m) {}
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;
    ~Space() { std::free(this->data); }

    void fill(T value) {
        for (int64_t i = 0; i < this->shape[0]; i++) this->data[i] = value;
    }
    void swap(Space& other) {
        Array<T, N> kept = *this;
        Array<T, N>::operator=(other);
        static_cast<Array<T, N>&>(other) = kept;
    }

private:
    static T* make(int64_t n) {
        void* found = std::calloc(std::size_t(n > 0 ? n : 1), sizeof(T));
        if (!found) throw Failure{"MemoryError: no memory for a kernel's work space"};
        return static_cast<T*>(found);
    }
};

template <class T>
INLINE T least(T a, T b) {
    return b < a ? b : a;
}
template <class T>
INLINE T most(T a, T b) {
    return a < b ? b : a;
}

// Labels are int8 or int16 (see kernels/arrays.py), so that what handles them is a template of Tag.
using I8 = In<int8_t>;
using I16 = In<int16_t>;
using I32 = In<int32_t>;
using I64 = In<int64_t>;
using U8 = In<uint8_t>;
using Bools = In<bool>;
using F64 = In<double>;
using Table = In<double, 2>;

// Copies bytes to a place behind which nothing stands yet.
INLINE void copy_bytes(const U8& from, int64_t first, int64_t size, const Out<uint8_t>& to, int64_t at) {
    if (first + size + 8 <= from.size() && at + size + 8 <= to.size())
        for (int64_t i = 0; i < size; i += 8) to.set_word(at + i, from.word(first + i));
    else
        for (int64_t i = 0; i < size; i++) to[at + i] = from[first + i];
}

// One in every byte of a word.
constexpr uint64_t EACH_BYTE = 0x0101010101010101ULL;

// Scores closer than this are ties, so that the order of a sum cannot pick the winner.
constexpr double SCORE_TIE = 1e-9;

}  // namespace
