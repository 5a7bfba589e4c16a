// One environment: the part that is the same for every domain. It checks what goes into the domain
// and what comes out, counts steps, ends episodes, and wraps the domain's bytes into a state that
// names its origin. A simulation that broke down is never asked anything again before the next
// reset, since its numbers may be anything.
#include "env/domain.h"
#include "env/host.h"

#include "base/machine.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// What the steps of an episode add up to for one indicator. Plain data, saved as it is.
typedef struct total {
    uint64_t count; // steps that had a value
    uint64_t cells; // bit i: cell i was visited
    double sum, min, max;
} total;

struct wk_env {
    const wk_domain *domain;
    void *world;
    int options[WK_OPTIONS_MAX];

    bool started; // an episode exists
    double theta[WK_PARAMS_MAX];
    uint64_t seed, episode;
    int steps;
    uint8_t flags;     // of the last observation
    bool totals_whole; // the totals cover the whole episode
    total totals[WK_INDICATORS_MAX];
    wk_env_seconds seconds;
    float vector[]; // [observation.vector] of the current state
};

wk_status wk_env_create(const wk_domain *domain, const int *options, wk_env **out, wk_error *err)
{
    WK_TRY(wk_domain_check(domain, err));
    if (options) WK_TRY(wk_domain_check_options(domain, options, err));
    wk_env *env = calloc(1, sizeof *env + (size_t)domain->observation.vector * sizeof(float));
    if (!env) return wk_fail(err, WK_E_MEMORY, "no memory for a world of '%s'", domain->name);
    env->domain = domain;
    if (options) memcpy(env->options, options, (size_t)domain->n_options * sizeof *options);
    wk_error reported = {0};
    wk_status status = domain->create(domain, env->options, &env->world, &reported);
    if (status == WK_OK && !env->world)
        status = wk_fail(&reported, WK_E_INPUT, "domain '%s': create returns no world; set *env",
                         domain->name);
    if (status != WK_OK) {
        free(env);
        return wk_domain_result(domain, "create", status, &reported, err);
    }
    *out = env;
    return WK_OK;
}

void wk_env_destroy(wk_env *env)
{
    if (!env) return;
    env->domain->destroy(env->world);
    free(env);
}

const wk_domain *wk_env_domain(const wk_env *env)
{
    return env->domain;
}

// Takes in what the domain reported and writes the frame. Numbers that are not finite mean that the
// simulation broke down; it then shows black and zeros.
static void finish_step(wk_env *env, wk_outcome *outcome, const wk_frame *frame)
{
    const wk_domain *domain = env->domain;
    size_t tasks = (size_t)domain->n_tasks, numbers = (size_t)domain->observation.vector;

    // Rewards and completions become numbers that can be stored.
    for (size_t i = 0; i < tasks; i++) {
        float *reward = &outcome->rewards[i], *completion = &outcome->completion[i];
        if (!domain->tasks[i].has_completion) *completion = 0;
        if (!isfinite(*reward) || !isfinite(*completion)) outcome->diverged = true;
        *reward = isfinite(*reward) ? *reward : 0;
        *completion = isfinite(*completion) ? fminf(1, fmaxf(0, *completion)) : 0;
    }

    // The vector is asked for whoever wants it, because it may show a break-down.
    if (numbers > 0 && !outcome->diverged) domain->observe(env->world, env->vector);
    for (size_t i = 0; i < numbers && !outcome->diverged; i++)
        outcome->diverged = !isfinite(env->vector[i]);
    if (outcome->diverged) memset(env->vector, 0, numbers * sizeof *env->vector);

    bool over = outcome->truncated || env->steps == domain->episode_steps;
    env->flags = env->steps == 0 ? WK_IS_FIRST : 0;
    if (outcome->diverged)
        env->flags |= WK_IS_DIVERGED | WK_IS_LAST;
    else if (outcome->terminal)
        env->flags |= WK_IS_TERMINAL | WK_IS_LAST;
    if (over) env->flags |= WK_IS_LAST;

    if (frame->rewards) memcpy(frame->rewards, outcome->rewards, tasks * sizeof(float));
    if (frame->completion) memcpy(frame->completion, outcome->completion, tasks * sizeof(float));
    if (frame->flags) *frame->flags = env->flags;
    if (frame->vector) memcpy(frame->vector, env->vector, numbers * sizeof *env->vector);
    if (!frame->image) return;
    double began = wk_clock_seconds();
    if (outcome->diverged)
        memset(frame->image, 0, WK_IMAGE_BYTES);
    else
        domain->render(env->world, WK_IMAGE_SIDE, WK_IMAGE_SIDE, frame->image);
    env->seconds.render += wk_clock_seconds() - began;
}

// Takes in the value of a step. NaN is none, and neither is a cell that does not exist.
static void add_indicator(total *t, const wk_indicator *indicator, float step)
{
    double value = (double)step;
    bool cells = indicator->kind == WK_INDICATOR_CELLS;
    if (cells ? !(value >= 0 && value < indicator->cells) : !isfinite(value)) return;
    t->min = t->count == 0 ? value : fmin(t->min, value);
    t->max = t->count == 0 ? value : fmax(t->max, value);
    t->sum += value;
    t->count++;
    if (cells) t->cells |= (uint64_t)1 << (int)value;
}

// A saved state: this header, the domain's bytes, in version 2 the totals of its indicators, and
// the CRC-32 of all; in version 3 header and CRC-32 alone. Numbers are in the machine's byte order;
// the magic number reads differently in the other one.
enum {
    STATE_MAGIC = 0x45534b57,
    STATE_PLAIN = 1,  // version of a state without totals
    STATE_TOTALS = 2, // with them
    STATE_ABSENT = 3, // of a domain that saves none
    DOMAIN_NAME_BYTES = 64
};

typedef struct state_header {
    uint32_t magic, version;
    char domain[DOMAIN_NAME_BYTES];
    int32_t options[WK_OPTIONS_MAX];
    double theta[WK_PARAMS_MAX];
    uint64_t seed, episode;
    uint64_t world_size; // bytes of the domain that follow
    int32_t steps;
    uint32_t flags;
} state_header;

_Static_assert(sizeof(state_header) == 232, "a saved state has no padding: every byte is defined");

static size_t state_size_for(size_t world_size)
{
    return sizeof(state_header) + world_size + sizeof(uint32_t);
}

static size_t state_size(const wk_env *env)
{
    return env->domain->state_size(env->world);
}

// Bytes of the domain in a saved state.
static size_t world_bytes(const wk_env *env)
{
    size_t size = state_size(env);
    return size != WK_STATE_NONE ? size : 0;
}

// Bytes of the totals in a saved state.
static size_t totals_bytes(const wk_env *env)
{
    bool kept = env->totals_whole && state_size(env) != WK_STATE_NONE;
    return kept ? (size_t)env->domain->n_indicators * sizeof *env->totals : 0;
}

// Starts an episode in the domain and in the wrapper; on failure there is none.
static wk_status start(wk_env *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *outcome, wk_error *err)
{
    const wk_domain *domain = env->domain;
    double copy[WK_PARAMS_MAX] = {0}; // `theta` may point into the environment
    memcpy(copy, theta, (size_t)domain->n_params * sizeof *theta);
    env->started = false;
    wk_error reported = {0};
    *outcome = (wk_outcome){0};
    wk_status status = domain->reset(env->world, copy, seed, episode, outcome, &reported);
    if (status != WK_OK) {
        char text[WK_THETA_CHARS];
        wk_theta_print(domain, copy, text);
        wk_domain_result(domain, "reset", status, &reported, err);
        wk_fail_context(err, "domain '%s', reset with θ %s, seed %" PRIu64 ", episode %" PRIu64,
                        domain->name, text, seed, episode);
        return status;
    }
    size_t size = world_bytes(env);
    if (size > WK_STATE_MAX - state_size_for(0))
        return wk_fail(err, WK_E_INPUT,
                       "domain '%s' asks for %zu bytes to save a state; at most %zu are kept",
                       domain->name, size, WK_STATE_MAX - state_size_for(0));
    if ((outcome->terminal || outcome->truncated) && !outcome->diverged)
        return wk_fail(err, WK_E_INPUT,
                       "domain '%s' ends episode %" PRIu64 " of seed %" PRIu64
                       " at its reset; let reset draw a start from which a step can be made",
                       domain->name, episode, seed);
    memset(outcome->rewards, 0, sizeof outcome->rewards); // nothing was done to earn one
    memcpy(env->theta, copy, sizeof copy);
    env->seed = seed;
    env->episode = episode;
    env->steps = 0;
    env->started = true;
    env->totals_whole = true;
    memset(env->totals, 0, sizeof env->totals);
    return WK_OK;
}

wk_status wk_env_reset(wk_env *env, const double *theta, size_t count, uint64_t seed,
                       uint64_t episode, const wk_frame *out, wk_error *err)
{
    WK_TRY(wk_domain_check_params(env->domain, theta, count, err));
    if (out->image) WK_TRY(wk_domain_check_drawable(env->domain, err));
    double began = wk_clock_seconds();
    wk_outcome outcome;
    WK_TRY(start(env, theta, seed, episode, &outcome, err));
    finish_step(env, &outcome, out);
    env->seconds.all += wk_clock_seconds() - began;
    return WK_OK;
}

wk_status wk_env_check_step(const wk_env *env, const float *action, wk_error *err)
{
    const wk_domain *domain = env->domain;
    int ones = 0, zeros = 0;
    if (!env->started)
        return wk_fail(err, WK_E_INPUT, "no episode is running; reset the environment first");
    if (env->flags & WK_IS_LAST)
        return wk_fail(err, WK_E_INPUT, "the episode ended after step %d; reset the environment",
                       env->steps);
    for (int i = 0; i < domain->action_size; i++) {
        if (!isfinite(action[i]))
            return wk_fail(err, WK_E_INPUT,
                           "number %d of the action is %f; actions must be finite numbers in "
                           "[-1, 1]",
                           i, (double)action[i]);
        ones += action[i] == 1;
        zeros += action[i] == 0;
    }
    if (!domain->discrete || (ones == 1 && zeros == domain->action_size - 1)) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "domain '%s' takes one of %d actions: 1 at its place and 0 at the others",
                   domain->name, domain->action_size);
}

wk_status wk_env_step(wk_env *env, const float *action, const wk_frame *out, wk_error *err)
{
    WK_TRY(wk_env_check_step(env, action, err));
    if (out->image) WK_TRY(wk_domain_check_drawable(env->domain, err));
    double began = wk_clock_seconds();
    float clipped[WK_ACTION_MAX];
    for (int i = 0; i < env->domain->action_size; i++)
        clipped[i] = fminf(1, fmaxf(-1, action[i]));
    wk_outcome outcome = {0};
    env->domain->step(env->world, clipped, &outcome);
    env->steps++;
    finish_step(env, &outcome, out);
    for (int k = 0; k < env->domain->n_indicators && !outcome.diverged; k++)
        add_indicator(&env->totals[k], &env->domain->indicators[k], outcome.indicators[k]);
    env->seconds.all += wk_clock_seconds() - began;
    if ((env->flags & WK_IS_TERMINAL) && !env->domain->ends_early)
        return wk_fail(err, WK_E_INPUT,
                       "domain '%s' ends an episode at step %d although its description says that "
                       "it never does; set ends_early = true in its wk_domain, so that the world "
                       "model learns when episodes end",
                       env->domain->name, env->steps);
    return WK_OK;
}

wk_env_seconds wk_env_get_seconds(const wk_env *env)
{
    return env->seconds;
}

const double *wk_env_params(const wk_env *env)
{
    return env->theta;
}

int wk_env_steps(const wk_env *env)
{
    return env->steps;
}

bool wk_env_has_episode(const wk_env *env)
{
    return env->started;
}

double wk_env_indicator(const wk_env *env, int k)
{
    const total *t = &env->totals[k];
    const wk_indicator *indicator = &env->domain->indicators[k];
    if (!env->totals_whole || t->count == 0) return NAN;
    switch (indicator->kind) {
    case WK_INDICATOR_SUM:
        return t->sum;
    case WK_INDICATOR_RANGE:
        return t->max - t->min;
    case WK_INDICATOR_CELLS:
        return __builtin_popcountll(t->cells) / (double)indicator->cells;
    default:
        return t->sum / (double)t->count;
    }
}

wk_status wk_env_render(wk_env *env, int width, int height, uint8_t *rgb, wk_error *err)
{
    enum { SIDE_MAX = 4096 };
    if (width < 1 || height < 1 || width > SIDE_MAX || height > SIDE_MAX)
        return wk_fail(err, WK_E_INPUT, "cannot draw %d x %d pixels; each side takes 1 to %d",
                       width, height, SIDE_MAX);
    WK_TRY(wk_domain_check_drawable(env->domain, err));
    if (!env->started)
        return wk_fail(err, WK_E_INPUT, "there is nothing to draw; reset the environment first");
    if (env->flags & WK_IS_DIVERGED)
        return wk_fail(err, WK_E_DIVERGED,
                       "the simulation broke down at step %d: there is nothing "
                       "to draw; reset the environment",
                       env->steps);
    env->domain->render(env->world, width, height, rgb);
    return WK_OK;
}

size_t wk_env_state_size(const wk_env *env)
{
    if (!env->started) return 0;
    return state_size_for(world_bytes(env)) + totals_bytes(env);
}

wk_status wk_env_save(const wk_env *env, void *bytes, size_t size, wk_error *err)
{
    if (!env->started)
        return wk_fail(err, WK_E_INPUT, "there is no episode to save; reset the environment first");
    size_t needed = wk_env_state_size(env);
    if (size != needed)
        return wk_fail(err, WK_E_INPUT, "a saved state takes %zu bytes, not %zu", needed, size);
    size_t totals = totals_bytes(env);
    bool saves = state_size(env) != WK_STATE_NONE;
    state_header header = {.magic = STATE_MAGIC,
                           .version = !saves   ? STATE_ABSENT
                                      : totals ? STATE_TOTALS
                                               : STATE_PLAIN,
                           .seed = env->seed,
                           .episode = env->episode,
                           .world_size = needed - totals - state_size_for(0),
                           .steps = env->steps,
                           .flags = env->flags};
    strncpy(header.domain, env->domain->name, sizeof header.domain - 1);
    memcpy(header.theta, env->theta, sizeof header.theta);
    for (int i = 0; i < WK_OPTIONS_MAX; i++)
        header.options[i] = env->options[i];

    char *world = (char *)bytes + sizeof header, *end = world + header.world_size + totals;
    memcpy(bytes, &header, sizeof header);
    memset(world, 0, header.world_size);
    if (!(env->flags & WK_IS_DIVERGED) && saves) env->domain->save(env->world, world);
    memcpy(end - totals, env->totals, totals);
    uint32_t sum = (uint32_t)crc32_z(0, bytes, (size_t)(end - (char *)bytes));
    memcpy(end, &sum, sizeof sum);
    return WK_OK;
}

// Whether the bytes are a whole, undamaged state written by this version.
static wk_status check_bytes(const void *bytes, size_t size, state_header *header, wk_error *err)
{
    if (size < state_size_for(0))
        return wk_fail(err, WK_E_FORMAT, "%zu bytes are too few for a saved state", size);
    memcpy(header, bytes, sizeof *header);
    if (header->magic != STATE_MAGIC)
        return wk_fail(err, WK_E_FORMAT, "these bytes are not a saved environment");
    if (header->version < STATE_PLAIN || header->version > STATE_ABSENT)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "the state has version %u, this program reads versions %d to %d",
                       header->version, STATE_PLAIN, STATE_ABSENT);
    uint64_t rest = size - state_size_for(0) - header->world_size; // the environment
    bool whole = header->world_size <= size - state_size_for(0) &&
                 (header->version == STATE_TOTALS ? rest % sizeof(total) == 0 : rest == 0);
    if (!whole)
        return wk_fail(err, WK_E_FORMAT,
                       "the saved state has %zu bytes but its world %" PRIu64 "; it was cut or "
                       "mixed up",
                       size, header->world_size);
    uint32_t stored;
    memcpy(&stored, (const char *)bytes + size - sizeof stored, sizeof stored);
    if (stored != (uint32_t)crc32_z(0, bytes, size - sizeof stored))
        return wk_fail(err, WK_E_FORMAT, "the saved state is damaged: its checksum is wrong");
    return WK_OK;
}

// Whether the state is one of this environment's domain and options.
static wk_status check_origin(const wk_env *env, state_header *header, wk_error *err)
{
    header->domain[DOMAIN_NAME_BYTES - 1] = 0;
    if (strcmp(header->domain, env->domain->name) != 0)
        return wk_fail(err, WK_E_INPUT, "the state was saved by domain '%s', this one is '%s'",
                       header->domain, env->domain->name);
    for (int i = 0; i < env->domain->n_options; i++)
        if (header->options[i] != env->options[i])
            return wk_fail(err, WK_E_INPUT,
                           "the state was saved with choice %d of option '%s', this environment "
                           "has choice %d",
                           header->options[i], env->domain->options[i].name, env->options[i]);
    if (header->steps < 0 || header->steps > env->domain->episode_steps)
        return wk_fail(err, WK_E_FORMAT, "the state is at step %d, beyond the episode's %d",
                       header->steps, env->domain->episode_steps);
    if (header->flags & ~(uint32_t)(WK_IS_FIRST | WK_IS_LAST | WK_IS_TERMINAL | WK_IS_DIVERGED))
        return wk_fail(err, WK_E_FORMAT, "the state has unknown flags %#x", header->flags);
    return wk_domain_check_params(env->domain, header->theta, (size_t)env->domain->n_params, err);
}

static wk_status load_world(wk_env *env, const void *bytes, size_t size, wk_error *err)
{
    size_t expected = state_size(env);
    if (size != expected)
        return wk_fail(err, WK_E_FORMAT, "the state has %zu bytes of the domain, it needs %zu",
                       size, expected);
    wk_error reported = {0};
    wk_status status = env->domain->load(env->world, bytes, size, &reported);
    return wk_domain_result(env->domain, "load", status, &reported, err);
}

wk_status wk_env_load(wk_env *env, const void *bytes, size_t size, wk_error *err)
{
    state_header header;
    WK_TRY(check_bytes(bytes, size, &header, err));
    WK_TRY(check_origin(env, &header, err));
    wk_outcome ignored;
    env->started = false;
    if (header.version == STATE_ABSENT) return WK_OK;
    WK_TRY(start(env, header.theta, header.seed, header.episode, &ignored, err));
    const char *world = (const char *)bytes + sizeof header;
    if (!(header.flags & WK_IS_DIVERGED)) {
        wk_status status = load_world(env, world, (size_t)header.world_size, err);
        if (status != WK_OK) {
            env->started = false;
            return status;
        }
    }
    // A state of before the domain had these indicators leaves those of its episode unknown.
    size_t totals = size - state_size_for((size_t)header.world_size);
    env->totals_whole = totals == totals_bytes(env);
    if (env->totals_whole) memcpy(env->totals, world + header.world_size, totals);
    env->steps = header.steps;
    env->flags = (uint8_t)header.flags;
    return WK_OK;
}
