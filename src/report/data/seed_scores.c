#include "report/data/seed_scores.h"

#include <stdlib.h>
#include <string.h>

static bool has_policy(const wk_report_run *run, const char *policy)
{
    for (size_t i = 0; i < run->scores.count; i++)
        if (strcmp(run->scores.items[i].policy, policy) == 0) return true;
    return false;
}

const char *wk_run_policy(const wk_report_run *run, const wk_seed_scores_config *config)
{
    static const char *const usual[] = {"adapted", "alongside"};
    if (config->policy) return has_policy(run, config->policy) ? config->policy : NULL;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (has_policy(run, usual[i])) return usual[i];
    return NULL;
}

static bool add(wk_seed_scores *out, const wk_report_run *run, const wk_run_score *score,
                const char *metric, double value)
{
    wk_seed_score found = {
        .key = {{metric, score->domain, score->variant, score->task, run->exploration,
                 run->method}},
        .seed = run->seed,
        .step = score->step,
        .run = run,
        .policy = score->policy,
        .value = value,
    };
    return wk_array_push(&out->items, found);
}

static bool add_run(wk_seed_scores *out, const wk_report_run *run, const char *policy)
{
    bool all = true;
    for (size_t i = 0; i < run->scores.count && all; i++) {
        const wk_run_score *score = &run->scores.items[i];
        if (strcmp(score->policy, policy) != 0) continue;
        if (*score->variant)
            all = add(out, run, score, "ood-average", score->average);
        else
            all = add(out, run, score, "cvar0.1", score->cvar) &&
                  add(out, run, score, "average", score->average);
    }
    return all;
}

static int compare(const void *a, const void *b, void *paper)
{
    const wk_seed_score *x = a, *y = b;
    int order = wk_paper_order_keys(paper, &x->key, &y->key, WK_FIELDS);
    if (!order) order = (x->seed > y->seed) - (x->seed < y->seed);
    if (!order) order = strcmp(x->run->directory, y->run->directory);
    return order ? order : (x->step > y->step) - (x->step < y->step);
}

// Of each run's numbers about one thing, the one that stands in the tables.
static void mark_final(wk_seed_scores *out, int64_t step)
{
    for (size_t first = 0, end; first < out->items.count; first = end) {
        wk_seed_score *items = out->items.items;
        end = first + 1;
        while (end < out->items.count && items[end].run == items[first].run &&
               wk_paper_order_keys(out->paper, &items[first].key, &items[end].key, WK_FIELDS) == 0)
            end++;
        if (step < 0) items[end - 1].final = true;
        for (size_t i = first; i < end && step >= 0; i++)
            items[i].final = items[i].step == (uint64_t)step;
    }
}

wk_status wk_seed_scores_collect(const wk_runs *runs, const wk_paper *paper,
                                 const wk_seed_scores_config *config, wk_seed_scores *out,
                                 wk_error *err)
{
    bool all = true;
    out->paper = paper;
    for (size_t i = 0; i < runs->items.count && all; i++) {
        const char *policy = wk_run_policy(runs->items.items[i], config);
        if (policy) all = add_run(out, runs->items.items[i], policy);
    }
    if (!all) return wk_fail(err, WK_E_MEMORY, "no memory for the scores of the runs");
    if (out->items.count)
        qsort_r(out->items.items, out->items.count, sizeof *out->items.items, compare,
                (void *)paper);
    mark_final(out, config->step);
    return WK_OK;
}

void wk_seed_scores_free(wk_seed_scores *scores)
{
    wk_array_free(&scores->items);
    *scores = (wk_seed_scores){0};
}

size_t wk_seed_scores_range_end(const wk_seed_scores *scores, size_t first, int fields)
{
    size_t end = first + 1;
    const wk_seed_score *items = scores->items.items;
    while (end < scores->items.count &&
           wk_paper_order_keys(scores->paper, &items[first].key, &items[end].key, fields) == 0)
        end++;
    return end;
}

bool wk_seed_score_is_combined(const wk_seed_score *found)
{
    return strchr(found->key.names[WK_FIELD_DOMAIN], '/') != NULL;
}
