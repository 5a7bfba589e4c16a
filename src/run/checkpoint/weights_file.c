#include "run/checkpoint/weights_file.h"

#include "base/file.h"
#include "base/text.h"
#include "config/parts.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *wk_weights_kind_name(wk_weights_kind kind)
{
    static const char *const names[] = {"snapshot", "checkpoint", "adapted", "finetuned"};
    return names[kind];
}

wk_status wk_weights_check_name(const char *name, wk_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = name ? strlen(name) : 1;
    if (length > 0 && length < WK_WEIGHTS_NAME_MAX && (!name || strspn(name, letters) == length))
        return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "--name '%.60s': a name has 1 to %d of the characters a-z, 0-9 and '-'", name,
                   WK_WEIGHTS_NAME_MAX - 1);
}

void wk_weights_title(wk_weights_source source, char out[WK_WEIGHTS_TITLE_MAX])
{
    snprintf(out, WK_WEIGHTS_TITLE_MAX, "%s%s%s", wk_weights_kind_name(source.kind),
             source.name ? "." : "", source.name ? source.name : "");
}

void wk_weights_path(const char *run, wk_weights_source source, uint64_t step,
                     char out[WK_PATH_MAX])
{
    static const struct {
        const char *folder, *file;
    } places[] = {{"snapshots", ".safetensors"},
                  {"checkpoints", "/learner.safetensors"},
                  {"adapt", "/weights.safetensors"},
                  {"finetune", "/weights.safetensors"}};
    snprintf(out, WK_PATH_MAX, "%s/%s/step-%012" PRIu64 "%s%s%s%s%s", run,
             places[source.kind].folder, step, source.task ? "-" : "",
             source.task ? source.task : "", source.name ? "." : "", source.name ? source.name : "",
             places[source.kind].file);
}

wk_status wk_weights_steps(const char *run, wk_weights_source source, wk_steps *out, wk_error *err)
{
    char path[WK_PATH_MAX], after[WK_STEP_NAME_MAX];
    wk_dir *dir = NULL;
    wk_steps named = {0};
    wk_weights_path(run, source, 0, path);
    char *name = strstr(path + strlen(run), "/step-");
    *name++ = 0;
    wk_status status = wk_dir_open(NULL, path, &dir, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status != WK_OK) return status;
    // What follows the step in the name itself, without the file in a directory.
    snprintf(after, sizeof after, "%s", name + strlen("step-000000000000"));
    after[strcspn(after, "/")] = 0;
    status = wk_steps_list(dir, "", after, &named, err);
    // Those whose file is there: a directory may have been made for weights to come.
    for (size_t i = 0; i < named.count && status == WK_OK; i++) {
        bool there = false;
        wk_weights_path(run, source, named.items[i], path);
        status = wk_file_exists_in(dir, path + strlen(wk_dir_path(dir)) + 1, &there, err);
        if (status == WK_OK && there && !wk_array_push(out, named.items[i]))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the steps of '%s'", run);
    }
    wk_array_free(&named);
    wk_dir_close(dir);
    return status;
}

static int compare_folders(const void *a, const void *b)
{
    const wk_weights_folder *x = a, *y = b;
    int order = strcmp(x->task, y->task);
    return order ? order : strcmp(x->name, y->name);
}

wk_weights_source wk_weights_folder_source(wk_weights_kind kind, const wk_weights_folder *folder)
{
    return (wk_weights_source){kind, *folder->task ? folder->task : NULL,
                               *folder->name ? folder->name : NULL};
}

// Task and name in "step-000000500000-walk.NAME"; false for other names.
static bool read_folder(const char *text, wk_weights_kind kind, wk_weights_folder *out)
{
    char path[WK_PATH_MAX], *end;
    *out = (wk_weights_folder){0};
    if (strncmp(text, "step-", 5) != 0) return false;
    uint64_t step = strtoull(text + 5, &end, 10);
    if (*end == '-') sscanf(end, "-%63[a-z0-9_-]", out->task);
    const char *dot = strchr(end, '.');
    if (dot) snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, dot + 1);
    if ((kind == WK_WEIGHTS_FINETUNED) != (*out->task != 0)) return false;
    if (dot && wk_weights_check_name(out->name, NULL) != WK_OK) return false;
    wk_weights_path(".", wk_weights_folder_source(kind, out), step, path);
    *strrchr(path, '/') = 0;
    return strcmp(strrchr(path, '/') + 1, text) == 0;
}

static bool has_folder(const wk_weights_folders *list, const wk_weights_folder *one)
{
    for (size_t i = 0; i < list->count; i++)
        if (compare_folders(&list->items[i], one) == 0) return true;
    return false;
}

wk_status wk_weights_list(const char *run, wk_weights_kind kind, wk_weights_folders *out,
                          wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_join(run, kind == WK_WEIGHTS_ADAPTED ? "adapt" : "finetune", path, err));
    wk_dir *dir = NULL;
    wk_names names = {0};
    wk_status status = wk_dir_open(NULL, path, &dir, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = wk_dir_list(dir, &names, err);
    wk_weights_folder one;
    for (size_t i = 0; status == WK_OK && i < names.count; i++)
        if (read_folder(names.items[i], kind, &one) && !has_folder(out, &one) &&
            !wk_array_push(out, one))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the folders in '%s'", path);
    wk_names_free(&names);
    wk_dir_close(dir);
    if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, compare_folders);
    return status;
}

// How a user gets weights of a kind.
static const char *advice(wk_weights_kind kind)
{
    switch (kind) {
    case WK_WEIGHTS_SNAPSHOT:
        return "a run writes one every snapshot.every agent steps and when it ends";
    case WK_WEIGHTS_CHECKPOINT:
        return "a run writes its first within a minute, and its last when it ends";
    case WK_WEIGHTS_ADAPTED:
        return "create them with 'waker adapt'";
    case WK_WEIGHTS_FINETUNED:
        break;
    }
    return "create one with 'waker finetune'";
}

static void describe(wk_weights_source source, wk_text *out)
{
    static const char *const words[] = {"snapshot", "checkpoint", "adapted policies",
                                        "fine-tuned policy"};
    wk_text_puts(out, words[source.kind]);
    if (source.task) wk_text_printf(out, " for '%s'", source.task);
    if (source.name) wk_text_printf(out, " named '%s'", source.name);
}

static wk_status report_none(const char *run, wk_weights_source source, int64_t wanted,
                             const wk_steps *steps, wk_error *err)
{
    enum { SHOWN = 12 };
    wk_text what = {0}, there = {0};
    describe(source, &what);
    size_t count = steps->count, first = count > SHOWN ? count - SHOWN : 0;
    for (size_t i = first; i < count; i++)
        wk_text_printf(&there, "%s%" PRIu64, i > first ? ", " : "", steps->items[i]);
    if (count == 0)
        wk_fail(err, WK_E_NOT_FOUND, "'%s' has no %s; %s", run, wk_text_get(&what),
                advice(source.kind));
    else
        wk_fail(err, WK_E_NOT_FOUND,
                "'%s' has no %s at agent step %" PRId64 "; there are agent steps %s%s", run,
                wk_text_get(&what), wanted, first ? "..., " : "", wk_text_get(&there));
    wk_text_free(&what);
    wk_text_free(&there);
    return WK_E_NOT_FOUND;
}

wk_status wk_weights_find(const char *run, wk_weights_source source, int64_t wanted, uint64_t *step,
                          wk_error *err)
{
    wk_steps steps = {0};
    bool found = false;
    wk_status status = wk_weights_steps(run, source, &steps, err);
    for (size_t i = steps.count; i-- > 0 && !found;) {
        found = wanted == WK_STEP_LAST || steps.items[i] == (uint64_t)wanted;
        if (found) *step = steps.items[i];
    }
    if (status == WK_OK && !found) status = report_none(run, source, wanted, &steps, err);
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
