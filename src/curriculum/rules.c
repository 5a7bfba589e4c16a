// The six rules of the paper and one for environments that are given, each a pure function from
// what is known to a distribution over θ.
#include "curriculum/rules.h"
#include "base/text.h"
#include "waker/curriculum.h"

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

// Mean and standard deviation of the error over a group's known θ.
static void error_moments(const wk_curriculum_view *view, int group, double *mean,
                          double *deviation)
{
    double sum = 0, squares = 0;
    size_t known = 0;
    for (size_t i = 0; i < view->count; i++)
        if (view->group[i] == group && !isnan(view->error[i])) sum += view->error[i], known++;
    *mean = known ? sum / (double)known : 0;
    for (size_t i = 0; i < view->count; i++)
        if (view->group[i] == group && !isnan(view->error[i]))
            squares += pow(view->error[i] - *mean, 2);
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

double wk_rule_temperature(const char *rule, double configured)
{
    if (configured > 0) return configured;
    return strcmp(rule, "waker-m") == 0 ? 1 : strcmp(rule, "waker-r") == 0 ? 0.5 : 0;
}

// Boltzmann over the known θ: probability ∝ weight · exp(score / η). `scores` become probabilities.
static bool boltzmann(const wk_curriculum_view *view, const double *values, double temperature,
                      double *scores)
{
    double highest = -INFINITY, sum = 0;
    for (size_t i = 0; i < view->count; i++)
        if (!isnan(values[i])) highest = fmax(highest, scores[i] / temperature);
    if (highest == -INFINITY) return false;
    double weight = 0;
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
        scores[i] = weight * exp(scores[i] / temperature - highest);
        sum += scores[i];
    }
    for (size_t i = 0; i < view->count; i++)
        scores[i] /= sum;
    return true;
}

static bool waker_m(const wk_curriculum_view *view, const wk_curriculum_config *config,
                    double *probability)
{
    for (int g = 0; g < view->groups; g++) {
        double mean, deviation;
        error_moments(view, g, &mean, &deviation);
        for (size_t i = 0; i < view->count; i++)
            if (view->group[i] == g) probability[i] = (view->error[i] - mean) / (deviation + 1e-6);
    }
    return boltzmann(view, view->error, wk_rule_temperature("waker-m", config->temperature),
                     probability);
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

// One of the oracles' own distributions.
static bool as_given(const wk_curriculum_view *view, const double *given, double *probability)
{
    memcpy(probability, given, view->count * sizeof *probability);
    return true;
}

static bool hardest(const wk_curriculum_view *view, const wk_curriculum_config *config,
                    double *probability)
{
    (void)config;
    return as_given(view, view->hardest, probability);
}

static bool reweighting(const wk_curriculum_view *view, const wk_curriculum_config *config,
                        double *probability)
{
    (void)config;
    return as_given(view, view->most_complex, probability);
}

static bool none(const wk_curriculum_view *view, const wk_curriculum_config *config,
                 double *probability)
{
    (void)view, (void)config, (void)probability;
    return false;
}

static const wk_curriculum_rule rules[] = {
    {WK_CURRICULUM_ABI, "dr", "domain randomisation: the default distribution", 100000, none,
     false},
    {WK_CURRICULUM_ABI, "waker-m", "where the model's error is large", 100000, waker_m, false},
    {WK_CURRICULUM_ABI, "waker-r", "where the model's error is falling", 100000, waker_r, false},
    {WK_CURRICULUM_ABI, "ge", "gradually expanding: mostly what was seen before", 500,
     gradually_expanding, false},
    {WK_CURRICULUM_ABI, "he-oracle", "always the hardest environment", 500, hardest, true},
    {WK_CURRICULUM_ABI, "rw-oracle", "mostly the most complex environments", 500, reweighting,
     false},
    // The space of such a run is its list of θ, so the default distribution is the whole rule.
    {WK_CURRICULUM_ABI, "fixed", "the environments of curriculum.theta, equally often", 100000,
     none, false},
};
enum { RULES = sizeof rules / sizeof *rules };

size_t wk_curriculum_rule_count(void)
{
    return RULES;
}

const wk_curriculum_rule *wk_curriculum_rule_at(size_t i)
{
    return &rules[i];
}

wk_status wk_curriculum_rule_find(const char *name, const wk_curriculum_rule **out, wk_error *err)
{
    const char *names[RULES];
    for (size_t i = 0; i < RULES; i++) {
        names[i] = rules[i].name;
        if (strcmp(rules[i].name, name) != 0) continue;
        *out = &rules[i];
        return WK_OK;
    }
    return wk_fail_unknown(err, "curriculum", name, names, RULES);
}
