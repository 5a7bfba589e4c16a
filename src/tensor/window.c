#include "tensor/cost.h"

#include <stdlib.h>

// One step needs another, of another stream.
typedef struct edge {
    int from, to;
} edge;

typedef struct finder {
    const wk_plan *plan;
    const wk_step_range *spans;
    wk_step_range *windows;
    WK_ARRAY(edge) edges; // by `to`
} finder;

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
    wk_dependencies needs;
    bool ok = wk_dependencies_find(plan, &needs);
    for (int to = 0; ok && to < (int)plan->node_count; to++)
        for (int k = needs.begin[to]; ok && k < needs.begin[to + 1]; k++) {
            int from = needs.steps.items[k];
            if (plan->streams[from] != plan->streams[to])
                ok = wk_array_push(&f.edges, ((edge){from, to}));
        }
    if (ok) find_beginnings(&f);
    if (ok) find_ends(&f);
    wk_dependencies_free(&needs);
    wk_array_free(&f.edges);
    return ok;
}
