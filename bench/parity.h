// The same data, batches and initial weights for two programs that train a world model: ours
// (bench_parity train) and JAX's (bench/peer/jax_parity.py). docs/results.md says how they are
// compared.
//
// Files of a folder of data, all numbers little-endian:
//   frames.u8     [rows,64,64,3] images of all episodes, one episode behind the other
//   actions.f32   [rows,A] the action that led to each
//   episodes.u32  [E+1] first row of each episode; the last number is `rows`
//   config.yaml   the configuration of the run they come from
// Files of a folder of a plan:
//   config.yaml            the configuration to train with
//   weights.safetensors    initial weights
//   plan.u32               parity_header, then first rows of held-out sequences [sequences] and of
//                          the sequences of each batch [updates,batch]
#ifndef WK_BENCH_PARITY_H
#define WK_BENCH_PARITY_H

#include "config/config.h"
#include <stdint.h>

/// A folder of data, mapped into memory. Zero-initialise; close it also after a failed open.
typedef struct parity_data {
    const uint8_t *frames;
    const float *actions;
    const uint32_t *episodes;
    size_t rows, count; // count: episodes
    int action_size;
    struct {
        void *bytes;
        size_t size;
    } maps[3];
} parity_data;

/// Writes the episodes of a run's newest checkpoint to `directory`.
wk_status parity_data_write(const char *run, const char *directory, wk_error *err);
wk_status parity_data_open(const char *directory, parity_data *out, wk_error *err);
void parity_data_close(parity_data *data);

/// The numbers at the beginning of plan.u32.
typedef struct parity_header {
    uint32_t updates, batch, length; // of training
    uint32_t sequences;              // held out
    uint32_t together;               // of them predicted at once; divides `sequences`
    uint32_t frames, context;        // of each sequence, and of them seen before open loop
} parity_header;

typedef struct parity_plan {
    parity_header header;
    wk_run_config config;
    uint32_t *numbers;         // the file
    const uint32_t *held;      // [sequences]
    const uint32_t *sequences; // [updates,batch]
} parity_plan;

/// What a plan is made from.
typedef struct parity_choice {
    const wk_run_config *config;
    uint32_t updates, sequences, frames, context;
    double held_out; // share of the episodes, the newest, that are not trained on
} parity_choice;

/// Draws batches and held-out sequences, and writes the plan to `directory`.
wk_status parity_plan_write(const parity_data *data, const parity_choice *choice,
                            const char *directory, wk_error *err);
/// Zero-initialise `out`; close it also after a failed open. Refuses a plan of other data.
wk_status parity_plan_open(const char *directory, const parity_data *data, parity_plan *out,
                           wk_error *err);
void parity_plan_close(parity_plan *plan);

/// How to train.
typedef struct parity_training {
    const parity_data *data;
    const parity_plan *plan;
    const char *plan_directory; // of the initial weights
    const char *directory;      // for metrics.jsonl, losses.jsonl and horizon.jsonl
    const char *device, *precision;
    uint32_t updates, every; // at most so many; measured every so many
} parity_training;

wk_status parity_train(const parity_training *training, wk_error *err);

#endif
