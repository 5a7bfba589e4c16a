#include "train/weights_file.h"

#include "base/file.h"
#include "base/text.h"
#include "train/checkpoint.h"
#include "train/config_parts.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *wk_weights_kind_name(wk_weights_kind kind)
{
    static const char *const names[] = {"snapshot", "checkpoint", "adapted", "finetuned"};
    return names[kind];
}

void wk_weights_path(const char *run, wk_weights_kind kind, uint64_t step, const char *task,
                     char out[WK_WEIGHTS_PATH_MAX])
{
    static const struct {
        const char *folder, *file;
    } places[] = {{"snapshots", ".safetensors"},
                  {"checkpoints", "/learner.safetensors"},
                  {"adapt", "/weights.safetensors"},
                  {"finetune", "/weights.safetensors"}};
    bool tuned = kind == WK_WEIGHTS_FINETUNED;
    snprintf(out, WK_WEIGHTS_PATH_MAX, "%s/%s/step-%012" PRIu64 "%s%s%s", run, places[kind].folder,
             step, tuned ? "-" : "", tuned ? task : "", places[kind].file);
}

static int compare_steps(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

size_t wk_weights_steps(const char *run, wk_weights_kind kind, const char *task, uint64_t *steps,
                        size_t most)
{
    char path[WK_WEIGHTS_PATH_MAX], other[WK_WEIGHTS_PATH_MAX];
    wk_weights_path(run, kind, 0, task, path);
    *strstr(path + strlen(run), "/step-") = 0;
    DIR *directory = opendir(path);
    size_t count = 0;
    for (struct dirent *entry; directory && count < most && (entry = readdir(directory));) {
        // A name counts if the step in it gives back the name and the file is there.
        uint64_t step;
        if (sscanf(entry->d_name, "step-%" SCNu64, &step) != 1) continue;
        wk_weights_path(run, kind, step, task, other);
        const char *name = other + strlen(path) + 1;
        size_t length = strlen(entry->d_name);
        bool same =
            strncmp(name, entry->d_name, length) == 0 && (!name[length] || name[length] == '/');
        if (same && wk_path_exists(other)) steps[count++] = step;
    }
    if (directory) closedir(directory);
    qsort(steps, count, sizeof *steps, compare_steps);
    return count;
}

static int compare_tasks(const void *a, const void *b)
{
    return strcmp(a, b);
}

// The task in "step-000000500000-walk"; false for other names.
static bool read_task(const char *name, wk_weights_task out)
{
    uint64_t step;
    int used = 0;
    char again[128];
    if (sscanf(name, "step-%" SCNu64 "-%63[a-z0-9_-]%n", &step, out, &used) != 2) return false;
    snprintf(again, sizeof again, "step-%012" PRIu64 "-%s", step, out);
    return strcmp(name, again) == 0;
}

static void add_task(const char *task, wk_weights_task *tasks, size_t most, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(tasks[i], task) == 0) return;
    if (*count < most) snprintf(tasks[(*count)++], sizeof *tasks, "%s", task);
}

wk_status wk_weights_tuned(const char *run, wk_weights_task *tasks, size_t most, size_t *count,
                           wk_error *err)
{
    char path[WK_WEIGHTS_PATH_MAX];
    *count = 0;
    snprintf(path, sizeof path, "%s/finetune", run);
    DIR *directory = opendir(path);
    if (!directory && errno == ENOENT) return WK_OK;
    if (!directory) return wk_fail(err, WK_E_IO, "cannot list '%s': %s", path, strerror(errno));
    wk_weights_task task;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(directory)); errno = 0)
        if (read_task(entry->d_name, task)) add_task(task, tasks, most, count);
    int problem = errno;
    closedir(directory);
    qsort(tasks, *count, sizeof *tasks, compare_tasks);
    if (problem) return wk_fail(err, WK_E_IO, "cannot list '%s': %s", path, strerror(problem));
    return WK_OK;
}

// How a user gets weights of a kind.
static const char *advice(wk_weights_kind kind)
{
    switch (kind) {
    case WK_WEIGHTS_SNAPSHOT:
        return "a run writes one every snapshot.every steps and when it ends";
    case WK_WEIGHTS_CHECKPOINT:
        return "a run writes its first within a minute, and its last when it ends";
    case WK_WEIGHTS_ADAPTED:
        return "'waker adapt' makes them";
    case WK_WEIGHTS_FINETUNED:
        break;
    }
    return "'waker finetune' makes them";
}

static void describe(wk_weights_kind kind, const char *task, wk_text *out)
{
    static const char *const words[] = {"snapshot", "checkpoint", "adapted policies",
                                        "fine-tuned policy"};
    wk_text_puts(out, words[kind]);
    if (kind == WK_WEIGHTS_FINETUNED) wk_text_printf(out, " for '%s'", task);
}

static wk_status report_none(const char *run, wk_weights_kind kind, int64_t wanted,
                             const char *task, const uint64_t *steps, size_t count, wk_error *err)
{
    enum { SHOWN = 12 };
    wk_text what = {0}, there = {0};
    describe(kind, task, &what);
    size_t first = count > SHOWN ? count - SHOWN : 0;
    for (size_t i = first; i < count; i++)
        wk_text_printf(&there, "%s%" PRIu64, i > first ? ", " : "", steps[i]);
    if (count == 0)
        wk_fail(err, WK_E_NOT_FOUND, "'%s' has no %s; %s", run, wk_text_get(&what), advice(kind));
    else
        wk_fail(err, WK_E_NOT_FOUND, "'%s' has no %s of step %" PRId64 "; there are those of %s%s",
                run, wk_text_get(&what), wanted, first ? "..., " : "", wk_text_get(&there));
    wk_text_free(&what);
    wk_text_free(&there);
    return WK_E_NOT_FOUND;
}

wk_status wk_weights_find(const char *run, wk_weights_kind kind, int64_t wanted, const char *task,
                          uint64_t *step, wk_error *err)
{
    uint64_t steps[WK_WEIGHTS_STEPS_MAX];
    size_t count = wk_weights_steps(run, kind, task, steps, WK_WEIGHTS_STEPS_MAX);
    for (size_t i = count; i-- > 0;) {
        if (wanted != WK_STEP_LAST && steps[i] != (uint64_t)wanted) continue;
        *step = steps[i];
        return WK_OK;
    }
    return report_none(run, kind, wanted, task, steps, count, err);
}

wk_status wk_weights_save(const wk_learner *learner, const wk_weights_origin *origin,
                          const char *path, wk_error *err)
{
    char step[24], seed[24];
    snprintf(step, sizeof step, "%" PRIu64, origin->step);
    snprintf(seed, sizeof seed, "%" PRIu64, origin->config->seed);
    char tasks[WK_RUN_TEXT_MAX];
    WK_TRY(wk_run_config_task_names(origin->config, origin->domain, tasks, err));
    wk_text episodes = {0};
    wk_extent_print(origin->extent, &episodes);
    wk_status status = episodes.failed
                           ? wk_fail(err, WK_E_MEMORY, "no memory for the labels of '%s'", path)
                           : WK_OK;
    wk_weights_label labels[] = {{"domain", origin->domain->name},
                                 {"curriculum", origin->config->curriculum_rule},
                                 {"seed", seed},
                                 {"step", step},
                                 {"tasks", tasks},
                                 {"episodes", wk_text_get(&episodes)}};
    size_t count = sizeof labels / sizeof *labels;
    if (status == WK_OK) status = wk_learner_save_weights(learner, path, labels, count, err);
    wk_text_free(&episodes);
    return status;
}

// Opens a file and finds one of its labels; close the file also after a failure.
static wk_status find_label(const char *path, const char *name, wk_safetensors **file,
                            const char **label, wk_error *err)
{
    WK_TRY(wk_safetensors_open(path, file, err));
    *label = wk_safetensors_metadata(*file, name);
    if (*label) return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "'%s' has no label '%s': it was not written by a run", path,
                   name);
}

wk_status wk_weights_tasks(const char *path, char tasks[WK_RUN_TEXT_MAX], wk_error *err)
{
    wk_safetensors *file = NULL;
    const char *label;
    wk_status status = find_label(path, "tasks", &file, &label, err);
    if (status == WK_OK) snprintf(tasks, WK_RUN_TEXT_MAX, "%s", label);
    wk_safetensors_close(file);
    return status;
}

wk_status wk_weights_extent(const char *path, wk_extent *out, wk_error *err)
{
    wk_safetensors *file = NULL;
    const char *label;
    wk_status status = find_label(path, "episodes", &file, &label, err);
    if (status == WK_OK) status = wk_extent_parse(label, out, err);
    wk_safetensors_close(file);
    return status;
}
