#include "tensor/plan.h"

#include <stdlib.h>

// One step needs another, of another stream.
typedef struct edge {
    int from, to;
} edge;

// Last step that accessed a tensor, by root and stream; -1 for none.
typedef struct touches {
    int read[WK_STREAMS_MAX], written[WK_STREAMS_MAX];
} touches;

typedef struct finder {
    const wk_plan *plan;
    const wk_step_range *spans;
    wk_step_range *windows;
    touches *touches;
    WK_ARRAY(edge) edges; // by `to`
    bool failed;
} finder;

static void add_edges(finder *f, const int *from, int to)
{
    for (int i = 0; i < WK_STREAMS_MAX; i++) {
        if (from[i] < 0 || i == f->plan->streams[to]) continue;
        if (!wk_array_push(&f->edges, (edge){from[i], to})) f->failed = true;
    }
}

static void read_tensor(finder *f, int tensor, int step)
{
    touches *t = &f->touches[wk_info(f->plan->graph, tensor)->root];
    add_edges(f, t->written, step);
    t->read[f->plan->streams[step]] = step;
}

static void write_tensor(finder *f, int tensor, int step)
{
    touches *t = &f->touches[wk_info(f->plan->graph, tensor)->root];
    add_edges(f, t->written, step);
    add_edges(f, t->read, step);
    for (int i = 0; i < WK_STREAMS_MAX; i++)
        t->read[i] = t->written[i] = -1;
    t->written[f->plan->streams[step]] = step;
}

static void find_edges(finder *f)
{
    const wk_graph *g = f->plan->graph;
    for (size_t i = 0; i < g->tensors.count; i++)
        for (int k = 0; k < WK_STREAMS_MAX; k++)
            f->touches[i].read[k] = f->touches[i].written[k] = -1;
    for (int step = 0; step < (int)f->plan->node_count; step++) {
        const wk_node *node = wk_plan_node(f->plan, step);
        const int *inputs = wk_node_inputs(g, node);
        unsigned writes = wk_op_writes(node->op);
        for (int i = 0; i < node->input_count; i++)
            if (inputs[i]) read_tensor(f, inputs[i], step);
        for (int i = 0; writes >> i; i++)
            if (writes >> i & 1) write_tensor(f, inputs[i], step);
        for (int i = 0; i < node->output_count; i++)
            write_tensor(f, node->outputs + i, step);
    }
}

// What comes before a step on its own stream: of stream 0 nothing else matters, of others what the
// last one had to wait for, and the beginning of the unbroken run of steps. It may begin a little
// before its place in the list: otherwise it would wait for the last users of its memory although
// its inputs are ready. Starting from the first possible moment would keep much more memory alive.
static void find_beginnings(finder *f)
{
    enum { LEAD = 50 }; // steps
    int latest[WK_STREAMS_MAX] = {0};
    size_t at = 0;
    for (int step = 0; step < (int)f->plan->node_count; step++) {
        int stream = f->plan->streams[step];
        wk_step_range *w = &f->windows[step];
        *w = f->spans[step];
        int begin = latest[stream];
        bool starts = step == 0 || f->plan->streams[step - 1] != stream;
        if (starts && step - LEAD > begin) begin = step - LEAD;
        for (; at < f->edges.count && f->edges.items[at].to == step; at++) {
            int from = f->edges.items[at].from;
            int past = f->plan->streams[from] ? f->windows[from].begin : f->spans[from].end + 1;
            if (past > begin) begin = past;
        }
        latest[stream] = begin;
        if (stream && begin < w->begin) w->begin = begin;
    }
}

static int by_from(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

// The other direction: until another stream needs it, or it should be done.
static void find_ends(finder *f)
{
    int count = (int)f->plan->node_count, earliest[WK_STREAMS_MAX];
    size_t left = f->edges.count;
    for (int i = 0; i < WK_STREAMS_MAX; i++)
        earliest[i] = count - 1;
    if (left > 0) qsort(f->edges.items, left, sizeof *f->edges.items, by_from);
    for (int step = count - 1; step >= 0; step--) {
        int stream = f->plan->streams[step];
        wk_step_range *w = &f->windows[step];
        int end = earliest[stream];
        if (f->plan->finish_by[step] < end) end = f->plan->finish_by[step];
        for (; left > 0 && f->edges.items[left - 1].from == step; left--) {
            int to = f->edges.items[left - 1].to;
            int before = f->plan->streams[to] ? f->windows[to].end : f->spans[to].begin - 1;
            if (before < end) end = before;
        }
        earliest[stream] = end;
        if (stream && end > w->end) w->end = end;
    }
}

bool wk_plan_windows(const wk_plan *plan, const wk_step_range *spans, wk_step_range *windows)
{
    finder f = {.plan = plan, .spans = spans, .windows = windows};
    f.touches = malloc(plan->graph->tensors.count * sizeof *f.touches);
    if (!f.touches) return false;
    find_edges(&f);
    find_beginnings(&f);
    find_ends(&f);
    free(f.touches);
    wk_array_free(&f.edges);
    return !f.failed;
}
