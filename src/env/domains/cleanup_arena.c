#include "env/domains/cleanup_arena.h"

#include "base/file.h"
#include "base/text.h"
#include "env/mujoco/physics.h"
#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- The start of an episode, by rejection sampling ------------------------------------------ */

enum {
    DRAWS_PER_OBJECT = 100, // then the whole layout starts again
    RESTARTS_MAX = 50000,
    OBJECTS_MAX = 1 + WK_CLEANUP_BLOCKS_MAX,
};

static const double robot_keepout = 0.2;
static const double block_keepout = 0.35;
static const double goal_width = 0.5;

// Something that has been placed: its centre and the radius kept free around it.
typedef struct placed {
    double x, y, keepout;
} placed;

double wk_cleanup_half_size(int arena)
{
    static const double half_sizes[WK_CLEANUP_ARENAS] = {0.7, 0.875, 1.05, 1.225, 1.4, 1.4};
    assert(arena >= 0 && arena < WK_CLEANUP_ARENAS);
    return half_sizes[arena];
}

// One attempt at the robot and then all blocks, each in the rectangle between the goals, shrunk by
// its keep-out radius, and at its distance from everything placed before.
static bool place_all(placed *objects, double half_size, int blocks, wk_rng *rng)
{
    for (int count = 0; count <= blocks; count++) {
        double keepout = count == 0 ? robot_keepout : block_keepout;
        double x_max = half_size - goal_width - keepout, y_max = half_size - keepout;
        bool is_free = false;
        for (int draw = 0; draw < DRAWS_PER_OBJECT && !is_free; draw++) {
            placed *o = &objects[count];
            *o = (placed){.x = wk_rng_uniform(rng, -x_max, x_max), .keepout = keepout};
            o->y = wk_rng_uniform(rng, -y_max, y_max);
            is_free = true;
            for (int i = 0; i < count && is_free; i++) {
                double dx = o->x - objects[i].x, dy = o->y - objects[i].y;
                double distance = keepout + objects[i].keepout;
                is_free = !(dx * dx + dy * dy < distance * distance);
            }
        }
        if (!is_free) return false;
    }
    return true;
}

static wk_cleanup_pose pose_of(placed object, wk_rng *rng)
{
    const double full_turn = 6.283185307179586;
    return (wk_cleanup_pose){object.x, object.y, wk_rng_uniform(rng, 0, full_turn)};
}

wk_status wk_cleanup_layout_draw(int arena, int green, int blue, wk_rng *rng,
                                 wk_cleanup_layout *out, wk_error *err)
{
    assert(green >= 0 && blue >= 0 && green + blue <= WK_CLEANUP_BLOCKS_MAX);
    double half_size = wk_cleanup_half_size(arena);
    placed objects[OBJECTS_MAX] = {0};
    int restarts = 0;
    while (!place_all(objects, half_size, green + blue, rng))
        if (++restarts > RESTARTS_MAX)
            return wk_fail(err, WK_E_INPUT,
                           "no room for %d blocks in arena %d after %d attempts: use fewer blocks "
                           "or a larger arena",
                           green + blue, arena, restarts);
    // Placed in the order robot, blue, green; listed in the order robot, green, blue.
    out->robot = pose_of(objects[0], rng);
    for (int g = 0; g < green; g++)
        out->blocks[g] = pose_of(objects[1 + blue + g], rng);
    for (int b = 0; b < blue; b++)
        out->blocks[green + b] = pose_of(objects[1 + b], rng);
    return WK_OK;
}

/* ---- The model ------------------------------------------------------------------------------- */

// Appends what stands between the root tags of an embedded MJCF document. MuJoCo merges repeated
// sections, so documents can simply follow one another.
static void append_inside(wk_text *text, const char *asset_name)
{
    const char *content = wk_asset_find(asset_name)->content;
    const char *root = strstr(content, "<mujoco");
    const char *end = strstr(content, "</mujoco>");
    assert(root && end);
    const char *begin = strchr(root, '>') + 1;
    wk_text_append(text, begin, (size_t)(end - begin));
}

// The MJCF document.
static void put_model(wk_cleanup_robot robot, int arena, int blocks, wk_text *text)
{
    double s = wk_cleanup_half_size(arena);
    bool car = robot == WK_CLEANUP_CAR;
    wk_text_puts(text, "<mujoco model=\"clean-up\">\n");

    // Room for contacts and scratch memory, twice what the hardest driving was seen to need. MuJoCo
    // 2 touches all room for constraints at once: its square (ten rows per contact of six
    // dimensions) decides the memory of an environment. MuJoCo 3 touches only what is used.
#if mjVERSION_HEADER >= 300
    wk_text_printf(text, "  <size memory=\"%dM\"/>\n", 4 + 2 * blocks);
#else
    int contacts = (car ? 40 : 24) + 10 * blocks;
    wk_text_printf(text, "  <size njmax=\"%d\" nconmax=\"%d\" nstack=\"100000\"/>\n", 10 * contacts,
                   contacts);
#endif

    // A sparse constraint Jacobian pays from about twenty degrees of freedom on; the choice is
    // fixed for a model, because the two differ by rounding.
    int freedom = (car ? 11 : 3) + 6 * blocks;
    wk_text_printf(text, "  <option jacobian=\"%s\"/>\n", freedom >= 20 ? "sparse" : "dense");
    append_inside(text, car ? "clean-up-car.xml" : "clean-up-point.xml");
    append_inside(text, "clean-up-world.xml");
    wk_text_puts(text, "  <worldbody>\n");

    // Blocks start 0.04 mm inside the floor, so that the contact is there from the first step.
    for (int b = 0; b < blocks; b++)
        wk_text_printf(text,
                       "    <body name=\"block%d\" pos=\"0 0 .19996\"><freejoint/>"
                       "<geom name=\"block%d\" type=\"box\" size=\".2 .2 .2\" density=\".001\" "
                       "rgba=\"0 1 0 1\" group=\"4\"/></body>\n",
                       b, b);

    // The walls are eight boxes around the arena, as large as the arena itself.
    static const int sides[8][2] = {{-1, -1}, {-1, 0}, {-1, 1}, {0, -1},
                                    {0, 1},   {1, -1}, {1, 0},  {1, 1}};
    for (int w = 0; w < 8; w++)
        wk_text_printf(text,
                       "    <geom name=\"wall%d\" type=\"box\" pos=\"%.17g %.17g %.17g\" "
                       "size=\"%.17g %.17g .15\" rgba=\".5 .5 .5 1\" group=\"2\"/>\n",
                       w, 2 * s * sides[w][0], 2 * s * sides[w][1], 0.1 * s, s, s);

    // A goal is a translucent strip on the floor that nothing collides with.
    for (int side = -1; side <= 1; side += 2)
        wk_text_printf(text,
                       "    <geom name=\"%s\" type=\"box\" pos=\"%.17g 0 .02\" size=\".25 2 .04\" "
                       "rgba=\"%s .1\" contype=\"0\" conaffinity=\"0\"/>\n",
                       side < 0 ? "goal-left" : "goal-right", side * (s - 0.25),
                       side < 0 ? "0 1 0" : "0 0 1");
    wk_text_puts(text, "  </worldbody>\n</mujoco>\n");
}

wk_status wk_cleanup_model_create(wk_cleanup_robot robot, int arena, int blocks, mjModel **out,
                                  wk_error *err)
{
    *out = NULL;
    wk_text text = {0};
    put_model(robot, arena, blocks, &text);
    wk_status status =
        text.failed ? wk_fail(err, WK_E_MEMORY, "no memory for the model of a clean-up world")
                    : wk_physics_load("clean-up.xml", wk_text_get(&text), out, err);
    wk_text_free(&text);
    return status;
}

/* ---- The tasks ------------------------------------------------------------------------------- */

// The side of the goal of a block: -1 left, +1 right.
static int goal_side(int task, int is_green)
{
    static const int sides[WK_CLEANUP_TASKS][2] = {{+1, -1}, {-1, +1}, {+1, +1}}; // blue, green
    return sides[task][is_green];
}

wk_cleanup_progress wk_cleanup_measure(double half_size, int green, int blue, const double *xyz)
{
    wk_cleanup_progress progress = {0};
    int blocks = green + blue;
    for (int task = 0; task < WK_CLEANUP_TASKS; task++) {
        int inside = 0;
        for (int b = 0; b < blocks; b++) {
            // Mirrored so that the goal is always the right one: s-0.5 < x < s, |y| < 2.
            double x = goal_side(task, b < green) * xyz[3 * b], y = xyz[3 * b + 1];
            progress.distance[task] += fabs(x - (half_size - 0.25));
            inside += x > half_size - 0.5 && x < half_size && fabs(y) < 2;
        }
        progress.completion[task] = blocks ? (double)inside / blocks : 1;
    }
    return progress;
}
