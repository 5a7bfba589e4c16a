#include "base/file.h"
#include "config/parts.h"
#include "parity.h"
#include "replay/log.h"
#include "run/checkpoint.h"
#include "run/saved_run.h"
#include "train/trainer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Where the episodes go while they are written.
typedef struct output {
    wk_file_writer *frames, *actions;
    uint8_t *images; // of one episode
    float *numbers;
    uint32_t *episodes;
} output;

static wk_status write_episodes(wk_replay *replay, const char *directory, output *o, wk_error *err)
{
    size_t count = wk_replay_count(replay), width = (size_t)wk_replay_settings(replay)->action_size;
    uint32_t longest = 0, rows = 0;
    for (size_t i = 0; i < count; i++) {
        wk_replay_episode episode = wk_replay_at(replay, i);
        if (episode.rows > longest) longest = episode.rows;
    }
    o->images = malloc((size_t)longest * WK_IMAGE_BYTES + 1);
    o->numbers = malloc((longest * width + 1) * sizeof *o->numbers);
    o->episodes = malloc((count + 1) * sizeof *o->episodes);
    if (!o->images || !o->numbers || !o->episodes)
        return wk_fail(err, WK_E_MEMORY, "no memory for an episode of %u rows", longest);
    for (size_t i = 0; i < count; i++) {
        uint32_t length = wk_replay_at(replay, i).rows;
        o->episodes[i] = rows;
        wk_replay_batch to = {.images = o->images, .actions = o->numbers};
        wk_replay_read(replay, i, 0, length, &to);
        WK_TRY(wk_file_writer_append(o->frames, o->images, (size_t)length * WK_IMAGE_BYTES, err));
        WK_TRY(wk_file_writer_append(o->actions, o->numbers, length * width * sizeof *o->numbers,
                                     err));
        rows += length;
    }
    o->episodes[count] = rows;
    char path[WK_PATH_MAX];
    wk_path_join(directory, "episodes.u32", path, NULL);
    return wk_file_write(path, o->episodes, (count + 1) * sizeof *o->episodes, err);
}

static wk_status commit(wk_file_writer **writer, wk_error *err)
{
    wk_file_writer *ended = *writer;
    *writer = NULL;
    return wk_file_writer_commit(ended, err);
}

static wk_status write_replay(wk_replay *replay, const char *directory, wk_error *err)
{
    output o = {0};
    char frames[WK_PATH_MAX], actions[WK_PATH_MAX];
    wk_path_join(directory, "frames.u8", frames, NULL);
    wk_path_join(directory, "actions.f32", actions, NULL);
    wk_status status = wk_file_writer_begin(frames, &o.frames, err);
    if (status == WK_OK) status = wk_file_writer_begin(actions, &o.actions, err);
    if (status == WK_OK) status = write_episodes(replay, directory, &o, err);
    if (status == WK_OK) status = commit(&o.frames, err);
    if (status == WK_OK) status = commit(&o.actions, err);
    wk_file_writer_discard(o.frames);
    wk_file_writer_discard(o.actions);
    free(o.images);
    free(o.numbers);
    free(o.episodes);
    return status;
}

wk_status parity_data_write(const char *run, const char *directory, wk_error *err)
{
    wk_saved_run saved = {0};
    wk_replay *replay = NULL;
    char path[WK_PATH_MAX];
    const wk_saved_run_options options = {.depth = WK_SAVED_WORLD};
    wk_path_join(directory, "config.yaml", path, NULL);
    wk_status status = wk_saved_run_open(run, &options, &saved, err);
    if (status == WK_OK) status = wk_dir_create(directory, err);
    if (status == WK_OK) status = wk_run_config_write_in(&saved.config, NULL, path, err);
    if (status == WK_OK) status = wk_saved_run_open_replay(&saved, NULL, &replay, err);
    if (status == WK_OK) status = write_replay(replay, directory, err);
    wk_replay_destroy(replay);
    wk_saved_run_close(&saved);
    return status;
}

// Maps a file as number i of the data's maps.
static wk_status map_file(const char *directory, const char *name, int i, parity_data *d,
                          wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_path_join(directory, name, path, NULL);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0) {
        if (file >= 0) close(file);
        return wk_fail(err, WK_E_NOT_FOUND, "%s: no data; make it with 'bench_parity data'", path);
    }
    void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (bytes == MAP_FAILED) return wk_fail(err, WK_E_IO, "%s: cannot be mapped into memory", path);
    d->maps[i].bytes = bytes;
    d->maps[i].size = (size_t)about.st_size;
    return WK_OK;
}

wk_status parity_data_open(const char *directory, parity_data *d, wk_error *err)
{
    WK_TRY(map_file(directory, "frames.u8", 0, d, err));
    WK_TRY(map_file(directory, "actions.f32", 1, d, err));
    WK_TRY(map_file(directory, "episodes.u32", 2, d, err));
    d->frames = d->maps[0].bytes;
    d->actions = d->maps[1].bytes;
    d->episodes = d->maps[2].bytes;
    d->rows = d->maps[0].size / WK_IMAGE_BYTES;
    d->count = d->maps[2].size / sizeof *d->episodes - 1;
    d->action_size = d->rows ? (int)(d->maps[1].size / sizeof *d->actions / d->rows) : 0;
    bool fits = d->action_size > 0 && d->episodes[d->count] == d->rows &&
                d->maps[1].size == d->rows * (size_t)d->action_size * sizeof *d->actions;
    if (fits) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "%s: the files do not belong together; make them again with 'bench_parity data'",
                   directory);
}

void parity_data_close(parity_data *d)
{
    for (int i = 0; i < 3; i++)
        if (d->maps[i].bytes) munmap(d->maps[i].bytes, d->maps[i].size);
    *d = (parity_data){0};
}
