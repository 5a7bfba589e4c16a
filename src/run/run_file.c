// The bytes of run.bin, and back.
#include "base/hash.h"
#include "base/observation.h"
#include "env/domain.h"
#include "env/host.h"
#include "run/checkpoint.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

static const char MAGIC[8] = "WKRUN002";

// The parts that are plain memory, in order.
typedef struct part {
    void *bytes;
    size_t size;
    size_t padding; // zeros after it
} part;
_Static_assert(sizeof(wk_run_schedule) <= WK_RUN_SCHEDULE_BYTES, "a schedule must fit");

enum { PARTS = 7 };

static void list_parts(const wk_run_state *s, part parts[PARTS])
{
    size_t n = (size_t)s->count;
    parts[0] = (part){s->counters, sizeof *s->counters, 0};
    parts[1] = (part){s->running, n * sizeof *s->running, 0};
    parts[2] = (part){s->actions, n * (size_t)s->domain->action_size * sizeof *s->actions, 0};
    parts[3] = (part){s->images, n * wk_observation_image_bytes(s->domain->observation), 0};
    parts[4] = (part){s->vectors, wk_run_vector_bytes(s->domain, s->count), 0};
    parts[5] = (part){s->first, n, 0};
    parts[6] =
        (part){s->schedule, sizeof *s->schedule, WK_RUN_SCHEDULE_BYTES - sizeof *s->schedule};
}

static void put_zeros(wk_text *out, size_t size)
{
    static const char zeros[256];
    for (size_t left = size; left > 0;) {
        size_t some = left < sizeof zeros ? left : sizeof zeros;
        wk_text_append(out, zeros, some);
        left -= some;
    }
}

// Room for a block of `size` bytes that the caller fills in; NULL when there is no memory.
static void *put_space(wk_text *out, size_t size)
{
    uint64_t length = size;
    wk_text_append(out, (const char *)&length, sizeof length);
    size_t at = out->length;
    put_zeros(out, size);
    return out->failed ? NULL : out->chars + at;
}

wk_status wk_run_file_write(const wk_run_state *s, uint64_t config, const wk_replay_mark *mark,
                            wk_text *out, wk_error *err)
{
    wk_run_header head = {.config = config,
                          .running = (uint64_t)s->count,
                          .engine = wk_domain_engine(s->domain),
                          .replay = *mark};
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    wk_text_append(out, (const char *)&head, sizeof head);
    part parts[PARTS];
    list_parts(s, parts);
    for (int i = 0; i < PARTS; i++) {
        wk_text_append(out, parts[i].bytes, parts[i].size);
        put_zeros(out, parts[i].padding);
    }
    void *room = put_space(out, wk_curriculum_state_size(s->curriculum));
    if (room) wk_curriculum_save(s->curriculum, room);
    if (s->acting_size > 0) {
        room = put_space(out, s->acting_size);
        if (room) memcpy(room, s->acting, s->acting_size);
    }
    for (int i = 0; i < s->count; i++) {
        // An environment whose episode is over begins a new one; there is nothing to keep.
        const wk_env *env = wk_vec_env(s->vec, i);
        size_t size = s->running[i].active ? wk_env_state_size(env) : 0;
        if (size > WK_STATE_MAX)
            return wk_fail(
                err, WK_E_INPUT,
                "domain '%s' needs %zu bytes to save one environment; at most %zu are possible",
                s->domain->name, size, WK_STATE_MAX);
        room = put_space(out, size);
        if (room && size) WK_TRY(wk_env_save(env, room, size, err));
    }
    if (out->failed) return WK_OK;
    uint64_t size = out->length + sizeof(uint32_t);
    memcpy(out->chars + offsetof(wk_run_header, size), &size, sizeof size);
    uint32_t sum = wk_crc32c(0, out->chars, out->length);
    wk_text_append(out, (const char *)&sum, sizeof sum);
    return WK_OK;
}

// What is wrong with the counters, or NULL.
static const char *fault_of_counters(const wk_trainer_counters *n)
{
    const uint64_t max = WK_RUN_COUNT_MAX;
    if (n->iterations > max || n->steps > max || n->episodes > max || n->updates > max)
        return "a counter is beyond any run";
    if (n->diverged > n->episodes || n->steps_since_update > max || n->acting > 1)
        return "a counter has an impossible value";
    return NULL;
}

wk_status wk_run_file_check(const void *bytes, size_t size, const char *path, wk_run_header *out,
                            wk_error *err)
{
    uint32_t sum;
    bool whole = size >= sizeof *out + sizeof sum;
    if (whole) {
        memcpy(out, bytes, sizeof *out);
        memcpy(&sum, (const char *)bytes + size - sizeof sum, sizeof sum);
        whole = memcmp(out->magic, MAGIC, sizeof MAGIC) == 0 && out->size == size &&
                wk_crc32c(0, bytes, size - sizeof sum) == sum;
    }
    if (!whole)
        return wk_fail(err, WK_E_FORMAT, "'%s' is damaged or not a checkpoint of waker", path);
    // What every reader relies on.
    wk_trainer_counters counters = wk_run_file_counters(bytes, size);
    const char *fault = fault_of_counters(&counters);
    if (out->running > size / sizeof(wk_running_episode))
        fault = "it has more environments than it can hold";
    return fault ? wk_fail(err, WK_E_FORMAT, "'%s' is inconsistent: %s", path, fault) : WK_OK;
}

// A reader that cannot run past the end, which is where the checksum begins.
typedef struct reader {
    const char *next;
    size_t left;
    bool failed;
} reader;

static reader after_header(const void *bytes, size_t size)
{
    return (reader){(const char *)bytes + sizeof(wk_run_header),
                    size - sizeof(wk_run_header) - sizeof(uint32_t), false};
}

static const void *take(reader *r, size_t size)
{
    if (size > r->left) r->failed = true;
    if (r->failed) return NULL;
    const void *bytes = r->next;
    r->next += size;
    r->left -= size;
    return bytes;
}

// A length and that many bytes.
static const void *take_block(reader *r, size_t *size)
{
    const void *length = take(r, sizeof(uint64_t));
    uint64_t value = 0;
    if (length) memcpy(&value, length, sizeof value);
    *size = (size_t)value;
    return take(r, *size);
}

// What is wrong with the plain memory, or NULL.
static const char *fault_of(const wk_run_state *s)
{
    const char *fault = fault_of_counters(s->counters);
    if (fault) return fault;
    if (s->schedule->copied_episodes > WK_RUN_COUNT_MAX) return "a counter is beyond any run";
    if (s->counters->steps_since_update >= s->train_every)
        return "more steps were collected than an update waits for";
    size_t thetas = wk_curriculum_get_view(s->curriculum).count;
    bool curated = wk_curriculum_get_rule(s->curriculum)->curated;
    uint64_t last = curated ? WK_EPISODE_SCORED : WK_EPISODE_RUNS;
    for (int i = 0; i < s->count; i++) {
        const wk_running_episode *running = &s->running[i];
        if (running->active > last) return "an environment is neither running nor waiting";
        if (s->first[i] > 1) return "an image neither begins an episode nor continues one";
        if (!running->active) continue;
        if (running->theta_index >= thetas) return "an environment has a θ beyond the grid";
        if (running->episode >= s->counters->episodes)
            return "an episode runs that was never begun";
        if (running->steps >= (uint64_t)s->domain->episode_steps)
            return "an environment is beyond the end of its episode";
    }
    size_t numbers = (size_t)s->count * (size_t)s->domain->action_size;
    for (size_t i = 0; i < numbers; i++)
        if (!isfinite(s->actions[i])) return "an action is not a finite number";
    numbers = wk_run_vector_bytes(s->domain, s->count) / sizeof *s->vectors;
    for (size_t i = 0; i < numbers; i++)
        if (!isfinite(s->vectors[i])) return "an observation is not a finite number";
    return NULL;
}

static wk_status read_worlds(const wk_run_state *s, reader *r, wk_error *err)
{
    for (int i = 0; i < s->count; i++) {
        size_t size;
        const void *bytes = take_block(r, &size);
        if (r->failed) return WK_OK;
        if ((size > 0) != (s->running[i].active != WK_EPISODE_NONE))
            return wk_fail(err, WK_E_FORMAT,
                           "environment %d: a state without an episode, or an "
                           "episode without a state",
                           i);
        if (size == 0) continue;
        wk_env *env = wk_vec_env(s->vec, i);
        wk_error said = {0};
        wk_status status = wk_env_load(env, bytes, size, &said);
        if (status != WK_OK)
            return wk_fail(err, status == WK_E_MEMORY ? status : WK_E_FORMAT,
                           "environment %d: %.800s", i, said.message);
        if (!wk_env_has_episode(env)) continue; // who resumes begins another one
        if ((uint64_t)wk_env_steps(env) != s->running[i].steps)
            return wk_fail(err, WK_E_FORMAT, "environment %d is at another step than its episode",
                           i);
    }
    return WK_OK;
}

wk_status wk_run_file_read(const void *bytes, size_t size, const wk_run_state *s, wk_error *err)
{
    reader r = after_header(bytes, size);
    part parts[PARTS];
    list_parts(s, parts);
    for (int i = 0; i < PARTS; i++) {
        const void *source = take(&r, parts[i].size);
        if (source && parts[i].size > 0) memcpy(parts[i].bytes, source, parts[i].size);
        take(&r, parts[i].padding);
    }
    const char *fault = r.failed ? NULL : fault_of(s);
    if (fault) return wk_fail(err, WK_E_FORMAT, "the checkpoint is inconsistent: %s", fault);
    size_t length;
    const void *block = take_block(&r, &length);
    if (block) WK_TRY(wk_curriculum_load(s->curriculum, block, length, err));
    if (s->acting_size > 0) {
        block = take_block(&r, &length);
        if (block && length == s->acting_size)
            memcpy(s->acting, block, length);
        else
            r.failed = true;
    }
    if (!r.failed) WK_TRY(read_worlds(s, &r, err));
    return r.failed || r.left > 0
               ? wk_fail(err, WK_E_FORMAT, "the checkpoint's parts do not match this configuration")
               : WK_OK;
}

wk_trainer_counters wk_run_file_counters(const void *bytes, size_t size)
{
    wk_trainer_counters counters = {0};
    reader r = after_header(bytes, size);
    const void *source = take(&r, sizeof counters);
    if (source) memcpy(&counters, source, sizeof counters);
    return counters;
}

wk_status wk_run_file_read_curriculum(const void *bytes, size_t size, const wk_run_state *s,
                                      wk_error *err)
{
    reader r = after_header(bytes, size);
    part parts[PARTS];
    list_parts(s, parts);
    for (int i = 0; i < PARTS; i++)
        take(&r, parts[i].size + parts[i].padding);
    const void *block = take_block(&r, &size);
    if (block) return wk_curriculum_load(s->curriculum, block, size, err);
    return wk_fail(err, WK_E_FORMAT, "the checkpoint does not match the run's config.yaml");
}
