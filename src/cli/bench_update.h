// How long one update of the learner takes, by part, and what memory it needs.
#ifndef WK_CLI_BENCH_UPDATE_H
#define WK_CLI_BENCH_UPDATE_H

#include "agent/learner.h"
#include "run/world.h"

enum { WK_UPDATE_PARTS_MAX = 16 };

/// One part of an update: a section of its graph.
typedef struct wk_update_part {
    char name[32];
    double seconds; // mean
} wk_update_part;

/// Times of one program.
typedef struct wk_update_times {
    double median, min; // seconds, with everything around the graph
    double graph;       // median of the graph alone
    wk_update_part parts[WK_UPDATE_PARTS_MAX];
    int part_count;
} wk_update_times;

/// What was measured.
typedef struct wk_update_speed {
    wk_update_times update; // reward-free, of all runs
    wk_update_times tasks;  // zero without tasks, and but for its graph with several runs
    double both;            // seconds, median: an update with its task update, as a run has them
    wk_device device;
    int threads, iters;
    double setup;             // seconds to build the networks and record the graphs
    wk_learner_memory memory; // of the device
    size_t resident;          // bytes, the peak of the whole process
} wk_update_speed;

/// What to measure.
typedef struct wk_update_bench {
    wk_learner_config config;
    int population; // runs that are updated together, at least 1; their seeds differ
    const char *device, *precision; // as wk_device_open takes them
    int threads, iters;
} wk_update_bench;

/// Updates a new learner `iters` times, after one warm-up, on synthetic batches; every batch is
/// copied to the device while the previous update runs, as in training.
wk_status wk_update_speed_measure(const wk_update_bench *bench, wk_update_speed *out,
                                  wk_error *err);

#endif
