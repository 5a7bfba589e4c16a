#include "cli/results.h"

#include "base/file.h"
#include "eval/result.h"
#include <stdlib.h>

enum { FILE_LIMIT = 1 << 24 };

// A directory with results holds those of one run.
static wk_status check_owner(const wk_saved_run *run, const char *out, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_run_config other;
    WK_TRY(wk_path_join(out, "config.yaml", path, err));
    bool there;
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (!there) return WK_OK;
    WK_TRY(wk_run_config_read(path, &other, err));
    wk_status status = wk_run_config_resumable(&other, &run->config, err);
    if (status != WK_OK)
        wk_fail_context(err, "--out '%s' has results of another run; choose another directory",
                        out);
    return status;
}

static wk_status copy(const char *from, const char *to, const char *name, wk_error *err)
{
    char source[WK_PATH_MAX], target[WK_PATH_MAX];
    char *bytes;
    size_t size;
    WK_TRY(wk_path_join(from, name, source, err));
    WK_TRY(wk_path_join(to, name, target, err));
    bool wanted, made;
    WK_TRY(wk_file_exists_in(NULL, source, &wanted, err));
    WK_TRY(wk_file_exists_in(NULL, target, &made, err));
    if (!wanted || made) return WK_OK;
    WK_TRY(wk_file_read(source, FILE_LIMIT, &bytes, &size, err));
    wk_status status = wk_file_write(target, bytes, size, err);
    free(bytes);
    return status;
}

// The same folder is made again with the first results: a command that fails before leaves nothing.
static wk_status try_run(const char *directory, wk_error *err)
{
    char folder[WK_PATH_MAX];
    wk_dir *dir = NULL;
    WK_TRY(wk_path_join(directory, "eval", folder, err));
    bool there;
    WK_TRY(wk_file_exists_in(NULL, folder, &there, err));
    if (wk_eval_result_folder(directory, err) != WK_OK)
        return wk_fail_context(
            err, "cannot write the results into the run (--out DIR writes them elsewhere)");
    if (there) return WK_OK;
    WK_TRY(wk_dir_open(NULL, directory, &dir, err));
    wk_status status = wk_dir_remove_dir(dir, "eval", err);
    wk_dir_close(dir);
    return status;
}

wk_status wk_cli_results_directory(const wk_saved_run *run, const char *out, const char **directory,
                                   wk_error *err)
{
    *directory = out ? out : run->directory;
    if (!out) return try_run(run->directory, err);
    WK_TRY(check_owner(run, out, err));
    WK_TRY(wk_eval_result_folder(out, err));
    WK_TRY(copy(run->directory, out, "plugin.json", err));
    return copy(run->directory, out, "config.yaml", err);
}
