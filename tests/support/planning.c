#include "support/planning.h"
#include "support/check.h"
#include "tensor/cost.h"
#include "tensor/cuda/passes/plan_passes.h"
#include "tensor/cuda/passes/stream_waits.h"
#include "tensor/shape.h"

#include <stdlib.h>
#include <string.h>

wk_cuda_limits planning_limits = {
    .capability = 90, .processors = 132, .members = 1, .shared_memory = 227 << 10, .bf16 = true};

static wk_status choose_schedule(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    (void)backend;
    return wk_cuda_choose_schedule(&planning_limits, plan, err);
}

static wk_status choose_formats(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    (void)backend;
    return wk_cuda_choose_formats(&planning_limits, plan, err);
}

static wk_status buffer_create(wk_backend *backend, size_t size, wk_buffer **out, wk_error *err)
{
    static uintptr_t next = 1 << 20;
    (void)err;
    *out = malloc(sizeof **out);
    assert_non_null(*out);
    **out = (wk_buffer){backend, size, (void *)next};
    next += (size + 4095) / 4096 * 4096;
    return WK_OK;
}

static void buffer_destroy(wk_buffer *buffer)
{
    free(buffer);
}

static wk_status upload(wk_buffer *buffer, size_t offset, const void *bytes, size_t size,
                        wk_error *err)
{
    (void)buffer, (void)offset, (void)bytes, (void)size, (void)err;
    return WK_OK;
}

static wk_status download(const wk_buffer *buffer, size_t offset, void *bytes, size_t size,
                          wk_error *err)
{
    (void)buffer, (void)offset, (void)err;
    memset(bytes, 0, size);
    return WK_OK;
}

static wk_status copy(const wk_copy *copy, wk_error *err)
{
    (void)copy, (void)err;
    return WK_OK;
}

static wk_status compile(wk_backend *backend, const wk_plan *const *plans, int count,
                         wk_executable **out, wk_error *err)
{
    (void)backend, (void)plans, (void)count, (void)err;
    *out = NULL;
    return WK_OK;
}

static const wk_backend_vtable vtable = {.name = "planning",
                                         .buffer_create = buffer_create,
                                         .buffer_destroy = buffer_destroy,
                                         .upload = upload,
                                         .download = download,
                                         .choose_schedule = choose_schedule,
                                         .choose_formats = choose_formats,
                                         .compile = compile,
                                         .copy = copy};

wk_backend planning_backend = {.vtable = &vtable};

// Marks: the root that was written last, by pairs of bytes.
typedef struct replay {
    const wk_plan *plan;
    const wk_graph *g;
    int *owner;
} replay;

typedef struct range {
    size_t begin, end; // bytes of the temporaries
} range;

// Where a tensor lies among the temporaries, in each of its formats; returns how many there are.
static int ranges_of(const wk_plan *plan, int tensor, range out[2])
{
    const wk_tensor_info *info = wk_info(plan->graph, tensor);
    wk_place place = plan->places[tensor];
    size_t size = wk_type_size(info->type), bf16_size = size / 2;
    unsigned formats = plan->formats[info->root];
    int count = 0;
    if (place.of) return 0;
    if (formats == WK_FORMAT_PADDED_BF16) {
        size_t cols = wk_shape_width(info->type.shape), rows = size / sizeof(float) / cols;
        bf16_size = rows * ((cols + 7) / 8 * 8) * 2;
        assert_int_equal(wk_plan_padded_size(info->type.shape), bf16_size);
    }
    if (formats & WK_FORMAT_F32) out[count++] = (range){place.offset, place.offset + size};
    if (formats != WK_FORMAT_F32) out[count++] = (range){place.bf16, place.bf16 + bf16_size};
    for (int i = 0; i < count; i++)
        assert_true(out[i].begin != WK_NOWHERE && out[i].end <= plan->temporary_size);
    return count;
}

static bool is_lazy(const replay *r, int root)
{
    int producer = wk_info(r->g, root)->producer;
    return producer >= 0 && r->plan->lazy[producer];
}

// Whether bytes marked `owner` hold what was written as `root`: its own, or what it was joined to.
static bool holds(const replay *r, int owner, int root)
{
    while (root && root != owner)
        root = r->plan->joins[root].into;
    return root;
}

static void expect(const replay *r, int tensor)
{
    const wk_tensor_info *info = tensor ? wk_info(r->g, tensor) : NULL;
    if (!info || info->kind != WK_TEMPORARY) return;
    if (is_lazy(r, info->root)) {
        const wk_node *node = &r->g->nodes.items[wk_info(r->g, info->root)->producer];
        for (int i = 0; i < node->input_count; i++)
            expect(r, wk_node_inputs(r->g, node)[i]);
        return;
    }
    range ranges[2];
    for (int k = ranges_of(r->plan, tensor, ranges); k-- > 0;)
        for (size_t at = ranges[k].begin / 2; at < ranges[k].end / 2; at++)
            if (!holds(r, r->owner[at], info->root))
                fail_msg("byte %zu of tensor %d holds tensor %d", 2 * at, tensor, r->owner[at]);
}

static void mark(const replay *r, int root)
{
    range ranges[2];
    for (int k = ranges_of(r->plan, root, ranges); k-- > 0;)
        for (size_t at = ranges[k].begin / 2; at < ranges[k].end / 2; at++)
            r->owner[at] = root;
}

void planning_replay(const wk_plan *plan)
{
    replay r = {plan, plan->graph, calloc(plan->temporary_size / 2 + 1, sizeof(int))};
    assert_non_null(r.owner);
    for (size_t step = 0; step < plan->node_count; step++) {
        const wk_node *node = &r.g->nodes.items[plan->nodes[step]];
        if (plan->lazy[plan->nodes[step]]) continue;
        for (int i = 0; i < node->input_count; i++)
            expect(&r, wk_node_inputs(r.g, node)[i]);
        for (int i = 0; i < node->output_count; i++)
            mark(&r, node->outputs + i);
    }
    for (size_t i = 1; i < r.g->tensors.count; i++)
        if (wk_info(r.g, (int)i)->output) expect(&r, (int)i);
    free(r.owner);
}

// A run as a flow: the step at the head of each stream first waits, then works as fast as the share
// of the device that it gets.
typedef struct flow {
    const wk_plan *plan;
    const wk_dependencies *needs;
    wk_cost *left; // of each step
    bool *done;
    int head[WK_STREAMS_MAX]; // steps; node_count where a stream is at its end
} flow;

static int next_of(const flow *f, int stream, int step)
{
    while (step < (int)f->plan->node_count && f->plan->streams[step] != stream)
        step++;
    return step;
}

static bool is_ready(const flow *f, int step)
{
    if (step == (int)f->plan->node_count) return false;
    for (int i = f->needs->begin[step]; i < f->needs->begin[step + 1]; i++)
        if (!f->done[f->needs->steps.items[i]]) return false;
    return true;
}

// How fast each stream's head gets on; returns the time until the first of them is at its next
// state.
static double find_speeds(const flow *f, double *speed)
{
    double free_share = 1, time = -1;
    for (int i = 0; i < WK_STREAMS_MAX; i++) {
        int s = i ? WK_STREAMS_MAX - i : 0; // by priority
        speed[s] = 0;
        if (!is_ready(f, f->head[s])) continue;
        const wk_cost *left = &f->left[f->head[s]];
        bool waits = left->latency > 0;
        double got = waits || left->share < free_share ? left->share : free_share;
        if (!waits) free_share -= got;
        speed[s] = waits ? 1 : got / left->share;
        if (speed[s] <= 0 && left->work > 0) continue;
        double until = waits ? left->latency : left->work > 0 ? left->work / speed[s] : 0;
        if (time < 0 || until < time) time = until;
    }
    return time;
}

static void pass_time(flow *f, const double *speed, double time)
{
    for (int s = 0; s < WK_STREAMS_MAX; s++) {
        if (!is_ready(f, f->head[s])) continue;
        wk_cost *left = &f->left[f->head[s]];
        double *part = left->latency > 0 ? &left->latency : &left->work;
        *part = *part - speed[s] * time < 1e-9 ? 0 : *part - speed[s] * time;
    }
    for (int s = 0; s < WK_STREAMS_MAX; s++) {
        if (!is_ready(f, f->head[s]) || wk_cost_time(f->left[f->head[s]]) > 0) continue;
        f->done[f->head[s]] = true;
        f->head[s] = next_of(f, s, f->head[s] + 1);
    }
}

static double run_flow(flow *f)
{
    double total = 0, speed[WK_STREAMS_MAX];
    for (int s = 0; s < WK_STREAMS_MAX; s++)
        f->head[s] = next_of(f, s, 0);
    for (double time; (time = find_speeds(f, speed)) >= 0;) {
        pass_time(f, speed, time);
        total += time;
    }
    for (int s = 0; s < WK_STREAMS_MAX; s++)
        assert_int_equal(f->head[s], (int)f->plan->node_count);
    return total;
}

typedef WK_ARRAY(wk_access) access_list;

// The memory of a tensor in every format it exists in; of a lazy one, that of its inputs.
static void add_access(const wk_plan *plan, int tensor, bool write, access_list *out)
{
    const wk_graph *g = plan->graph;
    const wk_tensor_info *info = wk_info(g, tensor);
    int producer = wk_info(g, info->root)->producer;
    wk_buffer *buffer = tensor ? wk_plan_buffer(plan, tensor) : NULL;
    if (producer >= 0 && plan->lazy[producer]) {
        const wk_node *node = &g->nodes.items[producer];
        for (int i = 0; !write && i < node->input_count; i++)
            add_access(plan, wk_node_inputs(g, node)[i], false, out);
    } else if (info->kind == WK_TEMPORARY && tensor && !plan->places[info->root].of) {
        range ranges[2];
        for (int k = ranges_of(plan, tensor, ranges); k-- > 0;)
            assert_true(wk_array_push(out, ((wk_access){ranges[k].begin, ranges[k].end, write})));
    } else if (buffer) {
        // Behind all temporaries.
        uint64_t begin =
            plan->temporary_size + (uintptr_t)buffer->address + plan->places[tensor].offset;
        wk_access access = {begin, begin + wk_type_size(info->type), write};
        assert_true(wk_array_push(out, access));
    }
}

// What each step waits for on other streams: for data, and for memory that it reuses.
static void find_waits(const wk_plan *plan, wk_dependencies *out)
{
    const wk_graph *g = plan->graph;
    wk_stream_waits *order = wk_stream_waits_create();
    access_list touched = {0};
    *out = (wk_dependencies){.begin = malloc((plan->node_count + 1) * sizeof *out->begin)};
    assert_true(order && out->begin);
    for (size_t step = 0; step < plan->node_count; step++) {
        const wk_node *node = &g->nodes.items[plan->nodes[step]];
        bool runs = !plan->lazy[plan->nodes[step]];
        out->begin[step] = (int)out->steps.count;
        touched.count = 0;
        for (int i = 0; runs && i < node->input_count; i++)
            add_access(plan, wk_node_inputs(g, node)[i], wk_op_writes_input(node->op, i), &touched);
        for (int i = 0; runs && !wk_plan_joins(g, node) && i < node->output_count; i++)
            add_access(plan, node->outputs + i, true, &touched);
        wk_vector_clock waits;
        assert_true(
            wk_stream_waits_add(order, plan->streams[step], touched.items, touched.count, &waits));
        for (int i = 0; i < WK_STREAMS_MAX; i++)
            if (waits.step[i] >= 0) assert_true(wk_array_push(&out->steps, waits.step[i]));
    }
    out->begin[plan->node_count] = (int)out->steps.count;
    wk_array_free(&touched);
    wk_stream_waits_destroy(order);
}

double planning_estimate(const wk_plan *plan)
{
    wk_dependencies needs;
    flow f = {plan,
              &needs,
              malloc((plan->node_count + 1) * sizeof *f.left),
              calloc(plan->node_count + 1, sizeof *f.done),
              {0}};
    assert_true(f.left && f.done);
    find_waits(plan, &needs);
    wk_plan_costs(plan, planning_limits.processors, f.left);
    double total = run_flow(&f);
    wk_dependencies_free(&needs);
    free(f.left);
    free(f.done);
    return total;
}
