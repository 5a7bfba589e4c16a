// waker theory: the paper's bounds on finite MDPs, computed exactly: do they hold, how tight are
// they, and how much of an oracle's gain do the curricula get?
#include "base/file.h"
#include "base/table.h"
#include "cli/cli.h"
#include "plot/plot.h"
#include "theory/bound.h"
#include "theory/curricula.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAMILIES_MAX = 8 };

// The constructed pair of MDPs that comes within this of half the bound.
static const double tight_slip = 1e-4, tight_gamma = 0.9;

// Results of the chosen families; `checks` and `comparisons` are zero where not asked for.
typedef struct results {
    const wk_family *families[FAMILIES_MAX];
    size_t count;
    bool checked, compared;
    uint64_t seed;
    wk_theory_check checks[FAMILIES_MAX];
    wk_curricula comparisons[FAMILIES_MAX];
    wk_curricula_summary summaries[FAMILIES_MAX][WK_MEASURES][WK_COMPARED];
} results;

typedef struct theory_values {
    const char *part, *family, *exploration, *model, *out;
    wk_curricula_config curricula; // its gamma: unless the next is given
    double gamma;
    int instances;
    wk_arg_seed seed;
    bool json;
} theory_values;

static const theory_values defaults = {.part = "all",
                                       .family = "all",
                                       .exploration = "disagreement",
                                       .model = "separate",
                                       .instances = 100000,
                                       .curricula = WK_CURRICULA_DEFAULT};

#define WK_VALUES theory_values
static const wk_arg args[] = {
    WK_OPT_CHOICE("part", part, "check|curricula|all", "what to compute (default: all)"),
    WK_OPT_TEXT("family", family, "random|slippery|windy|chain|all",
                "families of MDPs, separated by commas (default: all)"),
    WK_OPT_INT("instances", instances, "N",
               "check: instances of MDP, model and reward, over all families (default: 100000)", 1,
               1000000000),
    WK_OPT_NUMBER("gamma", gamma, "G",
                  "discount (default: check: random in 0.5 to 0.99; curricula: 0.95)", 0.01, 0.999),
    WK_OPT_INT("episodes", curricula.episodes, "N", "curricula: episodes of a run (default: 2000)",
               1, 1000000),
    WK_OPT_INT("steps", curricula.steps, "N", "curricula: steps of an episode (default: 20)", 1,
               10000),
    WK_OPT_INT("rewards", curricula.rewards, "N",
               "curricula: random rewards for each environment (default: 20)", 1, 10000),
    WK_OPT_INT("seeds", curricula.seeds, "N",
               "curricula: worlds in which each curriculum collects data (default: 20)", 1, 10000),
    WK_OPT_INT("members", curricula.members, "N",
               "curricula: members of each ensemble (default: 10)", 2, WK_TABULAR_MEMBERS_MAX),
    WK_OPT_CHOICE("exploration", exploration, "disagreement|random",
                  "curricula: exploration within an episode (default: disagreement)"),
    WK_OPT_CHOICE(
        "model", model, "separate|shared",
        "curricula: a model for each environment, or one that generalises (default: separate)"),
    WK_SEED_ARG_ROW("everything random", "0"),
    WK_OPT_PATH("out", out, "DIR", "write tables as CSV and figures to DIR"),
    WK_OPT_FLAG("json", json, "print JSON"),
};

static wk_status choose_families(const char *list, results *r, wk_error *err)
{
    bool all = strcmp(list, "all") == 0;
    for (size_t i = 0; all && i < WK_FAMILIES; i++)
        r->families[r->count++] = &wk_families[i];
    for (const char *at = list; !all;) {
        char name[64];
        const wk_family *family;
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        WK_TRY(wk_family_find(name, &family, err));
        for (size_t k = 0; k < r->count; k++)
            if (r->families[k] == family)
                return wk_fail(err, WK_E_INPUT, "--family has '%s' twice", name);
        r->families[r->count++] = family;
        if (!at[length]) break;
        at += length + 1;
    }
    return WK_OK;
}

static void count_piece(void *context, size_t total, int thread)
{
    wk_progress_line *line = context;
    if (thread == 0) line->values.total = (int64_t)total;
    wk_progress_count(line, thread);
}

static void begin_family(const wk_cli *cli, const char *what, const wk_family *family,
                         const char *unit, wk_progress_line *line)
{
    const wk_log log = wk_cli_progress(cli, unit, line);
    wk_log_line(&log, WK_LOG_INFO, "%s: %s", what, family->domain.name);
}

static wk_status check_families(const theory_values *v, wk_pool *pool, const wk_cli *cli,
                                results *r, wk_error *err)
{
    wk_progress_line line = {0};
    wk_theory_check_config config = {
        .gamma = v->gamma, .seed = v->seed.value, .progress = count_piece, .context = &line};
    config.instances = (v->instances + (int64_t)r->count - 1) / (int64_t)r->count;
    for (size_t i = 0; i < r->count; i++) {
        config.family = r->families[i];
        begin_family(cli, "checking the bounds", config.family, "trials", &line);
        wk_status status = wk_theory_check_run(&config, pool, &r->checks[i], err);
        wk_progress_finish(&line);
        WK_TRY(status);
    }
    return WK_OK;
}

static wk_status compare_curricula(const theory_values *v, wk_pool *pool, const wk_cli *cli,
                                   results *r, wk_error *err)
{
    wk_progress_line line = {0};
    wk_curricula_config config = v->curricula;
    config.progress = count_piece;
    config.context = &line;
    if (v->gamma > 0) config.gamma = v->gamma;
    config.seed = v->seed.value;
    config.random = strcmp(v->exploration, "random") == 0;
    config.shared = strcmp(v->model, "shared") == 0;
    for (size_t i = 0; i < r->count; i++) {
        config.family = r->families[i];
        begin_family(cli, "comparing curricula", config.family, "runs", &line);
        wk_status status = wk_curricula_run(&config, pool, &r->comparisons[i], err);
        wk_progress_finish(&line);
        WK_TRY(status);
        for (int m = 0; m < WK_MEASURES; m++)
            WK_TRY(wk_curricula_summarise(&r->comparisons[i], (wk_curricula_measure)m,
                                          r->summaries[i][m], err));
    }
    return WK_OK;
}

static wk_regret tight_regret(void)
{
    wk_mdp real, model;
    wk_mdp_pair pair;
    wk_regret regret = {0};
    double reward[4];
    wk_mdp_tight_pair(tight_slip, tight_gamma, &real, &model, reward);
    wk_mdp_pair_compare(&real, &model, &pair);
    wk_mdp_pair_regret(&pair, reward, &regret);
    return regret;
}

#define CHECK_COLUMNS(worlds)                                                                      \
    {                                                                                              \
        {WK_COLUMN_TEXT, "family", "family", NULL, 0}, {WK_COLUMN_NUMBER, worlds, NULL, NULL, 0},  \
            {WK_COLUMN_NUMBER, "instances", "instances", NULL, 0},                                 \
            {WK_COLUMN_NUMBER, "violations", "violated", NULL, 0},                                 \
            {WK_COLUMN_NUMBER, "regret", "regret", "%.3f", 0},                                     \
            {WK_COLUMN_NUMBER, "bound", "bound", "%.1f", 0},                                       \
            {WK_COLUMN_NUMBER, "reward_free_bound", "reward-free\nbound", "%.1f", 0},              \
            {WK_COLUMN_NUMBER, "regret_over_bound", "regret /\nbound", "%.4f", 0},                 \
            {WK_COLUMN_NUMBER, "bound_over_reward_free_bound", "bound /\nreward-free", "%.4f", 0}, \
            {WK_COLUMN_NUMBER, "lemma_ratio", "lemma\nratio", "%.4f", 0},                          \
        {                                                                                          \
            WK_COLUMN_NUMBER, "identity_gap", "identity\ngap", "%.1e", 0                           \
        }                                                                                          \
    }

// Check: a row for each family, or, of `worlds`, for each world of each family: its worst case over
// θ and rewards, and its largest ratios.
static void fill_check(const results *r, bool worlds, wk_table *table)
{
    static const wk_column of_families[] = CHECK_COLUMNS("worlds");
    static const wk_column of_worlds[] = CHECK_COLUMNS("world");
    wk_table_start(table, worlds ? of_worlds : of_families, sizeof of_worlds / sizeof *of_worlds);
    for (size_t i = 0; i < r->count && r->checked; i++)
        for (size_t k = 0; k < (worlds ? r->checks[i].count : 1); k++) {
            const wk_theory_check_numbers *f =
                worlds ? &r->checks[i].trials[k] : &r->checks[i].total;
            wk_table_text(table, r->families[i]->domain.name);
            wk_table_unsigned(table, worlds ? k : r->checks[i].count);
            wk_table_integer(table, f->instances);
            wk_table_integer(table, f->violations);
            wk_table_number(table, f->regret);
            wk_table_number(table, f->bound);
            wk_table_number(table, f->reward_free);
            wk_table_number(table, f->regret_ratio);
            wk_table_number(table, f->bound_ratio);
            wk_table_number(table, f->lemma_ratio);
            wk_table_number(table, f->identity_gap);
        }
}

static void check_text(const results *r, wk_text *out)
{
    int64_t instances = 0, violations = 0;
    for (size_t i = 0; i < r->count; i++) {
        instances += r->checks[i].total.instances;
        violations += r->checks[i].total.violations;
    }
    wk_table table;
    fill_check(r, false, &table);
    wk_text_puts(out, "regret <= bound of Proposition 1 <= reward-free bound, and the Simulation "
                      "Lemma\n\n");
    wk_table_finish(&table, 0, out);
    wk_regret tight = tight_regret();
    wk_text_printf(
        out,
        "\n%" PRId64 " instance%s, %" PRId64
        " violated. Regret and bounds: maximum over θ and rewards, mean over worlds; ratios and\n"
        "gap: maximum over all instances. A pair constructed to be tight has regret / bound "
        "%.4f.\n",
        instances, wk_plural((uint64_t)instances), violations, tight.regret / tight.bound);
}

static void share_cell(wk_table *table, const wk_curricula_summary *s)
{
    if (isnan(s->share))
        wk_table_cell(table, "-");
    else
        wk_table_cell(table, "%.0f %% (%.0f to %.0f)", 100 * s->share, 100 * s->share_low,
                      100 * s->share_high);
}

static void comparison_text(const results *r, size_t i, wk_text *out)
{
    const wk_curricula_config *config = &r->comparisons[i].config;
    wk_table table = {0};
    wk_table_begin(&table, "lrrrrrr", r->families[i]->domain.name, "max regret\nat the end",
                   "\nin the run", "\nshare of the gain", "max bound\nat the end", "\nin the run",
                   "\nshare of the gain");
    for (int k = 0; k < WK_COMPARED; k++) {
        wk_table_cell(&table, "%s", wk_compared_name(k));
        static const wk_curricula_measure shown[] = {WK_MEASURE_MAX_REGRET, WK_MEASURE_MAX_BOUND};
        for (size_t m = 0; m < sizeof shown / sizeof *shown; m++) {
            const wk_curricula_summary *s = &r->summaries[i][shown[m]][k];
            wk_table_cell(&table, "%.3f", s->end);
            wk_table_cell(&table, "%.3f", s->run);
            share_cell(&table, s);
        }
    }
    if (i == 0)
        wk_text_printf(
            out,
            "Data by curricula: %d episode%s of %d step%s, %d seed%s, gamma %g, %s models, "
            "exploration by %s\n",
            config->episodes, wk_plural((uint64_t)config->episodes), config->steps,
            wk_plural((uint64_t)config->steps), config->seeds, wk_plural((uint64_t)config->seeds),
            config->gamma, config->shared ? "shared" : "separate",
            config->random ? "random actions" : "disagreement");
    wk_text_puts(out, "\n");
    wk_table_finish(&table, 0, out);
}

static void print_text(const results *r, wk_text *out)
{
    if (r->checked) check_text(r, out);
    if (r->checked && r->compared) wk_text_puts(out, "\n");
    for (size_t i = 0; i < r->count && r->compared; i++)
        comparison_text(r, i, out);
    if (r->compared)
        wk_text_puts(
            out, "\nMaximum over θ (and rewards), mean over seeds. Share of the gain: 0 % as DR, "
                 "100 % as the oracle,\nin the mean over the run; in brackets 95 % bootstrap "
                 "intervals over seeds.\n-: the oracle's gain is not significant.\n");
}

static void measure_json(const results *r, size_t i, int curriculum, int measure, wk_json *json)
{
    const wk_curricula *c = &r->comparisons[i];
    const wk_curricula_summary *s = &r->summaries[i][measure][curriculum];
    wk_json_object(json, wk_curricula_measures[measure]);
    wk_json_number(json, "end", s->end);
    wk_json_number(json, "run", s->run);
    wk_json_number(json, "share_of_gain", s->share);
    wk_json_number(json, "share_low", s->share_low);
    wk_json_number(json, "share_high", s->share_high);
    static const char *const keys[] = {"mean", "sd"};
    for (int k = 0; k < 2; k++) {
        wk_json_array(json, keys[k]);
        for (int p = 0; p < WK_CURRICULA_POINTS; p++) {
            double both[2];
            wk_curricula_curve(c, curriculum, (wk_curricula_measure)measure, p, &both[0], &both[1]);
            wk_json_number(json, NULL, both[k]);
        }
        wk_json_close(json, ']');
    }
    wk_json_close(json, '}');
}

static void comparison_json(const results *r, size_t i, wk_json *json)
{
    const wk_curricula *c = &r->comparisons[i];
    wk_json_object(json, NULL);
    wk_json_string(json, "family", r->families[i]->domain.name);
    wk_json_number(json, "gamma", c->config.gamma);
    wk_json_integer(json, "seeds", c->config.seeds);
    wk_json_string(json, "exploration", c->config.random ? "random" : "disagreement");
    wk_json_string(json, "model", c->config.shared ? "shared" : "separate");
    wk_json_array(json, "steps");
    for (int p = 0; p < WK_CURRICULA_POINTS; p++)
        wk_json_integer(json, NULL, (int64_t)c->episodes[p] * c->config.steps);
    wk_json_close(json, ']');
    wk_json_object(json, "curricula");
    for (int k = 0; k < WK_COMPARED; k++) {
        wk_json_object(json, wk_compared_name(k));
        for (int m = 0; m < WK_MEASURES; m++)
            measure_json(r, i, k, m, json);
        wk_json_close(json, '}');
    }
    wk_json_close(json, '}');
    wk_json_close(json, '}');
}

static void print_json(const results *r, wk_text *out)
{
    wk_json json = {.text = out};
    wk_table check;
    wk_json_object(&json, NULL);
    wk_json_string(&json, "format", "waker-theory-1");
    wk_json_unsigned(&json, "seed", r->seed);
    wk_regret tight = tight_regret();
    wk_json_number(&json, "constructed_regret_over_bound", tight.regret / tight.bound);
    fill_check(r, false, &check);
    wk_table_json(&check, "check", &json);
    wk_table_free(&check);
    wk_json_array(&json, "curricula");
    for (size_t i = 0; i < r->count && r->compared; i++)
        comparison_json(r, i, &json);
    wk_json_close(&json, ']');
    wk_json_close(&json, '}');
    wk_text_puts(out, "\n");
}

// Writes the table as a file, and frees it.
static wk_status write_csv(wk_table *table, const char *folder, const char *name, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_text text = {0};
    wk_table_csv(table, &text);
    wk_table_free(table);
    wk_status status = wk_path_join(folder, name, path, err);
    if (status == WK_OK) return wk_file_write_text(NULL, path, &text, err);
    wk_text_free(&text);
    return status;
}

// A row for each curriculum and seed at each point.
static wk_status write_curves(const results *r, const char *folder, wk_error *err)
{
    static const wk_column columns[] = {WK_COLUMN_KEY("family"),     WK_COLUMN_KEY("curriculum"),
                                        WK_COLUMN_KEY("seed"),       WK_COLUMN_KEY("steps"),
                                        WK_COLUMN_KEY("max_regret"), WK_COLUMN_KEY("mean_regret"),
                                        WK_COLUMN_KEY("max_bound")};
    wk_table table;
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < r->count; i++) {
        const wk_curricula *c = &r->comparisons[i];
        for (int k = 0; k < WK_COMPARED * c->config.seeds * WK_CURRICULA_POINTS; k++) {
            int p = k % WK_CURRICULA_POINTS, seed = k / WK_CURRICULA_POINTS % c->config.seeds;
            int curriculum = k / WK_CURRICULA_POINTS / c->config.seeds;
            const wk_curricula_point *point = wk_curricula_at(c, curriculum, seed, p);
            wk_table_text(&table, c->config.family->domain.name);
            wk_table_text(&table, wk_compared_name(curriculum));
            wk_table_integer(&table, seed);
            wk_table_integer(&table, (int64_t)c->episodes[p] * c->config.steps);
            wk_table_number(&table, point->max_regret);
            wk_table_number(&table, point->mean_regret);
            wk_table_number(&table, point->max_bound);
        }
    }
    return write_csv(&table, folder, "curves.csv", err);
}

static wk_status write_shares(const results *r, const char *folder, wk_error *err)
{
    static const wk_column columns[] = {WK_COLUMN_KEY("family"),     WK_COLUMN_KEY("measure"),
                                        WK_COLUMN_KEY("curriculum"), WK_COLUMN_KEY("end"),
                                        WK_COLUMN_KEY("run"),        WK_COLUMN_KEY("share_of_gain"),
                                        WK_COLUMN_KEY("share_low"),  WK_COLUMN_KEY("share_high")};
    wk_table table;
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < r->count; i++)
        for (int m = 0; m < WK_MEASURES; m++)
            for (int k = 0; k < WK_COMPARED; k++) {
                const wk_curricula_summary *s = &r->summaries[i][m][k];
                wk_table_text(&table, r->families[i]->domain.name);
                wk_table_text(&table, wk_curricula_measures[m]);
                wk_table_text(&table, wk_compared_name(k));
                wk_table_number(&table, s->end);
                wk_table_number(&table, s->run);
                wk_table_number(&table, s->share);
                wk_table_number(&table, s->share_low);
                wk_table_number(&table, s->share_high);
            }
    return write_csv(&table, folder, "shares.csv", err);
}

static wk_status write_visits(const results *r, const char *folder, wk_error *err)
{
    static const wk_column columns[] = {WK_COLUMN_KEY("family"), WK_COLUMN_KEY("curriculum"),
                                        WK_COLUMN_KEY("size"), WK_COLUMN_KEY("noise"),
                                        WK_COLUMN_KEY("episodes")};
    wk_table table;
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < r->count; i++) {
        const wk_curricula *c = &r->comparisons[i];
        size_t count = wk_space_count(c->space);
        for (size_t k = 0; k < WK_COMPARED * count; k++) {
            wk_table_text(&table, c->config.family->domain.name);
            wk_table_text(&table, wk_compared_name((int)(k / count)));
            for (int p = 0; p < WK_FAMILY_PARAMS; p++)
                wk_table_number(&table, wk_space_params(c->space, k % count)[p]);
            wk_table_unsigned(&table, c->visits[k]);
        }
    }
    return write_csv(&table, folder, "visits.csv", err);
}

// Worst cases of the worlds: regret over the bound that holds for it.
static wk_status draw_check(const results *r, double *x, double *y, wk_figure **out, wk_error *err)
{
    wk_plot_series series[FAMILIES_MAX];
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

static wk_status write_check_figure(const results *r, const char *folder, wk_error *err)
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

static wk_status write_files(const results *r, const char *folder, wk_error *err)
{
    WK_TRY(wk_dir_create(folder, err));
    if (r->checked) {
        wk_table table;
        fill_check(r, true, &table);
        WK_TRY(write_csv(&table, folder, "check.csv", err));
        WK_TRY(write_check_figure(r, folder, err));
    }
    if (!r->compared) return WK_OK;
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

static wk_status show(wk_cli *cli, const theory_values *v, const results *r, wk_error *err)
{
    wk_text text = {0};
    for (size_t i = 0; i < r->count; i++)
        cli->findings |= r->checks[i].total.violations > 0;
    if (v->out) WK_TRY(write_files(r, v->out, err));
    if (v->json)
        print_json(r, &text);
    else
        print_text(r, &text);
    if (v->out && !v->json) wk_text_printf(&text, "\nTables and figures are in %s.\n", v->out);
    return wk_cli_print(&text, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const theory_values *v = values;
    static results r; // too large for the stack
    memset(&r, 0, sizeof r);
    wk_pool *pool;
    r.seed = v->seed.value;
    r.checked = strcmp(v->part, "curricula") != 0;
    r.compared = strcmp(v->part, "check") != 0;
    WK_TRY(choose_families(v->family, &r, err));
    WK_TRY(wk_pool_create(cli->threads, &pool, err));
    // Curricula first: their options are checked before any long work.
    wk_status status = r.compared ? compare_curricula(v, pool, cli, &r, err) : WK_OK;
    if (status == WK_OK && r.checked) status = check_families(v, pool, cli, &r, err);
    if (status == WK_OK) status = show(cli, v, &r, err);
    for (size_t i = 0; i < r.count; i++) {
        wk_theory_check_free(&r.checks[i]);
        wk_curricula_free(&r.comparisons[i]);
    }
    wk_pool_destroy(pool);
    return status;
}

const wk_command wk_command_theory = {
    .name = "theory",
    .summary = "Compute the paper's regret bounds exactly on finite MDPs, and compare curricula",
    .usage = "theory [--part check|curricula|all] [--family NAME,...] [--out DIR] [--json]",
    .details =
        "check: verifies regret <= bound of Proposition 1 <= reward-free bound, and the\n"
        "Simulation Lemma, on random MDPs, models of them and rewards in [0,1]. If an\n"
        "inequality does not hold, the exit code is 3.\n"
        "curricula: collects data with DR, WAKER-M, WAKER-R and an oracle that sees the true\n"
        "error of the model, and compares the maximum regret over the environments as data\n"
        "grows. Results depend on the options alone, not on --threads.\n",
    .examples = "theory --out theory\n"
                "theory --part check --instances 1000000\n"
                "theory --part curricula --family chain --model shared",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
