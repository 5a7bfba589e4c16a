#include "report/data/seed_scores.h"

#include "base/text.h"
#include <stdio.h>
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
        .episodes = score->episodes,
        .eval_seed = score->eval_seed,
        .promised = score->promised,
        .discounted = score->discounted,
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
    if (!order) order = (x->step > y->step) - (x->step < y->step);
    if (!order) order = (x->episodes < y->episodes) - (x->episodes > y->episodes);
    return order ? order : (x->eval_seed > y->eval_seed) - (x->eval_seed < y->eval_seed);
}

static bool same_sample(const wk_seed_score *a, const wk_seed_score *b)
{
    return a->episodes == b->episodes && a->eval_seed == b->eval_seed;
}

static bool same_number(const wk_paper *paper, const wk_seed_score *a, const wk_seed_score *b)
{
    return a->run == b->run && a->step == b->step && same_sample(a, b) &&
           wk_paper_order_keys(paper, &a->key, &b->key, WK_FIELDS) == 0;
}

// Out-of-distribution cases are the same whatever --envs is, so two files may hold one measurement.
static wk_status drop_repeated(wk_seed_scores *out, wk_error *err)
{
    size_t kept = 0;
    wk_seed_score *items = out->items.items;
    for (size_t i = 0; i < out->items.count; i++) {
        if (kept == 0 || !same_number(out->paper, &items[kept - 1], &items[i])) {
            items[kept++] = items[i];
            continue;
        }
        if (items[kept - 1].value != items[i].value)
            WK_TRY(wk_sentences_add(&out->remarks, err,
                                    "%s: two files have different results of one evaluation (task "
                                    "%s, agent step %llu); "
                                    "were its policies trained again in between? Evaluate it again",
                                    items[i].run->directory, items[i].key.names[WK_FIELD_TASK],
                                    (unsigned long long)items[i].step));
    }
    out->items.count = kept;
    return WK_OK;
}

// Scores [first, end) are of one row. `step` is that of the tables, -1 for any.
typedef struct row {
    const wk_seed_score *items;
    size_t first, end;
    int64_t step;
} row;

static bool in_row(const row *r, size_t i)
{
    return r->step < 0 || r->items[i].step == (uint64_t)r->step;
}

static size_t count_like(const row *r, const wk_seed_score *like)
{
    size_t count = 0;
    for (size_t i = r->first; i < r->end; i++)
        count += in_row(r, i) && same_sample(&r->items[i], like);
    return count;
}

// The largest sample, or with `points` the one with most scores; then the other way, then the
// smallest seed. NULL where the row has none.
static const wk_seed_score *choose_sample(const row *r, bool points)
{
    const wk_seed_score *best = NULL;
    for (size_t i = r->first; i < r->end; i++) {
        const wk_seed_score *item = &r->items[i];
        if (!in_row(r, i) || (best && same_sample(best, item))) continue;
        size_t more = count_like(r, item), most = best ? count_like(r, best) : 0;
        bool larger = best && item->episodes > best->episodes;
        bool equal = best && item->episodes == best->episodes;
        bool earlier = best && item->eval_seed < best->eval_seed;
        bool better = points ? more > most || (more == most && (larger || (equal && earlier)))
                             : larger || (equal && (more > most || (more == most && earlier)));
        if (!best || better) best = item;
    }
    return best;
}

// "5 with seed 0 are left out (runs/a, runs/b)" for the sample that item `i` is the first of.
static wk_status remark_on(const row *r, size_t i, const wk_seed_score *used, wk_sentences *out,
                           wk_error *err)
{
    const wk_seed_score *left = &r->items[i];
    const char *const *names = left->key.names;
    wk_text runs = {0};
    bool alone = false; // a run has nothing else
    for (size_t k = i; k < r->end; k++) {
        if (!in_row(r, k) || !same_sample(&r->items[k], left)) continue;
        if (k > i && r->items[k].run == r->items[k - 1].run) continue;
        bool has = false;
        for (size_t m = r->first; m < r->end; m++)
            has |= r->items[m].run == r->items[k].run && same_sample(&r->items[m], used);
        alone |= !has;
        wk_text_printf(&runs, "%s%s", runs.length ? ", " : "", r->items[k].run->directory);
    }
    wk_status status = runs.failed ? wk_fail(err, WK_E_MEMORY, "no memory for a remark") : WK_OK;
    char advice[160] = "";
    if (alone)
        snprintf(advice, sizeof advice,
                 ". To have all of them in the tables: waker eval RUN --envs %llu --seed %llu",
                 (unsigned long long)used->episodes, (unsigned long long)used->eval_seed);
    if (status == WK_OK)
        status = wk_sentences_add(
            out, err,
            "%s, %s, %s: the tables have evaluations of %llu episode%s with seed %llu; those of "
            "%llu with seed %llu are left out (%s)%s",
            names[WK_FIELD_DOMAIN], names[WK_FIELD_EXPLORATION],
            *names[WK_FIELD_VARIANT] ? names[WK_FIELD_VARIANT] : "dr",
            (unsigned long long)used->episodes, wk_plural(used->episodes),
            (unsigned long long)used->eval_seed, (unsigned long long)left->episodes,
            (unsigned long long)left->eval_seed, wk_text_get(&runs), advice);
    wk_text_free(&runs);
    return status;
}

static wk_status remark_on_row(const row *r, const wk_seed_score *used, wk_sentences *out,
                               wk_error *err)
{
    for (size_t i = r->first; i < r->end; i++) {
        bool seen = !in_row(r, i) || same_sample(&r->items[i], used);
        for (size_t k = r->first; k < i && !seen; k++)
            seen = in_row(r, k) && same_sample(&r->items[k], &r->items[i]);
        if (!seen) WK_TRY(remark_on(r, i, used, out, err));
    }
    return WK_OK;
}

// Marks what stands in tables (of each run the last step) and in curves.
static wk_status mark_row(wk_seed_scores *out, row r, wk_error *err)
{
    row any = r;
    any.step = -1;
    const wk_seed_score *table = choose_sample(&r, false), *curve = choose_sample(&any, true);
    wk_seed_score *last = NULL;
    for (size_t i = r.first; i < r.end; i++) {
        wk_seed_score *item = &out->items.items[i];
        item->curve = same_sample(item, curve);
        if (last && last->run != item->run) last = NULL;
        if (!table || !in_row(&r, i) || !same_sample(item, table)) continue;
        if (last) last->final = false;
        item->final = true;
        last = item;
    }
    return table ? remark_on_row(&r, table, &out->remarks, err) : WK_OK;
}

static wk_status mark_rows(wk_seed_scores *out, int64_t step, wk_error *err)
{
    for (size_t first = 0, end; first < out->items.count; first = end) {
        end = wk_seed_scores_range_end(out, first, WK_FIELD_CURRICULUM);
        WK_TRY(mark_row(out, (row){out->items.items, first, end, step}, err));
    }
    return WK_OK;
}

// One out-of-distribution case: what its runs are compared by is the mean over all tasks.
static int compare_cases(const wk_paper *paper, const wk_seed_score *a, const wk_seed_score *b)
{
    static const wk_field fields[] = {WK_FIELD_DOMAIN, WK_FIELD_VARIANT, WK_FIELD_EXPLORATION};
    int order = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields && !order; i++)
        order = wk_paper_order(paper, fields[i], a->key.names[fields[i]], b->key.names[fields[i]]);
    return order;
}

// Cases one after the other, in each the runs, in each the tasks.
static int compare_in_cases(const void *a, const void *b, void *paper)
{
    const wk_seed_score *x = a, *y = b;
    int order = compare_cases(paper, x, y);
    if (!order) order = strcmp(x->run->directory, y->run->directory);
    return order ? order : compare(a, b, paper);
}

typedef WK_ARRAY(wk_seed_score) score_list;

// How many tasks any of the runs has.
static size_t count_tasks(const wk_seed_score *items, size_t count)
{
    size_t tasks = 0;
    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen =
                strcmp(items[k].key.names[WK_FIELD_TASK], items[i].key.names[WK_FIELD_TASK]) == 0;
        tasks += !seen;
    }
    return tasks;
}

// The mean over the tasks of one run in one case. A run that lacks a task that others have would be
// compared by other tasks: it is left out.
static wk_status add_mean(const wk_seed_score *items, size_t count, size_t wanted,
                          wk_seed_scores *out, wk_error *err)
{
    wk_seed_score mean = *items;
    mean.value = 0;
    for (size_t k = 0; k < count; k++)
        mean.value += items[k].value;
    if (count != wanted)
        return wk_sentences_add(&out->remarks, err,
                                "%s: %zu of %zu tasks in case %s; it is not in the table that is "
                                "averaged over tasks",
                                mean.run->directory, count, wanted,
                                mean.key.names[WK_FIELD_VARIANT]);
    mean.value /= (double)count;
    mean.key.names[WK_FIELD_METRIC] = WK_METRIC_OOD_TASKS;
    mean.key.names[WK_FIELD_TASK] = "all";
    mean.curve = false;
    return wk_array_push(&out->items, mean)
               ? WK_OK
               : wk_fail(err, WK_E_MEMORY, "no memory for the scores of the runs");
}

static wk_status add_case(const wk_seed_score *items, size_t count, wk_seed_scores *out,
                          wk_error *err)
{
    size_t wanted = count_tasks(items, count);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && items[end].run == items[first].run;)
            end++;
        WK_TRY(add_mean(items + first, end - first, wanted, out, err));
    }
    return WK_OK;
}

static wk_status add_cases(score_list *list, wk_seed_scores *out, wk_error *err)
{
    const wk_seed_score *items = list->items;
    if (list->count)
        qsort_r(list->items, list->count, sizeof *items, compare_in_cases, (void *)out->paper);
    for (size_t first = 0, end; first < list->count; first = end) {
        for (end = first + 1;
             end < list->count && compare_cases(out->paper, &items[first], &items[end]) == 0;)
            end++;
        WK_TRY(add_case(items + first, end - first, out, err));
    }
    return WK_OK;
}

static wk_status add_task_means(wk_seed_scores *out, wk_error *err)
{
    score_list list = {0};
    bool all = true;
    for (size_t i = 0; i < out->items.count; i++) {
        const wk_seed_score *s = &out->items.items[i];
        if (s->final && *s->key.names[WK_FIELD_VARIANT]) all &= wk_array_push(&list, *s);
    }
    wk_status status = all ? add_cases(&list, out, err)
                           : wk_fail(err, WK_E_MEMORY, "no memory for the scores of the runs");
    wk_array_free(&list);
    if (status == WK_OK && out->items.count)
        qsort_r(out->items.items, out->items.count, sizeof *out->items.items, compare,
                (void *)out->paper);
    return status;
}

// Policies adapted from a snapshot and policies trained alongside are not the same thing.
static wk_status compare_policies(const wk_runs *runs, const wk_seed_scores_config *config,
                                  wk_sentences *out, wk_error *err)
{
    const wk_report_run *last = NULL;
    const char *policy = NULL;
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        const char *own = wk_run_policy(run, config);
        if (!own) continue;
        if (last && wk_runs_same_group(last, run) && strcmp(policy, own) != 0)
            WK_TRY(wk_sentences_add(out, err,
                                    "%s, %s: %s policies of %s are compared with %s ones of %s; "
                                    "--policy takes one kind",
                                    run->domain, run->exploration, policy, last->directory, own,
                                    run->directory));
        last = run;
        policy = own;
    }
    return WK_OK;
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
    WK_TRY(drop_repeated(out, err));
    WK_TRY(mark_rows(out, config->step, err));
    WK_TRY(add_task_means(out, err));
    return compare_policies(runs, config, &out->remarks, err);
}

void wk_seed_scores_free(wk_seed_scores *scores)
{
    wk_array_free(&scores->items);
    wk_sentences_free(&scores->remarks);
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
