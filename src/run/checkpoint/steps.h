// Files and directories that are named by agent steps: "step-000000500000.safetensors".
#ifndef WK_RUN_CHECKPOINT_STEPS_H
#define WK_RUN_CHECKPOINT_STEPS_H

#include "base/dir.h"
#include <stdbool.h>
#include <stdint.h>

/// Agent steps; free it with wk_array_free.
typedef WK_ARRAY(uint64_t) wk_steps;

enum { WK_STEP_NAME_MAX = 320 };

/// How users read a number of steps: "500000 agent steps (1000000 control steps)"; those of the
/// simulator are left out where an action is one of them.
enum { WK_STEPS_TEXT_MAX = 96 };
void wk_steps_text(uint64_t steps, int action_repeat, char out[WK_STEPS_TEXT_MAX]);

/// BEFORE step-%012 AFTER.
void wk_step_name(const char *before, uint64_t step, const char *after, char out[WK_STEP_NAME_MAX]);

/// A name for what is kept of a damaged step that nothing in `dir` has yet:
/// damaged-step-%012[-COPY].
wk_status wk_step_damaged_name(const wk_dir *dir, uint64_t step, char out[WK_STEP_NAME_MAX],
                               wk_error *err);

/// Whether `name` is exactly what wk_step_name gives for some step: "step-7" and
/// "step-000000000007.bak" are not.
bool wk_step_parse(const char *name, const char *before, const char *after, uint64_t *step);

/// Adds the steps of all such names in a directory, ascending.
wk_status wk_steps_list(const wk_dir *dir, const char *before, const char *after, wk_steps *out,
                        wk_error *err);

#endif
