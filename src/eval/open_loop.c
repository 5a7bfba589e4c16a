#include "eval/open_loop.h"

#include "agent/prediction.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = WK_IMAGE_SIDE, PARTS = WK_OPEN_LOOP_PARTS, GAP = 1, WHITE = 0xFFFFFF };

struct wk_open_loop {
    wk_prediction *prediction;
    int count, steps, context;
    size_t width;  // numbers of an action
    size_t vector; // of a vector
    wk_open_loop_input input;
    float *imagined;  // [T,B,64,64,3] around zero; NULL without images
    float *vectors;   // [T,B,V] imagined
    wk_image *frames; // [T], from the first clip on
};

static wk_status build(wk_open_loop *l, wk_learner *learner, wk_error *err)
{
    size_t rows = (size_t)l->steps * (size_t)l->count;
    // Refuses sizes that make no sense, before they are memory.
    WK_TRY(wk_prediction_create(learner, l->count, l->steps, l->context, &l->prediction, err));
    bool has_images = !wk_learner_get_config(learner)->observation.no_image;
    if (has_images) {
        l->input.images = calloc(rows, WK_IMAGE_BYTES);
        l->imagined = calloc(rows * WK_IMAGE_BYTES, sizeof *l->imagined);
    }
    l->input.vectors = calloc(rows * l->vector + 1, sizeof *l->input.vectors);
    l->vectors = calloc(rows * l->vector + 1, sizeof *l->vectors);
    l->input.actions = calloc(rows * l->width, sizeof *l->input.actions);
    l->input.first = calloc(rows, 1);
    bool drawn = !has_images || (l->input.images && l->imagined);
    if (drawn && l->input.vectors && l->vectors && l->input.actions && l->input.first) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for %zu imagined frames", rows);
}

wk_status wk_open_loop_create(wk_learner *learner, int count, int steps, int context,
                              wk_open_loop **out, wk_error *err)
{
    wk_open_loop *l = calloc(1, sizeof *l);
    if (!l) return wk_fail(err, WK_E_MEMORY, "no memory for imagined frames");
    l->count = count;
    l->steps = steps;
    l->context = context;
    l->width = (size_t)wk_learner_get_config(learner)->action_size;
    l->vector = (size_t)wk_learner_get_config(learner)->observation.vector;
    wk_status status = build(l, learner, err);
    if (status != WK_OK) {
        wk_open_loop_destroy(l);
        return status;
    }
    *out = l;
    return WK_OK;
}

void wk_open_loop_destroy(wk_open_loop *l)
{
    if (!l) return;
    wk_prediction_destroy(l->prediction);
    free(l->input.images);
    free(l->input.vectors);
    free(l->vectors);
    free(l->input.actions);
    free(l->input.first);
    free(l->imagined);
    for (int t = 0; t < l->steps && l->frames; t++)
        wk_image_free(&l->frames[t]);
    free(l->frames);
    free(l);
}

wk_open_loop_input wk_open_loop_get_input(wk_open_loop *l)
{
    return l->input;
}

static size_t row_of(const wk_open_loop *l, int step, int sequence)
{
    assert(step >= 0 && step < l->steps && sequence >= 0 && sequence < l->count);
    return (size_t)step * (size_t)l->count + (size_t)sequence;
}

void wk_open_loop_set_frame(wk_open_loop *l, int step, int sequence, const wk_eval_row *seen,
                            bool begins)
{
    size_t row = row_of(l, step, sequence), numbers = l->vector;
    if (l->input.images)
        memcpy(l->input.images + row * WK_IMAGE_BYTES, seen->image, WK_IMAGE_BYTES);
    if (numbers > 0)
        memcpy(l->input.vectors + row * numbers, seen->vector, numbers * sizeof *seen->vector);
    for (size_t i = 0; i < l->width; i++)
        l->input.actions[row * l->width + i] = begins ? 0 : seen->action[i];
    l->input.first[row] = begins;
}

int wk_open_loop_vector_size(const wk_open_loop *l)
{
    return (int)l->vector;
}

const float *wk_open_loop_vector(const wk_open_loop *l, int step, int sequence)
{
    return l->vectors + row_of(l, step, sequence) * l->vector;
}

wk_status wk_open_loop_run(wk_open_loop *l, wk_error *err)
{
    wk_learner_batch batch = {.images = l->input.images,
                              .vectors = l->input.vectors,
                              .actions = l->input.actions,
                              .first = l->input.first};
    wk_predicted out = {.open_loop = l->imagined, .open_vectors = l->vectors};
    return wk_prediction_run(l->prediction, &batch, &out, err);
}

static uint8_t pixel(float value)
{
    float scaled = roundf(value * 255);
    return (uint8_t)(scaled < 0 ? 0 : scaled > 255 ? 255 : scaled);
}

void wk_open_loop_show(const wk_open_loop *l, int step, int sequence,
                       uint8_t images[PARTS][WK_IMAGE_BYTES])
{
    size_t at = row_of(l, step, sequence) * WK_IMAGE_BYTES;
    for (size_t i = 0; i < WK_IMAGE_BYTES; i++) {
        float model = fminf(fmaxf(l->imagined[at + i] + 0.5f, 0), 1);
        images[0][i] = l->input.images[at + i];
        images[1][i] = pixel(model);
        images[2][i] = pixel((model - (float)l->input.images[at + i] / 255 + 1) / 2);
    }
}

// The three images of a frame, one below the other.
static void draw_column(const wk_open_loop *l, int step, int sequence, wk_image *onto, int x, int y)
{
    uint8_t images[PARTS][WK_IMAGE_BYTES];
    wk_open_loop_show(l, step, sequence, images);
    for (int r = 0; r < PARTS; r++) {
        wk_image part = {SIDE, SIDE, images[r]};
        wk_image_paste(onto, &part, x, y + r * (SIDE + GAP), 1);
    }
}

static wk_status make_frames(wk_open_loop *l, wk_error *err)
{
    if (!l->frames) l->frames = calloc((size_t)l->steps, sizeof *l->frames);
    if (!l->frames) return wk_fail(err, WK_E_MEMORY, "no memory for a clip");
    for (int t = 0; t < l->steps; t++)
        if (!l->frames[t].rgb)
            WK_TRY(wk_image_create(l->count * (SIDE + GAP) - GAP, PARTS * (SIDE + GAP) - GAP, WHITE,
                                   &l->frames[t], err));
    return WK_OK;
}

wk_status wk_open_loop_clip(wk_open_loop *l, const wk_image **frames, wk_error *err)
{
    WK_TRY(make_frames(l, err));
    for (int t = 0; t < l->steps; t++)
        for (int b = 0; b < l->count; b++)
            draw_column(l, t, b, &l->frames[t], b * (SIDE + GAP), 0);
    *frames = l->frames;
    return WK_OK;
}

enum { MARGIN = 4, LINE = 12, INK = 0x404040, SEEN = 0x107010, FAINT = 0x707070 };

static const char *const row_names[PARTS] = {"truth", "model", "error"};

// Room for the names of the rows.
static int names_width(void)
{
    int widest = 0;
    for (int r = 0; r < PARTS; r++) {
        int width = wk_image_text_width(row_names[r]);
        widest = width > widest ? width : widest;
    }
    return widest + 2 * MARGIN;
}

static void draw_names(wk_image *out, int y, int side)
{
    for (int r = 0; r < PARTS; r++)
        wk_image_text(out, MARGIN, y + r * (side + GAP) + (side - LINE) / 2, INK, row_names[r]);
}

enum { SCALE = 2, LARGE = SCALE * SIDE };

// Lines of the longest θ where each keeps to the width of its sequence.
static int theta_lines(const wk_open_loop *l, const wk_open_loop_labels *labels)
{
    int max = 1;
    for (int b = 0; b < l->count; b++) {
        int lines = wk_image_text_lines(NULL, 0, 0, LARGE - MARGIN, LINE, FAINT, labels->thetas[b]);
        max = lines > max ? lines : max;
    }
    return max;
}

wk_status wk_open_loop_frame(const wk_open_loop *l, int step, const wk_open_loop_labels *labels,
                             wk_image *out, wk_error *err)
{
    int left = names_width(), top = (1 + theta_lines(l, labels)) * LINE + MARGIN;
    int width = left + l->count * (LARGE + GAP);
    bool seen = step < l->context;
    char title[800];
    if (!out->rgb) WK_TRY(wk_image_create(width, top + PARTS * (LARGE + GAP), WHITE, out, err));
    wk_image_fill(out, 0, 0, out->width, out->height, WHITE);
    snprintf(title, sizeof title, "frame %d, %s; above each: %s", step, seen ? "seen" : "imagined",
             labels->params);
    wk_image_text(out, MARGIN, MARGIN, seen ? SEEN : INK, title);
    draw_names(out, top, LARGE);
    for (int b = 0; b < l->count; b++) {
        uint8_t images[PARTS][WK_IMAGE_BYTES];
        int x = left + b * (LARGE + GAP);
        wk_image_text_lines(out, x, LINE + MARGIN, LARGE - MARGIN, LINE, FAINT, labels->thetas[b]);
        wk_open_loop_show(l, step, b, images);
        for (int r = 0; r < PARTS; r++)
            wk_image_paste(out, &(wk_image){SIDE, SIDE, images[r]}, x, top + r * (LARGE + GAP),
                           SCALE);
    }
    return WK_OK;
}

wk_status wk_open_loop_strip(const wk_open_loop *l, int every, const wk_open_loop_labels *labels,
                             wk_image *out, wk_error *err)
{
    int columns = (l->steps + every - 1) / every, left = names_width(), head = LINE + 2 * MARGIN;
    int block = LINE + MARGIN + PARTS * (SIDE + GAP) + MARGIN;
    WK_TRY(
        wk_image_create(left + columns * (SIDE + GAP), head + l->count * block, WHITE, out, err));
    wk_image_text(out, MARGIN, MARGIN, INK, "frame");
    for (int i = 0; i < columns; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i * every);
        wk_image_text(out, left + i * (SIDE + GAP) + MARGIN, MARGIN,
                      i * every < l->context ? SEEN : INK, number);
    }
    for (int b = 0; b < l->count; b++) {
        char title[800];
        int y = head + b * block;
        snprintf(title, sizeof title, "%s = %s", labels->params, labels->thetas[b]);
        wk_image_text(out, left, y, FAINT, title);
        draw_names(out, y + LINE + MARGIN, SIDE);
        for (int i = 0; i < columns; i++)
            draw_column(l, i * every, b, out, left + i * (SIDE + GAP), y + LINE + MARGIN);
    }
    return WK_OK;
}
