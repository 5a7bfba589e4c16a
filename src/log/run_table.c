#include "log/run_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_MAX = 96, GAP = 2 };

// The columns, in the order they are shown.
typedef enum column {
    NAME,
    STATE,
    STEPS,
    PERCENT,
    SPEED,
    LEFT,
    LOSS,
    ERROR,
    VISITED,
    EVAL,
    COLUMNS
} column;

static const struct {
    const char *title;
    bool left; // aligned
} columns[COLUMNS] = {
    [NAME] = {"run", true},      [STATE] = {"state", true},      [STEPS] = {"agent steps", false},
    [PERCENT] = {"done", false}, [SPEED] = {"updates/s", false}, [LEFT] = {"left", false},
    [LOSS] = {"loss", false},    [ERROR] = {"error", false},     [VISITED] = {"visited", false},
    [EVAL] = {"eval", false},
};

// Which column goes first when there is no room.
static const column first_to_go[] = {ERROR, LOSS,  VISITED, EVAL,   LEFT,
                                     STEPS, SPEED, STATE,   PERCENT};
enum { N_FIRST_TO_GO = sizeof first_to_go / sizeof *first_to_go };

typedef char cell_row[COLUMNS][CELL_MAX];

wk_run_row wk_run_row_empty(const char *name, const char *state)
{
    return (wk_run_row){.name = name,
                        .state = state,
                        .values = wk_status_values_empty(),
                        .visited = -1,
                        .last_eval = NAN};
}

// Names come from files and options: they must not steer the terminal.
static void put_name(char out[CELL_MAX], const char *text)
{
    snprintf(out, CELL_MAX, "%s", text);
    wk_utf8_sanitise(out, false);
}

static void put_known(char out[CELL_MAX], const char *format, double value)
    __attribute__((format(printf, 2, 0)));
static void put_known(char out[CELL_MAX], const char *format, double value)
{
    if (isnan(value))
        snprintf(out, CELL_MAX, "-");
    else
        snprintf(out, CELL_MAX, format, value);
}

static void make_cells(const wk_run_row *row, cell_row cells)
{
    const wk_status_values *v = &row->values;
    char steps[WK_COUNT_TEXT_MAX], total[WK_COUNT_TEXT_MAX];
    wk_count_text(v->steps, steps);
    wk_count_text(v->total, total);
    put_name(cells[NAME], row->name);
    put_name(cells[STATE], row->state);
    snprintf(cells[STEPS], CELL_MAX, v->total > 0 ? "%s/%s" : "%s", steps, total);
    put_known(cells[PERCENT], "%.1f%%",
              v->total > 0 ? fmin(100, 100.0 * (double)v->steps / (double)v->total) : NAN);
    put_known(cells[SPEED], "%.3g", v->updates_per_second);
    char left[WK_DURATION_TEXT_MAX];
    snprintf(cells[LEFT], CELL_MAX, "%s", *wk_duration_text(v->seconds_left, left) ? left : "-");
    put_known(cells[LOSS], "%.4g", v->model_loss);
    put_known(cells[ERROR], "%.3g", v->mean_error);
    snprintf(cells[VISITED], CELL_MAX, "-");
    if (row->visited >= 0) wk_count_text(row->visited, cells[VISITED]);
    put_known(cells[EVAL], "%.4g", row->last_eval);
}

static size_t width_of(const char *cell)
{
    return wk_utf8_width(cell, strlen(cell));
}

// Whether no run has such a thing.
static bool is_empty(cell_row *cells, int count, column c)
{
    for (int i = 0; i < count; i++)
        if (strcmp(cells[i][c], "-") != 0) return false;
    return c == LEFT || c == VISITED || c == EVAL;
}

// Width of every column; 0 for those that are left out. Long names are shortened to a third of the
// table before columns are left out, and take what room the columns leave.
static void fit_columns(cell_row *cells, int count, size_t room, size_t widths[COLUMNS])
{
    size_t sum = 0;
    for (int c = 0; c < COLUMNS; c++) {
        widths[c] = 0;
        if (is_empty(cells, count, (column)c)) continue;
        widths[c] = width_of(columns[c].title);
        for (int i = 0; i < count; i++) {
            size_t width = width_of(cells[i][c]);
            if (width > widths[c]) widths[c] = width;
        }
        sum += widths[c] + (c > 0 ? GAP : 0);
    }
    size_t name = widths[NAME], others = sum - name;
    size_t shortest = name < room / 3 ? name : room / 3;
    for (size_t i = 0; i < N_FIRST_TO_GO && others + shortest > room; i++) {
        if (widths[first_to_go[i]] == 0) continue;
        others -= widths[first_to_go[i]] + GAP;
        widths[first_to_go[i]] = 0;
    }
    if (others + name > room) widths[NAME] = others < room ? room - others : room;
}

// Bytes of as many characters at the start of the text as fit into `width`.
static size_t head_bytes(const char *text, size_t width)
{
    size_t bytes = strlen(text);
    while (wk_utf8_width(text, bytes) > width)
        bytes--;
    return bytes;
}

// Where the last characters of the text begin that fit into `width`.
static const char *tail_of(const char *text, size_t width)
{
    while (width_of(text) > width)
        do
            text++;
        while ((*text & 0xC0) == 0x80);
    return text;
}

// At most `width` characters of the text, filled with blanks.
static void put_cell(const char *cell, size_t width, bool left, bool last, wk_text *out)
{
    size_t bytes = head_bytes(cell, width);
    int blanks = (int)(width - wk_utf8_width(cell, bytes));
    if (!left) wk_text_printf(out, "%*s", blanks, "");
    wk_text_append(out, cell, bytes);
    if (left && !last) wk_text_printf(out, "%*s", blanks, "");
}

// A name that is too long loses its middle: names of runs begin with the curriculum and end in the
// seed.
static void put_name_cell(const char *name, size_t width, bool last, wk_text *out)
{
    enum { MARK = 3, MARKED_MIN = 12 }; // narrower cells have no room for the mark
    char cell[CELL_MAX + MARK + 1];
    if (width_of(name) > width && width >= MARKED_MIN) {
        size_t tail = (width - MARK) / 2;
        snprintf(cell, sizeof cell, "%.*s...%s", (int)head_bytes(name, width - MARK - tail), name,
                 tail_of(name, tail));
        name = cell;
    }
    put_cell(name, width, true, last, out);
}

static void put_row(cell_row cells, const size_t widths[COLUMNS], wk_text *out)
{
    int last = NAME;
    for (int c = 0; c < COLUMNS; c++)
        if (widths[c] > 0) last = c;
    wk_text_puts(out, "\n");
    for (int c = 0; c <= last; c++) {
        if (widths[c] == 0) continue;
        if (c > 0) wk_text_printf(out, "%*s", GAP, "");
        if (c == NAME)
            put_name_cell(cells[c], widths[c], c == last, out);
        else
            put_cell(cells[c], widths[c], columns[c].left, c == last, out);
    }
}

static double add_known(double sum, double value)
{
    return isnan(value) ? sum : isnan(sum) ? value : sum + value;
}

// All runs as one: sums, and the time that the slowest has left. Drawing counts as environments.
static wk_status_values sum_rows(const wk_run_row *rows, int count)
{
    wk_status_values all = wk_status_values_empty();
    all.unit = "";
    for (int i = 0; i < count; i++) {
        const wk_status_values *v = &rows[i].values;
        all.steps += v->steps;
        all.total += v->total;
        all.updates += v->updates;
        all.diverged += v->diverged;
        all.updates_per_second = add_known(all.updates_per_second, v->updates_per_second);
        for (int p = 0; p < WK_PHASES; p++)
            all.seconds[p == WK_PHASE_RENDER ? WK_PHASE_ENV : p] += v->seconds[p];
        all.seconds_left = fmax(all.seconds_left, v->seconds_left); // which ignores NaN
        if (!all.device) all.device = v->device;
    }
    return all;
}

// The shares of the time are what no row says: they go last.
static void put_sum(const wk_run_row *rows, int count, int width, wk_text *out)
{
    char start[32];
    wk_status_values all = sum_rows(rows, count);
    int length = snprintf(start, sizeof start, "%d run%s  ", count, wk_plural((uint64_t)count));
    if (width > 0 && width <= length) {
        wk_text_append(out, start, (size_t)width);
        return;
    }
    for (int step = 0; step < 2 && width > 0; step++) {
        wk_text whole = {0};
        wk_status_values_text(&all, 0, &whole);
        bool fits = whole.length <= (size_t)(width - length);
        wk_text_free(&whole);
        if (fits) break;
        if (step == 0)
            all.device = NULL;
        else
            all.total = 0;
    }
    wk_text_puts(out, start);
    wk_status_values_text(&all, width > 0 ? width - length : 0, out);
}

void wk_run_table_text(const wk_run_row *rows, int count, int width, int height, wk_text *out)
{
    size_t room = width > 0 ? (size_t)width : SIZE_MAX, widths[COLUMNS];
    put_sum(rows, count, width, out);
    if (height == 1) return;
    cell_row titles, *cells = calloc((size_t)count + 1, sizeof *cells);
    if (!cells) {
        out->failed = true;
        return;
    }
    for (int c = 0; c < COLUMNS; c++)
        snprintf(titles[c], CELL_MAX, "%s", columns[c].title);
    for (int i = 0; i < count; i++)
        make_cells(&rows[i], cells[i]);
    fit_columns(cells, count, room, widths);
    put_row(titles, widths, out);
    // The rows that fit below the sum and the titles, with a line for those that do not.
    int fit = height - 2, shown = height <= 0 || count <= fit ? count : fit > 1 ? fit - 1 : 0;
    for (int i = 0; i < shown; i++)
        put_row(cells[i], widths, out);
    free(cells);
    if (shown == count || height == 2) return;
    char rest[CELL_MAX];
    snprintf(rest, sizeof rest, "… and %d more", count - shown);
    wk_text_puts(out, "\n");
    put_cell(rest, room < CELL_MAX ? room : CELL_MAX, true, true, out);
}

// One run as a line of a log.
static void put_plain(const wk_run_row *row, wk_text *out)
{
    cell_row cells;
    wk_status_values values = row->values;
    memset(values.seconds, 0, sizeof values.seconds); // those of the machine, in the first line
    values.device = NULL;
    make_cells(row, cells);
    wk_text_printf(out, "\n%s: %s  ", cells[NAME], cells[STATE]);
    wk_status_values_text(&values, 0, out);
    if (row->visited >= 0) wk_text_printf(out, "  %s visited", cells[VISITED]);
    if (!isnan(row->last_eval)) wk_text_printf(out, "  eval %s", cells[EVAL]);
}

static void show(wk_run_table *table, const wk_run_row *rows, int count)
{
    wk_status_line *line = &table->line;
    wk_text text = {0};
    int width, height;
    wk_status_line_size(line, &width, &height);
    if (line->live) // the last column and row would scroll
        wk_run_table_text(rows, count, width - 1, height - 1, &text);
    else {
        put_sum(rows, count, 0, &text);
        for (int i = 0; i < count; i++)
            put_plain(&rows[i], &text);
    }
    wk_status_line_show(line, &text);
}

void wk_run_table_show_under(wk_run_table *table, const char *heading, const wk_run_row *rows,
                             int count)
{
    wk_status_line *line = &table->line;
    wk_text text = {0};
    int width, height;
    wk_status_line_size(line, &width, &height);
    if (!line->live)
        wk_text_puts(&text, heading);
    else if (width > 1)
        put_cell(heading, (size_t)width - 1, true, true, &text);
    if (line->live && width > 1 && count > 0 && height > 2) {
        wk_text_puts(&text, "\n");
        wk_run_table_text(rows, count, width - 1, height - 2, &text);
    }
    wk_status_line_show(line, &text);
}

void wk_run_table_start(wk_run_table *table, int fd, double plain_seconds)
{
    wk_status_line_start(&table->line, fd, plain_seconds);
}

void wk_run_table_update(wk_run_table *table, const wk_run_row *rows, int count, double now)
{
    if (!wk_status_line_is_due(&table->line, now)) return;
    show(table, rows, count);
    table->line.last = now;
}

void wk_run_table_log(void *context, wk_log_level level, const char *message)
{
    wk_run_table *table = context;
    wk_status_line_log(&table->line, level, message);
}

void wk_run_table_finish(wk_run_table *table, const wk_run_row *rows, int count)
{
    show(table, rows, count);
    wk_status_line_end(&table->line);
}
