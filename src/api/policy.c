#include "waker/policy.h"

#include "agent/acting.h"
#include "api/entry.h"
#include "run/saved_run.h"
#include "run/weights.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct wk_policy {
    wk_saved_run run;
    wk_acting *acting;
    wk_act_mode mode;
    int count;
    float *actions; // [N,A], the last ones
    uint8_t *first; // [N]
};

wk_policy_config wk_policy_config_default(void)
{
    return (wk_policy_config){.step = WK_POLICY_STEP_LAST, .count = 1};
}

static wk_status check(const wk_policy_config *config, wk_error *err)
{
    if (!config->run || !*config->run)
        return wk_fail(err, WK_E_INPUT, "run: say which directory holds the run");
    if (!config->task || !*config->task)
        return wk_fail(err, WK_E_INPUT, "task: say which one, or '%s'", WK_POLICY_TASK_EXPLORE);
    if (config->count < 1)
        return wk_fail(err, WK_E_INPUT, "count: %d environments; there must be one at least",
                       config->count);
    return wk_check_threads(config->threads, err);
}

static bool explores(const wk_policy_config *config)
{
    return strcmp(config->task, WK_POLICY_TASK_EXPLORE) == 0;
}

// Loads the policy: the exploration policy from a snapshot, that of a task from the weights asked
// for.
static wk_status load(wk_policy *p, const wk_policy_config *config, int *policy, wk_error *err)
{
    const wk_named_plugins named = {.domain = config->plugin};
    const wk_saved_run_options options = {.depth = WK_SAVED_WORLD,
                                          .plugins = config->plugin ? &named : NULL};
    WK_TRY(wk_saved_run_open(config->run, &options, &p->run, err));
    int task = 0;
    if (!explores(config)) WK_TRY(wk_domain_task(p->run.world.domain, config->task, &task, err));

    const char *weights = config->weights;
    if (explores(config) && weights)
        return wk_fail(err, WK_E_INPUT,
                       "weights: '%s' are those of task policies; leave it NULL to explore",
                       weights);
    if (weights && strcmp(weights, WK_POLICY_RANDOM) == 0)
        return wk_fail(err, WK_E_INPUT, "weights: random actions need none");
    // Exploration needs the world model alone.
    const wk_weights_query query = {.policy = explores(config) ? WK_POLICY_RANDOM : weights,
                                    .tasks = &config->task,
                                    .n_tasks = 1,
                                    .step = config->step};
    wk_weights_answer found = {0};
    wk_status status = wk_weights_resolve(config->run, &p->run.config, &query, &found, err);
    if (status == WK_OK) {
        const wk_weights_choice choice = {.kind = found.source.kind,
                                          .step = (int64_t)found.steps.items[0],
                                          .task = config->task,
                                          .name = found.source.name,
                                          .compact = !explores(config),
                                          .device = config->device,
                                          .threads = config->threads};
        status = wk_saved_run_load(&p->run, &choice, err);
    }
    wk_weights_answer_free(&found);
    *policy = WK_POLICY_EXPLORE;
    if (status != WK_OK || explores(config)) return status;
    return wk_saved_run_policy(&p->run, task, policy, err);
}

static wk_status open_policy(wk_policy *p, const wk_policy_config *config, wk_error *err)
{
    int policy;
    WK_TRY(check(config, err));
    WK_TRY(load(p, config, &policy, err));
    p->mode = config->sample ? WK_ACT_SAMPLE : WK_ACT_MODE;
    p->count = config->count;
    size_t numbers = (size_t)p->count * (size_t)p->run.world.domain->action_size;
    p->actions = calloc(numbers, sizeof *p->actions);
    p->first = calloc((size_t)p->count, 1);
    if (!p->actions || !p->first)
        return wk_fail(err, WK_E_MEMORY, "no memory for %d environments", p->count);
    wk_learner *learner = p->run.weights.learner;
    // Evaluations of tasks have this graph: the same one gives the same bits on every device.
    if (policy >= 0 && !wk_learner_is_compact(learner))
        WK_TRY(wk_acting_create_estimating(learner, policy, p->count, &p->acting, err));
    else
        WK_TRY(wk_acting_create(learner, policy, p->count, &p->acting, err));
    return wk_policy_reset(p, config->seed, err);
}

wk_status wk_policy_create(const wk_policy_config *config, wk_policy **out, wk_error *err)
{
    wk_policy *p = calloc(1, sizeof *p);
    if (!p) return wk_fail(err, WK_E_MEMORY, "no memory for a policy");
    locale_t callers = wk_c_locale_enter();
    wk_status status = open_policy(p, config, err);
    wk_c_locale_leave(callers);
    if (status == WK_OK)
        *out = p;
    else
        wk_policy_destroy(p);
    return status;
}

void wk_policy_destroy(wk_policy *p)
{
    if (!p) return;
    wk_acting_destroy(p->acting);
    wk_saved_run_close(&p->run);
    free(p->actions);
    free(p->first);
    free(p);
}

const wk_domain *wk_policy_domain(const wk_policy *p)
{
    return p->run.world.domain;
}

const int *wk_policy_options(const wk_policy *p)
{
    return p->run.world.options;
}

uint64_t wk_policy_step(const wk_policy *p)
{
    return p->run.weights.step;
}

static size_t action_bytes(const wk_policy *p)
{
    return (size_t)p->count * (size_t)p->run.world.domain->action_size * sizeof *p->actions;
}

wk_status wk_policy_act_on(wk_policy *p, const wk_batch *seen, float *actions, wk_error *err)
{
    WK_TRY(wk_check_observed(p->run.world.domain, p->count, seen->images, seen->vectors, err));
    for (int i = 0; i < p->count; i++)
        p->first[i] = seen->flags[i] & WK_IS_FIRST;
    wk_acting_rows rows = {seen->images, seen->vectors, p->actions, p->first, p->actions};
    WK_TRY(wk_acting_step(p->acting, &rows, p->mode, err));
    memcpy(actions, p->actions, action_bytes(p));
    return WK_OK;
}

wk_status wk_policy_act(wk_policy *p, const uint8_t *images, const uint8_t *flags, float *actions,
                        wk_error *err)
{
    const wk_batch seen = {.images = (uint8_t *)images, .flags = (uint8_t *)flags};
    return wk_policy_act_on(p, &seen, actions, err);
}

wk_status wk_policy_reset(wk_policy *p, uint64_t seed, wk_error *err)
{
    memset(p->actions, 0, action_bytes(p));
    return wk_acting_begin(p->acting, seed, err);
}

size_t wk_policy_state_size(const wk_policy *p)
{
    return wk_acting_state_size(p->acting) + action_bytes(p);
}

wk_status wk_policy_save(const wk_policy *p, void *bytes, wk_error *err)
{
    size_t states = wk_acting_state_size(p->acting);
    WK_TRY(wk_acting_save(p->acting, bytes, err));
    memcpy((char *)bytes + states, p->actions, action_bytes(p));
    return WK_OK;
}

// The counter before the numbers may be anything.
static bool is_finite_state(const char *bytes, size_t size)
{
    for (size_t at = WK_ACTING_COUNTER_BYTES; at < size; at += sizeof(float)) {
        float number;
        memcpy(&number, bytes + at, sizeof number);
        if (!isfinite(number)) return false;
    }
    return true;
}

wk_status wk_policy_load(wk_policy *p, const void *bytes, size_t size, wk_error *err)
{
    size_t states = wk_acting_state_size(p->acting), expected = wk_policy_state_size(p);
    if (size != expected)
        return wk_fail(err, WK_E_INPUT,
                       "the state has %zu bytes, this policy's has %zu: it is of another policy or "
                       "number of environments",
                       size, expected);
    if (!is_finite_state(bytes, size))
        return wk_fail(err, WK_E_INPUT, "the state has numbers that are not finite");
    WK_TRY(wk_acting_load(p->acting, bytes, err));
    memcpy(p->actions, (const char *)bytes + states, action_bytes(p));
    return WK_OK;
}
