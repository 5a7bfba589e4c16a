#include "agent/toy_training.h"

#include "support/check.h"
#include <stdlib.h>

static wk_error err;

const toy_data_rower toy_data_random = {.expert_task = -1};

toy_data toy_data_open(uint64_t seed)
{
    toy_data s = {.seed = seed};
    s.episodes = malloc(TOY_EPISODES * sizeof *s.episodes);
    assert_non_null(s.episodes);
    return s;
}

void toy_data_close(toy_data *s)
{
    free(s->episodes);
}

// The state as the domain saves it.
typedef struct boat {
    double turbulence, x, y, vx, vy;
} boat;

static void observe(void *world, const wk_outcome *out, const float *action, toy_data_row *row)
{
    boat b;
    wk_toy.save(world, &b);
    row->x = b.x;
    row->y = b.y;
    wk_toy.render(world, WK_IMAGE_SIDE, WK_IMAGE_SIDE, row->image);
    memcpy(row->action, action, sizeof row->action);
    memcpy(row->reward, out->rewards, sizeof row->reward);
}

static float clipped(double x)
{
    return (float)fmin(1, fmax(-1, x));
}

// Rows so that the next step ends at the buoy, as far as strength allows.
static void row_to_buoy(void *world, int task, float *action)
{
    boat b;
    wk_toy.save(world, &b);
    double k = 1.5 * M_PI, speed = 0.07 * b.turbulence, target = task == 0 ? -0.7 : 0.7;
    double cx = speed * sin(k * (b.x + 1)) * cos(k * (b.y + 1));
    double cy = -speed * cos(k * (b.x + 1)) * sin(k * (b.y + 1));
    action[0] = clipped((target - b.x - cx - 0.3 * b.vx) / 0.1);
    action[1] = clipped((0 - b.y - cy - 0.3 * b.vy) / 0.1);
}

typedef struct pond_round {
    void *worlds[TOY_PONDS];
    uint8_t images[TOY_PONDS][WK_IMAGE_BYTES];
    float actions[TOY_PONDS][TOY_ACTIONS];
    uint8_t first[TOY_PONDS];
} pond_round;

static void choose(pond_round *r, toy_data_rower rower, wk_rng *rng)
{
    if (rower.acting) {
        float next[TOY_PONDS][TOY_ACTIONS];
        wk_acting_rows rows = {.images = r->images[0],
                               .previous = r->actions[0],
                               .first = r->first,
                               .actions = next[0]};
        assert_ok(wk_acting_step(rower.acting, &rows, rower.mode, &err));
        memcpy(r->actions, next, sizeof next);
        return;
    }
    for (int i = 0; i < TOY_PONDS; i++) {
        if (rower.expert_task >= 0) row_to_buoy(r->worlds[i], rower.expert_task, r->actions[i]);
        for (int k = 0; rower.expert_task < 0 && k < TOY_ACTIONS; k++)
            r->actions[i][k] = (float)wk_rng_uniform(rng, -1, 1);
    }
}

static void begin(pond_round *r, toy_data *s, double low, double high)
{
    wk_rng rng = wk_rng_stream(s->seed, "school turbulence", (uint64_t)s->count);
    for (int i = 0; i < TOY_PONDS; i++) {
        toy_data_episode *e = &s->episodes[s->count + i];
        wk_outcome out = {0};
        double choices = round((high - low) / 0.1) + 1;
        e->turbulence = low + 0.1 * floor(wk_rng_uniform(&rng, 0, choices));
        assert_ok(wk_toy.create(&wk_toy, NULL, &r->worlds[i], &err));
        assert_ok(wk_toy.reset(r->worlds[i], &e->turbulence, s->seed, (uint64_t)(s->count + i),
                               &out, &err));
        observe(r->worlds[i], &out, r->actions[i], &e->rows[0]);
        memcpy(r->images[i], e->rows[0].image, WK_IMAGE_BYTES);
        r->first[i] = 1;
    }
}

void toy_data_collect(toy_data *s, toy_data_rower rower, double low, double high)
{
    assert_true(s->count + TOY_PONDS <= TOY_EPISODES);
    pond_round r = {0};
    wk_rng rng = wk_rng_stream(s->seed, "school actions", (uint64_t)s->count);
    begin(&r, s, low, high);
    for (int t = 1; t < TOY_ROWS; t++) {
        choose(&r, rower, &rng);
        for (int i = 0; i < TOY_PONDS; i++) {
            toy_data_row *row = &s->episodes[s->count + i].rows[t];
            wk_outcome out = {0};
            wk_toy.step(r.worlds[i], r.actions[i], &out);
            observe(r.worlds[i], &out, r.actions[i], row);
            memcpy(r.images[i], row->image, WK_IMAGE_BYTES);
            r.first[i] = 0;
        }
    }
    for (int i = 0; i < TOY_PONDS; i++)
        wk_toy.destroy(r.worlds[i]);
    s->count += TOY_PONDS;
}

toy_data_batch toy_data_batch_open(int length, int size)
{
    toy_data_batch b = {.length = length, .size = size};
    size_t rows = (size_t)length * (size_t)size;
    b.images = malloc(rows * WK_IMAGE_BYTES);
    b.first = malloc(rows);
    b.actions = malloc(rows * TOY_ACTIONS * sizeof(float));
    b.rewards = malloc(rows * TOY_TASKS * sizeof(float));
    assert_true(b.images && b.first && b.actions && b.rewards);
    b.view = (wk_learner_batch){
        .images = b.images, .actions = b.actions, .first = b.first, .rewards = b.rewards};
    return b;
}

void toy_data_batch_close(toy_data_batch *b)
{
    free(b->images);
    free(b->first);
    free(b->actions);
    free(b->rewards);
}

static void put(toy_data_batch *b, int column, const toy_data_episode *e, int start)
{
    for (int t = 0; t < b->length; t++) {
        const toy_data_row *row = &e->rows[start + t];
        size_t at = (size_t)(t * b->size + column);
        memcpy(b->images + at * WK_IMAGE_BYTES, row->image, WK_IMAGE_BYTES);
        memcpy(b->actions + at * TOY_ACTIONS, row->action, sizeof row->action);
        memcpy(b->rewards + at * TOY_TASKS, row->reward, sizeof row->reward);
        b->first[at] = t == 0;
    }
}

void toy_data_batch_draw(toy_data_batch *b, const toy_data *s, wk_rng *rng)
{
    for (int i = 0; i < b->size; i++) {
        int episode = (int)floor(wk_rng_uniform(rng, 0, s->count));
        int start = (int)floor(wk_rng_uniform(rng, 0, TOY_ROWS - b->length + 1));
        put(b, i, &s->episodes[episode], start);
    }
}

void toy_data_batch_take(toy_data_batch *b, const toy_data *s, int from)
{
    assert_true(from + b->size <= s->count);
    for (int i = 0; i < b->size; i++)
        put(b, i, &s->episodes[from + i], 0);
}

int toy_data_cells(const toy_data *s, int from, int side)
{
    bool *seen = calloc((size_t)(side * side), sizeof *seen);
    assert_non_null(seen);
    int cells = 0;
    for (int e = from; e < s->count; e++) {
        for (int t = 0; t < TOY_ROWS; t++) {
            const toy_data_row *row = &s->episodes[e].rows[t];
            int column = (int)fmin(side - 1, (row->x + 1) / 2 * side);
            int line = (int)fmin(side - 1, (row->y + 1) / 2 * side);
            cells += !seen[line * side + column];
            seen[line * side + column] = true;
        }
    }
    free(seen);
    return cells;
}

double toy_data_score(const toy_data *s, int from, int task)
{
    double sum = 0;
    for (int e = from; e < s->count; e++)
        for (int t = 1; t < TOY_ROWS; t++)
            sum += s->episodes[e].rows[t].reward[task];
    return sum / ((s->count - from) * TOY_STEPS);
}
