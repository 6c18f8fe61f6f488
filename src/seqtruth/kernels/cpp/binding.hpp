// How Python's arguments come in, and how kernels say what they take; kernels/native.py is the other side.
//
// An array is handed over as a pointer and its sizes, a number as itself, and a NamedTuple as its fields one
// after the other: words of eight bytes in a row. What a kernel takes is written as text ("i1:1 i8:1! q": two
// arrays of one axis, the second to be written to, and a number), made here from its C++ parameters; Python writes
// the same text from the arguments it has and looks for a kernel that takes them, so that a wrong argument is an
// error there and never a wrong reading here.
#pragma once

#include "arrays.hpp"

namespace {

union Word {
    int64_t integer;
    double number;
    void* pointer;
};

struct Written {
    static constexpr bool written = true;
};
template <class T>
struct Code;
template <> struct Code<bool> : Written { static constexpr const char* text = "b1"; };
template <> struct Code<int8_t> : Written { static constexpr const char* text = "i1"; };
template <> struct Code<int16_t> : Written { static constexpr const char* text = "i2"; };
template <> struct Code<int32_t> : Written { static constexpr const char* text = "i4"; };
template <> struct Code<int64_t> : Written { static constexpr const char* text = "i8"; };
template <> struct Code<uint8_t> : Written { static constexpr const char* text = "u1"; };
template <> struct Code<uint64_t> : Written { static constexpr const char* text = "u8"; };
template <> struct Code<float> : Written { static constexpr const char* text = "f4"; };
template <> struct Code<double> : Written { static constexpr const char* text = "f8"; };
template <class T> struct Code<const T> : Code<T> { static constexpr bool written = false; };

// Reads arguments in order, or only writes down what they would be. It turns into whatever is asked of it:
// a struct with `fields` fields is made from as many readers in braces, which C++ takes from left to right.
struct Reader {
    const Word* at;   // where reading is; null, then
    char* signature;  // where to write what would be read

    void note(const char* text, int axes = 0, bool written = false) {
        while (*text) *signature++ = *text++;
        if (axes) *signature++ = ':', *signature++ = char('0' + axes);
        if (written) *signature++ = '!';
        *signature++ = ' ';
    }

    void give(int64_t& value) { at ? void(value = (at++)->integer) : note("q"); }
    void give(uint64_t& value) { at ? void(value = uint64_t((at++)->integer)) : note("Q"); }
    void give(double& value) { at ? void(value = (at++)->number) : note("d"); }
    void give(bool& value) { at ? void(value = (at++)->integer != 0) : note("?"); }
    template <class T, int N>
    void give(Array<T, N>& value) {
        if (!at) return note(Code<T>::text, N, Code<T>::written);
        value.data = static_cast<T*>((at++)->pointer);
        for (int axis = 0; axis < N; axis++) value.shape[axis] = (at++)->integer;
    }
    template <class T, int N = T::fields>
    void give(T& value) {
        fill(value, Count<N>{});
    }

    template <class T>
    operator T() {
        T value{};
        give(value);
        return value;
    }

private:
    template <int... I> struct Places {};
    template <int N, int... I> struct Range : Range<N - 1, N - 1, I...> {};
    template <int... I> struct Range<0, I...> { using type = Places<I...>; };
    template <int N> using Count = typename Range<N>::type;

    template <class T, int... I>
    void fill(T& value, Places<I...>) {
        value = T{((void)I, *this)...};
    }
};

template <class R, class... A>
struct Answer {
    R value;
    Answer(R (*kernel)(A...), A... given) : value(kernel(given...)) {}
    static void name(Reader& in) { static_cast<void>(R(in)); }
};
template <class... A>
struct Answer<void, A...> {
    int64_t value = 0;
    Answer(void (*kernel)(A...), A... given) { kernel(given...); }
    static void name(Reader& in) { in.note("-"); }
};

INLINE void put(Word* out, int64_t value) { out->integer = value; }
INLINE void put(Word* out, double value) { out->number = value; }

template <class T>
T read(Reader& in) {
    return in;
}

template <class R, class... A>
void describe(R (*)(A...), char* text) {
    Reader in{nullptr, text};
    int each[] = {0, (static_cast<void>(read<A>(in)), 0)...};
    static_cast<void>(each);
    in.note(">");
    Answer<R, A...>::name(in);
    in.signature[-1] = 0;
}

template <class R, class... A>
const char* run(R (*kernel)(A...), const Word* arguments, Word* out) {
    try {
        Reader in{arguments, nullptr};
        Answer<R, A...> answer{kernel, read<A>(in)...};
        put(out, answer.value);
        return nullptr;
    } catch (const Failure& failure) {
        return failure.what;
    }
}

// One kernel of the library, for one choice of types.
struct Kernel {
    const char* name;
    void (*describe)(char* text);                               // what it takes and gives
    const char* (*run)(const Word* arguments, Word* out);       // null, or what went wrong
};

#define KERNEL(name, ...)                                                                      \
    Kernel{#name, [](char* text) { describe(__VA_ARGS__, text); },                             \
           [](const Word* arguments, Word* out) { return run(__VA_ARGS__, arguments, out); }}
#define PLAIN_KERNEL(name) KERNEL(name, name)
#define TAG_KERNEL(name) KERNEL(name, name<int8_t>), KERNEL(name, name<int16_t>)
#define NUMBER_KERNEL(name) TAG_KERNEL(name), KERNEL(name, name<int32_t>), KERNEL(name, name<int64_t>)

}  // namespace
