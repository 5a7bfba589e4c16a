#include "tensor/schedule.h"
#include "tensor/schedule_internal.h"

#include <stdlib.h>

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
    return wk_schedule_find_chains(s) && wk_schedule_place_chains(s) && wk_schedule_order(s);
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
