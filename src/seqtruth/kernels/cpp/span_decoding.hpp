// Spans worth naming; see kernels/span_decoding.py.
#pragma once

#include "views.hpp"

namespace {

struct Chain {
    static constexpr int fields = 3;
    F64 start;
    Table transition;
    F64 end;
};

// What does not change from one sentence to the next, as in kernels/span_decoding.py.
struct SpanRules {
    static constexpr int fields = 4;
    Chain chain;
    In<int64_t, 2> spelling;  // labels of a single token, the first, inner and last of a span, the one that must not follow
    int64_t outside;
    double threshold;
};

// Spans that may be named, by their first token; empty: all. Among free tokens any span may.
struct Claimed {
    static constexpr int fields = 4;
    I64 first;
    I64 end;
    I64 kind;
    Bools free;

    INLINE bool has(int64_t begin, int64_t after, int64_t type) const {
        if (!first.size()) return true;
        for (int64_t c = first[begin]; c < first[begin + 1]; c++)
            if (end[c] == after && kind[c] == type) return true;
        for (int64_t i = begin; i < after; i++)
            if (!free[i]) return false;
        return true;
    }
};

struct SpanDecoder {
    const SpanRules& rules;
    const Claimed& claimed;
    int64_t place = 0;  // where the sentence begins
    const int64_t n_labels;
    // Scaled recursions of one sentence: P(y_i = l) = α_i[l] · β_i[l]; all [n, L] but norm.
    Space<double, 2> e, alpha, beta;
    Space<double, 1> norm;
    // The best choice of spans for each prefix of the sentence, [n + 1]: what it is worth, the first token of the
    // span that ends it (-1: it ends outside), that span's type and probability.
    Space<double, 1> value;
    Space<int64_t, 1> source, kind;
    Space<double, 1> chance;

    SpanDecoder(const SpanRules& rules, const Claimed& claimed, int64_t longest)
        : rules(rules), claimed(claimed), n_labels(rules.chain.start.size()), e(longest, n_labels), alpha(longest, n_labels),
          beta(longest, n_labels), norm(longest), value(longest + 1), source(longest + 1), kind(longest + 1),
          chance(longest + 1) {}

    void choose(const Table& scores, int64_t a, int64_t n, const SpanRules& by) {
        place = a;
        smooth(scores, a, n);
        for (int64_t i = 0; i <= n; i++) value[i] = 0.0, source[i] = -1;
        for (int64_t i = 0; i < n; i++) {
            if (i > 0 && value[i - 1] > value[i] + SCORE_TIE) value[i] = value[i - 1], source[i] = -1;
            for (int64_t k = 0; k < by.spelling.size(); k++) offer_from(i, n, k);
        }
        if (n && value[n - 1] > value[n] + SCORE_TIE) source[n] = -1;
    }

    // Labels and probabilities of the spans chosen for the whole sentence, which begins at place a.
    template <class Tag>
    void spell(int64_t a, int64_t n, const Out<Tag>& tags, const Out<float>& span) const {
        for (int64_t i = 0; i < n; i++) tags[a + i] = Tag(rules.outside);
        for (int64_t j = n; j > 0;) {
            const int64_t i = source[j];
            if (i < 0) {
                j--;
                continue;
            }
            const int64_t* labels = rules.spelling.row(kind[j]);
            for (int64_t place = i; place < j; place++) {
                tags[a + place] = Tag(labels[2]);
                span[a + place] = float(chance[j]);
            }
            tags[a + i] = Tag(labels[1]), tags[a + j - 1] = Tag(labels[3]);
            if (j - i == 1) tags[a + i] = Tag(labels[0]);
            j = i;
        }
    }

private:
    // Offers every span of type k that starts at token i to the prefixes that it ends.
    void offer_from(int64_t i, int64_t n, int64_t k) {
        const int64_t* labels = rules.spelling.row(k);
        const int64_t single = labels[0], begin = labels[1], inner = labels[2], final = labels[3];
        const Table& trans = rules.chain.transition;
        offer(i, i, k, n, alpha(i, single), single);
        double run = alpha(i, begin);
        int64_t before = begin;
        for (int64_t j = i + 1; j < n; j++) {
            offer(i, j, k, n, run * trans(before, final) * e(j, final) / norm[j], final);
            run *= trans(before, inner) * e(j, inner) / norm[j];
            before = inner;
            if (run * beta(j, inner) <= rules.threshold) break;  // what goes on from here is no likelier
        }
    }

    // Takes the span of tokens i … j where it makes the best choice up to it better. `run` is the filtered
    // probability of its labels, the last of which is `label`.
    void offer(int64_t i, int64_t j, int64_t k, int64_t n, double run, int64_t label) {
        const double threshold = rules.threshold;
        const int64_t closed = rules.spelling(k, 4);
        double p = run * beta(j, label);
        if (p <= threshold) return;
        if (closed >= 0 && j + 1 < n) {
            const double longer = run * rules.chain.transition(label, closed) * e(j + 1, closed);
            p -= longer * beta(j + 1, closed) / norm[j + 1];
        }
        if (p > threshold && value[i] + p - threshold > value[j + 1] + SCORE_TIE &&
            claimed.has(place + i, place + j + 1, k)) {
            value[j + 1] = value[i] + p - threshold;
            source[j + 1] = i, kind[j + 1] = k, chance[j + 1] = p;
        }
    }

    void smooth(const Table& scores, int64_t a, int64_t n) {
        const Chain& chain = rules.chain;
        for (int64_t i = 0; i < n; i++) {
            double top = scores(a + i, 0);
            for (int64_t k = 1; k < n_labels; k++) top = most(top, scores(a + i, k));
            double scale = 0.0;
            for (int64_t k = 0; k < n_labels; k++) {
                e(i, k) = std::exp(scores(a + i, k) - top);
                double reach = chain.start[k];
                if (i > 0) {
                    reach = 0.0;
                    for (int64_t j = 0; j < n_labels; j++) reach += alpha(i - 1, j) * chain.transition(j, k);
                }
                alpha(i, k) = reach * e(i, k);
                scale += alpha(i, k);
            }
            if (scale <= 0.0)  // no path: the chain is ignored here, as in forward_backward
                for (int64_t k = 0; k < n_labels; k++) alpha(i, k) = e(i, k), scale += e(i, k);
            for (int64_t k = 0; k < n_labels; k++) alpha(i, k) /= scale;
            norm[i] = scale;
        }
        double scale = 0.0;
        for (int64_t k = 0; k < n_labels && n; k++) scale += alpha(n - 1, k) * chain.end[k];
        for (int64_t i = n - 1; i >= 0; i--)
            for (int64_t j = 0; j < n_labels; j++) {
                if (i == n - 1) {
                    beta(i, j) = scale > 0.0 ? chain.end[j] / scale : 1.0;
                    continue;
                }
                double total = 0.0;
                for (int64_t k = 0; k < n_labels; k++) total += chain.transition(j, k) * e(i + 1, k) * beta(i + 1, k);
                beta(i, j) = total / norm[i + 1];
            }
    }
};

template <class Tag>
void choose_spans(Table scores, I64 offsets, int64_t first, int64_t last, SpanRules rules, Claimed claimed, Out<Tag> tags,
                  Out<float> span) {
    SpanDecoder decoder(rules, claimed, largest_step(offsets, first, last));
    for (int64_t s = first; s < last; s++) {
        const int64_t a = offsets[s], n = offsets[s + 1] - a;
        decoder.choose(scores, a, n, rules);
        decoder.spell(a, n, tags, span);
    }
}

}  // namespace
