// Names of files by step; which runs there are below a directory, whether one may begin in it, how
// far a run is by its files, and what interrupted saves have left there.
#include "base/file.h"
#include "base/json.h"
#include "config/config.h"
#include "run/checkpoint.h"
#include "run/disk.h"
#include "run/rewards.h"
#include "run/saved_run.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void wk_steps_text(uint64_t steps, int action_repeat, char out[WK_STEPS_TEXT_MAX])
{
    int used = snprintf(out, WK_STEPS_TEXT_MAX, "%" PRIu64 " agent steps", steps);
    if (action_repeat > 1)
        snprintf(out + used, WK_STEPS_TEXT_MAX - (size_t)used, " (%" PRIu64 " control steps)",
                 steps * (uint64_t)action_repeat);
}

void wk_step_name(const char *before, uint64_t step, const char *after, char out[WK_STEP_NAME_MAX])
{
    snprintf(out, WK_STEP_NAME_MAX, "%sstep-%012" PRIu64 "%s", before, step, after);
}

// Whether `name` is exactly what wk_step_name gives for some step.
static bool parse_step(const char *name, const char *before, const char *after, uint64_t *step)
{
    char again[WK_STEP_NAME_MAX];
    size_t length = strlen(before);
    if (strncmp(name, before, length) != 0) return false;
    if (sscanf(name + length, "step-%20" SCNu64, step) != 1) return false;
    wk_step_name(before, *step, after, again);
    return strcmp(name, again) == 0;
}

wk_status wk_steps_list(const wk_dir *dir, const char *before, const char *after, wk_steps *out,
                        wk_error *err)
{
    wk_names names = {0};
    wk_status status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        uint64_t step;
        if (!parse_step(names.items[i], before, after, &step)) continue;
        if (!wk_array_push(out, step))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the steps in '%s'", wk_dir_path(dir));
    }
    wk_names_free(&names);
    if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, wk_compare_u64);
    return status;
}

static bool has(const char *directory, const char *name)
{
    char path[WK_PATH_MAX];
    bool there = false;
    return wk_path_join(directory, name, path, NULL) == WK_OK &&
           wk_file_exists_in(NULL, path, &there, NULL) == WK_OK && there;
}

// Whether a directory has a run's config.yaml: other programs have files of this name too.
static bool is_run(const char *directory)
{
    char path[WK_PATH_MAX];
    wk_run_config config;
    if (!has(directory, "config.yaml")) return false;
    if (has(directory, "checkpoints")) return true;
    return wk_path_join(directory, "config.yaml", path, NULL) == WK_OK &&
           wk_run_config_read(path, &config, NULL) == WK_OK;
}

// What a directory holds besides a run of its own.
typedef struct holding {
    bool sweep;
    const char *name;      // "a sweep", "a population", "runs in directories of their own", or NULL
    char run[WK_PATH_MAX]; // the first run directly below it; "" where there is none
} holding;

static holding look(const char *directory)
{
    holding found = {.sweep = has(directory, "sweep/grid.yaml")};
    wk_names names = {0};
    (void)wk_path_list(directory, &names, NULL);
    for (size_t i = 0; i < names.count && !*found.run; i++) {
        if (names.items[i][0] == '.') continue; // hidden
        if (wk_path_join(directory, names.items[i], found.run, NULL) != WK_OK || !is_run(found.run))
            *found.run = 0;
    }
    wk_names_free(&names);
    if (found.sweep)
        found.name = "a sweep";
    else if (has(directory, WK_POPULATION_FILE))
        found.name = "a population";
    else if (*found.run)
        found.name = "runs in directories of their own";
    return found;
}

wk_status wk_run_missing(const char *directory, wk_status status, wk_error *err)
{
    holding found = look(directory);
    if (!found.name)
        return wk_fail(err, status,
                       "'%s' holds no run (no config.yaml); give the --logdir of 'waker train'",
                       directory);
    if (!*found.run)
        return wk_fail(err, status, "'%s' holds no run but %s, none of whose runs has begun",
                       directory, found.name);
    return wk_fail(err, status, "'%s' holds no run but %s; give one of its runs, for example '%s'",
                   directory, found.name, found.run);
}

// The deepest directory of a path that exists, without links; malloc'd, NULL where there is none.
static char *existing_part(const char *path)
{
    char *part = strdup(path), *real = NULL;
    while (part && !(real = realpath(part, NULL)) && *part) {
        char *slash = strrchr(part, '/');
        if (slash && slash > part)
            *slash = 0;
        else
            strcpy(part, slash ? "/" : strcmp(part, ".") == 0 ? "" : ".");
    }
    free(part);
    return real;
}

wk_status wk_run_place_check(const char *directory, wk_error *err)
{
    bool there;
    char *real = realpath(directory, NULL);
    bool root = real && strcmp(real, "/") == 0;
    free(real);
    if (root)
        return wk_fail(err, WK_E_INPUT,
                       "'%s' is the root of the file system; give the run a directory of its own",
                       directory);
    WK_TRY(wk_file_exists_in(NULL, directory, &there, err));
    if (there && !has(directory, "."))
        return wk_fail(err, WK_E_INPUT, "'%s' is a file; give the run a directory", directory);

    // What it holds.
    holding found = look(directory);
    if (found.name) {
        char advice[WK_PATH_MAX + 64] = "";
        if (found.sweep)
            snprintf(advice, sizeof advice, "resume it with 'waker sweep --logdir %.4000s', or ",
                     directory);
        else if (*found.run)
            snprintf(advice, sizeof advice, "resume one of them (--logdir %.4000s), or ",
                     found.run);
        return wk_fail(err, WK_E_INPUT,
                       "'%s' holds %s; %sgive the new run a directory of its own (--logdir "
                       "%s/NAME)",
                       directory, found.name, advice, directory);
    }

    // What it lies in.
    wk_status status = WK_OK;
    char *above = existing_part(directory);
    while (above && *above && !is_run(above))
        *strrchr(above, '/') = 0;
    if (above && *above)
        status = wk_fail(err, WK_E_INPUT,
                         "'%s' lies within the directory of the run '%s'; give the new run a "
                         "directory outside of it",
                         directory, above);
    free(above);
    return status;
}

enum { DEPTH_MAX = 8 };

wk_status wk_path_stat(const char *path, bool *there, bool *directory, wk_error *err)
{
    struct stat info;
    *there = stat(path, &info) == 0;
    *directory = *there && S_ISDIR(info.st_mode);
    // Links may lead nowhere, or round in circles.
    bool nothing = !*there && (errno == ENOENT || errno == ELOOP);
    return *there || nothing ? WK_OK : wk_file_error(err, "cannot look at", path);
}

// Whether a run makes directories of this name in its own. Fine-tunings in them have a config.yaml,
// but are no runs of their own.
static bool is_part_of_run(const char *name)
{
    static const char *const names[] = {"checkpoints", "replay",   "snapshots", "eval",
                                        "adapt",       "finetune", "rewards",   "benchmark"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static wk_status find_runs(const char *path, int depth, wk_names *out, wk_error *err)
{
    char inner[WK_PATH_MAX];
    WK_TRY(wk_path_print(inner, err, "%s/config.yaml", path));
    bool is_run, there, directory;
    WK_TRY(wk_path_stat(inner, &is_run, &directory, err));
    if (is_run) {
        char *copy = wk_array_reserve(out, 1) ? strdup(path) : NULL;
        if (!copy) return wk_fail(err, WK_E_MEMORY, "no memory for the run '%s'", path);
        out->items[out->count++] = copy;
    }
    if (depth == DEPTH_MAX) return WK_OK;
    wk_names names = {0};
    wk_status status = wk_path_list(path, &names, err);
    if (is_run && status == WK_E_NOT_FOUND) status = WK_OK; // deleted just now
    for (size_t i = 0; i < names.count && status == WK_OK; i++) {
        if (names.items[i][0] == '.') continue; // hidden
        if (is_run && is_part_of_run(names.items[i])) continue;
        if (wk_path_join(path, names.items[i], inner, NULL) != WK_OK) continue;
        status = wk_path_stat(inner, &there, &directory, err);
        if (status == WK_OK && directory) status = find_runs(inner, depth + 1, out, err);
    }
    wk_names_free(&names);
    return status;
}

wk_status wk_run_list(const char *path, wk_names *out, wk_error *err)
{
    return find_runs(path, 0, out, err);
}

// Length of the name that a temporary file was to get (base/file.c adds ".tmp.PID.ATTEMPT"), or 0.
static size_t target_length(const char *name)
{
    static const char digits[] = "0123456789", between[] = ".tmp.";
    const char *at = strstr(name, between);
    if (!at) return 0;
    const char *rest = at + strlen(between);
    size_t pid = strspn(rest, digits);
    if (pid == 0 || rest[pid] != '.') return 0;
    size_t attempt = strspn(rest + pid + 1, digits);
    return attempt > 0 && !rest[pid + 1 + attempt] ? (size_t)(at - name) : 0;
}

// Whether a run, an adaptation or a fine-tuning writes files of this name in the directories that
// are searched.
static bool is_run_file(const char *name)
{
    static const char *const names[] = {"config.yaml",
                                        "plugin.json",
                                        WK_CHECKPOINT_NONE_YET,
                                        "adapt.yaml",
                                        "checkpoint.safetensors",
                                        "weights.safetensors"};
    uint64_t step;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return parse_step(name, "", ".safetensors", &step);
}

// Removes the temporary files that killed processes have left of those that are written there.
static wk_status remove_left_over(const wk_dir *dir, bool (*is_written)(const char *name),
                                  wk_error *err)
{
    wk_names names = {0};
    wk_status status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        wk_entry entry;
        char target[WK_STEP_NAME_MAX];
        size_t length = target_length(names.items[i]);
        if (length == 0 || length >= sizeof target) continue;
        snprintf(target, sizeof target, "%.*s", (int)length, names.items[i]);
        if (!is_written(target)) continue;
        status = wk_dir_stat(dir, names.items[i], &entry, NULL, err);
        if (status == WK_OK && entry == WK_ENTRY_FILE)
            status = wk_dir_remove(dir, names.items[i], err);
    }
    wk_names_free(&names);
    return status;
}

wk_status wk_leftovers_remove(const wk_dir *run, wk_error *err)
{
    static const struct {
        const char *folder;
        bool (*is_written)(const char *name);
    } places[] = {{WK_CHECKPOINT_FOLDER, is_run_file},
                  {"snapshots", is_run_file},
                  {WK_REWARD_FOLDER, wk_reward_file_named}};
    wk_status status = remove_left_over(run, is_run_file, err);
    for (size_t i = 0; i < sizeof places / sizeof *places && status == WK_OK; i++) {
        wk_dir *folder = NULL;
        wk_error said = {0};
        status = wk_dir_open_nofollow(run, places[i].folder, &folder, &said);
        if (status == WK_OK)
            status = remove_left_over(folder, places[i].is_written, err);
        else
            status = status == WK_E_NOT_FOUND ? WK_OK : wk_fail(err, status, "%s", said.message);
        wk_dir_close(folder);
    }
    return status;
}

enum { TAIL_BYTES = 1 << 15 };

// When a name was last written; 0 where it cannot be looked at.
static double time_of(const wk_dir *dir, const char *name)
{
    struct stat info;
    if (fstatat(wk_dir_fd(dir), name, &info, 0) != 0) return 0;
    return (double)info.st_mtim.tv_sec + 1e-9 * (double)info.st_mtim.tv_nsec;
}

static wk_status read_checkpoints(const wk_dir *run, wk_run_progress *out, wk_error *err)
{
    wk_run_moment *const newest[] = {&out->saved, &out->older};
    wk_dir *dir = NULL;
    wk_steps steps = {0};
    wk_status status = wk_dir_open(run, WK_CHECKPOINT_FOLDER, &dir, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = wk_steps_list(dir, "", "", &steps, err);
    for (size_t i = 0; i < 2 && i < steps.count && status == WK_OK; i++) {
        char name[WK_STEP_NAME_MAX];
        uint64_t step = steps.items[steps.count - 1 - i];
        wk_step_name("", step, "", name);
        *newest[i] = (wk_run_moment){step, time_of(dir, name)};
    }
    wk_array_free(&steps);
    wk_dir_close(dir);
    return status;
}

static wk_status read_metrics(const wk_dir *run, wk_run_progress *out, wk_error *err)
{
    wk_file_reader *reader = NULL;
    wk_status status = wk_file_reader_open_in(run, "metrics.jsonl", &reader, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    WK_TRY(status);
    uint64_t size = wk_file_reader_size(reader);
    size_t tail = size < TAIL_BYTES ? (size_t)size : TAIL_BYTES;
    char *bytes = malloc(tail + 1);
    status = bytes ? wk_file_reader_read(reader, size - tail, bytes, tail, err)
                   : wk_fail(err, WK_E_MEMORY, "no memory for '%s'", wk_dir_path(run));
    // Whole lines within the last bytes; a line that is just being written has no end.
    char *line = bytes, *end = bytes ? bytes + tail : NULL;
    if (status == WK_OK && tail < size) {
        line = memchr(bytes, '\n', tail);
        line = line ? line + 1 : end;
    }
    for (char *next; status == WK_OK && line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        if (!next) break;
        wk_document d;
        bool sound =
            wk_document_start("metrics.jsonl", line, (size_t)(next - line), &d, NULL) == WK_OK;
        while (sound && wk_document_member(&d))
            if (!wk_document_take_integer(&d, "agent_step", &out->now.steps) &&
                !wk_document_take_number(&d, "train/model_loss", &out->model_loss))
                wk_document_take_number(&d, "train/disagreement", &out->mean_error);
        (void)wk_document_close(&d, NULL);
    }
    if (status == WK_OK) out->now.time = time_of(run, "metrics.jsonl");
    free(bytes);
    wk_file_reader_close(reader);
    return status;
}

wk_status wk_run_progress_read_in(const wk_dir *run, wk_run_progress *out, wk_error *err)
{
    bool held, last;
    char weights[WK_STEP_NAME_MAX];
    out->saved = out->older = (wk_run_moment){0};
    WK_TRY(wk_lock_held(run, &held, err));
    WK_TRY(read_checkpoints(run, out, err));
    WK_TRY(read_metrics(run, out, err));
    // The last weights are written after the last checkpoint.
    wk_step_name("snapshots/", out->saved.steps, ".safetensors", weights);
    WK_TRY(wk_file_exists_in(run, weights, &last, err));
    // A run that goes on does so from its newest checkpoint.
    double since = held ? time_of(run, "lock") : 0;
    if (since > out->saved.time) out->saved.time = since;
    if (since > out->older.time) out->older.time = since;
    // What was logged after the newest checkpoint is made again when nobody is at it.
    if (out->saved.steps > out->now.steps || !held) out->now = out->saved;
    bool done = last && out->saved.steps >= out->total;
    out->phase = held ? WK_RUN_PHASE_RUNNING : done ? WK_RUN_PHASE_DONE : WK_RUN_PHASE_STOPPED;
    return WK_OK;
}

wk_status wk_run_progress_read(const char *directory, wk_run_progress *out, wk_error *err)
{
    const wk_saved_run_options options = {.depth = WK_SAVED_CONFIG};
    wk_saved_run saved = {0};
    wk_dir *run = NULL;
    wk_status status = wk_saved_run_open(directory, &options, &saved, err);
    *out = (wk_run_progress){.total = (uint64_t)saved.config.steps,
                             .prefill = (uint64_t)saved.config.prefill,
                             .train_every = saved.config.train_every,
                             .model_loss = NAN,
                             .mean_error = NAN};
    wk_saved_run_close(&saved);
    if (status == WK_OK) status = wk_dir_open(NULL, directory, &run, err);
    if (status == WK_OK) status = wk_run_progress_read_in(run, out, err);
    wk_dir_close(run);
    return status;
}

double wk_run_rate(const wk_run_progress *progress, const wk_run_moment *before,
                   const wk_run_moment *after)
{
    if (before->steps < progress->prefill || !(before->time > 0) || !(after->time > before->time) ||
        after->steps <= before->steps)
        return NAN;
    return (double)(after->steps - before->steps) / (after->time - before->time);
}

double wk_run_rate_by_files(const wk_run_progress *p)
{
    double rate = wk_run_rate(p, &p->saved, &p->now);
    return isnan(rate) ? wk_run_rate(p, &p->older, &p->saved) : rate;
}

double wk_run_seconds_left(const wk_run_progress *p, double rate)
{
    return p->total > p->now.steps ? (double)(p->total - p->now.steps) / rate : NAN;
}
