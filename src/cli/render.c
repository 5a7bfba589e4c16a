// waker render: images of environments. A still, a clip of an episode under random actions, or a
// contact sheet of the whole domain.
#include "base/file.h"
#include "cli/chosen_domain.h"
#include "cli/cli.h"
#include "media/animation.h"
#include "report/sheet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { STILL_SIZE = 480, CELL_SIZE = 128, CLIP_STEPS = 100, UNSET = -1 };

typedef struct render_values {
    const char *domain, *plugin, *params, *case_name, *out;
    wk_arg_texts options;
    wk_arg_seed seed;
    int steps, size;
    bool sheet;
} render_values;

static const render_values defaults = {.steps = UNSET, .size = UNSET};

#define WK_VALUES render_values
static const wk_arg args[] = {
    WK_OPT_TEXT("domain", domain, "DOMAIN", "a built-in domain; 'waker envs' lists them"),
    WK_DOMAIN_PLUGIN_ARG_ROWS(plugin),
    WK_OPT_REQUIRED(WK_ARG_PATH, "out", out, "FILE",
                    "file to write: .png for a still, .gif or .mp4 for a clip"),
    WK_OPT_TEXT("params", params, "A,B,...",
                "the world's parameters (default: the middle of the training grid)"),
    WK_OPT_TEXT("case", case_name, "CASE[:I]",
                "the I-th parameters, counted from 0, of an out-of-distribution case"),
    WK_OPT_TEXTS("option", options, "NAME=CHOICE", "an option of the domain; may be repeated"),
    WK_SEED_ARG_ROW("the episode and of the random actions", "0"),
    WK_OPT_INT("steps", steps, "N",
               "random agent steps: before a still (default: 0, the start of the episode), in each "
               "cell of a sheet (default: 20) or in a clip (default: 100)",
               0, 1000000),
    WK_OPT_INT("size", size, "PIXELS",
               "side of the image (default: 480), or of a cell of a sheet (default: 128)", 8, 4096),
    WK_OPT_FLAG("sheet", sheet,
                "draw many worlds of the training grid and every out-of-distribution case"),
};

// Says early what would only fail after the work.
static wk_status check_out(const render_values *v, wk_error *err)
{
    if (!wk_path_ends_in(v->out, ".png") && !wk_animation_is_path(v->out))
        return wk_fail(err, WK_E_INPUT, "--out '%s': the name must end in .png, .gif or .mp4",
                       v->out);
    if (v->sheet && !wk_path_ends_in(v->out, ".png"))
        return wk_fail(err, WK_E_INPUT, "--out '%s': a sheet is a .png", v->out);
    const char *slash = strrchr(v->out, '/');
    if (!slash || slash == v->out) return WK_OK;
    char directory[WK_PATH_MAX];
    struct stat info;
    snprintf(directory, sizeof directory, "%.*s", (int)(slash - v->out), v->out);
    if (stat(directory, &info) == 0) return WK_OK;
    return wk_fail(err, WK_E_IO, "--out '%s': directory '%s': %s", v->out, directory,
                   strerror(errno));
}

static wk_status check_values(const render_values *v, wk_error *err)
{
    if (v->sheet && (v->params || v->case_name))
        return wk_fail(err, WK_E_INPUT, "--sheet draws many worlds; leave out --params and --case");
    return check_out(v, err);
}

// A place that cannot be written is a failure of the machine, not a wrong name.
static wk_status as_io(wk_status status)
{
    return status == WK_E_NOT_FOUND ? WK_E_IO : status;
}

// Tells what was drawn: "terrain-walker, amplitude=0.5, length=1, seed 0: <what>".
static wk_status report(const wk_cli *cli, const wk_domain *domain, const double *theta,
                        uint64_t seed, const wk_text *what, wk_error *err)
{
    if (cli->quiet) return WK_OK;
    wk_text text = {0};
    wk_text_printf(&text, "%s, ", domain->name);
    if (theta) {
        wk_theta_text(domain, theta, &text);
        wk_text_puts(&text, ", ");
    }
    wk_text_printf(&text, "seed %llu: %s\n", (unsigned long long)seed, wk_text_get(what));
    text.failed |= what->failed;
    return wk_cli_print(&text, err);
}

static wk_status render_still(wk_random_episode *episode, const render_values *v, int size,
                              int steps, wk_text *what, wk_error *err)
{
    WK_TRY(wk_random_episode_advance(episode, steps, err));
    wk_image image;
    WK_TRY(wk_image_create(size, size, 0, &image, err));
    wk_status status = wk_random_episode_draw(episode, &image, err);
    if (status == WK_OK) status = as_io(wk_png_write(v->out, &image, err));
    wk_image_free(&image);
    int taken = wk_env_steps(episode->env);
    wk_text_printf(what, "state after %d random agent step%s%s, %d x %d, written to %s", taken,
                   wk_plural((uint64_t)taken), episode->ended ? " (end of the episode)" : "", size,
                   size, v->out);
    return status;
}

// Adds the start and the state after every step.
static wk_status film(wk_random_episode *episode, int steps, wk_animation *clip, wk_image *frame,
                      int *frames, wk_error *err)
{
    for (int i = 0;; i++) {
        WK_TRY(wk_random_episode_draw(episode, frame, err));
        WK_TRY(wk_animation_add(clip, frame, err));
        (*frames)++;
        if (i == steps || episode->ended) return WK_OK;
        WK_TRY(wk_random_episode_advance(episode, 1, err));
    }
}

static wk_status render_clip(wk_random_episode *episode, const render_values *v, int size,
                             int steps, wk_text *what, wk_error *err)
{
    wk_image frame = {0};
    wk_animation *clip = NULL;
    double seconds = wk_env_domain(episode->env)->step_seconds; // real time
    int frames = 0;
    wk_status status = wk_image_create(size, size, 0, &frame, err);
    if (status == WK_OK) status = wk_animation_create(v->out, size, size, seconds, &clip, err);
    if (status == WK_OK) status = film(episode, steps, clip, &frame, &frames, err);
    if (status == WK_OK) status = as_io(wk_animation_write(clip, err));
    wk_animation_destroy(clip);
    wk_image_free(&frame);
    wk_text_printf(what, "%d random agent step%s%s, %d frame%s of %d x %d, written to %s",
                   frames - 1, wk_plural((uint64_t)(frames - 1)),
                   episode->ended ? " (end of the episode)" : "", frames,
                   wk_plural((uint64_t)frames), size, size, v->out);
    return status;
}

static wk_status render_episode(const wk_cli *cli, const wk_chosen_domain *chosen,
                                const render_values *v, wk_error *err)
{
    bool clip = wk_animation_is_path(v->out);
    int steps = v->steps != UNSET ? v->steps : clip ? CLIP_STEPS : 0;
    int size = v->size != UNSET ? v->size : STILL_SIZE;
    double theta[WK_PARAMS_MAX] = {0};
    wk_text what = {0};
    WK_TRY(wk_chosen_domain_theta(chosen, v->params, v->case_name, theta, err));
    wk_random_episode episode;
    WK_TRY(wk_random_episode_create(chosen->domain, chosen->options, &episode, err));
    wk_status status = wk_random_episode_reset(&episode, theta, v->seed.value, err);
    if (status == WK_OK)
        status = clip ? render_clip(&episode, v, size, steps, &what, err)
                      : render_still(&episode, v, size, steps, &what, err);
    wk_random_episode_destroy(&episode);
    if (status == WK_OK) status = report(cli, chosen->domain, theta, v->seed.value, &what, err);
    wk_text_free(&what);
    return status;
}

static wk_status render_contact_sheet(const wk_cli *cli, const wk_chosen_domain *chosen,
                                      const render_values *v, wk_error *err)
{
    wk_image image;
    int cells, cell = v->size != UNSET ? v->size : CELL_SIZE;
    int steps = v->steps != UNSET ? v->steps : WK_SHEET_STEPS;
    WK_TRY(wk_contact_sheet_draw(chosen->domain, chosen->options, v->seed.value, steps, cell,
                                 &image, &cells, err));
    wk_status status = as_io(wk_png_write(v->out, &image, err));
    wk_text what = {0};
    wk_text_printf(&what, "%d world%s after %d random agent step%s, %d x %d, written to %s", cells,
                   wk_plural((uint64_t)cells), steps, wk_plural((uint64_t)steps), image.width,
                   image.height, v->out);
    wk_image_free(&image);
    if (status == WK_OK) status = report(cli, chosen->domain, NULL, v->seed.value, &what, err);
    wk_text_free(&what);
    return status;
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    const render_values *values = given;
    WK_TRY(check_values(values, err));
    wk_chosen_domain chosen;
    WK_TRY(
        wk_chosen_domain_open(cli, values->domain, values->plugin, &values->options, &chosen, err));
    wk_status status = values->sheet ? render_contact_sheet(cli, &chosen, values, err)
                                     : render_episode(cli, &chosen, values, err);
    wk_chosen_domain_close(&chosen);
    return status;
}

const wk_command wk_command_render = {
    .name = "render",
    .summary = "Render a world, a clip of an episode, or a sheet of many worlds",
    .usage = "render --domain DOMAIN --out FILE.png|FILE.gif|FILE.mp4 [OPTIONS]\n"
             "render --sheet --domain DOMAIN --out FILE.png [OPTIONS]",
    .details =
        "Actions are uniformly random and stop at the end of the episode. The same command writes\n"
        "the same bytes. A sheet has rows over the first parameter, columns over the second (over\n"
        "the sum of the others where they are counts of the same kind), then a row for each\n"
        "out-of-distribution case; its cells are drawn after 20 steps, because hoppers begin in\n"
        "the air.\n",
    .examples = "render --domain terrain-walker --params 0.8,0.3 --out walker.png\n"
                "render --domain clean-up --case extra-block:2 --seed 7 --out clean-up.gif\n"
                "render --sheet --domain terrain-hopper --out hopper.png",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
