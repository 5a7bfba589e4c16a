#include "report/sample.h"
#include "base/random.h"
#include "support/check.h"

#include <inttypes.h>

enum { CURRICULA = 6, STEPS = 26, POINTS = 120 };

static const char *const curricula[CURRICULA] = {"WAKER-M", "WAKER-R",   "DR",
                                                 "GE",      "HE-Oracle", "RW-Oracle"};

static wk_error err;

static double draw(wk_rng *rng)
{
    return wk_rng_uniform(rng, 0, 1);
}

// Curves that rise at different speeds; one has a gap and one stops early.
static wk_figure *curves(bool log, const char *title)
{
    static double x[CURRICULA][STEPS], y[CURRICULA][STEPS], sd[CURRICULA][STEPS];
    wk_plot_series series[CURRICULA];
    wk_rng rng = wk_rng_stream(1, "sample curves", 0);
    for (int k = 0; k < CURRICULA; k++) {
        for (int i = 0; i < STEPS; i++) {
            double t = (double)i / (STEPS - 1);
            x[k][i] = 1e6 * t;
            y[k][i] = (720 - 60 * k) * (1 - exp(-(5 - 0.5 * k) * t)) + 20 * draw(&rng) + 10;
            if (log) y[k][i] = 4e-3 * exp(-(3 - 0.4 * k) * t) * (0.9 + 0.2 * draw(&rng));
            sd[k][i] = y[k][i] * (0.04 + 0.05 * draw(&rng));
        }
        if (k == 2) y[k][12] = y[k][13] = NAN;
        series[k] =
            (wk_plot_series){curricula[k], k == 4 ? 14 : STEPS, x[k], y[k], sd[k], k, NULL, NULL};
    }
    wk_figure *figure = NULL;
    assert_ok(wk_plot_lines_draw(
        &(wk_plot_lines){
            title,
            {.label = "environment steps"},
            {.label = log ? "image prediction error (MSE)" : "CVaR 0.1 of the return", .log = log},
            series,
            log ? 3 : CURRICULA},
        &figure, &err));
    return figure;
}

static wk_figure *improvement(void)
{
    const wk_plot_bar bars[] = {
        {"WAKER-M over DR", 0.84, 0.74, 0.93, 0},
        {"WAKER-R over DR", 0.79, 0.66, 0.89, 1},
        {"WAKER-M over GE", 0.88, 0.79, 0.95, 3},
        {"WAKER-M over HE-Oracle", 0.71, 0.55, 0.84, 4},
        {"WAKER-M over RW-Oracle", 0.44, 0.31, 0.6, 5},
        {"WAKER-R over WAKER-M", NAN, NAN, NAN, 6},
    };
    wk_figure *figure = NULL;
    assert_ok(wk_plot_bars_draw(
        &(wk_plot_bars){.title = "Probability of improvement, CVaR 0.1",
                        .axis = {.label = "P(X > Y)", .fixed = true, .min = 0, .max = 1},
                        .bars = bars,
                        .count = sizeof bars / sizeof *bars,
                        .has_reference = true,
                        .reference = 0.5},
        &figure, &err));
    return figure;
}

static wk_figure *heat(bool fine)
{
    enum { ROWS = 7, COLUMNS = 6, FINE = 24 };
    static double cells[FINE * FINE], rows[FINE], columns[FINE];
    size_t r_count = fine ? FINE : ROWS, c_count = fine ? FINE : COLUMNS;
    double sum = 0;
    for (size_t r = 0; r < r_count; r++)
        for (size_t c = 0; c < c_count; c++) {
            double u = (double)r / (double)r_count, v = (double)c / (double)c_count;
            rows[r] = fine ? 0.2 + 0.15 * (double)r : 0.5 * (double)r;
            columns[c] = fine ? 0.05 * (double)c : (double)c;
            sum += cells[r * c_count + c] = exp(2.5 * u + 1.8 * v) * (1 + 0.3 * sin(9 * u * v));
        }
    for (size_t i = 0; i < r_count * c_count && !fine; i++)
        cells[i] /= sum;
    if (!fine) cells[COLUMNS - 1] = cells[2 * COLUMNS - 1] = NAN;
    wk_figure *figure = NULL;
    assert_ok(wk_plot_heat_draw(
        &(wk_plot_heat){.title = fine ? "terrain-walker, WAKER-M: error estimate"
                                      : "clean-up, WAKER-R: probability of the next episode",
                        .row_label = fine ? "amplitude" : "room size",
                        .column_label = fine ? "length scale" : "blocks",
                        .value_label = fine ? "error" : "probability",
                        .rows = r_count,
                        .columns = c_count,
                        .row_values = rows,
                        .column_values = columns,
                        .cells = cells,
                        .percent = !fine},
        &figure, &err));
    return figure;
}

static wk_figure *scatter(void)
{
    static double x[2][POINTS], y[2][POINTS];
    wk_rng rng = wk_rng_stream(1, "sample scatter", 0);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < POINTS; i++) {
            x[k][i] = 0.02 + 0.1 * draw(&rng) + 0.02 * k;
            y[k][i] = 1e-3 * (0.5 + 30 * x[k][i] * (0.6 + 0.8 * draw(&rng)));
        }
    wk_plot_series series[] = {{"walk", POINTS, x[0], y[0], NULL, 0, NULL, NULL},
                               {"random actions", POINTS, x[1], y[1], NULL, 1, NULL, NULL}};
    wk_figure *figure = NULL;
    assert_ok(wk_plot_scatter_draw(
        &(wk_plot_scatter){.title = "How well does the ensemble know where the model is wrong?",
                           .x = {.label = "ensemble's estimate"},
                           .y = {.label = "image prediction error"},
                           .series = series,
                           .count = 2,
                           .note = "rank correlation: walk 0.81, random actions 0.77"},
        &figure, &err));
    return figure;
}

static wk_figure *parameter_over_time(void)
{
    enum { LONG = 400 };
    static double x[3][LONG], y[3][LONG];
    wk_plot_series series[3];
    wk_rng rng = wk_rng_stream(1, "sample parameter", 0);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < LONG; i++) {
            x[k][i] = 1250.0 * i;
            y[k][i] = 0.9 + (k == 2 ? 0 : 0.5 + 0.2 * k) * (1 - exp(-i / 90.0)) +
                      0.12 * (draw(&rng) - 0.5);
        }
        series[k] = (wk_plot_series){curricula[k], LONG, x[k], y[k], NULL, k, NULL, NULL};
    }
    wk_figure *figure = NULL;
    assert_ok(wk_plot_lines_draw(&(wk_plot_lines){"Mean amplitude of the sampled terrains",
                                                  {.label = "environment steps"},
                                                  {.label = "amplitude"},
                                                  series,
                                                  3},
                                 &figure, &err));
    return figure;
}

static wk_figure *single_point(void)
{
    static const double x[] = {5e5}, y[] = {312.5}, sd[] = {41};
    wk_plot_series series[] = {{"WAKER-M", 1, x, y, sd, 0, NULL, NULL},
                               {"DR", 0, NULL, NULL, NULL, 2, NULL, NULL}};
    wk_figure *figure = NULL;
    assert_ok(wk_plot_lines_draw(
        &(wk_plot_lines){
            "One evaluation only", {.label = "environment steps"}, {.label = "return"}, series, 2},
        &figure, &err));
    return figure;
}

static wk_figure *nothing(void)
{
    wk_figure *figure = NULL;
    assert_ok(wk_plot_lines_draw(
        &(wk_plot_lines){
            "No evaluation yet", {.label = "environment steps"}, {.label = "return"}, NULL, 0},
        &figure, &err));
    return figure;
}

wk_figure *sample_figure(int i)
{
    switch (i) {
    case 0:
        return curves(false, "terrain-walker, walk: robustness over training");
    case 1:
        return curves(true, "terrain-walker: image prediction error");
    case 2:
        return improvement();
    case 3:
        return heat(true);
    case 4:
        return heat(false);
    case 5:
        return scatter();
    case 6:
        return parameter_over_time();
    case 7:
        return single_point();
    default:
        return nothing();
    }
}

static const char *const captions[SAMPLE_FIGURES] = {
    "Mean over 5 seeds; the shading is one standard deviation.",
    "Mean squared error of the predicted images, 200 environments, worst 10 %.",
    "Above 0.5 the first is better; bars end at the estimate, lines are 95 % bootstrap intervals.",
    "What the ensemble believes about each terrain after 1M steps.",
    "Where the next episode will be; grey rooms cannot be built.",
    "One point per environment.",
    "Episodes of the last 10 000 steps.",
    "A run that was evaluated once.",
    "A run that was not evaluated.",
};

static void add_figures(wk_page *page, int from, int to)
{
    for (int i = from; i < to; i++) {
        wk_figure *figure = sample_figure(i);
        wk_page_figure(page, figure, captions[i]);
        wk_figure_destroy(figure);
    }
}

// A table like the paper's: tasks below each other, exploration and curriculum side by side.
static void add_main_table(wk_page *page)
{
    static const char *const header[] = {"WAKER-M",   "WAKER-R",   "DR",  "GE",
                                         "HE-Oracle", "RW-Oracle", "none"};
    static const char *const tasks[] = {"walk",  "run",           "flip",
                                        "stand", "walk-backward", "sort",
                                        "push",  "sort-reverse",  "<script>alert(1)</script>"};
    wk_report_memory memory = {0};
    wk_report_table table = {.memory = &memory};
    wk_rng rng = wk_rng_stream(1, "sample table", 0);
    table.page.heads = 2;
    table.page.caption = "CVaR 0.1 of the return over 100 environments, mean ± s.d. over seeds. "
                         "Within 2 % of the best: bold.";
    for (int r = 0; r < 9; r++) {
        wk_cells_row(&table, WK_SEE_PAGE);
        wk_cells_text(&table, WK_SEE_PAGE, "domain", r < 5 ? "terrain-walker" : "clean-up");
        wk_cells_text(&table, WK_SEE_PAGE, "task", tasks[r]);
        for (int c = 0; c < 7; c++) {
            double value = 900 * draw(&rng);
            wk_report_cell *cell =
                wk_cells_show(&table, WK_SEE_PAGE, header[c], "%.1f ± %.1f", value, value / 20);
            cell->subtext =
                wk_report_printf(&memory, "paper %.1f ± %.1f", value * 1.02, value / 30);
            cell->best = (r + c) % 6 == 4;
        }
    }
    wk_page_table(page, &table.page);
    wk_arena_reset(&memory.arena);
}

static void add_small_table(wk_page *page)
{
    static const struct {
        const char *what;
        uint64_t number;
    } rows[] = {{"runs", 12}, {"seeds", 2}, {"missing", 3}};
    wk_report_memory memory = {0};
    wk_report_table table = {.memory = &memory, .page.heads = 1};
    for (int i = 0; i < 3; i++) {
        wk_cells_row(&table, WK_SEE_PAGE);
        wk_cells_text(&table, WK_SEE_PAGE, "what", rows[i].what);
        wk_cells_show(&table, WK_SEE_PAGE, "number", "%" PRIu64, rows[i].number)->best = i == 2;
    }
    wk_page_table(page, &table.page);
    wk_arena_reset(&memory.arena);
}

void sample_page(wk_text *out)
{
    wk_text csv = {0};
    wk_page *page;
    assert_ok(wk_page_create("Robust world models: results & \"figures\"",
                             "12 runs, 2 domains, 6 curricula; made-up numbers", &page, &err));
    wk_page_section(page, "What is here");
    wk_page_paragraph(page, "Every figure and table of a report, from made-up numbers. θ are the "
                            "parameters of an environment; a curriculum chooses them.");
    wk_page_note(page,
                 "Missing: %d of 15 runs (clean-up, HE-Oracle, seeds 2 to 4) have no results.", 3);
    add_small_table(page);
    wk_page_section(page, "Robustness");
    add_main_table(page);
    add_figures(page, 0, 3);
    wk_page_section(page, "Curricula");
    wk_page_subsection(page, "Maps over θ");
    add_figures(page, 3, 5);
    wk_page_subsection(page, "Over time");
    add_figures(page, 6, 7);
    wk_page_section(page, "Model errors");
    add_figures(page, 5, 6);
    add_figures(page, 7, SAMPLE_FIGURES);
    wk_page_section(page, "Files");
    wk_text_puts(&csv, "a,b\n1,2\n");
    wk_page_csv(page, "results.csv", &csv);
    assert_ok(wk_page_finish(page, out, &err));
    wk_page_destroy(page);
}
