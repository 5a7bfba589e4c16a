// What a report says in words: which method scores higher than which, and where nothing can be
// claimed. Made from the comparisons alone.
#ifndef WK_REPORT_FINDINGS_H
#define WK_REPORT_FINDINGS_H

#include "report/tables/improvement.h"

/// One or two sentences for each metric and exploration, the paper's order; none without scores.
wk_status wk_findings_make(const wk_comparison *comparison, wk_sentences *out, wk_error *err);

#endif
