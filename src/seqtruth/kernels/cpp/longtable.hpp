// Rows of a token table as runs; see io/longtable/runs.py and io/longtable/codes.py.
#pragma once

#include "arrays.hpp"

namespace {

constexpr int32_t NO_TOKEN = -1;

// Where runs begin, into `starts`; returns how many. `fault` gets the first faulty row and the number of its
// fault (FAULTS in runs.py), where there is one.
int64_t find_runs(I32 task, I32 annotator, I32 document, I32 index, I32 label, int64_t n_rows, Out<int32_t> starts,
                  Out<int64_t> fault) {
    int64_t n_runs = 0;
    int32_t before = NO_TOKEN;
    for (int64_t i = 0; i < task.size(); i++) {
        int64_t wrong = -1;
        if (task[i] < 0)
            wrong = 0;
        else if (annotator[i] < 0 && label[i] >= 0)
            wrong = 1;
        else if (index[i] < NO_TOKEN)
            wrong = 2;
        else if (index[i] < 0 && label[i] >= 0)
            wrong = 3;
        else if (index[i] >= n_rows)
            wrong = 4;
        if (wrong >= 0) {
            fault[0] = i, fault[1] = wrong;
            return n_runs;
        }
        if (before < 0 || index[i] != before + 1 || task[i] != task[i - 1] || annotator[i] != annotator[i - 1] ||
            document[i] != document[i - 1])
            starts[n_runs++] = int32_t(i);
        before = index[i];
    }
    return n_runs;
}

// Tokens of each task, by the highest token_index.
void find_lengths(I32 task, I32 first, I64 lengths, Out<int64_t> found) {
    for (int64_t r = 0; r < task.size(); r++) found[task[r]] = most(found[task[r]], first[r] + lengths[r]);
}

// The first task that lacks a row for one of its tokens, and that token, into `found`; as it was if none.
void first_gap(I32 task, I32 first, I64 lengths, I64 offsets, Out<int64_t> found) {
    const int64_t n_tasks = offsets.size() - 1;
    Space<bool, 1> whole(n_tasks);
    int64_t n_whole = 0;
    for (int64_t r = 0; r < task.size(); r++)
        if (!whole[task[r]] && lengths[r] == offsets[task[r] + 1] - offsets[task[r]]) whole[task[r]] = true, n_whole++;
    if (n_whole == n_tasks) return;
    Space<bool, 1> seen(offsets[n_tasks]);
    for (int64_t r = 0; r < task.size(); r++)
        if (!whole[task[r]])
            for (int64_t j = 0; j < lengths[r]; j++) seen[offsets[task[r]] + first[r] + j] = true;
    for (int64_t t = 0; t < n_tasks; t++)
        for (int64_t place = offsets[t]; !whole[t] && place < offsets[t + 1]; place++)
            if (!seen[place]) {
                found[0] = t, found[1] = place - offsets[t];
                return;
            }
}

// Runs with an annotator by task, annotator and place in the table (two counting sorts), into `order`.
void sort_runs(I32 task, I32 annotator, int64_t n_tasks, int64_t n_annotators, Out<int64_t> order) {
    Space<int64_t, 1> by_annotator(n_annotators + 1), by_task(n_tasks + 1), half(order.size());
    for (int64_t r = 0; r < task.size(); r++)
        if (annotator[r] >= 0) by_annotator[annotator[r] + 1]++, by_task[task[r] + 1]++;
    for (int64_t w = 0; w < n_annotators; w++) by_annotator[w + 1] += by_annotator[w];
    for (int64_t t = 0; t < n_tasks; t++) by_task[t + 1] += by_task[t];
    for (int64_t r = 0; r < task.size(); r++)
        if (annotator[r] >= 0) half[by_annotator[annotator[r]]++] = r;
    for (int64_t k = 0; k < order.size(); k++) order[by_task[task[half[k]]]++] = half[k];
}

// The first row that labels what its annotator labelled before; -1 if there is none.
int64_t first_repeat(I64 pair, I64 order, I32 first, I64 lengths, I64 start, int64_t longest) {
    Space<int64_t, 1> seen(longest);
    seen.fill(-1);
    int64_t found = -1;
    const int64_t n = pair.size();
    for (int64_t k = 0; k < n; k++) {
        if (!((k > 0 && pair[k - 1] == pair[k]) || (k + 1 < n && pair[k + 1] == pair[k]))) continue;
        const int64_t r = order[k];
        for (int64_t j = 0; j < lengths[r]; j++) {
            const int64_t row = start[r] + j;
            if (seen[first[r] + j] == pair[k] && (found < 0 || row < found)) found = row;
            seen[first[r] + j] = pair[k];
        }
    }
    return found;
}

// Labels of each pair of task and annotator one after the other, into `tags`, which comes in as -1.
template <class Number>
void lay_out(I64 pair, I64 order, I32 first, I64 lengths, I64 start, In<Number> labels, I64 row_offsets, Out<Number> tags) {
    for (int64_t k = 0; k < pair.size(); k++) {
        const int64_t r = order[k], n = lengths[r], to = row_offsets[pair[k]] + first[r], from = start[r];
        for (int64_t j = 0; j < n; j++) tags[to + j] = labels[from + j];
    }
}

// Fills in the one code that rows give for each token (-1: none); returns the first row that differs, or -1.
int64_t agree_on_codes(I32 task, I32 first, I64 lengths, I64 start, I32 codes, I64 offsets, Out<int32_t> agreed) {
    for (int64_t r = 0; r < task.size(); r++) {
        const int64_t place = offsets[task[r]] + first[r];
        for (int64_t j = 0; j < lengths[r]; j++) {
            const int32_t code = codes[start[r] + j];
            if (code < 0) continue;
            if (agreed[place + j] < 0)
                agreed[place + j] = code;
            else if (agreed[place + j] != code)
                return start[r] + j;
        }
    }
    return -1;
}

// The different codes other than -1, in the order in which they come, into `found`; returns how many.
int64_t in_order_of_appearance(I32 codes, Out<int32_t> found) {
    Space<bool, 1> seen(found.size());
    int64_t n_found = 0;
    for (int64_t i = 0; i < codes.size(); i++)
        if (codes[i] >= 0 && !seen[codes[i]]) {
            seen[codes[i]] = true;
            found[n_found++] = codes[i];
        }
    return n_found;
}

}  // namespace
