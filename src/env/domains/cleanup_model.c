// Composes the MJCF of a clean-up environment from the embedded robot and floor documents and the
// arena.
#include "env/domains/cleanup_model.h"

#include "base/asset.h"
#include "env/domains/cleanup_layout.h"
#include "env/mujoco/physics.h"

#include <assert.h>
#include <string.h>

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

// Room for contacts and scratch memory, twice what the hardest driving was seen to need. MuJoCo 2
// touches all room for constraints at once: its square (ten rows per contact of six dimensions)
// decides the memory of an environment. MuJoCo 3 touches only what is used.
static void append_size(wk_text *text, wk_cleanup_robot robot, int blocks)
{
#if mjVERSION_HEADER >= 300
    (void)robot;
    wk_text_printf(text, "  <size memory=\"%dM\"/>\n", 4 + 2 * blocks);
#else
    int contacts = (robot == WK_CLEANUP_CAR ? 40 : 24) + 10 * blocks;
    wk_text_printf(text, "  <size njmax=\"%d\" nconmax=\"%d\" nstack=\"100000\"/>\n", 10 * contacts,
                   contacts);
#endif
}

// A sparse constraint Jacobian pays from about twenty degrees of freedom on; the choice is fixed
// for a model, because the two differ by rounding.
static void append_option(wk_text *text, wk_cleanup_robot robot, int blocks)
{
    int freedom = (robot == WK_CLEANUP_CAR ? 11 : 3) + 6 * blocks;
    wk_text_printf(text, "  <option jacobian=\"%s\"/>\n", freedom >= 20 ? "sparse" : "dense");
}

// Blocks start 0.04 mm inside the floor, so that the contact is there from the first step.
static void append_blocks(wk_text *text, int blocks)
{
    for (int b = 0; b < blocks; b++)
        wk_text_printf(text,
                       "    <body name=\"block%d\" pos=\"0 0 .19996\"><freejoint/>"
                       "<geom name=\"block%d\" type=\"box\" size=\".2 .2 .2\" density=\".001\" "
                       "rgba=\"0 1 0 1\" group=\"4\"/></body>\n",
                       b, b);
}

// Eight boxes around the arena, as large as the arena itself.
static void append_walls(wk_text *text, double s)
{
    static const int sides[8][2] = {{-1, -1}, {-1, 0}, {-1, 1}, {0, -1},
                                    {0, 1},   {1, -1}, {1, 0},  {1, 1}};
    for (int w = 0; w < 8; w++)
        wk_text_printf(text,
                       "    <geom name=\"wall%d\" type=\"box\" pos=\"%.17g %.17g %.17g\" "
                       "size=\"%.17g %.17g .15\" rgba=\".5 .5 .5 1\" group=\"2\"/>\n",
                       w, 2 * s * sides[w][0], 2 * s * sides[w][1], 0.1 * s, s, s);
}

// A translucent strip on the floor that nothing collides with.
static void append_goal(wk_text *text, const char *name, double x, const char *rgb)
{
    wk_text_printf(text,
                   "    <geom name=\"%s\" type=\"box\" pos=\"%.17g 0 .02\" size=\".25 2 .04\" "
                   "rgba=\"%s .1\" contype=\"0\" conaffinity=\"0\"/>\n",
                   name, x, rgb);
}

// The MJCF document.
static void put_model(wk_cleanup_robot robot, int arena, int blocks, wk_text *text)
{
    double s = wk_cleanup_half_size(arena);
    wk_text_puts(text, "<mujoco model=\"clean-up\">\n");
    append_size(text, robot, blocks);
    append_option(text, robot, blocks);
    append_inside(text, robot == WK_CLEANUP_CAR ? "clean-up-car.xml" : "clean-up-point.xml");
    append_inside(text, "clean-up-world.xml");
    wk_text_puts(text, "  <worldbody>\n");
    append_blocks(text, blocks);
    append_walls(text, s);
    append_goal(text, "goal-left", -(s - 0.25), "0 1 0");
    append_goal(text, "goal-right", s - 0.25, "0 0 1");
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
