// The adapter to MuJoCo: differences between MuJoCo 2, 3 and 4 end in this file.
#include "env/mujoco/physics.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MuJoCo's error callback gets no context and must not return, so the way back to the guarded call
// is kept per thread for the time of that call.
static _Thread_local jmp_buf *guard;

static void on_error(const char *message)
{
    if (guard) longjmp(*guard, 1);
    // Not one of our calls: do as MuJoCo does, without its log file.
    fprintf(stderr, "MuJoCo: %s\n", message);
    abort();
}

static void on_warning(const char *message)
{
    (void)message;
}

static void set_callbacks(void)
{
    if (!mju_user_error) mju_user_error = on_error;
    if (!mju_user_warning) mju_user_warning = on_warning;
}

static void set_callbacks_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_callbacks);
}

// Copies the XML into a virtual file; true on success.
static bool add_file(mjVFS *vfs, const char *name, const char *xml)
{
    size_t size = strlen(xml);
#if mjVERSION_HEADER >= 310
    return mj_addBufferVFS(vfs, name, xml, (int)size) == 0;
#else
    if (mj_makeEmptyFileVFS(vfs, name, (int)size) != 0) return false;
    memcpy(vfs->filedata[mj_findFileVFS(vfs, name)], xml, size);
    return true;
#endif
}

wk_status wk_physics_load(const char *name, const char *xml, mjModel **out, wk_error *err)
{
    set_callbacks_once();
    mjVFS *vfs = malloc(sizeof *vfs); // large in MuJoCo 2
    if (!vfs) return wk_fail(err, WK_E_MEMORY, "no memory to read the model %s", name);
    mj_defaultVFS(vfs);
    char message[800] = "no memory";
    *out = add_file(vfs, name, xml) ? mj_loadXML(name, vfs, message, sizeof message) : NULL;
    mj_deleteVFS(vfs);
    free(vfs);
    if (!*out)
        return wk_fail(err, WK_E_FORMAT, "MuJoCo does not accept the model %s: %s", name, message);
    mj_freeLastXML(); // MuJoCo keeps its parsed copy otherwise
    return WK_OK;
}

wk_status wk_physics_make_data(const mjModel *model, mjData **out, wk_error *err)
{
    set_callbacks_once();
    jmp_buf here;
    if (setjmp(here) == 0) {
        guard = &here;
        *out = mj_makeData(model);
    } else {
        *out = NULL;
    }
    guard = NULL;
    if (!*out) return wk_fail(err, WK_E_MEMORY, "no memory for a simulation state of MuJoCo");
    return WK_OK;
}

// The calls in which MuJoCo may raise an error.
typedef enum call { FORWARD, FIRST_HALF, STEPS, WHOLE_STEPS } call;

// Makes one, of `count` time steps; false when MuJoCo raised an error in it.
static bool guarded(call what, const mjModel *model, mjData *data, int count)
{
    jmp_buf here;
    if (setjmp(here) != 0) {
        guard = NULL;
        return false;
    }
    guard = &here;
    if (what == FORWARD) mj_forward(model, data);
    if (what == STEPS) mj_step2(model, data);
    for (int i = what == STEPS; i < count; i++)
        mj_step(model, data);
    if (what == STEPS || what == FIRST_HALF) mj_step1(model, data);
    if (what == WHOLE_STEPS) mj_kinematics(model, data);
    guard = NULL;
    return true;
}

// Whether the simulation is valid since mj_resetData: finite state, no bad number, no contact or
// constraint dropped for lack of memory.
static bool is_valid(const mjModel *model, const mjData *data)
{
    static const int fatal[] = {mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC, mjWARN_CONTACTFULL,
                                mjWARN_CNSTRFULL};
    bool valid = true;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        valid &= data->warning[fatal[i]].number == 0;
    for (int i = 0; i < (int)model->nq && valid; i++)
        valid = isfinite(data->qpos[i]);
    for (int i = 0; i < (int)model->nv && valid; i++)
        valid = isfinite(data->qvel[i]);
    return valid;
}

bool wk_physics_forward(const mjModel *model, mjData *data)
{
    return guarded(FORWARD, model, data, 0) && is_valid(model, data);
}

bool wk_physics_advance(const mjModel *model, mjData *data, int count)
{
    assert(count >= 1);
    return guarded(STEPS, model, data, count) && is_valid(model, data);
}

bool wk_physics_advance_whole(const mjModel *model, mjData *data, int count)
{
    assert(count >= 1);
    return guarded(WHOLE_STEPS, model, data, count) && is_valid(model, data);
}

// The parts of mjData that continue a simulation, in the order they are saved.
enum { STATE_PARTS = 8 };
typedef struct state_part {
    mjtNum *numbers;
    size_t count;
} state_part;

static void state_parts(const wk_physics_env *world, state_part parts[STATE_PARTS])
{
    const mjModel *model = world->model;
    const mjData *data = world->data;
    const state_part all[STATE_PARTS] = {
        {(mjtNum *)&data->time, 1},
        {data->qpos, (size_t)model->nq},
        {data->qvel, (size_t)model->nv},
        {data->act, (size_t)model->na},
        {data->ctrl, (size_t)model->nu},
        {data->qacc_warmstart, (size_t)model->nv},
        {data->mocap_pos, 3 * (size_t)model->nmocap},
        {data->mocap_quat, 4 * (size_t)model->nmocap},
    };
    memcpy(parts, all, sizeof all);
}

size_t wk_physics_env_state_size(const void *env)
{
    state_part parts[STATE_PARTS];
    size_t numbers = 0;
    state_parts(env, parts);
    for (int i = 0; i < STATE_PARTS; i++)
        numbers += parts[i].count;
    return numbers * sizeof(mjtNum);
}

void wk_physics_env_save(const void *env, void *bytes)
{
    state_part parts[STATE_PARTS];
    char *to = bytes;
    state_parts(env, parts);
    for (int i = 0; i < STATE_PARTS; i++) {
        size_t size = parts[i].count * sizeof(mjtNum);
        if (size) memcpy(to, parts[i].numbers, size);
        to += size;
    }
}

wk_status wk_physics_env_load(void *env, const void *bytes, size_t size, wk_error *err)
{
    const wk_physics_env *world = env;
    const char *from = bytes;
    size_t expected = wk_physics_env_state_size(env);
    if (size != expected)
        return wk_fail(err, WK_E_FORMAT,
                       "a saved state of this world has %zu bytes, this one has %zu: it comes from "
                       "another world or version",
                       expected, size);
    for (size_t at = 0; at < size; at += sizeof(mjtNum)) {
        mjtNum number;
        memcpy(&number, from + at, sizeof number);
        if (!isfinite(number))
            return wk_fail(
                err, WK_E_FORMAT,
                "the saved simulation state holds a number that is not finite; it was damaged");
    }
    mj_resetData(world->model, world->data);
    state_part parts[STATE_PARTS];
    state_parts(world, parts);
    for (int i = 0; i < STATE_PARTS; i++) {
        size_t part = parts[i].count * sizeof(mjtNum);
        if (part) memcpy(parts[i].numbers, from, part);
        from += part;
    }
    if (!guarded(FIRST_HALF, world->model, world->data, 0) || !is_valid(world->model, world->data))
        return wk_fail(err, WK_E_FORMAT,
                       "the saved simulation state cannot be simulated; it was damaged");
    // MuJoCo 2 has just normalised the quaternions; the state must be the saved one to the bit.
    memcpy(world->data->qpos, (const char *)bytes + sizeof(mjtNum),
           parts[1].count * sizeof(mjtNum));
    return WK_OK;
}

void wk_physics_env_watch(void *env, const wk_step_watch *watch)
{
    ((wk_physics_env *)env)->watch = *watch;
}

int wk_physics_id(const mjModel *model, mjtObj type, const char *name)
{
    int id = mj_name2id(model, type, name);
    assert(id >= 0);
    return id;
}

/* ---- Reading by name ------------------------------------------------------------------------- */

// An array of mjData that rewards of users may look at.
typedef struct array {
    const char *name;
    mjtObj element; // what its parts belong to; mjOBJ_UNKNOWN: it has none
    const mjtNum *numbers;
    int width, count; // numbers of an element (0: it varies), and elements
} array;

// MuJoCo computes velocities of subtrees for sensors alone.
static bool has_subtree_velocity(const mjModel *m)
{
    for (int i = 0; i < m->nsensor; i++)
        if (m->sensor_type[i] == mjSENS_SUBTREELINVEL || m->sensor_type[i] == mjSENS_SUBTREEANGMOM)
            return true;
    return false;
}

const double *wk_physics_env_read(void *env, const char *name, int *count)
{
    const mjModel *m = ((const wk_physics_env *)env)->model;
    const mjData *d = ((const wk_physics_env *)env)->data;
    const int bodies = (int)m->nbody;
    const array arrays[] = {
        {"time", mjOBJ_UNKNOWN, &d->time, 1, 1},
        {"qpos", mjOBJ_JOINT, d->qpos, 0, (int)m->nq},
        {"qvel", mjOBJ_JOINT, d->qvel, 0, (int)m->nv},
        {"ctrl", mjOBJ_ACTUATOR, d->ctrl, 1, (int)m->nu},
        {"sensordata", mjOBJ_SENSOR, d->sensordata, 0, (int)m->nsensordata},
        {"xpos", mjOBJ_BODY, d->xpos, 3, bodies},
        {"xquat", mjOBJ_BODY, d->xquat, 4, bodies},
        {"xmat", mjOBJ_BODY, d->xmat, 9, bodies},
        {"xipos", mjOBJ_BODY, d->xipos, 3, bodies},
        {"subtree_com", mjOBJ_BODY, d->subtree_com, 3, bodies},
        {"subtree_linvel", mjOBJ_BODY, d->subtree_linvel, 3, bodies},
        {"subtree_angmom", mjOBJ_BODY, d->subtree_angmom, 3, bodies},
        {"geom_xpos", mjOBJ_GEOM, d->geom_xpos, 3, (int)m->ngeom},
        {"site_xpos", mjOBJ_SITE, d->site_xpos, 3, (int)m->nsite},
    };
    size_t length = strcspn(name, "/"), i = 0, n = sizeof arrays / sizeof *arrays;
    while (i < n && (strlen(arrays[i].name) != length || memcmp(arrays[i].name, name, length) != 0))
        i++;
    if (i == n) return NULL;
    const array *a = &arrays[i];
    bool velocity =
        strcmp(a->name, "subtree_linvel") == 0 || strcmp(a->name, "subtree_angmom") == 0;
    if (velocity && !has_subtree_velocity(m)) return NULL;
    *count = a->width ? a->width * a->count : a->count;
    if (!name[length]) return a->numbers;

    // The part of one element.
    int id = a->element == mjOBJ_UNKNOWN ? -1 : mj_name2id(m, a->element, name + length + 1);
    if (id < 0) return NULL;
    *count = a->width;
    if (a->width) return a->numbers + id * a->width;
    if (a->element == mjOBJ_SENSOR) {
        *count = m->sensor_dim[id];
        return a->numbers + m->sensor_adr[id];
    }
    bool is_free = m->jnt_type[id] == mjJNT_FREE, ball = m->jnt_type[id] == mjJNT_BALL;
    if (a->numbers == d->qpos) {
        *count = is_free ? 7 : ball ? 4 : 1;
        return a->numbers + m->jnt_qposadr[id];
    }
    *count = is_free ? 6 : ball ? 3 : 1;
    return a->numbers + m->jnt_dofadr[id];
}
