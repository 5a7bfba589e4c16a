#include "run/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_any(const char *run, wk_weights_kind kind, int64_t step)
{
    uint64_t found;
    int64_t wanted = step == WK_STEP_ALL ? WK_STEP_LAST : step;
    return wk_weights_find(run, (wk_weights_source){.kind = kind}, wanted, &found, NULL) == WK_OK;
}

// Fails: there are no task policies, or only adaptations with names.
static wk_status no_policies(const char *run, wk_error *err)
{
    wk_weights_folders folders = {0};
    wk_text names = {0};
    wk_status status = wk_weights_list(run, WK_WEIGHTS_ADAPTED, &folders, NULL);
    for (size_t i = 0; status == WK_OK && i < folders.count; i++) {
        const char *name = folders.items[i].name;
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= strcmp(folders.items[k].name, name) == 0;
        if (*name && !again) wk_text_printf(&names, "%s%s", names.length > 0 ? ", " : "", name);
    }
    wk_array_free(&folders);
    if (names.length > 0)
        status = wk_fail(
            err, WK_E_NOT_FOUND, "'%s' has adaptations with names only: %s; add --name %.*s", run,
            wk_text_get(&names), (int)strcspn(wk_text_get(&names), ","), wk_text_get(&names));
    else
        status = wk_fail(err, WK_E_NOT_FOUND,
                         "'%s' has no task policies: its world model was trained without tasks; "
                         "create some with 'waker adapt %s', or evaluate --policy random",
                         run, run);
    wk_text_free(&names);
    return status;
}

// Which policies a query without one means.
static wk_status choose_policy(const char *run, bool alongside, const wk_weights_query *query,
                               const char **policy, wk_error *err)
{
    *policy = WK_POLICY_ADAPTED;
    if (query->name || has_any(run, WK_WEIGHTS_ADAPTED, query->step)) return WK_OK;
    if (alongside) {
        *policy = WK_POLICY_ALONGSIDE;
        return WK_OK;
    }
    // Adapted policies of other steps are better listed than passed over.
    return has_any(run, WK_WEIGHTS_ADAPTED, WK_STEP_LAST) ? WK_OK : no_policies(run, err);
}

// Adds the steps of the weights, rising and each once.
static wk_status list_steps(const char *run, const wk_weights_query *query, wk_weights_answer *out,
                            wk_error *err)
{
    int files = out->source.kind == WK_WEIGHTS_FINETUNED ? query->n_tasks : 1;
    for (int i = 0; i < files; i++) {
        const char *task = query->n_tasks > 0 ? query->tasks[i] : NULL;
        WK_TRY(wk_weights_steps(run, wk_weights_of(out, task), &out->steps, err));
    }
    wk_steps *steps = &out->steps;
    if (steps->count > 1) qsort(steps->items, steps->count, sizeof *steps->items, wk_compare_u64);
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (kept == 0 || steps->items[kept - 1] != steps->items[i])
            steps->items[kept++] = steps->items[i];
    steps->count = kept;
    return WK_OK;
}

wk_status wk_weights_resolve(const char *run, const wk_run_config *config,
                             const wk_weights_query *query, wk_weights_answer *out, wk_error *err)
{
    static const char *const policies[] = {WK_POLICY_ADAPTED, WK_POLICY_ALONGSIDE,
                                           WK_POLICY_FINETUNED, WK_POLICY_RANDOM};
    static const wk_weights_kind kinds[] = {WK_WEIGHTS_ADAPTED, WK_WEIGHTS_SNAPSHOT,
                                            WK_WEIGHTS_FINETUNED, WK_WEIGHTS_SNAPSHOT};
    enum { POLICIES = sizeof kinds / sizeof *kinds };
    bool alongside = strcmp(config->tasks, "none") != 0;

    // Which policies.
    out->policy = query->policy;
    WK_TRY(wk_weights_check_name(query->name, err));
    if (!out->policy) WK_TRY(choose_policy(run, alongside, query, &out->policy, err));
    int kind = 0;
    while (kind < POLICIES && strcmp(policies[kind], out->policy) != 0)
        kind++;
    if (kind == POLICIES) return wk_fail_unknown(err, "policy", out->policy, policies, POLICIES);
    if (strcmp(out->policy, WK_POLICY_ALONGSIDE) == 0 && !alongside)
        return wk_fail(err, WK_E_INPUT,
                       "--policy alongside: '%s' was trained without tasks; create policies from "
                       "its snapshots with 'waker adapt %s'",
                       run, run);
    if (query->name && kinds[kind] == WK_WEIGHTS_SNAPSHOT)
        return wk_fail(err, WK_E_INPUT,
                       "--name selects adapted or fine-tuned policies; --policy %s has no names",
                       out->policy);
    out->source = (wk_weights_source){.kind = kinds[kind], .name = query->name};
    snprintf(out->title, sizeof out->title, "%s%s%s", out->policy, query->name ? "." : "",
             query->name ? query->name : "");

    // Of which steps.
    WK_TRY(list_steps(run, query, out, err));
    wk_steps *steps = &out->steps;
    if (steps->count > 0 && query->step == WK_STEP_ALL) return WK_OK;
    if (steps->count > 0 && query->step == WK_STEP_LAST) {
        steps->items[0] = steps->items[steps->count - 1];
        steps->count = 1;
        return WK_OK;
    }
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->items[i] != (uint64_t)query->step) continue;
        steps->items[0] = steps->items[i];
        steps->count = 1;
        return WK_OK;
    }
    // There are none of that step: the message lists what there is.
    uint64_t none;
    int64_t wanted = query->step == WK_STEP_ALL ? WK_STEP_LAST : query->step;
    const char *task = query->n_tasks > 0 ? query->tasks[0] : NULL;
    return wk_weights_find(run, wk_weights_of(out, task), wanted, &none, err);
}

void wk_weights_answer_free(wk_weights_answer *answer)
{
    wk_array_free(&answer->steps);
}

wk_weights_source wk_weights_of(const wk_weights_answer *answer, const char *task)
{
    wk_weights_source source = answer->source;
    if (source.kind == WK_WEIGHTS_FINETUNED) source.task = task;
    return source;
}
