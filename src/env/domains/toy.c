// A boat on a square pond with a current, seen from above: the smallest environment that has
// everything a domain needs, meant to be read as an example and to be learned in a minute by tests
// and demos.
//
// θ = (turbulence): how strong the whirls under the boat are. The water's foam shows it. At 0 the
// boat goes where it is rowed; at 1 the whirls carry it half as fast as it can row. An episode
// begins at the southern shore. Two tasks: lie at the red buoy in the west, or at the white one in
// the east.
#include "env/domains/domains.h"

#include "base/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EPISODE_STEPS = 20, WHIRLS = 3 };

static const double DRAG = 0.3;        // share of the velocity left after a step
static const double ROWING = 0.1;      // velocity that a full stroke adds: at most 1/7 a step
static const double CURRENT = 0.07;    // speed of the water at turbulence 1
static const double BOAT_RADIUS = 0.2; // the pond is [-1,1] x [-1,1]
static const double BUOY_RADIUS = 0.1;
static const double SHORE_HALF_WIDTH = 0.3; // where episodes begin
static const double BUOYS[2][2] = {{-0.7, 0.0}, {0.7, 0.0}};

// Everything that changes; plain data, so that saving it is copying it.
typedef struct pond {
    double turbulence;
    double x, y, vx, vy;
} pond;

// The water's velocity at (x, y): whirls on a grid, divergence-free, zero through the walls.
static void current_at(const pond *p, double x, double y, double *cx, double *cy)
{
    double k = WHIRLS * M_PI / 2, speed = CURRENT * p->turbulence;
    *cx = speed * sin(k * (x + 1)) * cos(k * (y + 1));
    *cy = -speed * cos(k * (x + 1)) * sin(k * (y + 1));
}

static void keep_inside(double *position, double *velocity)
{
    double limit = 1 - BOAT_RADIUS;
    if (fabs(*position) <= limit) return;
    *position = copysign(limit, *position);
    *velocity = 0;
}

static void report(const pond *p, wk_outcome *out)
{
    for (int task = 0; task < 2; task++)
        out->rewards[task] =
            (float)fmax(0, 1 - hypot(p->x - BUOYS[task][0], p->y - BUOYS[task][1]));
}

static wk_status toy_create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    (void)domain, (void)options;
    *env = calloc(1, sizeof(pond));
    return *env ? WK_OK : wk_fail(err, WK_E_MEMORY, "toy: no memory for a pond");
}

static wk_status toy_reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                           wk_outcome *out, wk_error *err)
{
    (void)err, (void)out;
    wk_rng rng = wk_rng_stream(seed, "toy start", episode);
    pond *p = env;
    *p = (pond){.turbulence = theta[0]};
    p->x = wk_rng_uniform(&rng, -SHORE_HALF_WIDTH, SHORE_HALF_WIDTH);
    p->y = BOAT_RADIUS - 1;
    return WK_OK;
}

static void toy_step(void *env, const float *action, wk_outcome *out)
{
    pond *p = env;
    double cx, cy, x = p->x, y = p->y;
    current_at(p, p->x, p->y, &cx, &cy);
    p->vx = DRAG * p->vx + ROWING * action[0];
    p->vy = DRAG * p->vy + ROWING * action[1];
    p->x += p->vx + cx;
    p->y += p->vy + cy;
    keep_inside(&p->x, &p->vx);
    keep_inside(&p->y, &p->vy);
    report(p, out);
    out->indicators[0] = (float)hypot(p->x - x, p->y - y);
}

typedef struct colour {
    double r, g, b;
} colour;

static colour blend(colour below, colour above, double cover)
{
    return (colour){below.r + cover * (above.r - below.r), below.g + cover * (above.g - below.g),
                    below.b + cover * (above.b - below.b)};
}

// How much of a pixel a disc covers, from the distance to its rim in pixels.
static double cover(double x, double y, double cx, double cy, double radius, double pixels_per_unit)
{
    double rim = radius + 1 / pixels_per_unit; // most pixels lie outside
    if (fabs(x - cx) > rim || fabs(y - cy) > rim) return 0;
    double inside = (radius - hypot(x - cx, y - cy)) * pixels_per_unit + 0.5;
    return fmin(1, fmax(0, inside));
}

// The water at (x, y): the stronger the current, the more foam, most of it along stream lines.
static colour water_at(const pond *p, double x, double y)
{
    double k = WHIRLS * M_PI / 2;
    double stream = sin(k * (x + 1)) * sin(k * (y + 1));
    double foam = fmin(1, p->turbulence) * (0.7 - 0.3 * cos(4 * M_PI * stream));
    return blend((colour){20, 50, 110}, (colour){170, 220, 230}, foam);
}

static void toy_render(void *env, int width, int height, uint8_t *rgb)
{
    const pond *p = env;
    const colour buoys[2] = {{220, 40, 40}, {240, 240, 240}}, boat = {250, 190, 40};
    int side = width < height ? width : height;
    double scale = side / 2.0;
    for (int row = 0; row < height; row++) {
        for (int column = 0; column < width; column++) {
            double x = (column + 0.5 - width / 2.0) / scale;
            double y = (height / 2.0 - row - 0.5) / scale;
            colour c = {0, 0, 0};
            if (fabs(x) <= 1 && fabs(y) <= 1) c = water_at(p, x, y);
            for (int i = 0; i < 2; i++)
                c = blend(c, buoys[i], cover(x, y, BUOYS[i][0], BUOYS[i][1], BUOY_RADIUS, scale));
            c = blend(c, boat, cover(x, y, p->x, p->y, BOAT_RADIUS, scale));
            uint8_t *pixel = rgb + 3 * ((size_t)row * (size_t)width + (size_t)column);
            pixel[0] = (uint8_t)lrint(c.r);
            pixel[1] = (uint8_t)lrint(c.g);
            pixel[2] = (uint8_t)lrint(c.b);
        }
    }
}

static size_t toy_state_size(const void *env)
{
    (void)env;
    return sizeof(pond);
}

static void toy_save(const void *env, void *bytes)
{
    memcpy(bytes, env, sizeof(pond));
}

static wk_status toy_load(void *env, const void *bytes, size_t size, wk_error *err)
{
    if (size != sizeof(pond))
        return wk_fail(err, WK_E_FORMAT, "toy: a state has %zu bytes, not %zu", sizeof(pond), size);
    memcpy(env, bytes, size);
    return WK_OK;
}

// Where the boat is and how fast it goes.
static const double *toy_read(void *env, const char *name, int *count)
{
    const pond *p = env;
    *count = 2;
    if (strcmp(name, "position") == 0) return &p->x;
    return strcmp(name, "velocity") == 0 ? &p->vx : NULL;
}

static const wk_param params[] = {
    {.name = "turbulence",
     .help = "strength of the whirls; 2 is as fast as the boat can row",
     .min = 0,
     .max = 1,
     .step = 0.1,
     .legal_min = 0,
     .legal_max = 3,
     .continuous = true},
};

static const wk_task tasks[] = {{.name = "west"}, {.name = "east"}};

static const wk_case cases[] = {{.name = "storm",
                                 .help = "whirls twice as strong as any in training",
                                 .count = 1,
                                 .params = (const double[]){2},
                                 .episodes = 20}};

static const wk_indicator indicators[] = {
    {.name = "distance", .help = "way of the boat; the pond is 2 wide", .kind = WK_INDICATOR_SUM}};

const wk_domain wk_toy = {
    .abi = WK_ENV_ABI,
    .size = sizeof(wk_domain),
    .name = "toy",
    .summary = "a boat on a pond with whirls: small, for tests, demos and reading",
    .n_params = 1,
    .params = params,
    .n_tasks = 2,
    .tasks = tasks,
    .n_cases = 1,
    .cases = cases,
    .n_indicators = 1,
    .indicators = indicators,
    .action_size = 2,
    .action_repeat = 1,
    .episode_steps = EPISODE_STEPS,
    .step_seconds = 0.1,
    .hardest = (const double[]){1},
    .n_complex = 3,
    .most_complex = (const double[]){0.8, 0.9, 1},
    .create = toy_create,
    .destroy = free,
    .reset = toy_reset,
    .step = toy_step,
    .render = toy_render,
    .state_size = toy_state_size,
    .save = toy_save,
    .load = toy_load,
    .read = toy_read,
};
