#include "env/render/profile.h"
#include <math.h>
#include <stdlib.h>

wk_status wk_profile_init(wk_profile *profile, const mjModel *model, int geom, wk_error *err)
{
    int field = model->geom_dataid[geom];
    const mjtNum *size = model->hfield_size + 4 * field, *position = model->geom_pos + 3 * geom;
    *profile = (wk_profile){.material = wk_material_make(model, geom),
                            .columns = model->hfield_ncol[field],
                            .first_x = position[0] - size[0],
                            .spacing = 2 * size[0] / (model->hfield_ncol[field] - 1),
                            .front_y = position[1] - size[1],
                            .back_y = position[1] + size[1],
                            .base_z = position[2],
                            .scale_z = size[2]};
    profile->heights = calloc((size_t)profile->columns, sizeof *profile->heights);
    profile->facets = calloc((size_t)profile->columns, sizeof *profile->facets);
    if (!profile->heights || !profile->facets) {
        wk_profile_free(profile);
        return wk_fail(err, WK_E_MEMORY, "no memory for a terrain of %d columns",
                       model->hfield_ncol[field]);
    }
    wk_profile_read(profile, model, geom);
    return WK_OK;
}

void wk_profile_free(wk_profile *profile)
{
    free(profile->heights);
    free(profile->facets);
    profile->heights = NULL;
    profile->facets = NULL;
}

void wk_profile_read(wk_profile *profile, const mjModel *model, int geom)
{
    const float *data = model->hfield_data + model->hfield_adr[model->geom_dataid[geom]];
    for (int i = 0; i < profile->columns; i++)
        profile->heights[i] = (float)(profile->base_z + profile->scale_z * data[i]);
}

// Slopes of the point (x, y, z), which lies before the camera.
static void project(const wk_profile *p, float x, float y, float z, float *u, float *v)
{
    float depth = y * p->forward_y + z * p->forward_z;
    float inverse = 1 / fmaxf(depth, 1e-3f);
    *u = x * inverse;
    *v = (y * p->up_y + z * p->up_z) * inverse;
}

static void include(const wk_view *view, wk_facet *facet, float u, float v)
{
    float x = u / view->step + 0.5f * (float)view->width;
    float y = 0.5f * (float)view->height - v / view->step;
    facet->left = fminf(facet->left, x);
    facet->right = fmaxf(facet->right, x);
    facet->top = fminf(facet->top, y);
    facet->bottom = fmaxf(facet->bottom, y);
}

static void place_facet(const wk_profile *profile, const wk_view *view, wk_facet *f)
{
    float u, v, near_v1;
    f->run = f->x1 - f->x0;
    f->rise = f->z1 - f->z0;
    f->grade = f->rise / f->run;
    float length = sqrtf(f->run * f->run + f->rise * f->rise);
    f->facing = f->x0 * f->rise - f->z0 * f->run;
    f->normal[0] = -f->rise / length;
    f->normal[1] = f->run / length * profile->up_z;
    f->normal[2] = f->run / length * profile->forward_z;
    f->left = f->top = INFINITY;
    f->right = f->bottom = -INFINITY;
    project(profile, f->x0, profile->near_y, f->z0, &f->near_u0, &f->near_v0);
    include(view, f, f->near_u0, f->near_v0);
    project(profile, f->x1, profile->near_y, f->z1, &f->near_u1, &near_v1);
    include(view, f, f->near_u1, near_v1);
    f->near_slope = (near_v1 - f->near_v0) / fmaxf(f->near_u1 - f->near_u0, 1e-9f);
    project(profile, f->x0, profile->far_y, f->z0, &u, &v);
    include(view, f, u, v);
    project(profile, f->x1, profile->far_y, f->z1, &u, &v);
    include(view, f, u, v);
}

// The columns between which everything in view lies: at the far side, as wide as the image.
static void find_columns(const wk_profile *profile, const wk_view *view, int *first, int *last)
{
    float u = 0.5f * (float)view->width * view->step, v = 0.5f * (float)view->height * view->step;
    float forward = profile->forward_y - v * fabsf(profile->up_y);
    double reach = forward > 0.05f ? (double)profile->far_y * u / forward : 1e9;
    double low = (view->position[0] - reach - profile->first_x) / profile->spacing;
    double high = (view->position[0] + reach - profile->first_x) / profile->spacing;
    *first = (int)fmin(fmax(floor(low), 0), profile->columns - 1);
    *last = (int)fmin(fmax(ceil(high), 0), profile->columns - 1);
}

// Going away from the light, a facet is lit where the slope of the light's ray (sideways over down)
// exceeds that of every column passed before.
static void find_horizons(wk_profile *profile, const wk_light *light)
{
    profile->light_x = light->position[0];
    profile->light_z = light->position[1] * profile->up_z + light->position[2] * profile->forward_z;
    int n = profile->facet_count, middle = 0;
    wk_facet *f = profile->facets;
    while (middle < n && f[middle].x1 < profile->light_x)
        middle++;
    float steepest = -INFINITY;
    for (int i = middle; i < n; i++) {
        f[i].horizon = steepest;
        float down = profile->light_z - f[i].z1;
        steepest = fmaxf(steepest, (f[i].x1 - profile->light_x) / fmaxf(down, 1e-3f));
    }
    steepest = -INFINITY;
    for (int i = middle - 1; i >= 0; i--) {
        f[i].horizon = steepest;
        float down = profile->light_z - f[i].z0;
        steepest = fmaxf(steepest, (profile->light_x - f[i].x0) / fmaxf(down, 1e-3f));
    }
}

static void column(const wk_profile *profile, const wk_view *view, int i, float *x, float *z)
{
    *x = (float)(profile->first_x + profile->spacing * i - view->position[0]);
    *z = (float)(profile->heights[i] - view->position[2]);
}

void wk_profile_set_view(wk_profile *profile, const wk_view *view, const wk_light *light)
{
    int first, last;
    profile->near_y = (float)(profile->front_y - view->position[1]);
    profile->far_y = (float)(profile->back_y - view->position[1]);
    profile->forward_y = (float)view->forward[1];
    profile->forward_z = (float)view->forward[2];
    profile->up_y = (float)view->up[1];
    profile->up_z = (float)view->up[2];
    find_columns(profile, view, &first, &last);
    profile->facet_count = last - first;
    for (int i = first; i < last; i++) {
        wk_facet *f = &profile->facets[i - first];
        *f = (wk_facet){0};
        column(profile, view, i, &f->x0, &f->z0);
        column(profile, view, i + 1, &f->x1, &f->z1);
        place_facet(profile, view, f);
    }
    profile->has_horizon = light != NULL;
    if (light) find_horizons(profile, light);
}

static float edge_at(const wk_profile *profile, float u, int *facet)
{
    const wk_facet *f = profile->facets;
    while (*facet < profile->facet_count && u >= f[*facet].near_u1)
        ++*facet;
    if (*facet == profile->facet_count || u < f[*facet].near_u0) return -INFINITY;
    return f[*facet].near_v0 + (u - f[*facet].near_u0) * f[*facet].near_slope;
}

void wk_profile_trace(wk_profile *profile, const wk_tile *tile)
{
    for (int b = 0; b < WK_TILE_BLOCKS; b++) {
        profile->edge_low[b] = INFINITY;
        profile->edge_high[b] = -INFINITY;
    }
    for (int s = 0; s < tile->samples; s++) {
        int facet = 0;
        for (int x = 0; x < WK_TILE_STRIDE; x++) {
            float edge = edge_at(profile, tile->u[s][x], &facet);
            profile->edge[s][x] = edge;
            if (x >= WK_TILE_WIDTH) continue;
            profile->edge_low[x / 8] = fminf(profile->edge_low[x / 8], edge);
            profile->edge_high[x / 8] = fmaxf(profile->edge_high[x / 8], edge);
        }
    }
}
