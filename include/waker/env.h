// Environments: families of partially observed worlds ("underspecified POMDPs") whose parameters θ
// are chosen anew for every episode.
//
// Three objects are kept apart. A *domain* (wk_domain) is constant data plus functions: what θ
// means, which tasks there are, how to make a world. An *environment* (wk_env) is one running world
// of a domain. Its *state* can be saved into bytes and restored so that it continues bit for bit.
//
// Built-in domains and users' plug-ins implement the same struct wk_domain. What is common to all
// (checking θ and actions, counting steps, time limits, flags, the saved header) is done once by
// wk_env.
#ifndef WAKER_ENV_H
#define WAKER_ENV_H

#include "waker/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Version of struct wk_domain and of everything a plug-in sees. Raised with every incompatible
/// change.
#define WK_ENV_ABI 4u

enum {
    WK_IMAGE_SIDE = 64,           // the agent's image is WK_IMAGE_SIDE² RGB pixels
    WK_IMAGE_BYTES = 64 * 64 * 3, // uint8, row by row from the top, RGB interleaved
    WK_PARAMS_MAX = 8,            // max numbers in a θ
    WK_TASKS_MAX = 16,            // max tasks of a domain
    WK_ACTION_MAX = 32,           // max numbers in an action, or discrete actions
    WK_VECTOR_MAX = 4096,         // max numbers in a vector observation
    WK_OPTIONS_MAX = 16,          // max options of a domain
    WK_INDICATORS_MAX = 8,        // max indicators of a domain
    WK_CELLS_MAX = 64,            // max cells of an indicator that counts them
};

/// Max bytes of a saved state; the host's own part of them is less than 1,000.
#define WK_STATE_MAX ((size_t)1 << 28)

/// What `state_size` gives where a state cannot be saved.
#define WK_STATE_NONE SIZE_MAX

/// One number of θ. The default distribution lives on the grid min, min+step, ..., max.
typedef struct wk_param {
    const char *name;
    const char *help;
    double min, max, step;       // the training grid, ends included
    double legal_min, legal_max; // what reset accepts: cases may lie outside the training grid
    bool continuous;             // values between grid points make sense
} wk_param;

/// A reward function of the domain. Every step reports the reward of every task.
typedef struct wk_task {
    const char *name;    // [a-z0-9_-], but not all, none, explore or random
    const char *alias;   // another accepted name, or NULL
    bool has_completion; // the domain reports a completion in [0,1] for it
} wk_task;

/// A named set of θ outside the training distribution.
typedef struct wk_case {
    const char *name; // [a-z0-9_-], but not all, dr or train
    const char *help;
    int count;            // number of different θ
    const double *params; // [count, n_params]
    int episodes;         // episodes of an evaluation, spread evenly over the θ
    bool extra;           // not one of the paper's cases
} wk_case;

/// A switch of the domain. The value is an index into the choices; the first choice is the default.
typedef struct wk_option {
    const char *name;
    const char *choices; // separated by '|', for example "fixed|fresh"
    const char *help;
} wk_option;

/// How the values of an indicator at the steps of an episode become that of the episode.
typedef enum wk_indicator_kind {
    WK_INDICATOR_MEAN,  // over the steps; of values 0 and 1 the share of steps with a 1
    WK_INDICATOR_SUM,   // over the steps
    WK_INDICATOR_RANGE, // the largest value minus the smallest
    WK_INDICATOR_CELLS, // each value is the number of a cell; the share of the cells visited
} wk_indicator_kind;

/// A number that tells where the agent goes and what it touches. It is logged, never learned from.
typedef struct wk_indicator {
    const char *name;
    const char *help; // with its unit
    wk_indicator_kind kind;
    int cells; // of WK_INDICATOR_CELLS: how many there are, at most WK_CELLS_MAX
} wk_indicator;

/// What the agent sees after a step: an image, a vector of numbers, or both. Zero-initialised: the
/// image alone.
typedef struct wk_observation_spec {
    int vector;    // numbers of the vector, at most WK_VECTOR_MAX; 0: none
    bool no_image; // the vector is all it sees
} wk_observation_spec;

/// What one agent step of a domain reports; zeroed by the host before the call.
typedef struct wk_outcome {
    float rewards[WK_TASKS_MAX];         // per task, received on arriving
    float completion[WK_TASKS_MAX];      // per task with has_completion
    float indicators[WK_INDICATORS_MAX]; // of this step, NaN where the world has none; at a reset
                                         // they are not read
    bool terminal;  // the episode ends here, for good: no reward can follow. Needs ends_early
    bool diverged;  // the simulation broke down; the episode ends here, flagged
    bool truncated; // the episode ends here as by the time limit: its values are bootstrapped
} wk_outcome;

/// A callback after every control step of an agent step, while the state can be read.
typedef struct wk_step_watch {
    void (*seen)(void *context); // NULL: none
    void *context;
} wk_step_watch;

typedef struct wk_domain wk_domain;

/// Constant description and functions of a domain. Functions get the environment made by `create`;
/// they are called from one thread at a time per environment, from any thread, and never print or
/// exit.
struct wk_domain {
    uint32_t abi;     // WK_ENV_ABI
    uint32_t size;    // sizeof(wk_domain)
    const char *name; // [a-z0-9-]
    const char *summary;

    int n_params; // 1 to WK_PARAMS_MAX; a domain with a single world has a param with min = max
    const wk_param *params;
    int n_tasks;
    const wk_task *tasks;
    int n_cases;
    const wk_case *cases;
    int n_options;
    const wk_option *options;
    int n_indicators; // may be 0
    const wk_indicator *indicators;

    int action_size; // numbers of an action, each in [-1,1]; with `discrete`: how many there are
    bool discrete;   // actions are one-hot: one of `action_size` is chosen
    wk_observation_spec observation;
    int action_repeat; // simulator control steps per agent step (for counting frames)
    int episode_steps; // agent steps until the time limit
    bool ends_early;   // a step may report `terminal`; the world model then learns when it happens
    double step_seconds; // simulated time of one agent step

    const double *hardest; // θ of the hardest-environment oracle, [n_params]
    int n_complex;
    const double *most_complex; // θ of the re-weighting oracle, [n_complex, n_params]; uniform

    /// The default distribution: number of grid points, and point i with its probability (sum 1).
    /// Both NULL: every grid combination of the params that `check` accepts, equally likely.
    size_t (*grid_count)(void);
    void (*grid_point)(size_t i, double *theta, double *probability);

    /// Whether θ (already within legal_min...legal_max) is a world that can be made. NULL: every θ
    /// is.
    wk_status (*check)(const double *theta, wk_error *err);

    /// Makes a world. `options` has n_options choice indices. Nothing is simulated before reset.
    wk_status (*create)(const wk_domain *domain, const int *options, void **env, wk_error *err);
    void (*destroy)(void *env);

    /// Starts an episode. Everything random must come from (seed, episode) alone; the same
    /// arguments give the same episode whatever was simulated before. `out` gets the completion at
    /// the start; an episode must not be over there.
    wk_status (*reset)(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err);

    /// One agent step; `action` has action_size finite numbers within [-1,1], or is one-hot.
    void (*step)(void *env, const float *action, wk_outcome *out);

    /// Draws the current state, width x height RGB pixels. The observation is 64x64. May be NULL
    /// where the observation has no image: then nothing of the domain can be drawn.
    void (*render)(void *env, int width, int height, uint8_t *rgb);

    /// Writes the vector that is observed in the current state, [observation.vector] finite numbers
    /// of the order of 1. NULL where there is none. A number that is not finite counts as diverged.
    void (*observe)(void *env, float *vector);

    /// The bytes beyond (θ, seed, episode) that continue an episode exactly. `load` is called after
    /// reset with the saved θ, seed and episode; it must check `size` and refuse foreign bytes. A
    /// domain that cannot save its states has WK_STATE_NONE: neither is called, and the running
    /// episodes of a run that is resumed are cut off and new ones begin.
    size_t (*state_size)(const void *env);
    void (*save)(const void *env, void *bytes);
    wk_status (*load)(void *env, const void *bytes, size_t size, wk_error *err);

    /// Optional, for rewards that are written after the data was collected (waker/reward.h); a
    /// domain whose `size` ends before them has neither. `read` gives the numbers of the running
    /// episode's state called `name`, [*count]; they may change with every step and are gone with
    /// the next reset. NULL: there is nothing of that name.
    const double *(*read)(void *env, const char *name, int *count);
    /// Sets the callback of `step`, called after each of its control steps that did not break down.
    /// A domain without it is read once for each agent step.
    void (*watch)(void *env, const wk_step_watch *watch);
};

/// The one function a plug-in defines. Its result lives as long as the plug-in is loaded. A plug-in
/// calls nothing of waker: it needs these headers only.
typedef const wk_domain *wk_plugin_entry_fn(void);
#define WK_PLUGIN_SYMBOL "wk_plugin_entry"
__attribute__((visibility("default"))) const wk_domain *wk_plugin_entry(void);

/* ---- Domains: look-up and questions ---------------------------------------------------------- */

/// Number of built-in domains, and the i-th one.
size_t wk_domain_count(void);
const wk_domain *wk_domain_at(size_t i);

/// The built-in domain called `name`; the error names the nearest one.
wk_status wk_domain_find(const char *name, const wk_domain **out, wk_error *err);

/// A loaded plug-in. Keep it until every environment of its domain is destroyed.
typedef struct wk_plugin wk_plugin;

/// Loads the shared object at `path` and checks everything that can be checked without running it.
wk_status wk_plugin_load(const char *path, wk_plugin **out, wk_error *err);
const wk_domain *wk_plugin_domain(const wk_plugin *plugin);
void wk_plugin_unload(wk_plugin *plugin);

/// Checks a domain description (ABI, names, ranges, tables, function pointers). The first fault
/// found is the error.
wk_status wk_domain_check(const wk_domain *domain, wk_error *err);

/// Index of the task called `name` (or its alias); the error names the nearest one.
wk_status wk_domain_task(const wk_domain *domain, const char *name, int *task, wk_error *err);

/// The out-of-distribution case called `name`; the error names the nearest one.
wk_status wk_domain_case(const wk_domain *domain, const char *name, const wk_case **out,
                         wk_error *err);

/// Index of option `name` and of `choice` in it; errors name the nearest ones.
wk_status wk_domain_option(const wk_domain *domain, const char *name, const char *choice,
                           int *option, int *value, wk_error *err);

/// WK_E_UNSUPPORTED, with a message, for a domain that draws nothing.
wk_status wk_domain_check_drawable(const wk_domain *domain, wk_error *err);

/// Checks a θ of `count` numbers: length, finite, within the legal ranges, and the domain's own
/// rule.
wk_status wk_domain_check_params(const wk_domain *domain, const double *theta, size_t count,
                                 wk_error *err);

/* ---- The space of θ ------------------------------------------------------------------------- */

/// The default distribution of a domain as a table: every θ of the grid with its probability.
typedef struct wk_space wk_space;

/// With `continuous`, θ may lie between the grid's values wherever a param is continuous: the table
/// is 1,024 points of a Sobol set over the ranges, equally likely, that stand for the θ around
/// them. Refused for domains with a grid of their own or without a continuous param.
wk_status wk_space_create(const wk_domain *domain, bool continuous, wk_space **out, wk_error *err);
/// The `count` θ of a list, [count, n_params], equally likely, in place of the default
/// distribution. They need not lie on the grid; each must be a world that can be made.
wk_status wk_space_create_list(const wk_domain *domain, const double *thetas, size_t count,
                               wk_space **out, wk_error *err);
void wk_space_destroy(wk_space *space);
/// The domain that the space was made for (borrowed).
const wk_domain *wk_space_domain(const wk_space *space);
size_t wk_space_count(const wk_space *space);
/// θ number i, [n_params], and its probability under the default distribution.
const double *wk_space_params(const wk_space *space, size_t i);
double wk_space_probability(const wk_space *space, size_t i);
/// Whether θ between those of the table are possible.
bool wk_space_is_continuous(const wk_space *space);
/// The θ for uniform draws in [0,1): u[0] picks the point of the table. In a continuous space
/// u[1 + k] places param k in its range, and the point is the nearest one; a θ that cannot be made
/// is replaced by the point that u[0] picks. Returns the index of the point.
size_t wk_space_pick(const wk_space *space, const double *u, double *theta);
/// A θ around point number i: in a continuous space u[k] moves continuous param k by at most half
/// the distance between neighbouring points, within its range; else the point itself.
void wk_space_place(const wk_space *space, size_t i, const double *u, double *theta);
/// Draws θ from (seed, episode) by the stream "domain-randomisation"; returns the index of the grid
/// point.
size_t wk_space_sample(const wk_space *space, uint64_t seed, uint64_t episode, double *theta);
/// Index of the grid point equal to θ, or SIZE_MAX.
size_t wk_space_find(const wk_space *space, const double *theta);

/* ---- One environment ------------------------------------------------------------------------- */

/// Bits of a step's flags.
enum {
    WK_IS_FIRST = 1,    // the observation of a reset
    WK_IS_LAST = 2,     // the episode's last observation
    WK_IS_TERMINAL = 4, // ended by the domain, not by time: no value is bootstrapped from here
    WK_IS_DIVERGED = 8, // the simulation broke down; also WK_IS_LAST
};

/// Where reset and step write. Any pointer may be NULL: that output is not computed (a NULL image
/// saves the rendering).
typedef struct wk_frame {
    uint8_t *image;    // [64,64,3]
    float *rewards;    // [n_tasks]
    float *completion; // [n_tasks]; 0 for tasks without completion
    uint8_t *flags;    // [1], WK_IS_* bits
    float *vector;     // [observation.vector]
} wk_frame;

typedef struct wk_env wk_env;

/// Makes an environment; `options` has domain->n_options choices, NULL means the defaults.
wk_status wk_env_create(const wk_domain *domain, const int *options, wk_env **out, wk_error *err);
void wk_env_destroy(wk_env *env);
const wk_domain *wk_env_domain(const wk_env *env);

/// Starts the episode (θ, seed, episode).
wk_status wk_env_reset(wk_env *env, const double *theta, size_t count, uint64_t seed,
                       uint64_t episode, const wk_frame *out, wk_error *err);

/// One agent step. Numbers outside [-1,1] are clipped; a non-finite one, or a discrete action that
/// is not one-hot, is an error and nothing moves. Stepping before reset or after the last step is
/// an error.
wk_status wk_env_step(wk_env *env, const float *action, const wk_frame *out, wk_error *err);

/// θ of the running episode, and agent steps taken in it.
const double *wk_env_params(const wk_env *env);
int wk_env_steps(const wk_env *env);

/// Indicator k of the episode up to now. NaN: the world has none, no step was taken, or the episode
/// was loaded from a state that does not have it.
double wk_env_indicator(const wk_env *env, int k);

/// Draws the current state at any size up to 4096x4096. WK_E_UNSUPPORTED for a domain that draws
/// nothing.
wk_status wk_env_render(wk_env *env, int width, int height, uint8_t *rgb, wk_error *err);

/// Bytes a saved state takes (fixed between resets; 0 before the first), saving, and restoring. A
/// restored environment continues bit for bit. `load` accepts states of the same domain, options
/// and version only; foreign or damaged bytes are refused and the environment stays as it was. If
/// the domain itself refuses the state, the environment is without an episode and can be reset.
/// Where the domain saves no states, a restored environment is without an episode too.
size_t wk_env_state_size(const wk_env *env);
wk_status wk_env_save(const wk_env *env, void *bytes, size_t size, wk_error *err);
wk_status wk_env_load(wk_env *env, const void *bytes, size_t size, wk_error *err);

/* ---- Many environments ----------------------------------------------------------------------- */

/// N environments of one domain on a set of threads, writing straight into one batch. Results do
/// not depend on the number of threads.
typedef struct wk_vec wk_vec;

/// The batch that reset and step fill; owned by the vector, valid until its next call.
typedef struct wk_batch {
    uint8_t *images;   // [N,64,64,3]; NULL where the observation has no image
    float *rewards;    // [N,n_tasks]
    float *completion; // [N,n_tasks]
    uint8_t *flags;    // [N]
    float *vectors;    // [N,observation.vector]; NULL where it has no vector
} wk_batch;

/// `threads` 0: one per core. Environments differ only by what they are reset to.
wk_status wk_vec_create(const wk_domain *domain, const int *options, int count, int threads,
                        wk_vec **out, wk_error *err);
void wk_vec_destroy(wk_vec *vec);
int wk_vec_count(const wk_vec *vec);
wk_env *wk_vec_env(wk_vec *vec, int i);
const wk_batch *wk_vec_batch(const wk_vec *vec);

/// Asks environment i to begin a new episode at the next wk_vec_step, in place of its action. Must
/// be requested before the first step and after each WK_IS_LAST.
wk_status wk_vec_plan_reset(wk_vec *vec, int i, const double *theta, size_t count, uint64_t seed,
                            uint64_t episode, wk_error *err);

/// Leaves environment i as it is at the next wk_vec_step, its rows of the batch included; its
/// action is ignored. For environments that have no episode.
void wk_vec_plan_idle(wk_vec *vec, int i);

/// Steps (or resets) every environment; `actions` is [N, action_size]. The error of the
/// lowest-numbered environment is reported. Bad actions and missing resets are found before
/// anything moves.
wk_status wk_vec_step(wk_vec *vec, const float *actions, wk_error *err);

/// wk_vec_step in two halves: begin returns at once, the environments move on the other threads
/// until finish is called. `actions` must stay until then.
wk_status wk_vec_step_begin(wk_vec *vec, const float *actions, wk_error *err);
wk_status wk_vec_step_finish(wk_vec *vec, wk_error *err);

/// Episodes that ended by divergence since creation.
uint64_t wk_vec_diverged(const wk_vec *vec);

#ifdef __cplusplus
}
#endif
#endif
