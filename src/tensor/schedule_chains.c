#include "tensor/schedule_internal.h"

#include <stdlib.h>

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
    int last = -1, begin = wk_schedule_optimiser(s, step);
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

bool wk_schedule_find_chains(wk_scheduler *s)
{
    find_times(s);
    if (!find_deferrable(s) || !find_critical(s)) return false;
    wk_schedule_bounds(s);
    if (!find_chains(s) || !join_chains(s)) return false;
    wk_schedule_bounds(s);
    return true;
}
