// The statistics against rliable, SciPy and NumPy on random score matrices
// (tools/reference/statistics.py): points, resamples with their own index draws, intervals.
#include "nn/safetensors.h"
#include "stats/sample.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 22, DRAWS = 40, STATISTICS = WK_AGGREGATES + 1 };
static const double fractions[] = {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0};
static const double percents[] = {0, 2.5, 10, 37, 50, 75, 97.5, 100};
enum { FRACTIONS = sizeof fractions / sizeof *fractions, PERCENTS = 8 };

static void *golden(const wk_safetensors *file, int number, const char *name,
                    const wk_safetensors_spec **spec)
{
    wk_error err = {0};
    char full[64];
    snprintf(full, sizeof full, "%02d/%s", number, name);
    *spec = wk_safetensors_find(file, full);
    if (!*spec) fail_msg("no golden '%s'", full);
    void *bytes = malloc(wk_safetensors_spec_bytes(*spec));
    assert_non_null(bytes);
    assert_ok(wk_safetensors_read(file, *spec, bytes, &err));
    return bytes;
}

// One case of the file, whole.
typedef struct fixture {
    int number;
    wk_scores x, y;
    size_t cells;
    double *other, *points, *percentiles, *cvar_low, *cvar_high, *draws, *interval, *bracket,
        *bracket_improvement;
    uint8_t *index_x, *index_y; // [DRAWS,runs,tasks]
} fixture;

static wk_scores read_scores(const wk_safetensors *file, int number, const char *name)
{
    const wk_safetensors_spec *spec;
    wk_scores out = {.values = golden(file, number, name, &spec), .name = name};
    out.runs = spec->shape[0];
    out.tasks = spec->shape[1];
    return out;
}

static fixture read_case(const wk_safetensors *file, int number)
{
    const wk_safetensors_spec *spec;
    fixture f = {.number = number};
    f.x = read_scores(file, number, "x");
    f.y = read_scores(file, number, "y");
    f.cells = f.x.runs * f.x.tasks;
    f.other = golden(file, number, "other", &spec);
    f.points = golden(file, number, "points", &spec);
    f.percentiles = golden(file, number, "percentiles", &spec);
    f.cvar_low = golden(file, number, "cvar_low", &spec);
    f.cvar_high = golden(file, number, "cvar_high", &spec);
    f.draws = golden(file, number, "draws", &spec);
    f.interval = golden(file, number, "interval", &spec);
    f.bracket = golden(file, number, "bracket", &spec);
    f.bracket_improvement = golden(file, number, "bracket_improvement", &spec);
    f.index_x = golden(file, number, "index_x", &spec);
    f.index_y = golden(file, number, "index_y", &spec);
    return f;
}

static void drop_case(fixture *f)
{
    void *all[] = {(void *)f->x.values,
                   (void *)f->y.values,
                   f->other,
                   f->points,
                   f->percentiles,
                   f->cvar_low,
                   f->cvar_high,
                   f->draws,
                   f->interval,
                   f->bracket,
                   f->bracket_improvement,
                   f->index_x,
                   f->index_y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

// Equal to 1e-12 of the scores' size.
static void check_close(const fixture *f, const char *what, double ours, double theirs)
{
    double scale = fmax(1, fabs(theirs));
    if (isnan(theirs) ? !isnan(ours) : !(fabs(ours - theirs) <= 1e-12 * scale))
        fail_msg("case %d, %s: %.17g, reference %.17g", f->number, what, ours, theirs);
}

static void check_points(const fixture *f)
{
    wk_error err = {0};
    double value;
    check_close(f, "mean", wk_stats_mean(f->x.values, f->cells), f->points[0]);
    check_close(f, "s.d.", wk_stats_sd(f->x.values, f->cells), f->points[1]);
    for (int a = 0; a < WK_AGGREGATES; a++) {
        assert_ok(wk_stats_aggregate(&f->x, (wk_aggregate)a, &value, &err));
        check_close(f, wk_aggregate_name((wk_aggregate)a), value, f->points[2 + a]);
    }
    assert_ok(wk_stats_optimality_gap(&f->x, 0.7, &value, &err));
    check_close(f, "gap below 0.7", value, f->points[6]);
    assert_ok(wk_stats_improvement(&f->x, &f->y, &value, &err));
    check_close(f, "probability of improvement", value, f->points[7]);
    if (f->cells < 2) return;
    assert_ok(wk_stats_rank_correlation(f->x.values, f->other, f->cells, &value, &err));
    check_close(f, "rank correlation", value, f->points[8]);
}

static void check_tails(const fixture *f)
{
    wk_error err = {0};
    double value;
    for (int i = 0; i < FRACTIONS; i++) {
        assert_ok(wk_stats_cvar(f->x.values, f->cells, fractions[i], WK_WORST_LOW, &value, &err));
        check_close(f, "CVaR, low", value, f->cvar_low[i]);
        assert_ok(wk_stats_cvar(f->x.values, f->cells, fractions[i], WK_WORST_HIGH, &value, &err));
        check_close(f, "CVaR, high", value, f->cvar_high[i]);
    }
    for (int i = 0; i < PERCENTS; i++) {
        assert_ok(wk_stats_percentile(f->x.values, f->cells, percents[i], &value, &err));
        check_close(f, "percentile", value, f->percentiles[i]);
    }
}

// Draws [run,task] of the file as ours: task by task.
static void take_draw(const wk_scores *s, const uint8_t *index, size_t *out)
{
    for (size_t m = 0; m < s->tasks; m++)
        for (size_t n = 0; n < s->runs; n++)
            out[m * s->runs + n] = index[n * s->tasks + m];
}

static void check_draws(const fixture *f)
{
    double x[128], y[128], scratch[128], found[STATISTICS][DRAWS];
    size_t index[128], cells_y = f->y.runs * f->y.tasks;
    assert_true(f->cells <= 128 && cells_y <= 128);
    for (size_t d = 0; d < DRAWS; d++) {
        take_draw(&f->x, f->index_x + d * f->cells, index);
        wk_scores_columns(&f->x, index, x);
        take_draw(&f->y, f->index_y + d * cells_y, index);
        wk_scores_columns(&f->y, index, y);
        for (int a = 0; a < WK_AGGREGATES; a++)
            found[a][d] = wk_aggregate_columns((wk_aggregate)a, &f->x, x, scratch);
        found[WK_AGGREGATES][d] = wk_improvement_columns(&f->x, x, &f->y, y);
        for (int s = 0; s < STATISTICS; s++)
            check_close(f, "resample", found[s][d], f->draws[d * STATISTICS + (size_t)s]);
    }
    for (int s = 0; s < STATISTICS; s++) {
        wk_estimate estimate = {0};
        wk_sample_interval(found[s], DRAWS, 0.95, &estimate);
        check_close(f, "low end", estimate.low, f->interval[s]);
        check_close(f, "high end", estimate.high, f->interval[STATISTICS + s]);
    }
}

// `bracket` is [4,columns]: where each end may lie, with rounding room.
static void check_bracket(const fixture *f, const char *what, const wk_estimate *e,
                          const double *bracket, size_t columns, size_t column)
{
    double room = 1e-12 * fmax(1, fabs(e->value));
    double low_from = bracket[column], low_to = bracket[columns + column];
    double high_from = bracket[2 * columns + column], high_to = bracket[3 * columns + column];
    if (!(e->low >= low_from - room && e->low <= low_to + room && e->high >= high_from - room &&
          e->high <= high_to + room))
        fail_msg("case %d, %s: interval %.6g to %.6g, rliable has %.6g..%.6g to %.6g..%.6g",
                 f->number, what, e->low, e->high, low_from, low_to, high_from, high_to);
}

static void check_intervals(const fixture *f)
{
    wk_error err = {0};
    wk_bootstrap_config config = {.reps = 20000, .size = 0.95, .seed = 3};
    wk_estimate e;
    for (int a = 0; a < WK_AGGREGATES; a++) {
        assert_ok(wk_stats_bootstrap(&f->x, (wk_aggregate)a, &config, &e, &err));
        check_bracket(f, wk_aggregate_name((wk_aggregate)a), &e, f->bracket, WK_AGGREGATES,
                      (size_t)a);
    }
    assert_ok(wk_stats_improvement_bootstrap(&f->x, &f->y, &config, &e, &err));
    check_bracket(f, "improvement", &e, f->bracket_improvement, 1, 0);
}

static void over_all_cases(void (*check)(const fixture *))
{
    wk_error err = {0};
    wk_safetensors *file;
    assert_ok(wk_safetensors_open(WAKER_SOURCE_DIR "/tests/stats/golden/statistics.safetensors",
                                  &file, &err));
    for (int number = 0; number < CASES; number++) {
        fixture f = read_case(file, number);
        check(&f);
        drop_case(&f);
    }
    wk_safetensors_close(file);
}

TEST_CASE(points_are_those_of_rliable_scipy_and_numpy)
{
    over_all_cases(check_points);
}

TEST_CASE(tails_and_percentiles_are_those_of_numpy)
{
    over_all_cases(check_tails);
}

TEST_CASE(the_same_draws_give_the_same_resamples_and_intervals)
{
    over_all_cases(check_draws);
}

TEST_CASE(intervals_lie_where_rliable_puts_them)
{
    over_all_cases(check_intervals);
}

TEST_MAIN(NULL, NULL)
