#include "tensor/schedule.h"
#include "tensor/cost.h"

#include <stdlib.h>
#include <string.h>

// A chain is not worth two waits between streams below this, in microseconds.
static const double WAITS_US = 5;
// A chain is urgent when it takes more than an eighth of the time until stream 0 needs it.
static const double URGENT = 8;
// A chain may keep memory alive for this part of the run.
static const double LINGER = 0.01;

enum { MAIN = -1, DEFERRED = -2 }; // instead of a chain's index

// Steps of one side stream, each after the one that it waited for longest. Positions are steps of
// the recorded order.
typedef struct chain {
    double time;    // of its steps
    int after;      // the step of stream 0 that the first of them waits for, or -1
    int before;     // the first step of stream 0 that needs one of them, or node_count
    int begin, end; // steps of stream 0 with which they are expected to begin and to end
    bool hoisted;   // they come before their place in the recorded order
    bool has_room;  // however late they run, their memory is there
    int stream;     // 0: refused
} chain;

typedef struct scheduler {
    wk_plan *plan;
    int count;
    wk_dependencies needs;
    wk_cost *costs;
    double *finish; // by step: microseconds until it is done, if nothing is short
    double *tail;   // by step: from its beginning to the end of the run
    double *clock;  // by step: when stream 0 gets there; count + 1
    double *idle;   // by step of stream 0: microseconds of idle processors
    double *used;   // by step: as much of it as chains have got
    double *live;   // by step: bytes
    double peak;    // the most of them
    int *chain;     // by step: index, MAIN or DEFERRED
    int *at;        // by step: the position that it is moved behind
    int *before;    // by step: the first step of stream 0 that needs it
    int *until;     // by step of a chain: the step of stream 0 with which it is expected to end
    int *rank;      // by step: its place among those of one position
    int *last_read; // by tensor that stream 0 makes: the last step outside a chain that reads it
    int *last_use;  // by tensor: the last step that reads or makes it
    bool *deferrable, *grouped, *marked;
    WK_ARRAY(chain) chains;
    WK_ARRAY(int) order; // of chains
} scheduler;

static const wk_node *step_node(const wk_plan *plan, int step)
{
    return &plan->graph->nodes.items[plan->nodes[step]];
}

static int root_of(const wk_plan *plan, const wk_node *node, int input)
{
    return wk_info(plan->graph, wk_node_inputs(plan->graph, node)[input])->root;
}

// Deferred weight gradients.

static bool is_optimiser(const wk_node *node)
{
    return node->op == WK_OP_global_norm || node->op == WK_OP_adam;
}

// A root: whether others than the optimiser and stores read it, and the last step that touches it.
typedef struct use {
    bool read;
    int last;
} use;

static void find_uses(const wk_plan *plan, use *uses)
{
    for (int step = 0; step < (int)plan->node_count; step++) {
        const wk_node *node = step_node(plan, step);
        if (node->op == WK_OP_mark) continue; // nothing waits for it
        for (int i = 0; i < node->input_count; i++) {
            use *u = &uses[root_of(plan, node, i)];
            u->read |= !is_optimiser(node) && node->op != WK_OP_store;
            u->last = step;
        }
    }
}

// Whether a step makes what only the optimiser reads or what is only stored, or writes, as one of
// these, what nothing touches after it.
static bool is_deferrable(const wk_plan *plan, int step, const use *uses)
{
    const wk_node *node = step_node(plan, step);
    if (node->op == WK_OP_mark) return true;
    if (node->op == WK_OP_adam || node->op == WK_OP_store)
        return uses[root_of(plan, node, 0)].last == step;
    for (int i = 0; i < node->output_count; i++)
        if (uses[node->outputs + i].read || wk_info(plan->graph, node->outputs + i)->output)
            return false;
    return node->output_count > 0 && !is_optimiser(node) && !wk_op_writes(node->op);
}

static bool find_deferrable(scheduler *s)
{
    use *uses = calloc(s->plan->graph->tensors.count, sizeof *uses);
    if (!uses) return false;
    find_uses(s->plan, uses);
    for (int step = 0; step < s->count; step++)
        s->deferrable[step] = !s->grouped[step] && is_deferrable(s->plan, step, uses);
    free(uses);
    return true;
}

// The critical path.

static void find_times(scheduler *s)
{
    for (int step = 0; step < s->count; step++) {
        double start = 0;
        for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++) {
            double ready = s->finish[s->needs.steps.items[i]];
            if (ready > start) start = ready;
        }
        s->finish[step] = start + wk_cost_time(s->costs[step]);
        s->tail[step] = 0;
    }
    for (int step = s->count; step-- > 0;) {
        s->tail[step] += wk_cost_time(s->costs[step]);
        for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++) {
            double *tail = &s->tail[s->needs.steps.items[i]];
            if (s->tail[step] > *tail) *tail = s->tail[step];
        }
    }
}

// A product that another adds to in place belongs to it: elsewhere the sum would be copied.
static bool find_critical(scheduler *s)
{
    bool *accumulated = calloc(s->plan->graph->tensors.count, sizeof *accumulated);
    if (!accumulated) return false;
    double total = 0;
    for (int step = 0; step < s->count; step++)
        if (s->tail[step] > total) total = s->tail[step];
    for (int step = s->count; step-- > 0;) {
        const wk_node *node = step_node(s->plan, step);
        double slack = total - s->tail[step] - s->finish[step] + wk_cost_time(s->costs[step]);
        bool critical = s->grouped[step] || slack < WAITS_US ||
                        (node->output_count > 0 && accumulated[node->outputs]);
        if (critical && wk_op_table[node->op].traits & WK_TRAIT_ACCUMULATES &&
            node->input_count > 2)
            accumulated[root_of(s->plan, node, 2)] = true;
        s->chain[step] = critical && !s->deferrable[step] ? MAIN : DEFERRED;
    }
    free(accumulated);
    return true;
}

// What each step, and each chain, is between on stream 0.
static void find_bounds(scheduler *s)
{
    for (int step = 0; step < s->count; step++) {
        s->at[step] = s->chain[step] == MAIN ? step : -1;
        for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++) {
            int other = s->at[s->needs.steps.items[i]];
            if (s->chain[step] != MAIN && other > s->at[step]) s->at[step] = other;
        }
        s->before[step] = s->count;
    }
    for (int step = s->count; step-- > 0;) {
        int first = s->chain[step] == MAIN ? step : s->before[step];
        for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++) {
            int *before = &s->before[s->needs.steps.items[i]];
            if (first < *before) *before = first;
        }
    }
    s->clock[0] = 0;
    for (int step = 0; step < s->count; step++) {
        bool main = s->chain[step] == MAIN;
        s->idle[step] = main ? wk_cost_idle(s->costs[step]) : 0;
        s->clock[step + 1] = s->clock[step] + (main ? wk_cost_time(s->costs[step]) : 0);
    }
    for (int step = s->count; step-- > 0;) {
        if (s->chain[step] < 0) continue;
        chain *c = &s->chains.items[s->chain[step]];
        c->after = s->at[step];
        if (s->before[step] < c->before) c->before = s->before[step];
    }
}

// Chains.

// Whether stream 0 needs a step at its end only, or never.
static bool is_late(const scheduler *s, int step)
{
    return s->clock[s->count] - s->clock[s->before[step]] < 2 * WAITS_US;
}

// The step that this one follows on its stream: the one it waits for longest, or -1. The steps of
// an optimiser stay together behind their first.
static int followed(const scheduler *s, int step)
{
    const wk_node *node = step_node(s->plan, step);
    int last = -1, begin = node->op == WK_OP_adam ? root_of(s->plan, node, 4) : 0;
    for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++) {
        int other = s->needs.steps.items[i];
        if (begin && step_node(s->plan, other)->outputs == begin) return other;
        if (last < 0 || s->finish[other] > s->finish[last]) last = other;
    }
    return last;
}

static bool find_chains(scheduler *s)
{
    for (int step = 0; step < s->count; step++) {
        if (s->chain[step] == MAIN) continue;
        int last = followed(s, step), with = last < 0 ? MAIN : s->chain[last];
        if (with >= 0 && is_late(s, last) != is_late(s, step)) with = MAIN;
        if (with >= 0) {
            s->chain[step] = with;
        } else if (s->deferrable[step]) {
            s->chain[step] = DEFERRED;
        } else if (with == DEFERRED) {
            s->chain[step] = MAIN;
        } else {
            s->chain[step] = (int)s->chains.count;
            if (!wk_array_push(&s->chains, (chain){.before = s->count, .begin = -1})) return false;
        }
    }
    return true;
}

// What only chains need is part of the first of them.
static bool join_chains(scheduler *s)
{
    enum { NOBODY = -3 };
    int *taker = malloc(((size_t)s->count + 1) * sizeof *taker); // the chain that needs a step
    if (!taker) return false;
    for (int step = 0; step < s->count; step++)
        taker[step] = NOBODY;
    for (int step = s->count; step-- > 0;) {
        if (s->chain[step] >= 0 && taker[step] >= 0) s->chain[step] = taker[step];
        int mine = s->chain[step];
        double time = wk_cost_time(s->costs[step]);
        for (int i = s->needs.begin[step]; time > 0 && i < s->needs.begin[step + 1]; i++) {
            int other = s->needs.steps.items[i];
            if (taker[other] != MAIN)
                taker[other] = is_late(s, other) == is_late(s, step) ? mine : MAIN;
        }
        if (mine >= 0) s->chains.items[mine].time += time;
    }
    free(taker);
    return true;
}

// Time from when a chain can begin until stream 0 needs it.
static double window(const scheduler *s, const chain *c)
{
    return s->clock[c->before] - s->clock[c->after + 1];
}

static double left(const scheduler *s, int step, const double *taken)
{
    double left = s->idle[step] - s->used[step] - taken[step];
    return left > 0 ? left : 0;
}

// Finds the idle time of stream 0 that a chain's steps fill, one after the other, from their place
// in the recorded order or, `hoisted`, from when they can begin. What is taken is noted in `taken`.
// Returns the first step for which there is too little, or -1.
static int fill_idle(scheduler *s, int index, bool hoisted, double *taken)
{
    int first_short = -1;
    chain *c = &s->chains.items[index];
    int at = c->after + 1;
    memset(taken, 0, (size_t)s->count * sizeof *taken);
    c->begin = -1;
    c->hoisted = hoisted;
    for (int step = 0; step < s->count; step++) {
        if (s->chain[step] != index) continue;
        int first = hoisted ? s->at[step] + 1 : step;
        if (at < first) at = first;
        double need = s->costs[step].work * s->costs[step].share;
        while (need > 0 && at < s->before[step] && left(s, at, taken) <= need) {
            need -= left(s, at, taken);
            taken[at] += left(s, at, taken);
            at++;
        }
        // Optimiser steps at the end wait for the last readers of their weights.
        bool writes = wk_op_writes(step_node(s->plan, step)->op);
        bool enough = at < s->before[step] || need <= 0 || (writes && at == s->count);
        if (!enough && first_short < 0) first_short = step;
        if (need > 0 && at < s->before[step]) taken[at] += need;
        if (c->begin < 0) c->begin = c->end = hoisted ? at : step;
        s->until[step] = at;
        if (!writes) c->end = at;
    }
    return first_short;
}

static double linger(const scheduler *s)
{
    return s->clock[s->count] * LINGER;
}

// The first step of a chain that would keep much memory alive for long in its place, or -1: what it
// reads, after others last did; or what it makes, when hoisted, before others read it.
static int lingering(const scheduler *s, int index)
{
    double much = s->peak * LINGER; // bytes
    const wk_graph *g = s->plan->graph;
    for (int step = 0; step < s->count; step++) {
        const wk_node *node = step_node(s->plan, step);
        if (s->chain[step] != index) continue;
        for (int i = 0; i < node->input_count; i++) {
            const wk_tensor_info *info = wk_info(g, root_of(s->plan, node, i));
            int last = s->last_read[info->root];
            if (info->kind != WK_TEMPORARY || last < 0 || (double)wk_type_size(info->type) < much)
                continue;
            if (s->clock[s->until[step]] - s->clock[last + 1] > linger(s)) return step;
        }
        for (int i = 0; i < node->output_count; i++) {
            double bytes = (double)wk_type_size(wk_info(g, node->outputs + i)->type);
            if (bytes < much || s->before[step] == s->count || s->until[step] >= step) continue;
            if (s->clock[step] - s->clock[s->until[step]] > linger(s)) return step;
        }
    }
    return -1;
}

static void find_last_reads(scheduler *s, int index)
{
    for (size_t i = 0; i < s->plan->graph->tensors.count; i++)
        s->last_read[i] = -1;
    for (int step = 0; step < s->count; step++) {
        const wk_node *node = step_node(s->plan, step);
        if (s->chain[step] == index) continue;
        for (int i = 0; i < node->input_count; i++) {
            int *last = &s->last_read[root_of(s->plan, node, i)];
            if (*last >= 0) *last = step;
        }
        for (int i = 0; s->chain[step] == MAIN && i < node->output_count; i++)
            s->last_read[node->outputs + i] = step;
    }
}

// Bytes of temporaries that are alive at each step of the recorded order.
static void find_live(scheduler *s)
{
    const wk_graph *g = s->plan->graph;
    int *last = s->last_use;
    memset(s->live, 0, ((size_t)s->count + 1) * sizeof *s->live);
    for (int step = 0; step < s->count; step++) {
        const wk_node *node = step_node(s->plan, step);
        for (int i = 0; i < node->input_count; i++)
            last[root_of(s->plan, node, i)] = step;
        for (int i = 0; i < node->output_count; i++)
            last[node->outputs + i] = wk_info(g, node->outputs + i)->output ? s->count : step;
    }
    for (int step = 0; step < s->count; step++) {
        const wk_node *node = step_node(s->plan, step);
        for (int i = 0; i < node->output_count && !s->plan->lazy[s->plan->nodes[step]]; i++) {
            double bytes = (double)wk_type_size(wk_info(g, node->outputs + i)->type);
            s->live[step] += bytes;
            if (last[node->outputs + i] < s->count) s->live[last[node->outputs + i] + 1] -= bytes;
        }
    }
    for (int step = 0; step < s->count; step++) {
        if (step > 0) s->live[step] += s->live[step - 1];
        if (s->live[step] > s->peak) s->peak = s->live[step];
    }
}

// The most memory of its own that a chain needs.
static double own_peak(const scheduler *s, int index)
{
    const wk_graph *g = s->plan->graph;
    double own = 0, peak = 0;
    for (int step = 0; step < s->count; step++) {
        const wk_node *node = step_node(s->plan, step);
        if (s->chain[step] != index) continue;
        for (int i = 0; i < node->output_count; i++)
            own += (double)wk_type_size(wk_info(g, node->outputs + i)->type);
        if (own > peak) peak = own;
        for (int i = 0; i < node->input_count; i++) {
            int root = root_of(s->plan, node, i);
            if (s->last_use[root] == step && s->last_read[root] < 0 &&
                wk_info(g, root)->kind == WK_TEMPORARY)
                own -= (double)wk_type_size(wk_info(g, root)->type);
        }
    }
    return peak;
}

// Whether a chain fits in the memory that the recorded order needs at its peak, until step `end`.
static bool fits(const scheduler *s, int index, int end)
{
    double there = 0;
    for (int step = s->chains.items[index].begin; step <= end && step < s->count; step++)
        if (s->live[step] > there) there = s->live[step];
    return there + own_peak(s, index) <= s->peak;
}

static void give_step_back(scheduler *s, int step)
{
    s->chains.items[s->chain[step]].time -= wk_cost_time(s->costs[step]);
    s->chain[step] = s->deferrable[step] ? DEFERRED : MAIN;
}

// Gives a step, and those of its chain that it needs, back to stream 0.
static void give_head_back(scheduler *s, int index, int last)
{
    memset(s->marked, 0, (size_t)s->count * sizeof *s->marked);
    s->marked[last] = true;
    for (int step = last; step >= 0; step--) {
        if (!s->marked[step] || s->chain[step] != index) continue;
        give_step_back(s, step);
        for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++)
            s->marked[s->needs.steps.items[i]] = true;
    }
    find_bounds(s);
}

// Gives a step, and those of its chain that need it, back to stream 0.
static void give_tail_back(scheduler *s, int index, int first)
{
    memset(s->marked, 0, (size_t)s->count * sizeof *s->marked);
    for (int step = first; step < s->count; step++) {
        if (s->chain[step] != index) continue;
        for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++)
            s->marked[step] |= s->marked[s->needs.steps.items[i]];
        s->marked[step] |= step == first;
        if (s->marked[step]) give_step_back(s, step);
    }
    find_bounds(s);
}

// Finds a place for a chain: as recorded, or hoisted; or for what is left of it without the steps
// that are needed too soon or would keep much memory alive. What is needed at the end only may run
// out of idle time: after the last step of stream 0 it costs no more than on it.
static bool find_place(scheduler *s, int index, double *taken)
{
    const chain *c = &s->chains.items[index];
    find_last_reads(s, index);
    double least = c->time / 4 > WAITS_US ? c->time / 4 : WAITS_US;
    while (c->time >= least) {
        int lacks = fill_idle(s, index, false, taken), lingers = lingering(s, index);
        if (lacks < 0 && lingers < 0) return true;
        if (fill_idle(s, index, true, taken) < 0 && lingering(s, index) < 0 &&
            fits(s, index, c->end))
            return true;
        if (lacks >= 0 && !is_late(s, lacks)) {
            give_tail_back(s, index, lacks);
        } else if (lingers >= 0) {
            give_head_back(s, index, lingers);
        } else {
            (void)fill_idle(s, index, false, taken);
            return true;
        }
    }
    return false;
}

static bool find_places(scheduler *s)
{
    double *taken = calloc((size_t)s->count + 1, sizeof *taken);
    if (!taken) return false;
    for (size_t i = 0; i < s->order.count; i++) {
        chain *c = &s->chains.items[s->order.items[i]];
        if (!find_place(s, s->order.items[i], taken)) continue;
        bool late = s->clock[s->count] - s->clock[c->before] < 2 * WAITS_US;
        c->stream = !late && window(s, c) < URGENT * c->time ? WK_URGENT_STREAM : 1;
        c->has_room = c->stream == WK_URGENT_STREAM || fits(s, s->order.items[i], s->count);
        for (int step = 0; step < s->count; step++)
            s->used[step] += taken[step];
    }
    free(taken);
    return true;
}

// Sorts the chains, few and nearly in order, by a number of each.
static void sort_chains(scheduler *s, double (*number)(const scheduler *s, const chain *c))
{
    int *order = s->order.items;
    for (int i = 0; i < (int)s->order.count; i++) {
        int moved = order[i], at = i;
        double mine = number(s, &s->chains.items[moved]);
        for (; at > 0 && number(s, &s->chains.items[order[at - 1]]) > mine; at--)
            order[at] = order[at - 1];
        order[at] = moved;
    }
}

static double beginning(const scheduler *s, const chain *c)
{
    (void)s;
    return c->begin;
}

// Chains that can wait go to whichever stream is done first.
static void choose_streams(scheduler *s)
{
    int done[WK_URGENT_STREAM] = {0};
    sort_chains(s, beginning);
    for (size_t i = 0; i < s->order.count; i++) {
        chain *c = &s->chains.items[s->order.items[i]];
        if (c->stream != 1) continue;
        for (int k = 2; k < WK_URGENT_STREAM; k++)
            if (done[k] < done[c->stream]) c->stream = k;
        done[c->stream] = c->end;
    }
}

// The chain that a step of a refused one can follow, or MAIN: on stream 0, what is needed late
// would wait for it.
static int adopted(scheduler *s, int step)
{
    for (int i = s->needs.begin[step]; is_late(s, step) && i < s->needs.begin[step + 1]; i++) {
        int other = s->needs.steps.items[i];
        if (s->chain[other] < 0) continue;
        s->until[step] = s->until[other];
        return s->chain[other];
    }
    return MAIN;
}

static void keep_refused(scheduler *s)
{
    for (int step = 0; step < s->count; step++) {
        int index = s->chain[step];
        if (index >= 0 && s->chains.items[index].stream == 0)
            s->chain[step] = s->deferrable[step] ? DEFERRED : adopted(s, step);
        index = s->chain[step];
        s->plan->branches[step] = index >= 0          ? s->chains.items[index].stream
                                  : index == DEFERRED ? WK_URGENT_STREAM
                                                      : 0;
    }
}

// The order.

static bool is_product(const wk_node *node)
{
    switch (node->op) {
    case WK_OP_matmul:
    case WK_OP_conv:
    case WK_OP_conv_dx:
    case WK_OP_conv_dw:
    case WK_OP_deconv:
    case WK_OP_deconv_dx:
        return true;
    default:
        return false;
    }
}

static bool depends(const scheduler *s, int step, int on)
{
    for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++)
        if (s->needs.steps.items[i] == on) return true;
    return false;
}

// Whether nothing should come between two neighbours of stream 0: they are part of one group, or
// the second takes the result of the first further and may be fused into it.
static bool are_one(const scheduler *s, int a, int b)
{
    if (s->grouped[a] && s->grouped[b]) return true;
    return !is_product(step_node(s->plan, b)) && depends(s, b, a);
}

static int next_main(const scheduler *s, int step)
{
    while (step < s->count && s->chain[step] != MAIN)
        step++;
    return step;
}

static int last_main(const scheduler *s, int step)
{
    while (step >= 0 && s->chain[step] != MAIN)
        step--;
    return step;
}

// Of the steps of stream 0 before this one, the last that reads a result which it reads too: the
// first reader may have to round it for all.
static int last_reader(const scheduler *s, int step)
{
    const wk_node *node = step_node(s->plan, step);
    for (int other = step - 1; other > s->at[step]; other--) {
        const wk_node *reader = step_node(s->plan, other);
        if (s->chain[other] != MAIN) continue;
        for (int i = 0; i < node->input_count; i++)
            for (int k = 0; k < reader->input_count; k++) {
                int root = root_of(s->plan, node, i);
                if (root && root == root_of(s->plan, reader, k) &&
                    wk_info(s->plan->graph, root)->kind == WK_TEMPORARY)
                    return other;
            }
    }
    return -1;
}

// Where a step of a side stream comes: when its inputs are there, others have read them, and its
// chain is expected to begin; and not between steps that are one.
static int position(const scheduler *s, int step)
{
    int at = s->at[step], reader = last_reader(s, step);
    if (reader > at) at = reader;
    if (s->chain[step] >= 0) {
        const chain *c = &s->chains.items[s->chain[step]];
        int begin = c->hoisted ? c->begin : step;
        if (begin - 1 > at) at = begin - 1;
    }
    for (int a = last_main(s, at), b; a >= 0; a = b) {
        b = next_main(s, a + 1);
        if (b >= s->before[step] || b == s->count || !are_one(s, a, b)) break;
        at = b;
    }
    return at < s->before[step] ? at : s->before[step] - 1;
}

// The optimiser that a step of adam belongs to, or 0.
static int optimiser_of(const scheduler *s, int step)
{
    if (step < 0 || step == s->count) return 0;
    const wk_node *node = step_node(s->plan, step);
    return node->op == WK_OP_adam ? root_of(s->plan, node, 4) : 0;
}

// The steps of an optimiser come together, to be done as one: those that nothing needs when the
// last of all can run, others on side streams when the last of them can.
static void gather_optimiser(scheduler *s, int last)
{
    int first = last, at[2] = {-1, -1};
    while (optimiser_of(s, first - 1) == optimiser_of(s, last))
        first--;
    for (int step = first; step <= last; step++) {
        bool needed = !s->deferrable[step];
        if (s->at[step] > at[0]) at[0] = s->at[step];
        if (needed && s->chain[step] != MAIN && s->at[step] > at[1]) at[1] = s->at[step];
    }
    for (int step = first; step <= last; step++) {
        int together = at[!s->deferrable[step]];
        if (s->chain[step] != MAIN && together < s->before[step]) s->at[step] = together;
    }
}

// Of the steps at one position, those of stream 0 come first, and optimiser steps that nothing
// needs last: those that something needs are then done as one.
static int rank(const scheduler *s, int step)
{
    int rank = s->deferrable[step] && optimiser_of(s, step) ? 2 : 1;
    for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++) {
        int other = s->needs.steps.items[i];
        if (s->at[other] == s->at[step] && s->rank[other] > rank) rank = s->rank[other];
    }
    return rank;
}

static void find_positions(scheduler *s)
{
    find_bounds(s);
    for (int step = 0; step < s->count; step++) {
        if (optimiser_of(s, step - 1) && optimiser_of(s, step - 1) != optimiser_of(s, step))
            gather_optimiser(s, step - 1);
        if (s->chain[step] == MAIN) continue;
        for (int i = s->needs.begin[step]; i < s->needs.begin[step + 1]; i++) {
            int other = s->at[s->needs.steps.items[i]];
            if (other > s->at[step]) s->at[step] = other;
        }
        s->at[step] = position(s, step);
    }
    if (optimiser_of(s, s->count - 1)) gather_optimiser(s, s->count - 1);
    for (int step = 0; step < s->count; step++)
        s->rank[step] = s->chain[step] == MAIN ? 0 : rank(s, step);
}

// One step of the list that is sorted.
typedef struct place {
    int at, step; // recorded positions
    int rank;     // among those of one position
    int node, branch;
} place;

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->rank != y->rank) return x->rank - y->rank;
    return (x->step > y->step) - (x->step < y->step);
}

static void move_groups(wk_plan *plan, const place *places)
{
    for (size_t i = 0; i < plan->groups.count; i++) {
        wk_group *group = &plan->groups.items[i];
        int length = group->end - group->begin, to = 0;
        while (places[to].step != group->begin)
            to++;
        *group = (wk_group){to, to + length};
    }
}

// A step of a chain whose memory others need should be done a little after it is expected to be.
static void find_deadlines(const scheduler *s, const place *places)
{
    int *finish_by = s->plan->finish_by;
    for (int i = 0; i < s->count; i++) {
        int index = s->chain[places[i].step];
        finish_by[i] = s->count;
        if (index < 0 || s->chains.items[index].has_room) continue;
        double late = s->clock[s->until[places[i].step]] + 2 * linger(s);
        int last = i;
        while (last + 1 < s->count && s->clock[places[last + 1].at + 1] < late)
            last++;
        finish_by[i] = last;
    }
}

static bool sort_steps(scheduler *s)
{
    place *places = malloc(((size_t)s->count + 1) * sizeof *places);
    if (!places) return false;
    for (int i = 0; i < s->count; i++)
        places[i] = (place){s->at[i], i, s->rank[i], s->plan->nodes[i], s->plan->branches[i]};
    qsort(places, (size_t)s->count, sizeof *places, by_place);
    for (int i = 0; i < s->count; i++) {
        s->plan->nodes[i] = places[i].node;
        s->plan->branches[i] = places[i].branch;
    }
    move_groups(s->plan, places);
    find_deadlines(s, places);
    free(places);
    return true;
}

static bool schedule(scheduler *s, int processors)
{
    for (size_t i = 0; i < s->plan->groups.count; i++)
        for (int step = s->plan->groups.items[i].begin; step <= s->plan->groups.items[i].end;
             step++)
            s->grouped[step] = true;
    wk_plan_costs(s->plan, processors, s->costs);
    find_times(s);
    if (!find_deferrable(s) || !find_critical(s)) return false;
    find_bounds(s);
    if (!find_chains(s) || !join_chains(s)) return false;
    find_bounds(s);
    for (int i = 0; i < (int)s->chains.count; i++)
        if (!wk_array_push(&s->order, i)) return false;
    sort_chains(s, window);
    find_live(s);
    if (!find_places(s)) return false;
    choose_streams(s);
    keep_refused(s);
    find_positions(s);
    return sort_steps(s);
}

bool wk_plan_schedule(wk_plan *plan, int processors)
{
    size_t n = plan->node_count + 1;
    scheduler s = {.plan = plan, .count = (int)plan->node_count};
    s.costs = malloc(n * sizeof *s.costs);
    s.finish = calloc(6 * n, sizeof *s.finish);
    s.chain = malloc(5 * n * sizeof *s.chain);
    s.deferrable = calloc(3 * n, sizeof *s.deferrable);
    s.last_read = malloc(2 * plan->graph->tensors.count * sizeof *s.last_read);
    bool room = wk_dependencies_find(plan, &s.needs) && s.costs && s.finish && s.chain &&
                s.deferrable && s.last_read;
    if (room) {
        s.tail = s.finish + n, s.clock = s.tail + n, s.idle = s.clock + n, s.used = s.idle + n;
        s.live = s.used + n;
        s.at = s.chain + n, s.before = s.at + n, s.until = s.before + n;
        s.rank = s.until + n;
        s.last_use = s.last_read + plan->graph->tensors.count;
        s.grouped = s.deferrable + n, s.marked = s.grouped + n;
        room = schedule(&s, processors);
    }
    wk_dependencies_free(&s.needs);
    wk_array_free(&s.chains);
    wk_array_free(&s.order);
    free(s.costs);
    free(s.finish);
    free(s.chain);
    free(s.deferrable);
    free(s.last_read);
    return room;
}
