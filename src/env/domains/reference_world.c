#include "env/domains/reference_world.h"

#include "env/domains/cleanup.h"
#include "env/domains/dmc.h"
#include "env/domains/reference_gl.h"
#include "env/domains/terrain.h"
#include <stdlib.h>
#include <string.h>

// How to look inside the worlds that are made of MuJoCo.
typedef void internals_fn(void *env, const mjModel **model, mjData **data);

struct wk_reference_world {
    const wk_domain *domain;
    internals_fn *internals;
    void *env;
    wk_reference_gl *gl;
    const mjModel *drawn; // the model `gl` was made for
};

static internals_fn *find_internals(const wk_domain *domain)
{
    const struct {
        const wk_domain *domain;
        internals_fn *internals;
    } known[] = {
        {&wk_terrain_walker, wk_terrain_internals}, {&wk_terrain_hopper, wk_terrain_internals},
        {&wk_terrain_body, wk_terrain_internals},   {&wk_clean_up, wk_cleanup_internals},
        {&wk_car_clean_up, wk_cleanup_internals},   {&wk_dmc_walker, wk_dmc_internals},
        {&wk_dmc_hopper, wk_dmc_internals},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].domain == domain) return known[i].internals;
    return NULL;
}

// The default options, with MuJoCo's own collisions where the domain has the choice.
static void choose_options(const wk_domain *domain, int *options)
{
    memset(options, 0, WK_OPTIONS_MAX * sizeof *options);
    int option, value;
    if (wk_domain_option(domain, "collider", "stock", &option, &value, NULL) == WK_OK)
        options[option] = value;
}

// OpenGL holds the textures and height fields of one model; another model needs another context.
static wk_status follow_model(wk_reference_world *world, wk_error *err)
{
    const mjModel *model;
    mjData *data;
    world->internals(world->env, &model, &data);
    if (model == world->drawn) {
        wk_reference_gl_upload(world->gl, model);
        return WK_OK;
    }
    wk_reference_gl_destroy(world->gl);
    world->gl = NULL;
    world->drawn = NULL;
    WK_TRY(wk_reference_gl_create(model, &world->gl, err));
    world->drawn = model;
    return WK_OK;
}

wk_status wk_reference_world_create(const wk_domain *domain, wk_reference_world **out,
                                    wk_error *err)
{
    internals_fn *internals = find_internals(domain);
    if (!internals)
        return wk_fail(err, WK_E_UNSUPPORTED, "'%s' is not a built-in MuJoCo domain", domain->name);
    wk_reference_world *world = calloc(1, sizeof *world);
    if (!world) return wk_fail(err, WK_E_MEMORY, "no memory for a reference world");
    *world = (wk_reference_world){.domain = domain, .internals = internals};
    int options[WK_OPTIONS_MAX];
    choose_options(domain, options);
    wk_status status = domain->create(domain, options, &world->env, err);
    // The first reset shows whether OpenGL works at all.
    if (status == WK_OK) status = wk_reference_world_reset(world, domain->hardest, 0, 0, err);
    if (status != WK_OK) {
        wk_reference_world_destroy(world);
        return status;
    }
    *out = world;
    return WK_OK;
}

void wk_reference_world_destroy(wk_reference_world *world)
{
    if (!world) return;
    wk_reference_gl_destroy(world->gl);
    if (world->env) world->domain->destroy(world->env);
    free(world);
}

wk_status wk_reference_world_reset(wk_reference_world *world, const double *theta, uint64_t seed,
                                   uint64_t episode, wk_error *err)
{
    wk_outcome out = {0};
    WK_TRY(world->domain->reset(world->env, theta, seed, episode, &out, err));
    return follow_model(world, err);
}

void wk_reference_world_step(wk_reference_world *world, const float *action)
{
    wk_outcome out = {0};
    world->domain->step(world->env, action, &out);
}

wk_status wk_reference_world_draw(wk_reference_world *world, int width, int height, uint8_t *rgb,
                                  wk_error *err)
{
    const mjModel *model;
    mjData *data;
    world->internals(world->env, &model, &data);
    return wk_reference_gl_draw(world->gl, model, data, width, height, rgb, err);
}
