#include "report/sheet.h"

#include "base/memory.h"
#include "env/domain.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 6,
    COLUMNS_MAX = 7,
    MARGIN = 8,
    GAP = 6,
    LINE = 12,
    LABEL_MAX = 640,
    PIXELS_MAX = 1 << 27, // what image viewers still open
    BACKGROUND = 0xFFFFFF,
    INK = 0x202020,
    FAINT = 0x707070,
};

// A random episode.

wk_status wk_random_episode_create(const wk_domain *domain, const int *options,
                                   wk_random_episode *out, wk_error *err)
{
    *out = (wk_random_episode){0};
    return wk_env_create(domain, options, &out->env, err);
}

void wk_random_episode_destroy(wk_random_episode *episode)
{
    wk_env_destroy(episode->env);
    *episode = (wk_random_episode){0};
}

wk_status wk_random_episode_reset(wk_random_episode *episode, const double *theta, uint64_t seed,
                                  wk_error *err)
{
    size_t count = (size_t)wk_env_domain(episode->env)->n_params;
    WK_TRY(wk_env_reset(episode->env, theta, count, seed, 0, &(wk_frame){0}, err));
    episode->actions = wk_rng_stream(seed, "random-actions", 0);
    episode->ended = false;
    return WK_OK;
}

wk_status wk_random_episode_advance(wk_random_episode *episode, int steps, wk_error *err)
{
    for (int i = 0; i < steps && !episode->ended; i++) {
        float action[WK_ACTION_MAX];
        wk_domain_random_action(wk_env_domain(episode->env), &episode->actions, action);
        uint8_t flags = 0;
        WK_TRY(wk_env_step(episode->env, action, &(wk_frame){.flags = &flags}, err));
        episode->ended = flags & WK_IS_LAST;
    }
    return WK_OK;
}

wk_status wk_random_episode_draw(wk_random_episode *episode, wk_image *image, wk_error *err)
{
    return wk_env_render(episode->env, image->width, image->height, image->rgb, err);
}

// The contact sheet.

// A row of worlds with what stands before it.
typedef struct row {
    char label[96];
    const double *thetas[COLUMNS_MAX]; // NULL: an empty place
    char captions[COLUMNS_MAX][128];
} row;

typedef struct sheet {
    const wk_domain *domain;
    wk_space *space;
    char title[LABEL_MAX], cases_label[LABEL_MAX], column_captions[COLUMNS_MAX][24];
    row *rows;
    int n_rows, n_columns;
    int n_grid_rows; // the rest are cases
} sheet;

// Values along one axis of the sheet: a rising list without repeats, thinned to what fits.
typedef struct axis {
    double values[COLUMNS_MAX];
    int count;
} axis;

static bool same(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

// Whether the params after the first are counts of the same kind, so that their sum means
// something.
static bool are_counts(const wk_domain *d)
{
    if (d->n_params < 3) return false;
    for (int i = 1; i < d->n_params; i++) {
        const wk_param *p = &d->params[i], *first = &d->params[1];
        if (p->continuous || p->min != first->min || p->max != first->max || p->step != 1)
            return false;
    }
    return true;
}

// The number that chooses a world's column.
static double column_key(const wk_domain *d, const double *theta)
{
    double sum = 0;
    if (!are_counts(d)) return theta[d->n_params > 1];
    for (int i = 1; i < d->n_params; i++)
        sum += theta[i];
    return sum;
}

// The number that chooses its row; domains of one parameter have a single row.
static double row_key(const wk_domain *d, const double *theta)
{
    return d->n_params == 1 ? 0 : theta[0];
}

// The values of the rows; or across one row, or across all of them for a NULL row. `scratch` has
// room for one number per grid point.
static axis make_axis(const sheet *s, bool rows, const double *of_row, double *scratch)
{
    size_t count = 0, n = 0, max = rows ? ROWS_MAX : COLUMNS_MAX;
    for (size_t i = 0; i < wk_space_count(s->space); i++) {
        const double *theta = wk_space_params(s->space, i);
        if (of_row && !same(row_key(s->domain, theta), *of_row)) continue;
        scratch[count++] = (rows ? row_key : column_key)(s->domain, theta);
    }
    qsort(scratch, count, sizeof *scratch, wk_compare_doubles);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || scratch[i] > scratch[n - 1] + 1e-9) scratch[n++] = scratch[i];
    axis out = {.count = (int)(n < max ? n : max)};
    for (int i = 0; i < out.count; i++)
        out.values[i] = scratch[out.count > 1 ? (size_t)i * (n - 1) / (size_t)(out.count - 1) : 0];
    return out;
}

// Whether all the values are on the axis.
static bool contains(const axis *all, const axis *some)
{
    for (int i = 0; i < some->count; i++) {
        int k = 0;
        while (k < all->count && !same(all->values[k], some->values[i]))
            k++;
        if (k == all->count) return false;
    }
    return true;
}

// Of the worlds that belong into a cell, the one nearest to their mean.
static const double *choose_world(const sheet *s, double row_value, double column_value)
{
    const wk_domain *d = s->domain;
    double mean[WK_PARAMS_MAX] = {0}, count = 0;
    const double *best = NULL;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < wk_space_count(s->space); i++) {
            const double *theta = wk_space_params(s->space, i);
            if (!same(row_key(d, theta), row_value) || !same(column_key(d, theta), column_value))
                continue;
            if (pass == 0) count++;
            for (int k = 0; k < d->n_params && pass == 0; k++)
                mean[k] += (theta[k] - mean[k]) / count;
            if (pass == 1 && (!best || wk_theta_distance(d, theta, mean) <
                                           wk_theta_distance(d, best, mean) - 1e-9))
                best = theta;
        }
    return best;
}

static void caption_world(const sheet *s, const double *theta, char *caption, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < s->domain->n_params && used < size; i++)
        used += (size_t)snprintf(caption + used, size - used, "%s%g", i ? ", " : "", theta[i]);
}

static void append(char label[LABEL_MAX], const char *a, const char *b)
{
    size_t used = strlen(label);
    snprintf(label + used, LABEL_MAX - used, "%s%s", a, b);
}

// Decides what is on the sheet: rows over the first parameter, then the cases.
static wk_status plan(sheet *s, double *scratch, wk_error *err)
{
    const wk_domain *d = s->domain;
    axis rows = make_axis(s, true, NULL, scratch), columns = make_axis(s, false, NULL, scratch);
    axis own[ROWS_MAX];
    bool aligned = true; // one set of column values serves every row
    for (int i = 0; i < rows.count; i++) {
        own[i] = make_axis(s, false, &rows.values[i], scratch);
        aligned &= contains(&columns, &own[i]);
    }
    s->rows = calloc((size_t)(rows.count + d->n_cases), sizeof *s->rows);
    if (!s->rows) return wk_fail(err, WK_E_MEMORY, "no memory for a sheet of '%s'", d->name);
    s->n_columns = columns.count;
    s->n_grid_rows = rows.count;
    // "toy: length down, height + width across"
    int last = are_counts(d) ? d->n_params : 1 + (d->n_params > 1);
    snprintf(s->title, sizeof s->title, "%s: ", d->name);
    if (d->n_params > 1) append(s->title, d->params[0].name, " down, ");
    for (int i = d->n_params > 1; i < last; i++)
        append(s->title, i > 1 ? " + " : "", d->params[i].name);
    append(s->title, " across", "");
    snprintf(s->cases_label, sizeof s->cases_label, "outside the training distribution:");
    for (int i = 0; i < d->n_params; i++)
        append(s->cases_label, i ? ", " : " ", d->params[i].name);
    for (int c = 0; c < columns.count && aligned; c++)
        snprintf(s->column_captions[c], sizeof s->column_captions[c], "%g", columns.values[c]);
    for (int i = 0; i < rows.count; i++) {
        row *r = &s->rows[s->n_rows++];
        const axis *across = aligned ? &columns : &own[i];
        if (d->n_params > 1)
            snprintf(r->label, sizeof r->label, "%s %g", d->params[0].name, rows.values[i]);
        for (int c = 0; c < across->count; c++) {
            r->thetas[c] = choose_world(s, rows.values[i], across->values[c]);
            // Rows and columns say it all unless there are parameters after them.
            if (r->thetas[c] && (d->n_params > 2 || !aligned))
                caption_world(s, r->thetas[c], r->captions[c], sizeof r->captions[c]);
        }
    }
    for (int i = 0; i < d->n_cases; i++) {
        row *r = &s->rows[s->n_rows++];
        const wk_case *c = &d->cases[i];
        int count = c->count < COLUMNS_MAX ? c->count : COLUMNS_MAX;
        snprintf(r->label, sizeof r->label, "%s", c->name);
        for (int k = 0; k < count; k++) {
            int which = count > 1 ? k * (c->count - 1) / (count - 1) : 0;
            r->thetas[k] = c->params + which * d->n_params;
            caption_world(s, r->thetas[k], r->captions[k], sizeof r->captions[k]);
        }
        if (count > s->n_columns) s->n_columns = count;
    }
    return WK_OK;
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

static bool has_captions(const row *r)
{
    for (int c = 0; c < COLUMNS_MAX; c++)
        if (r->captions[c][0]) return true;
    return false;
}

// Draws into an image of the size that it needs.
static wk_status draw(const sheet *s, wk_random_episode *episode, uint64_t seed, int steps,
                      wk_image *tile, wk_image *out, int *cells, wk_error *err)
{
    // Images may be smaller than what is written before, below and above them.
    int cell = tile->width, left = 0, pitch = cell, height = MARGIN + 2 * LINE + MARGIN;
    int cases = s->n_rows > s->n_grid_rows ? wk_image_text_width(s->cases_label) : 0;
    for (int i = 0; i < s->n_rows; i++) {
        left = max(left, wk_image_text_width(s->rows[i].label));
        height += cell + GAP + (has_captions(&s->rows[i]) ? LINE : 0);
        for (int c = 0; c < s->n_columns; c++)
            pitch = max(pitch, wk_image_text_width(s->rows[i].captions[c]));
    }
    for (int c = 0; c < s->n_columns; c++)
        pitch = max(pitch, wk_image_text_width(s->column_captions[c]));
    pitch += GAP;
    left = MARGIN + (left ? left + GAP : 0);
    if (cases) height += LINE + GAP; // the heading of the cases
    int width =
        max(left + s->n_columns * pitch - GAP, MARGIN + max(wk_image_text_width(s->title), cases)) +
        MARGIN;
    if ((int64_t)width * height > PIXELS_MAX)
        return wk_fail(err, WK_E_INPUT,
                       "a sheet of %d x %d pixels is too large; give a --size below %d", width,
                       height, cell);
    WK_TRY(wk_image_create(width, height, BACKGROUND, out, err));
    int y = MARGIN + 2 * LINE;
    wk_image_text(out, MARGIN, MARGIN, INK, s->title);
    for (int c = 0; c < s->n_columns; c++)
        wk_image_text(out, left + c * pitch, y - LINE, FAINT, s->column_captions[c]);
    for (int i = 0; i < s->n_rows; i++) {
        const row *r = &s->rows[i];
        if (i == s->n_grid_rows) {
            wk_image_text(out, MARGIN, y + GAP, INK, s->cases_label);
            y += LINE + GAP;
        }
        wk_image_text(out, MARGIN, y + (cell - LINE) / 2, INK, r->label);
        for (int c = 0; c < s->n_columns; c++) {
            if (!r->thetas[c]) continue;
            WK_TRY(wk_random_episode_reset(episode, r->thetas[c], seed, err));
            WK_TRY(wk_random_episode_advance(episode, steps, err));
            WK_TRY(wk_random_episode_draw(episode, tile, err));
            wk_image_paste(out, tile, left + c * pitch, y, 1);
            wk_image_text(out, left + c * pitch, y + cell + 2, FAINT, r->captions[c]);
            (*cells)++;
        }
        y += cell + GAP + (has_captions(r) ? LINE : 0);
    }
    return WK_OK;
}

wk_status wk_contact_sheet_draw(const wk_domain *domain, const int *options, uint64_t seed,
                                int steps, int cell, wk_image *out, int *cells, wk_error *err)
{
    sheet s = {.domain = domain};
    wk_random_episode episode = {0};
    wk_image tile = {0};
    double *scratch = NULL;
    *cells = 0;
    *out = (wk_image){0};
    if (domain->n_params == 0)
        return wk_fail(err, WK_E_INPUT, "domain '%s' has no parameters to make a sheet of",
                       domain->name);
    wk_status status = wk_space_create(domain, false, &s.space, err);
    if (status == WK_OK) scratch = malloc(wk_space_count(s.space) * sizeof *scratch);
    if (status == WK_OK && !scratch)
        status = wk_fail(err, WK_E_MEMORY, "no memory for a sheet of '%s'", domain->name);
    if (status == WK_OK) status = plan(&s, scratch, err);
    if (status == WK_OK) status = wk_random_episode_create(domain, options, &episode, err);
    if (status == WK_OK) status = wk_image_create(cell, cell, 0, &tile, err);
    if (status == WK_OK) status = draw(&s, &episode, seed, steps, &tile, out, cells, err);
    if (status != WK_OK) wk_image_free(out);
    wk_image_free(&tile);
    wk_random_episode_destroy(&episode);
    wk_space_destroy(s.space);
    free(scratch);
    free(s.rows);
    return status;
}
