// A folder for a model hub: the policies of a run with what they score, a README.md that says so,
// and replays. It is laid out as a run, so that all that reads runs reads it.
#ifndef WK_REPORT_CARD_H
#define WK_REPORT_CARD_H

#include "log/status_line.h"
#include "report/runs.h"
#include "run/saved_run.h"

/// What to put where. All pointers are borrowed.
typedef struct wk_card_config {
    const char *run, *out;         // the run's directory, and the folder to create
    const char *policy;            // "adapted", "alongside", "finetuned"; NULL: what the run has
    const char *name;              // of the adaptation or fine-tuning; NULL: that without one
    int64_t step;                  // of the weights, or WK_STEP_LAST
    const char *licence;           // file; NULL: MIT, that of waker
    const char *device;            // NULL: the run's
    const wk_named_plugins *named; // plug-ins that may be loaded to play
    bool no_video;                 // no replays: no episode is played
    bool compact;                  // write the weights in 16 and 8 bits
    int threads;
    const wk_log *log;
    wk_progress_line *progress;
} wk_card_config;

/// What was made.
typedef struct wk_card_summary {
    char policy[16];
    uint64_t step;
    int action_repeat;
    size_t tasks, results, files;
} wk_card_summary;

/// Makes the folder. A folder that has anything in it is refused, but for what an interrupted call
/// left; a failed call leaves nothing behind.
wk_status wk_card_make(const wk_card_config *config, wk_card_summary *out, wk_error *err);

// README.md (card_readme.c).

/// A file of the folder, beside the README.
typedef struct wk_card_file {
    const char *path; // in the folder
    char sha256[65];
    bool compact; // weights that are written as compact ones
} wk_card_file;

/// An episode to look at: replay-TASK.gif.
typedef struct wk_card_replay {
    const char *task, *theta; // "amplitude=0.5, length=1"
    const char *set;          // the case that it is of
    uint64_t seed;            // of the evaluation
    double score;
} wk_card_replay;

/// What it says. Everything is borrowed.
typedef struct wk_card {
    const wk_run_config *config;
    const wk_domain *domain;
    const char *policy, *name;
    uint64_t step;
    bool own_licence; // LICENSE is not waker's
    bool compact;     // the weights are compact (wk_weights_write_compact)
    const wk_result *scores;
    size_t n_scores;
    const wk_card_replay *replays;
    size_t n_replays;
    bool has_mp4; // each is replay-TASK.mp4 too
    const wk_card_file *files;
    size_t n_files;
} wk_card;

/// Appends the front matter that hubs read, then for people what the policies score, how to load
/// them, how they were trained, and the hashes of the files. All that comes from files of a run is
/// escaped.
void wk_card_readme(const wk_card *card, wk_text *out);

#endif
