// Results as JSON and CSV, and the files that hold them.
#include "eval/result.h"

#include "base/file.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
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

static void json_numbers(wk_json *json, const char *key, const double *values, int count)
{
    wk_json_array(json, key);
    for (int i = 0; i < count; i++)
        wk_json_number(json, NULL, values[i]);
    wk_json_close(json, ']');
}

// What the learner expected, where it did, next to what came.
static void json_foresight(wk_json *json, const wk_case_result *c)
{
    if (isnan(c->foresight.value)) return;
    wk_json_number(json, "promised_value", c->foresight.value);
    wk_json_number(json, "discounted_return", c->foresight.discounted);
    wk_json_number(json, "reward_error", c->foresight.reward_error);
    wk_json_array(json, "promised_values");
    for (int i = 0; i < c->set.episodes; i++)
        wk_json_number(json, NULL, c->episodes[i].foresight.value);
    wk_json_close(json, ']');
    wk_json_array(json, "discounted_returns");
    for (int i = 0; i < c->set.episodes; i++)
        wk_json_number(json, NULL, c->episodes[i].foresight.discounted);
    wk_json_close(json, ']');
}

static void json_case(wk_json *json, const wk_task *task, const wk_case_result *c)
{
    wk_json_object(json, NULL);
    wk_json_string(json, "case", c->set.name);
    wk_json_integer(json, "episodes", c->set.episodes);
    wk_json_integer(json, "diverged", c->diverged);
    json_score(json, "return", &c->returned);
    if (task->has_completion) json_score(json, "completion", &c->completed);
    json_foresight(json, c);
    json_numbers(json, "returns", c->returns, c->set.episodes);
    if (task->has_completion) json_numbers(json, "completions", c->completions, c->set.episodes);
    wk_json_close(json, '}');
}

static void json_task(wk_json *json, const wk_domain *domain, const wk_task_result *t)
{
    const wk_task *task = &domain->tasks[t->task];
    const wk_domain *part = wk_eval_part(domain, t->task);
    wk_json_object(json, NULL);
    wk_json_string(json, "task", task->name);
    if (part) wk_json_string(json, "part", part->name);
    wk_json_string(json, "score", wk_eval_score_name(domain, t->task));
    wk_json_array(json, "cases");
    for (int i = 0; i < t->n_cases; i++)
        json_case(json, task, &t->cases[i]);
    wk_json_close(json, ']');
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

void wk_eval_result_json(const wk_eval_result *r, wk_json *json)
{
    const wk_eval_origin *o = &r->origin;
    wk_json_object(json, NULL);
    wk_eval_origin_json(o, "waker-eval-1", json);
    wk_json_string(json, "policy", o->policy);
    wk_json_integer(json, "envs", r->envs);
    wk_json_unsigned(json, "eval_seed", r->seed);
    wk_json_array(json, "tasks");
    for (int i = 0; i < r->n_tasks; i++)
        json_task(json, o->domain, &r->tasks[i]);
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

// A number, nothing for NaN, and what follows.
static void csv_number(double value, const char *behind, wk_text *out)
{
    if (!isnan(value)) wk_text_number(out, value);
    wk_text_puts(out, behind);
}

static void csv_case(const wk_domain *domain, int task, const wk_case_result *c, wk_text *out)
{
    for (int i = 0; i < c->set.episodes; i++) {
        const wk_eval_episode *e = &c->episodes[i];
        wk_text_printf(out, "%s,%s,%d,", domain->tasks[task].name, c->set.name, i);
        for (int p = 0; p < domain->n_params; p++) {
            wk_text_number(out, e->theta[p]);
            wk_text_puts(out, ",");
        }
        wk_text_printf(out, "%d,", e->steps);
        wk_text_number(out, c->returns[i]);
        wk_text_puts(out, ",");
        if (domain->tasks[task].has_completion) wk_text_number(out, c->completions[i]);
        wk_text_printf(out, ",%d,", e->diverged);
        csv_number(e->foresight.value, ",", out);
        csv_number(e->foresight.discounted, ",", out);
        csv_number(e->foresight.reward_error, "\n", out);
    }
}

void wk_eval_result_csv(const wk_eval_result *r, wk_text *out)
{
    const wk_domain *domain = r->origin.domain;
    wk_text_puts(out, "task,case,episode,");
    for (int p = 0; p < domain->n_params; p++)
        wk_text_printf(out, "%s,", domain->params[p].name);
    wk_text_puts(
        out, "steps,return,completion,diverged,promised_value,discounted_return,reward_error\n");
    for (int i = 0; i < r->n_tasks; i++)
        for (int k = 0; k < r->tasks[i].n_cases; k++)
            csv_case(domain, r->tasks[i].task, &r->tasks[i].cases[k], out);
}

void wk_eval_result_path(const wk_eval_result *r, const char *run, const char *ending,
                         char out[WK_EVAL_PATH_MAX])
{
    snprintf(out, WK_EVAL_PATH_MAX, "%s/eval/%s-%012" PRIu64 "%s", run, r->origin.policy,
             r->origin.step, ending);
}

wk_status wk_eval_result_folder(const char *run, wk_error *err)
{
    char path[WK_EVAL_PATH_MAX];
    snprintf(path, sizeof path, "%s/eval", run);
    return wk_dir_create(path, err);
}

static void print_document(const wk_eval_result *r, wk_text *out)
{
    wk_eval_result_json(r, &(wk_json){.text = out});
}

static wk_status write_text(const wk_eval_result *r, const wk_dir *folder, const char *ending,
                            void (*print)(const wk_eval_result *, wk_text *), wk_error *err)
{
    char path[WK_EVAL_PATH_MAX];
    wk_text text = {0};
    wk_eval_result_path(r, "", ending, path);
    const char *name = strrchr(path, '/') + 1;
    print(r, &text);
    wk_status status = text.failed ? wk_fail(err, WK_E_MEMORY, "no memory for '%s'", name)
                                   : wk_file_write_in(folder, name, text.chars, text.length, err);
    wk_text_free(&text);
    return status;
}

// Closes the folder.
static wk_status write_files(const wk_eval_result *r, wk_dir *folder, wk_error *err)
{
    wk_status status = write_text(r, folder, ".csv", wk_eval_result_csv, err);
    if (status == WK_OK) status = write_text(r, folder, ".json", print_document, err);
    wk_dir_close(folder);
    return status;
}

wk_status wk_eval_result_write(const wk_eval_result *r, const char *run, wk_error *err)
{
    char path[WK_EVAL_PATH_MAX];
    wk_dir *folder = NULL;
    WK_TRY(wk_eval_result_folder(run, err));
    snprintf(path, sizeof path, "%s/eval", run);
    WK_TRY(wk_dir_open(NULL, path, &folder, err));
    return write_files(r, folder, err);
}

wk_status wk_eval_result_write_in(const wk_eval_result *r, const wk_dir *run, wk_error *err)
{
    wk_dir *folder = NULL;
    WK_TRY(wk_dir_make(run, "eval", &folder, err));
    return write_files(r, folder, err);
}
