// Curricula that other papers proposed, and baselines. They use the same error buffer and loop as
// the paper's rules; each row of the table at the end names its formula, its source and what it
// needs. Most published scores are a policy's regret; a reward-free run has the world model's error
// in its place, as reported (δ) or measured in episodes.
#include "curriculum/rules.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECENT = 8,     // episodes that TRACED credits with an improvement
    PARENTS = 16,   // θ that ACCEL edits
    NEIGHBOURS = 8, // nearest θ that an edit leads to
};
static const double STALENESS = 0.1;   // PLR's ρ: share of the choice by age
static const double RANK_POWER = 1;    // PLR's 1/β
static const double EDIT_SHARE = 0.5;  // of ACCEL's choice
static const double NCC_RATE = 0.1;    // step of the adversary
static const double CREDIT_RATE = 0.1; // moving average of co-learnability
static const double SFL_RATE = 0.2;    // moving average of success
static const size_t SFL_PART = 10;     // the best tenth of the known θ

// Scores of θ, kept in the rule's state.

// The state of most rules: a score for each θ, NaN while it has none.
static size_t scores_size(const wk_curriculum_view *view)
{
    return view->count * sizeof(double);
}

static void scores_begin(const wk_curriculum_view *view, void *state)
{
    for (size_t i = 0; i < view->count; i++)
        ((double *)state)[i] = NAN;
}

// The score of a θ is the mean of what the last report has about it.
static void score_report(const wk_curriculum_view *view, const wk_curriculum_config *config,
                         const size_t *index, const float *delta, size_t count, void *state)
{
    (void)config;
    double *score = state, *sum = view->scratch, *weight = sum + view->count;
    for (size_t i = 0; i < count; i++)
        sum[index[i]] = weight[index[i]] = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(delta[i])) continue;
        sum[index[i]] += (double)delta[i];
        weight[index[i]]++;
    }
    for (size_t i = 0; i < count; i++)
        if (weight[index[i]] > 0) score[index[i]] = sum[index[i]] / weight[index[i]];
}

// The score of a θ is the model's error in its last episode.
static void score_episode(const wk_curriculum_view *view, const wk_curriculum_config *config,
                          const wk_curriculum_episode *episode, void *state)
{
    (void)view, (void)config;
    if (isfinite(episode->model_error)) ((double *)state)[episode->index] = episode->model_error;
}

static bool disagreement(const wk_curriculum_view *view, const wk_curriculum_config *config,
                         double *probability)
{
    return wk_rule_by_magnitude(
        view, view->state, wk_rule_temperature("disagreement", config->temperature), probability);
}

static bool uniform(const wk_curriculum_view *view, const wk_curriculum_config *config,
                    double *probability)
{
    (void)config;
    for (size_t i = 0; i < view->count; i++)
        probability[i] = 1.0 / (double)view->count;
    return true;
}

// Prioritized level replay.

typedef struct ranked {
    double score;
    size_t index;
} ranked;

static int by_score(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

_Static_assert(sizeof(ranked) == 2 * sizeof(double), "half of the scratch holds them all");

// The known θ, the highest score first, in the second half of the scratch.
static ranked *rank_known(const wk_curriculum_view *view, const double *score, size_t *known)
{
    ranked *rows = (ranked *)(void *)(view->scratch + 2 * view->count);
    *known = 0;
    for (size_t i = 0; i < view->count; i++)
        if (isfinite(score[i])) rows[(*known)++] = (ranked){score[i], i};
    qsort(rows, *known, sizeof *rows, by_score);
    return rows;
}

// (1 - ρ) of the choice by rank of the score, ρ by how long ago a θ was visited.
static bool replay_by_rank(const wk_curriculum_view *view, const double *score, double *probability)
{
    size_t known;
    double ranks = 0, ages = 0;
    ranked *rows = rank_known(view, score, &known);
    for (size_t r = 0; r < known; r++) {
        ranks += pow((double)(r + 1), -RANK_POWER);
        ages += (double)(view->episodes - view->last_visit[rows[r].index]);
    }
    for (size_t r = 0; r < known; r++) {
        size_t i = rows[r].index;
        double by_rank = pow((double)(r + 1), -RANK_POWER) / ranks;
        double age = (double)(view->episodes - view->last_visit[i]);
        double by_age = ages > 0 ? age / ages : by_rank;
        probability[i] = (1 - STALENESS) * by_rank + STALENESS * by_age;
    }
    return known > 0;
}

static bool plr(const wk_curriculum_view *view, const wk_curriculum_config *config,
                double *probability)
{
    (void)config;
    return replay_by_rank(view, view->state, probability);
}

// ACCEL: edits of what is replayed.

// Squared distance of two θ, each parameter in units of its range.
static double distance(const wk_curriculum_view *view, size_t a, size_t b)
{
    size_t n = (size_t)view->domain->n_params;
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        const wk_param *p = &view->domain->params[k];
        double range = p->max > p->min ? p->max - p->min : 1;
        double d = (view->theta[a * n + k] - view->theta[b * n + k]) / range;
        sum += d * d;
    }
    return sum;
}

// Spreads `share` evenly over the θ of the same group that are nearest to `parent`.
static void spread_edits(const wk_curriculum_view *view, size_t parent, double share,
                         double *probability)
{
    ranked nearest[NEIGHBOURS];
    size_t found = 0;
    for (size_t i = 0; i < view->count; i++) {
        if (i == parent || view->group[i] != view->group[parent]) continue;
        double d = distance(view, parent, i);
        if (found == NEIGHBOURS && d >= nearest[found - 1].score) continue;
        size_t at = found < NEIGHBOURS ? found++ : found - 1;
        for (; at > 0 && nearest[at - 1].score > d; at--)
            nearest[at] = nearest[at - 1];
        nearest[at] = (ranked){d, i};
    }
    for (size_t i = 0; i < found; i++)
        probability[nearest[i].index] += share / (double)found;
    if (found == 0) probability[parent] += share;
}

static bool accel(const wk_curriculum_view *view, const wk_curriculum_config *config,
                  double *probability)
{
    if (!plr(view, config, probability)) return false;
    size_t known;
    ranked *rows = rank_known(view, view->state, &known);
    double chosen = 0;
    size_t parents = known < PARENTS ? known : PARENTS;
    for (size_t r = 0; r < parents; r++)
        chosen += rows[r].score = probability[rows[r].index];
    for (size_t i = 0; i < view->count; i++)
        probability[i] *= 1 - EDIT_SHARE;
    for (size_t r = 0; r < parents; r++)
        spread_edits(view, rows[r].index, EDIT_SHARE * rows[r].score / chosen, probability);
    return true;
}

// SFL: learnability.

// Moving averages of every task's success and of its square, and the episodes in them.
typedef struct success {
    double *mean, *square; // [count,tasks]
    double *episodes;      // [count]
} success;

static success success_of(const wk_curriculum_view *view, const void *state)
{
    size_t cells = view->count * (size_t)view->domain->n_tasks;
    double *first = (double *)state;
    return (success){first, first + cells, first + 2 * cells};
}

static size_t success_size(const wk_curriculum_view *view)
{
    return view->count * (2 * (size_t)view->domain->n_tasks + 1) * sizeof(double);
}

static void note_success(const wk_curriculum_view *view, const wk_curriculum_config *config,
                         const wk_curriculum_episode *episode, void *state)
{
    (void)config;
    success s = success_of(view, state);
    size_t tasks = (size_t)view->domain->n_tasks, at = episode->index * tasks;
    if (episode->steps == 0 || episode->diverged) return;
    double rate = fmax(SFL_RATE, 1 / (1 + s.episodes[episode->index]));
    for (size_t k = 0; k < tasks; k++) {
        double value = view->domain->tasks[k].has_completion
                           ? (double)episode->completion[k]
                           : (double)episode->returns[k] / episode->steps;
        s.mean[at + k] += rate * (value - s.mean[at + k]);
        s.square[at + k] += rate * (value * value - s.square[at + k]);
    }
    s.episodes[episode->index]++;
}

// p(1 - p) of tasks with a completion; without any, the variance of returns, which two episodes
// have. NaN: not known.
static double learnability(const wk_curriculum_view *view, const success *s, size_t i)
{
    size_t tasks = (size_t)view->domain->n_tasks, completing = 0;
    double sum = 0, spread = 0;
    for (size_t k = 0; k < tasks; k++) {
        double p = s->mean[i * tasks + k];
        spread += fmax(0, s->square[i * tasks + k] - p * p);
        if (!view->domain->tasks[k].has_completion) continue;
        sum += p * (1 - p);
        completing++;
    }
    if (s->episodes[i] < (completing > 0 ? 1 : 2)) return NAN;
    return completing > 0 ? sum / (double)completing : spread / (double)tasks;
}

static bool sfl(const wk_curriculum_view *view, const wk_curriculum_config *config,
                double *probability)
{
    (void)config;
    success s = success_of(view, view->state);
    size_t known, best;
    for (size_t i = 0; i < view->count; i++)
        probability[i] = learnability(view, &s, i);
    ranked *rows = rank_known(view, probability, &known);
    memset(probability, 0, view->count * sizeof *probability);
    best = (known + SFL_PART - 1) / SFL_PART;
    while (best > 0 && rows[best - 1].score <= 0)
        best--;
    for (size_t r = 0; r < best; r++)
        probability[rows[r].index] = 1.0 / (double)best;
    return best > 0;
}

// NCC: an adversary over θ.

// The state: logarithms of its distribution y. A step of mirror ascent on Σ y s + η·entropy(y),
// implicit in the entropy, so that every η is stable.
static void ascend(const wk_curriculum_view *view, const wk_curriculum_config *config,
                   const wk_curriculum_episode *episode, void *state)
{
    (void)episode;
    double *log_y = state, *score = view->scratch, highest = -INFINITY, sum = 0;
    double temperature = wk_rule_temperature("ncc", config->temperature);
    assert(temperature > 0);
    wk_rule_normalise(view, view->error, score);
    for (size_t i = 0; i < view->count; i++) {
        double s = isnan(score[i]) ? 0 : score[i]; // not known: as the mean
        log_y[i] = (log_y[i] + NCC_RATE * s) / (1 + NCC_RATE * temperature);
        highest = fmax(highest, log_y[i]);
    }
    for (size_t i = 0; i < view->count; i++)
        sum += exp(log_y[i] - highest);
    for (size_t i = 0; i < view->count; i++)
        log_y[i] -= highest + log(sum);
}

static void ncc_begin(const wk_curriculum_view *view, void *state)
{
    for (size_t i = 0; i < view->count; i++)
        ((double *)state)[i] = -log((double)view->count);
}

static bool ncc(const wk_curriculum_view *view, const wk_curriculum_config *config,
                double *probability)
{
    (void)config;
    const double *log_y = view->state;
    double sum = 0;
    bool known = false;
    for (size_t i = 0; i < view->count; i++) {
        known |= !isnan(view->error[i]);
        sum += probability[i] = exp(log_y[i]);
    }
    for (size_t i = 0; i < view->count; i++)
        probability[i] /= sum;
    return known;
}

// TRACED: transition error with co-learnability.

// What visits of a θ did for the others, and the θ of the last episodes.
typedef struct traced_state {
    double *score, *credit; // [count]; the score is the model's error
    uint64_t *recent, *noted;
} traced_state;

static traced_state traced_of(const wk_curriculum_view *view, const void *state)
{
    double *score = (double *)state, *credit = score + view->count;
    uint64_t *recent = (void *)(credit + view->count);
    return (traced_state){score, credit, recent, recent + RECENT};
}

static size_t traced_size(const wk_curriculum_view *view)
{
    return 2 * view->count * sizeof(double) + (RECENT + 1) * sizeof(uint64_t);
}

// An error that fell is credited to the θ of the episodes before.
static void trace(const wk_curriculum_view *view, const wk_curriculum_config *config,
                  const wk_curriculum_episode *episode, void *state)
{
    traced_state t = traced_of(view, state);
    if (!isfinite(episode->model_error)) return;
    double gain = t.score[episode->index] - episode->model_error;
    for (uint64_t k = 0; k < RECENT && k < *t.noted && !isnan(gain); k++) {
        if (t.recent[k] >= view->count || t.recent[k] == episode->index) continue;
        double *credit = &t.credit[t.recent[k]];
        *credit += CREDIT_RATE * (gain - *credit);
    }
    t.recent[(*t.noted)++ % RECENT] = episode->index;
    score_episode(view, config, episode, state);
}

static bool traced(const wk_curriculum_view *view, const wk_curriculum_config *config,
                   double *probability)
{
    (void)config;
    traced_state t = traced_of(view, view->state);
    double *both = view->scratch, *credit = both + view->count;
    wk_rule_normalise(view, t.score, both);
    wk_rule_normalise(view, t.credit, credit);
    for (size_t i = 0; i < view->count; i++)
        both[i] += credit[i];
    return replay_by_rank(view, both, probability);
}

#define SCORES .state_size = scores_size, .begin = scores_begin

const wk_builtin_rule wk_published_rules[] = {
    {.rule = {RULE("uniform"), .summary = "every environment of the table equally often",
              .distribution = uniform, .always = true, .formula = "p = 1/count", .source = "-"}},
    {.rule = {RULE("disagreement"),
              .summary = "where the newest error estimate is large, without smoothing",
              .distribution = disagreement,
              .formula = "p ∝ exp(z(δ)/η), δ of the last update that has θ, η = 1",
              .source = "waker-m without its moving average", SCORES, .reported = score_report},
     .temperature = 1},
    {.rule = {RULE("true-error"), .summary = "an oracle: where the next images are predicted worst",
              .distribution = disagreement,
              .formula = "p ∝ exp(z(e)/η), e of the last episode at θ, η = 1",
              .source = "the error that δ estimates", .needs = WK_NEEDS_MODEL_ERROR, SCORES,
              .ended = score_episode},
     .temperature = 1},
    {.rule = {RULE("plr"),
              .summary = "prioritized level replay: by rank of the error, and what is stale",
              .distribution = plr,
              .formula =
                  "p = 0.9 P_rank + 0.1 P_stale, P_rank ∝ 1/rank(δ), P_stale ∝ episodes since",
              .source = "Jiang et al. 2021a (score: δ for the value loss)", .needs = WK_NEEDS_TIMES,
              SCORES, .reported = score_report}},
    {.rule = {RULE("plr-robust"), .summary = "plr that learns from replayed environments alone",
              .distribution = plr, .curated = true,
              .formula = "plr with e for δ; episodes from p_DR are scored, never learned from",
              .source = "Jiang et al. 2021b", .needs = WK_NEEDS_TIMES | WK_NEEDS_MODEL_ERROR,
              SCORES, .ended = score_episode}},
    {.rule = {RULE("accel"), .summary = "plr, and small edits of what it replays",
              .distribution = accel,
              .formula =
                  "p = 0.5 PLR + 0.5 E, E: the 8 nearest θ of the 16 best, in proportion to PLR",
              .source = "Parker-Holder et al. 2022", .needs = WK_NEEDS_TIMES, SCORES,
              .reported = score_report}},
    {.rule =
         {RULE("sfl"), .summary = "where success is most uncertain: sampling for learnability",
          .distribution = sfl,
          .formula =
              "p uniform over the tenth with the largest s(1 - s), s: completion; without tasks "
              "that complete, the variance of returns",
          .source = "Rutherford et al. 2024", .needs = WK_NEEDS_RETURNS, .state_size = success_size,
          .ended = note_success}},
    {.rule = {RULE("ncc"),
              .summary = "an adversary over θ that ascends the error, held back by its entropy",
              .distribution = ncc,
              .formula = "each episode: log p ← (log p + 0.1 z(δ̄)) / (1 + 0.1 η) + constant, η = 1",
              .source = "after Monette et al. 2025 (score: δ̄ for regret)",
              .state_size = scores_size, .begin = ncc_begin, .ended = ascend},
     .temperature = 1},
    {.rule = {RULE("traced"),
              .summary = "where transitions are predicted badly and practice helps elsewhere",
              .distribution = traced,
              .formula =
                  "plr by rank of z(e) + z(c), c: how much e fell elsewhere after episodes at θ",
              .source = "after Cho et al. 2025 (without the value loss)",
              .needs = WK_NEEDS_TIMES | WK_NEEDS_MODEL_ERROR, .state_size = traced_size,
              .begin = scores_begin, .ended = trace}},
};
const size_t wk_published_rule_count = sizeof wk_published_rules / sizeof *wk_published_rules;
