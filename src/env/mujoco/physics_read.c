// Reading a MuJoCo state by name: one table of the arrays that rewards of users may look at.
#include "env/mujoco/physics.h"

#include <stdio.h>
#include <string.h>

// Where the part of an element begins and how many numbers it has.
typedef struct part {
    int begin, count;
} part;

typedef struct array {
    const char *name;
    mjtObj element; // what its parts belong to; mjOBJ_UNKNOWN: it has none
    int width;      // numbers of an element; 0: it varies
} array;

enum { TIME, QPOS, QVEL, CTRL, SENSORDATA, XPOS, XQUAT, XMAT, XIPOS };
enum { SUBTREE_COM = XIPOS + 1, SUBTREE_LINVEL, SUBTREE_ANGMOM, GEOM_XPOS, SITE_XPOS, ARRAYS };

static const array arrays[ARRAYS] = {
    [TIME] = {"time", mjOBJ_UNKNOWN, 1},
    [QPOS] = {"qpos", mjOBJ_JOINT, 0},
    [QVEL] = {"qvel", mjOBJ_JOINT, 0},
    [CTRL] = {"ctrl", mjOBJ_ACTUATOR, 1},
    [SENSORDATA] = {"sensordata", mjOBJ_SENSOR, 0},
    [XPOS] = {"xpos", mjOBJ_BODY, 3},
    [XQUAT] = {"xquat", mjOBJ_BODY, 4},
    [XMAT] = {"xmat", mjOBJ_BODY, 9},
    [XIPOS] = {"xipos", mjOBJ_BODY, 3},
    [SUBTREE_COM] = {"subtree_com", mjOBJ_BODY, 3},
    [SUBTREE_LINVEL] = {"subtree_linvel", mjOBJ_BODY, 3},
    [SUBTREE_ANGMOM] = {"subtree_angmom", mjOBJ_BODY, 3},
    [GEOM_XPOS] = {"geom_xpos", mjOBJ_GEOM, 3},
    [SITE_XPOS] = {"site_xpos", mjOBJ_SITE, 3},
};

// MuJoCo computes velocities of subtrees for sensors alone.
static bool has_subtree_velocity(const mjModel *m)
{
    for (int i = 0; i < m->nsensor; i++)
        if (m->sensor_type[i] == mjSENS_SUBTREELINVEL || m->sensor_type[i] == mjSENS_SUBTREEANGMOM)
            return true;
    return false;
}

static const mjtNum *whole(const mjModel *m, const mjData *d, int which, int *count)
{
    const struct {
        const mjtNum *numbers;
        int count;
    } table[ARRAYS] = {
        [TIME] = {&d->time, 1},
        [QPOS] = {d->qpos, (int)m->nq},
        [QVEL] = {d->qvel, (int)m->nv},
        [CTRL] = {d->ctrl, (int)m->nu},
        [SENSORDATA] = {d->sensordata, (int)m->nsensordata},
        [XPOS] = {d->xpos, 3 * (int)m->nbody},
        [XQUAT] = {d->xquat, 4 * (int)m->nbody},
        [XMAT] = {d->xmat, 9 * (int)m->nbody},
        [XIPOS] = {d->xipos, 3 * (int)m->nbody},
        [SUBTREE_COM] = {d->subtree_com, 3 * (int)m->nbody},
        [SUBTREE_LINVEL] = {d->subtree_linvel, 3 * (int)m->nbody},
        [SUBTREE_ANGMOM] = {d->subtree_angmom, 3 * (int)m->nbody},
        [GEOM_XPOS] = {d->geom_xpos, 3 * (int)m->ngeom},
        [SITE_XPOS] = {d->site_xpos, 3 * (int)m->nsite},
    };
    if ((which == SUBTREE_LINVEL || which == SUBTREE_ANGMOM) && !has_subtree_velocity(m))
        return NULL;
    *count = table[which].count;
    return table[which].numbers;
}

// Numbers of a joint in qpos (type free: 7, ball: 4, else 1) and in qvel (6, 3, 1).
static part joint_part(const mjModel *m, int which, int joint)
{
    int type = m->jnt_type[joint];
    if (which == QPOS)
        return (part){m->jnt_qposadr[joint], type == mjJNT_FREE ? 7 : type == mjJNT_BALL ? 4 : 1};
    return (part){m->jnt_dofadr[joint], type == mjJNT_FREE ? 6 : type == mjJNT_BALL ? 3 : 1};
}

static part part_of(const mjModel *m, int which, int id)
{
    if (which == QPOS || which == QVEL) return joint_part(m, which, id);
    if (which == SENSORDATA) return (part){m->sensor_adr[id], m->sensor_dim[id]};
    return (part){id * arrays[which].width, arrays[which].width};
}

const double *wk_physics_read(const mjModel *model, const mjData *data, const char *name,
                              int *count)
{
    size_t length = strcspn(name, "/");
    for (int i = 0; i < ARRAYS; i++) {
        if (strlen(arrays[i].name) != length || memcmp(arrays[i].name, name, length) != 0) continue;
        const mjtNum *numbers = whole(model, data, i, count);
        if (!name[length] || !numbers) return numbers;
        if (arrays[i].element == mjOBJ_UNKNOWN) return NULL;
        int id = mj_name2id(model, arrays[i].element, name + length + 1);
        if (id < 0) return NULL;
        part p = part_of(model, i, id);
        *count = p.count;
        return numbers + p.begin;
    }
    return NULL;
}
