// What waker theory has computed, and how it is shown: as text, as JSON, as files.
#ifndef WK_CLI_THEORY_H
#define WK_CLI_THEORY_H

#include "base/text.h"
#include "theory/bound.h"
#include "theory/curricula.h"

enum { WK_THEORY_FAMILIES_MAX = 8 };

/// Results of the chosen families; `checks` and `comparisons` are zero where not asked for.
typedef struct wk_theory_results {
    const wk_family *families[WK_THEORY_FAMILIES_MAX];
    size_t count;
    bool checked, compared;
    uint64_t seed;
    wk_theory_check checks[WK_THEORY_FAMILIES_MAX];
    wk_curricula comparisons[WK_THEORY_FAMILIES_MAX];
    // Of each curriculum and measure.
    wk_curricula_summary summaries[WK_THEORY_FAMILIES_MAX][WK_MEASURES][WK_COMPARED];
} wk_theory_results;

void wk_theory_text(const wk_theory_results *results, wk_text *out);
void wk_theory_json(const wk_theory_results *results, wk_text *out);

/// Writes check.csv, curves.csv, shares.csv, visits.csv and the figures into a folder, which is
/// made.
wk_status wk_theory_write(const wk_theory_results *results, const char *folder, wk_error *err);

#endif
