#include "report/card.h"

#include "base/file.h"
#include "base/hash.h"
#include "eval/episodes.h"
#include "media/animation.h"
#include "report/results.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCALE = 4, SIDE = SCALE * WK_IMAGE_SIDE, FRAMES = 256, TEXT_LIMIT = 1 << 20 };

// Until all of the folder is there it lies in a folder within, so that what an interrupted call
// leaves is known, and the next one removes it.
static const char UNFINISHED[] = ".unfinished-card", MOVING[] = ".moving-card",
                  README[] = "README.md";

// What goes into the folder.
typedef struct job {
    const wk_card_config *config;
    wk_report_memory *memory; // that of `results`
    char unfinished[WK_PATH_MAX];
    wk_saved_run run;
    wk_weights_answer weights; // which policies
    uint64_t step;             // theirs
    wk_report_run results;     // of these policies at this step
    wk_run_thetas thetas;
    WK_ARRAY(const char *) tasks; // that have results
    WK_ARRAY(wk_card_file) files;
    WK_ARRAY(wk_card_replay) replays;
    bool has_mp4; // each is MP4 too
} job;

// Which policies and results.

static bool is_finetuned(const job *j)
{
    return j->weights.source.kind == WK_WEIGHTS_FINETUNED;
}

// How many files of weights there are: fine-tuned tasks have one each.
static size_t n_weights(const job *j)
{
    return is_finetuned(j) ? j->tasks.count : 1;
}

static wk_status choose_policy(job *j, wk_error *err)
{
    const wk_card_config *c = j->config;
    const wk_domain *domain = j->run.world.domain;
    const char *tasks[WK_TASKS_MAX];
    if (c->policy && strcmp(c->policy, WK_POLICY_RANDOM) == 0)
        return wk_fail(err, WK_E_INPUT,
                       "--policy random acts without weights: there is nothing to publish");
    for (int i = 0; i < domain->n_tasks; i++)
        tasks[i] = domain->tasks[i].name;
    const wk_weights_query query = {.policy = c->policy,
                                    .name = c->name,
                                    .tasks = tasks,
                                    .n_tasks = domain->n_tasks,
                                    .step = c->step};
    WK_TRY(wk_weights_resolve(c->run, &j->run.config, &query, &j->weights, err));
    j->step = j->weights.steps.items[0];
    return WK_OK;
}

// Whether a file is one of the results: "POLICY-STEP.json" or of another protocol,
// "POLICY-STEP-HASH.json".
static bool is_result(const job *j, const char *name)
{
    const char *stem = wk_report_printf(j->memory, "%s-%012" PRIu64, j->weights.title, j->step);
    size_t length = strlen(stem);
    bool ours = strncmp(name, stem, length) == 0 && (name[length] == '.' || name[length] == '-');
    return ours && wk_name_ends_in(name, ".json");
}

// Lists a file of the run that is to be copied, by its path in it.
static void list_file(job *j, const char *path, bool compact)
{
    const wk_card_file file = {.path = wk_report_printf(j->memory, "%s", path), .compact = compact};
    wk_report_push(j->memory, &j->files, file);
}

static wk_status read_result(job *j, const char *folder, const char *name, wk_error *err)
{
    char path[WK_PATH_MAX];
    const wk_domain *domain = j->run.world.domain;
    size_t before = j->results.results.count;
    WK_TRY(wk_path_join(folder, name, path, err));
    WK_TRY(wk_run_read_results(&j->results, path, WK_RESULT_SCORE, err));
    for (size_t i = before; i < j->results.results.count; i++) {
        wk_result *r = &j->results.results.items[i];
        int number;
        if (r->step != j->step)
            return wk_fail(err, WK_E_FORMAT,
                           "'%s' has results of another agent step; delete it, or evaluate again",
                           path);
        if (wk_domain_task(domain, r->task, &number, err) != WK_OK)
            return wk_fail_context(err, "results of '%s'", j->config->run);
        r->task = domain->tasks[number].name; // the file may have its alias
    }
    list_file(j, wk_report_printf(j->memory, "eval/%s", name), false);
    return WK_OK;
}

// By task, then by case, as the domain has them.
static int compare_results(const void *a, const void *b, void *context)
{
    const wk_domain *domain = context;
    const wk_result *x = a, *y = b;
    int order = 0;
    for (int i = 0; i < domain->n_tasks && !order; i++)
        order = (strcmp(y->task, domain->tasks[i].name) == 0) -
                (strcmp(x->task, domain->tasks[i].name) == 0);
    if (!order) order = (strcmp(y->set, WK_EVAL_DR) == 0) - (strcmp(x->set, WK_EVAL_DR) == 0);
    if (!order) order = (strcmp(y->set, WK_EVAL_TRAIN) == 0) - (strcmp(x->set, WK_EVAL_TRAIN) == 0);
    for (int i = 0; i < domain->n_cases && !order; i++)
        order = (strcmp(y->set, domain->cases[i].name) == 0) -
                (strcmp(x->set, domain->cases[i].name) == 0);
    return order ? order : strcmp(x->set, y->set);
}

// A hub shows one result for each task and case, however often it was evaluated: in the order of
// the domain, whatever that of the files.
static void choose_samples(job *j)
{
    wk_result *all = j->results.results.items;
    size_t count = j->results.results.count, kept = 0;
    bool *replaced = wk_report_alloc(j->memory, count + 1, sizeof *replaced);
    for (size_t i = 0; replaced && i < count; i++)
        for (size_t k = 0; k < count; k++) {
            if (k == i || strcmp(all[k].domain, all[i].domain) != 0 ||
                strcmp(all[k].task, all[i].task) != 0 || strcmp(all[k].set, all[i].set) != 0)
                continue;
            int order = wk_result_order_samples(&all[k], 1, &all[i], 1);
            replaced[i] |= order < 0 || (order == 0 && k < i);
        }
    for (size_t i = 0; replaced && i < count; i++)
        if (!replaced[i]) all[kept++] = all[i];
    j->results.results.count = kept;
    if (kept) qsort_r(all, kept, sizeof *all, compare_results, (void *)j->run.world.domain);
    for (size_t i = 0; i < kept; i++)
        if (i == 0 || strcmp(all[i].task, all[i - 1].task) != 0)
            wk_report_push(j->memory, &j->tasks, all[i].task);
}

static wk_status read_results(job *j, wk_error *err)
{
    const wk_card_config *c = j->config;
    char folder[WK_PATH_MAX];
    wk_names names = {0};
    wk_dir *dir = NULL;
    bool there;
    j->results.config = j->run.config;
    j->results.seed = j->run.config.seed;
    j->results.directory = c->run;
    j->results.domain = j->run.world.domain->name;
    WK_TRY(wk_path_join(c->run, "eval", folder, err));
    WK_TRY(wk_file_exists_in(NULL, folder, &there, err));
    wk_status status = there ? wk_dir_open(NULL, folder, &dir, err) : WK_OK;
    if (status == WK_OK && there) status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; i < names.count && status == WK_OK; i++)
        if (is_result(j, names.items[i])) status = read_result(j, folder, names.items[i], err);
    wk_names_free(&names);
    wk_dir_close(dir);
    WK_TRY(status);
    choose_samples(j);
    WK_TRY(wk_report_memory_check(j->memory, err));
    if (j->results.results.count) return WK_OK;
    wk_text command = {0};
    wk_text_puts(&command, "waker eval ");
    wk_text_shell_quote(&command, c->run);
    if (c->policy) wk_text_printf(&command, " --policy %s", j->weights.policy);
    if (c->name) wk_text_printf(&command, " --name %s", c->name);
    if (c->step != WK_STEP_LAST) wk_text_printf(&command, " --snapshot %" PRIu64, j->step);
    return wk_fail(err, WK_E_NOT_FOUND,
                   "'%s' has no results of its %s policies at agent step %" PRIu64
                   ", which the card needs; create them with '%s'",
                   c->run, j->weights.policy, j->step, wk_report_take(j->memory, &command));
}

// Loads the weights of a task; also where nothing is played: a card of damaged ones is refused.
static wk_status load(job *j, const char *task, wk_error *err)
{
    const wk_weights_choice choice = {.kind = j->weights.source.kind,
                                      .step = (int64_t)j->step,
                                      .task = wk_weights_of(&j->weights, task).task,
                                      .name = j->weights.source.name,
                                      .compact = true,
                                      .device = j->config->device,
                                      .threads = j->config->threads};
    return wk_saved_run_load(&j->run, &choice, err);
}

// All that reading the policies needs.
static wk_status list_files(job *j, wk_error *err)
{
    char path[WK_PATH_MAX];
    bool plugin, compact = j->config->compact && !wk_learner_is_compact(j->run.weights.learner);
    list_file(j, "config.yaml", false);
    WK_TRY(wk_path_join(j->config->run, "plugin.json", path, err));
    WK_TRY(wk_file_exists_in(NULL, path, &plugin, err));
    if (plugin) list_file(j, "plugin.json", false);
    for (int i = 0; i < j->run.rewards.count; i++)
        list_file(j,
                  wk_report_printf(j->memory, "rewards/%s.safetensors",
                                   j->run.rewards.items[i].label.name),
                  false);
    for (size_t i = 0; i < n_weights(j); i++) {
        wk_weights_path("", wk_weights_of(&j->weights, j->tasks.items[i]), j->step, path);
        list_file(j, path + strspn(path, "/"), compact);
    }
    return wk_report_memory_check(j->memory, err);
}

// Replays.

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

// Plays the first episode of a task's results.
static wk_status play(job *j, int task, replay_clip *f, wk_error *err)
{
    const wk_domain *domain = j->run.world.domain;
    const char *name = domain->tasks[task].name;
    const wk_result *score = j->results.results.items;
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    wk_eval_episode played;
    int policy, count;
    char path[WK_PATH_MAX];
    while (strcmp(score->task, name) != 0)
        score++;
    WK_TRY(wk_saved_run_policy(&j->run, task, &policy, err));
    WK_TRY(
        wk_eval_cases(domain, wk_run_thetas_case(&j->thetas), score->set, 1, cases, &count, err));
    cases[0].episodes = 1;
    f->every = domain->episode_steps > FRAMES ? 2 : 1;
    WK_TRY(wk_image_create(SIDE, SIDE, 0, &f->frame, err));
    for (int i = 0; i < f->formats; i++) {
        WK_TRY(wk_path_print(path, err, "%s/replay-%s.%s", j->unfinished, name, endings[i]));
        WK_TRY(wk_animation_create(path, SIDE, SIDE, domain->step_seconds * f->every,
                                   &f->animations[i], err));
    }
    wk_eval_config config = {.domain = domain,
                             .options = j->run.world.options,
                             .task = task,
                             .learner = j->run.weights.learner,
                             .policy = policy,
                             .mode = WK_ACT_MODE,
                             .cases = cases,
                             .n_cases = 1,
                             .seed = score->eval_seed,
                             .threads = j->config->threads,
                             .on_row = add_frame,
                             .context = f};
    WK_TRY(wk_evaluate(&config, &played, err));
    for (int i = 0; i < f->formats; i++)
        WK_TRY(wk_animation_write(f->animations[i], err));
    wk_text theta = {0};
    for (int i = 0; i < domain->n_params; i++)
        wk_text_printf(&theta, "%s%s=%g", i ? ", " : "", domain->params[i].name, played.theta[i]);
    const wk_card_replay replay = {.task = name,
                                   .theta = wk_report_take(j->memory, &theta),
                                   .set = wk_report_printf(j->memory, "%s", cases[0].name),
                                   .seed = score->eval_seed,
                                   .score = domain->tasks[task].has_completion
                                                ? (double)played.completion[task]
                                                : played.returns[task]};
    wk_report_push(j->memory, &j->replays, replay);
    return WK_OK;
}

static wk_status make_replays(job *j, wk_error *err)
{
    const wk_domain *domain = j->run.world.domain;
    if (j->config->no_video || domain->observation.no_image) return WK_OK;
    wk_error missing = {0};
    j->has_mp4 = wk_animation_find_ffmpeg(&missing) == WK_OK;
    if (!j->has_mp4)
        wk_log_line(j->config->log, WK_LOG_WARN, "the replays are GIFs without MP4: %s",
                    missing.message);
    wk_progress_next(j->config->progress, "frames",
                     (int64_t)j->tasks.count * (domain->episode_steps + 1));
    for (size_t i = 0; i < j->tasks.count; i++) {
        int task;
        const char *name = j->tasks.items[i];
        replay_clip f = {.progress = j->config->progress, .formats = j->has_mp4 ? 2 : 1};
        WK_TRY(wk_domain_task(domain, name, &task, err));
        if (is_finetuned(j)) WK_TRY(load(j, name, err));
        wk_status status = play(j, task, &f, err);
        for (int k = 0; k < f.formats; k++) {
            wk_animation_destroy(f.animations[k]);
            list_file(j, wk_report_printf(j->memory, "replay-%s.%s", name, endings[k]), false);
        }
        wk_image_free(&f.frame);
        WK_TRY(status);
    }
    return wk_report_memory_check(j->memory, err);
}

// The folder.

static wk_status copy_files(job *j, wk_error *err)
{
    for (size_t i = 0; i < j->files.count; i++) {
        char from[WK_PATH_MAX], to[WK_PATH_MAX];
        const wk_card_file *file = &j->files.items[i];
        WK_TRY(wk_path_join(j->config->run, file->path, from, err));
        if (wk_path_join(j->unfinished, file->path, to, NULL) != WK_OK)
            return wk_fail(err, WK_E_INPUT, "--out '%s': the path is too long", j->config->out);
        char *slash = strrchr(to, '/');
        *slash = 0;
        WK_TRY(wk_dir_create(to, err));
        *slash = '/';
        WK_TRY(file->compact ? wk_weights_write_compact(from, to, err)
                             : wk_file_copy_in(NULL, from, to, err));
    }
    return WK_OK;
}

static wk_status write_licence(job *j, wk_error *err)
{
    char path[WK_PATH_MAX], *own = NULL;
    const wk_asset *usual = wk_asset_find("LICENSE");
    size_t size = usual->size;
    if (j->config->licence) WK_TRY(wk_file_read(j->config->licence, TEXT_LIMIT, &own, &size, err));
    wk_status status = wk_path_join(j->unfinished, "LICENSE", path, err);
    if (status == WK_OK) status = wk_file_write(path, own ? own : usual->content, size, err);
    free(own);
    list_file(j, "LICENSE", false);
    return status == WK_OK ? wk_report_memory_check(j->memory, err) : status;
}

static wk_status write_readme(job *j, wk_error *err)
{
    char path[WK_PATH_MAX];
    for (size_t i = 0; i < j->files.count; i++) {
        WK_TRY(wk_path_join(j->unfinished, j->files.items[i].path, path, err));
        WK_TRY(wk_sha256_file(path, j->files.items[i].sha256, err));
    }
    const wk_card card = {.config = &j->run.config,
                          .domain = j->run.world.domain,
                          .policy = j->weights.policy,
                          .name = j->weights.source.name,
                          .step = j->step,
                          .own_licence = j->config->licence != NULL,
                          .compact =
                              j->config->compact || wk_learner_is_compact(j->run.weights.learner),
                          .scores = j->results.results.items,
                          .n_scores = j->results.results.count,
                          .replays = j->replays.items,
                          .n_replays = j->replays.count,
                          .has_mp4 = j->has_mp4,
                          .files = j->files.items,
                          .n_files = j->files.count};
    WK_TRY(wk_path_join(j->unfinished, README, path, err));
    wk_text text = {0};
    wk_card_readme(&card, &text);
    return wk_file_write_text(NULL, path, &text, err);
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

// Whether an entry of the folder is what an interrupted call left there; `moved`: the names that it
// was moving up, each in a line, or NULL.
static bool is_left_over(const char *name, const char *moved)
{
    size_t length = strlen(name);
    for (const char *at = moved; at && *at; at += strcspn(at, "\n"), at += *at != 0)
        if (strncmp(at, name, length) == 0 && at[length] == '\n') return true;
    return strcmp(name, UNFINISHED) == 0 || strcmp(name, MOVING) == 0;
}

// Refuses a folder that has anything in it, but for what an interrupted call left; `clear` removes
// that. The list of what was moved comes first by name, and is removed last.
static wk_status check_out(const char *out, bool clear, wk_error *err)
{
    wk_dir *dir, *link = NULL;
    wk_names names = {0};
    wk_entry entry;
    char *moved = NULL;
    bool there;
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

// A call that fails leaves nothing behind.
static wk_status make_folder(job *j, wk_error *err)
{
    const char *path = j->config->out;
    bool there;
    wk_dir *out = NULL;
    if (wk_path_join(path, UNFINISHED, j->unfinished, NULL) != WK_OK)
        return wk_fail(err, WK_E_INPUT, "--out '%s': the path is too long", path);
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    WK_TRY(check_out(path, true, err));
    WK_TRY(wk_dir_create(path, err));
    WK_TRY(wk_dir_open(NULL, path, &out, err));
    wk_status status = wk_dir_make_below(path, UNFINISHED, err);
    if (status == WK_OK) status = copy_files(j, err);
    if (status == WK_OK) status = write_licence(j, err);
    if (status == WK_OK) status = make_replays(j, err);
    if (status == WK_OK) status = write_readme(j, err);
    if (status == WK_OK) status = move_up(j, out, err);
    if (status == WK_OK) status = wk_dir_remove_dir(out, UNFINISHED, err);
    if (status == WK_OK) status = wk_dir_remove(out, MOVING, err);
    if (status == WK_OK) status = wk_dir_sync(out, err);
    if (status != WK_OK) (void)check_out(path, true, NULL);
    wk_dir_close(out);
    if (status != WK_OK && !there) (void)rmdir(path); // fails where something is in it
    return status;
}

// What can be wrong with the question comes before the folder is made.
static wk_status make(job *j, wk_error *err)
{
    const wk_card_config *c = j->config;
    const wk_saved_run_options options = {
        .depth = WK_SAVED_WORLD, .plugins = c->no_video ? NULL : c->named, .log = c->log};
    WK_TRY(check_out(c->out, false, err));
    WK_TRY(wk_saved_run_open(c->run, &options, &j->run, err));
    WK_TRY(choose_policy(j, err));
    WK_TRY(read_results(j, err));
    WK_TRY(wk_run_config_thetas(&j->run.config, j->run.world.domain, &j->thetas, err));
    for (size_t i = 0; i < j->tasks.count && !c->no_video; i++) {
        int task;
        WK_TRY(wk_domain_task(j->run.world.domain, j->tasks.items[i], &task, err));
        WK_TRY(wk_saved_run_playable(&j->run, task, err));
    }
    for (size_t i = 0; i < n_weights(j); i++)
        WK_TRY(load(j, j->tasks.items[i], err));
    WK_TRY(list_files(j, err));
    return make_folder(j, err);
}

wk_status wk_card_make(const wk_card_config *config, wk_card_summary *out, wk_error *err)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return wk_fail(err, WK_E_MEMORY, "no memory for a card");
    j->config = config;
    j->memory = &j->results.memory;
    wk_status status = make(j, err);
    if (status == WK_OK) {
        *out = (wk_card_summary){.step = j->step,
                                 .action_repeat = j->run.world.domain->action_repeat,
                                 .tasks = j->tasks.count,
                                 .results = j->results.results.count,
                                 .files = j->files.count + 1};
        snprintf(out->policy, sizeof out->policy, "%s", j->weights.policy);
    }
    wk_weights_answer_free(&j->weights);
    wk_saved_run_close(&j->run);
    wk_arena_reset(&j->memory->arena);
    free(j);
    return status;
}
