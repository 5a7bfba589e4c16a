// Model errors as JSON, and the file that holds them (docs/evaluation.md has the format).
#include "eval/model_error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    const wk_model_error *all = m->environments;
    wk_json_numbers(json, "errors", &all->error, sizeof *all, m->count);
    wk_json_numbers(json, "estimates", &all->estimate, sizeof *all, m->count);
    wk_json_array(json, "theta");
    for (int i = 0; i < m->count; i++)
        wk_json_numbers(json, NULL, all[i].theta, sizeof *all->theta, domain->n_params);
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

static void json_head(const wk_model_error_result *r, wk_json *json)
{
    wk_json_object(json, NULL);
    wk_eval_origin_json(&r->origin, "waker-model-error-1", json);
    wk_json_integer(json, "envs", r->environments);
    // Files of older programs, and of one trajectory, do not say.
    if (r->trajectories > 1) wk_json_integer(json, "trajectories", r->trajectories);
    wk_json_integer(json, "steps", r->steps);
    wk_json_unsigned(json, "eval_seed", r->seed);
    wk_json_array(json, "measures");
}

// Measured now, or carried over from an earlier file.
typedef struct part {
    const char *policy, *weights;
    const wk_model_error_measured *fresh;
    const wk_earlier_result_part *carried;
} part;

typedef WK_ARRAY(part) part_list;

// Random actions first, then the tasks of the domain.
static int place_of(const wk_domain *domain, const char *policy)
{
    int task;
    return wk_domain_task(domain, policy, &task, NULL) == WK_OK ? task : -1;
}

static int compare_parts(const void *a, const void *b, void *domain)
{
    const part *x = a, *y = b;
    int order = place_of(domain, x->policy) - place_of(domain, y->policy);
    return order ? order : strcmp(x->weights, y->weights);
}

static bool has_part(const part_list *list, const char *policy, const char *weights)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].policy, policy) == 0 &&
            strcmp(list->items[i].weights, weights) == 0)
            return true;
    return false;
}

static wk_status list_parts(const wk_model_error_result *r, const wk_earlier_result *earlier,
                            part_list *out, wk_error *err)
{
    bool all = true;
    for (int i = 0; i < r->n_measures; i++) {
        const wk_model_error_measured *m = &r->measures[i];
        all &= wk_array_push(out, (part){m->policy, m->weights, m, NULL});
    }
    for (size_t i = 0; earlier && i < earlier->parts.count; i++) {
        const wk_earlier_result_part *old = &earlier->parts.items[i];
        if (!has_part(out, old->of, old->name))
            all &= wk_array_push(out, (part){old->of, old->name, NULL, old});
    }
    if (!all) return wk_fail(err, WK_E_MEMORY, "no memory for the results of a measurement");
    if (out->count)
        qsort_r(out->items, out->count, sizeof *out->items, compare_parts,
                (void *)r->origin.domain);
    return WK_OK;
}

static void json_document(const wk_model_error_result *r, const part_list *parts, wk_json *json)
{
    json_head(r, json);
    for (size_t i = 0; i < parts->count; i++) {
        const part *p = &parts->items[i];
        if (p->fresh)
            json_measure(json, r->origin.domain, p->fresh);
        else
            wk_json_raw(json, NULL, p->carried->json, p->carried->length);
    }
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

void wk_model_error_json(const wk_model_error_result *r, wk_json *json)
{
    part_list parts = {0};
    json->text->failed |= list_parts(r, NULL, &parts, NULL) != WK_OK;
    json_document(r, &parts, json);
    wk_array_free(&parts);
}

static void read_parts(wk_document *d, wk_earlier_result *out)
{
    if (!wk_document_array(d)) return;
    while (wk_document_item(d)) {
        size_t length;
        const char *json = wk_document_raw(d, &length);
        if (!json) return;
        wk_earlier_result_add(out, d, wk_raw_member(json, length, "policy", &out->arena),
                              wk_raw_member(json, length, "weights", &out->arena), json, length);
    }
}

static void describe(const wk_model_error_result *r, char protocol[128])
{
    char steps[24] = "", trajectories[32] = "";
    if (r->steps) snprintf(steps, sizeof steps, "-steps%d", r->steps);
    if (r->trajectories > 1)
        snprintf(trajectories, sizeof trajectories, "-trajectories%d", r->trajectories);
    snprintf(protocol, 128, "envs%d-seed%" PRIu64 "%s%s", r->environments, r->seed, steps,
             trajectories);
}

static wk_status write_merged(wk_model_error_result *r, const wk_dir *folder,
                              wk_earlier_result *earlier, part_list *parts, wk_error *err)
{
    char stem[64], protocol[128];
    wk_text head = {0}, json = {0};
    snprintf(stem, sizeof stem, "model-error-%012" PRIu64, r->origin.step);
    describe(r, protocol);
    json_head(r, &(wk_json){.text = &head});
    wk_result_files files = {stem, protocol, "measures", &head, NULL, read_parts};
    wk_status status = wk_result_files_choose(&files, folder, r->name, earlier, err);
    wk_text_free(&head);
    WK_TRY(status);
    WK_TRY(list_parts(r, earlier, parts, err));
    json_document(r, parts, &(wk_json){.text = &json});
    return wk_result_file_write(&json, folder, r->name, ".json", err);
}

wk_status wk_model_error_write(wk_model_error_result *r, const char *run, wk_error *err)
{
    wk_dir *folder = NULL;
    wk_earlier_result earlier = {0};
    part_list parts = {0};
    WK_TRY(wk_eval_result_folder(run, err));
    WK_TRY(wk_dir_open_below(run, "eval", false, &folder, err));
    wk_status status = write_merged(r, folder, &earlier, &parts, err);
    wk_array_free(&parts);
    wk_earlier_result_free(&earlier);
    wk_dir_close(folder);
    return status;
}
