#include "run/checkpoint/steps.h"
#include "base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wk_steps_text(uint64_t steps, int action_repeat, char out[WK_STEPS_TEXT_MAX])
{
    int used = snprintf(out, WK_STEPS_TEXT_MAX, "%" PRIu64 " agent steps", steps);
    if (action_repeat > 1)
        snprintf(out + used, WK_STEPS_TEXT_MAX - (size_t)used, " (%" PRIu64 " control steps)",
                 steps * (uint64_t)action_repeat);
}

void wk_step_name(const char *before, uint64_t step, const char *after, char out[WK_STEP_NAME_MAX])
{
    snprintf(out, WK_STEP_NAME_MAX, "%sstep-%012" PRIu64 "%s", before, step, after);
}

wk_status wk_step_damaged_name(const wk_dir *dir, uint64_t step, char out[WK_STEP_NAME_MAX],
                               wk_error *err)
{
    wk_entry there = WK_ENTRY_OTHER;
    for (int copy = 0; there != WK_ENTRY_NONE; copy++) {
        char ending[16] = "";
        if (copy > 0) snprintf(ending, sizeof ending, "-%d", copy);
        wk_step_name("damaged-", step, ending, out);
        WK_TRY(wk_dir_stat(dir, out, &there, NULL, err));
    }
    return WK_OK;
}

bool wk_step_parse(const char *name, const char *before, const char *after, uint64_t *step)
{
    char again[WK_STEP_NAME_MAX];
    size_t length = strlen(before);
    if (strncmp(name, before, length) != 0) return false;
    if (sscanf(name + length, "step-%20" SCNu64, step) != 1) return false;
    wk_step_name(before, *step, after, again);
    return strcmp(name, again) == 0;
}

wk_status wk_steps_list(const wk_dir *dir, const char *before, const char *after, wk_steps *out,
                        wk_error *err)
{
    wk_names names = {0};
    wk_status status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        uint64_t step;
        if (!wk_step_parse(names.items[i], before, after, &step)) continue;
        if (!wk_array_push(out, step))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the steps in '%s'", wk_dir_path(dir));
    }
    wk_names_free(&names);
    if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, wk_compare_u64);
    return status;
}
