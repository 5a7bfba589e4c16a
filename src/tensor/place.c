// Placement of blocks with lifetimes. The first method walks through time and puts every block into
// the smallest hole that fits; it is fast and usually tight. Where it misses the lower bound by
// more than a little, others place the weightiest blocks first (by size, by size times lifetime),
// each into the smallest gap between those it meets, and the best result is kept.
#include "tensor/plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The other methods are quadratic; beyond this many blocks the first one stands.
enum { QUADRATIC_BLOCKS = 8000 };

typedef struct hole {
    size_t offset, size;
} hole;

typedef struct hole_list {
    hole *items; // by offset, never touching each other; room for every block and one more
    size_t count;
    size_t top; // beyond this everything is free
} hole_list;

static size_t take(hole_list *holes, size_t size)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < holes->count; i++) {
        if (holes->items[i].size < size) continue;
        if (best == SIZE_MAX || holes->items[i].size < holes->items[best].size) best = i;
    }
    if (best == SIZE_MAX) {
        // A hole at the top can be made larger.
        hole *last = holes->count ? &holes->items[holes->count - 1] : NULL;
        bool at_top = last && last->offset + last->size == holes->top;
        size_t offset = at_top ? last->offset : holes->top;
        if (at_top) holes->count--;
        holes->top = offset + size;
        return offset;
    }
    hole *h = &holes->items[best];
    size_t offset = h->offset;
    h->offset += size;
    h->size -= size;
    if (h->size == 0) memmove(h, h + 1, (--holes->count - best) * sizeof *h);
    return offset;
}

static void give_back(hole_list *holes, size_t offset, size_t size)
{
    size_t low = 0, high = holes->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (holes->items[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    hole *before = low > 0 ? &holes->items[low - 1] : NULL;
    hole *after = low < holes->count ? &holes->items[low] : NULL;
    bool joins_before = before && before->offset + before->size == offset;
    bool joins_after = after && offset + size == after->offset;
    if (joins_before && joins_after) {
        before->size += size + after->size;
        memmove(after, after + 1, (--holes->count - low) * sizeof *after);
    } else if (joins_before) {
        before->size += size;
    } else if (joins_after) {
        after->offset = offset;
        after->size += size;
    } else {
        memmove(&holes->items[low + 1], &holes->items[low], (holes->count - low) * sizeof *before);
        holes->items[low] = (hole){offset, size};
        holes->count++;
    }
}

static int by_begin(const void *a, const void *b)
{
    const wk_block *x = *(wk_block *const *)a, *y = *(wk_block *const *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_end(const void *a, const void *b)
{
    const wk_block *x = *(wk_block *const *)a, *y = *(wk_block *const *)b;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_size(const void *a, const void *b)
{
    const wk_block *x = *(wk_block *const *)a, *y = *(wk_block *const *)b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return by_begin(a, b);
}

// Walks through time: frees what ended before a step, then places what begins there, large first.
static void place_by_time(wk_block **starting, wk_block **ending, size_t count, hole_list *holes,
                          size_t *live_peak)
{
    size_t ended = 0, live = 0;
    *live_peak = 0;
    qsort(starting, count, sizeof(wk_block *), by_begin);
    qsort(ending, count, sizeof(wk_block *), by_end);
    for (size_t i = 0; i < count; i++) {
        wk_block *block = starting[i];
        for (; ending[ended]->end < block->begin; ended++) {
            give_back(holes, ending[ended]->offset, ending[ended]->size);
            live -= ending[ended]->size;
        }
        block->offset = take(holes, block->size);
        live += block->size;
        if (live > *live_peak) *live_peak = live;
    }
}

// The offset of the smallest gap between the placed blocks (by offset) that meet this one in time.
static size_t find_gap(const wk_block *block, wk_block *const *placed, size_t count)
{
    size_t best = 0, best_size = SIZE_MAX, covered = 0;
    for (size_t i = 0; i < count; i++) {
        const wk_block *other = placed[i];
        if (other->end < block->begin || other->begin > block->end) continue;
        if (other->offset > covered) {
            size_t gap = other->offset - covered;
            if (gap >= block->size && gap < best_size) {
                best = covered;
                best_size = gap;
            }
        }
        if (other->offset + other->size > covered) covered = other->offset + other->size;
    }
    return best_size == SIZE_MAX ? covered : best;
}

static double area(const wk_block *block)
{
    return (double)block->size * (block->end - block->begin + 1);
}

static int by_area(const void *a, const void *b)
{
    double x = area(*(wk_block *const *)a), y = area(*(wk_block *const *)b);
    if (x != y) return x > y ? -1 : 1;
    return by_begin(a, b);
}

typedef int compare(const void *a, const void *b);

// Places in the given order; returns the total size.
static size_t place_in_order(compare *order, wk_block **blocks, wk_block **placed, size_t count)
{
    size_t total = 0;
    qsort(blocks, count, sizeof(wk_block *), order);
    for (size_t i = 0; i < count; i++) {
        wk_block *block = blocks[i];
        block->offset = find_gap(block, placed, i);
        if (block->offset + block->size > total) total = block->offset + block->size;
        size_t at = i;
        for (; at > 0 && placed[at - 1]->offset > block->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = block;
    }
    return total;
}

static bool is_tight(size_t total, size_t live_peak)
{
    return total <= live_peak + live_peak / 32;
}

// Tries the quadratic methods until one is tight; leaves the best offsets in the blocks.
static size_t improve(wk_block *blocks, wk_block **order, wk_block **placed, size_t *best_offsets,
                      size_t count, size_t total, size_t live_peak)
{
    compare *const methods[] = {by_size, by_area};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        if (is_tight(total, live_peak)) break;
        for (size_t i = 0; i < count; i++)
            best_offsets[i] = blocks[i].offset;
        size_t other = place_in_order(methods[m], order, placed, count);
        if (other < total) {
            total = other;
            continue;
        }
        for (size_t i = 0; i < count; i++)
            blocks[i].offset = best_offsets[i];
    }
    return total;
}

bool wk_place_blocks(wk_block *blocks, size_t count, size_t *total, size_t *live_peak)
{
    *total = *live_peak = 0;
    if (count == 0) return true;
    wk_block **starting = malloc(count * sizeof(wk_block *)),
             **ending = malloc(count * sizeof(wk_block *));
    hole_list holes = {.items = malloc((count + 1) * sizeof *holes.items)};
    size_t *offsets = malloc(count * sizeof *offsets);
    bool ok = starting && ending && holes.items && offsets;
    if (ok) {
        for (size_t i = 0; i < count; i++)
            starting[i] = ending[i] = &blocks[i];
        place_by_time(starting, ending, count, &holes, live_peak);
        *total = holes.top;
        if (count <= QUADRATIC_BLOCKS)
            *total = improve(blocks, starting, ending, offsets, count, *total, *live_peak);
    }
    free(starting);
    free(ending);
    free(holes.items);
    free(offsets);
    return ok;
}
