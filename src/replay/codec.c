#include "replay/codec.h"

#include "base/observation.h"

#include <assert.h>
#include <lz4.h>
#include <lz4hc.h>
#include <string.h>

// Beyond this level blocks shrink by 2 % and take half as long again to pack.
enum { LEVEL = 6 };

bool wk_row_shape_equals(const wk_row_shape *a, const wk_row_shape *b)
{
    return a->action_size == b->action_size && a->n_tasks == b->n_tasks &&
           a->n_params == b->n_params && a->observation.vector == b->observation.vector &&
           a->observation.no_image == b->observation.no_image;
}

// Bytes of the frames of `rows` rows.
static size_t frames_bytes(const wk_row_shape *shape, size_t rows)
{
    return rows * wk_observation_image_bytes(shape->observation);
}

static size_t floats_per_row(const wk_row_shape *shape)
{
    return (size_t)shape->action_size + 2 * (size_t)shape->n_tasks +
           (size_t)shape->observation.vector;
}

size_t wk_row_numbers_bytes(const wk_row_shape *shape, size_t rows)
{
    return rows * (floats_per_row(shape) * sizeof(float) + 1);
}

size_t wk_rows_bytes(const wk_row_shape *shape)
{
    return frames_bytes(shape, WK_BLOCK_ROWS) + wk_row_numbers_bytes(shape, WK_BLOCK_ROWS);
}

wk_block_rows wk_rows_place(const wk_row_shape *shape, void *memory)
{
    uint8_t *images = memory;
    float *actions = (float *)(void *)(images + frames_bytes(shape, WK_BLOCK_ROWS));
    float *rewards = actions + (size_t)WK_BLOCK_ROWS * shape->action_size;
    float *completion = rewards + (size_t)WK_BLOCK_ROWS * shape->n_tasks;
    float *vectors = completion + (size_t)WK_BLOCK_ROWS * shape->n_tasks;
    float *end = vectors + (size_t)WK_BLOCK_ROWS * shape->observation.vector;
    return (wk_block_rows){images, actions, rewards, completion, vectors, (uint8_t *)end};
}

size_t wk_block_bytes_max(const wk_row_shape *shape)
{
    size_t frames = frames_bytes(shape, WK_BLOCK_ROWS);
    return wk_row_numbers_bytes(shape, WK_BLOCK_ROWS) +
           (frames > 0 ? LZ4_COMPRESSBOUND(frames) : 0);
}

size_t wk_block_scratch_bytes(void)
{
    return (size_t)LZ4_sizeofStateHC();
}

static unsigned char *append(unsigned char *to, const void *bytes, size_t size)
{
    if (size > 0) memcpy(to, bytes, size);
    return to + size;
}

// Compresses the frames of `count` rows; gives the bytes used.
static size_t pack_frames(const wk_row_shape *shape, const uint8_t *images, size_t count,
                          void *scratch, unsigned char *to)
{
    if (shape->observation.no_image) return 0;
    int packed = LZ4_compress_HC_extStateHC(
        scratch, (const char *)images, (char *)to, (int)frames_bytes(shape, count),
        (int)LZ4_COMPRESSBOUND(frames_bytes(shape, WK_BLOCK_ROWS)), LEVEL);
    assert(packed > 0);
    return (size_t)packed;
}

size_t wk_block_pack(const wk_row_shape *shape, const wk_block_rows *rows, size_t count,
                     void *scratch, void *block)
{
    assert(count > 0 && count <= WK_BLOCK_ROWS);
    size_t action = (size_t)shape->action_size * sizeof(float);
    size_t reward = (size_t)shape->n_tasks * sizeof(float);
    unsigned char *next = block;
    next = append(next, rows->actions, count * action);
    next = append(next, rows->rewards, count * reward);
    next = append(next, rows->completion, count * reward);
    next = append(next, rows->vectors,
                  count * (size_t)shape->observation.vector * sizeof *rows->vectors);
    next = append(next, rows->flags, count);
    next += pack_frames(shape, rows->images, count, scratch, next);
    return (size_t)(next - (unsigned char *)block);
}

bool wk_block_split(const wk_row_shape *shape, const void *block, size_t size, size_t count,
                    wk_block_view *view)
{
    size_t numbers = wk_row_numbers_bytes(shape, count);
    if (size < numbers || size > wk_block_bytes_max(shape)) return false;
    const float *actions = block;
    const float *rewards = actions + count * (size_t)shape->action_size;
    const float *completion = rewards + count * (size_t)shape->n_tasks;
    const float *vectors = completion + count * (size_t)shape->n_tasks;
    const uint8_t *flags = (const uint8_t *)(vectors + count * (size_t)shape->observation.vector);
    *view = (wk_block_view){actions,
                            rewards,
                            completion,
                            vectors,
                            flags,
                            (const char *)(flags + count),
                            (int)(size - numbers)};
    return true;
}

wk_block_view wk_block_rows_view(const wk_row_shape *shape, const wk_block_rows *rows, size_t first)
{
    size_t K = (size_t)shape->n_tasks;
    return (wk_block_view){.actions = rows->actions + first * (size_t)shape->action_size,
                           .rewards = rows->rewards + first * K,
                           .completion = rows->completion + first * K,
                           .vectors = rows->vectors + first * (size_t)shape->observation.vector,
                           .flags = rows->flags + first};
}

bool wk_block_frames(const wk_row_shape *shape, const wk_block_view *view, size_t count,
                     size_t wanted, uint8_t *images)
{
    int total = (int)frames_bytes(shape, count), max = (int)frames_bytes(shape, wanted);
    char *to = (char *)images;
    if (total == 0) return view->frames_size == 0;
    if (wanted == count)
        return LZ4_decompress_safe(view->frames, to, view->frames_size, total) == total;
    return LZ4_decompress_safe_partial(view->frames, to, view->frames_size, max, total) >= max;
}
