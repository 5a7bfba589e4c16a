// Training data for learning tests: environments of the toy domain, the episodes collected there,
// and batches sampled from them. Everything follows from fixed seeds.
#ifndef WK_TESTS_TOY_TRAINING_H
#define WK_TESTS_TOY_TRAINING_H

#include "agent/acting.h"
#include "base/random.h"
#include "env/domains/domains.h"

enum {
    TOY_STEPS = 20,           // of an episode
    TOY_ROWS = TOY_STEPS + 1, // its observations
    TOY_PONDS = 8,            // episodes of a round, side by side
    TOY_ACTIONS = 2,
    TOY_TASKS = 2,
    TOY_EPISODES = 512, // maximum that is kept
};

/// One observation: what a row of a batch needs, and where the boat really was.
typedef struct toy_data_row {
    uint8_t image[WK_IMAGE_BYTES];
    float action[TOY_ACTIONS]; // that led here
    float reward[TOY_TASKS];
    double x, y;
} toy_data_row;

/// An episode.
typedef struct toy_data_episode {
    double turbulence;
    toy_data_row rows[TOY_ROWS];
} toy_data_episode;

/// Episodes in the order they were collected.
typedef struct toy_data {
    toy_data_episode *episodes;
    int count;
    uint64_t seed;
} toy_data;

toy_data toy_data_open(uint64_t seed);
void toy_data_close(toy_data *s);

/// Who rows: a policy of a learner, or, with `acting` NULL, `expert_task` (negative: random
/// actions).
typedef struct toy_data_rower {
    wk_acting *acting;
    wk_act_mode mode;
    int expert_task;
} toy_data_rower;

/// Random actions.
extern const toy_data_rower toy_data_random;

/// Collects SCHOOL_PONDS episodes with turbulences drawn uniformly from [low, high] by a grid of
/// 0.1. The same round of two schools with one seed begins at the same places.
void toy_data_collect(toy_data *s, toy_data_rower rower, double low, double high);

/// Batches [T,B] of sequences from uniformly chosen episodes and starts; the same memory each time.
typedef struct toy_data_batch {
    int length, size;
    uint8_t *images, *first;
    float *actions, *rewards;
    wk_learner_batch view;
} toy_data_batch;
toy_data_batch toy_data_batch_open(int length, int size);
void toy_data_batch_close(toy_data_batch *batch);
void toy_data_batch_draw(toy_data_batch *batch, const toy_data *s, wk_rng *rng);
/// Copies the first rows of episodes from, from+1, ... in the batch.
void toy_data_batch_take(toy_data_batch *batch, const toy_data *s, int from);

/// Cells of a grid of side x side over the pond that episodes from, ..., count-1 have visited.
int toy_data_cells(const toy_data *s, int from, int side);

/// Mean reward of a task over all steps of episodes from, ..., count-1.
double toy_data_score(const toy_data *s, int from, int task);

#endif
