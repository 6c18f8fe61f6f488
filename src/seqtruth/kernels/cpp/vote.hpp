// The Y* step of AggSLC in one pass: weighted vote, legal path, confidence, losses; see kernels/vote.py.
//
// Each sentence goes one of two ways, with the same outcome: by its contested tokens alone, skipping those on
// which all agree, or by all of them, where there is a predictor, a known label or a draw to be heard on every
// token.
#pragma once

#include "contested.hpp"
#include "repair.hpp"

namespace {

// As in kernels/vote.py.
struct Prediction {
    static constexpr int fields = 3;
    In<float, 2> probabilities;
    Bools given;
    double weight;

    INLINE bool speaks_of(int64_t s) const { return given.size() > 0 && given[s]; }
};

template <class Tag>
struct Ballot {
    static constexpr int fields = 11;
    F64 weights;
    F64 class_weights;
    Prediction prediction;
    In<Tag> known;
    int64_t how;
    PaddedChain legal;
    In<Tag> preference;
    In<Tag> rank;
    bool random;
    In<uint64_t> keys;
    double least_probability;

    INLINE uint64_t key(int64_t s) const { return keys[keys.size() > 1 ? s : 0]; }
};

template <class Tag>
struct Outcome {
    static constexpr int fields = 5;
    Out<Tag> tags;
    Out<float, 2> y;
    Out<double> xi;
    Out<double, 2> losses;  // [3, W]
    Out<double> sums;       // [2], the predictor's loss and the number of forbidden transitions
};

template <class Tag>
struct Voting {
    const CrowdView<Tag>& crowd;
    const Ballot<Tag>& by;
    const Outcome<Tag>& out;
    const int64_t n_labels, longest;
    Contested<Tag> on;
    Repairer<Tag> repairer;
    Space<Tag, 1> voted;      // the vote's labels before the consistency module
    Space<double, 2> y, loss;  // [n, L]

    Voting(const CrowdView<Tag>& crowd, const Ballot<Tag>& by, const Outcome<Tag>& out, int64_t first, int64_t last)
        : crowd(crowd), by(by), out(out), n_labels(by.class_weights.size()),
          longest(largest_step(crowd.token_offsets, first, last)),
          on(longest, largest_step(crowd.sentence_rows, first, last), n_labels, by.least_probability),
          repairer(by.how, by.legal, longest),
          voted(longest), y(longest, n_labels), loss(longest, n_labels) {}

    // A sentence by its contested tokens; false where every token must be looked at.
    INLINE bool by_contested(int64_t s) {
        if (crowd.tag_offsets[s + 1] == crowd.tag_offsets[s]) return false;
        const int64_t n = crowd.length(s), a = crowd.token_offsets[s];
        int64_t found = on.find(crowd, s);
        const double margin = on.vote(crowd, s, by.weights, by.class_weights, by.rank, found);
        if (margin < 0.0) return false;
        const double xi = (double(n - found) + margin) / double(n);
        int64_t illegal = inconsistency(on.path, n, crowd.grammar);
        if (illegal > 0 && by.how != NO_REPAIR) {
            found = repair_contested(s, n, found);
            illegal = inconsistency(on.path, n, crowd.grammar);
        }
        out.sums[1] += double(illegal);
        out.xi[s] = xi;
        for (int64_t i = 0; i < n; i++) out.tags[a + i] = on.path[i];
        if (out.y.size()) on.spread(on.path, n, found, out.y, a);
        on.add_losses(crowd, s, xi, found, out.losses);
        return true;
    }

    // Makes the path legal; returns how many tokens are then contested.
    __attribute__((noinline)) int64_t repair_contested(int64_t s, int64_t n, int64_t found) {
        for (int64_t i = 0; i < n; i++) voted[i] = on.path[i];
        on.spread(voted, n, found, y, 0);
        repairer.repair(y, n, crowd.grammar, by.key(s), on.path);
        return on.swap(voted, n, crowd.rows(s), found);
    }

    // A sentence with all labels of all its tokens.
    __attribute__((noinline)) void by_all(int64_t s) {
        const int64_t n = crowd.length(s), a = crowd.token_offsets[s];
        const Grammar& grammar = crowd.grammar;
        const Out<Tag>& path = on.path;
        add_votes(s);
        bool any_vote = normalise(n, by.key(s));
        if (by.known.size())
            for (int64_t i = 0; i < n; i++)
                if (by.known[a + i] >= 0) {
                    any_vote = true;
                    for (int64_t k = 0; k < n_labels; k++) y(i, k) = 0.0;
                    y(i, by.known[a + i]) = 1.0;
                    path[i] = by.known[a + i];
                }
        for (int64_t i = 0; i < n; i++) voted[i] = path[i];
        if (by.how != NO_REPAIR && any_vote && inconsistency(path, n, grammar) > 0)
            repairer.repair(y, n, grammar, by.key(s), path);
        if (by.known.size())  // what is known stays, even where it breaks the scheme
            for (int64_t i = 0; i < n; i++)
                if (by.known[a + i] >= 0) path[i] = by.known[a + i];
        double margin = 0.0;
        for (int64_t i = 0; i < n; i++) {
            if (path[i] != voted[i]) {
                double kept = y(i, path[i]);
                y(i, path[i]) = y(i, voted[i]);
                y(i, voted[i]) = kept;
            }
            margin += margin_of(i);
        }
        const double xi = n ? margin / double(n) : 0.0;
        out.xi[s] = any_vote ? xi : 0.0;
        out.sums[1] += any_vote ? double(inconsistency(path, n, grammar)) : 0.0;
        for (int64_t i = 0; i < n; i++) {
            out.tags[a + i] = any_vote ? path[i] : Tag(-1);
            for (int64_t k = 0; k < n_labels; k++) {
                if (out.y.size()) out.y(a + i, k) = float(y(i, k));
                loss(i, k) = on.loss_of(y(i, k));
            }
        }
        add_all_losses(s, xi);
        if (by.prediction.speaks_of(s)) {
            double theirs = 0.0;
            for (int64_t i = 0; i < n; i++)
                for (int64_t k = 0; k < n_labels; k++) theirs += by.prediction.probabilities(a + i, k) * loss(i, k);
            out.sums[0] += xi * theirs;
        }
    }

private:
    // Weights of those who gave each label, annotators and predictor.
    void add_votes(int64_t s) {
        const int64_t n = crowd.length(s), a = crowd.token_offsets[s];
        int64_t at = crowd.tag_offsets[s];
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < n_labels; k++) y(i, k) = 0.0;
        for (int64_t r = crowd.sentence_rows[s]; r < crowd.sentence_rows[s + 1]; r++, at += n) {
            const double weight = by.weights[crowd.row_annotator[r]];
            for (int64_t i = 0; i < n; i++) {
                const Tag tag = crowd.tags[at + i];
                if (tag >= 0) y(i, tag) += weight;
            }
        }
        if (by.prediction.speaks_of(s))
            for (int64_t i = 0; i < n; i++)
                for (int64_t k = 0; k < n_labels; k++)
                    y(i, k) += by.prediction.weight * by.prediction.probabilities(a + i, k);
    }

    // Class-weighted votes to probabilities and the winning label; says whether anybody voted.
    bool normalise(int64_t n, uint64_t key) {
        bool anybody = false;
        for (int64_t i = 0; i < n; i++) {
            double total = 0.0;
            for (int64_t k = 0; k < n_labels; k++) {
                y(i, k) *= by.class_weights[k];
                total += y(i, k);
            }
            if (total > 0.0) {
                anybody = true;
                for (int64_t k = 0; k < n_labels; k++) y(i, k) /= total;
                on.path[i] = pick(y.row(i), by.preference, by.random, key, i);
            } else {
                for (int64_t k = 0; k < n_labels; k++) y(i, k) = 1.0 / double(n_labels);
                on.path[i] = Tag(crowd.grammar.outside);
            }
        }
        return anybody;
    }

    // Probability of token i's most likely label minus that of the second (Eq 4).
    double margin_of(int64_t i) const {
        double top = 0.0, second = 0.0;
        for (int64_t k = 0; k < n_labels; k++) {
            const double value = y(i, k);
            if (value > top) {
                second = top;
                top = value;
            } else if (value > second) {
                second = value;
            }
        }
        return top - second;
    }

    void add_all_losses(int64_t s, double xi) {
        const Bools& is_entity = crowd.grammar.is_entity;
        const int64_t n = crowd.length(s);
        int64_t at = crowd.tag_offsets[s];
        for (int64_t r = crowd.sentence_rows[s]; r < crowd.sentence_rows[s + 1]; r++, at += n) {
            double theirs = 0.0, stake_loss = 0.0;
            int64_t stakes = 0;
            for (int64_t i = 0; i < n; i++) {
                const Tag tag = crowd.tags[at + i];
                if (tag < 0) continue;
                theirs += loss(i, tag);
                if (is_entity[tag] || is_entity[on.path[i]]) {
                    stake_loss += loss(i, tag);
                    stakes++;
                }
            }
            const int64_t annotator = crowd.row_annotator[r];
            out.losses(0, annotator) += xi * theirs;
            out.losses(1, annotator) += xi * stake_loss;
            out.losses(2, annotator) += double(stakes);
        }
    }
};

template <class Tag>
void vote(CrowdView<Tag> crowd, int64_t first, int64_t last, Ballot<Tag> by, Outcome<Tag> out) {
    Voting<Tag> voting(crowd, by, out, first, last);
    const bool all_tokens = by.random || by.known.size();
    for (int64_t s = first; s < last; s++)
        if (all_tokens || by.prediction.speaks_of(s) || !voting.by_contested(s)) voting.by_all(s);
}

// Adds to int64[L] the votes for each label, over all tokens or over those with more than one label.
template <class Tag>
void count_label_votes(CrowdView<Tag> crowd, int64_t first, int64_t last, bool contested, Out<int64_t> counts) {
    for (int64_t s = first; s < last; s++) {
        const int64_t n = crowd.length(s), end = crowd.tag_offsets[s + 1];
        for (int64_t i = 0; i < n; i++) {
            int64_t seen = -1;
            bool differ = false;
            for (int64_t at = crowd.tag_offsets[s] + i; at < end; at += n) {
                const Tag tag = crowd.tags[at];
                if (tag < 0) continue;
                differ = differ || (seen >= 0 && tag != seen);
                seen = tag;
            }
            if (contested && !differ) continue;
            for (int64_t at = crowd.tag_offsets[s] + i; at < end; at += n)
                if (crowd.tags[at] >= 0) counts[crowd.tags[at]]++;
        }
    }
}

// Adds to int64[2, W]: tokens on which each annotator differs from `truth`, and tokens at stake.
template <class Tag>
void count_errors(CrowdView<Tag> crowd, int64_t first, int64_t last, In<Tag> truth, Out<int64_t, 2> counts) {
    const Bools& is_entity = crowd.grammar.is_entity;
    for (int64_t s = first; s < last; s++) {
        const int64_t a = crowd.token_offsets[s], n = crowd.length(s);
        int64_t at = crowd.tag_offsets[s];
        for (int64_t r = crowd.sentence_rows[s]; r < crowd.sentence_rows[s + 1]; r++, at += n) {
            const int64_t annotator = crowd.row_annotator[r];
            for (int64_t i = 0; i < n; i++) {
                const Tag tag = crowd.tags[at + i], truly = truth[a + i];
                if (tag < 0 || truly < 0) continue;
                counts(0, annotator) += tag != truly;
                counts(1, annotator) += is_entity[tag] || is_entity[truly];
            }
        }
    }
}

}  // namespace
