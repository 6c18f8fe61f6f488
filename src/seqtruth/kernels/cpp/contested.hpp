// The vote on the tokens that are contested; see kernels/vote.py.
//
// Where all who labelled a token agree, weights cannot change its label, its margin is 1 and nobody loses
// anything: it is *settled*. Settled tokens are found by comparing bytes; the others, one in five or ten, are
// worked on here, with the few labels that somebody gave them instead of all.
#pragma once

#include "views.hpp"

namespace {

// H of a label that y* gives this probability. It diverges where that is 0: y* is clipped at `least`.
struct LossOf {
    double least, largest;

    explicit LossOf(double least) : least(least), largest(-std::log(least)) {}
    INLINE double operator()(double y) const { return y > least ? -std::log(y) : largest; }
};

// The contested tokens of one sentence, in work space for the longest; c counts them.
template <class Tag>
struct Contested {
    Space<Tag, 1> path;        // the label of every token of the sentence
    Space<int32_t, 1> places;  // which token each contested one is
    Space<Tag, 1> sizes;       // how many labels each has
    Space<Tag, 2> given;       // [n, L], the labels that somebody gave it, given(c, :sizes[c])
    Space<double, 2> y;        // [n, L], their probabilities
    Space<Tag, 2> slots;       // [rows, n], which of them each row gave, slots(r, c); -1: none
    LossOf loss_of;

    Contested(int64_t longest, int64_t rows, int64_t n_labels, double least_probability)
        : path(longest), places(longest), sizes(longest), given(longest, n_labels), y(longest, n_labels),
          slots(rows, longest), loss_of(least_probability) {}

    // Number of tokens that are not settled; `path` gets the first row's tags.
    //
    // Rows are compared a word (eight tags of one byte) at a time; the last word's may have been looked at before.
    INLINE int64_t find(const CrowdView<Tag>& crowd, int64_t s) const {
        const int64_t n = crowd.length(s), at = crowd.tag_offsets[s], rows = crowd.rows(s);
        constexpr int64_t step = 8 / sizeof(Tag);
        if (n < step) {
            for (int64_t i = 0; i < n; i++) {
                Tag differs = 0;
                for (int64_t r = 1; r < rows; r++) differs |= crowd.tags[at + r * n + i] ^ crowd.tags[at + i];
                path[i] = differs;
            }
        } else {
            for (int64_t i = 0; i < n; i += step) {
                i = least(i, n - step);
                uint64_t first = crowd.tags.word(at + i), differs = 0;
                for (int64_t r = 1; r < rows; r++) differs |= first ^ crowd.tags.word(at + r * n + i);
                path.set_word(i, differs);
            }
        }
        int64_t found = 0;
        for (int64_t i = 0; i < n; i++) {
            Tag tag = crowd.tags[at + i];
            places[found] = int32_t(i);
            found += (path[i] != 0) | (tag < 0);
            path[i] = tag;
        }
        return found;
    }

    // The vote on contested tokens, of labels that somebody gave; winners go to `path`. Of those equally good,
    // the one of the lowest rank wins. Returns the sum of their margins, -1 where a vote is missing.
    INLINE double vote(const CrowdView<Tag>& crowd, int64_t s, const F64& weights, const F64& class_weights,
                       const In<Tag>& rank, int64_t found) const {
        double margin = 0.0;
        for (int64_t c = 0; c < found; c++) {
            int64_t size = vote_on_two(crowd, s, weights, c) ? 2 : vote_on_any(crowd, s, weights, c);
            double total = 0.0;
            for (int64_t slot = 0; slot < size; slot++) {
                y(c, slot) *= class_weights[given(c, slot)];
                total += y(c, slot);
            }
            if (!(total > 0.0)) return -1.0;
            double top = 0.0, second = 0.0;
            for (int64_t slot = 0; slot < size; slot++) {
                double value = y(c, slot) / total;
                y(c, slot) = value;
                second = most(second, least(value, top));
                top = most(top, value);
            }
            margin += top - second;
            const double bar = top - SCORE_TIE * top;
            int64_t chosen = -1;
            for (int64_t slot = 0; slot < size; slot++) {
                Tag label = given(c, slot);
                if (y(c, slot) >= bar && (chosen < 0 || rank[label] < rank[chosen])) chosen = label;
            }
            path[places[c]] = Tag(chosen);
            sizes[c] = Tag(size);
        }
        return margin;
    }

    // Where the path departs from the vote, the two labels change places. Tokens that were settled are then
    // contested; returns the number of all. `voted` is the path as the vote had it, `rows` the sentence's.
    int64_t swap(const Array<Tag, 1>& voted, int64_t n, int64_t rows, int64_t found) const {
        int64_t now = found, c = 0;
        for (int64_t i = 0; i < n; i++) {
            while (c < found && places[c] < i) c++;
            const Tag new_label = path[i], old_label = voted[i];
            if (new_label == old_label) continue;
            int64_t at = c;
            if (c == found || places[c] != i) {  // it was settled, all rows in one slot
                at = now++;
                places[at] = int32_t(i);
                sizes[at] = 1;
                given(at, 0) = old_label;
                y(at, 0) = 1.0;
                for (int64_t r = 0; r < rows; r++) slots(r, at) = 0;
            }
            int64_t old_slot = 0, new_slot = sizes[at];
            for (int64_t slot = 0; slot < sizes[at]; slot++) {
                if (given(at, slot) == old_label)
                    old_slot = slot;
                else if (given(at, slot) == new_label)
                    new_slot = slot;
            }
            if (new_slot == sizes[at]) {
                given(at, new_slot) = new_label;
                y(at, new_slot) = 0.0;
                sizes[at]++;
            }
            double kept = y(at, old_slot);
            y(at, old_slot) = y(at, new_slot);
            y(at, new_slot) = kept;
        }
        return now;
    }

    // Adds the annotators' losses to [3, W], as in kernels/vote.py; at settled tokens nobody has any, but
    // entities are at stake. `xi` is the confidence of the sentence.
    INLINE void add_losses(const CrowdView<Tag>& crowd, int64_t s, double xi, int64_t found, const Out<double, 2>& losses) const {
        const Bools& is_entity = crowd.grammar.is_entity;
        const int64_t n = crowd.length(s), row = crowd.sentence_rows[s], rows = crowd.rows(s);
        int64_t settled = 0;
        for (int64_t i = 0; i < n; i++) settled += is_entity[path[i]];
        for (int64_t c = 0; c < found; c++) {
            settled -= is_entity[path[places[c]]];
            for (int64_t slot = 0; slot < sizes[c]; slot++) y(c, slot) = loss_of(y(c, slot));
        }
        for (int64_t r = 0; r < rows; r++) {
            double loss = 0.0, stake_loss = 0.0, staked = double(settled);
            for (int64_t c = 0; c < found; c++) {
                int64_t slot = slots(r, c);
                if (slot >= 0) {
                    double stake = int(is_entity[path[places[c]]]) | int(is_entity[given(c, slot)]);
                    loss += y(c, slot);
                    stake_loss += y(c, slot) * stake;
                    staked += stake;
                }
            }
            const int64_t annotator = crowd.row_annotator[row + r];
            losses(0, annotator) += xi * loss;
            losses(1, annotator) += xi * stake_loss;
            losses(2, annotator) += staked;
        }
    }

    // y* of a whole sentence, into rows `at` … of [≥ at + n, L], from that of its contested tokens.
    template <class Number>
    INLINE void spread(const Array<Tag, 1>& labels, int64_t n, int64_t found, const Out<Number, 2>& out, int64_t at) const {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = 0; k < out.shape[1]; k++) out(at + i, k) = 0;
            out(at + i, labels[i]) = 1;
        }
        for (int64_t c = 0; c < found; c++) {
            int64_t i = places[c];
            out(at + i, labels[i]) = 0;
            for (int64_t slot = 0; slot < sizes[c]; slot++) out(at + i, given(c, slot)) = Number(y(c, slot));
        }
    }

private:
    // Votes on a token that all label, with two labels between them, as most contested tokens are; false where it
    // is not so. No branch in it depends on who gave which.
    INLINE bool vote_on_two(const CrowdView<Tag>& crowd, int64_t s, const F64& weights, int64_t c) const {
        const int64_t n = crowd.length(s), at = crowd.tag_offsets[s] + places[c];
        const int64_t row = crowd.sentence_rows[s], rows = crowd.rows(s);
        const Tag first = crowd.tags[at];
        Tag other = first;
        for (int64_t r = 1; r < rows; r++) {
            Tag tag = crowd.tags[at + r * n];
            other = other == first ? tag : other;
        }
        double yes = 0.0, no = 0.0;
        bool rest = (first < 0) | (other < 0);
        for (int64_t r = 0; r < rows; r++) {
            const Tag tag = crowd.tags[at + r * n];
            const double weight = weights[crowd.row_annotator[row + r]];
            const bool same = tag == first;
            rest |= !(same | (tag == other));
            yes += same ? weight : 0.0;
            no += same ? 0.0 : weight;
            slots(r, c) = Tag(!same);
        }
        if (rest) return false;
        given(c, 0) = first, given(c, 1) = other;
        y(c, 0) = yes, y(c, 1) = no;
        return true;
    }

    // Votes on any token; returns the number of labels.
    INLINE int64_t vote_on_any(const CrowdView<Tag>& crowd, int64_t s, const F64& weights, int64_t c) const {
        const int64_t n = crowd.length(s), at = crowd.tag_offsets[s] + places[c];
        const int64_t row = crowd.sentence_rows[s], rows = crowd.rows(s);
        int64_t size = 0;
        for (int64_t r = 0; r < rows; r++) {
            const Tag tag = crowd.tags[at + r * n];
            int64_t slot = -1;
            if (tag >= 0) {
                slot = 0;
                while (slot < size && given(c, slot) != tag) slot++;
                if (slot == size) {
                    given(c, slot) = tag, y(c, slot) = 0.0;
                    size++;
                }
                y(c, slot) += weights[crowd.row_annotator[row + r]];
            }
            slots(r, c) = Tag(slot);
        }
        return size;
    }
};

}  // namespace
