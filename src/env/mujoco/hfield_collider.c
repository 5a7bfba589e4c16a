// Equality with MuJoCo bit for bit rests on doing its floating-point operations in its order
// wherever a number reaches the contacts: the relative frame, the bounding box that selects prisms,
// the support functions given to MPR, and the contact's frame. Only the rejection test is our own,
// and it errs on the side of testing.
#include "env/mujoco/hfield_collider.h"

#ifndef WAKER_HAVE_CCD

bool wk_hfield_collider_available(const char **why)
{
    if (why) *why = "waker was built without libccd, or for a MuJoCo other than 2.2.2 on x86-64";
    return false;
}

void wk_hfield_collider_choose(mjModel *model, bool fast)
{
    (void)model, (void)fast;
}

#else

#include <assert.h>
#include <ccd/ccd.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

enum { CONTACTS_MAX = 50 }; // MuJoCo's limit for one pair of geoms

// Far beyond rounding and MPR's tolerance, far below anything that costs time: prisms closer than
// this are tested in full.
#define SLACK 1e-4

// A capsule in the frame of the height field.
typedef struct capsule {
    mjtNum pos[3], mat[9]; // the axis is the third column of mat
    mjtNum radius, half;
    mjtNum margin;
} capsule;

// Corners 0-2 lie on the base, 3-5 above them on the surface.
typedef struct prism {
    mjtNum v[6][3];
} prism;

// A height field and where it is.
typedef struct field {
    const mjtNum *pos, *mat, *size; // size: half x, half y, height scale, base depth
    const float *heights;
    int rows, columns;
    mjtNum dx, dy;
} field;

// Columns and rows of the field under a capsule, ends included, and the capsule's lowest point.
typedef struct window {
    int first_column, last_column, first_row, last_row;
    mjtNum bottom;
} window;

// Unlike fmax and fmin these compile to one instruction; no number here is NaN.
static mjtNum larger(mjtNum a, mjtNum b)
{
    return a > b ? a : b;
}

static mjtNum smaller(mjtNum a, mjtNum b)
{
    return a < b ? a : b;
}

static mjtNum sign(mjtNum x)
{
    return x < 0 ? -1 : x > 0 ? 1 : 0;
}

// The point of the capsule farthest along `dir`, a unit vector.
static void capsule_support(const void *object, const ccd_vec3_t *dir, ccd_vec3_t *out)
{
    const capsule *c = object;
    const mjtNum *m = c->mat, *v = dir->v;
    mjtNum local[3] = {m[0] * v[0] + m[3] * v[1] + m[6] * v[2],
                       m[1] * v[0] + m[4] * v[1] + m[7] * v[2],
                       m[2] * v[0] + m[5] * v[1] + m[8] * v[2]};
    mjtNum p[3] = {local[0] * c->radius, local[1] * c->radius, local[2] * c->radius};
    p[2] += sign(local[2]) * c->half;
    for (int i = 0; i < 3; i++)
        p[i] += local[i] * c->margin / 2;
    for (int i = 0; i < 3; i++)
        out->v[i] = m[3 * i] * p[0] + m[3 * i + 1] * p[1] + m[3 * i + 2] * p[2] + c->pos[i];
}

static void capsule_center(const void *object, ccd_vec3_t *out)
{
    memcpy(out->v, ((const capsule *)object)->pos, sizeof out->v);
}

static mjtNum dot(const mjtNum *a, const mjtNum *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The corner farthest along `dir`; the sign of its z decides between base and surface.
static void prism_support(const void *object, const ccd_vec3_t *dir, ccd_vec3_t *out)
{
    const prism *p = object;
    int start = dir->v[2] < 0 ? 0 : 3, best = start;
    mjtNum farthest = dot(p->v[start], dir->v);
    for (int i = start + 1; i < start + 3; i++) {
        mjtNum reach = dot(p->v[i], dir->v);
        if (reach > farthest) {
            best = i;
            farthest = reach;
        }
    }
    memcpy(out->v, p->v[best], sizeof out->v);
}

static void prism_center(const void *object, ccd_vec3_t *out)
{
    const prism *p = object;
    for (int k = 0; k < 3; k++) {
        mjtNum sum = 0;
        for (int i = 0; i < 6; i++)
            sum += p->v[i][k];
        out->v[k] = sum * (1.0 / 6.0);
    }
}

static void first_direction(const void *a, const void *b, ccd_vec3_t *out)
{
    (void)a, (void)b;
    ccdVec3Set(out, 0, 0, 1);
}

static field field_of(const mjModel *m, const mjData *d, int geom)
{
    int id = m->geom_dataid[geom];
    field f = {.pos = d->geom_xpos + 3 * geom,
               .mat = d->geom_xmat + 9 * geom,
               .size = m->hfield_size + 4 * id,
               .heights = m->hfield_data + m->hfield_adr[id],
               .rows = m->hfield_nrow[id],
               .columns = m->hfield_ncol[id]};
    f.dx = 2.0 * f.size[0] / (f.columns - 1);
    f.dy = 2.0 * f.size[1] / (f.rows - 1);
    return f;
}

// The capsule in the field's frame, without margin; false when its bounding sphere is out of reach.
static bool place(const field *f, const mjModel *m, const mjData *d, int geom, mjtNum margin,
                  capsule *c)
{
    mjtNum offset[3], reach = m->geom_rbound[geom];
    mju_sub3(offset, d->geom_xpos + 3 * geom, f->pos);
    mju_mulMatTVec(c->pos, f->mat, offset, 3, 3);
    for (int i = 0; i < 2; i++)
        if (f->size[i] < c->pos[i] - reach - margin || -f->size[i] > c->pos[i] + reach + margin)
            return false;
    if (f->size[2] < c->pos[2] - reach - margin || -f->size[3] > c->pos[2] + reach + margin)
        return false;
    mju_mulMatTMat(c->mat, f->mat, d->geom_xmat + 9 * geom, 3, 3, 3);
    c->radius = m->geom_size[3 * geom];
    c->half = m->geom_size[3 * geom + 1];
    c->margin = 0;
    return true;
}

static void bounds(const capsule *c, mjtNum low[3], mjtNum high[3])
{
    for (int i = 0; i < 3; i++) {
        ccd_vec3_t dir = {{0, 0, 0}}, point;
        dir.v[i] = 1;
        capsule_support(c, &dir, &point);
        high[i] = point.v[i];
        dir.v[i] = -1;
        capsule_support(c, &dir, &point);
        low[i] = point.v[i];
    }
}

// The part of the grid under the capsule; false when its bounding box misses the field.
static bool look(const field *f, const capsule *c, mjtNum margin, window *w)
{
    mjtNum low[3], high[3];
    bounds(c, low, high);
    const mjtNum *size = f->size;
    if (low[0] - margin > size[0] || high[0] + margin < -size[0] || low[1] - margin > size[1] ||
        high[1] + margin < -size[1] || low[2] - margin > size[2] || high[2] + margin < -size[3])
        return false;
    w->first_column = (int)floor((low[0] + size[0]) / (2 * size[0]) * (f->columns - 1));
    w->last_column = (int)ceil((high[0] + size[0]) / (2 * size[0]) * (f->columns - 1));
    w->first_row = (int)floor((low[1] + size[1]) / (2 * size[1]) * (f->rows - 1));
    w->last_row = (int)ceil((high[1] + size[1]) / (2 * size[1]) * (f->rows - 1));
    w->first_column = w->first_column < 0 ? 0 : w->first_column;
    w->last_column = w->last_column > f->columns - 1 ? f->columns - 1 : w->last_column;
    w->first_row = w->first_row < 0 ? 0 : w->first_row;
    w->last_row = w->last_row > f->rows - 1 ? f->rows - 1 : w->last_row;
    w->bottom = low[2];
    return true;
}

static mjtNum height_at(const field *f, int row, int column, mjtNum margin)
{
    return f->heights[row * f->columns + column] * f->size[2] + margin;
}

// The two prisms between neighbouring columns, seen along y: the strip x0 ... x1 below the line
// through the higher corner of each column. What does not reach the strip does not touch the
// prisms.
typedef struct strip {
    mjtNum x0, z0, x1, z1, slope;
} strip;

static strip strip_at(const field *f, int row, int c, mjtNum margin)
{
    strip s = {.x0 = f->dx * (c - 1) - f->size[0],
               .x1 = f->dx * c - f->size[0],
               .z0 = larger(height_at(f, row, c - 1, margin), height_at(f, row + 1, c - 1, margin)),
               .z1 = larger(height_at(f, row, c, margin), height_at(f, row + 1, c, margin))};
    s.slope = (s.z1 - s.z0) / f->dx;
    return s;
}

// Whether the capsule is wholly above the strip's top, by level or by line. Only the piece of the
// axis within reach of x0 ... x1 counts, and of that the two ends.
static bool above_top(const capsule *cap, const strip *s, mjtNum reach)
{
    mjtNum axis_x = cap->mat[2], axis_z = cap->mat[8];
    mjtNum from = -cap->half, to = cap->half;
    if (fabs(axis_x) > 1e-6) {
        mjtNum a = (s->x0 - reach - cap->pos[0]) / axis_x;
        mjtNum b = (s->x1 + reach - cap->pos[0]) / axis_x;
        from = larger(from, smaller(a, b));
        to = smaller(to, larger(a, b));
        if (from > to) return true;
    }
    mjtNum from_z = cap->pos[2] + from * axis_z, to_z = cap->pos[2] + to * axis_z;
    if (smaller(from_z, to_z) - reach > larger(s->z0, s->z1)) return true;
    mjtNum from_x = cap->pos[0] + from * axis_x, to_x = cap->pos[0] + to * axis_x;
    mjtNum above = reach * sqrt(1 + s->slope * s->slope);
    return from_z - s->z0 - s->slope * (from_x - s->x0) > above &&
           to_z - s->z0 - s->slope * (to_x - s->x0) > above;
}

// Whether the corner (x, z) is the strip's point nearest to the axis, and still too far. `side` is
// -1 for the left corner and 1 for the right: seen from the nearest point of the axis, both edges
// of the strip that meet there, wall and top, must lead away.
static bool beyond_corner(const capsule *cap, const strip *s, mjtNum x, mjtNum z, mjtNum side,
                          mjtNum reach)
{
    mjtNum axis_x = cap->mat[2], axis_z = cap->mat[8], length2 = axis_x * axis_x + axis_z * axis_z;
    mjtNum dx = cap->pos[0] - x, dz = cap->pos[2] - z, along = 0;
    if (length2 > 1e-12) {
        along = -(dx * axis_x + dz * axis_z) / length2;
        along = larger(-cap->half, smaller(cap->half, along));
    }
    dx += along * axis_x;
    dz += along * axis_z;
    return dz >= 0 && side * (dx + s->slope * dz) >= 0 && dx * dx + dz * dz > reach * reach;
}

static bool out_of_reach(const field *f, const capsule *cap, int row, int c)
{
    mjtNum reach = cap->radius + cap->margin + SLACK;
    strip s = strip_at(f, row, c, cap->margin);
    return above_top(cap, &s, reach) || beyond_corner(cap, &s, s.x0, s.z0, -1, reach) ||
           beyond_corner(cap, &s, s.x1, s.z1, 1, reach);
}

static void set_corner(prism *p, int i, const field *f, int row, int column, mjtNum margin)
{
    p->v[i][0] = p->v[i + 3][0] = f->dx * column - f->size[0];
    p->v[i][1] = p->v[i + 3][1] = f->dy * row - f->size[1];
    p->v[i][2] = -f->size[3];
    p->v[i + 3][2] = height_at(f, row, column, margin);
}

// MuJoCo adds corners in a zigzag, (c, r+1) and (c, r) for each column, and every three in a row
// make a prism: `half` 0 is the one that column c's first corner completes, 1 the other.
static prism prism_at(const field *f, int row, int c, int half, mjtNum margin)
{
    prism p;
    if (half == 0) {
        set_corner(&p, 0, f, row + 1, c - 1, margin);
        set_corner(&p, 1, f, row, c - 1, margin);
        set_corner(&p, 2, f, row + 1, c, margin);
    } else {
        set_corner(&p, 0, f, row, c - 1, margin);
        set_corner(&p, 1, f, row + 1, c, margin);
        set_corner(&p, 2, f, row, c, margin);
    }
    return p;
}

// The contact between a prism and the capsule, in world coordinates; false when they do not touch.
static bool touch(const field *f, const prism *p, const capsule *c, const ccd_t *ccd,
                  mjContact *contact)
{
    ccd_real_t depth;
    ccd_vec3_t dir, point;
    if (ccdMPRPenetration(p, c, ccd, &depth, &dir, &point) != 0) return false;
    if (ccdVec3Eq(&dir, ccd_vec3_origin)) return false;
    contact->dist = -depth;
    mju_rotVecMat(contact->frame, dir.v, f->mat);
    mju_rotVecMat(contact->pos, point.v, f->mat);
    mju_addTo3(contact->pos, f->pos);
    mju_zero3(contact->frame + 3);
    return true;
}

// MPR's normal is rough; that of the capsule's surface nearest to the contact is exact.
static void correct_normal(const mjModel *m, const mjData *d, int geom, mjContact *contact)
{
    const mjtNum *mat = d->geom_xmat + 9 * geom, half = m->geom_size[3 * geom + 1];
    mjtNum offset[3], local[3], normal[3];
    mju_sub3(offset, contact->pos, d->geom_xpos + 3 * geom);
    mju_rotVecMatT(local, offset, mat);
    if (local[2] < -half)
        local[2] += half;
    else if (local[2] > half)
        local[2] -= half;
    else
        local[2] = 0;
    mju_normalize3(local);
    mju_rotVecMat(normal, local, mat);
    mju_scl3(contact->frame, normal, -1);
}

static int collide_window(const field *f, const capsule *cap, const window *w, const ccd_t *ccd,
                          mjContact *contacts)
{
    int count = 0;
    for (int row = w->first_row; row < w->last_row; row++)
        for (int c = w->first_column + 1; c <= w->last_column; c++) {
            if (out_of_reach(f, cap, row, c)) continue;
            for (int half = 0; half < 2; half++) {
                prism p = prism_at(f, row, c, half, cap->margin);
                if (p.v[3][2] < w->bottom && p.v[4][2] < w->bottom && p.v[5][2] < w->bottom)
                    continue;
                if (touch(f, &p, cap, ccd, contacts + count) && ++count == CONTACTS_MAX)
                    return count;
            }
        }
    return count;
}

static int collide(const mjModel *m, const mjData *d, mjContact *contacts, int hfield, int geom,
                   mjtNum margin)
{
    field f = field_of(m, d, hfield);
    capsule cap;
    window w;
    if (!place(&f, m, d, geom, margin, &cap) || !look(&f, &cap, margin, &w)) return 0;
    const ccd_t ccd = {.first_dir = first_direction,
                       .center1 = prism_center,
                       .center2 = capsule_center,
                       .support1 = prism_support,
                       .support2 = capsule_support,
                       .max_iterations = (unsigned long)m->opt.mpr_iterations,
                       .mpr_tolerance = m->opt.mpr_tolerance};
    cap.margin = margin;
    int count = collide_window(&f, &cap, &w, &ccd, contacts);
    for (int i = 0; i < count; i++)
        correct_normal(m, d, geom, contacts + i);
    return count;
}

// MuJoCo uses one function for every convex shape on a height field; the box's entry still has it.
static mjfCollision stock(void)
{
    return mjCOLLISIONFUNC[mjGEOM_HFIELD][mjGEOM_BOX];
}

static int dispatch(const mjModel *m, const mjData *d, mjContact *contacts, int hfield, int geom,
                    mjtNum margin)
{
    bool fast = m->nuser_geom > 0 && m->geom_user[hfield * m->nuser_geom] == 1;
    return (fast ? collide : stock())(m, d, contacts, hfield, geom, margin);
}

static void install(void)
{
    if (mjCOLLISIONFUNC[mjGEOM_HFIELD][mjGEOM_CAPSULE] == stock())
        mjCOLLISIONFUNC[mjGEOM_HFIELD][mjGEOM_CAPSULE] = dispatch;
}

bool wk_hfield_collider_available(const char **why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    if (mj_version() != mjVERSION_HEADER) {
        if (why) *why = "the MuJoCo library is not the version waker was built for";
        return false;
    }
    if (mjCOLLISIONFUNC[mjGEOM_HFIELD][mjGEOM_CAPSULE] != dispatch) {
        if (why) *why = "the program has put its own function into MuJoCo's collision table";
        return false;
    }
    return true;
}

void wk_hfield_collider_choose(mjModel *model, bool fast)
{
    bool use = wk_hfield_collider_available(NULL) && fast;
    for (int g = 0; g < model->ngeom; g++) {
        if (model->geom_type[g] != mjGEOM_HFIELD) continue;
        assert(model->nuser_geom > 0);
        model->geom_user[g * model->nuser_geom] = use;
    }
}

#endif
