// The files of one run that hold results, as rows: evaluations, model errors, benchmarks; and the
// log of training.
#include "base/json.h"
#include "log/metrics.h"
#include "report/runs.h"

#include <math.h>
#include <string.h>

bool wk_name_ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

// A member of a JSON object and the field that it fills.
typedef struct member {
    const char *name;
    enum { NUMBER, INTEGER, STRING } type;
    size_t at;
} member;

// What every file of results says about where it comes from.
typedef struct origin {
    const char *format, *domain, *curriculum, *exploration, *policy, *task, *score;
    uint64_t seed, step, eval_seed, envs, trajectories, steps;
} origin;

static const member origin_members[] = {
    {"format", STRING, offsetof(origin, format)},
    {"domain", STRING, offsetof(origin, domain)},
    {"curriculum", STRING, offsetof(origin, curriculum)},
    {"exploration", STRING, offsetof(origin, exploration)},
    {"policy", STRING, offsetof(origin, policy)},
    {"task", STRING, offsetof(origin, task)},
    {"score", STRING, offsetof(origin, score)},
    {"seed", INTEGER, offsetof(origin, seed)},
    {"step", INTEGER, offsetof(origin, step)},
    {"eval_seed", INTEGER, offsetof(origin, eval_seed)},
    {"envs", INTEGER, offsetof(origin, envs)},
    {"trajectories", INTEGER, offsetof(origin, trajectories)},
    {"steps", INTEGER, offsetof(origin, steps)},
};
static const member case_members[] = {
    {"case", STRING, offsetof(wk_result, set)},
    {"episodes", INTEGER, offsetof(wk_result, episodes)},
    {"promised_value", NUMBER, offsetof(wk_result, promised_value)},
    {"discounted_return", NUMBER, offsetof(wk_result, discounted_return)},
};
static const member task_members[] = {
    {"task", STRING, offsetof(wk_result, task)},
    {"score", STRING, offsetof(wk_result, score)},
    {"part", STRING, offsetof(wk_result, part)},
};
static const member measure_members[] = {
    {"policy", STRING, offsetof(wk_result, policy)},
    {"mean", NUMBER, offsetof(wk_result, mean)},
    {"cvar_0.1", NUMBER, offsetof(wk_result, worst_tenth)},
    {"estimate_mean", NUMBER, offsetof(wk_result, estimate)},
    {"rank_correlation", NUMBER, offsetof(wk_result, correlation)},
};
#define COUNT(list) (sizeof(list) / sizeof *(list))

// A file while it is read.
typedef struct reader {
    wk_document d;
    wk_report_run *run;
    wk_report_memory *memory; // the run's
    origin origin;
    const char *set; // of a benchmark
} reader;

// Takes the member if it is one of those.
static bool take(reader *r, const member *members, size_t count, void *into)
{
    for (size_t i = 0; i < count; i++) {
        void *field = (char *)into + members[i].at;
        const char *name = members[i].name;
        if (!wk_document_is(&r->d, name)) continue;
        if (members[i].type == NUMBER) return wk_document_take_number(&r->d, name, field);
        if (members[i].type == INTEGER) return wk_document_take_integer(&r->d, name, field);
        return wk_document_take_string(&r->d, name, &r->memory->arena, field);
    }
    return false;
}

// Takes a list of numbers if it is one of those: curve k of the row from the list called names[k].
static bool take_curve(reader *r, const char *const names[WK_RESULT_CURVES], wk_result *row,
                       size_t counts[WK_RESULT_CURVES])
{
    for (int k = 0; k < WK_RESULT_CURVES && names[k]; k++) {
        WK_ARRAY(double) list = {0};
        if (!wk_document_is(&r->d, names[k])) continue;
        if (wk_document_array(&r->d))
            while (wk_document_item(&r->d))
                wk_report_push(r->memory, &list, wk_document_number(&r->d));
        row->curves[k] = list.items;
        counts[k] = list.count;
        return true;
    }
    return false;
}

// The lists of a row are of one length.
static void check_curves(reader *r, const char *const names[WK_RESULT_CURVES], wk_result *row,
                         const size_t counts[WK_RESULT_CURVES])
{
    row->points = counts[0];
    for (int k = 1; k < WK_RESULT_CURVES && names[k]; k++)
        if (counts[k] != row->points)
            wk_document_fail(&r->d, "'%s' has %zu numbers, but '%s' has %zu", names[0], row->points,
                             names[k], counts[k]);
}

// A row of the file, before what the file says as a whole is known.
static wk_result new_row(const reader *r, wk_result_kind kind)
{
    const wk_report_run *run = r->run;
    return (wk_result){.run = run->directory,
                       .domain = run->domain,
                       .curriculum = run->curriculum,
                       .exploration = run->exploration,
                       .seed = run->seed,
                       .mean = NAN,
                       .worst_tenth = NAN,
                       .kind = kind,
                       .promised_value = NAN,
                       .discounted_return = NAN,
                       .estimate = NAN,
                       .correlation = NAN};
}

// Mean and CVaR of "return" or "completion".
typedef struct spread {
    double mean, cvar;
} spread;

static spread take_spread(wk_document *d)
{
    spread s = {NAN, NAN};
    if (!wk_document_object(d)) return s;
    while (wk_document_member(d))
        if (!wk_document_take_number(d, "mean", &s.mean) && wk_document_is(d, "cvar") &&
            wk_document_object(d))
            while (wk_document_member(d))
                wk_document_take_number(d, "0.1", &s.cvar);
    return s;
}

// What one case holds, before it is known which of the two scores counts.
typedef struct outcome {
    wk_result row;
    spread returns, completion;
} outcome;

static outcome take_case(reader *r)
{
    static const char *const curves[WK_RESULT_CURVES] = {"image_errors", "reward_errors"};
    outcome o = {new_row(r, WK_RESULT_SCORE), {NAN, NAN}, {NAN, NAN}};
    if (!wk_document_object(&r->d)) return o;
    while (wk_document_member(&r->d)) {
        size_t counts[WK_RESULT_CURVES] = {0};
        if (take(r, case_members, COUNT(case_members), &o.row)) continue;
        if (wk_document_is(&r->d, "return")) {
            o.returns = take_spread(&r->d);
        } else if (wk_document_is(&r->d, "completion")) {
            o.completion = take_spread(&r->d);
        } else if (wk_document_is(&r->d, "open_loop") && wk_document_object(&r->d)) {
            while (wk_document_member(&r->d))
                take_curve(r, curves, &o.row, counts);
            check_curves(r, curves, &o.row, counts);
        }
    }
    return o;
}

// One task with its cases. Members come in any order, so the cases wait for the score's name.
static void take_task(reader *r)
{
    wk_result task = {0};
    WK_ARRAY(outcome) cases = {0};
    if (!wk_document_object(&r->d)) return;
    while (wk_document_member(&r->d))
        if (!take(r, task_members, COUNT(task_members), &task) && wk_document_is(&r->d, "cases") &&
            wk_document_array(&r->d))
            while (wk_document_item(&r->d))
                wk_report_push(r->memory, &cases, take_case(r));
    if (!task.task) wk_document_fail(&r->d, "a task without a name");
    bool completion = task.score && strcmp(task.score, "completion") == 0;
    for (size_t i = 0; i < cases.count && r->d.error.status == WK_OK; i++) {
        wk_result *row = &cases.items[i].row;
        spread s = completion ? cases.items[i].completion : cases.items[i].returns;
        if (!row->set || !isfinite(s.mean) || !isfinite(s.cvar))
            wk_document_fail(&r->d, "task '%s', case '%s' has no %s with mean and CVaR 0.1",
                             task.task, row->set ? row->set : "?",
                             completion ? "completion" : "return");
        row->task = task.task;
        row->score = completion ? "completion" : "return";
        row->mean = s.mean;
        row->worst_tenth = s.cvar;
        if (task.part)
            row->domain = wk_report_printf(r->memory, "%s/%s", r->run->domain, task.part);
        wk_report_push(r->memory, &r->run->results, *row);
    }
}

static void take_measure(reader *r)
{
    static const char *const curves[WK_RESULT_CURVES] = {"estimates", "errors"};
    wk_result row = new_row(r, WK_RESULT_MODEL_ERROR);
    size_t counts[WK_RESULT_CURVES] = {0};
    const char *weights = NULL;
    if (!wk_document_object(&r->d)) return;
    while (wk_document_member(&r->d))
        if (!take(r, measure_members, COUNT(measure_members), &row) &&
            !take_curve(r, curves, &row, counts))
            wk_document_take_string(&r->d, "weights", &r->memory->arena, &weights);
    // "adapted.NAME": another policy of the task.
    const char *name = weights ? strchr(weights, '.') : NULL;
    if (row.policy && name) row.policy = wk_report_printf(r->memory, "%s%s", row.policy, name);
    if (row.curves[0] && row.curves[1]) check_curves(r, curves, &row, counts);
    row.set = "dr";
    row.score = "error";
    if (!row.policy || isnan(row.mean) || isnan(row.worst_tenth))
        wk_document_fail(&r->d, "a measure without policy, mean or cvar_0.1");
    row.task = row.policy;
    wk_report_push(r->memory, &r->run->results, row);
}

static void take_part(reader *r)
{
    static const char *const curves[WK_RESULT_CURVES] = {"alpha", "value", "low", "high"};
    wk_result row = new_row(r, WK_RESULT_BENCHMARK);
    size_t counts[WK_RESULT_CURVES] = {0};
    if (!wk_document_object(&r->d)) return;
    while (wk_document_member(&r->d))
        if (!wk_document_take_string(&r->d, "part", &r->memory->arena, &row.part) &&
            wk_document_is(&r->d, "cvar") && wk_document_object(&r->d))
            while (wk_document_member(&r->d))
                take_curve(r, curves, &row, counts);
    check_curves(r, curves, &row, counts);
    if (!row.part || row.points == 0) wk_document_fail(&r->d, "a part without name or curve");
    wk_report_push(r->memory, &r->run->results, row);
}

static void take_set(reader *r)
{
    if (wk_document_object(&r->d))
        while (wk_document_member(&r->d))
            wk_document_take_string(&r->d, "name", &r->memory->arena, &r->set);
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
static void check_origin(reader *r, const char *format, wk_result_kind kind)
{
    const origin *o = &r->origin;
    const wk_run_config *config = &r->run->config;
    wk_document *d = &r->d;
    if (!o->format || strcmp(o->format, format) != 0)
        wk_document_fail(d, "format is '%s', not '%s'", o->format ? o->format : "none", format);
    if (!*config->plugin) check_text(d, "domain", o->domain, config->domain);
    if (!*config->curriculum_plugin)
        check_text(d, "curriculum", o->curriculum, config->curriculum_rule);
    check_text(d, "exploration", o->exploration, config->exploration);
    if (o->seed != r->run->seed)
        wk_document_fail(d, "seed is not the run's, which is %llu; the file belongs to another run",
                         (unsigned long long)r->run->seed);
    if (o->step == UINT64_MAX) wk_document_fail(d, "'step' is missing");
    if (kind == WK_RESULT_BENCHMARK && (!o->policy || !r->set || !o->task || !o->score))
        wk_document_fail(d, "policy, set, task or score is missing");
    if (kind == WK_RESULT_SCORE && !o->policy) wk_document_fail(d, "'policy' is missing");
}

wk_status wk_run_read_results(wk_report_run *run, const char *path, wk_result_kind kind,
                              wk_error *err)
{
    static const struct {
        const char *format, *list;
        void (*take_item)(reader *r);
    } formats[] = {
        [WK_RESULT_SCORE] = {"waker-eval-1", "tasks", take_task},
        [WK_RESULT_MODEL_ERROR] = {"waker-model-error-1", "measures", take_measure},
        [WK_RESULT_BENCHMARK] = {"waker-benchmark-1", "parts", take_part},
    };
    reader r = {
        .run = run, .memory = &run->memory, .origin = {.seed = ~run->seed, .step = UINT64_MAX}};
    const origin *o = &r.origin;
    size_t before = run->results.count;
    if (wk_document_open(path, &r.d, err) != WK_OK) return wk_document_close(&r.d, err);
    while (wk_document_member(&r.d)) {
        if (take(&r, origin_members, COUNT(origin_members), &r.origin)) continue;
        if (kind == WK_RESULT_BENCHMARK && wk_document_is(&r.d, "set"))
            take_set(&r);
        else if (wk_document_is(&r.d, formats[kind].list) && wk_document_array(&r.d))
            while (wk_document_item(&r.d))
                formats[kind].take_item(&r);
    }
    check_origin(&r, formats[kind].format, kind);
    wk_status status = wk_document_close(&r.d, err);
    if (status != WK_OK) run->results.count = before; // a file counts as a whole or not at all
    for (size_t i = before; i < run->results.count; i++) {
        wk_result *row = &run->results.items[i];
        row->step = o->step;
        row->eval_seed = o->eval_seed;
        if (kind == WK_RESULT_MODEL_ERROR) {
            row->environments = o->envs ? o->envs : row->points;
            row->trajectories = o->trajectories ? o->trajectories : 1;
            row->steps_max = o->steps;
            row->episodes = row->environments * row->trajectories;
            continue;
        }
        row->policy = o->policy;
        if (kind == WK_RESULT_SCORE) continue;
        row->set = r.set;
        row->task = o->task;
        row->score = o->score;
    }
    return status;
}

wk_run_signal *wk_run_find_signal(const wk_report_run *run, wk_signal_kind kind, const char *name,
                                  size_t length)
{
    for (size_t i = 0; i < run->signals.count; i++) {
        wk_run_signal *s = &run->signals.items[i];
        if (s->kind == kind && strlen(s->name) == length && memcmp(s->name, name, length) == 0)
            return s;
    }
    return NULL;
}

// A point whose step comes later in its line.
#define PENDING (-1.0)

// Takes the member if it is of a signal; what is more than any run has is ignored.
static void take_signal(wk_report_run *run, wk_document *line)
{
    enum { SIGNALS_MAX = 128 };
    static const char *const prefixes[] = {[WK_SIGNAL_PARAM] = "train_env/env_param_",
                                           [WK_SIGNAL_INDICATOR] = "train_indicator_",
                                           [WK_SIGNAL_LOSS] = "train/"};
    for (size_t kind = 0; kind < COUNT(prefixes); kind++) {
        size_t cut = strlen(prefixes[kind]);
        if (line->key.length <= cut || memcmp(line->key.chars, prefixes[kind], cut) != 0) continue;
        const char *name = line->key.chars + cut;
        size_t length = line->key.length - cut;
        if (kind == WK_SIGNAL_PARAM && (length != 1 || *name < '0' || *name > '9')) return;
        // Of the numbers of updates those that the report shows.
        if (kind == WK_SIGNAL_LOSS && !memmem(name, length, "_loss", 5) &&
            !memmem(name, length, "actor_ent_", 10))
            return;
        wk_run_signal *s = wk_run_find_signal(run, (wk_signal_kind)kind, name, length);
        if (!s && run->signals.count < SIGNALS_MAX) {
            const wk_run_signal fresh = {
                .kind = (wk_signal_kind)kind,
                .name = wk_report_printf(&run->memory, "%.*s", (int)length, name)};
            wk_report_push(&run->memory, &run->signals, fresh);
            s = wk_run_find_signal(run, (wk_signal_kind)kind, name, length);
        }
        double value = wk_document_number(line);
        if (!s || isnan(value)) return;
        if (s->points.count && s->points.items[s->points.count - 1].step == PENDING)
            s->points.count--; // the key is there twice
        wk_report_push(&run->memory, &s->points, (wk_run_point){PENDING, value});
        return;
    }
}

static wk_status read_line(void *context, wk_document *line, wk_error *err)
{
    wk_report_run *run = context;
    bool has_step = false;
    double actor_norm = NAN, value = NAN; // of the exploration policy
    while (wk_document_member(line)) {
        if (wk_document_take_integer(line, "agent_step", &run->last_step))
            has_step = true;
        else if (!wk_document_take_number(line, "train/actor_grad_norm_expl", &actor_norm) &&
                 !wk_document_take_number(line, "train/value_expl", &value))
            take_signal(run, line);
    }
    run->exploring_lines += !isnan(actor_norm);
    run->idle_lines += wk_actor_gradient_vanished(actor_norm, value);
    for (size_t i = 0; i < run->signals.count; i++) {
        wk_run_signal *s = &run->signals.items[i];
        if (!s->points.count || s->points.items[s->points.count - 1].step != PENDING) continue;
        if (has_step && line->error.status == WK_OK)
            s->points.items[s->points.count - 1].step = (double)run->last_step;
        else
            s->points.count--;
    }
    return wk_report_memory_check(&run->memory, err);
}

wk_status wk_run_read_log(wk_report_run *run, const char *path, wk_error *err)
{
    return wk_document_lines(path, read_line, run, err);
}
