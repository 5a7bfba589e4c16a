#include "tensor/schedule_internal.h"

#include <stdlib.h>

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
    return step < 0 || step == s->count ? 0 : wk_schedule_optimiser(s, step);
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

bool wk_schedule_order(wk_scheduler *s)
{
    find_positions(s);
    return sort_steps(s);
}
