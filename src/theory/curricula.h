// The paper's claim on finite MDPs: curricula collect data in the environments of a family, one
// tabular world model for each θ, and what counts is the regret in the worst of them. All curricula
// of a seed meet the same worlds and the same rewards, explore in the same way and differ only in
// which θ they visit. DR, WAKER-M and WAKER-R are the program's own rules, with the paper's
// constants as shares of a run; the oracle sees the model's true error.
#ifndef WK_THEORY_CURRICULA_H
#define WK_THEORY_CURRICULA_H

#include "base/pool.h"
#include "theory/family.h"

typedef struct wk_curricula_config {
    const wk_family *family;
    double gamma;
    int episodes, steps; // episodes of a run, steps of an episode
    int rewards;         // random rewards for every θ
    int seeds;           // worlds, each collected from by every curriculum
    int members;         // of the ensembles
    bool random;         // explore by random actions instead of by disagreement
    bool shared;         // the models of θ of one size have a parent: they generalise over noise
    uint64_t seed;
    // Called by any thread of the pool (0 is the caller's) when one of `total` runs is done; NULL:
    // not.
    void (*progress)(void *context, size_t total, int thread);
    void *context;
} wk_curricula_config;

/// The default: exploration by disagreement.
#define WK_CURRICULA_DEFAULT                                                                       \
    {                                                                                              \
        .gamma = 0.95, .episodes = 2000, .steps = 20, .rewards = 20, .seeds = 20, .members = 10    \
    }

/// The curricula that are compared.
enum {
    WK_COMPARE_DR,
    WK_COMPARE_WAKER_M,
    WK_COMPARE_WAKER_R,
    WK_COMPARE_WAKER_M_TRUE,  // WAKER-M with the true error in place of the estimate
    WK_COMPARE_WAKER_M_KNOWN, // the same, and the error is known also of θ not visited yet
    WK_COMPARE_ORACLE,        // always the θ with the largest true error, all known
    WK_COMPARED
};
const char *wk_compared_name(int curriculum);

/// What a model is worth after some data; the maximum is over θ and, of the regret, rewards.
typedef struct wk_curricula_point {
    double max_regret, mean_regret; // mean over θ and rewards
    double max_bound;               // of the reward-free bounds
} wk_curricula_point;

enum { WK_CURRICULA_POINTS = 13 };

typedef struct wk_curricula {
    wk_curricula_config config;
    wk_space *space;                   // the θ, owned
    int episodes[WK_CURRICULA_POINTS]; // collected at each point, rising by about √2
    wk_curricula_point *points;        // [curricula,seeds,points], owned
    uint64_t *visits;                  // [curricula,θ], episodes of all seeds, owned
} wk_curricula;

/// Runs the comparison. The results do not depend on the number of threads.
wk_status wk_curricula_run(const wk_curricula_config *config, wk_pool *pool, wk_curricula *out,
                           wk_error *err);
void wk_curricula_free(wk_curricula *comparison);

const wk_curricula_point *wk_curricula_at(const wk_curricula *comparison, int curriculum, int seed,
                                          int point);

/// Which number of a point.
typedef enum wk_curricula_measure {
    WK_MEASURE_MAX_REGRET,
    WK_MEASURE_MEAN_REGRET,
    WK_MEASURE_MAX_BOUND,
    WK_MEASURES
} wk_curricula_measure;
extern const char *const wk_curricula_measures[WK_MEASURES]; // names

/// A curriculum's number at a point, mean and standard deviation over the seeds.
void wk_curricula_curve(const wk_curricula *comparison, int curriculum,
                        wk_curricula_measure measure, int point, double *mean, double *sd);

/// A curriculum in one number.
typedef struct wk_curricula_summary {
    double end;                   // mean over seeds after the last episode
    double run;                   // mean over seeds and the points of the run
    double share;                 // (DR - this) / (DR - oracle) of `run`: 0 as DR, 1 as the oracle
    double share_low, share_high; // 95 % bootstrap over the seeds; all three NaN where less than
                                  // 97.5 % of the resamples have the oracle better than DR
} wk_curricula_summary;

wk_status wk_curricula_summarise(const wk_curricula *comparison, wk_curricula_measure measure,
                                 wk_curricula_summary out[WK_COMPARED], wk_error *err);

#endif
