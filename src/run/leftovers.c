#include "run/leftovers.h"

#include "run/checkpoint/checkpoint.h"
#include "run/checkpoint/steps.h"
#include "run/setup/reward_file.h"
#include <string.h>

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
    return wk_step_parse(name, "", ".safetensors", &step);
}

// Whether a name is that of a temporary file of one that is written.
static bool is_left_over(const char *name, bool (*is_written)(const char *name))
{
    char target[WK_STEP_NAME_MAX];
    size_t length = target_length(name);
    if (length == 0 || length >= sizeof target) return false;
    memcpy(target, name, length);
    target[length] = 0;
    return is_written(target);
}

static wk_status remove_files(const wk_dir *dir, bool (*is_written)(const char *name),
                              wk_error *err)
{
    wk_names names = {0};
    wk_status status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        wk_entry entry;
        if (!is_left_over(names.items[i], is_written)) continue;
        status = wk_dir_stat(dir, names.items[i], &entry, NULL, err);
        if (status == WK_OK && entry == WK_ENTRY_FILE)
            status = wk_dir_remove(dir, names.items[i], err);
    }
    wk_names_free(&names);
    return status;
}

static wk_status remove_in_folder(const wk_dir *run, const char *name,
                                  bool (*is_written)(const char *name), wk_error *err)
{
    wk_dir *folder = NULL;
    wk_error said = {0};
    wk_status status = wk_dir_open_nofollow(run, name, &folder, &said);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status != WK_OK && err) *err = said;
    if (status == WK_OK) status = remove_files(folder, is_written, err);
    wk_dir_close(folder);
    return status;
}

wk_status wk_leftovers_remove(const wk_dir *run, wk_error *err)
{
    WK_TRY(remove_files(run, is_run_file, err));
    WK_TRY(remove_in_folder(run, WK_CHECKPOINT_FOLDER, is_run_file, err));
    WK_TRY(remove_in_folder(run, "snapshots", is_run_file, err));
    return remove_in_folder(run, WK_REWARD_FOLDER, wk_reward_file_named, err);
}
