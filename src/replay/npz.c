#include "replay/npz.h"
#include "base/observation.h"
#include "base/rng.h"
#include "replay/zip.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void wk_npz_name(const wk_replay *replay, size_t i, uint64_t seed, int64_t unix_time,
                 char name[WK_NPZ_NAME_MAX])
{
    wk_replay_episode episode = wk_replay_at(replay, i);
    wk_rng rng = wk_rng_stream(seed, "episode-uuid", episode.id);
    uint64_t high = wk_rng_u64(&rng), low = wk_rng_u64(&rng);
    high = (high & ~UINT64_C(0xf000)) | 0x4000;               // version 4
    low = (low & ~(UINT64_C(3) << 62)) | (UINT64_C(2) << 62); // variant of RFC 4122
    time_t seconds = (time_t)unix_time;
    struct tm utc = {0};
    gmtime_r(&seconds, &utc);
    char stamp[32];
    size_t length = strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", &utc);
    assert(length > 0);
    uint32_t steps = episode.rows > 0 ? episode.rows - 1 : 0;
    snprintf(name, WK_NPZ_NAME_MAX, "%s-%016llx%016llx-%u.npz", stamp, (unsigned long long)high,
             (unsigned long long)low, steps);
}

// An array on its way into the archive.
typedef struct column {
    const char *name;
    const char *type;  // as NumPy writes it: "|u1", "<f4", "|b1"
    const char *shape; // after the number of rows: "64, 64, 3"
    const void *data;
    size_t row_bytes;
} column;

// The header of a .npy file: magic, version 1.0, length, a Python dictionary padded with spaces to
// a multiple of 64 bytes.
static size_t npy_header(const column *array, uint32_t rows, char header[256])
{
    enum { ALIGN = 64, PREFIX = 10 };
    static const unsigned char magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    int length = snprintf(header + PREFIX, 256 - PREFIX,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%u,%s%s), }",
                          array->type, rows, *array->shape ? " " : "", array->shape);
    size_t total = ((size_t)PREFIX + (size_t)length + 1 + ALIGN - 1) / ALIGN * ALIGN;
    assert(length > 0 && total <= 256);
    memset(header + PREFIX + length, ' ', total - PREFIX - (size_t)length - 1);
    header[total - 1] = '\n';
    memcpy(header, magic, sizeof magic);
    header[8] = (char)((total - PREFIX) & 0xff);
    header[9] = (char)((total - PREFIX) >> 8);
    return total;
}

static wk_status add_array(wk_zip *zip, const column *array, uint32_t rows, wk_error *err)
{
    char header[256], name[48];
    size_t size = npy_header(array, rows, header);
    snprintf(name, sizeof name, "%s.npy", array->name);
    return wk_zip_add(zip, name, header, size, array->data, rows * array->row_bytes, err);
}

// An episode with every array in one piece of memory.
typedef struct columns {
    wk_replay_batch rows;
    float *params;
    uint8_t *bits[4]; // is_first, is_last, is_terminal, log_diverged
    void *memory;
} columns;

static bool allocate(columns *all, const wk_replay_config *config, size_t rows)
{
    size_t A = (size_t)config->action_size, K = (size_t)config->n_tasks;
    size_t P = (size_t)config->n_params;
    size_t V = (size_t)config->observation.vector;
    size_t pixels = wk_observation_image_bytes(config->observation);
    size_t floats = rows * (A + 2 * K + P + V), bytes = rows * (pixels + 5);
    float *memory = malloc(floats * sizeof(float) + bytes);
    if (!memory) return false;
    all->memory = memory;
    all->rows.actions = memory;
    all->rows.rewards = all->rows.actions + rows * A;
    all->rows.completion = all->rows.rewards + rows * K;
    all->params = all->rows.completion + rows * K;
    float *vectors = all->params + rows * P;
    uint8_t *images = (uint8_t *)(vectors + rows * V);
    if (V > 0) all->rows.vectors = vectors;
    if (pixels > 0) all->rows.images = images;
    all->rows.flags = images + rows * pixels;
    for (int bit = 0; bit < 4; bit++)
        all->bits[bit] = all->rows.flags + (size_t)(bit + 1) * rows;
    return true;
}

static void fill(columns *all, wk_replay *replay, size_t i, const wk_replay_episode *episode)
{
    static const uint8_t masks[4] = {WK_IS_FIRST, WK_IS_LAST, WK_IS_TERMINAL, WK_IS_DIVERGED};
    int P = wk_replay_settings(replay)->n_params;
    wk_replay_read(replay, i, 0, episode->rows, &all->rows);
    for (uint32_t row = 0; row < episode->rows; row++) {
        for (int p = 0; p < P; p++)
            all->params[row * (size_t)P + (size_t)p] = (float)episode->theta[p];
        for (int bit = 0; bit < 4; bit++)
            all->bits[bit][row] = (all->rows.flags[row] & masks[bit]) != 0;
    }
}

static wk_status add_arrays(wk_zip *zip, const columns *all, const wk_replay_config *config,
                            uint32_t rows, wk_error *err)
{
    char A[16], K[16], P[16], V[16];
    snprintf(A, sizeof A, "%d", config->action_size);
    snprintf(K, sizeof K, "%d", config->n_tasks);
    snprintf(P, sizeof P, "%d", config->n_params);
    snprintf(V, sizeof V, "%d", config->observation.vector);
    size_t a = (size_t)config->action_size * 4, k = (size_t)config->n_tasks * 4;
    size_t p = (size_t)config->n_params * 4, v = (size_t)config->observation.vector * 4;
    const column arrays[] = {
        {"image", "|u1", "64, 64, 3", all->rows.images, WK_IMAGE_BYTES},
        {"vector", "<f4", V, all->rows.vectors, v},
        {"action", "<f4", A, all->rows.actions, a},
        {"reward", "<f4", K, all->rows.rewards, k},
        {"task_completion", "<f4", K, all->rows.completion, k},
        {"env_params", "<f4", P, all->params, p},
        {"is_first", "|b1", "", all->bits[0], 1},
        {"is_last", "|b1", "", all->bits[1], 1},
        {"is_terminal", "|b1", "", all->bits[2], 1},
        {"log_diverged", "|b1", "", all->bits[3], 1},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i].data) WK_TRY(add_array(zip, &arrays[i], rows, err));
    return WK_OK;
}

static wk_status write_columns(const columns *all, const wk_replay_config *config, uint32_t rows,
                               const char *path, wk_error *err)
{
    wk_zip *zip = NULL;
    WK_TRY(wk_zip_begin(path, &zip, err));
    if (add_arrays(zip, all, config, rows, err) == WK_OK) return wk_zip_commit(zip, err);
    wk_zip_discard(zip);
    return wk_fail_context(err, "cannot write '%s'", path);
}

wk_status wk_npz_write(wk_replay *replay, size_t i, const char *path, wk_error *err)
{
    const wk_replay_config *config = wk_replay_settings(replay);
    wk_replay_episode episode = wk_replay_at(replay, i);
    columns all = {.memory = NULL};
    if (!allocate(&all, config, episode.rows))
        return wk_fail(err, WK_E_MEMORY, "'%s': no memory for an episode of %u rows", path,
                       episode.rows);
    fill(&all, replay, i, &episode);
    wk_status status = write_columns(&all, config, episode.rows, path, err);
    free(all.memory);
    return status;
}
