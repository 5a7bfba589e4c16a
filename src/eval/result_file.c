// Results as JSON and CSV, and the files that hold them.
#include "eval/result.h"

#include "base/file.h"
#include "config/parts.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void json_metrics(wk_json *json, const wk_case_result *c)
{
    const wk_case_metric *end = wk_case_metrics + WK_CASE_METRICS;
    for (const wk_case_metric *m = wk_case_metrics; m < end; m++)
        if (is_measured(c, m)) wk_json_number(json, m->name, wk_case_metric_mean(c, m));
    for (const wk_case_metric *m = wk_case_metrics; m < end; m++) {
        const void *first = (const char *)c->episodes + m->episode;
        if (m->episodes && is_measured(c, m))
            wk_json_numbers(json, m->episodes, first, sizeof *c->episodes, c->eval_case.episodes);
    }
}

// The open-loop error, by the number of steps that were imagined.
static void json_open_loop(wk_json *json, const wk_open_loop_error_curve *c)
{
    if (c->steps == 0) return;
    wk_json_object(json, "open_loop");
    wk_json_integer(json, "context", WK_OPEN_LOOP_ERRORS_CONTEXT);
    wk_json_number(json, "image_error", c->mean_image);
    wk_json_number(json, "reward_error", c->mean_reward);
    wk_json_numbers(json, "image_errors", c->image, sizeof *c->image, c->steps);
    wk_json_numbers(json, "reward_errors", c->reward, sizeof *c->reward, c->steps);
    wk_json_close(json, '}');
}

// Those that the case has, means over its episodes.
static void json_indicators(wk_json *json, const wk_domain *domain, const wk_case_result *c)
{
    if (domain->n_indicators == 0) return;
    wk_json_object(json, "indicators");
    for (int k = 0; k < domain->n_indicators; k++)
        if (!isnan(c->indicators[k]))
            wk_json_number(json, domain->indicators[k].name, c->indicators[k]);
    wk_json_close(json, '}');
}

static void json_case(wk_json *json, const wk_domain *domain, const wk_task *task,
                      const wk_case_result *c)
{
    wk_json_object(json, NULL);
    wk_json_string(json, "case", c->eval_case.name);
    wk_json_integer(json, "episodes", c->eval_case.episodes);
    wk_json_integer(json, "diverged", c->diverged);
    json_score(json, "return", &c->return_score);
    if (task->has_completion) json_score(json, "completion", &c->completion_score);
    json_metrics(json, c);
    json_open_loop(json, &c->open_loop);
    json_indicators(json, domain, c);
    size_t stride = sizeof *c->returns;
    wk_json_numbers(json, "returns", c->returns, stride, c->eval_case.episodes);
    if (task->has_completion)
        wk_json_numbers(json, "completions", c->completions, stride, c->eval_case.episodes);
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

// One case of one task: measured now, or carried over from an earlier file.
typedef struct part {
    int task; // of the domain
    const char *name;
    const wk_case_result *fresh;           // or
    const wk_earlier_result_part *carried; // kept as it was
} part;

typedef WK_ARRAY(part) part_list;

// Place of a case among those of the domain, the distributions of training first.
static int place_of(const wk_domain *domain, const char *name)
{
    if (strcmp(name, WK_EVAL_DR) == 0) return 0;
    if (strcmp(name, WK_EVAL_TRAIN) == 0) return 1;
    int i = 0;
    while (i < domain->n_cases && strcmp(domain->cases[i].name, name) != 0)
        i++;
    return i + 2;
}

static int compare_parts(const void *a, const void *b, void *domain)
{
    const part *x = a, *y = b;
    int order = (x->task > y->task) - (x->task < y->task);
    return order ? order : place_of(domain, x->name) - place_of(domain, y->name);
}

static bool has_part(const part_list *list, int task, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].task == task && strcmp(list->items[i].name, name) == 0) return true;
    return false;
}

// Everything that belongs into the files, in an order that does not depend on who asked for what
// first. `earlier` may be NULL.
static wk_status list_parts(const wk_eval_result *r, const wk_earlier_result *earlier,
                            part_list *out, wk_error *err)
{
    const wk_domain *domain = r->origin.domain;
    bool all = true;
    for (int i = 0; i < r->n_tasks; i++)
        for (int k = 0; k < r->tasks[i].n_cases; k++) {
            const wk_case_result *c = &r->tasks[i].cases[k];
            all &= wk_array_push(out, (part){r->tasks[i].task, c->eval_case.name, c, NULL});
        }
    for (size_t i = 0; earlier && i < earlier->parts.count; i++) {
        const wk_earlier_result_part *old = &earlier->parts.items[i];
        int task;
        if (wk_domain_task(domain, old->of, &task, NULL) == WK_OK &&
            !has_part(out, task, old->name))
            all &= wk_array_push(out, (part){task, old->name, NULL, old});
    }
    if (!all) return wk_fail(err, WK_E_MEMORY, "no memory for the results of a task");
    if (out->count)
        qsort_r(out->items, out->count, sizeof *out->items, compare_parts, (void *)domain);
    return WK_OK;
}

static void json_task(wk_json *json, const wk_domain *domain, const part *parts, size_t count)
{
    const wk_task *task = &domain->tasks[parts->task];
    const wk_domain *within = wk_eval_part(domain, parts->task);
    wk_json_object(json, NULL);
    wk_json_string(json, "task", task->name);
    if (within) wk_json_string(json, "part", within->name);
    wk_json_string(json, "score", wk_eval_score_name(domain, parts->task));
    wk_json_array(json, "cases");
    for (size_t i = 0; i < count; i++)
        if (parts[i].fresh)
            json_case(json, domain, task, parts[i].fresh);
        else
            wk_json_raw(json, NULL, parts[i].carried->json, parts[i].carried->length);
    wk_json_close(json, ']');
    wk_json_close(json, '}');
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

static void json_document(const wk_eval_result *r, const part_list *parts, wk_json *json)
{
    json_head(r, json);
    for (size_t first = 0, end; first < parts->count; first = end) {
        end = first + 1;
        while (end < parts->count && parts->items[end].task == parts->items[first].task)
            end++;
        json_task(json, r->origin.domain, &parts->items[first], end - first);
    }
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

void wk_eval_result_json(const wk_eval_result *r, wk_json *json)
{
    part_list parts = {0};
    json->text->failed |= list_parts(r, NULL, &parts, NULL) != WK_OK;
    json_document(r, &parts, json);
    wk_array_free(&parts);
}

// One more column; nothing for NaN.
static void csv_number(double value, wk_text *out)
{
    wk_text_puts(out, ",");
    if (!isnan(value)) wk_text_number(out, value);
}

static void csv_case(const wk_domain *domain, int task, const wk_case_result *c, wk_text *out)
{
    for (int i = 0; i < c->eval_case.episodes; i++) {
        const wk_eval_episode *e = &c->episodes[i];
        wk_text_printf(out, "%s,%s,%d,", domain->tasks[task].name, c->eval_case.name, i);
        for (int p = 0; p < domain->n_params; p++) {
            wk_text_number(out, e->theta[p]);
            wk_text_puts(out, ",");
        }
        wk_text_printf(out, "%d,", e->steps);
        wk_text_number(out, c->returns[i]);
        wk_text_puts(out, ",");
        if (domain->tasks[task].has_completion) wk_text_number(out, c->completions[i]);
        wk_text_printf(out, ",%d", e->diverged);
        for (int m = 0; m < WK_CASE_METRICS; m++)
            if (wk_case_metrics[m].episode)
                csv_number(wk_episode_metric(e, &wk_case_metrics[m]), out);
        for (int k = 0; k < domain->n_indicators; k++)
            csv_number(e->indicators[k], out);
        wk_text_puts(out, "\n");
    }
}

static void csv_head(const wk_domain *domain, wk_text *out)
{
    wk_text_puts(out, "task,case,episode,");
    for (int p = 0; p < domain->n_params; p++)
        wk_text_printf(out, "%s,", domain->params[p].name);
    wk_text_puts(out, "steps,return,completion,diverged");
    for (int m = 0; m < WK_CASE_METRICS; m++)
        if (wk_case_metrics[m].episode) wk_text_printf(out, ",%s", wk_case_metrics[m].name);
    for (int k = 0; k < domain->n_indicators; k++)
        wk_text_printf(out, ",%s", domain->indicators[k].name);
    wk_text_puts(out, "\n");
}

static void csv_document(const wk_eval_result *r, const part_list *parts,
                         const wk_earlier_result *earlier, wk_text *out)
{
    const wk_domain *domain = r->origin.domain;
    csv_head(domain, out);
    for (size_t i = 0; i < parts->count; i++) {
        const part *p = &parts->items[i];
        if (p->fresh)
            csv_case(domain, p->task, p->fresh, out);
        else
            wk_earlier_result_csv(earlier, p->carried->of, p->name, out);
    }
}

// The cases of every task.
static void read_parts(wk_document *d, wk_earlier_result *out)
{
    if (!wk_document_array(d)) return;
    while (wk_document_item(d)) {
        const char *task = NULL;
        if (!wk_document_object(d)) return;
        while (wk_document_member(d)) {
            if (wk_document_is(d, "task")) task = wk_document_string(d, &out->arena);
            if (!wk_document_is(d, "cases") || !wk_document_array(d)) continue;
            while (wk_document_item(d)) {
                size_t length;
                const char *json = wk_document_raw(d, &length);
                const char *name = json ? wk_raw_member(json, length, "case", &out->arena) : NULL;
                wk_earlier_result_add(out, d, task, name, json, length);
            }
        }
    }
}

void wk_eval_result_path(const wk_eval_result *r, const char *run, const char *ending,
                         char out[WK_PATH_MAX])
{
    snprintf(out, WK_PATH_MAX, "%s/eval/%s%s", run, r->name, ending);
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

static wk_status choose_files(wk_eval_result *r, const wk_dir *folder, wk_earlier_result *earlier,
                              wk_error *err)
{
    char stem[WK_RESULT_NAME_MAX], protocol[64];
    wk_text head = {0}, line = {0};
    snprintf(stem, sizeof stem, "%.200s-%012" PRIu64, r->origin.policy, r->origin.step);
    snprintf(protocol, sizeof protocol, "envs%d-seed%" PRIu64, r->envs, r->seed);
    json_head(r, &(wk_json){.text = &head});
    csv_head(r->origin.domain, &line);
    wk_result_files files = {stem, protocol, "tasks", &head, wk_text_get(&line), read_parts};
    wk_status status = line.failed ? wk_fail(err, WK_E_MEMORY, "no memory for '%s'", stem)
                                   : wk_result_files_choose(&files, folder, r->name, earlier, err);
    wk_text_free(&head);
    wk_text_free(&line);
    return status;
}

wk_status wk_eval_result_choose(wk_eval_result *r, const char *run, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_dir *folder = NULL;
    wk_earlier_result earlier = {0};
    WK_TRY(wk_path_print(path, err, "%s/eval", run));
    WK_TRY(wk_dir_open(NULL, path, &folder, err));
    wk_status status = choose_files(r, folder, &earlier, err);
    wk_earlier_result_free(&earlier);
    wk_dir_close(folder);
    return status;
}

static wk_status write_merged(wk_eval_result *r, const wk_dir *folder, wk_earlier_result *earlier,
                              part_list *parts, wk_error *err)
{
    wk_text csv = {0}, json = {0};
    WK_TRY(choose_files(r, folder, earlier, err));
    WK_TRY(list_parts(r, earlier, parts, err));
    csv_document(r, parts, earlier, &csv);
    WK_TRY(wk_result_file_write(&csv, folder, r->name, ".csv", err));
    json_document(r, parts, &(wk_json){.text = &json});
    return wk_result_file_write(&json, folder, r->name, ".json", err);
}

// Closes the folder.
static wk_status write_files(wk_eval_result *r, wk_dir *folder, wk_error *err)
{
    wk_earlier_result earlier = {0};
    part_list parts = {0};
    wk_status status = write_merged(r, folder, &earlier, &parts, err);
    wk_array_free(&parts);
    wk_earlier_result_free(&earlier);
    wk_dir_close(folder);
    return status;
}

wk_status wk_eval_result_write(wk_eval_result *r, const char *run, wk_error *err)
{
    wk_dir *folder = NULL;
    WK_TRY(wk_eval_result_folder(run, err));
    WK_TRY(wk_dir_open_below(run, "eval", false, &folder, err));
    return write_files(r, folder, err);
}

wk_status wk_eval_result_write_in(wk_eval_result *r, const wk_dir *run, wk_error *err)
{
    wk_dir *folder = NULL;
    WK_TRY(wk_dir_make(run, "eval", &folder, err));
    return write_files(r, folder, err);
}
