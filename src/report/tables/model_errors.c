#include "report/tables/model_errors.h"

#include "waker/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *wk_error_statistic_name(wk_error_statistic statistic)
{
    static const char *const names[WK_ERROR_STATISTICS] = {"mean", "CVaR 0.1", "estimate",
                                                           "rank correlation"};
    return names[statistic];
}

// One run's last measurement under one policy.
typedef struct measured {
    const wk_report_run *run;
    const wk_run_error *error;
} measured;

typedef WK_ARRAY(measured) measured_list;

static bool same_sample(const wk_run_error *a, const wk_run_error *b)
{
    return a->envs == b->envs && a->trajectories == b->trajectories && a->steps == b->steps &&
           a->eval_seed == b->eval_seed;
}

// The larger sample: more environments, more episodes in them, whole episodes before cut ones, the
// smaller seed.
static bool is_larger(const wk_run_error *a, const wk_run_error *b)
{
    uint64_t x = a->steps ? a->steps : UINT64_MAX, y = b->steps ? b->steps : UINT64_MAX;
    if (a->envs != b->envs) return a->envs > b->envs;
    if (a->trajectories != b->trajectories) return a->trajectories > b->trajectories;
    return x != y ? x > y : a->eval_seed < b->eval_seed;
}

// The largest sample that any run of the domain and exploration has of the policy.
static const wk_run_error *largest(const wk_runs *runs, const wk_report_run *like,
                                   const char *policy)
{
    const wk_run_error *best = NULL;
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        for (size_t k = 0; wk_runs_same_group(run, like) && k < run->errors.count; k++) {
            const wk_run_error *error = &run->errors.items[k];
            if (strcmp(error->policy, policy) == 0 && (!best || is_larger(error, best)))
                best = error;
        }
    }
    return best;
}

static bool is_last(const wk_report_run *run, const wk_run_error *error)
{
    for (size_t i = 0; i < run->errors.count; i++) {
        const wk_run_error *other = &run->errors.items[i];
        if (strcmp(other->policy, error->policy) == 0 && same_sample(other, error) &&
            (other->step > error->step || (other->step == error->step && other < error)))
            return false;
    }
    return true;
}

static wk_status remark_on(const wk_report_run *run, const wk_run_error *left,
                           const wk_run_error *used, wk_sentences *out, wk_error *err)
{
    return wk_sentences_add(
        out, err,
        "%s: its model error under '%s' in %llu environment%s (%llu trajector%s each, seed %llu, "
        "at most %llu agent step%s) is left out; the table has those of %llu (%llu, seed %llu, "
        "%llu)",
        run->directory, left->policy, (unsigned long long)left->envs, wk_plural(left->envs),
        (unsigned long long)left->trajectories, left->trajectories == 1 ? "y" : "ies",
        (unsigned long long)left->eval_seed, (unsigned long long)left->steps,
        wk_plural(left->steps), (unsigned long long)used->envs,
        (unsigned long long)used->trajectories, (unsigned long long)used->eval_seed,
        (unsigned long long)used->steps);
}

static wk_status list_measured(const wk_runs *runs, measured_list *out, wk_sentences *remarks,
                               wk_error *err)
{
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        for (size_t k = 0; k < run->errors.count; k++) {
            const wk_run_error *error = &run->errors.items[k];
            const wk_run_error *used = largest(runs, run, error->policy);
            if (!same_sample(error, used))
                WK_TRY(remark_on(run, error, used, remarks, err));
            else if (is_last(run, error) && !wk_array_push(out, (measured){run, error}))
                return wk_fail(err, WK_E_MEMORY, "no memory for the model errors");
        }
    }
    return WK_OK;
}

static int order_policies(const wk_paper *paper, const char *a, const char *b)
{
    bool x = strcmp(a, "random") == 0, y = strcmp(b, "random") == 0;
    return x != y ? y - x : wk_paper_order(paper, WK_FIELD_TASK, a, b);
}

static int compare(const void *a, const void *b, void *paper)
{
    const measured *x = a, *y = b;
    int order = wk_paper_order(paper, WK_FIELD_DOMAIN, x->run->domain, y->run->domain);
    if (!order)
        order =
            wk_paper_order(paper, WK_FIELD_EXPLORATION, x->run->exploration, y->run->exploration);
    if (!order) order = order_policies(paper, x->error->policy, y->error->policy);
    if (!order) order = wk_paper_order(paper, WK_FIELD_CURRICULUM, x->run->method, y->run->method);
    return order ? order : (x->run->seed > y->run->seed) - (x->run->seed < y->run->seed);
}

static bool same_entry(const measured *a, const measured *b)
{
    return strcmp(a->run->domain, b->run->domain) == 0 &&
           strcmp(a->run->exploration, b->run->exploration) == 0 &&
           strcmp(a->run->method, b->run->method) == 0 &&
           strcmp(a->error->policy, b->error->policy) == 0;
}

static double statistic_of(const wk_run_error *error, wk_error_statistic figure)
{
    const double values[WK_ERROR_STATISTICS] = {error->mean, error->cvar, error->estimate,
                                                error->correlation};
    return values[figure];
}

static wk_error_entry sum_up(const measured *items, size_t count, double *scratch)
{
    const wk_report_run *run = items->run;
    wk_error_entry out = {run->domain, run->exploration, items->error->policy, run->method,
                          .seeds = count};
    for (int f = 0; f < WK_ERROR_STATISTICS; f++) {
        size_t known = 0;
        for (size_t i = 0; i < count; i++) {
            double value = statistic_of(items[i].error, (wk_error_statistic)f);
            if (!isnan(value)) scratch[known++] = value;
        }
        out.mean[f] = wk_stats_mean(scratch, known);
        out.sd[f] = wk_stats_sd(scratch, known);
    }
    return out;
}

wk_status wk_model_errors_make(const wk_runs *runs, const wk_paper *paper, wk_model_errors *out,
                               wk_error *err)
{
    measured_list list = {0};
    wk_status status = list_measured(runs, &list, &out->remarks, err);
    if (status != WK_OK) {
        wk_array_free(&list);
        return status;
    }
    double *scratch = malloc((list.count + 1) * sizeof *scratch);
    bool all = scratch != NULL;
    if (all && list.count)
        qsort_r(list.items, list.count, sizeof *list.items, compare, (void *)paper);
    for (size_t first = 0, end; first < list.count && all; first = end) {
        for (end = first + 1; end < list.count && same_entry(&list.items[first], &list.items[end]);)
            end++;
        all = wk_array_push(&out->items, sum_up(&list.items[first], end - first, scratch));
    }
    free(scratch);
    wk_array_free(&list);
    return all ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for the model errors");
}

void wk_model_errors_free(wk_model_errors *errors)
{
    wk_array_free(&errors->items);
    wk_sentences_free(&errors->remarks);
}

void wk_model_errors_table(const wk_model_errors *errors, wk_text_table *out)
{
    static const char *const heads[] = {"domain", "exploration", "policy", "curriculum"};
    out->title = "Model errors";
    wk_text_puts(&out->caption,
                 "Squared error of the images predicted one step ahead, in environments from "
                 "the default distribution: mean ± s.d. over seeds (population s.d.), number of "
                 "seeds in parentheses; the ensemble's own estimate, and how well it ranks the "
                 "environments.");
    out->heads = sizeof heads / sizeof *heads;
    out->columns = out->heads + WK_ERROR_STATISTICS;
    for (size_t i = 0; i < out->heads; i++)
        wk_text_table_add(out, false, "%s", heads[i]);
    for (int f = 0; f < WK_ERROR_STATISTICS; f++)
        wk_text_table_add(out, false, "%s", wk_error_statistic_name((wk_error_statistic)f));
    for (size_t i = 0; i < errors->items.count; i++) {
        const wk_error_entry *e = &errors->items.items[i];
        wk_text_table_add(out, false, "%s", e->domain);
        wk_text_table_add(out, false, "%s", e->exploration);
        wk_text_table_add(out, false, "%s", e->policy);
        wk_text_table_add(out, false, "%s", e->curriculum);
        for (int f = 0; f < WK_ERROR_STATISTICS; f++)
            if (isnan(e->mean[f]))
                wk_text_table_add(out, false, "-");
            else
                wk_text_table_add(out, false, "%.4g ± %.2g (%zu)", e->mean[f], e->sd[f], e->seeds);
    }
}

void wk_model_errors_csv(const wk_model_errors *errors, wk_text *out)
{
    wk_text_puts(out, "domain,exploration,policy,curriculum,seeds,mean,mean_sd,cvar,cvar_sd,"
                      "estimate,estimate_sd,correlation,correlation_sd\n");
    for (size_t i = 0; i < errors->items.count; i++) {
        const wk_error_entry *e = &errors->items.items[i];
        const char *names[] = {e->domain, e->exploration, e->policy, e->curriculum};
        for (int k = 0; k < 4; k++) {
            wk_csv_field(out, names[k]);
            wk_text_puts(out, ",");
        }
        wk_text_printf(out, "%zu", e->seeds);
        for (int f = 0; f < WK_ERROR_STATISTICS; f++) {
            if (isnan(e->mean[f]))
                wk_text_puts(out, ",,");
            else
                wk_text_printf(out, ",%.17g,%.17g", e->mean[f], e->sd[f]);
        }
        wk_text_puts(out, "\n");
    }
}
