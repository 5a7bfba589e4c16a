// What all curricula share: the error buffer, counts of episodes, drawing the next environment from
// what the rule says, and saving all of it. The rules themselves are in rules.c and
// published_rules.c.
#include "waker/curriculum.h"

#include "base/memory.h"
#include "base/random.h"
#include "curriculum/config.h"
#include "curriculum/surface.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// All numbers that change are in one block of memory, in this order, so that saving is copying.
struct wk_curriculum {
    wk_arena arena; // has all arrays
    const wk_curriculum_rule *rule;
    const wk_domain *domain;
    const wk_space *space;
    wk_curriculum_config config;
    size_t count;
    double *error, *reduction, *before; // δ̄, Δ̄, δ̄ at the last measurement; NaN: none
    uint64_t *visits;
    uint64_t *header; // step of the next measurement, reductions taken, ignored estimates
    void *block;
    size_t block_size;

    wk_surface *surface; // of the error, in a continuous space; else NULL
    void *extra; // the rest that is saved: steps and last visits where needed, the rule's state
    size_t extra_size;
    uint64_t *steps, *last_visit;
    void *state;
    double *rule_scratch;
    uint64_t episodes; // sum of the visits
    bool held_out;     // the episode chosen last is not to be learned from

    double *own; // a plug-in's rule: its distribution as it was saved, all 0 where it had none;
                 // else NULL

    double *dr, *scratch;
    int *group;
    int groups;
    double *hardest, *most_complex;
};

enum { NEXT_MEASUREMENT, REDUCTIONS, IGNORED, HEADER_WORDS };

wk_curriculum_config wk_curriculum_config_default(void)
{
    return (wk_curriculum_config){
#define FIELD(kind, name, key, value, ...) .name = value,
        WK_CURRICULUM_FIELDS(FIELD)
#undef FIELD
    };
}

static wk_status check_config(const wk_curriculum_config *c, wk_error *err)
{
#define FIELD(kind, name, key, value, min, max, ...)                                               \
    if (!((double)c->name >= (min) && (double)c->name <= (max)))                                   \
        return wk_fail(err, WK_E_INPUT, "curriculum: " #name " = %g is not within %g to %g",       \
                       (double)c->name, (double)(min), (double)(max));
    WK_CURRICULUM_FIELDS(FIELD)
#undef FIELD
    return WK_OK;
}

// What built-in rules say follows from the state; what others said is saved with it, so that it can
// be read without their code.
static bool is_builtin(const wk_curriculum_rule *rule)
{
    for (size_t i = 0; i < wk_curriculum_rule_count(); i++)
        if (wk_curriculum_rule_at(i) == rule) return true;
    return false;
}

// In a continuous space the errors are those of the surface at the points of the table.
static void read_errors(const wk_curriculum *c)
{
    if (c->surface) wk_surface_read(c->surface, c->error);
}

static void *allocate(wk_curriculum *c, size_t count, size_t size, bool *ok)
{
    void *memory = count > SIZE_MAX / size ? NULL : wk_arena_alloc(&c->arena, count * size);
    *ok &= memory != NULL;
    return memory;
}

static bool allocate_all(wk_curriculum *c)
{
    bool ok = true;
    c->block_size =
        HEADER_WORDS * sizeof(uint64_t) + c->count * (3 * sizeof(double) + sizeof(uint64_t));
    c->block = allocate(c, 1, c->block_size, &ok);
    c->dr = allocate(c, c->count, sizeof *c->dr, &ok);
    c->scratch = allocate(c, c->count, sizeof *c->scratch, &ok);
    c->group = allocate(c, c->count, sizeof *c->group, &ok);
    c->hardest = allocate(c, c->count, sizeof *c->hardest, &ok);
    c->most_complex = allocate(c, c->count, sizeof *c->most_complex, &ok);
    if (!is_builtin(c->rule)) c->own = allocate(c, c->count, sizeof *c->own, &ok);
    if (!ok) return false;
    c->header = c->block;
    c->visits = c->header + HEADER_WORDS;
    c->error = (void *)(c->visits + c->count);
    c->reduction = c->error + c->count;
    c->before = c->reduction + c->count;
    return true;
}

// Needs what the view shows: its sizes may depend on the table.
static bool allocate_extra(wk_curriculum *c)
{
    bool ok = true;
    wk_curriculum_view view = wk_curriculum_get_view(c);
    size_t times = c->rule->needs & WK_NEEDS_TIMES ? (1 + c->count) * sizeof *c->steps : 0;
    size_t state = c->rule->state_size ? c->rule->state_size(&view) : 0;
    if (state > SIZE_MAX - times) return false;
    c->extra_size = times + state;
    if (c->extra_size > 0) c->extra = allocate(c, 1, c->extra_size, &ok);
    if (state > 0) c->rule_scratch = allocate(c, c->count, 4 * sizeof *c->rule_scratch, &ok);
    if (!ok) return false;
    if (times > 0) {
        c->steps = c->extra;
        c->last_visit = c->steps + 1;
    }
    if (state > 0) c->state = (char *)c->extra + times;
    return true;
}

// Equal chances for `rows` θ of the domain's list; one that is listed twice has twice the chance.
static void spread(const wk_curriculum *c, const double *thetas, int rows, double *chances)
{
    for (int k = 0; k < rows; k++) {
        size_t i = wk_space_find(c->space, thetas + k * c->domain->n_params);
        if (i != SIZE_MAX) chances[i] += 1.0 / rows;
    }
}

// A combined space says by its first parameter, called "domain", which family a θ belongs to.
static void find_groups(wk_curriculum *c)
{
    bool combined = strcmp(c->domain->params[0].name, "domain") == 0;
    c->groups = combined ? (int)c->domain->params[0].max + 1 : 1;
    for (size_t i = 0; i < c->count; i++)
        c->group[i] = combined ? (int)wk_space_params(c->space, i)[0] : 0;
}

static void describe(wk_curriculum *c)
{
    for (size_t i = 0; i < c->count; i++) {
        c->dr[i] = wk_space_probability(c->space, i);
        c->error[i] = c->reduction[i] = c->before[i] = NAN;
    }
    find_groups(c);
    spread(c, c->domain->hardest, 1, c->hardest);
    spread(c, c->domain->most_complex, c->domain->n_complex, c->most_complex);
    c->header[NEXT_MEASUREMENT] = c->config.reduction_start;
}

// Copies of one description pass for the same domain: their θ have the same length.
static wk_status check_space(const wk_domain *domain, const wk_space *space, wk_error *err)
{
    const wk_domain *made_for = wk_space_domain(space);
    if (made_for == domain ||
        (made_for->n_params == domain->n_params && strcmp(made_for->name, domain->name) == 0))
        return WK_OK;
    return wk_fail(
        err, WK_E_INPUT,
        "the space is of domain '%s' (n_params %d), the curriculum of '%s' (n_params %d); "
        "create the space with the same domain",
        made_for->name, made_for->n_params, domain->name, domain->n_params);
}

wk_status wk_curriculum_create(const wk_curriculum_rule *rule, const wk_domain *domain,
                               const wk_space *space, const wk_curriculum_config *config,
                               wk_curriculum **out, wk_error *err)
{
    WK_TRY(check_config(config, err));
    if (rule->abi != WK_CURRICULUM_ABI)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "the curriculum was built for interface %u, this program has %u; rebuild it",
                       rule->abi, WK_CURRICULUM_ABI);
    WK_TRY(check_space(domain, space, err));
    wk_curriculum *c = calloc(1, sizeof *c);
    if (!c) return wk_fail(err, WK_E_MEMORY, "no memory for a curriculum");
    c->rule = rule;
    c->domain = domain;
    c->space = space;
    c->config = *config;
    c->count = wk_space_count(space);
    wk_status status = allocate_all(c) ? WK_OK
                                       : wk_fail(err, WK_E_MEMORY,
                                                 "no memory for a curriculum over %zu "
                                                 "parameters",
                                                 wk_space_count(space));
    if (status == WK_OK) describe(c);
    if (status == WK_OK && wk_space_is_continuous(space)) {
        wk_surface_config smooth = wk_surface_config_default(domain->n_params, config->error_decay);
        status = wk_surface_create(&smooth, domain, space, &c->surface, err);
    }
    if (status == WK_OK && !allocate_extra(c))
        status =
            wk_fail(err, WK_E_MEMORY, "no memory for the state of curriculum '%s'", rule->name);
    if (status != WK_OK) {
        wk_curriculum_destroy(c);
        return status;
    }
    wk_curriculum_view view = wk_curriculum_get_view(c);
    if (c->state && rule->begin) rule->begin(&view, c->state);
    *out = c;
    return WK_OK;
}

void wk_curriculum_destroy(wk_curriculum *c)
{
    if (!c) return;
    wk_surface_destroy(c->surface);
    wk_arena_reset(&c->arena);
    free(c);
}

wk_curriculum_view wk_curriculum_get_view(const wk_curriculum *c)
{
    read_errors(c);
    return (wk_curriculum_view){.count = c->count,
                                .dr = c->dr,
                                .error = c->error,
                                .reduction = c->reduction,
                                .visits = c->visits,
                                .group = c->group,
                                .groups = c->groups,
                                .has_reduction = c->header[REDUCTIONS] > 0,
                                .hardest = c->hardest,
                                .most_complex = c->most_complex,
                                .domain = c->domain,
                                .theta = wk_space_params(c->space, 0),
                                .episodes = c->episodes,
                                .steps = c->steps ? *c->steps : 0,
                                .last_visit = c->last_visit,
                                .state = c->state,
                                .scratch = c->rule_scratch};
}

// Rules from plug-ins may be wrong, and a wrong distribution would bend a run silently.
static wk_status check_distribution(const wk_curriculum *c, const double *own, wk_error *err)
{
    double sum = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!(own[i] >= 0 && own[i] <= 2)) // says no to NaN
            return wk_fail(err, WK_E_INPUT,
                           "curriculum '%s' gives θ number %zu the probability %g; probabilities "
                           "are at least 0 and sum to 1",
                           c->rule->name, i, own[i]);
        sum += own[i];
    }
    if (fabs(sum - 1) <= 1e-6) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "curriculum '%s' gives probabilities that sum to %g instead of 1; divide each "
                   "by the sum",
                   c->rule->name, sum);
}

// The rule's own distribution in `own`, which it says, or said where only its description is known;
// and how much of the choice is left to the default one: all of it when the rule has none yet or a
// wrong one.
static wk_status own_distribution(const wk_curriculum *c, double *own, double *dr_share,
                                  wk_error *err)
{
    bool has = false;
    wk_curriculum_view view = wk_curriculum_get_view(c);
    memset(own, 0, c->count * sizeof *own);
    if (c->rule->distribution) {
        has = c->rule->distribution(&view, &c->config, own);
    } else {
        memcpy(own, c->own, c->count * sizeof *own);
        for (size_t i = 0; i < c->count; i++)
            has |= own[i] > 0;
    }
    wk_status status = has ? check_distribution(c, own, err) : WK_OK;
    *dr_share = !has || status != WK_OK ? 1 : c->rule->always ? 0 : c->config.dr_probability;
    if (!has || status != WK_OK) memset(own, 0, c->count * sizeof *own);
    return status;
}

// The θ at `at` (0 to 1) of the running sum of the probabilities in c->scratch.
static size_t pick(const wk_curriculum *c, double at)
{
    size_t last = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->scratch[i] <= 0) continue;
        last = i;
        at -= c->scratch[i];
        if (at < 0) break;
    }
    return last;
}

wk_status wk_curriculum_next(wk_curriculum *c, uint64_t episode, bool prefill, double *theta,
                             size_t *index, wk_error *err)
{
    wk_rng rng = wk_rng_stream(c->config.seed, "curriculum", episode);
    double u[WK_PARAMS_MAX + 2], dr_share = 1;
    for (int i = 0; i < WK_PARAMS_MAX + 2; i++)
        u[i] = wk_rng_unit(&rng);
    if (!prefill) WK_TRY(own_distribution(c, c->scratch, &dr_share, err));
    bool by_default = u[0] < dr_share;
    c->held_out = c->rule->curated && by_default && !prefill;
    if (by_default) {
        *index = wk_space_pick(c->space, u + 1, theta);
    } else {
        *index = pick(c, u[1]);
        wk_space_place(c->space, *index, u + 2, theta);
    }
    c->visits[*index]++;
    c->episodes++;
    if (c->last_visit) c->last_visit[*index] = c->episodes;
    return WK_OK;
}

bool wk_curriculum_learns(const wk_curriculum *c)
{
    return !c->held_out;
}

wk_status wk_curriculum_report(wk_curriculum *c, const size_t *index, const float *delta,
                               size_t count, wk_error *err)
{
    if (c->surface)
        return wk_fail(err, WK_E_INPUT,
                       "the curriculum's space is continuous: report the parameters themselves "
                       "(wk_curriculum_report_at)");
    for (size_t i = 0; i < count; i++) {
        if (index[i] >= c->count)
            return wk_fail(err, WK_E_INPUT,
                           "error estimate %zu is of environment %zu; the space has %zu, counted "
                           "from 0",
                           i, index[i], c->count);
        if (!isfinite(delta[i]))
            return wk_fail(err, WK_E_INPUT, "error estimate %zu is %g; report finite numbers", i,
                           (double)delta[i]);
    }
    wk_curriculum_report_at(c, NULL, index, delta, count);
    return WK_OK;
}

void wk_curriculum_report_at(wk_curriculum *c, const double *thetas, const size_t *index,
                             const float *delta, size_t count)
{
    if (c->surface) wk_surface_report(c->surface, thetas, delta, count);
    for (size_t i = 0; i < count; i++) {
        assert(index[i] < c->count);
        c->header[IGNORED] += !isfinite(delta[i]);
        if (c->surface || !isfinite(delta[i])) continue;
        double *error = &c->error[index[i]], decay = c->config.error_decay;
        *error = isnan(*error) ? (double)delta[i] : decay * *error + (1 - decay) * (double)delta[i];
    }
    if (!c->rule->reported) return;
    wk_curriculum_view view = wk_curriculum_get_view(c);
    c->rule->reported(&view, &c->config, index, delta, count, c->state);
}

void wk_curriculum_end_episode(wk_curriculum *c, const wk_curriculum_episode *episode)
{
    assert(episode->index < c->count);
    if (!c->rule->ended) return;
    wk_curriculum_view view = wk_curriculum_get_view(c);
    c->rule->ended(&view, &c->config, episode, c->state);
}

// Compares the errors with those of the last measurement: Δ = δ̄_old - δ̄_new.
static void take_reduction(wk_curriculum *c)
{
    read_errors(c);
    double decay = c->config.reduction_decay;
    bool any = false;
    for (size_t i = 0; i < c->count; i++) {
        if (!isnan(c->before[i])) {
            double old = isnan(c->reduction[i]) ? 0 : c->reduction[i];
            c->reduction[i] = decay * old + (1 - decay) * (c->before[i] - c->error[i]);
            any = true;
        }
        c->before[i] = c->error[i];
    }
    c->header[REDUCTIONS] += any;
}

void wk_curriculum_advance(wk_curriculum *c, uint64_t steps)
{
    if (c->steps) *c->steps = steps;
    if (steps < c->header[NEXT_MEASUREMENT]) return;
    take_reduction(c);
    uint64_t every = c->config.reduction_every;
    c->header[NEXT_MEASUREMENT] += ((steps - c->header[NEXT_MEASUREMENT]) / every + 1) * every;
}

void wk_curriculum_distribution(const wk_curriculum *c, double *probability)
{
    double dr_share;
    wk_error ignored = {0};
    own_distribution(c, probability, &dr_share, &ignored);
    for (size_t i = 0; i < c->count; i++)
        probability[i] = dr_share * c->dr[i] + (1 - dr_share) * probability[i];
}

const wk_curriculum_rule *wk_curriculum_get_rule(const wk_curriculum *c)
{
    return c->rule;
}

uint64_t wk_curriculum_ignored(const wk_curriculum *c)
{
    return c->header[IGNORED];
}

// Saved states begin with what they belong to. Their own version: that of the interface of rules
// may change without them.
enum { STATE_VERSION = 1 };
typedef struct stamp {
    uint64_t key; // of the rule's and the domain's names
    uint64_t count;
} stamp;

static stamp stamp_of(const wk_curriculum *c)
{
    uint64_t key = wk_rng_key(wk_rng_key(STATE_VERSION, c->rule->name), c->domain->name);
    return (stamp){.key = key, .count = c->count};
}

static size_t own_size(const wk_curriculum *c)
{
    return c->own ? c->count * sizeof *c->own : 0;
}

static size_t surface_size(const wk_curriculum *c)
{
    return c->surface ? wk_surface_state_size(c->surface) : 0;
}

size_t wk_curriculum_state_size(const wk_curriculum *c)
{
    return sizeof(stamp) + c->block_size + own_size(c) + c->extra_size + surface_size(c);
}

void wk_curriculum_save(const wk_curriculum *c, void *bytes)
{
    stamp s = stamp_of(c);
    char *next = bytes;
    read_errors(c);
    memcpy(next, &s, sizeof s);
    memcpy(next + sizeof s, c->block, c->block_size);
    next += sizeof s + c->block_size;
    if (c->own) {
        double dr_share;
        own_distribution(c, c->scratch, &dr_share, NULL); // zeros where it is wrong: next says so
        memcpy(next, c->scratch, own_size(c));
    }
    next += own_size(c);
    if (c->surface) wk_surface_save(c->surface, next);
    if (c->extra) memcpy(next + surface_size(c), c->extra, c->extra_size);
}

static wk_status load_own(wk_curriculum *c, const char *bytes, wk_error *err)
{
    memcpy(c->own, bytes, own_size(c));
    bool none = true;
    for (size_t i = 0; i < c->count; i++)
        none &= c->own[i] == 0;
    wk_error said = {0};
    if (none || check_distribution(c, c->own, &said) == WK_OK) return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "a curriculum state with a wrong choice: %.800s",
                   said.message);
}

wk_status wk_curriculum_load(wk_curriculum *c, const void *bytes, size_t size, wk_error *err)
{
    stamp ours = stamp_of(c), saved;
    size_t whole = wk_curriculum_state_size(c), own = own_size(c) + surface_size(c);
    bool described = !c->rule->distribution; // its own state is not read, nor its size known
    if (described ? size < whole : size != whole)
        return wk_fail(err, WK_E_FORMAT,
                       "a curriculum state of %zu bytes, expected %zu: it is of another parameter "
                       "space, or of another version of its rule",
                       size, whole);
    memcpy(&saved, bytes, sizeof saved);
    if (saved.key != ours.key || saved.count != ours.count)
        return wk_fail(err, WK_E_FORMAT,
                       "a curriculum state of another rule or domain than %s on %s", c->rule->name,
                       c->domain->name);
    const char *block = (const char *)bytes + sizeof saved;
    memcpy(c->block, block, c->block_size);
    c->episodes = 0;
    for (size_t i = 0; i < c->count; i++)
        c->episodes += c->visits[i];
    for (size_t i = 0; i < c->count; i++)
        if (isinf(c->error[i]) || isinf(c->before[i]) || isinf(c->reduction[i]))
            return wk_fail(err, WK_E_FORMAT, "a curriculum state with an error that is no number");
    block += c->block_size;
    if (c->surface) WK_TRY(wk_surface_load(c->surface, block + own_size(c), err));
    if (c->extra) memcpy(c->extra, block + own, c->extra_size);
    return c->own ? load_own(c, block, err) : WK_OK;
}
