#include "agent/learner.h"
#include "base/file.h"
#include "base/random.h"
#include "config/parts.h"
#include "parity.h"
#include "run/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 32, HEADER = sizeof(parity_header) / sizeof(uint32_t) };
static const size_t PLAN_LIMIT = (size_t)1 << 30;

// Draws the first row of a sequence of `length` rows: an episode, uniformly among first ...
// end - 1, then its start, uniformly. False when none is long enough.
static bool draw_start(const parity_data *d, size_t first, size_t end, uint32_t length, wk_rng *rng,
                       uint32_t *start)
{
    enum { TRIES = 10000 };
    for (int i = 0; i < TRIES; i++) {
        size_t episode = first + wk_rng_below(rng, end - first);
        uint32_t from = d->episodes[episode], rows = d->episodes[episode + 1] - from;
        if (rows < length) continue;
        *start = from + (uint32_t)wk_rng_below(rng, rows - length + 1);
        return true;
    }
    return false;
}

static uint32_t together_of(uint32_t sequences)
{
    uint32_t together = sequences < TOGETHER ? sequences : TOGETHER;
    while (sequences % together != 0)
        together--;
    return together;
}

static wk_status draw_all(const parity_data *d, const parity_choice *c, const parity_header *h,
                          uint32_t *out, wk_error *err)
{
    size_t held = (size_t)ceil(c->held_out * (double)d->count), begin = d->count - held;
    wk_rng rng = wk_rng_stream(c->config->seed, "parity/held", 0);
    for (uint32_t i = 0; i < h->sequences; i++)
        if (!draw_start(d, begin, d->count, h->frames, &rng, out++))
            return wk_fail(err, WK_E_INPUT,
                           "none of the %zu held-out episodes has %u rows; ask for fewer frames",
                           held, h->frames);
    for (uint32_t n = 0; n < h->updates; n++) {
        rng = wk_rng_stream(c->config->seed, "parity/batch", n);
        for (uint32_t b = 0; b < h->batch; b++)
            if (!draw_start(d, 0, begin, h->length, &rng, out++))
                return wk_fail(err, WK_E_INPUT,
                               "none of the %zu episodes to train on has %u rows; set a shorter "
                               "length",
                               begin, h->length);
    }
    return WK_OK;
}

static size_t plan_numbers(const parity_header *h)
{
    return HEADER + h->sequences + (size_t)h->updates * h->batch;
}

static wk_status write_numbers(const parity_data *d, const parity_choice *c, const char *directory,
                               wk_error *err)
{
    parity_header h = {.updates = c->updates,
                       .batch = (uint32_t)c->config->batch,
                       .length = (uint32_t)c->config->length,
                       .sequences = c->sequences,
                       .together = together_of(c->sequences),
                       .frames = c->frames,
                       .context = c->context};
    uint32_t *numbers = malloc(plan_numbers(&h) * sizeof *numbers);
    if (!numbers) return wk_fail(err, WK_E_MEMORY, "no memory for %u batches", h.updates);
    memcpy(numbers, &h, sizeof h);
    char path[WK_PATH_MAX];
    wk_path_join(directory, "plan.u32", path, NULL);
    wk_status status = draw_all(d, c, &h, numbers + HEADER, err);
    if (status == WK_OK)
        status = wk_file_write(path, numbers, plan_numbers(&h) * sizeof *numbers, err);
    free(numbers);
    return status;
}

static wk_status save_weights(const wk_learner_config *config, const char *directory, wk_error *err)
{
    wk_backend *backend = NULL;
    wk_learner *learner = NULL;
    char path[WK_PATH_MAX];
    wk_path_join(directory, "weights.safetensors", path, NULL);
    WK_TRY(wk_backend_cpu_create(NULL, &backend, err));
    wk_status status = wk_learner_create(0, config, backend, &learner, err);
    if (status == WK_OK) status = wk_learner_save_weights(learner, NULL, path, NULL, 0, err);
    wk_learner_destroy(learner);
    wk_backend_destroy(backend);
    return status;
}

static wk_status check(const parity_data *d, const parity_choice *c,
                       const wk_learner_config *learner, wk_error *err)
{
    if (learner->action_size != d->action_size)
        return wk_fail(err, WK_E_INPUT, "the data has %d numbers in an action, domain '%s' has %d",
                       d->action_size, c->config->domain, learner->action_size);
    if (c->context >= c->frames)
        return wk_fail(err, WK_E_INPUT,
                       "a context of %u of %u frames leaves nothing to imagine; see fewer",
                       c->context, c->frames);
    if (ceil(c->held_out * (double)d->count) < (double)d->count) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "with %zu episodes, a held-out share of %g leaves none to train on", d->count,
                   c->held_out);
}

wk_status parity_plan_write(const parity_data *d, const parity_choice *c, const char *directory,
                            wk_error *err)
{
    wk_run_world world = {0};
    wk_learner_config learner;
    char path[WK_PATH_MAX];
    wk_path_join(directory, "config.yaml", path, NULL);
    WK_TRY(wk_run_world_open(c->config, NULL, NULL, &world, err));
    WK_TRY(wk_run_config_learner(c->config, world.domain, &learner, err));
    WK_TRY(check(d, c, &learner, err));
    WK_TRY(wk_dir_create(directory, err));
    WK_TRY(write_numbers(d, c, directory, err));
    WK_TRY(wk_run_config_write_in(c->config, NULL, path, err));
    return save_weights(&learner, directory, err);
}

// Whether every sequence lies within the data.
static bool rows_exist(const uint32_t *starts, size_t count, uint32_t length, size_t rows)
{
    for (size_t i = 0; i < count; i++)
        if (length > rows || starts[i] > rows - length) return false;
    return true;
}

wk_status parity_plan_open(const char *directory, const parity_data *data, parity_plan *p,
                           wk_error *err)
{
    char path[WK_PATH_MAX], *bytes;
    size_t size;
    wk_path_join(directory, "config.yaml", path, NULL);
    WK_TRY(wk_run_config_read(path, &p->config, err));
    wk_path_join(directory, "plan.u32", path, NULL);
    WK_TRY(wk_file_read(path, PLAN_LIMIT, &bytes, &size, err));
    p->numbers = (uint32_t *)(void *)bytes;
    if (size >= sizeof p->header) memcpy(&p->header, bytes, sizeof p->header);
    const parity_header *h = &p->header;
    p->held = p->numbers + HEADER;
    p->sequences = p->held + h->sequences;
    if (size == plan_numbers(h) * sizeof *p->numbers && h->sequences > 0 && h->together > 0 &&
        h->sequences % h->together == 0 && h->context < h->frames &&
        rows_exist(p->held, h->sequences, h->frames, data->rows) &&
        rows_exist(p->sequences, (size_t)h->updates * h->batch, h->length, data->rows))
        return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "%s: no plan of this data; make it with 'bench_parity plan'",
                   path);
}

void parity_plan_close(parity_plan *plan)
{
    free(plan->numbers);
    *plan = (parity_plan){0};
}
