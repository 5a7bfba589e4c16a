// Uniform numbers by position.
#include "tensor/cpu/random.h"

#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include <assert.h>

WK_MULTI
static void draw_blocks(const wk_draws *d, uint64_t first, size_t blocks, float *u)
{
    uint64_t key = d->key, substream = d->substream;
    for (size_t b = 0; b < blocks; b++) {
        wk_u32x4 words = wk_philox_at(key, substream, first + b);
        for (int k = 0; k < 4; k++)
            u[4 * b + (size_t)k] = wk_unit_float(words.v[k]);
    }
}

void wk_draw_units(const wk_draws *draws, size_t begin, size_t count, float *u)
{
    assert(begin % 4 == 0);
    uint64_t first = draws->block + begin / 4;
    size_t blocks = count / 4, rest = count % 4;
    draw_blocks(draws, first, blocks, u);
    float last[4];
    if (rest) draw_blocks(draws, first + blocks, 1, last);
    for (size_t k = 0; k < rest; k++)
        u[4 * blocks + k] = last[k];
}

typedef struct job {
    const wk_draws *draws;
    float low, width, *y;
} job;

WK_MULTI
static void uniform_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    float *y = j->y;
    wk_draw_units(j->draws, begin, end - begin, y + begin);
    if (j->low == 0.0f && j->width == 1.0f) return;
    for (size_t i = begin; i < end; i++)
        y[i] = j->low + j->width * y[i];
}

void wk_cpu_uniform(size_t n, const wk_draws *draws, float low, float high, float *y, wk_pool *pool)
{
    job j = {.draws = draws, .low = low, .width = high - low, .y = y};
    wk_cpu_for(n, WK_GRAIN / 4, uniform_range, &j, pool);
}
