// The paper's tables (assets/paper/results.csv, compiled in), to compare with; and the order in
// which the paper names things, which reports follow.
#ifndef WK_REPORT_PAPER_H
#define WK_REPORT_PAPER_H

#include "report/memory.h"

/// The columns of a result's key, and the order in which rows are sorted.
typedef enum wk_field {
    WK_FIELD_METRIC,  // "cvar0.1", "average", "ood-average", "ood-tasks"
    WK_FIELD_DOMAIN,  // "clean-up", or "combined/clean-up"
    WK_FIELD_VARIANT, // out-of-distribution case, "" for none
    WK_FIELD_TASK,
    WK_FIELD_EXPLORATION, // "p2e", "random"
    WK_FIELD_CURRICULUM,
    WK_FIELDS
} wk_field;

/// "metric", "domain", ...: heading of the column.
const char *wk_field_name(wk_field field);

/// What a result is about. All strings are borrowed and not NULL.
typedef struct wk_result_key {
    const char *names[WK_FIELDS];
} wk_result_key;

/// One result of the paper.
typedef struct wk_paper_row {
    wk_result_key key;
    double mean, sd; // over 5 seeds
} wk_paper_row;

typedef struct wk_paper {
    wk_report_memory *memory;
    WK_ARRAY(wk_paper_row) rows;
    WK_ARRAY(const char *) names[WK_FIELDS]; // the different ones of each field, in order
} wk_paper;

/// Reads the compiled-in file into the memory, which must outlive it.
void wk_paper_read(wk_report_memory *memory, wk_paper *out);

/// The paper's result for the key, or NULL.
const wk_paper_row *wk_paper_find(const wk_paper *paper, const wk_result_key *key);

/// Adds a name that the paper does not have, in the order after `base`, which is added too if need
/// be. Names are borrowed.
void wk_paper_add_name(wk_paper *paper, wk_field field, const char *base, const char *name);

/// Index of a name in the order; the number of names if it is none of them.
size_t wk_paper_name_index(const wk_paper *paper, wk_field field, const char *name);

/// Order of two names of a field: as the paper first mentions them, others after by name.
int wk_paper_order(const wk_paper *paper, wk_field field, const char *a, const char *b);

/// The order of curricula for qsort_r over names, with the wk_paper as its argument.
int wk_paper_compare_curricula(const void *a, const void *b, void *paper);

/// Order of two keys by these fields, one after the other.
int wk_paper_order_keys(const wk_paper *paper, const wk_result_key *a, const wk_result_key *b,
                        const wk_field *fields, int count);

#endif
