// What a world model imagines, next to what happened: sequences of which it sees the first frames
// and then only the actions. The training log, `waker openloop` and the videos of evaluations draw
// from here.
#ifndef WK_EVAL_OPEN_LOOP_H
#define WK_EVAL_OPEN_LOOP_H

#include "eval/evaluate.h"
#include "media/image.h"
#include "waker/env.h"

enum { WK_OPEN_LOOP_PARTS = 3 }; // truth, model, error

typedef struct wk_open_loop wk_open_loop;

/// For `count` sequences of `steps` frames of which the first `context` are seen. The learner is
/// borrowed.
wk_status wk_open_loop_create(wk_learner *learner, int count, int steps, int context,
                              wk_open_loop **out, wk_error *err);
/// NULL is allowed.
void wk_open_loop_destroy(wk_open_loop *loop);

/// The sequences, time-major, to be filled by the caller; zeros at first.
typedef struct wk_open_loop_input {
    uint8_t *images; // [T,B,64,64,3]; NULL without images
    float *vectors;  // [T,B,V]
    float *actions;  // [T,B,A], the one that led to the frame
    uint8_t *first;  // [T,B], nonzero where the state starts from zero
} wk_open_loop_input;
wk_open_loop_input wk_open_loop_get_input(wk_open_loop *loop);

/// Sets one frame of the input from what an evaluation saw; `begins`: without what came before.
void wk_open_loop_set_frame(wk_open_loop *loop, int step, int sequence, const wk_eval_row *row,
                            bool begins);

/// Imagines all sequences.
wk_status wk_open_loop_run(wk_open_loop *loop, wk_error *err);

/// Numbers of a vector that is seen and imagined, 0 without vectors; and what the model made of
/// that of one frame, [V].
int wk_open_loop_vector_size(const wk_open_loop *loop);
const float *wk_open_loop_vector(const wk_open_loop *loop, int step, int sequence);

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

/// A still for documents: every `every`-th frame of the sequences, one below the other, with θ
/// above each; the numbers of the frames on top, those that were seen in green.
wk_status wk_open_loop_strip(const wk_open_loop *loop, int every, const wk_open_loop_labels *labels,
                             wk_image *out, wk_error *err);

#endif
