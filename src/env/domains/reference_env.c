#include "env/domains/reference_env.h"

#include "env/mujoco/physics.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// MuJoCo finds the OpenGL functions itself through OSMesaGetProcAddress, for which the library has
// to be loaded with its names visible to all. The few values of OSMesa's C interface that are
// needed are written down here, so that its header is not needed either.
enum { GL_RGBA = 0x1908, GL_UNSIGNED_BYTE = 0x1401, GEOMS_MAX = 1000 };

typedef struct osmesa_context *osmesa_create_fn(unsigned format, int depth_bits, int stencil_bits,
                                                int accum_bits, struct osmesa_context *share);
typedef unsigned char osmesa_current_fn(struct osmesa_context *context, void *buffer, unsigned type,
                                        int width, int height);
typedef void osmesa_destroy_fn(struct osmesa_context *context);

struct wk_reference_gl {
    void *library;
    osmesa_current_fn *make_current;
    osmesa_destroy_fn *destroy_context;
    struct osmesa_context *context;
    bool has_mujoco;      // `scene` and `gl` have been made
    uint8_t window[4][4]; // OSMesa wants a window; drawing goes to MuJoCo's offscreen buffer
    mjvScene scene;
    mjvOption option;
    mjvCamera camera;
    mjrContext gl;
};

static void *open_library(void)
{
    const char *const names[] = {"libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
        if (library) return library;
    }
    return NULL;
}

static wk_status open_context(wk_reference_gl *ref, wk_error *err)
{
    ref->library = open_library();
    if (!ref->library)
        return wk_fail(err, WK_E_UNSUPPORTED, "OSMesa is not installed (Debian: libosmesa6)");
    osmesa_create_fn *create = (osmesa_create_fn *)dlsym(ref->library, "OSMesaCreateContextExt");
    ref->make_current = (osmesa_current_fn *)dlsym(ref->library, "OSMesaMakeCurrent");
    ref->destroy_context = (osmesa_destroy_fn *)dlsym(ref->library, "OSMesaDestroyContext");
    if (!create || !ref->make_current || !ref->destroy_context)
        return wk_fail(err, WK_E_UNSUPPORTED, "the installed libOSMesa lacks its own functions");
    ref->context = create(GL_RGBA, 24, 8, 0, NULL);
    if (!ref->context || !ref->make_current(ref->context, ref->window, GL_UNSIGNED_BYTE, 4, 4))
        return wk_fail(err, WK_E_UNSUPPORTED, "OSMesa could not make an OpenGL context");
    return WK_OK;
}

static wk_status open_mujoco(wk_reference_gl *ref, const mjModel *model, wk_error *err)
{
    mjv_defaultScene(&ref->scene);
    mjv_makeScene(model, &ref->scene, GEOMS_MAX);
    mjv_defaultOption(&ref->option);
    memset(ref->option.geomgroup, 1, sizeof ref->option.geomgroup);
    mjv_defaultCamera(&ref->camera);
    ref->camera.type = mjCAMERA_FIXED;
    ref->camera.fixedcamid = 0;
    mjr_defaultContext(&ref->gl);
    mjr_makeContext(model, &ref->gl, mjFONTSCALE_100);
    ref->has_mujoco = true;
    mjr_setBuffer(mjFB_OFFSCREEN, &ref->gl);
    if (ref->gl.currentBuffer != mjFB_OFFSCREEN)
        return wk_fail(err, WK_E_UNSUPPORTED, "MuJoCo could not draw offscreen through OSMesa");
    return WK_OK;
}

wk_status wk_reference_gl_create(const mjModel *model, wk_reference_gl **out, wk_error *err)
{
    wk_reference_gl *ref = calloc(1, sizeof *ref);
    if (!ref) return wk_fail(err, WK_E_MEMORY, "no memory for the OpenGL reference");
    wk_status status = open_context(ref, err);
    if (status == WK_OK) status = open_mujoco(ref, model, err);
    if (status != WK_OK) {
        wk_reference_gl_destroy(ref);
        return status;
    }
    *out = ref;
    return WK_OK;
}

// The library itself stays loaded: MuJoCo keeps the addresses of its functions.
void wk_reference_gl_destroy(wk_reference_gl *ref)
{
    if (!ref) return;
    if (ref->has_mujoco) {
        mjr_freeContext(&ref->gl);
        mjv_freeScene(&ref->scene);
    }
    if (ref->context) ref->destroy_context(ref->context);
    free(ref);
}

wk_status wk_reference_gl_draw(wk_reference_gl *ref, const mjModel *model, mjData *data, int width,
                               int height, uint8_t *rgb, wk_error *err)
{
    if (width > ref->gl.offWidth || height > ref->gl.offHeight)
        return wk_fail(err, WK_E_INPUT, "%dx%d is larger than the model's offscreen size %dx%d",
                       width, height, ref->gl.offWidth, ref->gl.offHeight);
    mjrRect view = {0, 0, width, height};
    mjv_updateScene(model, data, &ref->option, NULL, &ref->camera, mjCAT_ALL, &ref->scene);
    mjr_render(view, &ref->scene, &ref->gl);
    mjr_readPixels(rgb, NULL, view, &ref->gl);
    // OpenGL's rows begin at the bottom.
    size_t stride = (size_t)width * 3;
    for (int y = 0; y < height / 2; y++)
        for (size_t i = 0; i < stride; i++) {
            uint8_t *a = rgb + y * stride + i, *b = rgb + (height - 1 - y) * stride + i, t = *a;
            *a = *b;
            *b = t;
        }
    return WK_OK;
}

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
        for (int i = 0; i < model->nhfield; i++)
            mjr_uploadHField(model, &world->gl->gl, i);
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
    if (domain->save != wk_physics_env_save)
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
