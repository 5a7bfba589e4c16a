// README.md of a folder for a model hub: the front matter that hubs read, then for people what the
// policies score, how to load them, how they were trained, and the hashes of the files. Everything
// that comes from files of a run is escaped.
#ifndef WK_REPORT_MODEL_CARD_H
#define WK_REPORT_MODEL_CARD_H

#include "report/data/runs.h"

/// A file beside the README.
typedef struct wk_card_file {
    const char *path; // in the folder
    const char *sha256;
} wk_card_file;

/// An episode to look at: replay-TASK.gif.
typedef struct wk_card_replay {
    const char *task, *theta; // "amplitude=0.5, length=1"
    const char *variant;      // the case that it is of
    uint64_t seed;            // of the evaluation
    double score;
} wk_card_replay;

/// All of it. Everything is borrowed.
typedef struct wk_card {
    const wk_run_config *config;
    const wk_domain *domain;
    const char *policy; // "adapted", "alongside", "finetuned"
    const char *name;   // of the adaptation or fine-tuning; NULL: none
    uint64_t step;
    bool own_licence; // LICENSE is not waker's
    bool compact;     // the weights are compact (wk_weights_write_compact)
    const wk_run_score *scores;
    size_t n_scores;
    const wk_card_replay *replays;
    size_t n_replays;
    bool has_mp4; // each is replay-TASK.mp4 too
    const wk_card_file *files;
    size_t n_files;
} wk_card;

void wk_card_text(const wk_card *card, wk_text *out);

#endif
