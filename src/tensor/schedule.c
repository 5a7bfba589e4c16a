#include "tensor/schedule.h"
#include "tensor/schedule_internal.h"

#include <stdlib.h>

// The optimiser that a step of adam belongs to, or 0.
static int adam_optimiser(const wk_scheduler *s, int step)
{
    const wk_node *node = wk_plan_node(s->plan, step);
    return node->op == WK_OP_adam ? wk_schedule_root(s->plan, node, 4) : 0;
}

static bool is_main(const wk_scheduler *s, int step)
{
    return s->step[step].chain == WK_CHAIN_MAIN;
}

static void bound_steps(wk_scheduler *s)
{
    for (int step = 0; step < s->count; step++) {
        wk_step *t = &s->step[step];
        t->after = is_main(s, step) ? step : -1;
        t->before = s->count;
        WK_EACH_NEED (on, s, step)
            if (s->step[*on].after > t->after) t->after = s->step[*on].after;
    }
    for (int step = s->count; step-- > 0;) {
        int first = is_main(s, step) ? step : s->step[step].before;
        WK_EACH_NEED (on, s, step)
            if (first < s->step[*on].before) s->step[*on].before = first;
    }
}

void wk_schedule_bounds(wk_scheduler *s)
{
    bound_steps(s);
    for (int step = 0; step < s->count; step++) {
        wk_step *t = &s->step[step];
        t->idle = is_main(s, step) ? wk_cost_idle(t->cost) : 0;
        t[1].clock = t->clock + (is_main(s, step) ? wk_cost_time(t->cost) : 0);
    }
    for (int step = s->count; step-- > 0;) {
        if (s->step[step].chain < 0) continue;
        wk_chain *c = &s->chains.items[s->step[step].chain];
        c->after = s->step[step].after;
        if (s->step[step].before < c->before) c->before = s->step[step].before;
    }
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
        const wk_node *node = wk_plan_node(plan, step);
        if (node->op == WK_OP_mark) continue; // nothing waits for it
        for (int i = 0; i < node->input_count; i++) {
            use *u = &uses[wk_schedule_root(plan, node, i)];
            u->read |= !is_optimiser(node) && node->op != WK_OP_store;
            u->last = step;
        }
    }
}

// Whether a step makes what only the optimiser reads or what is only stored, or writes, as one of
// these, what nothing touches after it.
static bool is_deferrable(const wk_plan *plan, int step, const use *uses)
{
    const wk_node *node = wk_plan_node(plan, step);
    if (node->op == WK_OP_mark) return true;
    if (node->op == WK_OP_adam || node->op == WK_OP_store)
        return uses[wk_schedule_root(plan, node, 0)].last == step;
    for (int i = 0; i < node->output_count; i++)
        if (uses[node->outputs + i].read || wk_info(plan->graph, node->outputs + i)->output)
            return false;
    return node->output_count > 0 && !is_optimiser(node) && !wk_op_writes(node->op);
}

static bool find_deferrable(wk_scheduler *s)
{
    use *uses = calloc(s->plan->graph->tensors.count, sizeof *uses);
    if (!uses) return false;
    find_uses(s->plan, uses);
    for (int step = 0; step < s->count; step++)
        s->step[step].deferrable = !s->step[step].grouped && is_deferrable(s->plan, step, uses);
    free(uses);
    return true;
}

// The critical path.

static void find_times(wk_scheduler *s)
{
    for (int step = 0; step < s->count; step++) {
        wk_step *t = &s->step[step];
        WK_EACH_NEED (on, s, step)
            if (s->step[*on].finish > t->finish) t->finish = s->step[*on].finish;
        t->finish += wk_cost_time(t->cost);
    }
    for (int step = s->count; step-- > 0;) {
        wk_step *t = &s->step[step];
        t->tail += wk_cost_time(t->cost);
        WK_EACH_NEED (on, s, step)
            if (t->tail > s->step[*on].tail) s->step[*on].tail = t->tail;
    }
}

// A product that another adds to in place belongs to it: elsewhere the sum would be copied.
static bool find_critical(wk_scheduler *s)
{
    bool *accumulated = calloc(s->plan->graph->tensors.count, sizeof *accumulated);
    if (!accumulated) return false;
    double total = 0;
    for (int step = 0; step < s->count; step++)
        if (s->step[step].tail > total) total = s->step[step].tail;
    for (int step = s->count; step-- > 0;) {
        wk_step *t = &s->step[step];
        const wk_node *node = wk_plan_node(s->plan, step);
        double slack = total - t->tail - t->finish + wk_cost_time(t->cost);
        bool critical = t->grouped || slack < WK_WAITS_US ||
                        (node->output_count > 0 && accumulated[node->outputs]);
        if (critical && wk_op_table[node->op].traits & WK_TRAIT_ACCUMULATES &&
            node->input_count > 2)
            accumulated[wk_schedule_root(s->plan, node, 2)] = true;
        t->chain = critical && !t->deferrable ? WK_CHAIN_MAIN : WK_CHAIN_DEFERRED;
    }
    free(accumulated);
    return true;
}

// Chains of what is left.

// Whether stream 0 needs a step at its end only, or never.
static bool is_late(const wk_scheduler *s, int step)
{
    return wk_schedule_is_late(s, s->step[step].before);
}

// The step that this one follows on its stream: the one it waits for longest, or -1. The steps of
// an optimiser stay together after their first.
static int followed(const wk_scheduler *s, int step)
{
    int last = -1, begin = adam_optimiser(s, step);
    WK_EACH_NEED (on, s, step) {
        if (begin && wk_plan_node(s->plan, *on)->outputs == begin) return *on;
        if (last < 0 || s->step[*on].finish > s->step[last].finish) last = *on;
    }
    return last;
}

static bool find_chains(wk_scheduler *s)
{
    for (int step = 0; step < s->count; step++) {
        int *chain = &s->step[step].chain, last = followed(s, step);
        int with = last < 0 ? WK_CHAIN_MAIN : s->step[last].chain;
        if (*chain == WK_CHAIN_MAIN) continue;
        if (with >= 0 && is_late(s, last) != is_late(s, step)) with = WK_CHAIN_MAIN;
        if (with >= 0) {
            *chain = with;
        } else if (s->step[step].deferrable) {
            *chain = WK_CHAIN_DEFERRED;
        } else if (with == WK_CHAIN_DEFERRED) {
            *chain = WK_CHAIN_MAIN;
        } else {
            *chain = (int)s->chains.count;
            if (!wk_array_push(&s->chains, (wk_chain){.before = s->count, .begin = -1}))
                return false;
        }
    }
    return true;
}

// What only chains need is part of the first of them.
static bool join_chains(wk_scheduler *s)
{
    enum { NOBODY = -3 };
    int *taker = malloc(((size_t)s->count + 1) * sizeof *taker); // the chain that needs a step
    if (!taker) return false;
    for (int step = 0; step < s->count; step++)
        taker[step] = NOBODY;
    for (int step = s->count; step-- > 0;) {
        wk_step *t = &s->step[step];
        double time = wk_cost_time(t->cost);
        if (t->chain >= 0 && taker[step] >= 0) t->chain = taker[step];
        if (t->chain >= 0) s->chains.items[t->chain].time += time;
        if (time <= 0) continue;
        WK_EACH_NEED (on, s, step)
            if (taker[*on] != WK_CHAIN_MAIN)
                taker[*on] = is_late(s, *on) == is_late(s, step) ? t->chain : WK_CHAIN_MAIN;
    }
    free(taker);
    return true;
}

// The new order.

// Chains may be late by this part of the run, for they share the device with other graphs. Beyond,
// stream 0 waits where it reuses their memory.
static const double SPARE = 0.06;

static bool depends(const wk_scheduler *s, int step, int other)
{
    WK_EACH_NEED (on, s, step)
        if (*on == other) return true;
    return false;
}

// Whether nothing should come between two neighbours of stream 0: they are part of one group, or
// the second takes the result of the first further and may be fused into it.
static bool are_one(const wk_scheduler *s, int a, int b)
{
    if (s->step[a].grouped && s->step[b].grouped) return true;
    return !wk_op_is_product(wk_plan_node(s->plan, b)->op) && depends(s, b, a);
}

static int next_main(const wk_scheduler *s, int step)
{
    while (step < s->count && s->step[step].chain != WK_CHAIN_MAIN)
        step++;
    return step;
}

static int last_main(const wk_scheduler *s, int step)
{
    while (step >= 0 && s->step[step].chain != WK_CHAIN_MAIN)
        step--;
    return step;
}

// Of the steps of stream 0 before this one, the last that reads a result which it reads too: the
// first reader may have to round it for all.
static int last_reader(const wk_scheduler *s, int step)
{
    const wk_node *node = wk_plan_node(s->plan, step);
    for (int other = step - 1; other > s->step[step].at; other--) {
        const wk_node *reader = wk_plan_node(s->plan, other);
        if (s->step[other].chain != WK_CHAIN_MAIN) continue;
        for (int i = 0; i < node->input_count; i++)
            for (int k = 0; k < reader->input_count; k++) {
                int root = wk_schedule_root(s->plan, node, i);
                if (root && root == wk_schedule_root(s->plan, reader, k) &&
                    wk_info(s->plan->graph, root)->kind == WK_TEMPORARY)
                    return other;
            }
    }
    return -1;
}

// Where a step of a side stream comes: when its inputs are there, others have read them, and its
// chain is expected to begin; and not between steps that are one.
static int position(const wk_scheduler *s, int step)
{
    const wk_step *t = &s->step[step];
    int at = t->at, reader = last_reader(s, step);
    if (reader > at) at = reader;
    if (t->chain >= 0) {
        const wk_chain *c = &s->chains.items[t->chain];
        int begin = c->hoisted ? c->begin : step;
        if (begin - 1 > at) at = begin - 1;
    }
    for (int a = last_main(s, at), b; a >= 0; a = b) {
        b = next_main(s, a + 1);
        if (b >= t->before || b == s->count || !are_one(s, a, b)) break;
        at = b;
    }
    return at < t->before ? at : t->before - 1;
}

static int optimiser_of(const wk_scheduler *s, int step)
{
    return step < 0 || step == s->count ? 0 : adam_optimiser(s, step);
}

// The steps of an optimiser come together, to be done as one: those that nothing needs when the
// last of all can run, others on side streams when the last of them can.
static void gather_optimiser(wk_scheduler *s, int last)
{
    int first = last, all = -1, needed = -1;
    while (optimiser_of(s, first - 1) == optimiser_of(s, last))
        first--;
    for (int step = first; step <= last; step++) {
        const wk_step *t = &s->step[step];
        if (t->at > all) all = t->at;
        if (!t->deferrable && t->chain != WK_CHAIN_MAIN && t->at > needed) needed = t->at;
    }
    for (int step = first; step <= last; step++) {
        wk_step *t = &s->step[step];
        int together = t->deferrable ? all : needed;
        if (t->chain != WK_CHAIN_MAIN && together < t->before) t->at = together;
    }
}

// Of the steps at one position, those of stream 0 come first, and optimiser steps that nothing
// needs last: those that something needs are then done as one.
static int rank(const wk_scheduler *s, int step)
{
    int rank = s->step[step].deferrable && optimiser_of(s, step) ? 2 : 1;
    WK_EACH_NEED (on, s, step)
        if (s->step[*on].at == s->step[step].at && s->step[*on].rank > rank)
            rank = s->step[*on].rank;
    return rank;
}

static void find_positions(wk_scheduler *s)
{
    wk_schedule_bounds(s);
    for (int step = 0; step < s->count; step++)
        s->step[step].at = s->step[step].after;
    for (int step = 0; step < s->count; step++) {
        wk_step *t = &s->step[step];
        if (optimiser_of(s, step - 1) && optimiser_of(s, step - 1) != optimiser_of(s, step))
            gather_optimiser(s, step - 1);
        if (t->chain == WK_CHAIN_MAIN) continue;
        WK_EACH_NEED (on, s, step)
            if (s->step[*on].at > t->at) t->at = s->step[*on].at;
        t->at = position(s, step);
    }
    if (optimiser_of(s, s->count - 1)) gather_optimiser(s, s->count - 1);
    for (int step = 0; step < s->count; step++)
        s->step[step].rank = s->step[step].chain == WK_CHAIN_MAIN ? 0 : rank(s, step);
}

// One step of the list that is sorted.
typedef struct place {
    int at, step; // recorded positions
    int rank;     // among those of one position
    int node, stream;
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
        group->begin = to;
        group->end = to + length;
    }
}

// When a step of a chain should be done: when there is no room for its memory any more, or somewhat
// after it is expected to be.
static void find_deadlines(const wk_scheduler *s, const place *places)
{
    double spare = SPARE * s->step[s->count].clock;
    for (int i = 0; i < s->count; i++) {
        const wk_step *t = &s->step[places[i].step];
        int *last = &s->plan->finish_by[i];
        int until = t->chain < 0 ? s->count : s->chains.items[t->chain].memory_until;
        *last = s->count;
        if (until == s->count) continue;
        double late = s->step[t->until].clock + spare;
        if (until >= 0 && s->step[until].clock > late) late = s->step[until].clock;
        for (*last = i; *last + 1 < s->count; ++*last)
            if (s->step[places[*last + 1].at + 1].clock >= late) break;
    }
}

static bool sort_steps(wk_scheduler *s)
{
    place *places = malloc(((size_t)s->count + 1) * sizeof *places);
    if (!places) return false;
    for (int i = 0; i < s->count; i++) {
        const wk_step *t = &s->step[i];
        places[i] = (place){t->at, i, t->rank, s->plan->nodes[i], s->plan->streams[i]};
    }
    qsort(places, (size_t)s->count, sizeof *places, by_place);
    for (int i = 0; i < s->count; i++) {
        s->plan->nodes[i] = places[i].node;
        s->plan->streams[i] = places[i].stream;
    }
    move_groups(s->plan, places);
    find_deadlines(s, places);
    free(places);
    return true;
}

static bool schedule(wk_scheduler *s, int processors)
{
    wk_cost *costs = malloc(((size_t)s->count + 1) * sizeof *costs);
    if (!costs) return false;
    wk_plan_costs(s->plan, processors, costs);
    for (int step = 0; step < s->count; step++) {
        s->step[step].cost = costs[step];
        s->step[step].grouped = wk_plan_is_grouped(s->plan, step);
    }
    free(costs);
    find_times(s);
    if (!find_deferrable(s) || !find_critical(s)) return false;
    wk_schedule_bounds(s);
    if (!find_chains(s) || !join_chains(s)) return false;
    wk_schedule_bounds(s);
    if (!wk_schedule_place_chains(s)) return false;
    find_positions(s);
    return sort_steps(s);
}

bool wk_plan_schedule(wk_plan *plan, int processors)
{
    size_t tensors = plan->graph->tensors.count;
    wk_scheduler s = {.plan = plan, .count = (int)plan->node_count};
    s.step = calloc(plan->node_count + 1, sizeof *s.step);
    s.last_read = malloc(2 * tensors * sizeof *s.last_read);
    bool ok = wk_dependencies_find(plan, &s.needs) && s.step && s.last_read;
    if (ok) {
        s.last_use = s.last_read + tensors;
        ok = schedule(&s, processors);
    }
    wk_dependencies_free(&s.needs);
    wk_array_free(&s.chains);
    wk_array_free(&s.order);
    free(s.step);
    free(s.last_read);
    return ok;
}
