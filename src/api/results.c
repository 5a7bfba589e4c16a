#include "waker/results.h"

#include "api/entry.h"
#include "base/file.h"
#include "base/json.h"
#include "log/metrics.h"
#include "report/runs.h"
#include <stdlib.h>
#include <string.h>

// The public part comes first: it is what callers hold.
typedef struct found {
    wk_results results;
    wk_runs runs;                       // what the rows point into
    WK_ARRAY(wk_result) scores, others; // in the memory of the runs
} found;

// Whether a score before number `k` of the run is the same measurement: two files may have it.
static bool is_repeated(const wk_report_run *run, size_t k)
{
    const wk_result *r = &run->results.items[k];
    for (const wk_result *o = run->results.items; o < r; o++)
        if (o->kind == r->kind && o->step == r->step && o->mean == r->mean &&
            o->worst_tenth == r->worst_tenth && o->episodes == r->episodes &&
            o->eval_seed == r->eval_seed && strcmp(o->policy, r->policy) == 0 &&
            strcmp(o->domain, r->domain) == 0 && strcmp(o->task, r->task) == 0 &&
            strcmp(o->set, r->set) == 0)
            return true;
    return false;
}

static wk_status read_all(found *f, const char *path, wk_error *err)
{
    WK_TRY(wk_runs_read(&(wk_runs_config){.paths = &path, .n_paths = 1}, &f->runs, err));
    for (size_t i = 0; i < f->runs.items.count; i++) {
        const wk_report_run *run = f->runs.items.items[i];
        for (size_t k = 0; k < run->results.count; k++) {
            const wk_result *r = &run->results.items[k];
            if (r->kind == WK_RESULT_SCORE && is_repeated(run, k)) continue;
            if (r->kind == WK_RESULT_SCORE)
                wk_report_push(&f->runs.memory, &f->scores, *r);
            else
                wk_report_push(&f->runs.memory, &f->others, *r);
        }
    }
    f->results = (wk_results){.items = f->scores.items,
                              .count = f->scores.count,
                              .problems = f->runs.problems.items.items,
                              .n_problems = f->runs.problems.items.count,
                              .others = f->others.items,
                              .n_others = f->others.count};
    return wk_report_memory_check(&f->runs.memory, err);
}

wk_status wk_results_read(const char *path, wk_results **out, wk_error *err)
{
    found *f = calloc(1, sizeof *f);
    if (!f) return wk_fail(err, WK_E_MEMORY, "no memory for results");
    locale_t callers = wk_c_locale_enter();
    wk_status status = read_all(f, path, err);
    wk_c_locale_leave(callers);
    if (status == WK_OK)
        *out = &f->results;
    else
        wk_results_free(&f->results);
    return status;
}

void wk_results_free(wk_results *results)
{
    found *f = (found *)results;
    if (!f) return;
    wk_runs_free(&f->runs);
    free(f);
}

typedef struct point {
    uint64_t step;
    double value;
} point;

typedef struct points {
    const char *name;
    WK_ARRAY(point) items;
} points;

static wk_status read_line(void *context, wk_document *line, wk_error *err)
{
    points *p = context;
    point now = {0};
    bool has_value = false;
    while (wk_document_member(line)) {
        if (!wk_document_take_integer(line, "agent_step", &now.step))
            has_value |= wk_document_take_number(line, p->name, &now.value);
    }
    if (!has_value || wk_array_push(&p->items, now)) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for the points of '%s'", p->name);
}

static wk_status copy_points(const points *p, wk_curve *out, wk_error *err)
{
    size_t count = p->items.count;
    *out = (wk_curve){.steps = malloc(count * sizeof *out->steps),
                      .values = malloc(count * sizeof *out->values),
                      .count = count};
    if (!out->steps || !out->values) {
        wk_curve_free(out);
        return wk_fail(err, WK_E_MEMORY, "no memory for the points of '%s'", p->name);
    }
    for (size_t i = 0; i < count; i++) {
        out->steps[i] = p->items.items[i].step;
        out->values[i] = p->items.items[i].value;
    }
    return WK_OK;
}

static wk_status read_curve(const char *run, points *p, wk_curve *out, wk_error *err)
{
    char path[WK_PATH_MAX];
    if (wk_path_join(run, WK_METRICS_JSONL, path, NULL) != WK_OK)
        return wk_fail(err, WK_E_INPUT, "the path '%.200s...' is too long", run);
    WK_TRY(wk_document_lines(path, read_line, p, err));
    if (p->items.count > 0) return copy_points(p, out, err);
    return wk_fail(err, WK_E_NOT_FOUND, "no line of '%s' has '%s'", path, p->name);
}

wk_status wk_curve_read(const char *run, const char *name, wk_curve *out, wk_error *err)
{
    points p = {.name = name};
    locale_t callers = wk_c_locale_enter();
    wk_status status = read_curve(run, &p, out, err);
    wk_c_locale_leave(callers);
    wk_array_free(&p.items);
    return status;
}

void wk_curve_free(wk_curve *curve)
{
    free(curve->steps);
    free(curve->values);
    *curve = (wk_curve){0};
}
