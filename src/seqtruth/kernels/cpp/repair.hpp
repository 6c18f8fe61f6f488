// The consistency module: turns a soft labelling into paths that obey the label scheme; see kernels/repair.py.
#pragma once

#include "recursions.hpp"
#include "ties.hpp"
#include "views.hpp"

namespace {

// Numbers of the decodings, as DECODINGS in kernels/repair.py has them.
constexpr int64_t NO_REPAIR = 0, EXACT = 1, BIDIRECTIONAL = 2, UNIDIRECTIONAL = 3;
// Probability of a label nobody gave, inside a decoder: small, so that a legal path always exists.
constexpr double LEAST_VOTE = 1e-12;

// How paths are made legal, with work space for sentences of up to `longest` tokens.
template <class Tag>
struct Repairer {
    int64_t how;
    PaddedChain legal;  // logarithms of the chain that the grammar allows
    Space<double, 2> logs;
    ViterbiSpace viterbi;
    Space<Tag, 1> forward;
    double log_least = std::log(LEAST_VOTE);

    Repairer(int64_t how, const PaddedChain& legal, int64_t longest)
        : how(how), legal(legal), logs(longest, legal.width()), viterbi(longest, legal.width()), forward(longest) {}

    // Makes `path`, which comes in as the vote's winners, legal. `key` is for the draw between equally good paths.
    void repair(const Array<double, 2>& y, int64_t n, const Grammar& grammar, uint64_t key, const Out<Tag>& path) const {
        if (how == EXACT)
            exact(y, n, path);
        else if (how == BIDIRECTIONAL)
            bidirectional(y, n, grammar, key, path);
        else if (how == UNIDIRECTIONAL)
            unidirectional(y, n, grammar, path);
    }

    // argmax over legal paths of Σ_i log y*[i, path_i].
    void exact(const Array<double, 2>& y, int64_t n, const Out<Tag>& path) const {
        take_logs(y, n);
        viterbi_sentence(logs, n, legal, viterbi, path, 0);
    }

    // The paper's bidirectional solution.
    //
    // Forward traversal (Eq Y-2): token i is consistent when (i, i+1) is a legal transition; its present label
    // then has emission 1, every other label and every inconsistent token has the probability y*. One Viterbi
    // pass with 0/1 transitions gives Y^2*. Backward traversal (Eq Y-3) does the same with (i-1, i). The path
    // with more entity labels wins, ties by the seeded draw.
    void bidirectional(const Array<double, 2>& y, int64_t n, const Grammar& grammar, uint64_t key, const Out<Tag>& path) const {
        take_logs(y, n);
        for (int64_t i = 0; i < n; i++)
            if (i == n - 1 ? grammar.end[path[i]] : grammar.allowed(path[i], path[i + 1])) logs(i, path[i]) = 0.0;
        viterbi_sentence(logs, n, legal, viterbi, forward, 0);
        for (int64_t i = 0; i < n; i++) {
            bool fine = i == 0 ? grammar.start[path[i]] : grammar.allowed(path[i - 1], path[i]);
            logs(i, path[i]) = fine ? 0.0 : std::log(most(y(i, path[i]), LEAST_VOTE));
        }
        viterbi_sentence(logs, n, legal, viterbi, path, 0);
        int64_t more = 0;
        for (int64_t i = 0; i < n; i++) more += grammar.is_entity[forward[i]] - grammar.is_entity[path[i]];
        if (more > 0 || (more == 0 && draw(key, n, 2) == 0))
            for (int64_t i = 0; i < n; i++) path[i] = forward[i];
    }

    // OptSLA's repair, left to right.
    //
    // For token i, among the two most probable labels of i and of i+1, given the label already chosen for i-1,
    // take the first combination without a forbidden transition in the order best-best, best-second,
    // second-best, second-second; the best label where none is. The last token looks back only; the first must
    // be able to open a sentence.
    static void unidirectional(const Array<double, 2>& y, int64_t n, const Grammar& grammar, const Out<Tag>& path) {
        for (int64_t i = 0; i < n; i++) {
            const bool final = i + 1 == n;
            const int64_t first = path[i], second = second_best(y, i, first);
            const int64_t ahead = final ? -1 : path[i + 1], ahead_second = final ? -1 : second_best(y, i + 1, ahead);
            for (int trial = 0; trial < 4; trial++) {
                const int64_t here = trial < 2 ? first : second, then = trial % 2 == 0 ? ahead : ahead_second;
                if (here < 0 || (!final && then < 0)) continue;  // a scheme of one label has no second
                bool fine = i == 0 ? grammar.start[here] : grammar.allowed(path[i - 1], here);
                fine = fine && (final ? grammar.end[here] : grammar.allowed(here, then));
                if (fine) {
                    path[i] = Tag(here);
                    break;
                }
            }
        }
    }

private:
    // Most labels of a token have no vote, and 1 needs no logarithm either.
    void take_logs(const Array<double, 2>& y, int64_t n) const {
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < y.shape[1]; k++) {
                double value = y(i, k);
                logs(i, k) = value <= LEAST_VOTE ? log_least : value == 1.0 ? 0.0 : std::log(value);
            }
    }

    // Most probable label of token i besides `first`; -1 where there is no other.
    static int64_t second_best(const Array<double, 2>& y, int64_t i, int64_t first) {
        int64_t chosen = -1;
        for (int64_t k = 0; k < y.shape[1]; k++)
            if (k != first && (chosen < 0 || y(i, k) > y(i, chosen) + SCORE_TIE)) chosen = k;
        return chosen;
    }
};

// One sentence y [n, L], for the tests and for those who have but one.
template <class Tag>
void repair_one(Out<double, 2> y, Grammar grammar, int64_t how, PaddedChain legal, uint64_t key, Out<Tag> path) {
    Repairer<Tag> by(how, legal, most<int64_t>(y.size(), 1));
    by.repair(y, y.size(), grammar, key, path);
}

}  // namespace
