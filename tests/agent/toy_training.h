// A small school for learning tests: ponds of the toy domain, the episodes collected there, and
// batches drawn from them. Everything follows from fixed seeds.
#ifndef WK_TESTS_TOY_TRAINING_H
#define WK_TESTS_TOY_TRAINING_H

#include "agent/acting.h"
#include "base/rng.h"
#include "env/toy.h"

enum {
    SCHOOL_STEPS = 20,              // of an episode
    SCHOOL_ROWS = SCHOOL_STEPS + 1, // its observations
    SCHOOL_PONDS = 8,               // episodes of a round, side by side
    SCHOOL_ACTIONS = 2,
    SCHOOL_TASKS = 2,
    SCHOOL_EPISODES = 512, // most that a school keeps
};

/// One observation: what a row of a batch needs, and where the boat really was.
typedef struct school_row {
    uint8_t image[WK_IMAGE_BYTES];
    float action[SCHOOL_ACTIONS]; // that led here
    float reward[SCHOOL_TASKS];
    double x, y;
} school_row;

/// An episode.
typedef struct school_episode {
    double turbulence;
    school_row rows[SCHOOL_ROWS];
} school_episode;

/// Episodes in the order they were collected.
typedef struct school {
    school_episode *episodes;
    int count;
    uint64_t seed;
} school;

school school_open(uint64_t seed);
void school_close(school *s);

/// Who rows: a policy of a learner, or, with `acting` NULL, `expert_task` (negative: random
/// actions).
typedef struct school_rower {
    wk_acting *acting;
    wk_act_mode mode;
    int expert_task;
} school_rower;

/// Random actions.
extern const school_rower school_random;

/// Collects SCHOOL_PONDS episodes with turbulences drawn uniformly from [low, high] by a grid of
/// 0.1. The same round of two schools with one seed begins at the same places.
void school_collect(school *s, school_rower rower, double low, double high);

/// Batches [T,B] of sequences from uniformly chosen episodes and starts; the same memory each time.
typedef struct school_batch {
    int length, size;
    uint8_t *images, *first;
    float *actions, *rewards;
    wk_learner_batch view;
} school_batch;
school_batch school_batch_open(int length, int size);
void school_batch_close(school_batch *batch);
void school_batch_draw(school_batch *batch, const school *s, wk_rng *rng);
/// Puts the first rows of episodes from, from+1, ... in the batch.
void school_batch_take(school_batch *batch, const school *s, int from);

/// Cells of a grid of side x side over the pond that episodes from, ..., count-1 have visited.
int school_cells(const school *s, int from, int side);

/// Mean reward of a task over all steps of episodes from, ..., count-1.
double school_score(const school *s, int from, int task);

#endif
