#include "env/domains/reference_env.h"

#include "env/domains/reference_gl.h"
#include "env/mujoco/physics.h"
#include <stdlib.h>
#include <string.h>

struct wk_reference_env {
    const wk_domain *domain;
    void *env; // a wk_physics_env and more
    wk_reference_gl *gl;
    const mjModel *drawn; // the model `gl` was made for
};

// OpenGL holds the textures and height fields of one model; another model needs another context.
static wk_status follow_model(wk_reference_env *world, wk_error *err)
{
    const mjModel *model = ((const wk_physics_env *)world->env)->model;
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

wk_status wk_reference_env_create(const wk_domain *domain, wk_reference_env **out, wk_error *err)
{
    if (!wk_physics_simulates(domain))
        return wk_fail(err, WK_E_UNSUPPORTED, "'%s' is not a built-in MuJoCo domain", domain->name);
    wk_reference_env *world = calloc(1, sizeof *world);
    if (!world) return wk_fail(err, WK_E_MEMORY, "no memory for a reference world");
    world->domain = domain;
    const int options[WK_OPTIONS_MAX] = {0};
    wk_status status = domain->create(domain, options, &world->env, err);
    // The first reset shows whether OpenGL works at all.
    if (status == WK_OK) status = wk_reference_env_reset(world, domain->hardest, 0, 0, err);
    if (status != WK_OK) {
        wk_reference_env_destroy(world);
        return status;
    }
    *out = world;
    return WK_OK;
}

void wk_reference_env_destroy(wk_reference_env *world)
{
    if (!world) return;
    wk_reference_gl_destroy(world->gl);
    if (world->env) world->domain->destroy(world->env);
    free(world);
}

wk_status wk_reference_env_reset(wk_reference_env *world, const double *theta, uint64_t seed,
                                 uint64_t episode, wk_error *err)
{
    wk_outcome out = {0};
    WK_TRY(world->domain->reset(world->env, theta, seed, episode, &out, err));
    return follow_model(world, err);
}

void wk_reference_env_step(wk_reference_env *world, const float *action)
{
    wk_outcome out = {0};
    world->domain->step(world->env, action, &out);
}

wk_status wk_reference_env_draw(wk_reference_env *world, int width, int height, uint8_t *rgb,
                                wk_error *err)
{
    const wk_physics_env *sim = world->env;
    return wk_reference_gl_draw(world->gl, sim->model, sim->data, width, height, rgb, err);
}
