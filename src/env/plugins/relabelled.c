#include "env/plugins/relabelled.h"

#include "env/domain.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CHARS = 64 };

struct wk_relabelled {
    wk_domain domain; // first: `create` gets its address
    const wk_domain *inner;
    wk_task tasks[WK_TASKS_MAX];
    char names[WK_TASKS_MAX][NAME_CHARS];
    const wk_reward *rewards[WK_TASKS_MAX]; // NULL for the domain's own and for those without code
    size_t offsets[WK_TASKS_MAX];           // of their memory in that of an environment
    size_t memory;                          // bytes of all rewards
};

// One environment: that of the domain, and what the rewards keep of the episode.
typedef struct world {
    const wk_relabelled *of;
    void *inner;
    double theta[WK_PARAMS_MAX];
    const float *action;
    int control_step;
    double sums[WK_TASKS_MAX]; // of the running agent step
    char *memory;
} world;

static wk_reward_view view_of(const world *w)
{
    const wk_domain *inner = w->of->inner;
    return (wk_reward_view){.domain = inner->name,
                            .theta = w->theta,
                            .n_params = inner->n_params,
                            .action = w->action,
                            .action_size = inner->action_size,
                            .control_step = w->control_step,
                            .read = inner->read,
                            .simulation = w->inner};
}

// NULL where a reward asked for none: one that uses it all the same would read and write what
// belongs to others, and must not go unnoticed.
static void *memory_of(const world *w, int k)
{
    return w->of->rewards[k]->memory > 0 ? w->memory + w->of->offsets[k] : NULL;
}

static void seen(void *context)
{
    world *w = context;
    wk_reward_view view = view_of(w);
    for (int k = w->of->inner->n_tasks; k < w->of->domain.n_tasks; k++) {
        const wk_reward *reward = w->of->rewards[k];
        if (reward) w->sums[k] += reward->reward(&view, memory_of(w, k));
    }
    w->control_step++;
}

static void destroy(void *env)
{
    world *w = env;
    if (!w) return;
    if (w->inner) w->of->inner->destroy(w->inner);
    free(w->memory);
    free(w);
}

static wk_status create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    const wk_relabelled *of = (const wk_relabelled *)domain;
    world *w = calloc(1, sizeof *w);
    if (w) w->memory = calloc(1, of->memory + 1);
    if (!w || !w->memory) {
        free(w);
        return wk_fail(err, WK_E_MEMORY, "no memory for rewards of '%s'", domain->name);
    }
    w->of = of;
    wk_status status = of->inner->create(of->inner, options, &w->inner, err);
    if (status == WK_OK && !w->inner)
        status = wk_fail(err, WK_E_INPUT, "domain '%s': create returns no world; set *env",
                         of->inner->name);
    if (status != WK_OK) {
        destroy(w);
        return status;
    }
    if (of->inner->watch) of->inner->watch(w->inner, &(wk_step_watch){seen, w});
    *env = w;
    return WK_OK;
}

static wk_status begin_rewards(world *w, wk_error *err)
{
    wk_reward_view view = view_of(w);
    memset(w->memory, 0, w->of->memory);
    for (int k = w->of->inner->n_tasks; k < w->of->domain.n_tasks; k++) {
        const wk_reward *reward = w->of->rewards[k];
        if (!reward || !reward->begin) continue;
        wk_error reported = {0};
        wk_status status = reward->begin(&view, memory_of(w, k), &reported);
        if (status != WK_OK)
            return wk_fail(err, status, "the reward '%s' refuses a world of '%s': %s", reward->name,
                           w->of->inner->name,
                           *reported.message ? reported.message : "it does not say why");
    }
    return WK_OK;
}

static wk_status reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err)
{
    world *w = env;
    WK_TRY(w->of->inner->reset(w->inner, theta, seed, episode, out, err));
    memcpy(w->theta, theta, (size_t)w->of->inner->n_params * sizeof *theta);
    w->action = NULL;
    w->control_step = 0;
    return out->diverged ? WK_OK : begin_rewards(w, err);
}

static void step(void *env, const float *action, wk_outcome *out)
{
    world *w = env;
    const wk_domain *inner = w->of->inner;
    memset(w->sums, 0, sizeof w->sums);
    w->action = action;
    inner->step(w->inner, action, out);
    if (!inner->watch && !out->diverged) seen(w);
    w->action = NULL;
    for (int k = inner->n_tasks; k < w->of->domain.n_tasks; k++)
        out->rewards[k] = (float)w->sums[k];
}

static void render(void *env, int width, int height, uint8_t *rgb)
{
    world *w = env;
    w->of->inner->render(w->inner, width, height, rgb);
}

static void observe(void *env, float *vector)
{
    world *w = env;
    w->of->inner->observe(w->inner, vector);
}

// A saved state has the control step and the memory after the domain's bytes.
static size_t own_bytes(const world *w)
{
    return sizeof(int64_t) + w->of->memory;
}

static size_t state_size(const void *env)
{
    const world *w = env;
    size_t inner = w->of->inner->state_size(w->inner);
    return inner < WK_STATE_MAX ? inner + own_bytes(w) : inner; // WK_STATE_NONE, or refused
}

static void save(const void *env, void *bytes)
{
    const world *w = env;
    char *own = (char *)bytes + w->of->inner->state_size(w->inner);
    w->of->inner->save(w->inner, bytes);
    const int64_t control_step = w->control_step;
    memcpy(own, &control_step, sizeof control_step);
    memcpy(own + sizeof(int64_t), w->memory, w->of->memory);
}

static wk_status load(void *env, const void *bytes, size_t size, wk_error *err)
{
    world *w = env;
    if (size < own_bytes(w))
        return wk_fail(err, WK_E_FORMAT, "a saved state has %zu bytes, too few for its rewards",
                       size);
    size_t inner = size - own_bytes(w);
    const char *own = (const char *)bytes + inner;
    int64_t control_step;
    WK_TRY(w->of->inner->load(w->inner, bytes, inner, err));
    memcpy(&control_step, own, sizeof control_step);
    w->control_step = (int)control_step;
    memcpy(w->memory, own + sizeof control_step, w->of->memory);
    return WK_OK;
}

static wk_status add_task(wk_relabelled *r, const wk_added_task *added, wk_error *err)
{
    wk_domain *domain = &r->domain;
    if (domain->n_tasks == WK_TASKS_MAX)
        return wk_fail(err, WK_E_INPUT, "'%s' with its rewards has more than %d tasks",
                       domain->name, WK_TASKS_MAX);
    int known;
    if (wk_domain_task(domain, added->name, &known, NULL) == WK_OK)
        return wk_fail(err, WK_E_INPUT, "the reward '%s' has the name of a task of '%s'; rename it",
                       added->name, domain->name);
    if (added->reward && !r->domain.read)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "domain '%s' does not let its state be read: give its wk_domain the "
                       "function `read` (waker/env.h), which rewards need",
                       domain->name);
    int k = domain->n_tasks++;
    snprintf(r->names[k], sizeof r->names[k], "%s", added->name);
    r->tasks[k] = (wk_task){.name = r->names[k]};
    r->rewards[k] = added->reward;
    if (!added->reward) return WK_OK;
    const size_t unit = _Alignof(max_align_t); // each may keep numbers of any type
    r->offsets[k] = (r->memory + unit - 1) / unit * unit;
    r->memory = r->offsets[k] + added->reward->memory;
    return WK_OK;
}

wk_status wk_relabelled_create(const wk_domain *domain, const wk_added_task *tasks, int count,
                               wk_relabelled **out, wk_error *err)
{
    wk_relabelled *r = calloc(1, sizeof *r);
    if (!r) return wk_fail(err, WK_E_MEMORY, "no memory for tasks of '%s'", domain->name);
    assert(domain->size <= sizeof r->domain);
    if (domain->size) { // a description has none, and no functions
        memcpy(&r->domain, domain, domain->size);
        r->domain.size = sizeof r->domain;
    } else {
        r->domain = *domain;
    }
    r->inner = domain;
    memcpy(r->tasks, domain->tasks, (size_t)domain->n_tasks * sizeof *r->tasks);
    r->domain.tasks = r->tasks;
    wk_status status = WK_OK;
    bool code = false;
    for (int i = 0; i < count && status == WK_OK; i++) {
        status = add_task(r, &tasks[i], err);
        code = code || tasks[i].reward;
    }
    if (status != WK_OK) {
        free(r);
        return status;
    }
    *out = r;
    if (!code) return WK_OK;
    // Environments go through here from now on; nothing else of the domain changes.
    wk_domain *wrapped = &r->domain;
    wrapped->create = create;
    wrapped->destroy = destroy;
    wrapped->reset = reset;
    wrapped->step = step;
    if (wrapped->render) wrapped->render = render;
    if (wrapped->observe) wrapped->observe = observe;
    wrapped->state_size = state_size;
    wrapped->save = save;
    wrapped->load = load;
    wrapped->read = NULL;
    wrapped->watch = NULL;
    return WK_OK;
}

void wk_relabelled_destroy(wk_relabelled *relabelled)
{
    free(relabelled);
}

const wk_domain *wk_relabelled_domain(const wk_relabelled *relabelled)
{
    return &relabelled->domain;
}
