// waker openloop: what a run's world model imagines after a few frames, next to what happens.
#include "base/file.h"
#include "cli/cli.h"
#include "eval/evaluate.h"
#include "eval/open_loop.h"
#include "media/animation.h"
#include "run/saved_run.h"
#include "run/world.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 6, STRIP_COLUMNS = 12, STEPS_MIN = 2 };
static const double FRAME_SECONDS = 0.1;

typedef struct openloop_values {
    const char *snapshot, *policy, *name, *out, *device, *set, *plugin;
    int context, steps;
    wk_arg_seed seed;
} openloop_values;

static const openloop_values defaults = {
    .snapshot = "last", .policy = "random", .context = 5, .steps = 50};

#define WK_VALUES openloop_values
static const wk_arg args[] = {
    WK_OPT_PATH("out", out, "FILE.gif|FILE.mp4|FILE.csv",
                "file to write; a still is written next to it as FILE.png, vectors as FILE.csv "
                "(default: in RUN/eval, where 'waker report' finds it)"),
    WK_SNAPSHOT_ARG_ROW(WK_VALUES),
    WK_OPT_TEXT("policy", policy, "random|explore|TASK", "who acts (default: random)"),
    WK_NAME_ARG_ROW(openloop_values, "use the task policy of the adaptation with this name"),
    WK_OPT_TEXT("case", set, "dr|train|CASE",
                "environments: dr, train (for a run with curriculum.theta) or an "
                "out-of-distribution case (default: train if there, else dr)"),
    WK_OPT_INT("context", context, "N", "frames that the model observes (default: 5)", 1, 1024),
    WK_OPT_INT("steps", steps, "N", "total frames, one per agent step (default: 50)", STEPS_MIN,
               1024),
    WK_SEED_ARG_ROW(WK_VALUES, "the episodes", "0"),
    WK_DEVICE_ARG_ROW(WK_VALUES, device, "the run's"),
    WK_PLUGIN_ARG_ROWS(openloop_values),
};

// What is shown and what it is made of.
typedef struct show {
    openloop_values v;
    wk_log log;
    wk_saved_run run;
    int policy; // of the learner, for anything but random actions
    bool random;
    wk_open_loop *loop;
    wk_progress_line progress;
    char params[640], thetas[SEQUENCES][128]; // what is written next to the images
    char out[4096];
} show;

// Weights that have the policy: of a task those adapted to it, if there are any.
static wk_status open_run(show *s, const char *directory, int threads, wk_error *err)
{
    const char *policy = s->v.policy;
    uint64_t step;
    int64_t wanted;
    const wk_saved_run_options options = {.depth = WK_SAVED_WORLD,
                                          .plugins = &(wk_named_plugins){.domain = s->v.plugin},
                                          .log = &s->log};
    WK_TRY(wk_saved_run_open(directory, &options, &s->run, err));
    bool task = strcmp(policy, "random") != 0 && strcmp(policy, "explore") != 0;
    WK_TRY(wk_snapshot_arg(s->v.snapshot, &wanted, err));
    WK_TRY(wk_weights_check_name(s->v.name, err));
    if (s->v.name && !task)
        return wk_fail(err, WK_E_INPUT, "--name selects a task policy: add --policy TASK");
    const wk_weights_source source = {.kind = WK_WEIGHTS_ADAPTED, .name = s->v.name};
    bool adapted =
        task && (source.name || wk_weights_find(directory, source, wanted, &step, NULL) == WK_OK);
    const wk_weights_choice choice = {.kind = adapted ? WK_WEIGHTS_ADAPTED : WK_WEIGHTS_SNAPSHOT,
                                      .step = wanted,
                                      .name = s->v.name,
                                      .compact = strcmp(policy, "explore") != 0,
                                      .device = s->v.device,
                                      .threads = threads};
    WK_TRY(wk_saved_run_load(&s->run, &choice, err));
    s->random = strcmp(policy, "random") == 0;
    s->policy = WK_POLICY_EXPLORE;
    if (!task) return WK_OK;
    int number;
    WK_TRY(wk_domain_task(s->run.world.domain, policy, &number, err));
    return wk_saved_run_policy(&s->run, number, &s->policy, err);
}

static wk_status keep_frame(void *context, const wk_eval_row *row, wk_error *err)
{
    show *s = context;
    (void)err;
    wk_progress_count(&s->progress, 0);
    if ((row->flags & WK_IS_DIVERGED) && row->step > 0) return WK_OK;
    wk_open_loop_set_frame(s->loop, row->step, row->episode, row, row->step == 0);
    return WK_OK;
}

// Names of the parameters, and the values of every sequence.
static void describe(show *s, const wk_eval_episode *episodes)
{
    const wk_domain *domain = s->run.world.domain;
    wk_text names = {0};
    for (int i = 0; i < SEQUENCES; i++) {
        wk_text values = {0};
        for (int p = 0; p < domain->n_params; p++) {
            wk_text_printf(&values, "%s%g", p ? ", " : "", episodes[i].theta[p]);
            if (i == 0) wk_text_printf(&names, "%s%s", p ? ", " : "", domain->params[p].name);
        }
        snprintf(s->thetas[i], sizeof s->thetas[i], "%s", wk_text_get(&values));
        wk_text_free(&values);
    }
    snprintf(s->params, sizeof s->params, "%s", wk_text_get(&names));
    wk_text_free(&names);
}

static wk_status play(show *s, int threads, wk_error *err)
{
    const wk_domain *domain = s->run.world.domain;
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    wk_eval_episode episodes[SEQUENCES];
    int count;
    wk_run_thetas thetas;
    WK_TRY(wk_run_config_thetas(&s->run.config, domain, &thetas, err));
    const wk_case *train = wk_run_thetas_case(&thetas);
    const char *set = s->v.set ? s->v.set : train ? train->name : WK_EVAL_DR;
    WK_TRY(wk_eval_cases(domain, train, set, SEQUENCES, cases, &count, err));
    if (count != 1) return wk_fail(err, WK_E_INPUT, "--case '%s': give one case", set);
    cases[0].episodes = SEQUENCES;
    int task = s->policy >= 0 ? s->run.weights.tasks[s->policy] : WK_EVAL_ANY_TASK;
    if (!wk_eval_case_fits(domain, task, &cases[0]))
        return wk_fail(err, WK_E_INPUT, "case '%s' has no worlds of task '%s'", set, s->v.policy);
    wk_eval_config config = {.domain = domain,
                             .options = s->run.world.options,
                             .task = task,
                             .learner = s->random ? NULL : s->run.weights.learner,
                             .policy = s->policy,
                             .mode = s->policy == WK_POLICY_EXPLORE ? WK_ACT_SAMPLE : WK_ACT_MODE,
                             .cases = cases,
                             .n_cases = 1,
                             .steps = s->v.steps - 1,
                             .seed = s->v.seed.value,
                             .threads = threads,
                             .on_row = keep_frame,
                             .context = s};
    wk_progress_next(&s->progress, "frames", SEQUENCES * s->v.steps);
    WK_TRY(wk_evaluate(&config, episodes, err));
    describe(s, episodes);
    return WK_OK;
}

static wk_status film(show *s, const wk_open_loop_labels *labels, wk_animation **clip,
                      wk_image *frame, wk_error *err)
{
    wk_progress_next(&s->progress, "images", s->v.steps);
    for (int t = 0; t < s->v.steps; t++, wk_progress_count(&s->progress, 0)) {
        WK_TRY(wk_open_loop_frame(s->loop, t, labels, frame, err));
        if (!*clip)
            WK_TRY(
                wk_animation_create(s->out, frame->width, frame->height, FRAME_SECONDS, clip, err));
        WK_TRY(wk_animation_add(*clip, frame, err));
    }
    return WK_OK;
}

static wk_status write_clip(show *s, const wk_open_loop_labels *labels, wk_error *err)
{
    wk_animation *clip = NULL;
    wk_image frame = {0};
    wk_status status = film(s, labels, &clip, &frame, err);
    if (status == WK_OK) status = wk_animation_write(clip, err);
    wk_animation_destroy(clip);
    wk_image_free(&frame);
    return status;
}

// The path of FILE with another ending.
static void path_beside(const show *s, const char *ending, char path[sizeof s->out])
{
    snprintf(path, sizeof s->out, "%.*s%s", (int)(strlen(s->out) - strlen(ending)), s->out, ending);
}

// A line for each number of a vector: what it was and what the model made of it.
static void put_vector(const show *s, int episode, int step, wk_text *out)
{
    size_t size = (size_t)wk_open_loop_vector_size(s->loop);
    size_t row = (size_t)step * SEQUENCES + (size_t)episode;
    const float *truth = wk_open_loop_get_input(s->loop).vectors + row * size;
    const float *model = wk_open_loop_vector(s->loop, step, episode);
    for (size_t i = 0; i < size; i++)
        wk_text_printf(out, "%d,%d,%d,%zu,%.9g,%.9g\n", episode, step, step < s->v.context, i,
                       (double)truth[i], (double)model[i]);
}

// FILE.csv: the vectors of all frames.
static wk_status write_vectors(show *s, wk_error *err)
{
    if (wk_open_loop_vector_size(s->loop) == 0) return WK_OK;
    char path[sizeof s->out];
    wk_text out = {0};
    path_beside(s, ".csv", path);
    wk_text_puts(&out, "episode,frame,seen,number,truth,model\n");
    for (int episode = 0; episode < SEQUENCES; episode++)
        for (int step = 0; step < s->v.steps; step++)
            put_vector(s, episode, step, &out);
    return wk_file_write_text(NULL, path, &out, err);
}

// The clip and next to it FILE.png.
static wk_status write_images(show *s, wk_error *err)
{
    wk_image strip = {0};
    char path[sizeof s->out];
    const char *thetas[SEQUENCES];
    for (int i = 0; i < SEQUENCES; i++)
        thetas[i] = s->thetas[i];
    wk_open_loop_labels labels = {s->params, thetas};
    int every = (s->v.steps + STRIP_COLUMNS - 1) / STRIP_COLUMNS;
    WK_TRY(write_clip(s, &labels, err));
    path_beside(s, ".png", path);
    WK_TRY(wk_open_loop_strip(s->loop, every, &labels, &strip, err));
    wk_status status = wk_png_write(path, &strip, err);
    wk_image_free(&strip);
    return status;
}

// What the files are named by: a clip, or numbers where the model sees no images.
static const char *ending_of(const show *s)
{
    return s->run.world.domain->observation.no_image ? ".csv" : ".gif";
}

// Where the report finds them, unless the user says otherwise.
static wk_status choose_out(show *s, const char *directory, wk_error *err)
{
    bool table = s->run.world.domain->observation.no_image;
    if (s->v.out && !(table ? wk_path_ends_in(s->v.out, ".csv") : wk_animation_is_path(s->v.out)))
        return wk_fail(err, WK_E_INPUT, "--out %s: the output is %s", s->v.out,
                       table ? "a table, since the domain has no images; name it FILE.csv"
                             : "a clip; name it FILE.gif or FILE.mp4");
    if (s->v.out) {
        snprintf(s->out, sizeof s->out, "%s", s->v.out);
        return WK_OK;
    }
    snprintf(s->out, sizeof s->out, "%s/eval", directory);
    WK_TRY(wk_dir_create(s->out, err));
    snprintf(s->out, sizeof s->out, "%.3900s/eval/openloop-%012" PRIu64 "-%.100s%s%s%s", directory,
             s->run.weights.step, s->v.policy, s->v.name ? "." : "", s->v.name ? s->v.name : "",
             ending_of(s));
    return WK_OK;
}

static wk_status make(show *s, const char *directory, int threads, wk_error *err)
{
    WK_TRY(open_run(s, directory, threads, err));
    WK_TRY(choose_out(s, directory, err));
    const wk_domain *domain = s->run.world.domain;
    int whole = domain->episode_steps + 1;
    if (s->v.steps > whole) s->v.steps = whole;
    if (s->v.context >= s->v.steps)
        return wk_fail(err, WK_E_INPUT,
                       "--context %d of %d frames leaves nothing to imagine; give a smaller one",
                       s->v.context, s->v.steps);
    WK_TRY(wk_open_loop_create(s->run.weights.learner, SEQUENCES, s->v.steps, s->v.context,
                               &s->loop, err));
    WK_TRY(play(s, threads, err));
    WK_TRY(wk_open_loop_run(s->loop, err));
    WK_TRY(write_vectors(s, err));
    return domain->observation.no_image ? WK_OK : write_images(s, err);
}

static bool is_both(wk_observation_spec observation)
{
    return !observation.no_image && observation.vector > 0;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    show s = {.v = *(const openloop_values *)values};
    s.log = wk_cli_progress(cli, "frames", &s.progress);
    wk_status status = make(&s, cli->words.items[0], cli->threads, err);
    wk_progress_finish(&s.progress);
    wk_text text = {0};
    if (status == WK_OK && !cli->quiet)
        wk_text_printf(&text,
                       "%d sequences of %d frames, of which the model of agent step %" PRIu64
                       " (control step %" PRIu64 ") sees %d: %s%s%s\n",
                       SEQUENCES, s.v.steps, s.run.weights.step,
                       s.run.weights.step * (uint64_t)s.run.world.domain->action_repeat,
                       s.v.context, s.out,
                       s.run.world.domain->observation.no_image ? "" : ", and a still as .png",
                       is_both(s.run.world.domain->observation) ? ", vectors as .csv" : "");
    wk_open_loop_destroy(s.loop);
    wk_saved_run_close(&s.run);
    if (status == WK_OK) return wk_cli_print(&text, err);
    return status;
}

const wk_command wk_command_openloop = {
    .name = "openloop",
    .summary = "Show open-loop predictions of a run's world model next to the truth",
    .usage = "openloop RUN [--out FILE.gif|FILE.mp4] [--snapshot STEP|last] [--policy "
             "random|explore|TASK]\n"
             "openloop RUN [--out FILE.gif] [--case CASE] [--context N] [--steps N] [--seed N]",
    .details =
        "Plays six new episodes. The model observes the first frames, then only the actions.\n"
        "Columns are episodes, with their parameters; rows are truth, model and error (grey\n"
        "where they agree). The still shows every few frames; the numbers of observed ones are\n"
        "green. Vector observations become a table with truth and model; without images it is\n"
        "the only output.\n",
    .examples = "openloop runs/a --policy explore --out imagined.gif",
    WK_COMMAND_OPTIONS(args, defaults),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
