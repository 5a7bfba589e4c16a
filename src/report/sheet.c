#include "report/sheet.h"

#include "base/array.h"
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
    PIXELS_MAX = 1 << 27, // what image viewers still open
    BACKGROUND = 0xFFFFFF,
    INK = 0x202020,
    FAINT = 0x707070,
};

// ---- A random episode

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

// ---- The sheet: what is on it

// A row of worlds with what stands before it.
typedef struct row {
    char label[96];
    const double *thetas[COLUMNS_MAX]; // NULL: an empty place
    char captions[COLUMNS_MAX][128];
} row;

typedef struct sheet {
    const wk_domain *domain;
    wk_space *space;
    char title[640], columns_label[480], cases_label[640], column_captions[COLUMNS_MAX][24];
    row *rows;
    int n_rows, n_columns;
    int n_grid_rows; // the rest are cases
    bool aligned;    // one set of column values serves every row
} sheet;

// Values along one axis of the sheet: a rising list without repeats, thinned to what fits.
typedef struct axis {
    double values[COLUMNS_MAX];
    int count;
} axis;

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
    if (d->n_params == 1) return theta[0];
    if (!are_counts(d)) return theta[1];
    double sum = 0;
    for (int i = 1; i < d->n_params; i++)
        sum += theta[i];
    return sum;
}

// The number that chooses its row; domains of one parameter have a single row.
static double row_key(const wk_domain *d, const double *theta)
{
    return d->n_params == 1 ? 0 : theta[0];
}

static axis thin_out(double *values, size_t count, int max)
{
    qsort(values, count, sizeof *values, wk_compare_doubles);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (n == 0 || values[i] > values[n - 1] + 1e-9) values[n++] = values[i];
    axis out = {.count = n < (size_t)max ? (int)n : max};
    for (int i = 0; i < out.count; i++)
        out.values[i] = values[out.count > 1 ? (size_t)i * (n - 1) / (size_t)(out.count - 1) : 0];
    return out;
}

static bool in_row(const sheet *s, const double *theta, double row_value)
{
    return fabs(row_key(s->domain, theta) - row_value) < 1e-9;
}

static bool in_cell(const sheet *s, const double *theta, double row_value, double column_value)
{
    return in_row(s, theta, row_value) && fabs(column_key(s->domain, theta) - column_value) < 1e-9;
}

// The values of all rows, in `scratch` of one number per grid point.
static axis row_axis(const sheet *s, double *scratch)
{
    size_t count = wk_space_count(s->space);
    for (size_t i = 0; i < count; i++)
        scratch[i] = row_key(s->domain, wk_space_params(s->space, i));
    return thin_out(scratch, count, ROWS_MAX);
}

// The values across one row, or across all of them for a NULL row.
static axis column_axis(const sheet *s, const double *row_value, double *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < wk_space_count(s->space); i++) {
        const double *theta = wk_space_params(s->space, i);
        if (!row_value || in_row(s, theta, *row_value))
            scratch[count++] = column_key(s->domain, theta);
    }
    return thin_out(scratch, count, COLUMNS_MAX);
}

static bool contains(const axis *all, const axis *some)
{
    for (int i = 0; i < some->count; i++) {
        bool found = false;
        for (int k = 0; k < all->count; k++)
            found |= fabs(all->values[k] - some->values[i]) < 1e-9;
        if (!found) return false;
    }
    return true;
}

// Of the worlds that belong into a cell, the one nearest to their mean.
static const double *choose_world(const sheet *s, double row_value, double column_value)
{
    double mean[WK_PARAMS_MAX] = {0}, count = 0;
    for (size_t i = 0; i < wk_space_count(s->space); i++) {
        const double *theta = wk_space_params(s->space, i);
        if (!in_cell(s, theta, row_value, column_value)) continue;
        count++;
        for (int k = 0; k < s->domain->n_params; k++)
            mean[k] += (theta[k] - mean[k]) / count;
    }
    const double *best = NULL;
    for (size_t i = 0; i < wk_space_count(s->space); i++) {
        const double *theta = wk_space_params(s->space, i);
        if (!in_cell(s, theta, row_value, column_value)) continue;
        if (!best || wk_theta_distance(s->domain, theta, mean) <
                         wk_theta_distance(s->domain, best, mean) - 1e-9)
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

static void label_columns(sheet *s, const axis *columns)
{
    const wk_domain *d = s->domain;
    if (are_counts(d))
        for (int i = 1; i < d->n_params; i++) {
            size_t used = strlen(s->columns_label);
            snprintf(s->columns_label + used, sizeof s->columns_label - used, "%s%s",
                     i > 1 ? " + " : "", d->params[i].name);
        }
    else
        snprintf(s->columns_label, sizeof s->columns_label, "%s", d->params[d->n_params > 1].name);
    for (int c = 0; c < columns->count && s->aligned; c++)
        snprintf(s->column_captions[c], sizeof s->column_captions[c], "%g", columns->values[c]);
}

static void label_sheet(sheet *s)
{
    bool rows = s->domain->n_params > 1;
    snprintf(s->title, sizeof s->title, "%s: %s%s%s across", s->domain->name,
             rows ? s->domain->params[0].name : "", rows ? " down, " : "", s->columns_label);
}

static void label_cases(sheet *s)
{
    snprintf(s->cases_label, sizeof s->cases_label, "outside the training distribution:");
    for (int i = 0; i < s->domain->n_params; i++) {
        size_t used = strlen(s->cases_label);
        snprintf(s->cases_label + used, sizeof s->cases_label - used, "%s %s", i ? "," : "",
                 s->domain->params[i].name);
    }
}

static void fill_grid_row(sheet *s, double value, const axis *columns)
{
    row *r = &s->rows[s->n_rows++];
    if (s->domain->n_params > 1)
        snprintf(r->label, sizeof r->label, "%s %g", s->domain->params[0].name, value);
    for (int c = 0; c < columns->count; c++) {
        r->thetas[c] = choose_world(s, value, columns->values[c]);
        // Rows and columns say it all unless there are parameters after them.
        if (r->thetas[c] && (s->domain->n_params > 2 || !s->aligned))
            caption_world(s, r->thetas[c], r->captions[c], sizeof r->captions[c]);
    }
}

static void fill_case_row(sheet *s, const wk_case *c)
{
    row *r = &s->rows[s->n_rows++];
    snprintf(r->label, sizeof r->label, "%s", c->name);
    int count = c->count < COLUMNS_MAX ? c->count : COLUMNS_MAX;
    for (int i = 0; i < count; i++) {
        int which = count > 1 ? i * (c->count - 1) / (count - 1) : 0;
        r->thetas[i] = c->params + which * s->domain->n_params;
        caption_world(s, r->thetas[i], r->captions[i], sizeof r->captions[i]);
    }
    if (count > s->n_columns) s->n_columns = count;
}

static wk_status plan_rows(sheet *s, double *scratch, wk_error *err)
{
    const wk_domain *d = s->domain;
    axis rows = row_axis(s, scratch), columns = column_axis(s, NULL, scratch), own[ROWS_MAX];
    s->aligned = true;
    for (int i = 0; i < rows.count; i++) {
        own[i] = column_axis(s, &rows.values[i], scratch);
        s->aligned &= contains(&columns, &own[i]);
    }
    s->rows = calloc((size_t)(rows.count + d->n_cases), sizeof *s->rows);
    if (!s->rows) return wk_fail(err, WK_E_MEMORY, "no memory for a sheet of '%s'", d->name);
    s->n_columns = columns.count;
    s->n_grid_rows = rows.count;
    label_columns(s, &columns);
    label_sheet(s);
    label_cases(s);
    for (int i = 0; i < rows.count; i++)
        fill_grid_row(s, rows.values[i], s->aligned ? &columns : &own[i]);
    for (int i = 0; i < d->n_cases; i++)
        fill_case_row(s, &d->cases[i]);
    return WK_OK;
}

static wk_status plan(sheet *s, wk_error *err)
{
    const wk_domain *d = s->domain;
    if (d->n_params == 0)
        return wk_fail(err, WK_E_INPUT, "domain '%s' has no parameters to make a sheet of",
                       d->name);
    WK_TRY(wk_space_create(d, false, &s->space, err));
    double *scratch = malloc(wk_space_count(s->space) * sizeof *scratch);
    if (!scratch) return wk_fail(err, WK_E_MEMORY, "no memory for a sheet of '%s'", d->name);
    wk_status status = plan_rows(s, scratch, err);
    free(scratch);
    return status;
}

static int label_width(const sheet *s)
{
    int widest = 0;
    for (int i = 0; i < s->n_rows; i++) {
        int width = wk_image_text_width(s->rows[i].label);
        if (width > widest) widest = width;
    }
    return widest > 0 ? widest + GAP : 0;
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

// From one column to the next: images may be smaller than what is written below and above them.
static int column_pitch(const sheet *s, int cell)
{
    int widest = cell;
    for (int c = 0; c < s->n_columns; c++) {
        widest = max(widest, wk_image_text_width(s->column_captions[c]));
        for (int i = 0; i < s->n_rows; i++)
            widest = max(widest, wk_image_text_width(s->rows[i].captions[c]));
    }
    return widest + GAP;
}

// Without the margin to the left.
static int headings_width(const sheet *s)
{
    int cases = s->n_rows > s->n_grid_rows ? wk_image_text_width(s->cases_label) : 0;
    return max(wk_image_text_width(s->title), cases);
}

static bool has_captions(const row *r)
{
    for (int c = 0; c < COLUMNS_MAX; c++)
        if (r->captions[c][0]) return true;
    return false;
}

static int row_height(const sheet *s, int i, int cell)
{
    // A wider gap and a heading stand before the first case.
    int heading = i == s->n_grid_rows ? LINE + GAP : 0;
    return cell + GAP + (has_captions(&s->rows[i]) ? LINE : 0) + heading;
}

static wk_status draw_world(wk_random_episode *episode, const double *theta, uint64_t seed,
                            int steps, wk_image *tile, wk_error *err)
{
    WK_TRY(wk_random_episode_reset(episode, theta, seed, err));
    WK_TRY(wk_random_episode_advance(episode, steps, err));
    return wk_random_episode_draw(episode, tile, err);
}

// What drawing a row needs besides the row.
typedef struct row_context {
    wk_random_episode *episode;
    wk_image *out, *tile;
    uint64_t seed;
    int steps, left, pitch;
} row_context;

static wk_status draw_row(const sheet *s, const row_context *b, const row *r, int y, int *cells,
                          wk_error *err)
{
    int cell = b->tile->width;
    wk_image_text(b->out, MARGIN, y + (cell - LINE) / 2, INK, r->label);
    for (int c = 0; c < s->n_columns; c++) {
        if (!r->thetas[c]) continue;
        int x = b->left + c * b->pitch;
        WK_TRY(draw_world(b->episode, r->thetas[c], b->seed, b->steps, b->tile, err));
        wk_image_paste(b->out, b->tile, x, y, 1);
        wk_image_text(b->out, x, y + cell + 2, FAINT, r->captions[c]);
        (*cells)++;
    }
    return WK_OK;
}

static void draw_headings(const sheet *s, const row_context *b, int y)
{
    wk_image_text(b->out, MARGIN, MARGIN, INK, s->title);
    for (int c = 0; c < s->n_columns; c++)
        wk_image_text(b->out, b->left + c * b->pitch, y - LINE, FAINT, s->column_captions[c]);
}

static wk_status draw_rows(const sheet *s, const row_context *b, int top, int *cells, wk_error *err)
{
    draw_headings(s, b, top);
    for (int i = 0, y = top; i < s->n_rows; i++) {
        int height = row_height(s, i, b->tile->width), at = y;
        if (i == s->n_grid_rows) {
            wk_image_text(b->out, MARGIN, y + GAP, INK, s->cases_label);
            at += LINE + GAP;
        }
        WK_TRY(draw_row(s, b, &s->rows[i], at, cells, err));
        y += height;
    }
    return WK_OK;
}

static wk_status draw(const sheet *s, wk_random_episode *episode, uint64_t seed, int steps,
                      int cell, wk_image *out, int *cells, wk_error *err)
{
    int left = MARGIN + label_width(s), top = MARGIN + 2 * LINE, pitch = column_pitch(s, cell);
    int columns = left + s->n_columns * pitch - GAP;
    int width = max(columns, MARGIN + headings_width(s)) + MARGIN, height = top + MARGIN;
    for (int i = 0; i < s->n_rows; i++)
        height += row_height(s, i, cell);
    if ((int64_t)width * height > PIXELS_MAX)
        return wk_fail(err, WK_E_INPUT,
                       "a sheet of %d x %d pixels is too large; give a --size below %d", width,
                       height, cell);
    wk_image tile;
    WK_TRY(wk_image_create(cell, cell, 0, &tile, err));
    wk_status status = wk_image_create(width, height, BACKGROUND, out, err);
    if (status == WK_OK) {
        row_context b = {episode, out, &tile, seed, steps, left, pitch};
        status = draw_rows(s, &b, top, cells, err);
        if (status != WK_OK) wk_image_free(out);
    }
    wk_image_free(&tile);
    return status;
}

wk_status wk_contact_sheet_draw(const wk_domain *domain, const int *options, uint64_t seed,
                                int steps, int cell, wk_image *out, int *cells, wk_error *err)
{
    sheet s = {.domain = domain};
    wk_random_episode episode = {0};
    *cells = 0;
    wk_status status = plan(&s, err);
    if (status == WK_OK) status = wk_random_episode_create(domain, options, &episode, err);
    if (status == WK_OK) status = draw(&s, &episode, seed, steps, cell, out, cells, err);
    wk_random_episode_destroy(&episode);
    wk_space_destroy(s.space);
    free(s.rows);
    return status;
}
