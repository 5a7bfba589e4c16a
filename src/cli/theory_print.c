// The results of waker theory as text and as JSON.
#include "base/table.h"
#include "cli/theory.h"

#include "theory/bound.h"
#include <inttypes.h>
#include <math.h>

// The constructed pair of MDPs that comes within this of half the bound.
static const double tight_slip = 1e-4, tight_gamma = 0.9;

static wk_regret tight_regret(void)
{
    wk_mdp real, model;
    wk_mdp_pair pair;
    wk_regret regret = {0};
    double reward[4];
    wk_mdp_tight_pair(tight_slip, tight_gamma, &real, &model, reward);
    wk_mdp_pair_compare(&real, &model, &pair);
    wk_mdp_pair_regret(&pair, reward, &regret);
    return regret;
}

static void check_text(const wk_theory_results *r, wk_text *out)
{
    wk_table table = {0};
    int64_t instances = 0, violations = 0;
    wk_table_begin(&table, "lrrrrrrrrr", "family", "instances", "violated", "regret", "bound",
                   "reward-free\nbound", "regret /\nbound", "bound /\nreward-free", "lemma\nratio",
                   "identity\ngap");
    for (size_t i = 0; i < r->count; i++) {
        const wk_theory_check_numbers *f = &r->checks[i].total;
        wk_table_cell(&table, "%s", r->families[i]->domain.name);
        wk_table_cell(&table, "%" PRId64, f->instances);
        wk_table_cell(&table, "%" PRId64, f->violations);
        wk_table_cell(&table, "%.3f", f->regret);
        wk_table_cell(&table, "%.1f", f->bound);
        wk_table_cell(&table, "%.1f", f->reward_free);
        wk_table_cell(&table, "%.4f", f->regret_ratio);
        wk_table_cell(&table, "%.4f", f->bound_ratio);
        wk_table_cell(&table, "%.4f", f->lemma_ratio);
        wk_table_cell(&table, "%.1e", f->identity_gap);
        instances += f->instances;
        violations += f->violations;
    }
    wk_text_puts(out, "regret <= bound of Proposition 1 <= reward-free bound, and the Simulation "
                      "Lemma\n\n");
    wk_table_finish(&table, 0, out);
    wk_regret tight = tight_regret();
    wk_text_printf(
        out,
        "\n%" PRId64 " instance%s, %" PRId64
        " violated. Regret and bounds: maximum over θ and rewards, mean over worlds; ratios and\n"
        "gap: maximum over all instances. A pair constructed to be tight has regret / bound "
        "%.4f.\n",
        instances, wk_plural((uint64_t)instances), violations, tight.regret / tight.bound);
}

static void share_cell(wk_table *table, const wk_curricula_summary *s)
{
    if (isnan(s->share))
        wk_table_cell(table, "-");
    else
        wk_table_cell(table, "%.0f %% (%.0f to %.0f)", 100 * s->share, 100 * s->share_low,
                      100 * s->share_high);
}

static void comparison_text(const wk_theory_results *r, size_t i, wk_text *out)
{
    const wk_curricula_config *config = &r->comparisons[i].config;
    wk_table table = {0};
    wk_table_begin(&table, "lrrrrrr", r->families[i]->domain.name, "max regret\nat the end",
                   "\nin the run", "\nshare of the gain", "max bound\nat the end", "\nin the run",
                   "\nshare of the gain");
    for (int k = 0; k < WK_COMPARED; k++) {
        wk_table_cell(&table, "%s", wk_compared_name(k));
        static const wk_curricula_measure shown[] = {WK_MEASURE_MAX_REGRET, WK_MEASURE_MAX_BOUND};
        for (size_t m = 0; m < sizeof shown / sizeof *shown; m++) {
            const wk_curricula_summary *s = &r->summaries[i][shown[m]][k];
            wk_table_cell(&table, "%.3f", s->end);
            wk_table_cell(&table, "%.3f", s->run);
            share_cell(&table, s);
        }
    }
    if (i == 0)
        wk_text_printf(
            out,
            "Data by curricula: %d episode%s of %d step%s, %d seed%s, gamma %g, %s models, "
            "exploration by %s\n",
            config->episodes, wk_plural((uint64_t)config->episodes), config->steps,
            wk_plural((uint64_t)config->steps), config->seeds, wk_plural((uint64_t)config->seeds),
            config->gamma, config->shared ? "shared" : "separate",
            config->random ? "random actions" : "disagreement");
    wk_text_puts(out, "\n");
    wk_table_finish(&table, 0, out);
}

void wk_theory_text(const wk_theory_results *r, wk_text *out)
{
    if (r->checked) check_text(r, out);
    if (r->checked && r->compared) wk_text_puts(out, "\n");
    for (size_t i = 0; i < r->count && r->compared; i++)
        comparison_text(r, i, out);
    if (r->compared)
        wk_text_puts(
            out, "\nMaximum over θ (and rewards), mean over seeds. Share of the gain: 0 % as DR, "
                 "100 % as the oracle,\nin the mean over the run; in brackets 95 % bootstrap "
                 "intervals over seeds.\n-: the oracle's gain is not significant.\n");
}

static void check_json(const wk_theory_results *r, size_t i, wk_json *json)
{
    const wk_theory_check_numbers *f = &r->checks[i].total;
    wk_json_object(json, NULL);
    wk_json_string(json, "family", r->families[i]->domain.name);
    wk_json_unsigned(json, "worlds", r->checks[i].count);
    wk_json_integer(json, "instances", f->instances);
    wk_json_integer(json, "violations", f->violations);
    wk_json_number(json, "regret", f->regret);
    wk_json_number(json, "bound", f->bound);
    wk_json_number(json, "reward_free_bound", f->reward_free);
    wk_json_number(json, "regret_over_bound", f->regret_ratio);
    wk_json_number(json, "bound_over_reward_free_bound", f->bound_ratio);
    wk_json_number(json, "lemma_ratio", f->lemma_ratio);
    wk_json_number(json, "identity_gap", f->identity_gap);
    wk_json_close(json, '}');
}

static void measure_json(const wk_theory_results *r, size_t i, int curriculum, int measure,
                         wk_json *json)
{
    const wk_curricula *c = &r->comparisons[i];
    const wk_curricula_summary *s = &r->summaries[i][measure][curriculum];
    wk_json_object(json, wk_curricula_measure_name((wk_curricula_measure)measure));
    wk_json_number(json, "end", s->end);
    wk_json_number(json, "run", s->run);
    wk_json_number(json, "share_of_gain", s->share);
    wk_json_number(json, "share_low", s->share_low);
    wk_json_number(json, "share_high", s->share_high);
    static const char *const keys[] = {"mean", "sd"};
    for (int k = 0; k < 2; k++) {
        wk_json_array(json, keys[k]);
        for (int p = 0; p < WK_CURRICULA_POINTS; p++) {
            double both[2];
            wk_curricula_curve(c, curriculum, (wk_curricula_measure)measure, p, &both[0], &both[1]);
            wk_json_number(json, NULL, both[k]);
        }
        wk_json_close(json, ']');
    }
    wk_json_close(json, '}');
}

static void comparison_json(const wk_theory_results *r, size_t i, wk_json *json)
{
    const wk_curricula *c = &r->comparisons[i];
    wk_json_object(json, NULL);
    wk_json_string(json, "family", r->families[i]->domain.name);
    wk_json_number(json, "gamma", c->config.gamma);
    wk_json_integer(json, "seeds", c->config.seeds);
    wk_json_string(json, "exploration", c->config.random ? "random" : "disagreement");
    wk_json_string(json, "model", c->config.shared ? "shared" : "separate");
    wk_json_array(json, "steps");
    for (int p = 0; p < WK_CURRICULA_POINTS; p++)
        wk_json_integer(json, NULL, (int64_t)c->episodes[p] * c->config.steps);
    wk_json_close(json, ']');
    wk_json_object(json, "curricula");
    for (int k = 0; k < WK_COMPARED; k++) {
        wk_json_object(json, wk_compared_name(k));
        for (int m = 0; m < WK_MEASURES; m++)
            measure_json(r, i, k, m, json);
        wk_json_close(json, '}');
    }
    wk_json_close(json, '}');
    wk_json_close(json, '}');
}

void wk_theory_json(const wk_theory_results *r, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    wk_json_string(&json, "format", "waker-theory-1");
    wk_json_unsigned(&json, "seed", r->seed);
    wk_regret tight = tight_regret();
    wk_json_number(&json, "constructed_regret_over_bound", tight.regret / tight.bound);
    wk_json_array(&json, "check");
    for (size_t i = 0; i < r->count && r->checked; i++)
        check_json(r, i, &json);
    wk_json_close(&json, ']');
    wk_json_array(&json, "curricula");
    for (size_t i = 0; i < r->count && r->compared; i++)
        comparison_json(r, i, &json);
    wk_json_close(&json, ']');
    wk_json_close(&json, '}');
    wk_text_puts(out, "\n");
}
