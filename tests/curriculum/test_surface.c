// The error as a function of θ: agreement with the table where there is one, what it does where
// there is none, recency, cost, exact saving, and whole curricula in continuous spaces.
#include "curriculum/surface.h"

#include "base/machine.h"
#include "base/random.h"
#include "support/check.h"
#include "waker/curriculum.h"
#include "waker/stats.h"
#include <stdlib.h>

enum { STARTS = 50 }; // of a sequence

#define PARAM(steps)                                                                               \
    {                                                                                              \
        .name = "p", .max = 1, .step = 1.0 / (steps), .legal_max = 1, .continuous = true           \
    }
static const wk_param params[] = {PARAM(10), PARAM(10), PARAM(10), PARAM(10), PARAM(10), PARAM(10)};

static wk_domain domain_of(int n)
{
    static const double ones[] = {1, 1, 1, 1, 1, 1};
    return (wk_domain){
        .name = "surface", .n_params = n, .params = params, .hardest = ones, .most_complex = ones};
}

static wk_space *make_space(const wk_domain *domain, bool continuous)
{
    wk_error err = {0};
    wk_space *space;
    assert_ok(wk_space_create(domain, continuous, &space, &err));
    return space;
}

static wk_surface *make_surface(const wk_domain *domain, const wk_space *space, double decay)
{
    wk_error err = {0};
    wk_surface *surface;
    const wk_surface_config config = wk_surface_config_default(domain->n_params, decay);
    assert_ok(wk_surface_create(&config, domain, space, &surface, &err));
    return surface;
}

static double rank_correlation(const double *a, const double *b, size_t count)
{
    wk_error err = {0};
    double out;
    assert_ok(wk_stats_rank_correlation(a, b, count, &out, &err));
    return out;
}

// Points in four, eight and more dimensions fill every interval and every large cell.
TEST_CASE(a_sobol_set_fills_the_cube)
{
    enum { POINTS = 1024, CELLS = 8 };
    static double points[POINTS][WK_SOBOL_DIMS];
    for (uint32_t i = 0; i < POINTS; i++)
        wk_sobol_point(i, WK_SOBOL_DIMS, points[i]);
    assert_near(points[1][0], 0.5, 0);
    assert_near(points[2][1], 0.75, 0);
    assert_near(points[3][1], 0.25, 0);
    for (int a = 0; a < WK_SOBOL_DIMS; a++) {
        static int intervals[POINTS];
        memset(intervals, 0, sizeof intervals);
        for (int i = 0; i < POINTS; i++)
            intervals[(int)(points[i][a] * POINTS)]++;
        for (int i = 0; i < POINTS; i++)
            assert_int_equal(intervals[i], 1);
        for (int b = 0; b < a; b++) {
            int cells[CELLS][CELLS] = {{0}};
            for (int i = 0; i < POINTS; i++)
                cells[(int)(points[i][a] * CELLS)][(int)(points[i][b] * CELLS)]++;
            for (int k = 0; k < CELLS * CELLS; k++)
                assert_in_range(cells[k / CELLS][k % CELLS], 8, 24); // 16 on average
        }
    }
}

// A visit to a θ, as a curriculum that prefers large errors chooses it, and what an ensemble then
// estimates: an error that differs between θ by `spread`, falls with the visits to it and comes
// with noise.
static double visit(const double *x, int count, const double *table, int *visits, double spread,
                    uint64_t row, int *index)
{
    wk_rng rng = wk_rng_stream(5, "test surface visits", row);
    *index = (int)(wk_rng_unit(&rng) * count);
    if (wk_rng_unit(&rng) < 0.8) {
        for (int i = 0; i < count; i++) {
            double noise = wk_rng_uniform(&rng, 0.5, 1.5);
            if (isnan(table[i]) || table[i] * noise > table[*index]) *index = i;
        }
    }
    double size = exp(spread * (x[2 * *index] + 0.5 * x[2 * *index + 1]));
    double left = 0.1 + exp(-visits[*index]++ / 30.0);
    return size * left * wk_rng_uniform(&rng, 0.9, 1.1);
}

// The least rank correlation with a table of four grids of 4 by 6 θ, checked along 2400 visits.
// Each visit stands for the starts of a sequence.
static double agreement_with_table(double decay)
{
    enum { COUNT = 24, ROWS = 2400, CHECKS = 200 };
    static const double spreads[] = {1, 2, 3, -3};
    const wk_param grid[] = {PARAM(3), PARAM(5)};
    wk_domain domain = domain_of(2);
    domain.params = grid;
    wk_space *space = make_space(&domain, false);
    double least = 1;
    for (size_t family = 0; family < sizeof spreads / sizeof *spreads; family++) {
        wk_surface *surface = make_surface(&domain, space, decay);
        double x[2 * COUNT], table[COUNT], ours[COUNT];
        int visits[COUNT] = {0};
        for (int i = 0; i < COUNT; i++) {
            memcpy(x + 2 * i, wk_space_params(space, (size_t)i), 2 * sizeof *x);
            table[i] = NAN;
        }
        for (int row = 1; row <= ROWS; row++) {
            int index;
            double delta = visit(x, COUNT, table, visits, spreads[family],
                                 (uint64_t)row + family * ROWS, &index);
            double thetas[2 * STARTS];
            float deltas[STARTS];
            for (int t = 0; t < STARTS; t++) {
                table[index] =
                    isnan(table[index]) ? delta : decay * table[index] + (1 - decay) * delta;
                memcpy(thetas + 2 * t, x + 2 * index, 2 * sizeof *thetas);
                deltas[t] = (float)delta;
            }
            wk_surface_report(surface, thetas, deltas, STARTS);
            if (row % CHECKS != 0) continue;
            wk_surface_read(surface, ours);
            double known[COUNT];
            size_t count = 0;
            for (int i = 0; i < COUNT; i++) { // where the table has a value
                ours[count] = ours[i];
                known[count] = table[i];
                count += !isnan(table[i]);
            }
            least = fmin(least, rank_correlation(known, ours, count));
        }
        wk_surface_destroy(surface);
    }
    wk_space_destroy(space);
    return least;
}

TEST_CASE(it_agrees_with_the_table_along_a_curriculum)
{
    static const double decays[] = {0.9, 0.99, 0.999, 0.9999, 1};
    for (size_t i = 0; i < sizeof decays / sizeof *decays; i++) {
        double least = agreement_with_table(decays[i]);
        print_message("decay %g: least rank correlation with the table %.3f\n", decays[i], least);
        assert_true(least > 0.95);
    }
}

// A hard corner and a slope, both falling with time.
static double truth(const double *x, int n, double time)
{
    double slope = 0, corner = 1;
    for (int k = 0; k < n; k++) {
        slope += x[k] / n;
        corner *= exp(-4 * (1 - x[k]) * (1 - x[k]) / n);
    }
    return (1 + slope + 2 * corner) * (0.5 + exp(-3 * time));
}

// One report: estimates of sequences at uniform θ of the space, with noise.
static void report(wk_surface *surface, const wk_space *space, int n, uint64_t number, double time)
{
    enum { BATCH = 16 };
    double thetas[BATCH * STARTS * WK_PARAMS_MAX], u[1 + WK_PARAMS_MAX], theta[WK_PARAMS_MAX];
    float delta[BATCH * STARTS];
    wk_rng rng = wk_rng_stream(3, "test surface", number);
    for (int b = 0; b < BATCH; b++) {
        for (int k = 0; k < 1 + WK_PARAMS_MAX; k++)
            u[k] = wk_rng_unit(&rng);
        wk_space_pick(space, u, theta);
        for (int t = 0; t < STARTS; t++) {
            memcpy(thetas + (t * BATCH + b) * n, theta, (size_t)n * sizeof *theta);
            double noise = wk_rng_uniform(&rng, 0.7, 1.3);
            delta[t * BATCH + b] = (float)(truth(theta, n, time) * noise);
        }
    }
    wk_surface_report(surface, thetas, delta, BATCH * STARTS);
}

static double agreement(wk_surface *surface, const wk_space *space, int n, double time)
{
    static double ours[1331], real[1331];
    size_t count = wk_space_count(space);
    assert_true(count <= 1331);
    wk_surface_read(surface, ours);
    for (size_t i = 0; i < count; i++)
        real[i] = truth(wk_space_params(space, i), n, time);
    return rank_correlation(ours, real, count);
}

TEST_CASE(it_knows_nothing_at_first_and_the_mean_next)
{
    wk_domain domain = domain_of(2);
    wk_space *space = make_space(&domain, true);
    wk_surface *surface = make_surface(&domain, space, 0.9);
    static double error[1024];
    wk_surface_read(surface, error);
    for (int i = 0; i < 1024; i++)
        assert_true(isnan(error[i]));
    const double corner[] = {0, 0, 0, 0};
    wk_surface_report(surface, corner, (const float[]){2, NAN}, 2);
    wk_surface_read(surface, error);
    for (int i = 0; i < 1024; i++)
        assert_near(error[i], 2, 1e-9);
    wk_surface_destroy(surface);
    wk_space_destroy(space);
}

// With six parameters no θ is met twice, and still the error is known everywhere.
TEST_CASE(it_generalises_over_six_parameters)
{
    for (int n = 2; n <= 6; n += 2) {
        wk_domain domain = domain_of(n);
        wk_space *space = make_space(&domain, true);
        wk_surface *surface = make_surface(&domain, space, 0.999);
        for (uint64_t k = 0; k < 400; k++)
            report(surface, space, n, k, 0);
        double rank = agreement(surface, space, n, 0);
        print_message("%d parameters: rank correlation %.3f\n", n, rank);
        assert_true(rank > 0.95);
        wk_surface_destroy(surface);
        wk_space_destroy(space);
    }
}

// What was reported long ago gives way to what is reported now.
TEST_CASE(newer_estimates_count_more)
{
    wk_domain domain = domain_of(2);
    wk_space *space = make_space(&domain, true);
    wk_surface *surface = make_surface(&domain, space, 0.9);
    double theta[] = {0.5, 0.5};
    static double error[1024];
    for (int k = 0; k < 2000; k++)
        wk_surface_report(surface, theta, &(float){5}, 1);
    wk_surface_read(surface, error);
    assert_near(error[0], 5, 1e-6);
    for (int k = 0; k < 10000; k++)
        wk_surface_report(surface, theta, &(float){1}, 1);
    wk_surface_read(surface, error);
    assert_near(error[0], 1, 0.01);
    wk_surface_destroy(surface);
    wk_space_destroy(space);
}

TEST_CASE(a_decision_takes_less_than_a_millisecond)
{
    enum { TIMES = 20 };
    wk_domain domain = domain_of(6);
    wk_space *space = make_space(&domain, true);
    wk_surface *surface = make_surface(&domain, space, 0.9999);
    for (uint64_t k = 0; k < 100000 / (16 * STARTS) + 1; k++)
        report(surface, space, 6, k, 0);
    static double error[1024];
    double least = INFINITY;
    for (int k = 0; k < TIMES; k++) {
        wk_surface_report(surface, NULL, NULL, 0);
        double began = wk_clock_thread_seconds();
        wk_surface_read(surface, error);
        least = fmin(least, wk_clock_thread_seconds() - began);
    }
    print_message("a decision after 100,000 estimates: %.3f ms\n", 1e3 * least);
#ifndef __SANITIZE_ADDRESS__ // which slows it down
    assert_true(least < 1e-3);
#endif
    wk_surface_destroy(surface);
    wk_space_destroy(space);
}

// A state from a file that no reports could have led to: what is accepted of such ones stays
// readable, whatever is reported next.
TEST_CASE(no_state_of_a_file_ends_the_program)
{
    wk_domain domain = domain_of(2);
    wk_space *space = make_space(&domain, true);
    wk_surface *surface = make_surface(&domain, space, 0.9);
    size_t size = wk_surface_state_size(surface),
           cells = (size_t)wk_surface_config_default(2, 0.9).cells;
    double *numbers = malloc(size); // spreads, means and features of all cells
    static double error[1024];
    int accepted = 0;
    for (uint64_t k = 0; k < 100; k++) {
        wk_rng rng = wk_rng_stream(1, "crafted", k);
        double scale = pow(10, wk_rng_uniform(&rng, -4, 104));
        for (size_t i = 0; i < size / sizeof *numbers; i++)
            numbers[i] = i < cells       ? (double)wk_rng_below(&rng, 2) * wk_rng_unit(&rng)
                         : i < 2 * cells ? wk_rng_uniform(&rng, -scale, scale)
                                         : wk_rng_uniform(&rng, -0.1, 0.1);
        wk_error err = {0};
        if (wk_surface_load(surface, numbers, &err) != WK_OK) {
            wk_surface_read(surface, error); // nothing of it is left
            assert_true(isnan(error[0]));
            continue;
        }
        accepted++;
        for (int n = 0; n < 20; n++) {
            double theta[] = {wk_rng_unit(&rng), wk_rng_unit(&rng)};
            wk_surface_report(surface, theta, &(float){1}, 1);
            wk_surface_read(surface, error);
        }
    }
    assert_in_range(accepted, 50, 99);
    free(numbers);
    wk_surface_destroy(surface);
    wk_space_destroy(space);
}

TEST_CASE(a_restored_surface_is_the_same)
{
    wk_error err = {0};
    wk_domain domain = domain_of(3);
    wk_space *space = make_space(&domain, true);
    wk_surface *a = make_surface(&domain, space, 0.99), *b = make_surface(&domain, space, 0.99);
    static double x[1024], y[1024];
    report(a, space, 3, 0, 0);
    double *bytes = malloc(wk_surface_state_size(a));
    assert_non_null(bytes);
    wk_surface_save(a, bytes);
    assert_ok(wk_surface_load(b, bytes, &err));
    report(a, space, 3, 1, 0);
    report(b, space, 3, 1, 0);
    wk_surface_read(a, x);
    wk_surface_read(b, y);
    assert_memory_equal(x, y, sizeof x);
    static const double wrong[] = {-1e300, 1e200, NAN};
    for (int i = 0; i < 3; i++) {
        bytes[0] = wrong[i];
        assert_refused(wk_surface_load(b, bytes, &err), WK_E_FORMAT, "cannot be computed");
    }
    wk_surface_save(a, bytes);
    bytes[wk_surface_state_size(a) / sizeof *bytes - 1] = 3; // longer than any feature
    assert_refused(wk_surface_load(b, bytes, &err), WK_E_FORMAT, "cannot be computed");
    // A state of zeros is one without reports; estimates can follow.
    memset(bytes, 0, wk_surface_state_size(b));
    assert_ok(wk_surface_load(b, bytes, &err));
    report(b, space, 3, 1, 0);
    wk_surface_read(b, y);
    assert_true(isfinite(y[0]));
    free(bytes);
    wk_surface_destroy(a);
    wk_surface_destroy(b);
    wk_space_destroy(space);
}

// A curriculum over continuous θ: episodes whose estimates are the truth at their θ.
typedef struct fixture {
    wk_domain domain;
    wk_space *space;
    wk_curriculum *curriculum;
} fixture;

static void make_curriculum(fixture *f, const char *name, int n)
{
    wk_error err = {0};
    const wk_curriculum_rule *rule;
    wk_curriculum_config config = wk_curriculum_config_default();
    config.error_decay = 0.99;
    config.reduction_start = 50;
    config.reduction_every = 25;
    f->domain = domain_of(n);
    f->space = make_space(&f->domain, true);
    assert_ok(wk_curriculum_rule_find(name, &rule, &err));
    assert_ok(wk_curriculum_create(rule, &f->domain, f->space, &config, &f->curriculum, &err));
}

static void drop(fixture *f)
{
    wk_curriculum_destroy(f->curriculum);
    wk_space_destroy(f->space);
}

// Plays episodes first ... end - 1 and returns the mean of all parameters of the last hundred. The
// error of θ falls with time where the first parameter is large, else it stays.
static double play(fixture *f, int first, int end)
{
    wk_error err = {0};
    int n = f->domain.n_params;
    double sum = 0;
    for (int e = first; e < end; e++) {
        double theta[WK_PARAMS_MAX], thetas[STARTS * WK_PARAMS_MAX];
        size_t index, indices[STARTS];
        float delta[STARTS];
        assert_ok(wk_curriculum_next(f->curriculum, (uint64_t)e, e < 50, theta, &index, &err));
        for (int t = 0; t < STARTS; t++) {
            memcpy(thetas + t * n, theta, (size_t)n * sizeof *theta);
            indices[t] = index;
            delta[t] = (float)(truth(theta, n, theta[0] * e / 400.0) * (1 + 0.1 * (t % 3)));
        }
        wk_curriculum_report_at(f->curriculum, thetas, indices, delta, STARTS);
        wk_curriculum_advance(f->curriculum, (uint64_t)e);
        for (int k = 0; k < n && e >= end - 100; k++)
            sum += theta[k] / (100.0 * n);
    }
    return sum;
}

TEST_CASE(waker_m_goes_where_the_error_is_large)
{
    for (int n = 2; n <= 6; n += 4) {
        fixture dr, m;
        make_curriculum(&dr, "dr", n);
        make_curriculum(&m, "waker-m", n);
        double by_default = play(&dr, 0, 400), chosen = play(&m, 0, 400);
        print_message("%d parameters: mean %.3f by default, %.3f by waker-m\n", n, by_default,
                      chosen);
        assert_near(by_default, 0.5, 0.08);
        assert_true(chosen > by_default + 0.03);
        double p[1024], sum = 0;
        wk_curriculum_distribution(m.curriculum, p);
        for (int i = 0; i < 1024; i++)
            sum += p[i];
        assert_near(sum, 1, 1e-9);
        drop(&dr);
        drop(&m);
    }
}

TEST_CASE(waker_r_goes_where_the_error_falls)
{
    fixture f;
    make_curriculum(&f, "waker-r", 2);
    play(&f, 0, 400);
    wk_curriculum_view view = wk_curriculum_get_view(f.curriculum);
    assert_true(view.has_reduction);
    double low = 0, high = 0;
    for (size_t i = 0; i < view.count; i++)
        *(view.theta[2 * i] < 0.3 ? &low : &high) += view.reduction[i];
    assert_true(high > 0 && high > 2 * low);
    drop(&f);
}

TEST_CASE(restoring_a_continuous_curriculum_is_exact)
{
    static const char *const rules[] = {"waker-m", "waker-r", "accel", "ncc"};
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        wk_error err = {0};
        fixture whole, half, rest;
        make_curriculum(&whole, rules[r], 4);
        make_curriculum(&half, rules[r], 4);
        make_curriculum(&rest, rules[r], 4);
        double expected = play(&whole, 0, 300);
        play(&half, 0, 131);
        size_t size = wk_curriculum_state_size(half.curriculum);
        char *bytes = malloc(size);
        assert_non_null(bytes);
        wk_curriculum_save(half.curriculum, bytes);
        assert_ok(wk_curriculum_load(rest.curriculum, bytes, size, &err));
        assert_near(play(&rest, 131, 300), expected, 0);
        free(bytes);
        drop(&whole);
        drop(&half);
        drop(&rest);
    }
}

TEST_MAIN(NULL, NULL)
