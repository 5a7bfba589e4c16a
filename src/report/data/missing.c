#include "report/data/seed_scores.h"

#include "base/array.h"
#include "base/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Hands the text over as a sentence; empty ones are none.
static bool keep(wk_sentences *out, wk_text *text)
{
    if (text->failed) return false;
    if (text->length == 0) return true;
    if (!wk_array_push(&out->items, text->chars)) return false;
    *text = (wk_text){0};
    return true;
}

static bool same_method(const wk_report_run *a, const wk_report_run *b)
{
    return strcmp(a->method, b->method) == 0;
}

// Runs [first, end) of one domain and exploration; sorted by method, then seed.
typedef struct group {
    wk_report_run *const *runs;
    size_t first, end;
} group;

static bool has_run(const group *g, const wk_report_run *like, uint64_t seed)
{
    for (size_t i = g->first; i < g->end; i++)
        if (g->runs[i]->seed == seed && same_method(g->runs[i], like)) return true;
    return false;
}

// Whether run i is the first of the group with its seed.
static bool seed_is_new(const group *g, size_t i)
{
    for (size_t k = g->first; k < i; k++)
        if (g->runs[k]->seed == g->runs[i]->seed) return false;
    return true;
}

// "terrain-walker, p2e, dr: no run with seed 3, 4"
static bool missing_seeds(const group *g, size_t i, const uint64_t *seeds, size_t count,
                          wk_sentences *out)
{
    const wk_report_run *run = g->runs[i];
    wk_text text = {0};
    for (size_t k = 0; k < count; k++) {
        if (has_run(g, run, seeds[k])) continue;
        if (text.length == 0)
            wk_text_printf(&text, "%s, %s, %s: no run with seed ", run->domain, run->exploration,
                           run->method);
        else
            wk_text_puts(&text, ", ");
        wk_text_printf(&text, "%" PRIu64, seeds[k]);
    }
    bool kept = keep(out, &text);
    wk_text_free(&text);
    return kept;
}

static bool check_grid(const group *g, wk_sentences *out)
{
    size_t count = 0;
    uint64_t *seeds = malloc((g->end - g->first) * sizeof *seeds);
    bool all = seeds != NULL;
    for (size_t i = g->first; i < g->end && all; i++)
        if (seed_is_new(g, i)) seeds[count++] = g->runs[i]->seed;
    if (all) qsort(seeds, count, sizeof *seeds, wk_compare_u64);
    for (size_t i = g->first; i < g->end && all; i++)
        if (i == g->first || !same_method(g->runs[i], g->runs[i - 1]))
            all = missing_seeds(g, i, seeds, count, out);
    free(seeds);
    return all;
}

// Whether a score is of the policy and step that the tables show.
static bool counts(const wk_run_score *score, const char *policy,
                   const wk_seed_scores_config *config)
{
    return strcmp(score->policy, policy) == 0 &&
           (config->step < 0 || score->step == (uint64_t)config->step);
}

static bool same_thing(const wk_run_score *a, const wk_run_score *b)
{
    return strcmp(a->domain, b->domain) == 0 && strcmp(a->task, b->task) == 0 &&
           strcmp(a->variant, b->variant) == 0;
}

static bool has_score(const wk_report_run *run, const char *policy,
                      const wk_seed_scores_config *config, const wk_run_score *like)
{
    for (size_t i = 0; i < run->scores.count; i++)
        if (counts(&run->scores.items[i], policy, config) &&
            same_thing(&run->scores.items[i], like))
            return true;
    return false;
}

// The things any run of the group has a score of, one example of each.
typedef WK_ARRAY(const wk_run_score *) score_list;

static bool is_listed(const score_list *list, const wk_run_score *score)
{
    for (size_t i = 0; i < list->count; i++)
        if (same_thing(list->items[i], score)) return true;
    return false;
}

static bool list_scores(const group *g, const wk_seed_scores_config *config, score_list *out)
{
    for (size_t i = g->first; i < g->end; i++) {
        const wk_report_run *run = g->runs[i];
        const char *policy = wk_run_policy(run, config);
        for (size_t k = 0; policy && k < run->scores.count; k++) {
            const wk_run_score *score = &run->scores.items[k];
            if (counts(score, policy, config) && !is_listed(out, score) &&
                !wk_array_push(out, score))
                return false;
        }
    }
    return true;
}

static bool missing_scores(const wk_report_run *run, const char *policy,
                           const wk_seed_scores_config *config, const score_list *wanted,
                           wk_sentences *out)
{
    wk_text text = {0};
    for (size_t i = 0; i < wanted->count; i++) {
        const wk_run_score *s = wanted->items[i];
        if (has_score(run, policy, config, s)) continue;
        if (text.length == 0)
            wk_text_printf(&text, "%s: no result for ", run->directory);
        else
            wk_text_puts(&text, ", ");
        wk_text_printf(&text, "%s (%s)", s->task, *s->variant ? s->variant : "dr");
    }
    bool kept = keep(out, &text);
    wk_text_free(&text);
    return kept;
}

static bool no_results(const wk_report_run *run, const wk_seed_scores_config *config,
                       wk_sentences *out)
{
    wk_text text = {0};
    if (config->policy)
        wk_text_printf(&text, "%s: no evaluation of the policy '%s'", run->directory,
                       config->policy);
    else
        wk_text_printf(
            &text, "%s: no evaluation of a task policy ('waker adapt' and 'waker eval' make one)",
            run->directory);
    bool kept = keep(out, &text);
    wk_text_free(&text);
    return kept;
}

static uint64_t last_step(const wk_report_run *run, const char *policy)
{
    uint64_t last = 0;
    for (size_t i = 0; policy && i < run->scores.count; i++) {
        const wk_run_score *s = &run->scores.items[i];
        if (strcmp(s->policy, policy) == 0 && s->step > last) last = s->step;
    }
    return last;
}

static bool older(const wk_report_run *run, uint64_t step, uint64_t newest, wk_sentences *out)
{
    wk_text text = {0};
    if (step < newest)
        wk_text_printf(&text, "%s: evaluated up to agent step %" PRIu64 ", others up to %" PRIu64,
                       run->directory, step, newest);
    bool kept = keep(out, &text);
    wk_text_free(&text);
    return kept;
}

static bool check_results(const group *g, const wk_seed_scores_config *config, wk_sentences *out)
{
    score_list wanted = {0};
    uint64_t newest = 0;
    bool all = list_scores(g, config, &wanted);
    for (size_t i = g->first; i < g->end; i++) {
        uint64_t step = last_step(g->runs[i], wk_run_policy(g->runs[i], config));
        newest = step > newest ? step : newest;
    }
    for (size_t i = g->first; i < g->end && all; i++) {
        const wk_report_run *run = g->runs[i];
        const char *policy = wk_run_policy(run, config);
        all = policy ? missing_scores(run, policy, config, &wanted, out)
                     : no_results(run, config, out);
        if (all && policy && config->step < 0)
            all = older(run, last_step(run, policy), newest, out);
    }
    wk_array_free(&wanted);
    return all;
}

wk_status wk_missing_find(const wk_runs *runs, const wk_seed_scores_config *config,
                          wk_sentences *out, wk_error *err)
{
    bool all = true;
    group g = {.runs = runs->items.items};
    for (; g.first < runs->items.count && all; g.first = g.end) {
        g.end = wk_runs_group_end(runs, g.first);
        all = check_grid(&g, out) && check_results(&g, config, out);
    }
    return all ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for what is missing");
}
