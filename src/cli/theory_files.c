// The files of waker theory: every number as CSV, and figures.
#include "base/file.h"
#include "cli/theory.h"
#include "plot/plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static wk_status write_csv(wk_text *text, const char *folder, const char *name, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_status status = wk_path_join(folder, name, path, err);
    if (status == WK_OK) return wk_file_write_text(NULL, path, text, err);
    wk_text_free(text);
    return status;
}

static void csv_numbers(wk_text *text, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        wk_text_puts(text, ",");
        wk_text_number(text, values[i]);
    }
}

// A row for each world: its worst case over θ and rewards, and its largest ratios.
static wk_status write_check(const wk_theory_results *r, const char *folder, wk_error *err)
{
    wk_text text = {0};
    wk_text_puts(&text,
                 "family,world,instances,violations,regret,bound,reward_free_bound,"
                 "regret_over_bound,bound_over_reward_free_bound,lemma_ratio,identity_gap\n");
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->checks[i].count; k++) {
            const wk_theory_check_numbers *f = &r->checks[i].trials[k];
            const double values[] = {f->regret,       f->bound,       f->reward_free,
                                     f->regret_ratio, f->bound_ratio, f->lemma_ratio,
                                     f->identity_gap};
            wk_text_printf(&text, "%s,%zu,%" PRId64 ",%" PRId64, r->families[i]->domain.name, k,
                           f->instances, f->violations);
            csv_numbers(&text, values, sizeof values / sizeof *values);
            wk_text_puts(&text, "\n");
        }
    return write_csv(&text, folder, "check.csv", err);
}

static void curve_rows(const wk_curricula *c, int curriculum, int seed, wk_text *text)
{
    for (int p = 0; p < WK_CURRICULA_POINTS; p++) {
        const wk_curricula_point *point = wk_curricula_at(c, curriculum, seed, p);
        const double values[] = {point->max_regret, point->mean_regret, point->max_bound};
        wk_text_printf(text, "%s,%s,%d,%" PRId64, c->config.family->domain.name,
                       wk_compared_name(curriculum), seed,
                       (int64_t)c->episodes[p] * c->config.steps);
        csv_numbers(text, values, sizeof values / sizeof *values);
        wk_text_puts(text, "\n");
    }
}

static wk_status write_curves(const wk_theory_results *r, const char *folder, wk_error *err)
{
    wk_text text = {0};
    wk_text_puts(&text, "family,curriculum,seed,steps,max_regret,mean_regret,max_bound\n");
    for (size_t i = 0; i < r->count; i++)
        for (int k = 0; k < WK_COMPARED; k++)
            for (int s = 0; s < r->comparisons[i].config.seeds; s++)
                curve_rows(&r->comparisons[i], k, s, &text);
    return write_csv(&text, folder, "curves.csv", err);
}

static wk_status write_shares(const wk_theory_results *r, const char *folder, wk_error *err)
{
    wk_text text = {0};
    wk_text_puts(&text, "family,measure,curriculum,end,run,share_of_gain,share_low,share_high\n");
    for (size_t i = 0; i < r->count; i++)
        for (int m = 0; m < WK_MEASURES; m++)
            for (int k = 0; k < WK_COMPARED; k++) {
                const wk_curricula_summary *s = &r->summaries[i][m][k];
                const double values[] = {s->end, s->run, s->share, s->share_low, s->share_high};
                wk_text_printf(&text, "%s,%s,%s", r->families[i]->domain.name,
                               wk_curricula_measure_name((wk_curricula_measure)m),
                               wk_compared_name(k));
                csv_numbers(&text, values, sizeof values / sizeof *values);
                wk_text_puts(&text, "\n");
            }
    return write_csv(&text, folder, "shares.csv", err);
}

static wk_status write_visits(const wk_theory_results *r, const char *folder, wk_error *err)
{
    wk_text text = {0};
    wk_text_puts(&text, "family,curriculum,size,noise,episodes\n");
    for (size_t i = 0; i < r->count; i++)
        for (int k = 0; k < WK_COMPARED; k++)
            for (size_t t = 0; t < wk_space_count(r->comparisons[i].space); t++) {
                const wk_curricula *c = &r->comparisons[i];
                wk_text_printf(&text, "%s,%s", r->families[i]->domain.name, wk_compared_name(k));
                csv_numbers(&text, wk_space_params(c->space, t), WK_FAMILY_PARAMS);
                wk_text_printf(&text, ",%" PRIu64 "\n",
                               c->visits[(size_t)k * wk_space_count(c->space) + t]);
            }
    return write_csv(&text, folder, "visits.csv", err);
}

// Worst cases of the worlds: regret over the bound that holds for it.
static wk_status draw_check(const wk_theory_results *r, double *x, double *y, wk_figure **out,
                            wk_error *err)
{
    wk_plot_series series[WK_THEORY_FAMILIES_MAX];
    double tightest = 0;
    size_t at = 0;
    for (size_t i = 0; i < r->count; i++) {
        const wk_theory_check *check = &r->checks[i];
        series[i] = (wk_plot_series){.name = r->families[i]->domain.name,
                                     .count = check->count,
                                     .x = x + at,
                                     .y = y + at,
                                     .style = (int)i};
        for (size_t k = 0; k < check->count; k++, at++) {
            x[at] = check->trials[k].reward_free;
            y[at] = check->trials[k].regret;
        }
        if (check->total.regret_ratio > tightest) tightest = check->total.regret_ratio;
    }
    char note[96];
    snprintf(note, sizeof note, "largest regret / bound of Proposition 1: %.3f", tightest);
    return wk_plot_scatter_draw(
        &(wk_plot_scatter){.title = "Worst case over θ and rewards of each world",
                           .x = {.label = "reward-free bound", .log = true},
                           .y = {.label = "regret", .log = true},
                           .series = series,
                           .count = r->count,
                           .note = note},
        out, err);
}

static wk_status write_check_figure(const wk_theory_results *r, const char *folder, wk_error *err)
{
    size_t worlds = 0;
    for (size_t i = 0; i < r->count; i++)
        worlds += r->checks[i].count;
    double *values = malloc(2 * worlds * sizeof *values);
    if (!values) return wk_fail(err, WK_E_MEMORY, "no memory for a figure");
    wk_figure *figure;
    wk_status status = draw_check(r, values, values + worlds, &figure, err);
    free(values);
    return status == WK_OK ? wk_figure_save(figure, folder, "check", err) : status;
}

static wk_status write_curve_figure(const wk_curricula *c, wk_curricula_measure measure,
                                    const char *folder, wk_error *err)
{
    static const struct {
        const char *stem, *title, *label;
    } words[WK_MEASURES] = {
        [WK_MEASURE_MAX_REGRET] = {"max-regret", "maximum regret", "max regret over θ and rewards"},
        [WK_MEASURE_MEAN_REGRET] = {"mean-regret", "mean regret", "mean regret"},
        [WK_MEASURE_MAX_BOUND] = {"max-bound", "maximum bound", "max reward-free bound over θ"}};
    enum { POINTS = WK_CURRICULA_POINTS };
    double x[POINTS], y[WK_COMPARED][POINTS], sd[WK_COMPARED][POINTS];
    wk_plot_series series[WK_COMPARED];
    for (int k = 0; k < WK_COMPARED; k++) {
        series[k] = (wk_plot_series){wk_compared_name(k), POINTS, x, y[k], sd[k], k, NULL, NULL};
        for (int p = 0; p < POINTS; p++) {
            x[p] = (double)c->episodes[p] * c->config.steps;
            wk_curricula_curve(c, k, measure, p, &y[k][p], &sd[k][p]);
        }
    }
    char title[96], name[96];
    snprintf(title, sizeof title, "%s: %s", c->config.family->domain.name, words[measure].title);
    snprintf(name, sizeof name, "%s-%s", words[measure].stem, c->config.family->domain.name);
    wk_plot_lines plot = {.title = title,
                          .x = {.label = "environment steps", .log = true},
                          .y = {.label = words[measure].label, .log = true},
                          .series = series,
                          .count = WK_COMPARED};
    wk_figure *figure;
    WK_TRY(wk_plot_lines_draw(&plot, &figure, err));
    return wk_figure_save(figure, folder, name, err);
}

// Episodes of a curriculum over θ; the space has the noise vary fastest.
static wk_status write_visit_figure(const wk_curricula *c, int curriculum, const char *folder,
                                    wk_error *err)
{
    enum { SIDE = 32 };
    double cells[SIDE * SIDE], rows[SIDE], columns[SIDE];
    size_t count = wk_space_count(c->space), n_columns = 1;
    double first = wk_space_params(c->space, 0)[WK_FAMILY_SIZE], all = 0;
    while (n_columns < count && wk_space_params(c->space, n_columns)[WK_FAMILY_SIZE] == first)
        n_columns++;
    const uint64_t *visits = c->visits + (size_t)curriculum * count;
    for (size_t i = 0; i < count; i++)
        all += (double)visits[i];
    for (size_t i = 0; i < count; i++) {
        const double *theta = wk_space_params(c->space, i);
        rows[i / n_columns] = theta[WK_FAMILY_SIZE];
        columns[i % n_columns] = theta[WK_FAMILY_NOISE];
        cells[i] = (double)visits[i] / all;
    }
    char title[96], name[96];
    snprintf(title, sizeof title, "%s: episodes by %s", c->config.family->domain.name,
             wk_compared_name(curriculum));
    snprintf(name, sizeof name, "visits-%s-%s", c->config.family->domain.name,
             wk_compared_name(curriculum));
    wk_plot_heat plot = {.title = title,
                         .row_label = c->config.family->domain.params[WK_FAMILY_SIZE].name,
                         .column_label = "noise",
                         .value_label = "share of episodes",
                         .rows = count / n_columns,
                         .columns = n_columns,
                         .row_values = rows,
                         .column_values = columns,
                         .cells = cells,
                         .percent = true};
    wk_figure *figure;
    WK_TRY(wk_plot_heat_draw(&plot, &figure, err));
    return wk_figure_save(figure, folder, name, err);
}

static wk_status write_comparison(const wk_theory_results *r, const char *folder, wk_error *err)
{
    WK_TRY(write_curves(r, folder, err));
    WK_TRY(write_shares(r, folder, err));
    WK_TRY(write_visits(r, folder, err));
    for (size_t i = 0; i < r->count; i++) {
        for (int m = 0; m < WK_MEASURES; m++)
            WK_TRY(write_curve_figure(&r->comparisons[i], (wk_curricula_measure)m, folder, err));
        for (int k = 0; k < WK_COMPARED; k++)
            WK_TRY(write_visit_figure(&r->comparisons[i], k, folder, err));
    }
    return WK_OK;
}

wk_status wk_theory_write(const wk_theory_results *r, const char *folder, wk_error *err)
{
    WK_TRY(wk_dir_create(folder, err));
    if (r->checked) WK_TRY(write_check(r, folder, err));
    if (r->checked) WK_TRY(write_check_figure(r, folder, err));
    return r->compared ? write_comparison(r, folder, err) : WK_OK;
}
