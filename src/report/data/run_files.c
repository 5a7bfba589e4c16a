// The files of one run that hold results: evaluations, model errors, the log of training.
#include "base/document.h"
#include "log/metrics.h"
#include "report/data/runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char EVAL_FORMAT[] = "waker-eval-1", ERROR_FORMAT[] = "waker-model-error-1",
                  BENCHMARK_FORMAT[] = "waker-benchmark-1";

// What every file of results says about where it comes from.
typedef struct origin {
    const char *format, *domain, *curriculum, *exploration, *policy;
    uint64_t seed, step, eval_seed, envs, trajectories, steps;
    bool has_seed, has_step;
} origin;

// Takes the member if it is one of those.
static bool take_origin(wk_document *d, wk_arena *arena, origin *o)
{
    if (wk_document_take_integer(d, "seed", &o->seed)) return o->has_seed = true;
    if (wk_document_take_integer(d, "step", &o->step)) return o->has_step = true;
    return wk_document_take_string(d, "format", arena, &o->format) ||
           wk_document_take_string(d, "domain", arena, &o->domain) ||
           wk_document_take_string(d, "curriculum", arena, &o->curriculum) ||
           wk_document_take_string(d, "exploration", arena, &o->exploration) ||
           wk_document_take_string(d, "policy", arena, &o->policy) ||
           wk_document_take_integer(d, "eval_seed", &o->eval_seed) ||
           wk_document_take_integer(d, "envs", &o->envs) ||
           wk_document_take_integer(d, "trajectories", &o->trajectories) ||
           wk_document_take_integer(d, "steps", &o->steps);
}

static void check_text(wk_document *d, const char *what, const char *found, const char *wanted)
{
    if (!found)
        wk_document_fail(d, "'%s' is missing", what);
    else if (strcmp(found, wanted) != 0)
        wk_document_fail(d,
                         "%s '%s' is not the run's, which is '%s'; the file belongs to another run",
                         what, found, wanted);
}

// Results that were put into the wrong run's directory would spoil two rows of a table.
static void check_origin(wk_document *d, const wk_report_run *run, const origin *o,
                         const char *format)
{
    if (!o->format || strcmp(o->format, format) != 0)
        wk_document_fail(d, "format is '%s', not '%s'", o->format ? o->format : "none", format);
    if (!*run->config.plugin) check_text(d, "domain", o->domain, run->config.domain);
    if (!*run->config.curriculum_plugin)
        check_text(d, "curriculum", o->curriculum, run->config.curriculum_rule);
    check_text(d, "exploration", o->exploration, run->config.exploration);
    if (!o->has_seed || o->seed != run->seed)
        wk_document_fail(d, "seed is not the run's, which is %llu; the file belongs to another run",
                         (unsigned long long)run->seed);
    if (!o->has_step) wk_document_fail(d, "'step' is missing");
}

// Mean and CVaR of "return" or "completion".
typedef struct spread {
    double mean, cvar;
    bool has_mean, has_cvar;
} spread;

static spread take_spread(wk_document *d)
{
    spread s = {0};
    if (!wk_document_object(d)) return s;
    while (wk_document_member(d)) {
        if (wk_document_take_number(d, "mean", &s.mean))
            s.has_mean = true;
        else if (wk_document_is(d, "cvar") && wk_document_object(d))
            while (wk_document_member(d))
                s.has_cvar |= wk_document_take_number(d, "0.1", &s.cvar);
    }
    return s;
}

// A list of numbers, kept in the arena.
typedef struct numbers {
    const double *items;
    size_t count;
} numbers;

static bool take_numbers(wk_document *d, const char *name, wk_arena *arena, numbers *out)
{
    WK_ARRAY(double) list = {0};
    bool all = true;
    if (!wk_document_is(d, name)) return false;
    if (wk_document_array(d))
        while (wk_document_item(d))
            all = wk_array_push(&list, wk_document_number(d)) && all;
    out->items = wk_arena_copy(arena, list.items, list.count * sizeof *list.items);
    out->count = list.count;
    if (!all || !out->items) wk_fail(&d->error, WK_E_MEMORY, "'%s': no memory for it", d->path);
    wk_array_free(&list);
    return true;
}

// What one case holds, before it is known which of the two scores counts.
typedef struct outcome {
    const char *name;
    uint64_t episodes;
    spread returns, completion;
    double promised, discounted;
    numbers open_image, open_reward;
} outcome;

static void take_open_loop(wk_document *d, wk_arena *arena, outcome *o)
{
    if (!wk_document_object(d)) return;
    while (wk_document_member(d))
        if (!take_numbers(d, "image_errors", arena, &o->open_image))
            take_numbers(d, "reward_errors", arena, &o->open_reward);
    if (o->open_image.count != o->open_reward.count)
        wk_document_fail(d, "errors of %zu imagined images, but of %zu rewards",
                         o->open_image.count, o->open_reward.count);
}

static outcome take_case(wk_document *d, wk_arena *arena)
{
    outcome o = {.promised = NAN, .discounted = NAN};
    if (!wk_document_object(d)) return o;
    while (wk_document_member(d)) {
        if (wk_document_take_string(d, "case", arena, &o.name) ||
            wk_document_take_integer(d, "episodes", &o.episodes) ||
            wk_document_take_number(d, "promised_value", &o.promised) ||
            wk_document_take_number(d, "discounted_return", &o.discounted))
            continue;
        if (wk_document_is(d, "return"))
            o.returns = take_spread(d);
        else if (wk_document_is(d, "completion"))
            o.completion = take_spread(d);
        else if (wk_document_is(d, "open_loop"))
            take_open_loop(d, arena, &o);
    }
    return o;
}

enum { CASES_MAX = 64 };

// One task with its cases. Members come in any order, so the cases wait for the score's name.
typedef struct task {
    const char *name, *score, *part;
    outcome cases[CASES_MAX];
    int count;
} task;

static void take_task(wk_document *d, wk_arena *arena, task *t)
{
    *t = (task){0};
    if (!wk_document_object(d)) return;
    while (wk_document_member(d)) {
        if (wk_document_take_string(d, "task", arena, &t->name) ||
            wk_document_take_string(d, "score", arena, &t->score) ||
            wk_document_take_string(d, "part", arena, &t->part))
            continue;
        if (wk_document_is(d, "cases") && wk_document_array(d))
            while (wk_document_item(d)) {
                if (t->count == CASES_MAX) wk_document_fail(d, "more than %d cases", CASES_MAX);
                if (t->count < CASES_MAX) t->cases[t->count++] = take_case(d, arena);
            }
    }
    if (!t->name) wk_document_fail(d, "a task without a name");
}

static const char *joined(wk_arena *arena, const char *a, const char *between, const char *b)
{
    size_t size = strlen(a) + strlen(between) + strlen(b) + 1;
    char *out = wk_arena_alloc(arena, size);
    if (out) snprintf(out, size, "%s%s%s", a, between, b);
    return out;
}

static void add_case(wk_document *d, wk_report_run *run, const task *t, const outcome *o)
{
    bool completion = t->score && strcmp(t->score, "completion") == 0;
    const spread *s = completion ? &o->completion : &o->returns;
    if (!o->name || !s->has_mean || !s->has_cvar || !isfinite(s->mean) || !isfinite(s->cvar)) {
        wk_document_fail(d, "task '%s', case '%s' has no %s with mean and CVaR 0.1", t->name,
                         o->name ? o->name : "?", completion ? "completion" : "return");
        return;
    }
    wk_run_score score = {
        .domain = t->part ? joined(&run->arena, run->domain, "/", t->part) : run->domain,
        .task = t->name,
        .variant = strcmp(o->name, "dr") == 0 ? "" : o->name,
        .episodes = o->episodes,
        .average = s->mean,
        .cvar = s->cvar,
        .promised = o->promised,
        .discounted = o->discounted,
        .open_image = o->open_image.items,
        .open_reward = o->open_reward.items,
        .open_steps = o->open_image.count,
    };
    if (!score.domain || !wk_array_push(&run->scores, score))
        wk_fail(&d->error, WK_E_MEMORY, "'%s': no memory for its results", d->path);
}

static void take_tasks(wk_document *d, wk_report_run *run)
{
    task t;
    if (!wk_document_array(d)) return;
    while (wk_document_item(d)) {
        take_task(d, &run->arena, &t);
        for (int i = 0; i < t.count && d->error.status == WK_OK; i++)
            add_case(d, run, &t, &t.cases[i]);
    }
}

wk_status wk_run_read_scores(wk_report_run *run, const char *path, wk_error *err)
{
    wk_document d;
    origin o = {0};
    size_t before = run->scores.count;
    if (wk_document_open(path, &d, err) != WK_OK) return wk_document_close(&d, err);
    while (wk_document_member(&d))
        if (!take_origin(&d, &run->arena, &o) && wk_document_is(&d, "tasks")) take_tasks(&d, run);
    check_origin(&d, run, &o, EVAL_FORMAT);
    if (!o.policy) wk_document_fail(&d, "'policy' is missing");
    wk_status status = wk_document_close(&d, err);
    if (status != WK_OK) run->scores.count = before; // a file counts as a whole or not at all
    for (size_t i = before; i < run->scores.count; i++) {
        run->scores.items[i].policy = o.policy;
        run->scores.items[i].step = o.step;
        run->scores.items[i].eval_seed = o.eval_seed;
    }
    return status;
}

static void take_measure(wk_document *d, wk_report_run *run)
{
    numbers errors = {0}, estimates = {0};
    const char *weights = NULL;
    wk_run_error e = {.mean = NAN, .cvar = NAN, .estimate = NAN, .correlation = NAN};
    if (!wk_document_object(d)) return;
    while (wk_document_member(d))
        if (wk_document_take_string(d, "policy", &run->arena, &e.policy) ||
            wk_document_take_string(d, "weights", &run->arena, &weights) ||
            wk_document_take_number(d, "mean", &e.mean) ||
            wk_document_take_number(d, "cvar_0.1", &e.cvar) ||
            wk_document_take_number(d, "estimate_mean", &e.estimate) ||
            wk_document_take_number(d, "rank_correlation", &e.correlation) ||
            take_numbers(d, "errors", &run->arena, &errors) ||
            take_numbers(d, "estimates", &run->arena, &estimates))
            continue;
    // "adapted.NAME": another policy of the task.
    const char *name = weights ? strchr(weights, '.') : NULL;
    if (e.policy && name) e.policy = joined(&run->arena, e.policy, ".", name + 1);
    if (errors.items && estimates.items) {
        e.errors = errors.items;
        e.estimates = estimates.items;
        e.environments = errors.count;
        if (errors.count != estimates.count)
            wk_document_fail(d, "%zu errors, but %zu estimates", errors.count, estimates.count);
    }
    if (!e.policy || isnan(e.mean) || isnan(e.cvar))
        wk_document_fail(d, "a measure without policy, mean or cvar_0.1");
    else if (!wk_array_push(&run->errors, e))
        wk_fail(&d->error, WK_E_MEMORY, "'%s': no memory for its results", d->path);
}

wk_status wk_run_read_errors(wk_report_run *run, const char *path, wk_error *err)
{
    wk_document d;
    origin o = {0};
    size_t before = run->errors.count;
    if (wk_document_open(path, &d, err) != WK_OK) return wk_document_close(&d, err);
    while (wk_document_member(&d))
        if (!take_origin(&d, &run->arena, &o) && wk_document_is(&d, "measures") &&
            wk_document_array(&d))
            while (wk_document_item(&d))
                take_measure(&d, run);
    check_origin(&d, run, &o, ERROR_FORMAT);
    wk_status status = wk_document_close(&d, err);
    if (status != WK_OK) run->errors.count = before;
    for (size_t i = before; i < run->errors.count; i++) {
        wk_run_error *e = &run->errors.items[i];
        e->step = o.step;
        e->envs = o.envs ? o.envs : e->environments; // older files do not say
        e->trajectories = o.trajectories ? o.trajectories : 1;
        e->steps = o.steps;
        e->eval_seed = o.eval_seed;
    }
    return status;
}

// A list of at most WK_CURVE_POINTS_MAX numbers; its length.
static size_t take_points(wk_document *d, double *out)
{
    size_t count = 0;
    if (!wk_document_array(d)) return 0;
    while (wk_document_item(d)) {
        if (count == WK_CURVE_POINTS_MAX) {
            wk_document_fail(d, "a curve of more than %d points", WK_CURVE_POINTS_MAX);
            return 0;
        }
        out[count++] = wk_document_number(d);
    }
    return count;
}

static void take_curve(wk_document *d, wk_run_cvar_curve *c)
{
    enum { ALPHA, VALUE, LOW, HIGH, LISTS };
    static const char *const names[LISTS] = {"alpha", "value", "low", "high"};
    double *const lists[LISTS] = {c->alpha, c->value, c->low, c->high};
    size_t counts[LISTS] = {0};
    if (!wk_document_object(d)) return;
    while (wk_document_member(d))
        for (int i = 0; i < LISTS; i++)
            if (wk_document_is(d, names[i])) {
                counts[i] = take_points(d, lists[i]);
                break;
            }
    c->count = counts[ALPHA];
    if (counts[VALUE] != c->count || counts[LOW] != c->count || counts[HIGH] != c->count)
        wk_document_fail(d, "the lists of a curve have different lengths");
}

static void take_parts(wk_document *d, wk_report_run *run)
{
    if (!wk_document_array(d)) return;
    while (wk_document_item(d)) {
        wk_run_cvar_curve c = {0};
        if (!wk_document_object(d)) return;
        while (wk_document_member(d))
            if (!wk_document_take_string(d, "part", &run->arena, &c.part) &&
                wk_document_is(d, "cvar"))
                take_curve(d, &c);
        if (!c.part || c.count == 0)
            wk_document_fail(d, "a part without name or curve");
        else if (!wk_array_push(&run->cvar_curves, c))
            wk_fail(&d->error, WK_E_MEMORY, "'%s': no memory for its results", d->path);
    }
}

static const char *take_set(wk_document *d, wk_arena *arena)
{
    const char *name = NULL;
    if (!wk_document_object(d)) return NULL;
    while (wk_document_member(d))
        wk_document_take_string(d, "name", arena, &name);
    return name;
}

wk_status wk_run_read_benchmark(wk_report_run *run, const char *path, wk_error *err)
{
    wk_document d;
    origin o = {0};
    const char *set = NULL, *of = NULL, *score = NULL;
    size_t before = run->cvar_curves.count;
    if (wk_document_open(path, &d, err) != WK_OK) return wk_document_close(&d, err);
    while (wk_document_member(&d)) {
        if (take_origin(&d, &run->arena, &o) ||
            wk_document_take_string(&d, "task", &run->arena, &of) ||
            wk_document_take_string(&d, "score", &run->arena, &score))
            continue;
        if (wk_document_is(&d, "set"))
            set = take_set(&d, &run->arena);
        else if (wk_document_is(&d, "parts"))
            take_parts(&d, run);
    }
    check_origin(&d, run, &o, BENCHMARK_FORMAT);
    if (!o.policy || !set || !of || !score)
        wk_document_fail(&d, "policy, set, task or score is missing");
    wk_status status = wk_document_close(&d, err);
    if (status != WK_OK) run->cvar_curves.count = before;
    for (size_t i = before; i < run->cvar_curves.count; i++) {
        wk_run_cvar_curve *c = &run->cvar_curves.items[i];
        c->set = set, c->task = of, c->score = score;
        c->policy = o.policy;
        c->step = o.step;
    }
    return status;
}

// Number I of "train_env/env_param_I", or -1.
static int param_number(wk_json_token key)
{
    static const char prefix[] = "train_env/env_param_";
    size_t length = sizeof prefix - 1;
    if (key.length != length + 1 || memcmp(key.chars, prefix, length) != 0) return -1;
    char digit = key.chars[length];
    return digit >= '0' && digit < '0' + WK_PARAMS_MAX ? digit - '0' : -1;
}

// Number of NAME in "train_indicator_NAME" among the run's, which it joins; -1 for other keys.
static int indicator_number(wk_document *line, wk_report_run *run)
{
    static const char prefix[] = "train_indicator_";
    size_t length = sizeof prefix - 1;
    wk_json_token key = line->key;
    if (key.length <= length || memcmp(key.chars, prefix, length) != 0) return -1;
    const char *name = key.chars + length;
    size_t chars = key.length - length;
    for (int k = 0; k < WK_INDICATORS_MAX; k++) {
        const char **known = &run->indicators[k];
        if (*known && strlen(*known) == chars && memcmp(*known, name, chars) == 0) return k;
        if (*known) continue;
        char *copy = wk_arena_alloc(&run->arena, chars + 1);
        if (!copy) {
            wk_fail(&line->error, WK_E_MEMORY, "'%s': no memory for its lines", line->path);
            return -1;
        }
        memcpy(copy, name, chars);
        copy[chars] = 0;
        *known = copy;
        return k;
    }
    return -1;
}

static wk_status read_line(void *context, wk_document *line, wk_error *err)
{
    wk_report_run *run = context;
    wk_run_choice choice = {.step = 0};
    bool has_step = false, has_params = false;
    double actor_norm = NAN, value = NAN; // of the exploration policy
    for (int i = 0; i < WK_PARAMS_MAX; i++)
        choice.params[i] = NAN;
    for (int i = 0; i < WK_INDICATORS_MAX; i++)
        choice.indicators[i] = NAN;
    while (wk_document_member(line)) {
        int param = param_number(line->key), indicator = indicator_number(line, run);
        if (indicator >= 0) {
            choice.indicators[indicator] = wk_document_number(line);
        } else if (param >= 0) {
            choice.params[param] = wk_document_number(line);
            has_params = true;
        } else if (wk_document_take_integer(line, "agent_step", &choice.step)) {
            has_step = true;
        } else if (!wk_document_take_number(line, "train/actor_grad_norm_expl", &actor_norm)) {
            wk_document_take_number(line, "train/value_expl", &value);
        }
    }
    run->exploring_lines += !isnan(actor_norm);
    run->idle_lines += wk_actor_gradient_vanished(actor_norm, value);
    bool wanted = has_step && has_params && line->error.status == WK_OK;
    if (!wanted || wk_array_push(&run->choices, choice)) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "'%s': no memory for its lines", line->path);
}

wk_status wk_run_read_choices(wk_report_run *run, const char *path, wk_error *err)
{
    return wk_document_lines(path, read_line, run, err);
}
