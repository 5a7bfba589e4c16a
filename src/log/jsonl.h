// metrics.jsonl: one JSON object a line for each write, "step" and "agent_step" first, then the
// scalars by name. Without timings the same run gives the same bytes. Numbers that are not finite
// become null. Images are omitted.
#ifndef WK_LOG_JSONL_H
#define WK_LOG_JSONL_H

#include "log/metrics.h"

/// Opens or creates the file `name` in `dir`, removes a torn last line, and truncates it to byte
/// `max` (UINT64_MAX: nothing; always at the beginning of a line). The sink owns the file. Measured
/// numbers are left out unless `timing`.
wk_status wk_jsonl_open(const wk_dir *dir, const char *name, uint64_t max, bool timing,
                        wk_metrics_sink *out, wk_error *err);

#endif
