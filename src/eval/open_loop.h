// What a world model imagines, next to what happened: sequences of which it sees the first frames
// and then only the actions. The training log, `waker openloop` and the videos of evaluations draw
// from here.
#ifndef WK_EVAL_OPEN_LOOP_H
#define WK_EVAL_OPEN_LOOP_H

#include "eval/episodes.h"
#include "log/status_line.h"
#include "media/image.h"
#include "waker/env.h"

enum { WK_OPEN_LOOP_PARTS = 3 }; // truth, model, error

/// Frames of sequences as a learner is shown them, time-major; zeros at first.
typedef struct wk_sequences {
    int count;            // B
    size_t width, vector; // numbers of an action, and of a vector
    uint8_t *images;      // [T,B,64,64,3]; NULL without images
    float *vectors;       // [T,B,V]
    float *actions;       // [T,B,A], the one that led to the frame
    uint8_t *first;       // [T,B], nonzero where the state starts from zero
} wk_sequences;

wk_status wk_sequences_create(wk_observation_spec observation, int action_size, int count,
                              int steps, wk_sequences *out, wk_error *err);
/// All zero is fine.
void wk_sequences_free(wk_sequences *sequences);
/// Sets one frame to what an evaluation saw; `begins`: without what came before.
void wk_sequences_set(wk_sequences *sequences, int step, int sequence, const wk_eval_row *row,
                      bool begins);
wk_learner_batch wk_sequences_batch(const wk_sequences *sequences);

typedef struct wk_open_loop wk_open_loop;

/// For `count` sequences of `steps` frames of which the first `context` are seen. The learner is
/// borrowed.
wk_status wk_open_loop_create(wk_learner *learner, int count, int steps, int context,
                              wk_open_loop **out, wk_error *err);
/// NULL is allowed.
void wk_open_loop_destroy(wk_open_loop *loop);

/// The sequences, to be filled by the caller.
wk_sequences *wk_open_loop_input(wk_open_loop *loop);

/// Imagines all sequences.
wk_status wk_open_loop_run(wk_open_loop *loop, wk_error *err);

/// Of images, which the functions from here on need: truth, model and (model - truth + 1) / 2 of
/// one frame.
void wk_open_loop_show(const wk_open_loop *loop, int step, int sequence,
                       uint8_t images[WK_OPEN_LOOP_PARTS][WK_IMAGE_BYTES]);

/// A clip as dreamer shows it: [steps] frames, owned by `loop` and drawn anew by each call, with
/// the sequences side by side; rows truth, model, error.
wk_status wk_open_loop_clip(wk_open_loop *loop, const wk_image **frames, wk_error *err);

/// What is written next to the images.
typedef struct wk_open_loop_labels {
    const char *params;        // names of the parameters: "amplitude, length"
    const char *const *thetas; // [count]: values of each sequence, "0.5, 1"
} wk_open_loop_labels;

/// Frame `step` of a clip with its number, the names of the rows, and θ above every sequence. `out`
/// is made by the first call; free it.
wk_status wk_open_loop_frame(const wk_open_loop *loop, int step, const wk_open_loop_labels *labels,
                             wk_image *out, wk_error *err);

// The open-loop error of a world model along the episodes that a policy makes: the model sees
// WK_OPEN_LOOP_ERRORS_CONTEXT frames, then only the actions, and what it imagines is compared with
// what happened, image and reward; then it sees as many again, and so on to the end of the episode.
// The first WK_OPEN_LOOP_ERRORS_EPISODES episodes of each case are judged. Numbers depend on the
// episodes alone.
enum {
    WK_OPEN_LOOP_ERRORS_CONTEXT = 5,
    WK_OPEN_LOOP_ERRORS_STEPS = 45, // imagined at most; episodes that are shorter allow fewer
    WK_OPEN_LOOP_ERRORS_EPISODES = 8,
};

/// Means over all that was imagined in a case, by how far ahead it was.
typedef struct wk_open_loop_error_curve {
    int steps; // imagined; 0: nothing was judged
    double
        image[WK_OPEN_LOOP_ERRORS_STEPS]; // mean squared error, of values in [-0.5,0.5]; NaN: none
    double reward[WK_OPEN_LOOP_ERRORS_STEPS]; // mean absolute error of the reward head
    double mean_image, mean_reward;           // over the steps; NaN where nothing was judged
} wk_open_loop_error_curve;

typedef struct wk_open_loop_errors wk_open_loop_errors;

/// For the learner's policy number `policy` of the domain's task number `task`.
wk_status wk_open_loop_errors_create(wk_learner *learner, const wk_domain *domain, int policy,
                                     int task, wk_open_loop_errors **out, wk_error *err);
/// NULL is allowed.
void wk_open_loop_errors_destroy(wk_open_loop_errors *errors);

wk_status wk_open_loop_errors_add(wk_open_loop_errors *errors, const wk_eval_row *row,
                                  wk_error *err);

/// Of a case, once all of its rows were added.
wk_open_loop_error_curve wk_open_loop_errors_curve(const wk_open_loop_errors *errors,
                                                   int case_index);

enum { WK_OPEN_LOOP_SEQUENCES = 6 };

/// What `waker openloop` shows of a run. Everything is borrowed; NULL is as without the option.
typedef struct wk_open_loop_question {
    const char *run;            // its directory
    const char *policy;         // "random", "explore" or a task
    const char *name;           // of an adaptation to the task
    int64_t step;               // of the weights; or WK_STEP_LAST
    const char *eval_case;      // where episodes are played
    int context, steps;         // frames that the model sees, and all of them, at most
    uint64_t seed;              // of the episodes
    const char *out;            // FILE.gif or FILE.mp4; FILE.csv where the domain has no images
    const char *plugin;         // whose code is loaded
    const char *device;         // as wk_weights_choice
    int threads;                // the same
    const wk_log *log;          // NULL: silent
    wk_progress_line *progress; // of frames; NULL: none
} wk_open_loop_question;

/// What was written: a clip and a still of images (FILE.png), a table of vectors (FILE.csv).
typedef struct wk_open_loop_files {
    char path[WK_PATH_MAX]; // the clip; the table where there are no images
    uint64_t step;          // of the weights
    int action_repeat;      // of the domain
    int steps;              // frames of a sequence
    wk_observation_spec observation;
} wk_open_loop_files;

/// Plays WK_OPEN_LOOP_SEQUENCES new episodes of a saved run, imagines them, and writes the files.
wk_status wk_open_loop_make(const wk_open_loop_question *question, wk_open_loop_files *out,
                            wk_error *err);

#endif
