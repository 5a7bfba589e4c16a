// Fuzz target: run.bin of a checkpoint. An input that begins with an even byte is the file itself;
// others are edits of a true one, made of a run in two small worlds: each edit names a place by the
// part of the file it lies in and what to do there, and the checksums are made right afterwards, so
// that mutations reach the checks behind them. The reader must refuse the file or read it without
// touching memory it does not own; a run that it accepts must go on. Built by tools/fuzz/run.
#include "base/hash.h"
#include "curriculum/surface.h"
#include "env/domains/domains.h"
#include "fuzz/fuzz.h"
#include "run/checkpoint.h"

#include <zlib.h>

enum { LANES = 2, ACTION = 8, ACTING = 40, SUM = sizeof(uint32_t) };

enum { PARTS = 10, WORLD = PARTS - 1 };

// A run that files are written from and read into: one whose θ lie on a grid, and one whose θ are
// continuous.
static struct fuzz_run {
    wk_trainer_counters counters;
    wk_running_episode running[LANES];
    float actions[LANES * ACTION];
    uint8_t images[LANES * WK_IMAGE_BYTES], first[LANES];
    uint8_t acting[ACTING];
    wk_run_schedule schedule;
    wk_space *space;
    wk_curriculum *curriculum;
    wk_vec *vec;
    wk_text whole;        // a true file
    size_t places[PARTS]; // where its parts begin; the last is the first environment's state
} both[2], *run = both;

// A small surface of errors: its numbers are half a megabyte by default, and copying them would be
// most of the time of an input. The linker redirects the call (tools/fuzz/build).
wk_surface_config __real_wk_surface_config_default(int n_params, double error_decay);
wk_surface_config __wrap_wk_surface_config_default(int n_params, double error_decay);

wk_surface_config __wrap_wk_surface_config_default(int n_params, double error_decay)
{
    wk_surface_config config = __real_wk_surface_config_default(n_params, error_decay);
    config.features = 8, config.cells = 16;
    return config;
}

static char *file;    // room for an edited one
static size_t length; // bytes of it

static wk_run_state state_of_run(void)
{
    return (wk_run_state){.count = LANES,
                          .train_every = 8,
                          .domain = &wk_toy,
                          .counters = &run->counters,
                          .running = run->running,
                          .actions = run->actions,
                          .images = run->images,
                          .first = run->first,
                          .schedule = &run->schedule,
                          .curriculum = run->curriculum,
                          .acting = run->acting,
                          .acting_size = ACTING,
                          .vec = run->vec};
}

// Every environment without an episode begins one, the others move.
static void step(void)
{
    wk_error err = {0};
    for (int i = 0; i < LANES; i++) {
        wk_running_episode *running = &run->running[i];
        if (running->active) continue;
        *running = (wk_running_episode){.episode = run->counters.episodes++, .active = 1};
        size_t theta_index;
        wk_status status = wk_curriculum_next(run->curriculum, running->episode, false,
                                              running->theta, &theta_index, &err);
        assert(status == WK_OK);
        running->theta_index = theta_index;
        status = wk_vec_plan_reset(run->vec, i, running->theta, (size_t)wk_toy.n_params, 1,
                                   running->episode, &err);
        assert(status == WK_OK);
    }
    if (wk_vec_step(run->vec, run->actions, &err) != WK_OK) assert(err.message[0]);
    const wk_batch *batch = wk_vec_batch(run->vec);
    for (int i = 0; i < LANES; i++) {
        run->running[i].steps += !(batch->flags[i] & WK_IS_FIRST);
        run->running[i].active = !(batch->flags[i] & WK_IS_LAST);
    }
    size_t theta_index = (size_t)run->running[0].theta_index;
    wk_curriculum_report_at(run->curriculum, run->running[0].theta, &theta_index, &(float){0.5f},
                            1);
    wk_curriculum_advance(run->curriculum, run->counters.steps += LANES);
}

// The parts of the file in its order; the second environment waits, so that its block is empty.
static void note_places(const wk_run_state *s)
{
    size_t curriculum = wk_curriculum_state_size(s->curriculum);
    const size_t sizes[PARTS] = {
        sizeof(wk_run_header),      sizeof *s->counters,
        LANES * sizeof *s->running, LANES * (size_t)wk_toy.action_size * sizeof *s->actions,
        LANES * WK_IMAGE_BYTES,     LANES,
        WK_RUN_SCHEDULE_BYTES,      sizeof(uint64_t) + curriculum,
        sizeof(uint64_t) + ACTING,  sizeof(uint64_t) + wk_env_state_size(wk_vec_env(s->vec, 0))};
    size_t at = 0;
    for (int i = 0; i < PARTS; i++) {
        run->places[i] = at;
        at += sizes[i];
    }
    assert(at + sizeof(uint64_t) + SUM == run->whole.length);
}

static void prepare(bool continuous)
{
    wk_error err = {0};
    const wk_curriculum_rule *rule = NULL;
    wk_curriculum_config config = wk_curriculum_config_default();
    config.reduction_start = config.reduction_every = 8;
    assert(wk_toy.action_size <= ACTION);
    if (wk_curriculum_rule_find("waker-r", &rule, &err) != WK_OK ||
        wk_space_create(&wk_toy, continuous, &run->space, &err) != WK_OK ||
        wk_curriculum_create(rule, &wk_toy, run->space, &config, &run->curriculum, &err) != WK_OK ||
        wk_vec_create(&wk_toy, NULL, LANES, 1, &run->vec, &err) != WK_OK)
        abort();
    for (int i = 0; i < 12; i++)
        step();
    run->running[1].active = 0;
    wk_run_state state = state_of_run();
    wk_replay_mark mark = {.sequence = 3, .offset = 100, .rows = 24};
    if (wk_run_file_write(&state, 1, &mark, &run->whole, &err) != WK_OK || run->whole.failed)
        abort();
    note_places(&state);
}

// One edit: a place (part, offset), and a byte, a number, or a cut or an insertion there.
static void edit(const uint8_t **bytes, size_t *size)
{
    uint8_t what = fuzz_next(bytes, size);
    size_t at = run->places[fuzz_next(bytes, size) % PARTS] + fuzz_next(bytes, size);
    if (what & 8) at += (size_t)fuzz_next(bytes, size) << 8;
    if (at + sizeof(uint64_t) > length) return;
    uint8_t value = fuzz_next(bytes, size);
    static const uint64_t numbers[] = {
        0,          1,        2,         ~0ull,           1ull << 63,
        1ull << 32, 1u << 31, INT64_MAX, 0x7FF0ull << 48, 0x7FF8ull << 48};
    size_t tail = length - at;
    switch (what & 7) {
    case 0:
    case 1:
        file[at] = (char)value;
        break;
    case 2:
    case 3:
        memcpy(file + at, &numbers[value % 10], sizeof *numbers);
        break;
    case 4: // cut
        if (value > tail) return;
        memmove(file + at, file + at + value, tail - value);
        length -= value;
        break;
    case 5: // insert
        if (length + value > run->whole.length + 4000) return;
        memmove(file + at + value, file + at, tail);
        memset(file + at, value, value);
        length += value;
        break;
    case 6: // end here
        length = at;
        break;
    default:
        file[at] = (char)(file[at] + value);
    }
}

// The sizes and checksums of the file, and of the first environment's state inside it.
static void mend(bool size, bool world)
{
    size_t state = wk_env_state_size(wk_vec_env(run->vec, 0)),
           at = run->places[WORLD] + sizeof(uint64_t);
    if (world && at + state <= length) {
        uint32_t sum = (uint32_t)crc32_z(0, (Bytef *)file + at, state - SUM);
        memcpy(file + at + state - SUM, &sum, SUM);
    }
    uint64_t total = length + SUM;
    if (size && length >= sizeof(wk_run_header))
        memcpy(file + offsetof(wk_run_header, size), &total, sizeof total);
    uint32_t sum = wk_crc32c(0, file, length);
    memcpy(file + length, &sum, SUM);
    length += SUM;
}

static void read_file(const char *bytes, size_t size)
{
    wk_error err = {0};
    wk_run_header head;
    if (wk_run_file_check(bytes, size, "fuzz", &head, &err) != WK_OK) {
        assert(err.message[0]);
        return;
    }
    wk_run_state state = state_of_run(), look = state;
    look.count = head.running <= INT32_MAX ? (int)head.running : 0;
    wk_run_file_counters(bytes, size);
    if (wk_run_file_read_curriculum(bytes, size, &look, &err) != WK_OK) assert(err.message[0]);
    err = (wk_error){0};
    if (head.running != LANES) return;
    if (wk_run_file_read(bytes, size, &state, &err) != WK_OK) {
        assert(err.message[0]);
        return;
    }
    // Exactly what was read is what would be written now.
    wk_text again = {0};
    if (wk_run_file_write(&state, head.config, &head.replay, &again, &err) != WK_OK) abort();
    assert(again.length == size);
    wk_text_free(&again);
    step();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    for (int i = 0; i < 2 && !file; i++) {
        run = &both[i];
        prepare(i == 1);
    }
    if (!file) file = malloc(both[1].whole.length + both[0].whole.length + 4096);
    if (size == 0) return 0;
    uint8_t how = fuzz_next(&bytes, &size);
    run = &both[(how & 0x38) == 0x38]; // the fewer of the slower
    if (!(how & 1)) {
        read_file((const char *)bytes, size);
        return 0;
    }
    // A world that was refused has no episode, and no state to be mended.
    if (wk_env_state_size(wk_vec_env(run->vec, 0)) == 0)
        read_file(run->whole.chars, run->whole.length);
    length = run->whole.length - SUM;
    memcpy(file, run->whole.chars, length);
    while (size > 0)
        edit(&bytes, &size);
    mend(!(how & 2), !(how & 4));
    read_file(file, length);
    return 0;
}
