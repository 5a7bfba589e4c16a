#include "replay/codec.h"

#include <assert.h>
#include <lz4.h>
#include <lz4hc.h>
#include <string.h>

// Beyond this level blocks shrink by 2 % and take half as long again to pack.
enum { LEVEL = 6 };

enum { BLOCK_FRAMES_BYTES = WK_BLOCK_ROWS * WK_IMAGE_BYTES };

static size_t floats_per_row(const wk_row_shape *shape)
{
    return (size_t)shape->action_size + 2 * (size_t)shape->n_tasks;
}

size_t wk_row_numbers_bytes(const wk_row_shape *shape, size_t rows)
{
    return rows * (floats_per_row(shape) * sizeof(float) + 1);
}

size_t wk_rows_bytes(const wk_row_shape *shape)
{
    return BLOCK_FRAMES_BYTES + wk_row_numbers_bytes(shape, WK_BLOCK_ROWS);
}

wk_block_rows wk_rows_place(const wk_row_shape *shape, void *memory)
{
    uint8_t *images = memory;
    float *actions = (float *)(void *)(images + BLOCK_FRAMES_BYTES);
    float *rewards = actions + (size_t)WK_BLOCK_ROWS * shape->action_size;
    float *completion = rewards + (size_t)WK_BLOCK_ROWS * shape->n_tasks;
    float *end = completion + (size_t)WK_BLOCK_ROWS * shape->n_tasks;
    return (wk_block_rows){images, actions, rewards, completion, (uint8_t *)end};
}

size_t wk_block_bytes_max(const wk_row_shape *shape)
{
    return wk_row_numbers_bytes(shape, WK_BLOCK_ROWS) + LZ4_COMPRESSBOUND(BLOCK_FRAMES_BYTES);
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
    next = append(next, rows->flags, count);
    int packed = LZ4_compress_HC_extStateHC(scratch, (const char *)rows->images, (char *)next,
                                            (int)(count * WK_IMAGE_BYTES),
                                            LZ4_COMPRESSBOUND(BLOCK_FRAMES_BYTES), LEVEL);
    assert(packed > 0);
    return (size_t)(next - (unsigned char *)block) + (size_t)packed;
}

bool wk_block_split(const wk_row_shape *shape, const void *block, size_t size, size_t count,
                    wk_block_view *view)
{
    size_t numbers = wk_row_numbers_bytes(shape, count);
    if (size < numbers || size > wk_block_bytes_max(shape)) return false;
    const float *actions = block;
    const float *rewards = actions + count * (size_t)shape->action_size;
    const float *completion = rewards + count * (size_t)shape->n_tasks;
    const uint8_t *flags = (const uint8_t *)(completion + count * (size_t)shape->n_tasks);
    *view = (wk_block_view){
        actions, rewards, completion, flags, (const char *)(flags + count), (int)(size - numbers)};
    return true;
}

bool wk_block_frames(const wk_block_view *view, size_t count, size_t wanted, uint8_t *images)
{
    int total = (int)(count * WK_IMAGE_BYTES), max = (int)(wanted * WK_IMAGE_BYTES);
    char *to = (char *)images;
    if (wanted == count)
        return LZ4_decompress_safe(view->frames, to, view->frames_size, total) == total;
    return LZ4_decompress_safe_partial(view->frames, to, view->frames_size, max, total) >= max;
}
