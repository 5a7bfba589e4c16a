#include "eval/open_loop.h"

#include "agent/prediction.h"
#include "base/file.h"
#include "media/animation.h"
#include "run/saved_run.h"
#include "run/weights.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SIDE = WK_IMAGE_SIDE, PARTS = WK_OPEN_LOOP_PARTS, GAP = 1, WHITE = 0xFFFFFF };

wk_status wk_sequences_create(wk_observation_spec observation, int action_size, int count,
                              int steps, wk_sequences *out, wk_error *err)
{
    size_t rows = (size_t)steps * (size_t)count;
    *out = (wk_sequences){
        .count = count, .width = (size_t)action_size, .vector = (size_t)observation.vector};
    if (!observation.no_image) out->images = calloc(rows, WK_IMAGE_BYTES);
    out->vectors = calloc(rows * out->vector + 1, sizeof *out->vectors);
    out->actions = calloc(rows * out->width, sizeof *out->actions);
    out->first = calloc(rows, 1);
    if ((out->images || observation.no_image) && out->vectors && out->actions && out->first)
        return WK_OK;
    wk_sequences_free(out);
    return wk_fail(err, WK_E_MEMORY, "no memory for %zu frames of episodes", rows);
}

void wk_sequences_free(wk_sequences *s)
{
    free(s->images);
    free(s->vectors);
    free(s->actions);
    free(s->first);
    *s = (wk_sequences){0};
}

void wk_sequences_set(wk_sequences *s, int step, int sequence, const wk_eval_row *row, bool begins)
{
    size_t at = (size_t)step * (size_t)s->count + (size_t)sequence;
    if (s->images) memcpy(s->images + at * WK_IMAGE_BYTES, row->image, WK_IMAGE_BYTES);
    if (s->vector > 0)
        memcpy(s->vectors + at * s->vector, row->vector, s->vector * sizeof *row->vector);
    for (size_t i = 0; i < s->width; i++)
        s->actions[at * s->width + i] = begins ? 0 : row->action[i];
    s->first[at] = begins;
}

wk_learner_batch wk_sequences_batch(const wk_sequences *s)
{
    return (wk_learner_batch){
        .images = s->images, .vectors = s->vectors, .actions = s->actions, .first = s->first};
}

struct wk_open_loop {
    wk_prediction *prediction;
    int count, steps, context;
    wk_sequences input;
    float *imagined;  // [T,B,64,64,3] around zero; NULL without images
    float *vectors;   // [T,B,V] imagined
    wk_image *frames; // [T], from the first clip on
};

wk_status wk_open_loop_create(wk_learner *learner, int count, int steps, int context,
                              wk_open_loop **out, wk_error *err)
{
    const wk_learner_config *config = wk_learner_get_config(learner);
    wk_observation_spec observation = config->observation;
    wk_open_loop *l = calloc(1, sizeof *l);
    if (!l) return wk_fail(err, WK_E_MEMORY, "no memory for imagined frames");
    l->count = count;
    l->steps = steps;
    l->context = context;
    // The prediction refuses sizes that make no sense, before they are memory.
    wk_status status = wk_prediction_create(learner, count, steps, context, &l->prediction, err);
    if (status == WK_OK)
        status =
            wk_sequences_create(observation, config->action_size, count, steps, &l->input, err);
    if (status == WK_OK) {
        size_t rows = (size_t)steps * (size_t)count;
        if (!observation.no_image) l->imagined = calloc(rows * WK_IMAGE_BYTES, sizeof *l->imagined);
        l->vectors = calloc(rows * (size_t)observation.vector + 1, sizeof *l->vectors);
        if (!l->vectors || (!l->imagined && !observation.no_image))
            status = wk_fail(err, WK_E_MEMORY, "no memory for %zu imagined frames", rows);
    }
    if (status == WK_OK)
        *out = l;
    else
        wk_open_loop_destroy(l);
    return status;
}

void wk_open_loop_destroy(wk_open_loop *l)
{
    if (!l) return;
    wk_prediction_destroy(l->prediction);
    wk_sequences_free(&l->input);
    free(l->vectors);
    free(l->imagined);
    for (int t = 0; t < l->steps && l->frames; t++)
        wk_image_free(&l->frames[t]);
    free(l->frames);
    free(l);
}

wk_sequences *wk_open_loop_input(wk_open_loop *l)
{
    return &l->input;
}

static size_t row_of(const wk_open_loop *l, int step, int sequence)
{
    assert(step >= 0 && step < l->steps && sequence >= 0 && sequence < l->count);
    return (size_t)step * (size_t)l->count + (size_t)sequence;
}

wk_status wk_open_loop_run(wk_open_loop *l, wk_error *err)
{
    const wk_learner_batch batch = wk_sequences_batch(&l->input);
    const wk_predicted out = {.open_loop = l->imagined, .open_vectors = l->vectors};
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
static void draw_column(const wk_open_loop *l, int step, int sequence, int scale, wk_image *onto,
                        int x, int y)
{
    uint8_t images[PARTS][WK_IMAGE_BYTES];
    wk_open_loop_show(l, step, sequence, images);
    for (int r = 0; r < PARTS; r++) {
        wk_image part = {SIDE, SIDE, images[r]};
        wk_image_paste(onto, &part, x, y + r * (scale * SIDE + GAP), scale);
    }
}

wk_status wk_open_loop_clip(wk_open_loop *l, const wk_image **frames, wk_error *err)
{
    if (!l->frames) l->frames = calloc((size_t)l->steps, sizeof *l->frames);
    if (!l->frames) return wk_fail(err, WK_E_MEMORY, "no memory for a clip");
    for (int t = 0; t < l->steps; t++) {
        if (!l->frames[t].rgb)
            WK_TRY(wk_image_create(l->count * (SIDE + GAP) - GAP, PARTS * (SIDE + GAP) - GAP, WHITE,
                                   &l->frames[t], err));
        for (int b = 0; b < l->count; b++)
            draw_column(l, t, b, 1, &l->frames[t], b * (SIDE + GAP), 0);
    }
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

wk_status wk_open_loop_frame(const wk_open_loop *l, int step, const wk_open_loop_labels *labels,
                             wk_image *out, wk_error *err)
{
    enum { SCALE = 2, LARGE = SCALE * SIDE };
    // θ keeps to the width of its sequence; there is room for the lines of the longest.
    int lines = 1;
    for (int b = 0; b < l->count; b++) {
        int of = wk_image_text_lines(NULL, 0, 0, LARGE - MARGIN, LINE, FAINT, labels->thetas[b]);
        lines = of > lines ? of : lines;
    }
    int left = names_width(), top = (1 + lines) * LINE + MARGIN;
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
        int x = left + b * (LARGE + GAP);
        wk_image_text_lines(out, x, LINE + MARGIN, LARGE - MARGIN, LINE, FAINT, labels->thetas[b]);
        draw_column(l, step, b, SCALE, out, x, top);
    }
    return WK_OK;
}

// A still for documents: every few frames of the sequences, one below the other, with θ above
// each; the numbers of the frames on top, those that were seen in green.
static wk_status draw_strip(const wk_open_loop *l, const wk_open_loop_labels *labels, wk_image *out,
                            wk_error *err)
{
    enum { COLUMNS = 12 };
    int every = (l->steps + COLUMNS - 1) / COLUMNS, columns = (l->steps + every - 1) / every;
    int left = names_width(), head = LINE + 2 * MARGIN;
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
            draw_column(l, i * every, b, 1, out, left + i * (SIDE + GAP), y + LINE + MARGIN);
    }
    return WK_OK;
}

/* ---- The files of `waker openloop` ----------------------------------------------------------- */

enum { SEQUENCES = WK_OPEN_LOOP_SEQUENCES };

// The state of the command.
typedef struct show {
    const wk_open_loop_question *asked;
    wk_open_loop_files *out;
    wk_saved_run run;
    const wk_domain *domain;
    int policy; // of the learner, for anything but random actions
    bool random;
    wk_open_loop *loop;
    char params[640], thetas[SEQUENCES][128]; // what is written next to the images
} show;

// Weights that have the policy: of a task those adapted to it, if there are any.
static wk_status open_run(show *s, wk_error *err)
{
    const wk_open_loop_question *asked = s->asked;
    int task = 0;
    const wk_saved_run_options options = {.depth = WK_SAVED_WORLD,
                                          .plugins = &(wk_named_plugins){.domain = asked->plugin},
                                          .log = asked->log};
    WK_TRY(wk_saved_run_open(asked->run, &options, &s->run, err));
    s->domain = s->run.world.domain;
    s->random = strcmp(asked->policy, WK_POLICY_RANDOM) == 0;
    s->policy = WK_POLICY_EXPLORE;
    bool explore = strcmp(asked->policy, "explore") == 0, of_task = !s->random && !explore;
    if (asked->name && !of_task)
        return wk_fail(err, WK_E_INPUT, "--name selects a task policy: add --policy TASK");
    if (of_task) WK_TRY(wk_domain_task(s->domain, asked->policy, &task, err));
    const wk_weights_query query = {
        .policy = of_task ? NULL : WK_POLICY_RANDOM, .name = asked->name, .step = asked->step};
    wk_weights_answer answer = {0};
    wk_status status = wk_weights_resolve(asked->run, &s->run.config, &query, &answer, err);
    const wk_weights_choice choice = {.kind = answer.source.kind,
                                      .step = status == WK_OK ? (int64_t)answer.steps.items[0] : 0,
                                      .name = asked->name,
                                      .compact = !explore,
                                      .device = asked->device,
                                      .threads = asked->threads};
    wk_weights_answer_free(&answer);
    WK_TRY(status);
    WK_TRY(wk_saved_run_load(&s->run, &choice, err));
    return of_task ? wk_saved_run_policy(&s->run, task, &s->policy, err) : WK_OK;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n > m && strcasecmp(path + n - m, ending) == 0;
}

// The file that is written: as asked, or where the report finds it.
static wk_status choose_path(show *s, wk_error *err)
{
    const wk_open_loop_question *asked = s->asked;
    bool table = s->domain->observation.no_image;
    const char *name = asked->name, *out = asked->out;
    if (out && !(table ? ends_in(out, ".csv") : wk_animation_is_path(out)))
        return wk_fail(err, WK_E_INPUT, "--out %s: the output is %s", out,
                       table ? "a table, since the domain has no images; name it FILE.csv"
                             : "a clip; name it FILE.gif or FILE.mp4");
    // Said before the episodes are played.
    if (out && ends_in(out, ".mp4")) WK_TRY(wk_animation_find_ffmpeg(err));
    if (out) return wk_path_print(s->out->path, err, "%s", out);
    WK_TRY(wk_path_print(s->out->path, err, "%s/eval", asked->run));
    WK_TRY(wk_dir_create(s->out->path, err));
    return wk_path_print(s->out->path, err, "%s/eval/openloop-%012" PRIu64 "-%.100s%s%s%s",
                         asked->run, s->run.weights.step, asked->policy, name ? "." : "",
                         name ? name : "", table ? ".csv" : ".gif");
}

static wk_status keep_frame(void *context, const wk_eval_row *row, wk_error *err)
{
    show *s = context;
    (void)err;
    wk_progress_count(s->asked->progress, 0);
    if (!(row->flags & WK_IS_DIVERGED) || row->step == 0)
        wk_sequences_set(&s->loop->input, row->step, row->episode, row, row->step == 0);
    return WK_OK;
}

static wk_status play(show *s, wk_error *err)
{
    const wk_open_loop_question *asked = s->asked;
    const wk_domain *domain = s->domain;
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    wk_eval_episode episodes[SEQUENCES];
    int count;
    wk_run_thetas thetas;
    WK_TRY(wk_run_config_thetas(&s->run.config, domain, &thetas, err));
    const wk_case *train = wk_run_thetas_case(&thetas);
    const char *name = asked->eval_case ? asked->eval_case : train ? train->name : WK_EVAL_DR;
    WK_TRY(wk_eval_cases(domain, train, name, SEQUENCES, cases, &count, err));
    if (count != 1) return wk_fail(err, WK_E_INPUT, "--case '%s': give one case", name);
    cases[0].episodes = SEQUENCES;
    int task = s->policy >= 0 ? s->run.weights.tasks[s->policy] : WK_EVAL_ANY_TASK;
    if (!wk_eval_case_fits(domain, task, &cases[0]))
        return wk_fail(err, WK_E_INPUT, "case '%s' has no worlds of task '%s'", name,
                       asked->policy);
    wk_eval_config config = {.domain = domain,
                             .options = s->run.world.options,
                             .task = task,
                             .learner = s->random ? NULL : s->run.weights.learner,
                             .policy = s->policy,
                             .mode = s->policy == WK_POLICY_EXPLORE ? WK_ACT_SAMPLE : WK_ACT_MODE,
                             .cases = cases,
                             .n_cases = 1,
                             .steps = s->loop->steps - 1,
                             .seed = asked->seed,
                             .threads = asked->threads,
                             .on_row = keep_frame,
                             .context = s};
    wk_progress_next(asked->progress, "frames", SEQUENCES * s->loop->steps);
    WK_TRY(wk_evaluate(&config, episodes, err));
    // Names of the parameters, and the values of every sequence; long ones are cut.
    size_t length = 0;
    for (int p = 0; p < domain->n_params && length < sizeof s->params; p++)
        length += (size_t)snprintf(s->params + length, sizeof s->params - length, "%s%s",
                                   p ? ", " : "", domain->params[p].name);
    for (int i = 0; i < SEQUENCES; i++) {
        size_t at = 0, size = sizeof s->thetas[i];
        for (int p = 0; p < domain->n_params && at < size; p++)
            at += (size_t)snprintf(s->thetas[i] + at, size - at, "%s%g", p ? ", " : "",
                                   episodes[i].theta[p]);
    }
    return WK_OK;
}

// FILE.csv: a line for each number of every vector, what it was and what the model made of it.
static wk_status write_vectors(const wk_open_loop *l, const char *path, wk_error *err)
{
    wk_text out = {0};
    wk_text_puts(&out, "episode,frame,seen,number,truth,model\n");
    for (int episode = 0; episode < l->count; episode++)
        for (int step = 0; step < l->steps; step++)
            for (size_t i = 0; i < l->input.vector; i++) {
                size_t at = row_of(l, step, episode) * l->input.vector + i;
                wk_text_printf(&out, "%d,%d,%d,%zu,%.9g,%.9g\n", episode, step, step < l->context,
                               i, (double)l->input.vectors[at], (double)l->vectors[at]);
            }
    return wk_file_write_text(NULL, path, &out, err);
}

// The clip.
static wk_status film(show *s, const wk_open_loop_labels *labels, wk_error *err)
{
    static const double frame_seconds = 0.1;
    wk_image frame = {0};
    wk_animation *clip = NULL;
    wk_status status = WK_OK;
    wk_progress_next(s->asked->progress, "images", s->loop->steps);
    for (int t = 0; t < s->loop->steps && status == WK_OK; t++) {
        status = wk_open_loop_frame(s->loop, t, labels, &frame, err);
        if (status == WK_OK && !clip)
            status = wk_animation_create(s->out->path, frame.width, frame.height, frame_seconds,
                                         &clip, err);
        if (status == WK_OK) status = wk_animation_add(clip, &frame, err);
        wk_progress_count(s->asked->progress, 0);
    }
    if (status == WK_OK) status = wk_animation_write(clip, err);
    wk_animation_destroy(clip);
    wk_image_free(&frame);
    return status;
}

static wk_status make(show *s, wk_error *err)
{
    const wk_open_loop_question *asked = s->asked;
    WK_TRY(open_run(s, err));
    WK_TRY(choose_path(s, err));
    wk_observation_spec observation = s->domain->observation;
    int whole = s->domain->episode_steps + 1, steps = asked->steps < whole ? asked->steps : whole;
    if (asked->context >= steps)
        return wk_fail(err, WK_E_INPUT,
                       "--context %d of %d frames leaves nothing to imagine; give a smaller one",
                       asked->context, steps);
    s->out->step = s->run.weights.step;
    s->out->action_repeat = s->domain->action_repeat;
    s->out->steps = steps;
    s->out->observation = observation;
    WK_TRY(wk_open_loop_create(s->run.weights.learner, SEQUENCES, steps, asked->context, &s->loop,
                               err));
    WK_TRY(play(s, err));
    WK_TRY(wk_open_loop_run(s->loop, err));

    // FILE.csv, FILE.gif and FILE.png: all endings have four characters.
    char path[WK_PATH_MAX];
    int stem = (int)strlen(s->out->path) - 4;
    snprintf(path, sizeof path, "%.*s.csv", stem, s->out->path);
    if (observation.vector > 0) WK_TRY(write_vectors(s->loop, path, err));
    if (observation.no_image) return WK_OK;
    const char *thetas[SEQUENCES];
    for (int i = 0; i < SEQUENCES; i++)
        thetas[i] = s->thetas[i];
    const wk_open_loop_labels labels = {s->params, thetas};
    wk_image strip = {0};
    WK_TRY(film(s, &labels, err));
    wk_status status = draw_strip(s->loop, &labels, &strip, err);
    snprintf(path, sizeof path, "%.*s.png", stem, s->out->path);
    if (status == WK_OK) status = wk_png_write(path, &strip, err);
    wk_image_free(&strip);
    return status;
}

wk_status wk_open_loop_make(const wk_open_loop_question *asked, wk_open_loop_files *out,
                            wk_error *err)
{
    show s = {.asked = asked, .out = out};
    wk_status status = make(&s, err);
    wk_open_loop_destroy(s.loop);
    wk_saved_run_close(&s.run);
    return status;
}
