// The six rules of the paper and one for environments that are given, each a pure function from
// what is known to a distribution over θ. Curricula of other papers are in published_rules.c.
#include "curriculum/rules.h"
#include "base/text.h"
#include "waker/curriculum.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// A θ takes part in a choice once the number that the choice goes by is known of it: `values` are
// those numbers, NaN where there is none yet.

// Weight of a group's entries: the smaller groups count as if repeated up to the size of the
// largest, so that no domain of a combined space is favoured by its size. The authors repeat
// entries at random; this is the expectation of that.
static double group_weight(const wk_curriculum_view *view, const double *values, int group)
{
    size_t max = 0, own = 0;
    for (int g = 0; g < view->groups; g++) {
        size_t known = 0;
        for (size_t i = 0; i < view->count; i++)
            known += view->group[i] == g && !isnan(values[i]);
        if (known > max) max = known;
        if (g == group) own = known;
    }
    return own ? (double)max / (double)own : 0;
}

// Mean and standard deviation of the values over a group's known θ.
static void moments(const wk_curriculum_view *view, const double *values, int group, double *mean,
                    double *deviation)
{
    double sum = 0, squares = 0;
    size_t known = 0;
    for (size_t i = 0; i < view->count; i++)
        if (view->group[i] == group && !isnan(values[i])) sum += values[i], known++;
    *mean = known ? sum / (double)known : 0;
    for (size_t i = 0; i < view->count; i++)
        if (view->group[i] == group && !isnan(values[i])) squares += pow(values[i] - *mean, 2);
    *deviation = known ? sqrt(squares / (double)known) : 0;
}

// Mean absolute reduction over a group's known θ.
static double reduction_scale(const wk_curriculum_view *view, int group)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < view->count; i++)
        if (view->group[i] == group && !isnan(view->reduction[i]))
            sum += fabs(view->reduction[i]), known++;
    return known ? sum / (double)known : 0;
}

// Boltzmann over the known θ: probability ∝ weight · exp(score / η). `scores` become probabilities.
// Where score / η overflows, the difference to the highest score is divided instead: the limit of
// a small η, all of the probability on the highest scores.
static bool boltzmann(const wk_curriculum_view *view, const double *values, double temperature,
                      double *scores)
{
    assert(temperature > 0);
    double highest = -INFINITY, sum = 0;
    for (size_t i = 0; i < view->count; i++)
        if (!isnan(values[i])) highest = fmax(highest, scores[i]);
    if (highest == -INFINITY) return false;
    double top = highest / temperature, weight = 0;
    int weighed = -1; // the group that `weight` belongs to
    for (size_t i = 0; i < view->count; i++) {
        if (isnan(values[i])) {
            scores[i] = 0;
            continue;
        }
        if (view->group[i] != weighed) {
            weighed = view->group[i];
            weight = group_weight(view, values, weighed);
        }
        double exponent =
            isfinite(top) ? scores[i] / temperature - top : (scores[i] - highest) / temperature;
        scores[i] = weight * exp(exponent);
        sum += scores[i];
    }
    for (size_t i = 0; i < view->count; i++)
        scores[i] /= sum;
    return true;
}

void wk_rule_normalise(const wk_curriculum_view *view, const double *values, double *out)
{
    for (int g = 0; g < view->groups; g++) {
        double mean, deviation;
        moments(view, values, g, &mean, &deviation);
        for (size_t i = 0; i < view->count; i++)
            if (view->group[i] == g) out[i] = (values[i] - mean) / (deviation + 1e-6);
    }
}

bool wk_rule_by_magnitude(const wk_curriculum_view *view, const double *values, double temperature,
                          double *probability)
{
    wk_rule_normalise(view, values, probability);
    return boltzmann(view, values, temperature, probability);
}

static bool waker_m(const wk_curriculum_view *view, const wk_curriculum_config *config,
                    double *probability)
{
    double temperature = wk_rule_temperature("waker-m", config->temperature);
    return wk_rule_by_magnitude(view, view->error, temperature, probability);
}

static bool waker_r(const wk_curriculum_view *view, const wk_curriculum_config *config,
                    double *probability)
{
    if (!view->has_reduction) return false;
    for (int g = 0; g < view->groups; g++) {
        double scale = reduction_scale(view, g);
        for (size_t i = 0; i < view->count; i++)
            if (view->group[i] == g) probability[i] = scale > 0 ? view->reduction[i] / scale : 0;
    }
    return boltzmann(view, view->reduction, wk_rule_temperature("waker-r", config->temperature),
                     probability);
}

// The default distribution restricted to the θ visited so far.
static bool gradually_expanding(const wk_curriculum_view *view, const wk_curriculum_config *config,
                                double *probability)
{
    (void)config;
    double sum = 0;
    for (size_t i = 0; i < view->count; i++) {
        probability[i] = view->visits[i] > 0 ? view->dr[i] : 0;
        sum += probability[i];
    }
    for (size_t i = 0; i < view->count; i++)
        probability[i] /= sum > 0 ? sum : 1;
    return sum > 0;
}

static bool hardest(const wk_curriculum_view *view, const wk_curriculum_config *config,
                    double *probability)
{
    (void)config;
    memcpy(probability, view->hardest, view->count * sizeof *probability);
    return true;
}

static bool reweighting(const wk_curriculum_view *view, const wk_curriculum_config *config,
                        double *probability)
{
    (void)config;
    memcpy(probability, view->most_complex, view->count * sizeof *probability);
    return true;
}

static bool none(const wk_curriculum_view *view, const wk_curriculum_config *config,
                 double *probability)
{
    (void)view, (void)config, (void)probability;
    return false;
}

#define PAPER "the paper"
static const wk_builtin_rule rules[] = {
    {.rule = {RULE("dr"), .summary = "domain randomisation: the default distribution",
              .distribution = none, .formula = "p = p_DR", .source = PAPER}},
    {.rule = {RULE("waker-m"), .summary = "where the model's error is large",
              .distribution = waker_m, .formula = "p ∝ exp(z(δ̄)/η), z over the known θ, η = 1",
              .source = PAPER},
     .temperature = 1},
    {.rule = {RULE("waker-r"), .summary = "where the model's error is falling",
              .distribution = waker_r, .formula = "p ∝ exp(Δ̄/mean|Δ̄|/η), η = 0.5", .source = PAPER},
     .temperature = 0.5},
    {.rule = {RULE("ge"), .summary = "gradually expanding: mostly what was seen before",
              .prefill = 500, .distribution = gradually_expanding,
              .formula = "p ∝ p_DR over the visited θ", .source = PAPER}},
    {.rule = {RULE("he-oracle"), .summary = "always the hardest environment", .prefill = 500,
              .distribution = hardest, .always = true, .formula = "p(hardest) = 1",
              .source = PAPER}},
    {.rule = {RULE("rw-oracle"), .summary = "mostly the most complex environments", .prefill = 500,
              .distribution = reweighting, .formula = "p uniform over the most complex θ",
              .source = PAPER}},
    // The space of such a run is its list of θ, so the default distribution is the whole rule.
    {.rule = {RULE("fixed"), .summary = "the environments of curriculum.theta, equally often",
              .distribution = none, .formula = "p uniform over curriculum.theta", .source = "-"}},
};
enum { RULES = sizeof rules / sizeof *rules };

size_t wk_curriculum_rule_count(void)
{
    return RULES + wk_published_rule_count;
}

static const wk_builtin_rule *row_at(size_t i)
{
    return i < RULES ? &rules[i] : &wk_published_rules[i - RULES];
}

const wk_curriculum_rule *wk_curriculum_rule_at(size_t i)
{
    return &row_at(i)->rule;
}

double wk_rule_temperature(const char *rule, double configured)
{
    double own = 0;
    for (size_t i = 0; i < wk_curriculum_rule_count(); i++)
        if (strcmp(row_at(i)->rule.name, rule) == 0) own = row_at(i)->temperature;
    return configured > 0 ? configured : own;
}

wk_status wk_curriculum_rule_find(const char *name, const wk_curriculum_rule **out, wk_error *err)
{
    enum { MAX = 64 };
    const char *names[MAX];
    size_t count = wk_curriculum_rule_count();
    assert(count <= MAX);
    for (size_t i = 0; i < count; i++) {
        const wk_curriculum_rule *rule = wk_curriculum_rule_at(i);
        names[i] = rule->name;
        if (strcmp(rule->name, name) != 0) continue;
        *out = rule;
        return WK_OK;
    }
    return wk_fail_unknown(err, "curriculum", name, names, count);
}
