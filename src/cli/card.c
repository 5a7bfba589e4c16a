// waker card: a folder for a model hub: the policies of a run with what they score, a README that
// says so, and replays. It is laid out as a run, so that all that reads runs reads it.
#include "base/asset.h"
#include "base/file.h"
#include "base/sha256.h"
#include "cli/chosen_domain.h"
#include "cli/cli.h"
#include "eval/episodes.h"
#include "media/animation.h"
#include "report/model_card.h"
#include "run/saved_run.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCALE = 4, SIDE = SCALE * WK_IMAGE_SIDE, FRAMES = 256, TEXT_LIMIT = 1 << 20 };

typedef struct card_values {
    const char *out, *snapshot, *policy, *name, *license, *device, *plugin;
    wk_arg_texts rewards;
    bool no_video, compact;
} card_values;

static const card_values defaults = {.snapshot = "last"};

#define WK_VALUES card_values
static const wk_arg args[] = {
    WK_OPT_PATH("out", out, "DIR", "directory to create"),
    WK_SNAPSHOT_ARG_ROW(WK_VALUES),
    WK_OPT_TEXT("policy", policy, "adapted|alongside|finetuned",
                "which policies (default: adapted if any, else alongside)"),
    WK_NAME_ARG_ROW(WK_VALUES, "use the adaptation or fine-tuning with this name"),
    WK_OPT_FLAG("compact", compact,
                "write the weights in 16 and 8 bits, without what only training needs"),
    WK_OPT_FLAG("no-video", no_video,
                "no replays: no episode is played, so a plug-in's code is not needed"),
    WK_OPT_PATH("license", license, "FILE", "licence of the weights (default: MIT, that of waker)"),
    WK_DEVICE_ARG_ROW(WK_VALUES, device, "the run's"),
    WK_PLUGIN_ARG_ROWS(WK_VALUES),
    WK_OPT_PATHS("reward", rewards, "FILE",
                 "plug-in of a reward that 'waker relabel' added; may be repeated"),
};

static const char UNFINISHED[] = ".unfinished-card", MOVING[] = ".moving-card",
                  README[] = "README.md";

typedef struct made_file {
    char path[256], sha256[WK_SHA256_CHARS];
    bool compact; // weights that are written as compact ones
} made_file;

// What goes into the folder. Until all of it is there it lies in a folder within, so that what an
// interrupted command leaves is known, and the next one removes it.
typedef struct job {
    const card_values *v;
    char unfinished[WK_PATH_MAX];
    const char *directory;
    int threads;
    wk_log log;
    wk_progress_line progress;
    wk_saved_run run;
    bool has_mp4; // replays are MP4 too
    const char *policy;
    wk_weights_kind kind;
    uint64_t step;
    wk_report_run results;    // of these policies at this step
    WK_ARRAY(uint64_t) sizes; // [scores]: episodes of the evaluation, over all cases
    wk_run_thetas thetas;
    WK_ARRAY(const char *) tasks; // that have results
    WK_ARRAY(made_file) files;
    WK_ARRAY(wk_card_replay) replays;
    WK_ARRAY(char *) texts; // of the replays
} job;

static wk_weights_source weights_of(const job *j, const char *task)
{
    return (wk_weights_source){j->kind, j->kind == WK_WEIGHTS_FINETUNED ? task : NULL, j->v->name};
}

static wk_status choose_policy(job *j, wk_error *err)
{
    WK_TRY(wk_weights_check_name(j->v->name, err));
    j->policy = j->v->policy || !j->v->name ? j->v->policy : WK_POLICY_ADAPTED;
    WK_TRY(wk_saved_run_kind(&j->run, &j->policy, &j->kind, err));
    if (strcmp(j->policy, WK_POLICY_RANDOM) == 0)
        return wk_fail(err, WK_E_INPUT,
                       "--policy random acts without weights: there is nothing to "
                       "publish");
    if (j->v->name && j->kind == WK_WEIGHTS_SNAPSHOT)
        return wk_fail(err, WK_E_INPUT,
                       "--name selects adapted or fine-tuned policies; --policy %s has no names",
                       j->policy);
    return WK_OK;
}

// The newest step, of any task's weights where each task has its own.
static wk_status choose_step(job *j, wk_error *err)
{
    const wk_domain *domain = j->run.world.domain;
    int64_t wanted;
    WK_TRY(wk_snapshot_arg(j->v->snapshot, &wanted, err));
    bool found = false;
    for (int i = 0; j->kind == WK_WEIGHTS_FINETUNED && i < domain->n_tasks; i++) {
        uint64_t step;
        wk_weights_source source = weights_of(j, domain->tasks[i].name);
        if (wk_weights_find(j->directory, source, wanted, &step, NULL) != WK_OK) continue;
        if (!found || step > j->step) j->step = step;
        found = true;
    }
    if (found) return WK_OK;
    wk_weights_source source = weights_of(j, domain->tasks[0].name);
    return wk_weights_find(j->directory, source, wanted, &j->step, err);
}

// Whether a file is one of the results: "POLICY-STEP.json" or of another protocol,
// "POLICY-STEP-envsN-seedS.json".
static bool is_result(const job *j, const char *name)
{
    char title[WK_WEIGHTS_TITLE_MAX], stem[WK_WEIGHTS_TITLE_MAX + 24];
    snprintf(title, sizeof title, "%s%s%.48s", j->policy, j->v->name ? "." : "",
             j->v->name ? j->v->name : "");
    size_t length = (size_t)snprintf(stem, sizeof stem, "%s-%012" PRIu64, title, j->step);
    bool ours = strncmp(name, stem, length) == 0 && (name[length] == '.' || name[length] == '-');
    return ours && wk_path_ends_in(name, ".json");
}

static wk_status add_task(job *j, const char *task, wk_error *err)
{
    for (size_t i = 0; i < j->tasks.count; i++)
        if (strcmp(j->tasks.items[i], task) == 0) return WK_OK;
    int number;
    if (wk_domain_task(j->run.world.domain, task, &number, err) != WK_OK)
        return wk_fail_context(err, "results of '%s'", j->directory);
    return wk_array_push(&j->tasks, j->run.world.domain->tasks[number].name)
               ? WK_OK
               : wk_fail(err, WK_E_MEMORY, "no memory for tasks");
}

static wk_status read_result(job *j, const char *folder, const char *name, wk_error *err)
{
    char path[WK_PATH_MAX];
    size_t before = j->results.scores.count;
    WK_TRY(wk_path_join(folder, name, path, err));
    WK_TRY(wk_run_read_scores(&j->results, path, err));
    uint64_t size = 0;
    for (size_t i = before; i < j->results.scores.count; i++)
        size += j->results.scores.items[i].episodes;
    for (size_t i = before; i < j->results.scores.count; i++) {
        if (!wk_array_push(&j->sizes, size))
            return wk_fail(err, WK_E_MEMORY, "no memory for results");
        if (j->results.scores.items[i].step != j->step)
            return wk_fail(err, WK_E_FORMAT,
                           "'%s' has results of another agent step; delete it, or evaluate again",
                           path);
        WK_TRY(add_task(j, j->results.scores.items[i].task, err));
    }
    made_file made = {0};
    snprintf(made.path, sizeof made.path, "eval/%.240s", name);
    return wk_array_push(&j->files, made) ? WK_OK
                                          : wk_fail(err, WK_E_MEMORY, "no memory for files");
}

// Whether score `a` stands for its task and case rather than score `b`: that of more episodes, then
// that of the larger evaluation, then that of the lower seed. Times of files would do as well, but
// copies of a run have others.
static bool is_preferred(const job *j, size_t a, size_t b)
{
    const wk_run_score *x = &j->results.scores.items[a], *y = &j->results.scores.items[b];
    if (x->episodes != y->episodes) return x->episodes > y->episodes;
    if (j->sizes.items[a] != j->sizes.items[b]) return j->sizes.items[a] > j->sizes.items[b];
    return x->eval_seed != y->eval_seed ? x->eval_seed < y->eval_seed : a < b;
}

static bool is_replaced(const job *j, size_t score)
{
    const wk_run_score *own = &j->results.scores.items[score];
    for (size_t i = 0; i < j->results.scores.count; i++) {
        const wk_run_score *s = &j->results.scores.items[i];
        if (i != score && strcmp(s->domain, own->domain) == 0 && strcmp(s->task, own->task) == 0 &&
            strcmp(s->variant, own->variant) == 0 && is_preferred(j, i, score))
            return true;
    }
    return false;
}

// A hub shows one result for each task and case, however often it was evaluated.
static wk_status keep_preferred(job *j, wk_error *err)
{
    size_t kept = 0, count = j->results.scores.count;
    bool *replaced = calloc(count + 1, sizeof *replaced);
    if (!replaced) return wk_fail(err, WK_E_MEMORY, "no memory for results");
    for (size_t i = 0; i < count; i++)
        replaced[i] = is_replaced(j, i);
    for (size_t i = 0; i < count; i++)
        if (!replaced[i]) j->results.scores.items[kept++] = j->results.scores.items[i];
    j->results.scores.count = kept;
    free(replaced);
    return WK_OK;
}

static wk_status no_results(const job *j, wk_error *err)
{
    wk_text command = {0};
    wk_text_puts(&command, "waker eval ");
    wk_text_shell_quote(&command, j->directory);
    if (j->v->policy) wk_text_printf(&command, " --policy %s", j->policy);
    if (j->v->name) wk_text_printf(&command, " --name %s", j->v->name);
    if (strcmp(j->v->snapshot, "last") != 0)
        wk_text_printf(&command, " --snapshot %" PRIu64, j->step);
    wk_status status = wk_fail(err, WK_E_NOT_FOUND,
                               "'%s' has no results of its %s policies at agent step %" PRIu64
                               ", which the card needs; create them with '%s'",
                               j->directory, j->policy, j->step, wk_text_get(&command));
    wk_text_free(&command);
    return status;
}

static wk_status read_results(job *j, wk_error *err)
{
    char folder[WK_PATH_MAX];
    wk_names names = {0};
    wk_dir *dir;
    bool there;
    j->results.config = j->run.config;
    j->results.seed = j->run.config.seed;
    j->results.domain = j->run.world.domain->name;
    WK_TRY(wk_path_join(j->directory, "eval", folder, err));
    WK_TRY(wk_file_exists_in(NULL, folder, &there, err));
    if (!there) return no_results(j, err);
    WK_TRY(wk_dir_open(NULL, folder, &dir, err));
    wk_status status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; i < names.count && status == WK_OK; i++)
        if (is_result(j, names.items[i])) status = read_result(j, folder, names.items[i], err);
    wk_names_free(&names);
    wk_dir_close(dir);
    if (status == WK_OK && j->results.scores.count == 0) status = no_results(j, err);
    return status == WK_OK ? keep_preferred(j, err) : status;
}

// Lists a file of the run that is to be copied, by its path in it.
static wk_status list_file(job *j, const char *path, wk_error *err)
{
    made_file made = {0};
    size_t length = strlen(path);
    if (length >= sizeof made.path)
        return wk_fail(err, WK_E_INPUT, "'%s': the path is too long", path);
    memcpy(made.path, path, length);
    return wk_array_push(&j->files, made) ? WK_OK
                                          : wk_fail(err, WK_E_MEMORY, "no memory for files");
}

static wk_status list_weights(job *j, const char *task, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_weights_path("", weights_of(j, task), j->step, path);
    WK_TRY(list_file(j, path + strspn(path, "/"), err));
    j->files.items[j->files.count - 1].compact =
        j->v->compact && !wk_learner_is_compact(j->run.weights.learner);
    return WK_OK;
}

// All that reading the policies needs.
static wk_status list_files(job *j, wk_error *err)
{
    bool each = j->kind == WK_WEIGHTS_FINETUNED, plugin;
    char path[WK_PATH_MAX];
    WK_TRY(list_file(j, "config.yaml", err));
    WK_TRY(wk_path_join(j->directory, "plugin.json", path, err));
    WK_TRY(wk_file_exists_in(NULL, path, &plugin, err));
    if (plugin) WK_TRY(list_file(j, "plugin.json", err));
    for (int i = 0; i < j->run.rewards.count; i++) {
        snprintf(path, sizeof path, "rewards/%s.safetensors", j->run.rewards.items[i].label.name);
        WK_TRY(list_file(j, path, err));
    }
    for (size_t i = 0; i < (each ? j->tasks.count : 1); i++)
        WK_TRY(list_weights(j, j->tasks.items[i], err));
    return WK_OK;
}

// A replay while it is played.
typedef struct replay_clip {
    wk_progress_line *progress;
    wk_animation *animations[2]; // the same frames as GIF and, with ffmpeg, as MP4
    int formats;                 // of them
    wk_image frame;
    int every;
} replay_clip;

static const char *const endings[] = {"gif", "mp4"};

static wk_status add_frame(void *context, const wk_eval_row *row, wk_error *err)
{
    replay_clip *f = context;
    wk_progress_count(f->progress, 0);
    bool broken = (row->flags & WK_IS_DIVERGED) && row->step > 0; // has no image
    if (broken || row->step % f->every != 0) return WK_OK;
    wk_image seen = {WK_IMAGE_SIDE, WK_IMAGE_SIDE, (uint8_t *)(uintptr_t)row->image};
    wk_image_paste(&f->frame, &seen, 0, 0, SCALE);
    for (int i = 0; i < f->formats; i++)
        WK_TRY(wk_animation_add(f->animations[i], &f->frame, err));
    return WK_OK;
}

static wk_status open_replay_clip(const job *j, const char *task, replay_clip *f, wk_error *err)
{
    const wk_domain *domain = j->run.world.domain;
    char path[WK_PATH_MAX];
    f->every = domain->episode_steps > FRAMES ? 2 : 1;
    WK_TRY(wk_image_create(SIDE, SIDE, 0, &f->frame, err));
    for (int i = 0; i < f->formats; i++) {
        WK_TRY(wk_path_print(path, err, "%s/replay-%s.%s", j->unfinished, task, endings[i]));
        WK_TRY(wk_animation_create(path, SIDE, SIDE, domain->step_seconds * f->every,
                                   &f->animations[i], err));
    }
    return WK_OK;
}

static wk_status load(job *j, const char *task, wk_error *err)
{
    const wk_weights_choice choice = {.kind = j->kind,
                                      .step = (int64_t)j->step,
                                      .task = weights_of(j, task).task,
                                      .name = j->v->name,
                                      .compact = true,
                                      .device = j->v->device,
                                      .threads = j->threads};
    return wk_saved_run_load(&j->run, &choice, err);
}

// Where the first episode of a task's results took place; sets the seed that they were made with.
static wk_status first_case(const job *j, const char *task, wk_eval_case *out, uint64_t *seed,
                            wk_error *err)
{
    const wk_domain *domain = j->run.world.domain;
    const wk_run_score *score = j->results.scores.items;
    while (strcmp(score->task, task) != 0)
        score++;
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    int count;
    *seed = score->eval_seed;
    WK_TRY(wk_eval_cases(domain, wk_run_thetas_case(&j->thetas),
                         *score->variant ? score->variant : WK_EVAL_DR, 1, cases, &count, err));
    *out = cases[0];
    out->episodes = 1;
    return WK_OK;
}

static wk_status keep_replay(job *j, int task, const wk_eval_case *set, uint64_t seed,
                             const wk_eval_episode *played, wk_error *err)
{
    const wk_domain *domain = j->run.world.domain;
    wk_text theta = {0};
    wk_theta_text(domain, played->theta, &theta);
    if (theta.failed || !wk_array_push(&j->texts, theta.chars)) {
        wk_text_free(&theta);
        return wk_fail(err, WK_E_MEMORY, "no memory for a replay");
    }
    const wk_card_replay replay = {.task = domain->tasks[task].name,
                                   .theta = theta.chars ? theta.chars : "",
                                   .variant = set->name,
                                   .seed = seed,
                                   .score = domain->tasks[task].has_completion
                                                ? (double)played->completion[task]
                                                : played->returns[task]};
    return wk_array_push(&j->replays, replay) ? WK_OK
                                              : wk_fail(err, WK_E_MEMORY, "no memory for a replay");
}

static wk_status play(job *j, int task, replay_clip *f, wk_error *err)
{
    wk_eval_case set;
    wk_eval_episode played;
    int policy;
    uint64_t seed;
    const wk_domain *domain = j->run.world.domain;
    WK_TRY(wk_saved_run_policy(&j->run, task, &policy, err));
    WK_TRY(first_case(j, domain->tasks[task].name, &set, &seed, err));
    WK_TRY(open_replay_clip(j, domain->tasks[task].name, f, err));
    wk_eval_config config = {.domain = domain,
                             .options = j->run.world.options,
                             .task = task,
                             .learner = j->run.weights.learner,
                             .policy = policy,
                             .mode = WK_ACT_MODE,
                             .cases = &set,
                             .n_cases = 1,
                             .seed = seed,
                             .threads = j->threads,
                             .on_row = add_frame,
                             .context = f};
    WK_TRY(wk_evaluate(&config, &played, err));
    for (int i = 0; i < f->formats; i++)
        WK_TRY(wk_animation_write(f->animations[i], err));
    return keep_replay(j, task, &set, seed, &played, err);
}

static wk_status make_replay(job *j, const char *name, wk_error *err)
{
    int task;
    replay_clip f = {.progress = &j->progress, .formats = j->has_mp4 ? 2 : 1};
    WK_TRY(wk_domain_task(j->run.world.domain, name, &task, err));
    wk_status status = play(j, task, &f, err);
    for (int i = 0; i < f.formats; i++)
        wk_animation_destroy(f.animations[i]);
    wk_image_free(&f.frame);
    char path[128];
    for (int i = 0; i < f.formats && status == WK_OK; i++) {
        snprintf(path, sizeof path, "replay-%s.%s", name, endings[i]);
        status = list_file(j, path, err);
    }
    return status;
}

// Loads all weights, also where nothing is played: a card of damaged ones is refused.
static wk_status check_weights(job *j, wk_error *err)
{
    bool each = j->kind == WK_WEIGHTS_FINETUNED;
    for (size_t i = 0; i < (each ? j->tasks.count : 1); i++)
        WK_TRY(load(j, j->tasks.items[i], err));
    return WK_OK;
}

static wk_status make_replays(job *j, wk_error *err)
{
    const wk_domain *domain = j->run.world.domain;
    bool each = j->kind == WK_WEIGHTS_FINETUNED;
    if (j->v->no_video || domain->observation.no_image) return WK_OK;
    wk_error missing = {0};
    j->has_mp4 = wk_animation_find_ffmpeg(&missing) == WK_OK;
    if (!j->has_mp4)
        wk_log_line(&j->log, WK_LOG_WARN, "the replays are GIFs without MP4: %s", missing.message);
    wk_progress_next(&j->progress, "frames", (int64_t)j->tasks.count * (domain->episode_steps + 1));
    for (size_t i = 0; i < j->tasks.count; i++) {
        if (each) WK_TRY(load(j, j->tasks.items[i], err));
        WK_TRY(make_replay(j, j->tasks.items[i], err));
    }
    return WK_OK;
}

static wk_status copy_file(const char *from, const char *to, bool compact, wk_error *err)
{
    char *folder = strndup(to, (size_t)(strrchr(to, '/') - to));
    wk_status status =
        folder ? wk_dir_create(folder, err) : wk_fail(err, WK_E_MEMORY, "no memory for a path");
    free(folder);
    WK_TRY(status);
    return compact ? wk_weights_write_compact(from, to, err) : wk_file_copy_in(NULL, from, to, err);
}

static wk_status copy_files(job *j, wk_error *err)
{
    for (size_t i = 0; i < j->files.count; i++) {
        char from[WK_PATH_MAX], to[WK_PATH_MAX];
        made_file *made = &j->files.items[i];
        WK_TRY(wk_path_join(j->directory, made->path, from, err));
        if (wk_path_join(j->unfinished, made->path, to, NULL) != WK_OK)
            return wk_fail(err, WK_E_INPUT, "--out '%s': the path is too long", j->v->out);
        WK_TRY(copy_file(from, to, made->compact, err));
    }
    return WK_OK;
}

static wk_status write_licence(job *j, wk_error *err)
{
    char path[WK_PATH_MAX], *own = NULL;
    const wk_asset *usual = wk_asset_find("LICENSE");
    size_t size = usual->size;
    if (j->v->license) WK_TRY(wk_file_read(j->v->license, TEXT_LIMIT, &own, &size, err));
    wk_status status = wk_path_join(j->unfinished, "LICENSE", path, err);
    if (status == WK_OK) status = wk_file_write(path, own ? own : usual->content, size, err);
    free(own);
    return status == WK_OK ? list_file(j, "LICENSE", err) : status;
}

static wk_status write_readme(job *j, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_text text = {0};
    WK_ARRAY(wk_card_file) files = {0};
    wk_status status = WK_OK;
    for (size_t i = 0; i < j->files.count && status == WK_OK; i++) {
        made_file *made = &j->files.items[i];
        status = wk_path_join(j->unfinished, made->path, path, err);
        if (status == WK_OK) status = wk_sha256_file(path, made->sha256, err);
        if (status == WK_OK && !wk_array_push(&files, (wk_card_file){made->path, made->sha256}))
            status = wk_fail(err, WK_E_MEMORY, "no memory for files");
    }
    const wk_card card = {.config = &j->run.config,
                          .domain = j->run.world.domain,
                          .policy = j->policy,
                          .name = j->v->name,
                          .step = j->step,
                          .own_licence = j->v->license != NULL,
                          .compact = j->v->compact || wk_learner_is_compact(j->run.weights.learner),
                          .scores = j->results.scores.items,
                          .n_scores = j->results.scores.count,
                          .replays = j->replays.items,
                          .n_replays = j->replays.count,
                          .has_mp4 = j->has_mp4,
                          .files = files.items,
                          .n_files = files.count};
    if (status == WK_OK) wk_card_text(&card, &text);
    if (text.failed) status = wk_fail(err, WK_E_MEMORY, "no memory for the card");
    if (status == WK_OK) status = wk_path_join(j->unfinished, README, path, err);
    if (status == WK_OK) status = wk_file_write(path, text.chars, text.length, err);
    wk_text_free(&text);
    wk_array_free(&files);
    return status;
}

// Removes what has the name, with all that is in it. Links go, what they lead to stays.
static wk_status remove_all(const wk_dir *in, const char *name, wk_error *err)
{
    wk_dir *dir = NULL;
    wk_names names = {0};
    wk_entry entry;
    WK_TRY(wk_dir_stat(in, name, &entry, NULL, err));
    if (entry == WK_ENTRY_NONE) return WK_OK;
    if (entry != WK_ENTRY_DIR)
        return unlinkat(wk_dir_fd(in), name, 0) == 0 ? WK_OK
                                                     : wk_file_error(err, "cannot delete", name);
    wk_status status = wk_dir_open_nofollow(in, name, &dir, err);
    if (status == WK_OK) status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++)
        status = remove_all(dir, names.items[i], err);
    wk_names_free(&names);
    wk_dir_close(dir);
    return status == WK_OK ? wk_dir_remove_dir(in, name, err) : status;
}

// Whether an entry of the folder is what an interrupted command left there; `moved`: the names that
// it was moving up, each in a line, or NULL.
static bool is_left_over(const char *name, const char *moved)
{
    size_t length = strlen(name);
    for (const char *at = moved; at && *at; at += strcspn(at, "\n"), at += *at != 0)
        if (strncmp(at, name, length) == 0 && at[length] == '\n') return true;
    return strcmp(name, UNFINISHED) == 0 || strcmp(name, MOVING) == 0;
}

// A folder that has anything in it is somebody's, but for what an interrupted command left, which
// goes where `clear` says so: the list of what was moved comes first by name, and goes last.
static wk_status check_out(const char *out, bool clear, wk_error *err)
{
    wk_dir *dir, *link = NULL;
    wk_names names = {0};
    wk_entry entry;
    char *moved = NULL;
    bool there;
    if (!out) return wk_fail(err, WK_E_INPUT, "--out DIR is required: the directory to create");
    WK_TRY(wk_file_exists_in(NULL, out, &there, err));
    if (!there) return WK_OK;
    WK_TRY(wk_dir_open(NULL, out, &dir, err));
    wk_status status = wk_file_read_in(dir, MOVING, TEXT_LIMIT, &moved, NULL, err);
    if (status == WK_OK || status == WK_E_NOT_FOUND) status = wk_dir_list(dir, &names, err);
    // Without it the rest is no card.
    if (status == WK_OK && clear && is_left_over(README, moved))
        status = remove_all(dir, README, err);
    for (size_t i = names.count; status == WK_OK && i-- > 0;) {
        const char *name = names.items[i];
        status = wk_dir_stat(dir, name, &entry, NULL, err);
        if (status == WK_OK && !is_left_over(name, moved))
            status = wk_fail(err, WK_E_INPUT,
                             "--out '%s' is not empty: remove it or choose another directory", out);
        else if (status == WK_OK && entry == WK_ENTRY_LINK)
            status = wk_dir_open_nofollow(dir, name, &link, err); // refuses it
        else if (status == WK_OK && clear)
            status = remove_all(dir, name, err);
    }
    wk_names_free(&names);
    free(moved);
    wk_dir_close(link);
    wk_dir_close(dir);
    return status;
}

static wk_status write_all(job *j, wk_error *err)
{
    WK_TRY(wk_dir_make_below(j->v->out, UNFINISHED, err));
    WK_TRY(copy_files(j, err));
    WK_TRY(write_licence(j, err));
    WK_TRY(make_replays(j, err));
    return write_readme(j, err);
}

// Moves what was made to where it belongs, README.md last, once the others are durable: a folder
// without it is not whole. What is moved is noted before, so that it is known after an interrupt.
static wk_status move_up(const job *j, const wk_dir *out, wk_error *err)
{
    char from[WK_PATH_MAX];
    wk_names names = {0};
    wk_text moving = {0};
    wk_status status = wk_path_list(j->unfinished, &names, err);
    for (size_t i = 0; i < names.count; i++)
        wk_text_printf(&moving, "%s\n", names.items[i]);
    if (status == WK_OK) status = wk_path_print(from, err, "%s/%s", UNFINISHED, MOVING);
    if (status == WK_OK) status = wk_file_write_text(out, from, &moving, err);
    if (status == WK_OK) status = wk_dir_rename(out, from, MOVING, err);
    wk_text_free(&moving);
    if (status == WK_OK) status = wk_dir_sync(out, err);
    for (int last = 0; last < 2; last++) {
        for (size_t i = 0; status == WK_OK && i < names.count; i++) {
            if ((strcmp(names.items[i], README) == 0) != last) continue;
            status = wk_path_print(from, err, "%s/%s", UNFINISHED, names.items[i]);
            if (status == WK_OK) status = wk_dir_rename(out, from, names.items[i], err);
        }
        if (status == WK_OK) status = wk_dir_sync(out, err);
    }
    wk_names_free(&names);
    return status;
}

// A command that fails leaves nothing behind.
static wk_status make_folder(job *j, wk_error *err)
{
    bool there;
    wk_dir *out = NULL;
    if (wk_path_join(j->v->out, UNFINISHED, j->unfinished, NULL) != WK_OK)
        return wk_fail(err, WK_E_INPUT, "--out '%s': the path is too long", j->v->out);
    WK_TRY(wk_file_exists_in(NULL, j->v->out, &there, err));
    WK_TRY(check_out(j->v->out, true, err));
    WK_TRY(wk_dir_create(j->v->out, err));
    WK_TRY(wk_dir_open(NULL, j->v->out, &out, err));
    wk_status status = write_all(j, err);
    if (status == WK_OK) status = move_up(j, out, err);
    if (status == WK_OK) status = wk_dir_remove_dir(out, UNFINISHED, err);
    if (status == WK_OK) status = wk_dir_remove(out, MOVING, err);
    if (status == WK_OK) status = wk_dir_sync(out, err);
    if (status != WK_OK) (void)check_out(j->v->out, true, NULL);
    wk_dir_close(out);
    if (status != WK_OK && !there) (void)rmdir(j->v->out); // fails where something is in it
    return status;
}

// What can be wrong with the question comes before the folder is made.
static wk_status make_card(job *j, wk_error *err)
{
    const wk_named_plugins named = {
        .domain = j->v->plugin, .rewards = j->v->rewards.items, .n_rewards = j->v->rewards.count};
    const wk_saved_run_options options = {
        .depth = WK_SAVED_WORLD, .plugins = j->v->no_video ? NULL : &named, .log = &j->log};
    WK_TRY(check_out(j->v->out, false, err));
    WK_TRY(wk_saved_run_open(j->directory, &options, &j->run, err));
    WK_TRY(choose_policy(j, err));
    WK_TRY(choose_step(j, err));
    WK_TRY(read_results(j, err));
    WK_TRY(wk_run_config_thetas(&j->run.config, j->run.world.domain, &j->thetas, err));
    for (size_t i = 0; i < j->tasks.count && !j->v->no_video; i++) {
        int task;
        WK_TRY(wk_domain_task(j->run.world.domain, j->tasks.items[i], &task, err));
        WK_TRY(wk_saved_run_playable(&j->run, task, err));
    }
    WK_TRY(check_weights(j, err));
    WK_TRY(list_files(j, err));
    return make_folder(j, err);
}

static void free_job(job *j)
{
    wk_saved_run_close(&j->run);
    wk_arena_reset(&j->results.arena);
    wk_array_free(&j->results.scores);
    wk_array_free(&j->sizes);
    wk_array_free(&j->tasks);
    wk_array_free(&j->files);
    wk_array_free(&j->replays);
    for (size_t i = 0; i < j->texts.count; i++)
        free(j->texts.items[i]);
    wk_array_free(&j->texts);
    free(j);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return wk_fail(err, WK_E_MEMORY, "no memory for a card");
    j->v = values;
    j->directory = cli->words.items[0];
    j->threads = cli->threads;
    j->log = wk_cli_progress(cli, "frames", &j->progress);
    wk_status status = make_card(j, err);
    wk_progress_finish(&j->progress);
    wk_text text = {0};
    if (status == WK_OK && !cli->quiet) {
        char steps[WK_STEPS_TEXT_MAX];
        wk_steps_text(j->step, j->run.world.domain->action_repeat, steps);
        wk_text_printf(&text,
                       "%s policies after %s: %zu task%s, %zu result%s, %zu files, written to "
                       "%s/README.md\n",
                       j->policy, steps, j->tasks.count, wk_plural(j->tasks.count),
                       j->results.scores.count, wk_plural((uint64_t)j->results.scores.count),
                       j->files.count + 1, j->v->out);
    }
    free_job(j);
    return status == WK_OK ? wk_cli_print(&text, err) : status;
}

const wk_command wk_command_card = {
    .name = "card",
    .summary = "Create a directory for a model hub: card, weights, results, replays, licence",
    .usage = "card RUN --out DIR [--policy KIND] [--snapshot STEP|last] [--name NAME]\n"
             "card RUN --out DIR [--compact] [--no-video] [--license FILE]",
    .details =
        "README.md contains the front matter that hubs read, the results of 'waker eval', five\n"
        "lines of code that load a policy, the settings, and the hashes of all files. Weights\n"
        "are safetensors files; one episode of every task is recorded as GIF and, where ffmpeg\n"
        "is installed, as MP4. DIR has the layout of a run: 'waker eval DIR' and Python's\n"
        "waker.Policy(DIR, ...) read it.\n\n"
        "With --compact the weights have world model, reward heads and actors alone: in 16 bits,\n"
        "those of decoder and reward heads in 8. They act and imagine; 'waker adapt',\n"
        "'finetune' and 'model-error' refuse them.\n",
    .examples = "card runs/a --out hub/a\n"
                "card runs/a --out hub/a-compact --compact",
    WK_COMMAND_OPTIONS(args, defaults),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
