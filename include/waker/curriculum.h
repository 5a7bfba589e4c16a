// Curricula: which environment parameters θ the next episode gets.
//
// A rule sees what is known about every θ of the table (its numbers, error estimate, reduction,
// visits, the default probability) and says how likely each should be. It may keep a state of its
// own, which changes only when errors are reported or an episode has ended, and is saved with the
// run. Everything else, the error buffer, the draws, saving, is done once by wk_curriculum. A
// user's rule is the same struct, in the program or exported by a plug-in.
#ifndef WAKER_CURRICULUM_H
#define WAKER_CURRICULUM_H

#include "waker/env.h"
#include "waker/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Version of the structs a plug-in rule sees.
#define WK_CURRICULUM_ABI 2u

/// The numbers of the paper; shared by all rules.
typedef struct wk_curriculum_config {
    double dr_probability;    // share of episodes from the default distribution
    double temperature;       // η of the Boltzmann choice; 0 means the rule's own (1 or 0.5)
    double error_decay;       // δ̄ <- decay δ̄ + (1 - decay) δ
    double reduction_decay;   // Δ̄ <- decay Δ̄ + (1 - decay) Δ
    uint64_t reduction_start; // steps before the reduction is first measured
    uint64_t reduction_every; // steps between measurements
    uint64_t seed;
} wk_curriculum_config;

/// The defaults of the keys curriculum.* ('waker config' lists them), and seed 0.
wk_curriculum_config wk_curriculum_config_default(void);

/// What a rule sees: arrays over the θ of the space's table, in its order. In a continuous space
/// the table's points stand for the θ around them: the error there is read off a regression over
/// all θ that were reported, visits are those of the nearest point.
typedef struct wk_curriculum_view {
    size_t count;
    const double *dr;        // probability under the default distribution
    const double *error;     // δ̄, NaN while a θ has none
    const double *reduction; // Δ̄, NaN while a θ has none
    const uint64_t *visits;  // episodes begun
    const int *group;        // domain of the θ in a combined space; 0 in plain ones
    int groups;
    bool has_reduction;         // a first Δ̄ exists
    const double *hardest;      // how the hardest-environment oracle draws, sums to 1; 0 where the
                                // table does not have its θ, as in a continuous space
    const double *most_complex; // the same for the re-weighting oracle
    // Since version 2.
    const wk_domain *domain; // its parameters and tasks
    const double *theta;     // [count, domain->n_params]
    uint64_t episodes;       // begun so far
    // For rules with WK_NEEDS_TIMES, else 0 and NULL.
    uint64_t steps;             // agent steps collected
    const uint64_t *last_visit; // `episodes` as the last one there had begun; 0: none
    // For rules with a state, else NULL.
    const void *state;
    double *scratch; // [4*count], for the length of a call
} wk_curriculum_view;

/// What a rule needs besides errors and visits; combined with |. A run that cannot deliver it is
/// refused at its start.
enum {
    WK_NEEDS_TIMES = 1,       // view.steps and view.last_visit
    WK_NEEDS_RETURNS = 2,     // returns and completion of episodes: a domain with tasks
    WK_NEEDS_MODEL_ERROR = 4, // error of the model's next-image predictions in episodes
    WK_NEEDS_ALL = 7,
};

/// How an episode went. Arrays are borrowed for the call.
typedef struct wk_curriculum_episode {
    uint64_t episode; // its number
    size_t index;     // of θ in the table
    const double *theta;
    int steps;                         // agent steps
    const float *returns, *completion; // [domain->n_tasks]
    double model_error; // mean squared error of predicted next images; NaN: not measured
    bool diverged;
} wk_curriculum_episode;

/// A rule for choosing θ.
typedef struct wk_curriculum_rule {
    uint32_t abi;
    const char *name; // [a-z0-9-], at most 63 characters, not that of a built-in rule
    const char *summary;
    // Agent steps of random actions before training, where the rule has its own number; 0: that of
    // the domain or preset. Of a built-in rule its block sets it (--configs RULE); that of a
    // plug-in is the default of a run that sets none.
    int prefill;
    /// Writes the rule's own distribution (sums to 1) and returns true, or returns false when it
    /// has none yet: the episode then comes from the default distribution. NULL where only the
    /// rule's description is known: the distribution that was saved with the state is used instead.
    bool (*distribution)(const wk_curriculum_view *view, const wk_curriculum_config *config,
                         double *probability);
    bool always; // no episodes from the default distribution once the rule has its own
    // Since version 2; all of it may be 0.
    bool curated; // episodes from the default distribution are scored, never learned from
    const char *formula, *source; // for people: how θ is chosen, and who proposed it
    unsigned needs;               // WK_NEEDS_...
    /// Bytes of the rule's own state: plain memory, zeroed, without pointers.
    size_t (*state_size)(const wk_curriculum_view *view);
    /// Fills it in before the first episode. NULL: zeros are right.
    void (*begin)(const wk_curriculum_view *view, void *state);
    /// Called after error estimates were reported (wk_curriculum_report); some may not be finite.
    void (*reported)(const wk_curriculum_view *view, const wk_curriculum_config *config,
                     const size_t *index, const float *delta, size_t count, void *state);
    /// Called when an episode has ended.
    void (*ended)(const wk_curriculum_view *view, const wk_curriculum_config *config,
                  const wk_curriculum_episode *episode, void *state);
} wk_curriculum_rule;

/// The built-in rules; 'waker curriculum --rules' explains them.
size_t wk_curriculum_rule_count(void);
const wk_curriculum_rule *wk_curriculum_rule_at(size_t i);
/// The rule called `name`; the error names the nearest one.
wk_status wk_curriculum_rule_find(const char *name, const wk_curriculum_rule **out, wk_error *err);

/// The function a plug-in with a rule exports (and the program does not define).
__attribute__((visibility("default"))) const wk_curriculum_rule *wk_plugin_curriculum(void);
#define WK_CURRICULUM_PLUGIN_SYMBOL "wk_plugin_curriculum"

typedef struct wk_curriculum wk_curriculum;

/// A curriculum over the θ of `space` (both borrowed), which must be a space of `domain`.
wk_status wk_curriculum_create(const wk_curriculum_rule *rule, const wk_domain *domain,
                               const wk_space *space, const wk_curriculum_config *config,
                               wk_curriculum **out, wk_error *err);
void wk_curriculum_destroy(wk_curriculum *curriculum);

/// Chooses θ of episode number `episode`, counts the visit, and gives its index in the space. The
/// draw depends on (seed, episode) and on what was reported before, on nothing else. While
/// `prefill` is set the default distribution is used. Fails when the rule's numbers are not a
/// distribution.
wk_status wk_curriculum_next(wk_curriculum *curriculum, uint64_t episode, bool prefill,
                             double *theta, size_t *index, wk_error *err);

/// Feeds error estimates back: delta[i] of a trajectory that began in an episode of θ number
/// index[i]. Refuses all of them if a number is not finite or an index is not one of the space's,
/// and everything in a continuous space.
wk_status wk_curriculum_report(wk_curriculum *curriculum, const size_t *index, const float *delta,
                               size_t count, wk_error *err);
/// The same for training, which cannot stop for one estimate: numbers that are not finite are left
/// out and counted. A continuous space learns from the θ themselves, [count, n_params]; others
/// take NULL.
void wk_curriculum_report_at(wk_curriculum *curriculum, const double *thetas, const size_t *index,
                             const float *delta, size_t count);

/// Whether the episode that wk_curriculum_next chose last is to be learned from; false for those of
/// a curated rule that came from the default distribution, but for the prefill's.
bool wk_curriculum_learns(const wk_curriculum *curriculum);

/// Reports how an episode went.
void wk_curriculum_end_episode(wk_curriculum *curriculum, const wk_curriculum_episode *episode);

/// Reports how many environment steps have been collected; the reductions of WAKER-R are measured
/// here.
void wk_curriculum_advance(wk_curriculum *curriculum, uint64_t steps);

/// The probability of every θ for the next episode: what wk_curriculum_next draws from; the default
/// distribution where that fails. [count]
void wk_curriculum_distribution(const wk_curriculum *curriculum, double *probability);

/// What is known about the θ; valid until the next call that changes the curriculum.
wk_curriculum_view wk_curriculum_get_view(const wk_curriculum *curriculum);
const wk_curriculum_rule *wk_curriculum_get_rule(const wk_curriculum *curriculum);
/// Reported estimates that were not finite.
uint64_t wk_curriculum_ignored(const wk_curriculum *curriculum);

/// The whole state as bytes; load refuses those of another space or rule.
size_t wk_curriculum_state_size(const wk_curriculum *curriculum);
void wk_curriculum_save(const wk_curriculum *curriculum, void *bytes);
wk_status wk_curriculum_load(wk_curriculum *curriculum, const void *bytes, size_t size,
                             wk_error *err);

#ifdef __cplusplus
}
#endif
#endif
