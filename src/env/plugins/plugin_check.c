// The examination plays short episodes of the same (θ, seed, episode) under different
// circumstances, writes each down as a trace of outcomes and image checksums, and compares: the
// circumstance in which the traces part names the fault.
#include "env/plugins/plugin_check.h"

#include "base/random.h"
#include "base/text.h"
#include "env/domain.h"
#include "env/plugins/python_domain.h"
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    STEPS = 40,      // longest trace
    GUARD = 4096,    // bytes watched before and after everything a domain writes
    WORLDS = 20,     // made and destroyed when looking for lost memory
    FULL_MAX = 2000, // steps of the long episodes
    EPISODES = 8,    // of them at most, while they end early
    SEQUENCE = 50,   // rows of a training sequence by default
    SEED = 1,
    EPISODE = 2,
};

// Each kind is reported once. Those from ADVICE on are not faults.
// clang-format off
typedef enum kind {
    DESCRIPTION, SUMMARY,
    CREATE, RESET, OVER_AT_RESET, ENDS_UNDECLARED, DIVERGED,
    NOT_FINITE, COMPLETION, INDICATOR,
    OUTSIDE_IMAGE, IMAGE_HOLES, IMAGE_UNSTEADY, IMAGE_STILL,
    OUTSIDE_VECTOR, VECTOR_HOLES, VECTOR_STILL,
    NOT_REPEATABLE, NOT_RESET, SHARED, DRAWING_MATTERS,
    STATE_SIZE, OUTSIDE_STATE, STATE_HOLES, LOAD_REFUSED, NOT_CONTINUED, LOAD_SIZE,
    ADVICE,
    LARGE_REWARD = ADVICE, NO_STATE, UNUSED_ROWS, NO_MESSAGE, SHORT_EPISODES, LOST_MEMORY, OFF_GRID,
    KINDS
} kind;
// clang-format on

// What one step reported and showed.
typedef struct moment {
    wk_outcome outcome;
    uint32_t image, vector;
} moment;

typedef struct trace {
    int count; // moments; moment 0 is the reset
    moment moments[STEPS + 1];
} trace;

typedef struct examination {
    const wk_domain *domain;
    bool python; // its author writes no C
    wk_finding_fn *report;
    void *context;
    int steps; // of a trace, within the domain's episodes
    int faults;
    bool seen[KINDS];
    int options[WK_OPTIONS_MAX];
    char theta_text[WK_THETA_CHARS]; // the θ under examination
    uint8_t *canvas;                 // of write_twice
    uint8_t image[WK_IMAGE_BYTES + 2 * GUARD];
    trace reference, other;
} examination;

__attribute__((format(printf, 3, 4))) static void find(examination *x, kind k, const char *format,
                                                       ...)
{
    if (x->seen[k]) return;
    x->seen[k] = true;
    if (k < ADVICE) x->faults++;
    char sentence[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    x->report(x->context, k < ADVICE, sentence);
}

static const char *advice(const examination *x, const char *in_c, const char *in_python)
{
    return x->python ? in_python : in_c;
}

// Whether an environment of Python failed. Its examination ends there: it may fail in every
// episode, after a time-out each, and its traces would differ for that reason alone.
static bool has_failed(const examination *x)
{
    return x->python && (x->seen[RESET] || x->seen[DIVERGED]);
}

// Reports what Python said when a function of an environment failed, before others find that the
// episode diverged.
static void find_exception(examination *x, const void *world, const char *function, int step)
{
    wk_text why = {0};
    if (x->python && wk_python_domain_explain(world, function, &why))
        find(x, DIVERGED, "θ %s, step %d: %s.", x->theta_text, step, wk_text_get(&why));
    wk_text_free(&why);
}

static void *make_world(examination *x)
{
    wk_error reported = {0};
    void *world = NULL;
    wk_status status = x->domain->create(x->domain, x->options, &world, &reported);
    if (status == WK_OK && !world) find(x, CREATE, "create returns no world; set *env.");
    if (status == WK_OK) return world;
    find(x, CREATE, "create fails: %s.",
         reported.message[0] ? reported.message : "it gives no message");
    return NULL;
}

// What a domain writes into memory of its host. `width` and `height` are an image's.
typedef struct output {
    enum { IMAGE, VECTOR, STATE } what;
    int width, height;
    size_t size; // bytes
} output;

// Has the domain write it into guarded memory that is filled with `poison`; returns the bytes.
static uint8_t *write_once(examination *x, void *world, const output *o, uint8_t poison,
                           uint8_t *guarded)
{
    uint8_t *bytes = guarded + GUARD;
    memset(guarded, poison, o->size + 2 * GUARD);
    if (o->what == IMAGE)
        x->domain->render(world, o->width, o->height, bytes);
    else if (o->what == VECTOR)
        x->domain->observe(world, (float *)(void *)bytes);
    else
        x->domain->save(world, bytes);
    bool sound = true;
    for (size_t i = 0; i < GUARD; i++)
        sound &= guarded[i] == poison && bytes[o->size + i] == poison;
    if (sound) return bytes;
    if (o->what == IMAGE)
        find(x, OUTSIDE_IMAGE,
             "render writes outside an image of %d x %d pixels; write exactly width*height*3 "
             "bytes, row by row.",
             o->width, o->height);
    else if (o->what == VECTOR)
        find(x, OUTSIDE_VECTOR, "observe writes outside the %d numbers of observation.vector.",
             x->domain->observation.vector);
    else
        find(x, OUTSIDE_STATE, "save writes outside the %zu bytes that state_size gives.", o->size);
    return bytes;
}

// Has it written twice over different fillings: a byte that shows both fillings was not written.
// The bytes are valid until the next call; NULL without memory.
static const uint8_t *write_twice(examination *x, void *world, const output *o)
{
    size_t whole = o->size + 2 * GUARD;
    uint8_t *canvas = realloc(x->canvas, 2 * whole);
    if (!canvas) return NULL;
    x->canvas = canvas;
    const uint8_t *first = write_once(x, world, o, 0xA5, canvas);
    const uint8_t *second = write_once(x, world, o, 0x5A, canvas + whole);
    for (size_t i = 0; i < o->size; i++) {
        bool hole = first[i] == 0xA5 && second[i] == 0x5A;
        if (first[i] == second[i] || (o->what == STATE && !hole)) continue;
        if (o->what == STATE)
            find(x, STATE_HOLES,
                 "save leaves byte %zu of %zu unwritten (padding of a struct?); write every byte, "
                 "so that equal states are equal files.",
                 i, o->size);
        else if (o->what == VECTOR)
            find(x, VECTOR_HOLES,
                 "observe writes two different vectors of one state; write every number, from the "
                 "state alone.");
        else if (hole)
            find(x, IMAGE_HOLES,
                 "render leaves byte %zu of a %d x %d image unwritten; write every pixel, the "
                 "memory is not cleared before.",
                 i, o->width, o->height);
        else
            find(x, IMAGE_UNSTEADY,
                 "render draws two different %d x %d images of one state; draw from the state "
                 "alone.",
                 o->width, o->height);
        break;
    }
    return first;
}

static output image_of(int width, int height)
{
    return (output){IMAGE, width, height, (size_t)width * (size_t)height * 3};
}

// The checksum of the vector that the domain observes.
static uint32_t check_vector(examination *x, void *world, int step)
{
    const output vector = {VECTOR, 0, 0, (size_t)x->domain->observation.vector * sizeof(float)};
    const uint8_t *bytes = vector.size > 0 ? write_twice(x, world, &vector) : NULL;
    for (int i = 0; bytes && i < x->domain->observation.vector; i++) {
        float number;
        memcpy(&number, bytes + (size_t)i * sizeof number, sizeof number);
        if (!isfinite(number))
            find(x, NOT_FINITE, "step %d of θ %s observes %f as number %d; %s.", step,
                 x->theta_text, (double)number, i,
                 advice(x, "set diverged when the simulation breaks down",
                        "observe finite numbers"));
    }
    return bytes ? (uint32_t)crc32_z(0, bytes, vector.size) : 0;
}

static void check_outcome(examination *x, const wk_outcome *out, int step)
{
    const wk_domain *domain = x->domain;
    for (int i = 0; i < domain->n_tasks; i++) {
        const char *task = domain->tasks[i].name;
        float reward = out->rewards[i], completion = out->completion[i];
        if (!isfinite(reward))
            find(x, NOT_FINITE, "step %d of θ %s gives the reward %f for task '%s'; %s.", step,
                 x->theta_text, (double)reward, task,
                 advice(x, "set diverged when the simulation breaks down", "give finite rewards"));
        else if (fabsf(reward) > 1e4f)
            find(x, LARGE_REWARD,
                 "step %d of θ %s gives the reward %g for task '%s'; rewards of the order of 1 "
                 "train best.",
                 step, x->theta_text, (double)reward, task);
        if (domain->tasks[i].has_completion && !(completion >= 0 && completion <= 1))
            find(x, COMPLETION,
                 "step %d of θ %s gives the completion %g for task '%s'; it must lie in 0 to 1.",
                 step, x->theta_text, (double)completion, task);
        if (!domain->tasks[i].has_completion && completion != 0)
            find(x, UNUSED_ROWS,
                 "the completion of task '%s' is reported but has_completion is false; set it to "
                 "true or leave the number out.",
                 task);
    }
    for (int i = 0; i < domain->n_indicators && step > 0; i++) {
        const wk_indicator *indicator = &domain->indicators[i];
        float value = out->indicators[i];
        bool cell = value >= 0 && value < (float)indicator->cells;
        if (isinf(value) || (indicator->kind == WK_INDICATOR_CELLS && !isnan(value) && !cell))
            find(
                x, INDICATOR,
                "step %d of θ %s gives %g for the indicator '%s'; give a finite number, the number "
                "of a cell below its `cells`, or NaN where the world has none.",
                step, x->theta_text, (double)value, indicator->name);
    }
    for (int i = domain->n_tasks; i < WK_TASKS_MAX; i++)
        if (out->rewards[i] != 0 || out->completion[i] != 0)
            find(x, UNUSED_ROWS,
                 "step writes the reward or completion of task number %d, but there are only %d "
                 "tasks.",
                 i, domain->n_tasks);
}

// Writes a moment down; false when the episode is over.
static bool note(examination *x, void *world, const wk_outcome *outcome, bool draw, trace *t)
{
    moment *m = &t->moments[t->count];
    m->outcome = *outcome;
    m->image = 0;
    m->vector = outcome->diverged ? 0 : check_vector(x, world, t->count);
    if (outcome->diverged)
        find(x, DIVERGED,
             "the simulation of θ %s diverges at step %d of random actions; make it stable, for "
             "example with a smaller time step.",
             x->theta_text, t->count);
    else if (draw && x->domain->render) {
        const output image = image_of(WK_IMAGE_SIDE, WK_IMAGE_SIDE);
        m->image = (uint32_t)crc32_z(0, write_once(x, world, &image, 0xA5, x->image), image.size);
    }
    if (outcome->terminal && !x->domain->ends_early && t->count > 0)
        find(x, ENDS_UNDECLARED,
             "θ %s: the episode ends at step %d (terminal) although ends_early is false; set it, "
             "so that the world model learns when episodes end.",
             x->theta_text, t->count);
    check_outcome(x, outcome, t->count);
    t->count++;
    return !outcome->terminal && !outcome->diverged && !outcome->truncated;
}

static bool begin(examination *x, void *world, const double *theta, bool draw, trace *t)
{
    wk_outcome outcome = {0};
    wk_error reported = {0};
    t->count = 0;
    if (has_failed(x)) return false;
    wk_status status = x->domain->reset(world, theta, SEED, EPISODE, &outcome, &reported);
    if (status != WK_OK) {
        const char *message = reported.message[0] ? reported.message : "no message";
        if (x->python)
            find(x, RESET, "θ %s: %s.", x->theta_text, message);
        else
            find(x, RESET, "reset refuses θ %s although check accepts it: %s; let check refuse it.",
                 x->theta_text, message);
        return false;
    }
    if (outcome.diverged) find_exception(x, world, "reset", 0);
    if (outcome.terminal)
        find(x, OVER_AT_RESET,
             "θ %s: the episode is over at its reset (terminal); let reset draw a start from which "
             "a step can be made.",
             x->theta_text);
    return note(x, world, &outcome, draw, t);
}

// One step with the action that belongs to (variant, step).
static void step_world(examination *x, void *world, int variant, int step, wk_outcome *out)
{
    float action[WK_ACTION_MAX];
    wk_rng rng = wk_rng_stream((uint64_t)variant, "plug-in check", (uint64_t)step);
    wk_domain_random_action(x->domain, &rng, action);
    *out = (wk_outcome){0};
    x->domain->step(world, action, out);
    if (out->diverged) find_exception(x, world, "step", step);
}

// Plays on until the trace has `until` moments after the reset or the episode is over.
static bool play_on(examination *x, void *world, int until, bool draw, trace *t)
{
    while (t->count <= until) {
        wk_outcome outcome;
        step_world(x, world, 0, t->count, &outcome);
        if (!note(x, world, &outcome, draw, t)) return false;
    }
    return true;
}

static void play(examination *x, void *world, const double *theta, bool draw, trace *t)
{
    if (begin(x, world, theta, draw, t)) play_on(x, world, x->steps, draw, t);
}

// What the first difference between the traces is, or NULL. An image of 0 was not drawn.
static const char *difference(const examination *x, const trace *a, const trace *b, int *step)
{
    size_t tasks = (size_t)x->domain->n_tasks * sizeof(float);
    for (int i = 0; i < a->count && i < b->count; i++) {
        const moment *m = &a->moments[i], *n = &b->moments[i];
        *step = i;
        if (m->image != n->image && m->image && n->image) return "the image";
        if (m->vector != n->vector) return "the vector";
        if (memcmp(m->outcome.rewards, n->outcome.rewards, tasks) != 0) return "a reward";
        if (memcmp(m->outcome.completion, n->outcome.completion, tasks) != 0) return "a completion";
        if (m->outcome.terminal != n->outcome.terminal) return "the end";
    }
    *step = a->count;
    return a->count == b->count ? NULL : "the length";
}

// Reports `k` if the trace just played differs from the reference.
static bool same(examination *x, kind k, const char *circumstance)
{
    int step;
    if (has_failed(x)) return false;
    const char *what = difference(x, &x->reference, &x->other, &step);
    if (!what) return true;
    find(x, k, "θ %s, same seed and episode, %s: %s differs at step %d.", x->theta_text,
         circumstance, what, step);
    return false;
}

static void check_repeats(examination *x, void *used, void *fresh, const double *theta)
{
    play(x, fresh, theta, true, &x->other);
    if (!same(x, NOT_REPEATABLE,
              advice(x,
                     "played in two new worlds; take all randomness from (seed, episode) and leave "
                     "no memory uninitialised",
                     "played by two new processes; take all randomness from the seed of reset")))
        return;
    play(x, used, theta, true, &x->other);
    if (!same(x, NOT_RESET,
              "played twice in one world; reset must set everything that an episode changes"))
        return;
    play(x, used, theta, false, &x->other);
    same(x, DRAWING_MATTERS, "played without drawing; render must not change the state");
}

// Plays the reference again while a second environment moves in between.
static void check_alone(examination *x, void *world, void *neighbour, const double *theta)
{
    trace ignored;
    wk_outcome outcome;
    bool neighbour_runs = begin(x, neighbour, x->domain->hardest, false, &ignored);
    bool runs = begin(x, world, theta, true, &x->other);
    for (int step = 1; runs && step <= x->steps; step++) {
        if (neighbour_runs) {
            step_world(x, neighbour, 1, step, &outcome);
            neighbour_runs = !outcome.terminal && !outcome.diverged && !outcome.truncated;
        }
        runs = play_on(x, world, step, true, &x->other);
    }
    same(x, SHARED,
         advice(x,
                "played while another world moves; keep all that changes in the world made by "
                "create, not in globals",
                "played while another process plays; keep all that changes in the environment, not "
                "in files that processes share"));
}

// Saves in the middle of the reference episode and continues in another environment.
static void check_state(examination *x, void *from, void *into, const double *theta)
{
    trace ignored;
    if (!begin(x, from, theta, true, &x->other)) return;
    size_t size = x->domain->state_size(from);
    if (size == WK_STATE_NONE) {
        find(x, NO_STATE,
             "its states cannot be saved: a run that was interrupted begins new episodes when it "
             "is resumed.");
        return;
    }
    if (!play_on(x, from, x->steps / 2, true, &x->other)) return;
    if (x->domain->state_size(from) != size) {
        find(
            x, STATE_SIZE,
            "state_size gives %zu after reset and %zu after %d steps; it must not change during an "
            "episode.",
            size, x->domain->state_size(from), x->steps / 2);
        return;
    }
    const output state = {STATE, 0, 0, size};
    const uint8_t *written = write_twice(x, from, &state);
    uint8_t *bytes = written ? malloc(size + 1) : NULL; // one for a size that is too large
    if (!bytes) return;
    memcpy(bytes, written, size);
    bytes[size] = 0;
    find_exception(x, from, "save_state", x->steps / 2);
    begin(x, into, theta, false, &ignored);
    const size_t wrong[] = {size - 1, 0, size + 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong && !has_failed(x); i++) {
        if (size == 0 && wrong[i] != 1) continue;
        wk_error reported = {0};
        if (x->domain->load(into, bytes, wrong[i], &reported) == WK_OK)
            find(x, LOAD_SIZE, "load accepts %zu bytes instead of %zu; refuse every other size.",
                 wrong[i], size);
        else if (!reported.message[0])
            find(x, NO_MESSAGE, "load refuses bytes without a message; write one into the error.");
    }
    begin(x, into, theta, false, &ignored);
    wk_error reported = {0};
    if (has_failed(x)) {
        // The findings say so already.
    } else if (x->domain->load(into, bytes, size, &reported) != WK_OK) {
        find(x, LOAD_REFUSED, "%s refuses what %s wrote for θ %s: %s.",
             advice(x, "load", "load_state"), advice(x, "save", "save_state"), x->theta_text,
             reported.message);
    } else {
        play_on(x, into, x->steps, true, &x->other);
        same(x, NOT_CONTINUED,
             advice(x,
                    "saved half-way and continued in another world; save and load must hold "
                    "everything that a step changes",
                    "saved half-way and continued by another process; save_state and load_state "
                    "must hold everything that a step changes"));
    }
    free(bytes);
}

static void check_moves(examination *x)
{
    const trace *t = &x->reference;
    bool image = !x->domain->render, vector = x->domain->observation.vector == 0;
    for (int i = 1; i < t->count; i++) {
        image |= t->moments[i].image != t->moments[0].image;
        vector |= t->moments[i].vector != t->moments[0].vector;
    }
    if (t->count > 1 && !image)
        find(x, IMAGE_STILL, "the image of θ %s does not change in %d steps of random actions; %s.",
             x->theta_text, t->count - 1,
             advice(x, "render must draw the current state",
                    "step must return the new observation"));
    if (t->count > 1 && !vector)
        find(x, VECTOR_STILL,
             "the vector of θ %s does not change in %d steps of random actions; %s.", x->theta_text,
             t->count - 1,
             advice(x, "observe must write the current state",
                    "step must return the new observation"));
}

// Everything about one θ.
static void examine(examination *x, const double *theta)
{
    if (has_failed(x)) return;
    wk_theta_print(x->domain, theta, x->theta_text);
    void *a = make_world(x), *b = make_world(x);
    if (a && b) {
        play(x, a, theta, true, &x->reference);
        check_moves(x);
        check_repeats(x, a, b, theta);
        // When episodes cannot be repeated the comparisons below would only say so again.
        if (!x->seen[NOT_REPEATABLE] && !x->seen[NOT_RESET] && x->reference.count > 0) {
            check_alone(x, a, b, theta);
            check_state(x, a, b, theta);
        }
        if (x->reference.count > 0 && !x->seen[DIVERGED] && !has_failed(x) && x->domain->render) {
            const output images[] = {image_of(WK_IMAGE_SIDE, WK_IMAGE_SIDE), image_of(37, 53),
                                     image_of(128, 96), image_of(1, 1)};
            for (size_t i = 0; i < sizeof images / sizeof *images; i++)
                write_twice(x, b, &images[i]);
        }
    }
    if (a) x->domain->destroy(a);
    if (b) x->domain->destroy(b);
}

// Plays a whole episode of the hardest θ; nothing must break down late. Gives its rows, and whether
// the domain ended it.
static int play_episode(examination *x, void *world, int variant, bool *ended)
{
    const wk_domain *domain = x->domain;
    trace t;
    *ended = false;
    if (!begin(x, world, domain->hardest, false, &t)) return 1;
    int step = 1;
    for (; step <= domain->episode_steps && step <= FULL_MAX; step++) {
        wk_outcome outcome;
        step_world(x, world, variant, step, &outcome);
        check_outcome(x, &outcome, step);
        if (!outcome.diverged) check_vector(x, world, step);
        if (outcome.diverged)
            find(x, DIVERGED,
                 "the simulation of the hardest θ %s diverges at step %d of random actions; "
                 "make it stable, for example with a smaller time step.",
                 x->theta_text, step);
        *ended = outcome.terminal;
        if (outcome.terminal || outcome.diverged || outcome.truncated) return step + 1;
    }
    return step;
}

// Episodes that the domain ends before a sequence is full train nothing.
static void examine_episodes(examination *x)
{
    wk_theta_print(x->domain, x->domain->hardest, x->theta_text);
    void *world = make_world(x);
    if (!world) return;
    int longest = 0, variant = 2;
    bool ended = true;
    for (; ended && variant < 2 + EPISODES; variant++) {
        int rows = play_episode(x, world, variant, &ended);
        if (rows > longest) longest = rows;
    }
    if (ended && longest < SEQUENCE)
        find(x, SHORT_EPISODES,
             "random actions end all of %d episodes of the hardest θ %s within %d rows; "
             "episodes shorter than a sequence train nothing: train with --length %d or less "
             "(%d by default).",
             EPISODES, x->theta_text, longest, longest > 2 ? longest : 2, SEQUENCE);
    else if (x->domain->episode_steps + 1 < SEQUENCE)
        find(x, SHORT_EPISODES,
             "episodes have at most %d rows (episode_steps and the reset's), fewer than a sequence "
             "by default (%d): train with --length %d or less.",
             x->domain->episode_steps + 1, SEQUENCE, x->domain->episode_steps + 1);
    x->domain->destroy(world);
}

// Makes and destroys many worlds.
static void *live_and_die(void *context)
{
    examination *x = context;
    for (int i = 0; i < WORLDS; i++) {
        trace ignored;
        wk_outcome outcome;
        void *world = make_world(x);
        if (!world) continue;
        if (begin(x, world, x->domain->hardest, true, &ignored))
            step_world(x, world, 0, 1, &outcome);
        x->domain->destroy(world);
    }
    return NULL;
}

// Bytes by which the memory in use grows while many environments live and die. They do so in a
// thread of their own, because the allocator's cache of freed blocks counts as used until its
// thread ends. Large blocks are counted apart.
static size_t growth(examination *x)
{
    pthread_t thread;
    struct mallinfo2 before = mallinfo2();
    if (pthread_create(&thread, NULL, live_and_die, x) != 0) return 0;
    pthread_join(thread, NULL);
    struct mallinfo2 after = mallinfo2();
    size_t had = before.uordblks + before.hblkhd, has = after.uordblks + after.hblkhd;
    return has > had ? has - had : 0;
}

static void examine_domain(examination *x, const wk_space *space)
{
    const wk_domain *domain = x->domain;
    const size_t count = wk_space_count(space), n = (size_t)domain->n_params;

    // Lists show the summary.
    for (const char *c = domain->summary; *c; c++) {
        uint32_t code;
        if (wk_utf8_control(c) && wk_utf8_decode(c, SIZE_MAX, &code))
            find(x, SUMMARY,
                 "summary holds the control character %#x; lists show it: write one line of plain "
                 "text.",
                 (unsigned)code);
    }

    // The curricula of oracles choose among the θ of the grid.
    for (int i = -1; i < domain->n_complex; i++) {
        const double *theta = i < 0 ? domain->hardest : domain->most_complex + (size_t)i * n;
        if (wk_space_find(space, theta) != SIZE_MAX) continue;
        wk_theta_print(domain, theta, x->theta_text);
        find(x, OFF_GRID,
             "%s %s is not on the training grid, so the oracle curricula never choose it; take a "
             "θ of the grid.",
             i < 0 ? "hardest" : "most_complex", x->theta_text);
    }

    // A few θ of every table the description has.
    for (size_t i = 0; i < 4; i++)
        examine(x, wk_space_params(space, i < 3 ? i * count / 3 : count - 1));
    examine(x, domain->hardest);
    examine(x, domain->most_complex + (size_t)(domain->n_complex - 1) * n);
    for (int i = 0; i < domain->n_cases; i++) {
        const wk_case *c = &domain->cases[i];
        examine(x, c->params);
        if (c->count > 1) examine(x, c->params + (size_t)(c->count - 1) * n);
    }
    if (x->seen[CREATE] || has_failed(x)) return;

    // Each choice of each option on its own.
    for (int i = 0; i < domain->n_options; i++) {
        int choices = wk_text_choices(domain->options[i].choices);
        for (x->options[i] = 1; x->options[i] < choices; x->options[i]++)
            examine(x, domain->hardest);
        x->options[i] = 0;
    }
    examine_episodes(x);
    if (has_failed(x)) return;

    // What is set up once and kept is no loss: only what grows every time is.
    size_t first = growth(x), second = growth(x);
    size_t lost = (first < second ? first : second) / WORLDS;
    if (lost >= 8)
        find(x, LOST_MEMORY,
             "each world that is created and destroyed leaks about %zu bytes; free all of it in "
             "destroy.",
             lost);
}

wk_status wk_plugin_check(const wk_domain *domain, wk_finding_fn *report, void *context,
                          int *faults, wk_error *err)
{
    examination *x = calloc(1, sizeof *x);
    if (!x) return wk_fail(err, WK_E_MEMORY, "no memory to examine a domain");
    x->domain = domain;
    x->python = wk_python_domain_is(domain);
    x->report = report;
    x->context = context;
    wk_error reported = {0};
    wk_space *space = NULL;
    wk_status status = wk_domain_check(domain, &reported);
    if (status != WK_OK)
        find(x, DESCRIPTION, "%s.", reported.message);
    else if ((status = wk_space_create(domain, false, &space, err)) == WK_OK) {
        x->steps = domain->episode_steps < STEPS ? domain->episode_steps : STEPS;
        examine_domain(x, space);
    }
    if (x->seen[DESCRIPTION]) status = WK_OK;
    wk_space_destroy(space);
    *faults = x->faults;
    free(x->canvas);
    free(x);
    return status;
}
