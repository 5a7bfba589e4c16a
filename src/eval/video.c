// Clips of the episodes of an evaluation.
#include "eval/result.h"

#include "media/animation.h"
#include <assert.h>
#include <stdio.h>

enum {
    PIECE = 50,   // frames the model is run over at once
    CONTEXT = 5,  // number of frames it sees
    SCALE = 2,    // screen pixels of a pixel
    MARGIN = 4,   // around and between the images
    LINE = 12,    // height of a line of text
    FRAMES = 256, // longer episodes show every second frame
    SIDE = SCALE * WK_IMAGE_SIDE,
    WIDTH = WK_OPEN_LOOP_PARTS * (SIDE + MARGIN) + MARGIN,
    PAPER = 0xFFFFFF,
    INK = 0x202020,
    SEEN = 0x107010,
};

static const char *const rank_names[] = {"best", "median", "worst"};

int wk_video_episode(const wk_domain *domain, const wk_task_result *task, int case_index,
                     wk_video_rank rank)
{
    const wk_case_result *c = &task->cases[case_index];
    const double *scores = domain->tasks[task->task].has_completion ? c->completions : c->returns;
    int last = c->eval_case.episodes - 1;
    int place = rank == WK_VIDEO_WORST ? 0 : rank == WK_VIDEO_MEDIAN ? last / 2 : last;
    // The episode that as many are worse than as its place says.
    for (int i = 0;; i++) {
        int worse = 0;
        for (int k = 0; k <= last; k++)
            worse += scores[k] != scores[i]           ? scores[k] < scores[i]
                     : c->returns[k] != c->returns[i] ? c->returns[k] < c->returns[i]
                                                      : k < i;
        if (worse == place) return i;
    }
}

// The episode being shown again: its frames go into the open loop, piece after piece.
typedef struct replayed {
    wk_open_loop *loop;
    int rows;
} replayed;

static wk_status store_frame(void *context, const wk_eval_row *row, wk_error *err)
{
    replayed *f = context;
    (void)err;
    // A simulation that broke down has no image.
    if ((row->flags & WK_IS_DIVERGED) && row->step > 0) return WK_OK;
    int t = row->step % PIECE;
    wk_sequences_set(wk_open_loop_input(f->loop), t, row->step / PIECE, row, t == 0);
    f->rows = row->step + 1;
    return WK_OK;
}

// What stands above the images: as many lines as it needs, so that no parameter is cut off.
typedef struct caption {
    char title[256], theta[640];
    int title_lines, lines;
} caption;

static int count_lines(const char *text)
{
    int lines = wk_image_text_lines(NULL, 0, 0, WIDTH - 2 * MARGIN, LINE, INK, text);
    return lines > 0 ? lines : 1;
}

static caption describe(const wk_eval_result *r, const wk_task_result *t, int case_index,
                        int episode, wk_video_rank rank)
{
    const wk_domain *domain = r->origin.domain;
    const wk_case_result *c = &t->cases[case_index];
    caption text;
    int used = snprintf(text.title, sizeof text.title, "%s, %s: %s of %d, return %.4g",
                        domain->tasks[t->task].name, c->eval_case.name, rank_names[rank],
                        c->eval_case.episodes, c->returns[episode]);
    if (domain->tasks[t->task].has_completion && used < (int)sizeof text.title)
        snprintf(text.title + used, sizeof text.title - (size_t)used, ", completion %.2f",
                 c->completions[episode]);
    size_t at = 0;
    text.theta[0] = 0;
    for (int p = 0; p < domain->n_params && at < sizeof text.theta; p++)
        at += (size_t)snprintf(text.theta + at, sizeof text.theta - at, "%s%s=%g", p ? ", " : "",
                               domain->params[p].name, c->episodes[episode].theta[p]);
    text.title_lines = count_lines(text.title);
    text.lines = text.title_lines + count_lines(text.theta);
    return text;
}

static void draw(const replayed *f, const caption *text, int row, wk_image *frame)
{
    static const char *const names[] = {"truth", NULL, "error"};
    uint8_t images[WK_OPEN_LOOP_PARTS][WK_IMAGE_BYTES];
    bool seen = row % PIECE < CONTEXT;
    int width = WIDTH - 2 * MARGIN;
    wk_image_fill(frame, 0, 0, frame->width, frame->height, PAPER);
    wk_image_text_lines(frame, MARGIN, MARGIN, width, LINE, INK, text->title);
    wk_image_text_lines(frame, MARGIN, MARGIN + text->title_lines * LINE, width, LINE, INK,
                        text->theta);
    wk_open_loop_show(f->loop, row % PIECE, row / PIECE, images);
    for (int i = 0; i < WK_OPEN_LOOP_PARTS; i++) {
        wk_image part = {WK_IMAGE_SIDE, WK_IMAGE_SIDE, images[i]};
        int x = MARGIN + i * (SIDE + MARGIN), y = text->lines * LINE + MARGIN;
        wk_image_paste(frame, &part, x, y, SCALE);
        bool model = !names[i];
        wk_image_text(frame, x, y + SIDE + MARGIN, model && seen ? SEEN : INK,
                      !model ? names[i]
                      : seen ? "model, shown this"
                             : "model, imagining");
    }
}

static wk_status write_clip(const replayed *f, const caption *text, const wk_domain *domain,
                            const char *path, wk_error *err)
{
    wk_animation *clip = NULL;
    wk_image frame = {0};
    int apart = f->rows > FRAMES ? 2 : 1, height = (text->lines + 1) * LINE + SIDE + 2 * MARGIN;
    wk_status status = wk_image_create(WIDTH, height, PAPER, &frame, err);
    if (status == WK_OK)
        status = wk_animation_create(path, WIDTH, height, domain->step_seconds * apart, &clip, err);
    for (int row = 0; row < f->rows && status == WK_OK; row += apart) {
        draw(f, text, row, &frame);
        status = wk_animation_add(clip, &frame, err);
    }
    if (status == WK_OK) status = wk_animation_write(clip, err);
    wk_animation_destroy(clip);
    wk_image_free(&frame);
    return status;
}

// Plays one episode again and writes it in each of the formats.
static wk_status write_episode(const wk_eval_result *r, const wk_eval_setup *setup,
                               const wk_task_result *t, int case_index, wk_video_rank rank,
                               const char *stem, unsigned formats, wk_error *err)
{
    static const char *const endings[] = {"gif", "mp4"};
    int episode = wk_video_episode(r->origin.domain, t, case_index, rank);
    replayed f = {0};
    wk_eval_setup again = *setup;
    again.on_row = store_frame;
    again.context = &f;
    int pieces = t->cases[case_index].episodes[episode].steps / PIECE + 1;
    WK_TRY(wk_open_loop_create(setup->learner, pieces, PIECE, CONTEXT, &f.loop, err));
    wk_status status = wk_eval_result_replay(r, &again, t, case_index, episode, err);
    if (status == WK_OK) status = wk_open_loop_run(f.loop, err);
    caption text = describe(r, t, case_index, episode, rank);
    for (unsigned i = 0; i < sizeof endings / sizeof *endings && status == WK_OK; i++) {
        char path[WK_PATH_MAX];
        if (!(formats & 1U << i)) continue;
        status = wk_path_print(path, err, "%s.%s", stem, endings[i]);
        if (status == WK_OK) status = write_clip(&f, &text, r->origin.domain, path, err);
    }
    wk_open_loop_destroy(f.loop);
    return status;
}

wk_status wk_video_write(const wk_eval_result *r, const wk_eval_setup *setup,
                         const wk_task_result *t, const char *run, unsigned formats, wk_error *err)
{
    assert(setup->learner && t->actions && *r->name);
    for (int case_index = 0; case_index < t->n_cases; case_index++)
        for (int rank = 0; rank < WK_VIDEO_RANKS; rank++) {
            char stem[WK_PATH_MAX];
            WK_TRY(wk_path_print(stem, err, "%s/eval/%s-%s-%s-%s", run, r->name,
                                 r->origin.domain->tasks[t->task].name,
                                 t->cases[case_index].eval_case.name, rank_names[rank]));
            WK_TRY(write_episode(r, setup, t, case_index, (wk_video_rank)rank, stem, formats, err));
        }
    return WK_OK;
}
