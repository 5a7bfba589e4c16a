#include "replay/log_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void wk_log_name(uint64_t number, char name[WK_LOG_NAME_MAX])
{
    snprintf(name, WK_LOG_NAME_MAX, "replay-%08llu.log", (unsigned long long)number);
}

wk_status wk_log_path(const wk_dir *dir, uint64_t number, char path[WK_PATH_MAX], wk_error *err)
{
    char name[WK_LOG_NAME_MAX];
    wk_log_name(number, name);
    if (wk_path_join(wk_dir_path(dir), name, path, NULL) == WK_OK) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "the directory of the replay log has too long a name: '%.80s...'",
                   wk_dir_path(dir));
}

wk_status wk_log_open_reader(const wk_dir *dir, uint64_t number, char path[WK_PATH_MAX],
                             wk_file_reader **out, wk_error *err)
{
    char name[WK_LOG_NAME_MAX];
    wk_log_name(number, name);
    WK_TRY(wk_log_path(dir, number, path, err));
    return wk_file_reader_open_in(dir, name, out, err);
}

// Whether `name` is that of a segment, written the way wk_log_name does.
static bool segment_number(const char *name, uint64_t *number)
{
    unsigned long long value;
    char again[WK_LOG_NAME_MAX];
    if (sscanf(name, "replay-%20llu.log", &value) != 1) return false;
    wk_log_name(value, again);
    *number = value;
    return strcmp(again, name) == 0;
}

wk_status wk_log_list(const wk_dir *dir, bool *any, uint64_t *lowest, uint64_t *highest,
                      wk_error *err)
{
    wk_names names = {0};
    *any = false;
    wk_status status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        uint64_t number;
        if (!segment_number(names.items[i], &number)) continue;
        if (!*any || number < *lowest) *lowest = number;
        if (!*any || number > *highest) *highest = number;
        *any = true;
    }
    wk_names_free(&names);
    return status;
}

wk_status wk_log_open_file(const wk_dir *dir, uint64_t number, bool fresh, int *fd, wk_error *err)
{
    char name[WK_LOG_NAME_MAX];
    wk_log_name(number, name);
    return fresh ? wk_dir_make_file(dir, name, O_TRUNC, fd, err)
                 : wk_dir_open_file(dir, name, O_RDWR, fd, err);
}

wk_status wk_log_truncate(int fd, const char *path, uint64_t size, wk_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return wk_file_error(err, "cannot read", path);
    if (info.st_size == (off_t)size) return WK_OK; // not even its time changes
    return ftruncate(fd, (off_t)size) != 0 ? wk_file_error(err, "cannot shorten", path) : WK_OK;
}

wk_status wk_log_sync_file(int fd, const char *path, wk_error *err)
{
    return fsync(fd) != 0 ? wk_file_error(err, "cannot make durable", path) : WK_OK;
}

// A name for what is kept of segment `number` that nothing has yet.
static wk_status damaged_name(const wk_dir *dir, uint64_t number, char name[WK_LOG_NAME_MAX],
                              wk_error *err)
{
    wk_entry there = WK_ENTRY_OTHER;
    for (int copy = 0; there != WK_ENTRY_NONE; copy++) {
        char ending[16] = "";
        if (copy > 0) snprintf(ending, sizeof ending, "-%d", copy);
        snprintf(name, WK_LOG_NAME_MAX, "damaged-replay-%08llu%s.log", (unsigned long long)number,
                 ending);
        WK_TRY(wk_dir_stat(dir, name, &there, NULL, err));
    }
    return WK_OK;
}

wk_status wk_log_keep_damaged(const wk_dir *dir, uint64_t number, bool copy, wk_error *err)
{
    char from[WK_LOG_NAME_MAX], to[WK_LOG_NAME_MAX];
    wk_log_name(number, from);
    WK_TRY(damaged_name(dir, number, to, err));
    return copy ? wk_file_copy_in(dir, from, to, err) : wk_dir_rename(dir, from, to, err);
}

wk_status wk_log_remove(const wk_dir *dir, uint64_t number, wk_error *err)
{
    char name[WK_LOG_NAME_MAX];
    wk_log_name(number, name);
    return wk_dir_remove(dir, name, err);
}
