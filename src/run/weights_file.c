#include "run/weights_file.h"

#include "base/file.h"
#include "base/text.h"
#include "config/parts.h"
#include "run/checkpoint.h"
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

// Keeps the steps whose file is there: a directory may have been made for weights to come.
static wk_status keep_written(const char *run, wk_weights_kind kind, const char *task,
                              const wk_dir *dir, wk_steps *steps, size_t first, wk_error *err)
{
    size_t kept = first, folder = strlen(wk_dir_path(dir)) + 1;
    for (size_t i = first; i < steps->count; i++) {
        char path[WK_WEIGHTS_PATH_MAX];
        bool there;
        wk_weights_path(run, kind, steps->items[i], task, path);
        WK_TRY(wk_file_exists_in(dir, path + folder, &there, err));
        if (there) steps->items[kept++] = steps->items[i];
    }
    steps->count = kept;
    return WK_OK;
}

wk_status wk_weights_steps(const char *run, wk_weights_kind kind, const char *task, wk_steps *out,
                           wk_error *err)
{
    char path[WK_WEIGHTS_PATH_MAX], after[WK_STEP_NAME_MAX];
    wk_dir *dir = NULL;
    size_t first = out->count;
    wk_weights_path(run, kind, 0, task, path);
    char *name = strstr(path + strlen(run), "/step-");
    *name++ = 0;
    wk_status status = wk_dir_open(NULL, path, &dir, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status != WK_OK) return status;
    // What follows the step in the name itself, without the file in a directory.
    snprintf(after, sizeof after, "%s", name + strlen("step-000000000000"));
    after[strcspn(after, "/")] = 0;
    status = wk_steps_list(dir, "", after, out, err);
    if (status == WK_OK) status = keep_written(run, kind, task, dir, out, first, err);
    wk_dir_close(dir);
    return status;
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

static void add_task(const char *task, wk_weights_task *tasks, size_t max, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(tasks[i], task) == 0) return;
    if (*count < max) snprintf(tasks[(*count)++], sizeof *tasks, "%s", task);
}

wk_status wk_weights_tuned(const char *run, wk_weights_task *tasks, size_t max, size_t *count,
                           wk_error *err)
{
    char path[WK_WEIGHTS_PATH_MAX];
    *count = 0;
    snprintf(path, sizeof path, "%s/finetune", run);
    wk_dir *dir = NULL;
    wk_names names = {0};
    wk_status status = wk_dir_open(NULL, path, &dir, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = wk_dir_list(dir, &names, err);
    wk_weights_task task;
    for (size_t i = 0; status == WK_OK && i < names.count; i++)
        if (read_task(names.items[i], task)) add_task(task, tasks, max, count);
    wk_names_free(&names);
    wk_dir_close(dir);
    if (*count > 0) qsort(tasks, *count, sizeof *tasks, compare_tasks);
    return status;
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
        wk_fail(err, WK_E_NOT_FOUND,
                "'%s' has no %s of agent step %" PRId64 "; there are those of %s%s", run,
                wk_text_get(&what), wanted, first ? "..., " : "", wk_text_get(&there));
    wk_text_free(&what);
    wk_text_free(&there);
    return WK_E_NOT_FOUND;
}

wk_status wk_weights_find(const char *run, wk_weights_kind kind, int64_t wanted, const char *task,
                          uint64_t *step, wk_error *err)
{
    wk_steps steps = {0};
    bool found = false;
    wk_status status = wk_weights_steps(run, kind, task, &steps, err);
    for (size_t i = steps.count; i-- > 0 && !found;) {
        found = wanted == WK_STEP_LAST || steps.items[i] == (uint64_t)wanted;
        if (found) *step = steps.items[i];
    }
    if (status == WK_OK && !found)
        status = report_none(run, kind, wanted, task, steps.items, steps.count, err);
    wk_array_free(&steps);
    return status;
}

wk_status wk_weights_save(const wk_learner *learner, const wk_weights_origin *origin,
                          const wk_dir *dir, const char *name, wk_error *err)
{
    char step[24], seed[24];
    snprintf(step, sizeof step, "%" PRIu64, origin->step);
    snprintf(seed, sizeof seed, "%" PRIu64, origin->config->seed);
    char tasks[WK_RUN_TEXT_MAX];
    WK_TRY(wk_run_config_task_names(origin->config, origin->domain, tasks, err));
    wk_text episodes = {0};
    wk_data_cutoff_print(origin->cutoff, &episodes);
    wk_status status = episodes.failed
                           ? wk_fail(err, WK_E_MEMORY, "no memory for the labels of '%s'", name)
                           : WK_OK;
    wk_weights_label labels[] = {{"domain", origin->domain->name},
                                 {"curriculum", origin->config->curriculum_rule},
                                 {"seed", seed},
                                 {"step", step},
                                 {"tasks", tasks},
                                 {"episodes", wk_text_get(&episodes)}};
    size_t count = sizeof labels / sizeof *labels;
    if (status == WK_OK) status = wk_learner_save_weights(learner, dir, name, labels, count, err);
    wk_text_free(&episodes);
    return status;
}

static const char *checksum_of(const wk_safetensors *file, const char *tensor)
{
    char key[512];
    snprintf(key, sizeof key, "crc32c/%s", tensor);
    return wk_safetensors_metadata(file, key);
}

static bool same_tensors(const wk_safetensors *a, const wk_safetensors *b)
{
    bool same = wk_safetensors_count(a) == wk_safetensors_count(b);
    for (size_t i = 0; same && i < wk_safetensors_count(a); i++) {
        const char *name = wk_safetensors_at(a, i)->name;
        const char *x = checksum_of(a, name), *y = checksum_of(b, name);
        same = x && y && strcmp(x, y) == 0;
    }
    return same;
}

wk_status wk_weights_same(const char *a, const char *b, bool *same, wk_error *err)
{
    wk_safetensors *x = NULL, *y = NULL;
    *same = false;
    wk_status status = wk_safetensors_open(a, &x, err);
    if (status == WK_OK) status = wk_safetensors_open(b, &y, err);
    if (status == WK_OK) *same = same_tensors(x, y);
    wk_safetensors_close(x);
    wk_safetensors_close(y);
    return status == WK_E_NOT_FOUND || status == WK_E_FORMAT ? WK_OK : status;
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

wk_status wk_weights_data_cutoff(const char *path, wk_data_cutoff *out, wk_error *err)
{
    wk_safetensors *file = NULL;
    const char *label;
    wk_status status = find_label(path, "episodes", &file, &label, err);
    if (status == WK_OK) status = wk_data_cutoff_parse(label, out, err);
    wk_safetensors_close(file);
    return status;
}
