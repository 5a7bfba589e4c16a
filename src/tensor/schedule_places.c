#include "tensor/schedule_internal.h"

// A chain is urgent when it takes more than an eighth of the time until stream 0 needs it.
static const double URGENT = 8;

// Chains may need this much more memory than the recorded order does at its peak. Without, stream 0
// waits for memory that chains still use, and long where other programs share the device.
static const double PEAK_FACTOR = 1.15;

// Idle time.

// Time from when a chain can begin until stream 0 needs it.
static double window(const wk_scheduler *s, const wk_chain *c)
{
    return s->step[c->before].clock - s->step[c->after + 1].clock;
}

static double left(const wk_step *step)
{
    double left = step->idle - step->used - step->taken;
    return left > 0 ? left : 0;
}

// Finds the idle time of stream 0 that a chain's steps fill, one after the other, from their place
// in the recorded order or, `hoisted`, from when they can begin. Returns the first step for which
// there is too little, or -1.
static int fill_idle(wk_scheduler *s, int index, bool hoisted)
{
    int first_short = -1;
    wk_chain *c = &s->chains.items[index];
    int at = c->after + 1;
    for (int step = 0; step < s->count; step++)
        s->step[step].taken = 0;
    double done = 0; // on stream 0's clock
    c->begin = -1;
    c->hoisted = hoisted;
    for (int step = 0; step < s->count; step++) {
        wk_step *t = &s->step[step];
        if (t->chain != index) continue;
        int first = hoisted ? t->after + 1 : step;
        if (at < first) at = first;
        if (done < s->step[at].clock) done = s->step[at].clock;
        done += wk_cost_time(t->cost);
        double need = t->cost.work * t->cost.share;
        for (; need > 0 && at < t->before && left(&s->step[at]) <= need; at++) {
            double got = left(&s->step[at]);
            need -= got;
            s->step[at].taken += got;
        }
        // Optimiser steps at the end wait for the last readers of their weights.
        bool writes = wk_op_writes(wk_plan_node(s->plan, step)->op);
        bool enough = at < t->before || need <= 0 || (writes && at == s->count);
        if (!enough && first_short < 0) first_short = step;
        if (need > 0 && at < t->before) s->step[at].taken += need;
        if (c->begin < 0) c->begin = c->end = hoisted ? at : step;
        if (!writes) c->end = at;
        // It takes its own time, however much is idle.
        for (t->until = at; t->until < t->before && s->step[t->until].clock < done;)
            t->until++;
    }
    return first_short;
}

// Memory.

static double bytes_of(const wk_scheduler *s, int tensor)
{
    return (double)wk_type_size(wk_info(s->plan->graph, tensor)->type);
}

static bool is_temporary(const wk_scheduler *s, int root)
{
    return wk_info(s->plan->graph, root)->kind == WK_TEMPORARY;
}

// The first step of a chain that would keep much memory alive for long in its place, or -1: what it
// reads, after others last did; or what it makes, when hoisted, before others read it.
static int lingering(const wk_scheduler *s, int index)
{
    double much = s->peak * WK_LINGER, longest = s->step[s->count].clock * WK_LINGER;
    for (int step = 0; step < s->count; step++) {
        const wk_step *t = &s->step[step];
        const wk_node *node = wk_plan_node(s->plan, step);
        if (t->chain != index) continue;
        double end = s->step[t->until].clock;
        for (int i = 0; i < node->input_count; i++) {
            int root = wk_schedule_root(s->plan, node, i), last = s->last_read[root];
            if (is_temporary(s, root) && last >= 0 && bytes_of(s, root) >= much &&
                end - s->step[last + 1].clock > longest)
                return step;
        }
        for (int i = 0; i < node->output_count && t->before < s->count && t->until < step; i++)
            if (bytes_of(s, node->outputs + i) >= much && t->clock - end > longest) return step;
    }
    return -1;
}

static void find_last_reads(wk_scheduler *s, int index)
{
    for (size_t i = 0; i < s->plan->graph->tensors.count; i++)
        s->last_read[i] = -1;
    for (int step = 0; step < s->count; step++) {
        const wk_node *node = wk_plan_node(s->plan, step);
        if (s->step[step].chain == index) continue;
        for (int i = 0; i < node->input_count; i++) {
            int *last = &s->last_read[wk_schedule_root(s->plan, node, i)];
            if (*last >= 0) *last = step;
        }
        for (int i = 0; s->step[step].chain == WK_CHAIN_MAIN && i < node->output_count; i++)
            s->last_read[node->outputs + i] = step;
    }
}

// Bytes of temporaries that are alive at each step of the recorded order.
static void find_live(wk_scheduler *s)
{
    int *last = s->last_use;
    for (int step = 0; step < s->count; step++) {
        const wk_node *node = wk_plan_node(s->plan, step);
        for (int i = 0; i < node->input_count; i++)
            last[wk_schedule_root(s->plan, node, i)] = step;
        for (int i = node->outputs; i < node->outputs + node->output_count; i++)
            last[i] = wk_info(s->plan->graph, i)->output ? s->count : step;
    }
    for (int step = 0; step < s->count; step++) {
        const wk_node *node = wk_plan_node(s->plan, step);
        if (s->plan->lazy[s->plan->nodes[step]]) continue;
        for (int i = node->outputs; i < node->outputs + node->output_count; i++) {
            s->step[step].live += bytes_of(s, i);
            if (last[i] < s->count) s->step[last[i] + 1].live -= bytes_of(s, i);
        }
    }
    for (int step = 0; step < s->count; step++) {
        if (step > 0) s->step[step].live += s->step[step - 1].live;
        if (s->step[step].live > s->peak) s->peak = s->step[step].live;
    }
}

// The most memory of its own that a chain needs.
static double own_peak(const wk_scheduler *s, int index)
{
    double own = 0, peak = 0;
    for (int step = 0; step < s->count; step++) {
        const wk_node *node = wk_plan_node(s->plan, step);
        if (s->step[step].chain != index) continue;
        for (int i = 0; i < node->output_count; i++)
            own += bytes_of(s, node->outputs + i);
        if (own > peak) peak = own;
        for (int i = 0; i < node->input_count; i++) {
            int root = wk_schedule_root(s->plan, node, i);
            if (s->last_use[root] == step && s->last_read[root] < 0 && is_temporary(s, root))
                own -= bytes_of(s, root);
        }
    }
    return peak;
}

// The last step until which a chain fits in that memory; the count if it always does.
static int memory_until(const wk_scheduler *s, int index)
{
    double own = own_peak(s, index);
    int step = s->chains.items[index].begin;
    while (step < s->count && s->step[step].live + own <= s->peak * PEAK_FACTOR)
        step++;
    return step == s->count ? step : step - 1;
}

// Steps that find no place go back to stream 0, or are deferred.

static void give_marked_back(wk_scheduler *s)
{
    for (int step = 0; step < s->count; step++) {
        wk_step *t = &s->step[step];
        if (!t->marked) continue;
        s->chains.items[t->chain].time -= wk_cost_time(t->cost);
        t->chain = t->deferrable ? WK_CHAIN_DEFERRED : WK_CHAIN_MAIN;
        t->marked = false;
    }
    wk_schedule_bounds(s);
}

// Gives a step back, and those of its chain that it needs.
static void give_head_back(wk_scheduler *s, int index, int last)
{
    s->step[last].marked = true;
    for (int step = last; step >= 0; step--) {
        if (!s->step[step].marked) continue;
        WK_EACH_NEED (on, s, step)
            s->step[*on].marked |= s->step[*on].chain == index;
    }
    give_marked_back(s);
}

// Gives a step back, and those of its chain that need it.
static void give_tail_back(wk_scheduler *s, int index, int first)
{
    s->step[first].marked = true;
    for (int step = first + 1; step < s->count; step++) {
        if (s->step[step].chain != index) continue;
        WK_EACH_NEED (on, s, step)
            s->step[step].marked |= s->step[*on].marked;
    }
    give_marked_back(s);
}

// Finds a place for a chain: as recorded, or hoisted; or for what is left of it without the steps
// that are needed too soon or would keep much memory alive. What is needed at the end only may run
// out of idle time: after the last step of stream 0 it costs no more than on it.
static bool find_place(wk_scheduler *s, int index)
{
    const wk_chain *c = &s->chains.items[index];
    find_last_reads(s, index);
    double min_time = c->time / 4 > WK_WAITS_US ? c->time / 4 : WK_WAITS_US;
    while (c->time >= min_time) {
        int lacks = fill_idle(s, index, false), lingers = lingering(s, index);
        if (lacks < 0 && lingers < 0) return true;
        if (fill_idle(s, index, true) < 0 && lingering(s, index) < 0 &&
            memory_until(s, index) >= c->end)
            return true;
        if (lacks >= 0 && !wk_schedule_is_late(s, s->step[lacks].before)) {
            give_tail_back(s, index, lacks);
        } else if (lingers >= 0) {
            give_head_back(s, index, lingers);
        } else {
            (void)fill_idle(s, index, false);
            return true;
        }
    }
    return false;
}

static void find_places(wk_scheduler *s)
{
    for (size_t i = 0; i < s->order.count; i++) {
        wk_chain *c = &s->chains.items[s->order.items[i]];
        if (!find_place(s, s->order.items[i])) continue;
        bool urgent = !wk_schedule_is_late(s, c->before) && window(s, c) < URGENT * c->time;
        c->stream = urgent ? WK_URGENT_STREAM : 1;
        c->memory_until = urgent ? s->count : memory_until(s, s->order.items[i]);
        for (int step = 0; step < s->count; step++)
            s->step[step].used += s->step[step].taken;
    }
}

// Streams.

// Sorts the chains, few and nearly in order, by a number of each.
static void sort_chains(wk_scheduler *s, double (*number)(const wk_scheduler *s, const wk_chain *c))
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

static double beginning(const wk_scheduler *s, const wk_chain *c)
{
    (void)s;
    return c->begin;
}

// Chains that can wait go to whichever stream is done first.
static void choose_streams(wk_scheduler *s)
{
    int done[WK_URGENT_STREAM] = {0};
    sort_chains(s, beginning);
    for (size_t i = 0; i < s->order.count; i++) {
        wk_chain *c = &s->chains.items[s->order.items[i]];
        if (c->stream != 1) continue;
        for (int k = 2; k < WK_URGENT_STREAM; k++)
            if (done[k] < done[c->stream]) c->stream = k;
        done[c->stream] = c->end;
    }
}

// The chain that a step of a refused one can follow, or that of stream 0, where what is needed late
// would wait for it.
static int adopted(wk_scheduler *s, int step)
{
    if (!wk_schedule_is_late(s, s->step[step].before)) return WK_CHAIN_MAIN;
    WK_EACH_NEED (on, s, step) {
        if (s->step[*on].chain < 0) continue;
        s->step[step].until = s->step[*on].until;
        return s->step[*on].chain;
    }
    return WK_CHAIN_MAIN;
}

static void keep_refused(wk_scheduler *s)
{
    for (int step = 0; step < s->count; step++) {
        wk_step *t = &s->step[step];
        int *stream = &s->plan->streams[step];
        if (t->chain >= 0 && s->chains.items[t->chain].stream == 0)
            t->chain = t->deferrable ? WK_CHAIN_DEFERRED : adopted(s, step);
        *stream = t->chain == WK_CHAIN_MAIN ? 0 : WK_URGENT_STREAM;
        if (t->chain >= 0) *stream = s->chains.items[t->chain].stream;
    }
}

bool wk_schedule_place_chains(wk_scheduler *s)
{
    for (int i = 0; i < (int)s->chains.count; i++)
        if (!wk_array_push(&s->order, i)) return false;
    sort_chains(s, window);
    find_live(s);
    find_places(s);
    choose_streams(s);
    keep_refused(s);
    return true;
}
