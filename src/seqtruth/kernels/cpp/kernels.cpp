// Every kernel of the library, by the name that Python calls it. This file is compiled once for each vector width
// (SEQTRUTH_WIDTH is its name), and library.cpp takes the widest that the machine has.
#include "agreement.hpp"
#include "binding.hpp"
#include "chain.hpp"
#include "conll.hpp"
#include "counting.hpp"
#include "crf.hpp"
#include "estep.hpp"
#include "json_lines.hpp"
#include "json_split.hpp"
#include "longtable.hpp"
#include "memory.hpp"
#include "sentences.hpp"
#include "span_decoding.hpp"
#include "special.hpp"
#include "text.hpp"
#include "vote.hpp"

namespace {

// Kernels for tests and for single values, that others here call inside of theirs.
template <class Tag>
int64_t count_inconsistency(In<Tag> path, Grammar grammar) {
    return inconsistency(path, path.size(), grammar);
}

const Kernel TABLE[] = {
    PLAIN_KERNEL(add_to_row),
    PLAIN_KERNEL(multiply_rows),
    PLAIN_KERNEL(row_total),
    PLAIN_KERNEL(exponentiate_row),
    KERNEL(best_chain_paths, best_chain_paths<float, int8_t>),
    KERNEL(best_chain_paths, best_chain_paths<float, int16_t>),
    KERNEL(best_chain_paths, best_chain_paths<double, int8_t>),
    KERNEL(best_chain_paths, best_chain_paths<double, int16_t>),
    KERNEL(smooth_chain, smooth_chain<float>),
    KERNEL(smooth_chain, smooth_chain<double>),
    TAG_KERNEL(mark_rows),
    TAG_KERNEL(expect),
    TAG_KERNEL(best_crowd_paths),
    TAG_KERNEL(add_label_scores),
    PLAIN_KERNEL(hash_ids),
    PLAIN_KERNEL(draw),
    TAG_KERNEL(repair_one),
    TAG_KERNEL(count_inconsistency),
    TAG_KERNEL(vote),
    TAG_KERNEL(count_label_votes),
    TAG_KERNEL(count_errors),
    TAG_KERNEL(count_labelled),
    TAG_KERNEL(count_illegal),
    TAG_KERNEL(extract_spans),
    TAG_KERNEL(paint_spans),
    TAG_KERNEL(choose_spans),
    KERNEL(count_spans, count_spans<int8_t, int8_t>),
    KERNEL(count_spans, count_spans<int8_t, int16_t>),
    KERNEL(count_spans, count_spans<int16_t, int8_t>),
    KERNEL(count_spans, count_spans<int16_t, int16_t>),
    TAG_KERNEL(compare_rows),
    TAG_KERNEL(compare_spans),
    TAG_KERNEL(count_tokens),
    PLAIN_KERNEL(unitising_differences),
    PLAIN_KERNEL(count_lengths),
    PLAIN_KERNEL(add_scaled_rows),
    TAG_KERNEL(count_confirmations),
    TAG_KERNEL(drop_silence),
    NUMBER_KERNEL(count_pairs),
    NUMBER_KERNEL(count_given),
    NUMBER_KERNEL(lay_out),
    KERNEL(recode, recode<int8_t, int8_t>),
    KERNEL(recode, recode<int16_t, int8_t>),
    KERNEL(recode, recode<int32_t, int8_t>),
    KERNEL(recode, recode<int64_t, int8_t>),
    KERNEL(recode, recode<int8_t, int16_t>),
    KERNEL(recode, recode<int16_t, int16_t>),
    KERNEL(recode, recode<int32_t, int16_t>),
    KERNEL(recode, recode<int64_t, int16_t>),
    TAG_KERNEL(add_marked_evidence),
    TAG_KERNEL(add_marked_counts),
    TAG_KERNEL(add_dependence),
    TAG_KERNEL(add_kinship),
    PLAIN_KERNEL(sum_rows),
    PLAIN_KERNEL(turn_rows),
    PLAIN_KERNEL(residuals),
    KERNEL(dot, dot<float>),
    KERNEL(dot, dot<double>),
    PLAIN_KERNEL(add_vector),
    KERNEL(add_dot, add_dot<float, float>),
    KERNEL(add_dot, add_dot<float, double>),
    KERNEL(add_dot, add_dot<double, double>),
    KERNEL(differences, differences<float>),
    KERNEL(differences, differences<double>),
    PLAIN_KERNEL(digamma),
    PLAIN_KERNEL(log_gamma),
    PLAIN_KERNEL(gamma_quantile),
    PLAIN_KERNEL(find_runs),
    PLAIN_KERNEL(find_lengths),
    PLAIN_KERNEL(first_gap),
    PLAIN_KERNEL(sort_runs),
    PLAIN_KERNEL(first_repeat),
    PLAIN_KERNEL(agree_on_codes),
    PLAIN_KERNEL(in_order_of_appearance),
    PLAIN_KERNEL(count_lines),
    PLAIN_KERNEL(find_lines),
    PLAIN_KERNEL(find_not_utf8),
    PLAIN_KERNEL(count_cells),
    PLAIN_KERNEL(read_cells),
    NUMBER_KERNEL(find_seen),
    NUMBER_KERNEL(mark_numbers),
    NUMBER_KERNEL(read_columns),
    PLAIN_KERNEL(read_token_lines),
    PLAIN_KERNEL(look_up),
    PLAIN_KERNEL(find_tokens),
    PLAIN_KERNEL(copy_stretches),
    PLAIN_KERNEL(place_spans),
    PLAIN_KERNEL(find_ends),
    PLAIN_KERNEL(read_span_lines),
    PLAIN_KERNEL(find_cuts),
    PLAIN_KERNEL(give_back),
};

}  // namespace

#define JOIN(a, b) a##b
#define TABLE_OF(width) JOIN(seqtruth_kernels_, width)

extern "C" const void* TABLE_OF(SEQTRUTH_WIDTH)(int64_t* n) {
    *n = sizeof TABLE / sizeof *TABLE;
    return TABLE;
}
