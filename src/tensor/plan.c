#include "tensor/plan.h"
#include "tensor/shape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 64,       // of blocks
    PART_ALIGNMENT = 256, // of the parts of the temporary memory
    BF16_SIZE = 2,        // bytes of a number
    SLOT_ALIGNMENT = 16,  // of tensors produced inside another's block: the width of vector loads
};

static size_t aligned_to(size_t alignment, size_t size)
{
    return (size + alignment - 1) / alignment * alignment;
}

static size_t aligned(size_t size)
{
    return aligned_to(ALIGNMENT, size);
}

// The byte of the temporaries at which the copies of their first copied_size bytes begin.
static size_t copies_begin(const wk_plan *plan)
{
    return aligned_to(PART_ALIGNMENT, plan->copied_size);
}

// Where the temporaries in one format begin.
static size_t plain_begin(const wk_plan *plan)
{
    return aligned_to(PART_ALIGNMENT, copies_begin(plan) + plan->copied_size / 2);
}

// Lifetimes while planning, by tensor id; only roots that are temporaries of the program matter.
// Such a tensor is either the head of a block or lies in `into` at byte `at`.
typedef struct storage {
    int begin, end;       // steps; begin -1: not in the program
    wk_step_range window; // when those steps may run
    int stream;           // of all that use it, or -1
    int into;             // tensor id, 0 for the head of a block
    size_t at;
    int stored;       // of a head: the persistent tensor in whose place it is made, or 0
    unsigned formats; // of a head: of all that lie in it
    int block;        // of a head, in the list of its kind
} storage;

// Blocks of one part of the temporary memory, and what they come to.
typedef struct arena {
    WK_ARRAY(wk_block) blocks;
    size_t size, live_peak;
} arena;

typedef struct planner {
    const wk_graph *g;
    wk_plan *plan;
    wk_step_range *spans;   // by step: the steps that run with it
    wk_step_range *windows; // by step: when it may run
    bool *needed;           // by tensor
    storage *storages;
    arena copied, plain; // of tensors in both formats, and in one
} planner;

static bool node_is_needed(const planner *p, const wk_node *node)
{
    if (wk_op_writes(node->op) || wk_op_table[node->op].traits & WK_TRAIT_RUNS) return true;
    for (int i = 0; i < node->output_count; i++)
        if (p->needed[node->outputs + i]) return true;
    return false;
}

// Walks back from outputs and writing nodes; keeps the nodes that do something at run time.
static void find_needed(planner *p)
{
    const wk_graph *g = p->g;
    for (size_t i = 1; i < g->tensors.count; i++)
        p->needed[i] = wk_info(g, (int)i)->output;
    size_t at = g->nodes.count;
    for (size_t n = g->nodes.count; n-- > 0;) {
        const wk_node *node = &g->nodes.items[n];
        if (!node_is_needed(p, node)) continue;
        for (int i = 0; i < node->input_count; i++)
            p->needed[wk_node_inputs(g, node)[i]] = true;
        if (!wk_node_is_view(g, node)) p->plan->nodes[--at] = (int)n;
    }
    // The list was filled from the back; move it to the front.
    p->plan->node_count = g->nodes.count - at;
    for (size_t i = 0; i < p->plan->node_count; i++)
        p->plan->nodes[i] = p->plan->nodes[at + i];
}

static const wk_node *step_node(const planner *p, size_t step)
{
    return &p->g->nodes.items[p->plan->nodes[step]];
}

static bool is_temporary(const planner *p, int tensor)
{
    return tensor && wk_info(p->g, tensor)->kind == WK_TEMPORARY;
}

static void find_spans(planner *p)
{
    for (int step = 0; step < (int)p->plan->node_count; step++)
        p->spans[step] = (wk_step_range){step, step};
    for (size_t i = 0; i < p->plan->groups.count; i++) {
        wk_group group = p->plan->groups.items[i];
        for (int step = group.begin; step <= group.end; step++)
            p->spans[step] = (wk_step_range){group.begin, group.end};
    }
}

bool wk_plan_is_grouped(const wk_plan *plan, int step)
{
    for (size_t i = 0; i < plan->groups.count; i++)
        if (step >= plan->groups.items[i].begin && step <= plan->groups.items[i].end) return true;
    return false;
}

static void widen(wk_step_range *range, wk_step_range by)
{
    if (by.begin < range->begin) range->begin = by.begin;
    if (by.end > range->end) range->end = by.end;
}

static void find_lifetimes(planner *p)
{
    for (size_t i = 0; i < p->g->tensors.count; i++)
        p->storages[i] = (storage){.begin = -1, .block = -1};
    for (size_t step = 0; step < p->plan->node_count; step++) {
        const wk_node *node = step_node(p, step);
        wk_step_range span = p->spans[step];
        for (int i = 0; i < node->output_count; i++) {
            storage *s = &p->storages[node->outputs + i];
            s->begin = span.begin;
            // Outputs stay until the end of the run.
            bool kept = wk_info(p->g, node->outputs + i)->output;
            s->end = kept ? (int)p->plan->node_count : span.end;
            s->window = p->windows[step];
            widen(&s->window, (wk_step_range){s->begin, s->end});
            s->stream = p->plan->streams[step];
        }
        for (int i = 0; i < node->input_count; i++) {
            int tensor = wk_node_inputs(p->g, node)[i];
            if (!is_temporary(p, tensor)) continue;
            storage *s = &p->storages[wk_info(p->g, tensor)->root];
            if (s->end < span.end) s->end = span.end;
            widen(&s->window, p->windows[step]);
            if (s->stream != p->plan->streams[step]) s->stream = -1;
        }
    }
}

static bool is_lazy(const planner *p, int node)
{
    return node >= 0 && p->plan->lazy[node];
}

// Backwards, because a lazy node may read another.
static void keep_for_lazy(planner *p)
{
    for (size_t step = p->plan->node_count; step-- > 0;) {
        if (!is_lazy(p, p->plan->nodes[step])) continue;
        const wk_node *node = step_node(p, step);
        const storage *result = &p->storages[node->outputs];
        for (int i = 0; i < node->input_count; i++) {
            storage *s = &p->storages[wk_info(p->g, wk_node_inputs(p->g, node)[i])->root];
            if (s->end < result->end) s->end = result->end;
            widen(&s->window, result->window);
            if (s->stream != result->stream) s->stream = -1;
        }
    }
}

// The head of the block that a root lies in, and its byte there; shortens the path it walked.
static int find_head(planner *p, int root, size_t *at)
{
    storage *s = &p->storages[root];
    *at = 0;
    if (!s->into) return root;
    size_t further;
    int head = find_head(p, s->into, &further);
    s->at += further;
    s->into = head;
    *at = s->at;
    return head;
}

// Whether a tensor is all of a block of its own, so that the block can be moved into another.
static bool is_whole_block(const planner *p, int tensor)
{
    if (!is_temporary(p, tensor)) return false;
    const wk_tensor_info *info = wk_info(p->g, tensor), *root = wk_info(p->g, info->root);
    const storage *s = &p->storages[info->root];
    return !s->into && !s->stored && info->offset == 0 &&
           wk_shape_count(info->type.shape) == wk_shape_count(root->type.shape);
}

// Moves the block of `root` into the block of `target` (a root), `at` bytes after target's begin.
static void move_block(planner *p, int root, int target, size_t at)
{
    size_t target_at;
    int head = find_head(p, target, &target_at);
    storage *from = &p->storages[root], *to = &p->storages[head];
    from->into = head;
    from->at = at + target_at;
    if (from->begin < to->begin) to->begin = from->begin;
    if (from->end > to->end) to->end = from->end;
    widen(&to->window, from->window);
    if (from->stream != to->stream) to->stream = -1;
}

bool wk_plan_joins(const wk_graph *g, const wk_node *node)
{
    if (node->op != WK_OP_concat) return false;
    wk_shape shape = wk_info(g, node->outputs)->type.shape;
    return wk_shape_split(shape, node->attrs.concat.axis, 1).outer == 1;
}

// Where input i of a leading-axis concatenation belongs.
static wk_join slot_of(const wk_graph *g, const wk_node *node, int i)
{
    wk_shape shape = wk_info(g, node->outputs)->type.shape;
    size_t start = (size_t)g->extents.items[node->attrs.concat.starts + i];
    size_t inner = wk_shape_split(shape, node->attrs.concat.axis, 1).inner;
    return (wk_join){node->outputs, start * inner * sizeof(float)};
}

bool wk_plan_is_joined(const wk_plan *plan, const wk_node *node, int i)
{
    wk_join slot = slot_of(plan->graph, node, i);
    const wk_join *join =
        &plan->joins[wk_info(plan->graph, wk_node_inputs(plan->graph, node)[i])->root];
    return join->into == slot.into && join->at == slot.at;
}

// Lets the inputs of leading-axis concatenations be produced in their place.
static void place_in_concats(planner *p)
{
    for (size_t step = 0; step < p->plan->node_count; step++) {
        const wk_node *node = step_node(p, step);
        if (is_lazy(p, p->plan->nodes[step]) || !wk_plan_joins(p->g, node)) continue;
        for (int i = 0; i < node->input_count; i++) {
            int tensor = wk_node_inputs(p->g, node)[i], root = wk_info(p->g, tensor)->root;
            wk_join slot = slot_of(p->g, node, i);
            if (slot.at % SLOT_ALIGNMENT != 0 || !is_whole_block(p, tensor)) continue;
            move_block(p, root, slot.into, slot.at);
            p->plan->joins[root] = slot;
        }
    }
}

static bool is_placed(const planner *p, size_t tensor)
{
    return p->storages[tensor].begin >= 0;
}

static void gather_formats(planner *p)
{
    for (size_t i = 1; i < p->g->tensors.count; i++) {
        size_t at;
        if (is_placed(p, i)) p->storages[find_head(p, (int)i, &at)].formats |= p->plan->formats[i];
    }
}

// Whether nothing but one store touches a persistent tensor.
static bool is_only_stored(const planner *p, int tensor)
{
    int touched = 0;
    const wk_tensor_info *info = wk_info(p->g, tensor);
    if (info->kind != WK_PERSISTENT || info->root != tensor) return false;
    for (size_t step = 0; step < p->plan->node_count; step++) {
        const wk_node *node = step_node(p, step);
        for (int i = 0; i < node->input_count; i++) {
            const int input = wk_node_inputs(p->g, node)[i], root = wk_info(p->g, input)->root;
            touched += root == tensor || (root && wk_tensors_overlap(info, wk_info(p->g, root)));
        }
    }
    return touched == 1;
}

// Produces what is stored in its destination, so that storing copies nothing. That memory is free
// to use: only the store touches it.
static void place_in_stores(planner *p)
{
    gather_formats(p);
    for (size_t step = 0; step < p->plan->node_count; step++) {
        const wk_node *node = step_node(p, step);
        if (node->op != WK_OP_store) continue;
        int place = wk_node_inputs(p->g, node)[0], tensor = wk_node_inputs(p->g, node)[1];
        const wk_tensor_info *info = wk_info(p->g, tensor);
        storage *s = &p->storages[info->root];
        if (!is_whole_block(p, tensor) || s->formats != WK_FORMAT_F32) continue;
        if (is_lazy(p, wk_info(p->g, info->root)->producer)) continue;
        if (is_only_stored(p, place)) s->stored = place;
    }
}

// The input whose place output 0 may take, or -1.
static int in_place_input(const wk_node *node)
{
    unsigned traits = wk_op_table[node->op].traits;
    if (traits & WK_TRAIT_IN_PLACE) return 0;
    if (traits & WK_TRAIT_ACCUMULATES && node->input_count > 2) return 2;
    return -1;
}

// Whether another input than `index` lies in the block of `head`.
static bool others_use(planner *p, const wk_node *node, int index, int head)
{
    const int *inputs = wk_node_inputs(p->g, node);
    for (int i = 0; i < node->input_count; i++) {
        size_t at;
        if (i == index || !is_temporary(p, inputs[i])) continue;
        if (find_head(p, wk_info(p->g, inputs[i])->root, &at) == head) return true;
    }
    return false;
}

// In-place results. Backwards, so that a chain of such nodes moves to the place of its end at once.
static void place_in_place(planner *p)
{
    for (size_t step = p->plan->node_count; step-- > 0;) {
        const wk_node *node = step_node(p, step);
        int index = in_place_input(node);
        int tensor = index >= 0 ? wk_node_inputs(p->g, node)[index] : 0;
        bool alone = p->spans[step].begin == p->spans[step].end;
        if (!tensor || !alone || !is_whole_block(p, tensor)) continue;
        int root = wk_info(p->g, tensor)->root;
        // What other streams read they may read later.
        if (p->storages[root].stream != p->plan->streams[step]) continue;
        const wk_type a = wk_info(p->g, root)->type, b = wk_info(p->g, node->outputs)->type;
        if (p->storages[root].end != (int)step || wk_type_size(a) != wk_type_size(b)) continue;
        size_t at;
        const storage *to = &p->storages[find_head(p, node->outputs, &at)];
        if (to->stored && p->plan->formats[root] != WK_FORMAT_F32) continue;
        if (!others_use(p, node, index, root)) move_block(p, root, node->outputs, 0);
    }
}

static bool is_copied(unsigned formats)
{
    return formats == (WK_FORMAT_F32 | WK_FORMAT_BF16);
}

size_t wk_plan_padded_size(wk_shape shape)
{
    size_t cols = wk_shape_width(shape);
    return wk_shape_count(shape) / cols * aligned_to(WK_ROW_UNIT, cols) * BF16_SIZE;
}

// Bytes of a block without those of copies.
static size_t block_size(const planner *p, int head)
{
    const wk_tensor_info *info = wk_info(p->g, head);
    unsigned formats = p->storages[head].formats;
    if (is_lazy(p, info->producer)) return ALIGNMENT;
    if (formats == WK_FORMAT_PADDED_BF16) return aligned(wk_plan_padded_size(info->type.shape));
    size_t size = wk_type_size(info->type);
    return aligned(formats == WK_FORMAT_BF16 ? size / 2 : size);
}

static bool place_arena(arena *a)
{
    return wk_place_blocks(a->blocks.items, a->blocks.count, &a->size, &a->live_peak);
}

static bool make_blocks(planner *p)
{
    gather_formats(p);
    for (size_t i = 1; i < p->g->tensors.count; i++) {
        storage *s = &p->storages[i];
        if (!is_placed(p, i) || s->into || s->stored) continue;
        arena *a = is_copied(s->formats) ? &p->copied : &p->plain;
        s->block = (int)a->blocks.count;
        wk_block block = {block_size(p, (int)i), s->window.begin, s->window.end, 0};
        if (!wk_array_push(&a->blocks, block)) return false;
    }
    if (!place_arena(&p->copied) || !place_arena(&p->plain)) return false;
    wk_plan *plan = p->plan;
    plan->block_count = p->copied.blocks.count + p->plain.blocks.count;
    plan->copied_size = p->copied.size;
    plan->temporary_size = plain_begin(plan) + p->plain.size;
    plan->live_peak = p->copied.live_peak + p->copied.live_peak / 2 + p->plain.live_peak;
    return true;
}

static const wk_place outside = {WK_REGION_NONE, WK_NOWHERE, WK_NOWHERE, 0};

static wk_place place_temporary(planner *p, int root)
{
    if (!is_placed(p, (size_t)root)) return outside;
    size_t at;
    const storage *head = &p->storages[find_head(p, root, &at)];
    if (head->stored) return outside; // yet
    if (is_copied(head->formats)) {
        size_t offset = p->copied.blocks.items[head->block].offset + at;
        return (wk_place){WK_REGION_TEMPORARY, offset, copies_begin(p->plan) + offset / 2, 0};
    }
    size_t begin = plain_begin(p->plan) + p->plain.blocks.items[head->block].offset;
    if (head->formats & (WK_FORMAT_BF16 | WK_FORMAT_PADDED_BF16))
        return (wk_place){WK_REGION_TEMPORARY, WK_NOWHERE, begin + at / 2, 0};
    return (wk_place){WK_REGION_TEMPORARY, begin + at, WK_NOWHERE, 0};
}

static wk_place place_root(planner *p, int root)
{
    const wk_tensor_info *info = wk_info(p->g, root);
    size_t at;
    switch (info->kind) {
    case WK_TEMPORARY:
        return place_temporary(p, root);
    case WK_PERSISTENT:
        if (info->buffer) return (wk_place){WK_REGION_BOUND, info->place, WK_NOWHERE, 0};
        break;
    case WK_CONSTANT:
        if (!p->needed[root]) return outside;
        break;
    case WK_INPUT:
        break;
    }
    at = p->plan->owned_size;
    p->plan->owned_size += aligned(wk_type_size(info->type));
    return (wk_place){WK_REGION_OWNED, at, WK_NOWHERE, 0};
}

// In the place of a persistent tensor, which has its own by now.
static void place_stored(planner *p, int root)
{
    size_t at;
    int place = p->storages[find_head(p, root, &at)].stored;
    if (!place) return;
    p->plan->places[root] = p->plan->places[place];
    p->plan->places[root].offset += at;
    p->plan->places[root].of = place;
}

static void place_tensors(planner *p)
{
    size_t count = p->g->tensors.count;
    for (size_t i = 1; i < count; i++)
        if (wk_info(p->g, (int)i)->root == (int)i) p->plan->places[i] = place_root(p, (int)i);
    for (size_t i = 1; i < count; i++)
        if (is_placed(p, i)) place_stored(p, (int)i);
    for (size_t i = 1; i < count; i++) {
        const wk_tensor_info *info = wk_info(p->g, (int)i);
        if (info->root == (int)i) continue;
        wk_place *place = &p->plan->places[i];
        *place = p->plan->places[info->root];
        if (place->offset != WK_NOWHERE)
            place->offset += info->offset * wk_dtype_size(info->type.dtype);
        if (place->bf16 != WK_NOWHERE) place->bf16 += info->offset * BF16_SIZE;
    }
}

static wk_status no_memory(const wk_graph *g, wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory to plan a graph of %zu nodes", g->nodes.count);
}

static wk_status plan(planner *p, const wk_backend *backend, wk_error *err)
{
    find_needed(p);
    if (backend && backend->vtable->choose_schedule)
        WK_TRY(backend->vtable->choose_schedule(backend, p->plan, err));
    find_spans(p);
    if (!wk_plan_windows(p->plan, p->spans, p->windows)) return no_memory(p->g, err);
    find_lifetimes(p);
    keep_for_lazy(p);
    place_in_concats(p);
    if (backend && backend->vtable->choose_formats)
        WK_TRY(backend->vtable->choose_formats(backend, p->plan, err));
    place_in_stores(p);
    place_in_place(p);
    if (!make_blocks(p)) return no_memory(p->g, err);
    place_tensors(p);
    return WK_OK;
}

wk_status wk_plan_create(const wk_graph *g, const wk_backend *backend, wk_plan **out, wk_error *err)
{
    if (g->failed) return wk_fail(err, WK_E_MEMORY, "no memory while recording a graph");
    planner p = {.g = g, .plan = calloc(1, sizeof *p.plan)};
    p.needed = calloc(g->tensors.count, sizeof *p.needed);
    p.storages = malloc(g->tensors.count * sizeof *p.storages);
    if (p.plan) {
        p.plan->graph = g;
        p.plan->nodes = calloc(g->nodes.count + 1, sizeof *p.plan->nodes);
        p.plan->places = calloc(g->tensors.count, sizeof *p.plan->places);
        p.plan->streams = calloc(g->nodes.count + 1, sizeof *p.plan->streams);
        p.plan->finish_by = malloc((g->nodes.count + 1) * sizeof *p.plan->finish_by);
        p.plan->lazy = calloc(g->nodes.count + 1, sizeof *p.plan->lazy);
        p.plan->joins = calloc(g->tensors.count, sizeof *p.plan->joins);
        p.plan->formats = malloc(g->tensors.count);
    }
    p.spans = malloc((g->nodes.count + 1) * sizeof *p.spans);
    p.windows = malloc((g->nodes.count + 1) * sizeof *p.windows);
    bool ok = p.plan && p.plan->nodes && p.plan->places && p.plan->streams && p.plan->finish_by &&
              p.plan->lazy && p.plan->joins && p.plan->formats && p.needed && p.storages &&
              p.spans && p.windows;
    if (ok) memset(p.plan->formats, WK_FORMAT_F32, g->tensors.count);
    for (size_t i = 0; ok && i < g->nodes.count; i++)
        p.plan->finish_by[i] = (int)g->nodes.count;
    wk_status status = ok ? plan(&p, backend, err) : no_memory(g, err);
    free(p.needed);
    free(p.storages);
    free(p.spans);
    free(p.windows);
    wk_array_free(&p.copied.blocks);
    wk_array_free(&p.plain.blocks);
    if (status != WK_OK) {
        wk_plan_destroy(p.plan);
        return status;
    }
    *out = p.plan;
    return WK_OK;
}

void wk_plan_destroy(wk_plan *plan)
{
    if (!plan) return;
    for (size_t i = 0; i < plan->groups.count; i++)
        free(plan->groups.items[i].what);
    wk_array_free(&plan->groups);
    free(plan->nodes);
    free(plan->places);
    free(plan->streams);
    free(plan->finish_by);
    free(plan->lazy);
    free(plan->joins);
    free(plan->formats);
    free(plan);
}

wk_buffer *wk_plan_buffer(const wk_plan *plan, int tensor)
{
    wk_place place = plan->places[tensor];
    switch (place.region) {
    case WK_REGION_TEMPORARY:
        return plan->temporary;
    case WK_REGION_OWNED:
        return plan->owned;
    case WK_REGION_BOUND:
        return wk_info(plan->graph, place.of ? place.of : wk_info(plan->graph, tensor)->root)
            ->buffer;
    case WK_REGION_NONE:
        break;
    }
    return NULL;
}

void *wk_plan_address(const wk_plan *plan, int tensor)
{
    if (!tensor) return NULL;
    wk_place place = plan->places[tensor];
    const wk_buffer *buffer = wk_plan_buffer(plan, tensor);
    assert(buffer && place.offset != WK_NOWHERE && "a tensor outside the program");
    return (char *)buffer->address + place.offset;
}

static bool is_same_tensor(const wk_plan *a, const wk_plan *b, size_t i)
{
    const wk_tensor_info *x = wk_info(a->graph, (int)i), *y = wk_info(b->graph, (int)i);
    wk_place p = a->places[i], q = b->places[i];
    return x->type.dtype == y->type.dtype && wk_shape_equal(x->type.shape, y->type.shape) &&
           x->kind == y->kind && x->root == y->root && p.region == q.region &&
           p.offset == q.offset && p.bf16 == q.bf16 && p.of == q.of;
}

static bool is_same_node(const wk_plan *a, const wk_plan *b, size_t step)
{
    const wk_node *x = &a->graph->nodes.items[a->nodes[step]];
    const wk_node *y = &b->graph->nodes.items[b->nodes[step]];
    if (x->op != y->op || x->input_count != y->input_count || x->outputs != y->outputs ||
        a->streams[step] != b->streams[step])
        return false;
    for (int i = 0; i < x->input_count; i++)
        if (wk_node_inputs(a->graph, x)[i] != wk_node_inputs(b->graph, y)[i]) return false;
    return true;
}

bool wk_plan_is_congruent(const wk_plan *a, const wk_plan *b)
{
    bool same = a->node_count == b->node_count &&
                a->graph->tensors.count == b->graph->tensors.count &&
                a->temporary_size == b->temporary_size && a->owned_size == b->owned_size;
    for (size_t i = 1; same && i < a->graph->tensors.count; i++)
        same = is_same_tensor(a, b, i);
    for (size_t i = 0; same && i < a->node_count; i++)
        same = is_same_node(a, b, i);
    return same;
}
