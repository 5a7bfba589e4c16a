// Results as JSON and CSV, and the files that hold them.
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "config/parts.h"
#include "eval/result.h"
#include "run/disk.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------- */

// Whether the document answers the question: it begins with its head and has its parts.
static bool is_answer(const wk_result_question *q, const char *json, size_t size)
{
    if (size < q->head.length || memcmp(json, q->head.chars, q->head.length) != 0) return false;
    wk_json_reader reader = wk_json_reader_start(json, size);
    const char *rest = wk_text_get(&q->parts);
    bool named = false;
    for (;;) {
        wk_json_token token = wk_json_reader_next(&reader);
        if (token.kind == WK_JSON_ERROR) return false;
        if (token.kind == WK_JSON_END) return !*rest;
        if (named && token.kind == WK_JSON_STRING) {
            if (strncmp(rest, token.chars, token.length) != 0 || rest[token.length] != '\n')
                return false;
            rest += token.length + 1;
        }
        named = token.kind == WK_JSON_KEY &&
                (wk_json_equals(token, q->keys[0]) || wk_json_equals(token, q->keys[1]));
    }
}

static wk_status choose_name(const wk_result_question *q, const wk_dir *folder,
                             char name[WK_RESULT_NAME_MAX], wk_error *err)
{
    static const size_t limit = (size_t)256 << 20;
    char file[WK_RESULT_NAME_MAX + 8], sha256[WK_SHA256_CHARS], *json;
    wk_entry entry;
    size_t size;
    if (q->head.failed || q->parts.failed)
        return wk_fail(err, WK_E_MEMORY, "no memory for '%s'", q->stem);
    snprintf(name, WK_RESULT_NAME_MAX, "%s", q->stem);
    snprintf(file, sizeof file, "%s.json", q->stem);
    WK_TRY(wk_dir_stat(folder, file, &entry, NULL, err));
    if (entry == WK_ENTRY_NONE) return WK_OK;
    WK_TRY(wk_file_read_in(folder, file, limit, &json, &size, err));
    bool same = is_answer(q, json, size);
    free(json);
    if (same) return WK_OK;
    wk_sha256 hash = wk_sha256_start();
    wk_sha256_add(&hash, q->head.chars, q->head.length);
    wk_sha256_add(&hash, q->parts.chars, q->parts.length);
    wk_sha256_finish(&hash, sha256);
    snprintf(name, WK_RESULT_NAME_MAX, "%.240s-%.8s", q->stem, sha256);
    return WK_OK;
}

wk_status wk_result_name(const wk_result_question *q, const char *run,
                         char name[WK_RESULT_NAME_MAX], wk_error *err)
{
    char path[WK_PATH_MAX];
    bool there;
    wk_dir *folder = NULL;
    WK_TRY(wk_path_join(run, "eval", path, err));
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (!there) return WK_OK;
    WK_TRY(wk_dir_open_below(run, "eval", false, &folder, err));
    wk_status status = choose_name(q, folder, name, err);
    wk_dir_close(folder);
    return status;
}

wk_status wk_result_write(const wk_result_question *q, const wk_dir *folder, wk_text *csv,
                          wk_text *json, char name[WK_RESULT_NAME_MAX], wk_error *err)
{
    // Of two commands that end at once the second finds the file of the first.
    wk_folder_lock(folder, true);
    char file[WK_RESULT_NAME_MAX + 8];
    wk_status status = choose_name(q, folder, name, err);
    for (int i = 0; i < 2 && status == WK_OK; i++) {
        snprintf(file, sizeof file, "%s%s", name, i ? ".json" : ".csv");
        if (i || csv) status = wk_file_write_text(folder, file, i ? json : csv, err);
    }
    wk_folder_lock(folder, false);
    if (csv) wk_text_free(csv);
    wk_text_free(json);
    return status;
}

void wk_result_question_free(wk_result_question *q)
{
    wk_text_free(&q->head);
    wk_text_free(&q->parts);
}

/* ---- Scores ---------------------------------------------------------------------------------- */

static void json_score(wk_json *json, const char *key, const wk_score *s)
{
    wk_json_object(json, key);
    wk_json_number(json, "mean", s->mean);
    wk_json_number(json, "sd", s->sd);
    wk_json_number(json, "min", s->min);
    wk_json_number(json, "max", s->max);
    wk_json_object(json, "cvar");
    for (int i = 0; i < WK_SCORE_FRACTIONS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%g", wk_score_fractions[i]);
        wk_json_number(json, name, s->cvar[i]);
    }
    wk_json_close(json, '}');
    wk_json_close(json, '}');
}

// Whether any episode of the case has the metric: one of the learner's predictions has none with
// random actions.
static bool is_measured(const wk_case_result *c, const wk_case_metric *m)
{
    if (m->episode == 0) return false;
    for (int i = 0; i < c->eval_case.episodes; i++)
        if (!isnan(wk_episode_metric(&c->episodes[i], m))) return true;
    return false;
}

static void json_case(wk_json *json, const wk_domain *domain, int number, const wk_case_result *c)
{
    const wk_task *task = &domain->tasks[number];
    const wk_open_loop_error_curve *curve = &c->open_loop;
    const wk_case_metric *metrics_end = wk_case_metrics + WK_CASE_METRICS;
    int episodes = c->eval_case.episodes;
    wk_json_object(json, NULL);
    wk_json_string(json, "case", c->eval_case.name);
    wk_json_integer(json, "episodes", episodes);
    wk_json_integer(json, "diverged", c->diverged);
    json_score(json, "return", &c->return_score);
    if (task->has_completion) json_score(json, "completion", &c->completion_score);
    // Means of the metrics, then their lists.
    for (const wk_case_metric *m = wk_case_metrics; m < metrics_end; m++)
        if (is_measured(c, m)) wk_json_number(json, m->name, wk_case_metric_mean(c, m));
    for (const wk_case_metric *m = wk_case_metrics; m < metrics_end; m++) {
        const void *first = (const char *)c->episodes + m->episode;
        if (m->episodes && is_measured(c, m))
            wk_json_numbers(json, m->episodes, first, sizeof *c->episodes, episodes);
    }
    // The open-loop error, by the number of steps that were imagined.
    if (curve->steps > 0) {
        wk_json_object(json, "open_loop");
        wk_json_integer(json, "context", WK_OPEN_LOOP_ERRORS_CONTEXT);
        wk_json_number(json, "image_error", curve->mean_image);
        wk_json_number(json, "reward_error", curve->mean_reward);
        wk_json_numbers(json, "image_errors", curve->image, sizeof *curve->image, curve->steps);
        wk_json_numbers(json, "reward_errors", curve->reward, sizeof *curve->reward, curve->steps);
        wk_json_close(json, '}');
    }
    // Means of those indicators that the case has.
    if (domain->n_indicators > 0) wk_json_object(json, "indicators");
    for (int k = 0; k < domain->n_indicators; k++)
        if (!isnan(c->indicators[k]))
            wk_json_number(json, domain->indicators[k].name, c->indicators[k]);
    if (domain->n_indicators > 0) wk_json_close(json, '}');
    wk_json_numbers(json, "returns", c->returns, sizeof *c->returns, episodes);
    if (task->has_completion)
        wk_json_numbers(json, "completions", c->completions, sizeof *c->completions, episodes);
    wk_json_close(json, '}');
}

void wk_eval_origin_json(const wk_eval_origin *origin, const char *format, wk_json *json)
{
    wk_json_string(json, "format", format);
    wk_json_string(json, "domain", origin->domain->name);
    wk_json_string(json, "curriculum", origin->curriculum);
    wk_json_string(json, "exploration", origin->exploration);
    wk_json_unsigned(json, "seed", origin->run_seed);
    wk_json_unsigned(json, "step", origin->step);
}

static void json_head(const wk_eval_result *r, wk_json *json)
{
    wk_json_object(json, NULL);
    wk_eval_origin_json(&r->origin, "waker-eval-1", json);
    wk_json_string(json, "policy", r->origin.policy);
    wk_json_integer(json, "envs", r->envs);
    wk_json_unsigned(json, "eval_seed", r->seed);
    wk_json_array(json, "tasks");
}

// A case of a task.
typedef struct part {
    int task; // of the domain
    const wk_case_result *result;
} part;

typedef struct part_list {
    part items[WK_TASKS_MAX * WK_EVAL_CASES_MAX];
    size_t count;
} part_list;

// Place of a case among those of the domain, the distributions of training first.
static int place_of(const wk_domain *domain, const part *p)
{
    const char *name = p->result->eval_case.name;
    int i = 0;
    if (strcmp(name, WK_EVAL_DR) == 0) return 0;
    if (strcmp(name, WK_EVAL_TRAIN) == 0) return 1;
    while (i < domain->n_cases && strcmp(domain->cases[i].name, name) != 0)
        i++;
    return i + 2;
}

// All cases of all tasks in the domain's order, whatever the order they were requested in.
static part_list list_parts(const wk_eval_result *r)
{
    const wk_domain *domain = r->origin.domain;
    part_list list = {.count = 0};
    for (int i = 0; i < r->n_tasks; i++)
        for (int k = 0; k < r->tasks[i].n_cases; k++) {
            const part one = {r->tasks[i].task, &r->tasks[i].cases[k]};
            size_t at = list.count++;
            for (; at > 0; at--) {
                const part *before = &list.items[at - 1];
                if (before->task < one.task ||
                    (before->task == one.task && place_of(domain, before) < place_of(domain, &one)))
                    break;
                list.items[at] = *before;
            }
            list.items[at] = one;
        }
    return list;
}

static bool begins_task(const part_list *parts, size_t i)
{
    return i == 0 || i == parts->count || parts->items[i - 1].task != parts->items[i].task;
}

static void json_document(const wk_eval_result *r, const part_list *parts, wk_json *json)
{
    const wk_domain *domain = r->origin.domain;
    json_head(r, json);
    for (size_t i = 0; i < parts->count; i++) {
        int task = parts->items[i].task;
        if (begins_task(parts, i)) {
            const wk_domain *within = wk_eval_part(domain, task);
            wk_json_object(json, NULL);
            wk_json_string(json, "task", domain->tasks[task].name);
            if (within) wk_json_string(json, "part", within->name);
            wk_json_string(json, "score", wk_eval_score_name(domain, task));
            wk_json_array(json, "cases");
        }
        json_case(json, domain, task, parts->items[i].result);
        if (begins_task(parts, i + 1)) {
            wk_json_close(json, ']');
            wk_json_close(json, '}');
        }
    }
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

void wk_eval_result_json(const wk_eval_result *r, wk_json *json)
{
    part_list parts = list_parts(r);
    json_document(r, &parts, json);
}

// One more column; nothing for NaN.
static void csv_number(double value, wk_text *out)
{
    wk_text_puts(out, ",");
    if (!isnan(value)) wk_text_number(out, value);
}

static void csv_document(const wk_eval_result *r, const part_list *parts, wk_text *out)
{
    const wk_domain *domain = r->origin.domain;
    wk_text_puts(out, "task,case,episode,");
    for (int p = 0; p < domain->n_params; p++)
        wk_text_printf(out, "%s,", domain->params[p].name);
    wk_text_puts(out, "steps,return,completion,diverged");
    for (int m = 0; m < WK_CASE_METRICS; m++)
        if (wk_case_metrics[m].episode) wk_text_printf(out, ",%s", wk_case_metrics[m].name);
    for (int k = 0; k < domain->n_indicators; k++)
        wk_text_printf(out, ",%s", domain->indicators[k].name);
    wk_text_puts(out, "\n");
    for (size_t n = 0; n < parts->count; n++) {
        const wk_task *task = &domain->tasks[parts->items[n].task];
        const wk_case_result *c = parts->items[n].result;
        for (int i = 0; i < c->eval_case.episodes; i++) {
            const wk_eval_episode *e = &c->episodes[i];
            wk_text_printf(out, "%s,%s,%d", task->name, c->eval_case.name, i);
            for (int p = 0; p < domain->n_params; p++)
                csv_number(e->theta[p], out);
            wk_text_printf(out, ",%d", e->steps);
            csv_number(c->returns[i], out);
            csv_number(task->has_completion ? c->completions[i] : NAN, out);
            wk_text_printf(out, ",%d", e->diverged);
            for (int m = 0; m < WK_CASE_METRICS; m++)
                if (wk_case_metrics[m].episode)
                    csv_number(wk_episode_metric(e, &wk_case_metrics[m]), out);
            for (int k = 0; k < domain->n_indicators; k++)
                csv_number(e->indicators[k], out);
            wk_text_puts(out, "\n");
        }
    }
}

wk_status wk_eval_result_folder(const char *run, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_file_writer *trial = NULL;
    WK_TRY(wk_dir_make_below(run, "eval", err));
    WK_TRY(wk_path_print(path, err, "%s/eval/trial", run));
    wk_status status = wk_file_writer_begin(path, &trial, err);
    wk_file_writer_discard(trial);
    return status;
}

// `stem` gets the beginning of the name.
static wk_result_question question_of(const wk_eval_result *r, const part_list *parts,
                                      char stem[WK_RESULT_NAME_MAX])
{
    wk_result_question q = {.stem = stem, .keys = {"task", "case"}};
    snprintf(stem, WK_RESULT_NAME_MAX, "%.200s-%012" PRIu64, r->origin.policy, r->origin.step);
    json_head(r, &(wk_json){.text = &q.head});
    for (size_t i = 0; i < parts->count; i++) {
        const part *p = &parts->items[i];
        if (begins_task(parts, i))
            wk_text_printf(&q.parts, "%s\n", r->origin.domain->tasks[p->task].name);
        wk_text_printf(&q.parts, "%s\n", p->result->eval_case.name);
    }
    return q;
}

wk_status wk_eval_result_choose(wk_eval_result *r, const char *run, wk_error *err)
{
    char stem[WK_RESULT_NAME_MAX];
    part_list parts = list_parts(r);
    wk_result_question q = question_of(r, &parts, stem);
    wk_status status = wk_result_name(&q, run, r->name, err);
    wk_result_question_free(&q);
    return status;
}

// Closes the folder.
static wk_status write_files(wk_eval_result *r, wk_dir *folder, wk_error *err)
{
    char stem[WK_RESULT_NAME_MAX];
    wk_text csv = {0}, json = {0};
    part_list parts = list_parts(r);
    wk_result_question q = question_of(r, &parts, stem);
    csv_document(r, &parts, &csv);
    json_document(r, &parts, &(wk_json){.text = &json});
    wk_status status = wk_result_write(&q, folder, &csv, &json, r->name, err);
    wk_result_question_free(&q);
    wk_dir_close(folder);
    return status;
}

wk_status wk_eval_result_write(wk_eval_result *r, const char *run, wk_error *err)
{
    wk_dir *folder = NULL;
    WK_TRY(wk_dir_open_below(run, "eval", true, &folder, err));
    return write_files(r, folder, err);
}

wk_status wk_eval_result_write_in(wk_eval_result *r, const wk_dir *run, wk_error *err)
{
    wk_dir *folder = NULL;
    WK_TRY(wk_dir_make(run, "eval", &folder, err));
    return write_files(r, folder, err);
}
