// A policy's scores in a frozen set of environments, as a file.
#include "base/file.h"
#include "base/json.h"
#include "env/domain.h"
#include "eval/result.h"
#include "waker/stats.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ALPHAS = 20 };
static const double alphas[ALPHAS] = {0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4,
                                      0.45, 0.5,  0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9,  1};

// Part of the format.
static const wk_bootstrap_config bootstrap = {.reps = 2000, .size = 0.95, .seed = 0};

// The scores of a part of the set, CVaR over α, and a number for every episode in the set's order.
static wk_status json_part(wk_json *json, const wk_domain *domain, const wk_task *task,
                           const wk_case_result *part, wk_error *err)
{
    wk_estimate curve[ALPHAS];
    int count = part->eval_case.episodes;
    size_t stride = sizeof(double);
    bool completes = task->has_completion;
    const wk_score *s = completes ? &part->completion_score : &part->return_score;
    WK_TRY(wk_stats_cvar_curve(completes ? part->completions : part->returns, (size_t)count, alphas,
                               ALPHAS, WK_WORST_LOW, &bootstrap, curve, err));
    wk_json_object(json, NULL);
    wk_json_string(json, "part", strrchr(part->eval_case.name, '/') + 1);
    wk_json_integer(json, "episodes", count);
    wk_json_integer(json, "diverged", part->diverged);
    wk_json_number(json, "mean", s->mean);
    wk_json_number(json, "sd", s->sd);
    wk_json_object(json, "cvar");
    wk_json_numbers(json, "alpha", alphas, sizeof *alphas, ALPHAS);
    wk_json_numbers(json, "value", &curve->value, sizeof *curve, ALPHAS);
    wk_json_numbers(json, "low", &curve->low, sizeof *curve, ALPHAS);
    wk_json_numbers(json, "high", &curve->high, sizeof *curve, ALPHAS);
    wk_json_close(json, '}');
    wk_json_array(json, "theta");
    for (int i = 0; i < count; i++)
        wk_json_numbers(json, NULL, part->episodes[i].theta, stride, domain->n_params);
    wk_json_close(json, ']');
    wk_json_numbers(json, "returns", part->returns, stride, count);
    if (completes) wk_json_numbers(json, "completions", part->completions, stride, count);
    wk_json_numbers(json, "lengths", part->lengths, stride, count);
    wk_json_close(json, '}');
    return WK_OK;
}

static wk_status json_benchmark(const wk_benchmark_origin *origin, const wk_eval_result *r,
                                const wk_task_result *t, wk_json *json, wk_error *err)
{
    const wk_domain *domain = r->origin.domain;
    const wk_theta_set *set = origin->set;
    wk_json_object(json, NULL);
    wk_eval_origin_json(&r->origin, "waker-benchmark-1", json);
    wk_json_string(json, "policy", r->origin.policy);
    wk_json_string(json, "program", origin->program);
    if (origin->weights) wk_json_string(json, "weights_sha256", origin->weights);
    wk_json_object(json, "set");
    wk_json_string(json, "name", set->name);
    wk_json_string(json, "sha256", set->sha256);
    wk_json_unsigned(json, "seed", set->seed);
    for (int p = 0; p < WK_THETA_SET_PARTS; p++)
        wk_json_integer(json, wk_theta_set_part_name((wk_theta_set_part)p), set->parts[p].count);
    wk_json_close(json, '}');
    wk_json_object(json, "options");
    for (int i = 0; i < domain->n_options; i++) {
        char choice[64];
        size_t length;
        const char *name = wk_option_choice(&domain->options[i], origin->options[i], &length);
        snprintf(choice, sizeof choice, "%.*s", (int)length, name);
        wk_json_string(json, domain->options[i].name, choice);
    }
    wk_json_close(json, '}');
    wk_json_array(json, "params");
    for (int i = 0; i < domain->n_params; i++)
        wk_json_string(json, NULL, domain->params[i].name);
    wk_json_close(json, ']');
    wk_json_string(json, "task", domain->tasks[t->task].name);
    wk_json_string(json, "score", wk_eval_score_name(domain, t->task));
    wk_json_object(json, "bootstrap");
    wk_json_integer(json, "reps", bootstrap.reps);
    wk_json_number(json, "size", bootstrap.size);
    wk_json_unsigned(json, "seed", bootstrap.seed);
    wk_json_close(json, '}');
    wk_json_array(json, "parts");
    for (int i = 0; i < t->n_cases; i++)
        WK_TRY(json_part(json, domain, &domain->tasks[t->task], &t->cases[i], err));
    wk_json_close(json, ']');
    wk_json_close(json, '}');
    wk_text_puts(json->text, "\n");
    return WK_OK;
}

void wk_benchmark_path(const wk_theta_set *set, const wk_eval_result *r, int task,
                       char out[WK_PATH_MAX])
{
    snprintf(out, WK_PATH_MAX, "benchmark/%s-%.200s-%012" PRIu64 "-%s.json", set->name,
             r->origin.policy, r->origin.step, r->origin.domain->tasks[task].name);
}

wk_status wk_benchmark_write(const wk_benchmark_origin *origin, const wk_eval_result *r,
                             const char *run, wk_error *err)
{
    WK_TRY(wk_dir_make_below(run, "benchmark", err));
    for (int i = 0; i < r->n_tasks; i++) {
        char name[WK_PATH_MAX], path[WK_PATH_MAX];
        wk_text text = {0};
        wk_benchmark_path(origin->set, r, r->tasks[i].task, name);
        WK_TRY(wk_path_join(run, name, path, err));
        wk_status status = json_benchmark(origin, r, &r->tasks[i], &(wk_json){.text = &text}, err);
        if (status == WK_OK) status = wk_file_write_text(NULL, path, &text, err);
        wk_text_free(&text);
        WK_TRY(status);
    }
    return WK_OK;
}
