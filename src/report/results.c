#include "report/results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *wk_run_policy(const wk_report_run *run, const wk_results_config *config)
{
    static const char *const usual[] = {"adapted", "alongside"};
    const char *const *wanted = config->policy ? &config->policy : usual;
    for (size_t i = 0; i < (config->policy ? 1 : 2); i++)
        for (size_t k = 0; k < run->results.count; k++) {
            const wk_result *r = &run->results.items[k];
            if (r->kind == WK_RESULT_SCORE && strcmp(r->policy, wanted[i]) == 0) return wanted[i];
        }
    return NULL;
}

size_t wk_rows_end(const wk_report_rows *rows, size_t first, int fields)
{
    const wk_report_row *items = rows->items.items;
    size_t end = first + 1;
    while (end < rows->items.count &&
           wk_paper_order_keys(rows->paper, &items[first].key, &items[end].key, rows->order,
                               fields) == 0)
        end++;
    return end;
}

bool wk_row_is_combined(const wk_report_row *row)
{
    return strchr(row->key.names[WK_FIELD_DOMAIN], '/') != NULL;
}

// Samples.

bool wk_result_same_sample(const wk_result *a, const wk_result *b)
{
    return a->episodes == b->episodes && a->eval_seed == b->eval_seed &&
           a->trajectories == b->trajectories && a->steps_max == b->steps_max;
}

int wk_result_order_samples(const wk_result *a, size_t runs_of_a, const wk_result *b,
                            size_t runs_of_b)
{
    uint64_t x = a->steps_max - 1, y = b->steps_max - 1; // 0: whole episodes, more than any
    int order = (a->episodes < b->episodes) - (a->episodes > b->episodes);
    if (!order) order = (x < y) - (x > y);
    if (!order) order = (a->environments < b->environments) - (a->environments > b->environments);
    if (!order) order = (runs_of_a < runs_of_b) - (runs_of_a > runs_of_b);
    return order ? order : (a->eval_seed > b->eval_seed) - (a->eval_seed < b->eval_seed);
}

static int compare(const void *a, const void *b, void *rows)
{
    const wk_report_row *x = a, *y = b;
    const wk_report_rows *all = rows;
    int order = wk_paper_order_keys(all->paper, &x->key, &y->key, all->order, WK_FIELDS);
    if (!order) order = (x->run->seed > y->run->seed) - (x->run->seed < y->run->seed);
    if (!order) order = strcmp(x->run->directory, y->run->directory);
    if (!order) order = (x->result->step > y->result->step) - (x->result->step < y->result->step);
    if (!order) order = wk_result_order_samples(x->result, 1, y->result, 1);
    return order ? order : (x->result > y->result) - (x->result < y->result);
}

static void sort(wk_report_rows *rows)
{
    if (rows->items.count)
        qsort_r(rows->items.items, rows->items.count, sizeof *rows->items.items, compare, rows);
}

// Out-of-distribution cases are the same whatever --envs is, so two files may hold one measurement.
static void drop_repeated(wk_report_memory *memory, wk_report_rows *rows)
{
    size_t kept = 0;
    wk_report_row *items = rows->items.items;
    for (size_t i = 0; i < rows->items.count; i++) {
        const wk_report_row *last = kept ? &items[kept - 1] : NULL, *row = &items[i];
        bool same =
            last && last->run == row->run && last->result->step == row->result->step &&
            wk_result_same_sample(last->result, row->result) &&
            wk_paper_order_keys(rows->paper, &last->key, &row->key, rows->order, WK_FIELDS) == 0;
        if (same && last->value != row->value)
            wk_sentences_add(memory, &rows->remarks,
                             "%s: two files have different results of one evaluation (task %s, "
                             "agent step %" PRIu64 "); were its policies trained again in between? "
                             "Evaluate it again",
                             row->run->directory, row->key.names[WK_FIELD_TASK], row->result->step);
        if (!same) items[kept++] = *row;
    }
    rows->items.count = kept;
}

// The rows of one row of a table, or of one figure; `step` is that of the tables, -1 for any.
typedef struct range {
    wk_report_row *first, *end;
    int64_t step;
} range;

static bool counts(const range *r, const wk_report_row *row)
{
    return r->step < 0 || row->result->step == (uint64_t)r->step;
}

static size_t count_like(const range *r, const wk_report_row *like)
{
    size_t count = 0;
    for (const wk_report_row *row = r->first; row < r->end; row++)
        count += counts(r, row) && wk_result_same_sample(row->result, like->result);
    return count;
}

// A row of the sample that counts; of curves, the one with most points comes first. NULL: none.
static const wk_report_row *choose_sample(const range *r, bool curve)
{
    const wk_report_row *best = NULL;
    size_t best_count = 0;
    for (const wk_report_row *row = r->first; row < r->end; row++) {
        if (!counts(r, row)) continue;
        if (best && wk_result_same_sample(best->result, row->result)) continue;
        size_t count = count_like(r, row);
        int order = 0;
        if (best && curve) order = (count < best_count) - (count > best_count);
        if (best && !order)
            order = wk_result_order_samples(row->result, count, best->result, best_count);
        if (best && order >= 0) continue;
        best = row;
        best_count = count;
    }
    return best;
}

// "those of 5 with seed 0 are left out (runs/a, runs/b)", for the sample that `left` begins.
static void remark_on_scores(wk_report_memory *memory, const range *r, const wk_report_row *left,
                             const wk_report_row *used, wk_sentences *remarks)
{
    const char *const *names = left->key.names;
    wk_text runs = {0};
    bool alone = false; // a run has nothing else
    for (const wk_report_row *row = left; row < r->end; row++) {
        if (!counts(r, row) || !wk_result_same_sample(row->result, left->result)) continue;
        if (row > left && row->run == row[-1].run) continue;
        bool has = false;
        for (const wk_report_row *other = r->first; other < r->end; other++)
            has |= other->run == row->run && wk_result_same_sample(other->result, used->result);
        alone |= !has;
        wk_text_printf(&runs, "%s%s", runs.length ? ", " : "", row->run->directory);
    }
    const wk_result *a = used->result, *b = left->result;
    const char *advice = "";
    if (alone)
        advice = wk_report_printf(memory,
                                  ". To have all of them in the tables: waker eval RUN --envs "
                                  "%" PRIu64 " --seed %" PRIu64,
                                  a->episodes, a->eval_seed);
    wk_sentences_add(memory, remarks,
                     "%s, %s, %s: the tables have evaluations of %" PRIu64
                     " episode%s with seed %" PRIu64 "; those of %" PRIu64 " with seed %" PRIu64
                     " are left out (%s)%s",
                     names[WK_FIELD_DOMAIN], names[WK_FIELD_EXPLORATION],
                     *names[WK_FIELD_VARIANT] ? names[WK_FIELD_VARIANT] : "dr", a->episodes,
                     wk_plural(a->episodes), a->eval_seed, b->episodes, b->eval_seed,
                     wk_report_take(memory, &runs), advice);
}

static void remark_on_error(wk_report_memory *memory, const wk_report_row *left,
                            const wk_report_row *used, wk_sentences *remarks)
{
    const wk_result *a = left->result, *b = used->result;
    wk_sentences_add(memory, remarks,
                     "%s: its model error under '%s' in %" PRIu64 " environment%s (%" PRIu64
                     " trajector%s each, seed %" PRIu64 ", at most %" PRIu64
                     " agent step%s) is left out; the table has those of %" PRIu64 " (%" PRIu64
                     ", seed %" PRIu64 ", %" PRIu64 ")",
                     left->run->directory, a->policy, a->environments, wk_plural(a->environments),
                     a->trajectories, a->trajectories == 1 ? "y" : "ies", a->eval_seed,
                     a->steps_max, wk_plural(a->steps_max), b->environments, b->trajectories,
                     b->eval_seed, b->steps_max);
}

// Marks in each range what stands in tables (of each run the last step) and in curves.
static void choose_samples(wk_report_memory *memory, wk_report_rows *rows, int64_t step)
{
    for (size_t first = 0, end; first < rows->items.count; first = end) {
        end = wk_rows_end(rows, first, WK_ROW_FIELDS);
        range r = {&rows->items.items[first], &rows->items.items[end], step}, any = r;
        any.step = -1;
        const wk_report_row *used = choose_sample(&r, false), *curve = choose_sample(&any, true);
        wk_report_row *last = NULL;
        for (wk_report_row *row = r.first; row < r.end; row++) {
            row->curve = wk_result_same_sample(row->result, curve->result);
            if (!used || !counts(&r, row) || !wk_result_same_sample(row->result, used->result))
                continue;
            if (last && last->run == row->run) last->final = false;
            row->final = true;
            last = row;
        }
        for (const wk_report_row *row = r.first; used && row < r.end; row++) {
            bool error = row->result->kind == WK_RESULT_MODEL_ERROR;
            bool seen = !counts(&r, row) || wk_result_same_sample(row->result, used->result);
            for (const wk_report_row *k = r.first; k < row && !seen && !error; k++)
                seen = counts(&r, k) && wk_result_same_sample(k->result, row->result);
            if (!seen && error) remark_on_error(memory, row, used, &rows->remarks);
            if (!seen && !error) remark_on_scores(memory, &r, row, used, &rows->remarks);
        }
    }
}

// Rows.

static void add(wk_report_memory *memory, wk_report_rows *out, const wk_report_run *run,
                const wk_result *r, const char *metric, double value)
{
    const wk_report_row row = {.key = {{metric, r->domain, strcmp(r->set, "dr") == 0 ? "" : r->set,
                                        r->task, run->exploration, run->method}},
                               .run = run,
                               .result = r,
                               .value = value};
    wk_report_push(memory, &out->items, row);
}

// One out-of-distribution case: what its runs are compared by is the mean over all tasks.
static int compare_cases(const wk_paper *paper, const wk_report_row *a, const wk_report_row *b)
{
    static const wk_field fields[] = {WK_FIELD_DOMAIN, WK_FIELD_VARIANT, WK_FIELD_EXPLORATION};
    return wk_paper_order_keys(paper, &a->key, &b->key, fields, 3);
}

// Cases one after the other, in each the runs, in each the tasks.
static int compare_in_cases(const void *a, const void *b, void *rows)
{
    const wk_report_row *x = a, *y = b;
    int order = compare_cases(((wk_report_rows *)rows)->paper, x, y);
    if (!order) order = strcmp(x->run->directory, y->run->directory);
    return order ? order : compare(a, b, rows);
}

static void add_task_means(wk_report_memory *memory, wk_report_rows *rows)
{
    WK_ARRAY(wk_report_row) list = {0};
    for (size_t i = 0; i < rows->items.count; i++) {
        const wk_report_row *row = &rows->items.items[i];
        if (row->final && *row->key.names[WK_FIELD_VARIANT]) wk_report_push(memory, &list, *row);
    }
    const wk_report_row *items = list.items;
    if (list.count) qsort_r(list.items, list.count, sizeof *items, compare_in_cases, rows);
    for (size_t first = 0, end; first < list.count; first = end) {
        size_t tasks = 0; // that any of the case's runs has
        for (end = first;
             end < list.count && !compare_cases(rows->paper, &items[first], &items[end]); end++) {
            bool seen = false;
            for (size_t k = first; k < end && !seen; k++)
                seen = strcmp(items[k].key.names[WK_FIELD_TASK],
                              items[end].key.names[WK_FIELD_TASK]) == 0;
            tasks += !seen;
        }
        for (size_t from = first, to; from < end; from = to) {
            wk_report_row mean = items[from];
            mean.value = 0;
            for (to = from; to < end && items[to].run == mean.run; to++)
                mean.value += items[to].value;
            // A run that lacks a task that others have would be compared by other tasks.
            if (to - from != tasks) {
                wk_sentences_add(memory, &rows->remarks,
                                 "%s: %zu of %zu tasks in case %s; it is not in the table that is "
                                 "averaged over tasks",
                                 mean.run->directory, to - from, tasks,
                                 mean.key.names[WK_FIELD_VARIANT]);
                continue;
            }
            mean.value /= (double)tasks;
            mean.key.names[WK_FIELD_METRIC] = WK_METRIC_OOD_TASKS;
            mean.key.names[WK_FIELD_TASK] = "all";
            mean.curve = false;
            wk_report_push(memory, &rows->items, mean);
        }
    }
}

void wk_results_scores(wk_runs *runs, const wk_paper *paper, const wk_results_config *config,
                       wk_report_rows *out)
{
    static const wk_field order[WK_FIELDS] = {WK_FIELD_METRIC,      WK_FIELD_DOMAIN,
                                              WK_FIELD_VARIANT,     WK_FIELD_TASK,
                                              WK_FIELD_EXPLORATION, WK_FIELD_CURRICULUM};
    wk_report_memory *memory = &runs->memory;
    *out = (wk_report_rows){.paper = paper, .order = order};
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        const char *policy = wk_run_policy(run, config);
        for (size_t k = 0; k < run->results.count && policy; k++) {
            const wk_result *r = &run->results.items[k];
            if (r->kind != WK_RESULT_SCORE || strcmp(r->policy, policy) != 0) continue;
            bool dr = strcmp(r->set, "dr") == 0;
            if (dr) add(memory, out, run, r, "cvar0.1", r->worst_tenth);
            add(memory, out, run, r, dr ? "average" : "ood-average", r->mean);
        }
    }
    sort(out);
    drop_repeated(memory, out);
    choose_samples(memory, out, config->step);
    add_task_means(memory, out);
    sort(out);
    // Policies adapted from a snapshot and policies trained alongside are not the same thing.
    const wk_report_run *last = NULL;
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        const char *policy = wk_run_policy(run, config);
        if (!policy) continue;
        if (last && wk_runs_same_group(last, run) &&
            strcmp(wk_run_policy(last, config), policy) != 0)
            wk_sentences_add(memory, &out->remarks,
                             "%s, %s: %s policies of %s are compared with %s ones of %s; --policy "
                             "takes one kind",
                             run->domain, run->exploration, wk_run_policy(last, config),
                             last->directory, policy, run->directory);
        last = run;
    }
}

void wk_results_errors(wk_runs *runs, const wk_paper *paper, wk_report_rows *out)
{
    static const wk_field order[WK_FIELDS] = {WK_FIELD_DOMAIN,  WK_FIELD_EXPLORATION,
                                              WK_FIELD_TASK,    WK_FIELD_METRIC,
                                              WK_FIELD_VARIANT, WK_FIELD_CURRICULUM};
    *out = (wk_report_rows){.paper = paper, .order = order};
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        for (size_t k = 0; k < run->results.count; k++) {
            const wk_result *r = &run->results.items[k];
            if (r->kind == WK_RESULT_MODEL_ERROR)
                add(&runs->memory, out, run, r, "model-error", r->mean);
        }
    }
    sort(out);
    drop_repeated(&runs->memory, out);
    choose_samples(&runs->memory, out, -1);
}

// What is missing.

// Whether a result is a score of the policy and step that the tables show.
static bool is_shown(const wk_result *r, const char *policy, const wk_results_config *config)
{
    return policy && r->kind == WK_RESULT_SCORE && strcmp(r->policy, policy) == 0 &&
           (config->step < 0 || r->step == (uint64_t)config->step);
}

static bool same_thing(const wk_result *a, const wk_result *b)
{
    return strcmp(a->domain, b->domain) == 0 && strcmp(a->task, b->task) == 0 &&
           strcmp(a->set, b->set) == 0;
}

// Runs of the methods and seeds [first, end) of one domain and exploration that are not there.
static void find_missing_runs(wk_runs *runs, size_t first, size_t end, wk_sentences *out)
{
    wk_report_run *const *items = runs->items.items;
    WK_ARRAY(uint64_t) seeds = {0};
    for (size_t i = first; i < end; i++) {
        bool known = false;
        for (size_t k = first; k < i && !known; k++)
            known = items[k]->seed == items[i]->seed;
        if (!known) wk_report_push(&runs->memory, &seeds, items[i]->seed);
    }
    if (seeds.count) qsort(seeds.items, seeds.count, sizeof *seeds.items, wk_compare_u64);
    for (size_t i = first, next; i < end; i = next) {
        wk_text text = {0};
        for (next = i + 1; next < end && strcmp(items[i]->method, items[next]->method) == 0;)
            next++;
        for (size_t s = 0; s < seeds.count; s++) {
            size_t k = i;
            while (k < next && items[k]->seed != seeds.items[s])
                k++;
            if (k < next) continue;
            wk_text_printf(&text, "%s%" PRIu64, text.length ? ", " : "", seeds.items[s]);
        }
        if (text.length || text.failed)
            wk_sentences_add(&runs->memory, out, "%s, %s, %s: no run with seed %s",
                             items[i]->domain, items[i]->exploration, items[i]->method,
                             wk_report_take(&runs->memory, &text));
    }
}

// What runs [first, end) of one domain and exploration lack of the results that others have.
static void find_missing_results(wk_runs *runs, size_t first, size_t end,
                                 const wk_results_config *config, wk_sentences *out)
{
    WK_ARRAY(const wk_result *) wanted = {0}; // one of each thing that any of them has
    wk_report_memory *m = &runs->memory;
    uint64_t newest = 0;
    for (size_t i = first; i < end; i++) {
        const wk_report_run *run = runs->items.items[i];
        const char *policy = wk_run_policy(run, config);
        for (size_t k = 0; k < run->results.count; k++) {
            const wk_result *r = &run->results.items[k];
            if (!is_shown(r, policy, config)) continue;
            if (r->step > newest) newest = r->step;
            size_t w = 0;
            while (w < wanted.count && !same_thing(wanted.items[w], r))
                w++;
            if (w == wanted.count) wk_report_push(m, &wanted, r);
        }
    }
    for (size_t i = first; i < end; i++) {
        const wk_report_run *run = runs->items.items[i];
        const char *policy = wk_run_policy(run, config);
        if (!policy && config->policy)
            wk_sentences_add(m, out, "%s: no evaluation of the policy '%s'", run->directory,
                             config->policy);
        else if (!policy)
            wk_sentences_add(m, out,
                             "%s: no evaluation of a task policy ('waker adapt' and 'waker eval' "
                             "make one)",
                             run->directory);
        if (!policy) continue;
        wk_text text = {0};
        uint64_t last = 0;
        for (size_t w = 0; w < wanted.count; w++) {
            bool has = false;
            for (size_t k = 0; k < run->results.count; k++) {
                const wk_result *r = &run->results.items[k];
                if (!is_shown(r, policy, config)) continue;
                has |= same_thing(r, wanted.items[w]);
                if (r->step > last) last = r->step;
            }
            if (!has)
                wk_text_printf(&text, "%s%s (%s)", text.length ? ", " : "", wanted.items[w]->task,
                               wanted.items[w]->set);
        }
        if (text.length || text.failed)
            wk_sentences_add(m, out, "%s: no result for %s", run->directory,
                             wk_report_take(m, &text));
        if (config->step < 0 && last < newest)
            wk_sentences_add(m, out,
                             "%s: evaluated up to agent step %" PRIu64 ", others up to %" PRIu64,
                             run->directory, last, newest);
    }
}

void wk_results_missing(wk_runs *runs, const wk_results_config *config, wk_sentences *out)
{
    for (size_t first = 0, end; first < runs->items.count; first = end) {
        end = wk_runs_group_end(runs, first);
        find_missing_runs(runs, first, end, out);
        find_missing_results(runs, first, end, config, out);
    }
}
