// Model errors as JSON, and the file that holds them (docs/model-error.md has the format).
#include "base/file.h"
#include "eval/model_error.h"

#include <inttypes.h>
#include <stdio.h>

static void json_measure(wk_json *json, const wk_domain *domain, const wk_model_error_measured *m)
{
    const wk_model_error_summary *s = &m->summary;
    wk_json_object(json, NULL);
    wk_json_string(json, "policy", m->policy);
    wk_json_string(json, "weights", m->weights);
    wk_json_integer(json, "episodes", m->count);
    wk_json_number(json, "mean", s->mean);
    wk_json_number(json, "cvar_0.1", s->cvar);
    wk_json_number(json, "estimate_mean", s->estimate_mean);
    wk_json_number(json, "rank_correlation", s->correlation);
    wk_json_number(json, "theta_rank_correlation", s->theta_correlation);
    wk_json_integer(json, "thetas", s->thetas);
    wk_json_array(json, "errors");
    for (int i = 0; i < m->count; i++)
        wk_json_number(json, NULL, m->environments[i].error);
    wk_json_close(json, ']');
    wk_json_array(json, "estimates");
    for (int i = 0; i < m->count; i++)
        wk_json_number(json, NULL, m->environments[i].estimate);
    wk_json_close(json, ']');
    wk_json_array(json, "theta");
    for (int i = 0; i < m->count; i++) {
        wk_json_array(json, NULL);
        for (int p = 0; p < domain->n_params; p++)
            wk_json_number(json, NULL, m->environments[i].theta[p]);
        wk_json_close(json, ']');
    }
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

void wk_model_error_json(const wk_model_error_result *r, wk_json *json)
{
    const wk_eval_origin *o = &r->origin;
    wk_json_object(json, NULL);
    wk_eval_origin_json(o, "waker-model-error-1", json);
    wk_json_integer(json, "envs", r->environments);
    wk_json_integer(json, "steps", r->steps);
    wk_json_unsigned(json, "eval_seed", r->seed);
    wk_json_array(json, "measures");
    for (int i = 0; i < r->n_measures; i++)
        json_measure(json, o->domain, &r->measures[i]);
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

wk_status wk_model_error_write(const wk_model_error_result *r, const char *run, wk_error *err)
{
    char path[WK_EVAL_PATH_MAX];
    wk_text text = {0};
    WK_TRY(wk_eval_result_folder(run, err));
    snprintf(path, sizeof path, "%s/eval/model-error-%012" PRIu64 ".json", run, r->origin.step);
    wk_model_error_json(r, &(wk_json){.text = &text});
    wk_status status = text.failed ? wk_fail(err, WK_E_MEMORY, "no memory for '%s'", path)
                                   : wk_file_write(path, text.chars, text.length, err);
    wk_text_free(&text);
    return status;
}
