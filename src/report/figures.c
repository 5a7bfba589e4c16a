#include "report/figures.h"

#include "report/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wk_report_figures_free(wk_report_figures *figures)
{
    for (size_t i = 0; i < figures->items.count; i++)
        wk_figure_destroy(figures->items.items[i].figure);
    *figures = (wk_report_figures){0};
}

wk_status wk_report_figures_add(wk_report_memory *memory, wk_report_figures *figures,
                                wk_report_figure item, wk_error *err)
{
    // File systems take 255 bytes; the ending and a number go after these.
    enum { NAME_CHARS = 200 };
    static const char fit[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    char *stem = wk_report_printf(memory, "%.*s", NAME_CHARS, item.name), *unique = stem;
    for (char *c = stem; *c; c++)
        if (!strchr(fit, *c)) *c = '-';
    for (size_t i = 0, n = 2; i < figures->items.count && !memory->failed; i++)
        if (strcmp(figures->items.items[i].name, unique) == 0) {
            unique = wk_report_printf(memory, "%s-%zu", stem, n++);
            i = (size_t)-1; // the new name may be taken, too
        }
    item.name = unique;
    item.caption = wk_report_printf(memory, "%s", item.caption);
    uint8_t *png = item.size ? wk_report_alloc(memory, item.size, 1) : NULL;
    if (png) memcpy(png, item.png, item.size);
    item.png = png;
    size_t before = figures->items.count;
    wk_report_push(memory, &figures->items, item);
    if (figures->items.count == before) wk_figure_destroy(item.figure);
    return wk_report_memory_check(memory, err);
}

// One figure.

// A figure that is being made: text, then series or bars.
typedef struct drawing {
    const wk_figure_data *data;
    wk_report_memory *memory;
    wk_report_figures *figures;
    wk_figure_section section;
    const char *title, *name, *caption, *x_label, *y_label;
    WK_ARRAY(wk_plot_series) series;
    WK_ARRAY(wk_plot_bar) bars;
} drawing;

// Points of a series that is being made.
typedef struct curve {
    WK_ARRAY(double) x, y, below, above;
} curve;

// What captions say where a method has several runs.
#define OVER_SEEDS " Lines are means over seeds, shades their s.d."

#define PRINT(d, ...) wk_report_printf((d)->memory, __VA_ARGS__)

// A colour and line style for a method, the same in every figure.
static int style_of(const drawing *d, const char *method)
{
    return (int)wk_paper_name_index(d->data->paper, WK_FIELD_CURRICULUM, method);
}

static void add_point(drawing *d, curve *c, double x, double y, double below, double above)
{
    wk_report_push(d->memory, &c->x, x);
    wk_report_push(d->memory, &c->y, y);
    wk_report_push(d->memory, &c->below, below);
    wk_report_push(d->memory, &c->above, above);
}

// The mean of the values with their s.d., over seeds; none without values.
static void add_mean(drawing *d, curve *c, double x, const double *values, size_t count)
{
    double sd = wk_stats_sd(values, count);
    if (count) add_point(d, c, x, wk_stats_mean(values, count), sd, sd);
}

static void add_series(drawing *d, const char *method, const curve *c, const double *level)
{
    const wk_plot_series series = {.name = method,
                                   .count = c->above.count,
                                   .x = c->x.items,
                                   .y = c->y.items,
                                   .spread = c->below.items,
                                   .above = c->above.items,
                                   .level = level,
                                   .style = style_of(d, method)};
    if (series.count) wk_report_push(d->memory, &d->series, series);
}

typedef enum drawer { LINES, SCATTER, DIAGONAL, BARS, SHARES } drawer;

// Draws the figure and begins the next one. A line, cloud or bar alone says no more than its
// number, which tables have: lines need a second point somewhere, clouds and bars a second one. Of
// shares one bar has an interval.
static wk_status finish(drawing *d, drawer how, wk_error *err)
{
    wk_figure *figure;
    wk_status status = wk_report_memory_check(d->memory, err);
    size_t longest = 0, points = d->bars.count;
    for (size_t k = 0; k < d->series.count; k++) {
        points += d->series.items[k].count;
        if (d->series.items[k].count > longest) longest = d->series.items[k].count;
    }
    bool worth = how == LINES ? longest > 1 : points > (how == SHARES ? 0 : 1);
    const wk_plot_axis x = {.label = d->x_label}, y = {.label = d->y_label};
    const wk_plot_lines lines = {d->title, x, y, d->series.items, d->series.count};
    const wk_plot_scatter scatter = {.title = d->title,
                                     .x = x,
                                     .y = y,
                                     .series = d->series.items,
                                     .count = d->series.count,
                                     .diagonal = how == DIAGONAL};
    wk_plot_bars bars = {
        .title = d->title, .axis = x, .bars = d->bars.items, .count = d->bars.count};
    if (how == SHARES) { // from 0 to 1, and what matters is the side of the middle
        bars.axis.fixed = bars.has_reference = true;
        bars.axis.max = 1;
        bars.reference = 0.5;
    }
    d->series.count = d->bars.count = 0;
    WK_TRY(status);
    if (!worth) return WK_OK;
    WK_TRY(how == LINES                   ? wk_plot_lines_draw(&lines, &figure, err)
           : how == BARS || how == SHARES ? wk_plot_bars_draw(&bars, &figure, err)
                                          : wk_plot_scatter_draw(&scatter, &figure, err));
    return wk_report_figures_add(
        d->memory, d->figures,
        (wk_report_figure){
            .section = d->section, .name = d->name, .caption = d->caption, .figure = figure},
        err);
}

// Comparisons and scores.

// Bars of the probabilities of improvement.
static wk_status draw_improvements(drawing *d, wk_error *err)
{
    enum { PAIRS_MAX = 200 }; // they grow with the square of the methods; nobody reads more
    const wk_comparison *c = d->data->comparison;
    const wk_improvement *items = c->improvements.items;
    for (size_t first = 0, end; first < c->improvements.count; first = end) {
        const wk_comparison_group *group = &items[first].group;
        for (end = first + 1;
             end < c->improvements.count && wk_comparison_group_same(group, &items[end].group);)
            end++;
        d->caption = "Probability that X scores higher than Y, with its 95 % stratified bootstrap "
                     "interval. An interval above 0.5 is an improvement.";
        const wk_method_score *best = NULL;
        for (size_t i = 0; i < c->ranking.count && end - first > PAIRS_MAX; i++) {
            const wk_method_score *s = &c->ranking.items[i];
            if (wk_comparison_group_same(&s->group, group) &&
                (!best || s->iqm.value > best->iqm.value))
                best = s;
        }
        if (best)
            d->caption = PRINT(d,
                               "%s Of %zu pairs, those with the method that has the highest "
                               "interquartile mean; tables/improvement.csv has all.",
                               d->caption, end - first);
        for (size_t i = first; i < end; i++) {
            const wk_improvement *p = &items[i];
            if (p->min_runs < 2) continue; // no interval: the table has the number
            if (best && strcmp(p->x, best->method) != 0 && strcmp(p->y, best->method) != 0)
                continue;
            const wk_plot_bar bar = {PRINT(d, "%s over %s", p->x, p->y), p->estimate.value,
                                     p->estimate.low, p->estimate.high, style_of(d, p->x)};
            wk_report_push(d->memory, &d->bars, bar);
        }
        d->section = WK_FIGURES_IMPROVEMENT;
        d->title = PRINT(d, "Improvement: %s", wk_comparison_group_title(d->memory, group));
        d->name = PRINT(d, "improvement-%s-%s%s", group->metric, group->exploration,
                        group->combined ? "-combined" : "");
        d->x_label = "probability of improvement";
        WK_TRY(finish(d, SHARES, err));
    }
    return WK_OK;
}

// One method's scores over the agent steps, from rows [first, end): those with a step above the
// last one, smallest first. Whether several runs have one.
static bool add_learning_curve(drawing *d, size_t first, size_t end)
{
    const wk_report_row *rows = d->data->scores->items.items;
    const wk_paper_row *published = wk_paper_find(d->data->paper, &rows[first].key);
    double *values = wk_report_alloc(d->memory, end - first, sizeof *values);
    bool several = false;
    curve c = {0};
    for (uint64_t step = 0, from = 0; values && step != UINT64_MAX; from = step + 1) {
        size_t seeds = 0;
        step = UINT64_MAX;
        for (size_t i = first; i < end; i++)
            if (rows[i].curve && rows[i].result->step >= from && rows[i].result->step < step)
                step = rows[i].result->step;
        for (size_t i = first; i < end; i++)
            if (rows[i].curve && rows[i].result->step == step) values[seeds++] = rows[i].value;
        add_mean(d, &c, (double)step, values, seeds);
        several |= seeds > 1;
    }
    add_series(d, rows[first].key.names[WK_FIELD_CURRICULUM], &c,
               published ? &published->mean : NULL);
    return several;
}

// Scores over snapshots, one figure for each metric, domain, case, task and exploration that has
// more than one step.
static wk_status draw_curves(drawing *d, wk_error *err)
{
    const wk_report_rows *scores = d->data->scores;
    for (size_t first = 0, end; first < scores->items.count; first = end) {
        const wk_report_row *sample = NULL;
        bool moves = false, several = false, level = false;
        end = wk_rows_end(scores, first, WK_ROW_FIELDS);
        for (size_t i = first; i < end; i++) {
            const wk_report_row *row = &scores->items.items[i];
            if (!row->curve) continue;
            moves |= sample && sample->result->step != row->result->step;
            if (!sample) sample = row;
        }
        if (!moves) continue;
        for (size_t from = first, to; from < end; from = to) {
            to = wk_rows_end(scores, from, WK_FIELDS);
            several |= add_learning_curve(d, from, to);
        }
        for (size_t k = 0; k < d->series.count; k++)
            level |= d->series.items[k].level != NULL;
        const char *const *n = sample->key.names, *variant = n[WK_FIELD_VARIANT];
        bool cvar = strcmp(n[WK_FIELD_METRIC], "cvar0.1") == 0;
        const char *metric = cvar ? "CVaR 0.1" : "Average";
        d->section = cvar       ? WK_FIGURES_CURVES_CVAR
                     : *variant ? WK_FIGURES_CURVES_OOD
                                : WK_FIGURES_CURVES_AVERAGE;
        d->title = PRINT(d, "%s: %s, %s%s%s, %s", metric, n[WK_FIELD_DOMAIN], n[WK_FIELD_TASK],
                         *variant ? ", " : "", variant, n[WK_FIELD_EXPLORATION]);
        d->name = PRINT(d, "curve-%s-%s-%s%s%s-%s", n[WK_FIELD_METRIC], n[WK_FIELD_DOMAIN],
                        n[WK_FIELD_TASK], *variant ? "-" : "", variant, n[WK_FIELD_EXPLORATION]);
        d->caption = PRINT(d,
                           "%s of the policies from snapshots of the world model, each of %llu "
                           "episode%s.%s%s",
                           metric, (unsigned long long)sample->result->episodes,
                           wk_plural(sample->result->episodes), several ? OVER_SEEDS : "",
                           level ? " Dashed: the paper's mean at the end of its runs." : "");
        d->x_label = "agent steps of the world model's data";
        d->y_label = cvar ? "CVaR 0.1" : "average score";
        WK_TRY(finish(d, LINES, err));
    }
    return WK_OK;
}

// What the world model promises of its policies against what they get: the critic's value at the
// start of the episodes and the discounted return that followed, a point for each run.
static wk_status draw_promises(drawing *d, wk_error *err)
{
    const wk_report_rows *scores = d->data->scores;
    for (size_t first = 0, end; first < scores->items.count; first = end) {
        const char *const *n = scores->items.items[first].key.names;
        end = wk_rows_end(scores, first, WK_ROW_FIELDS);
        if (strcmp(n[WK_FIELD_METRIC], "average") != 0) continue;
        for (size_t from = first, to; from < end; from = to) {
            curve c = {0};
            to = wk_rows_end(scores, from, WK_FIELDS);
            for (size_t i = from; i < to; i++) {
                const wk_report_row *row = &scores->items.items[i];
                double x = row->result->discounted_return, y = row->result->promised_value;
                if (row->final && isfinite(x) && isfinite(y)) add_point(d, &c, x, y, 0, 0);
            }
            add_series(d, scores->items.items[from].key.names[WK_FIELD_CURRICULUM], &c, NULL);
        }
        d->section = WK_FIGURES_PREDICTIONS;
        d->title = PRINT(d, "Promised and obtained: %s, %s, %s", n[WK_FIELD_DOMAIN],
                         n[WK_FIELD_TASK], n[WK_FIELD_EXPLORATION]);
        d->name = PRINT(d, "promised-%s-%s-%s", n[WK_FIELD_DOMAIN], n[WK_FIELD_TASK],
                        n[WK_FIELD_EXPLORATION]);
        d->caption = "A point for each run, means over the episodes of its last evaluation in the "
                     "default distribution. Above the dashed line the world model promises more "
                     "than the policy gets.";
        d->x_label = "discounted return";
        d->y_label = "promised value";
        WK_TRY(finish(d, DIAGONAL, err));
    }
    return WK_OK;
}

// What the curricula chose.

// Mean of a signal of one run in a slice of time; NaN if it has no line there.
static double mean_of_slice(const wk_run_signal *s, double from, double to)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; s && i < s->points.count; i++) {
        if (s->points.items[i].step <= from || s->points.items[i].step > to) continue;
        sum += s->points.items[i].value;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

// The mean over the seeds of each method, of runs [first, end) of one domain and exploration. Runs
// write their lines at steps of their own, so time is cut into slices.
static wk_status draw_signal(drawing *d, size_t first, size_t end, double last, wk_signal_kind kind,
                             const char *name, wk_error *err)
{
    enum { SLICES = 60 };
    wk_report_run *const *runs = d->data->runs->items.items;
    const wk_report_run *run = runs[first];
    bool several = false;
    double *values = wk_report_alloc(d->memory, end - first, sizeof *values);
    for (size_t from = first, to; from < end && values; from = to) {
        curve c = {0};
        for (to = from + 1; to < end && strcmp(runs[from]->method, runs[to]->method) == 0;)
            to++;
        for (int s = 0; s < SLICES; s++) {
            double width = last / SLICES;
            size_t count = 0;
            for (size_t i = from; i < to; i++) {
                double value = mean_of_slice(wk_run_find_signal(runs[i], kind, name, strlen(name)),
                                             s * width, (s + 1) * width);
                if (!isnan(value)) values[count++] = value;
            }
            add_mean(d, &c, (s + 0.5) * last / SLICES, values, count);
            several |= count > 1;
        }
        add_series(d, runs[from]->method, &c, NULL);
    }
    // What it is called and means, where the domain is built in.
    const wk_domain *domain;
    const char *label = name, *help = "";
    bool chosen = kind == WK_SIGNAL_PARAM,
         known = wk_domain_find(run->domain, &domain, NULL) == WK_OK;
    for (int k = 0; known && !chosen && k < domain->n_indicators; k++)
        if (strcmp(domain->indicators[k].name, name) == 0) help = domain->indicators[k].help;
    if (chosen && known && atoi(name) < domain->n_params) {
        label = domain->params[atoi(name)].name;
        help = domain->params[atoi(name)].help;
    } else if (chosen)
        label = PRINT(d, "parameter %s", name);
    bool explained = *help && strcmp(help, label) != 0;
    d->section = chosen ? WK_FIGURES_CHOICES : WK_FIGURES_INDICATORS;
    d->title = PRINT(d, "%s %s: %s, %s", chosen ? "Chosen" : "Collected episodes,", label,
                     run->domain, run->exploration);
    d->name = PRINT(d, "%s-%s-%s-%s", chosen ? "chosen" : "collected", run->domain,
                    run->exploration, label);
    d->caption = PRINT(d, "What the %s: %s%s%s%s. Means over the episodes %s.%s",
                       chosen ? "curriculum chose" : "agent did", label, explained ? " (" : "",
                       explained ? help : "", explained ? ")" : "", chosen ? "begun" : "collected",
                       several ? OVER_SEEDS : "");
    d->x_label = "agent steps";
    d->y_label = label;
    return finish(d, LINES, err);
}

// A line for each of the runs [first, end) that has the loss. Many points are averaged over
// stretches of equally many.
static wk_status draw_loss(drawing *d, size_t first, size_t end, const char *name, wk_error *err)
{
    enum { POINTS_MAX = 150 };
    // With '_' at the end the name of a policy follows.
    static const struct {
        const char *name, *title, *caption;
    } kinds[] = {
        {"model_loss", "Loss of the world model", "The sum of the losses of its parts"},
        {"image_loss", "Image loss",
         "Half the squared error of the reconstructed images, summed over the pixels"},
        {"vector_loss", "Vector loss",
         "Half the squared error of the reconstructed vectors, summed over their numbers"},
        {"kl_loss", "KL loss",
         "How far the latent state that the world model predicts is from the one it infers once it "
         "sees the observation"},
        {"discount_loss", "Discount loss", "How badly ends of episodes are predicted"},
        {"ensemble_loss", "Ensemble loss",
         "How badly the members of the ensemble predict the next latent state"},
        {"reward_loss_", "Reward loss", "How badly the rewards of the task are predicted"},
        {"actor_loss_", "Actor loss",
         "The policy's loss: less the imagined returns, and less its entropy, weighted"},
        {"critic_loss_", "Critic loss",
         "How far the critic's values are from the imagined returns"},
        {"actor_ent_", "Entropy of the policy",
         "How random its actions are; it falls as the policy settles"},
    };
    enum { KINDS = sizeof kinds / sizeof *kinds, HEADS = KINDS - 4, POLICIES = KINDS - 3 };
    wk_report_run *const *runs = d->data->runs->items.items;
    int k = 0;
    while (k < KINDS && (strncmp(name, kinds[k].name, strlen(kinds[k].name)) != 0 ||
                         (k < HEADS && strcmp(name, kinds[k].name) != 0)))
        k++;
    if (k == KINDS) return WK_OK; // of another version
    const char *method = NULL;    // of the run before
    for (size_t i = first; i < end; i++) {
        const wk_run_signal *s = wk_run_find_signal(runs[i], WK_SIGNAL_LOSS, name, strlen(name));
        size_t count = s ? s->points.count : 0, stride = (count + POINTS_MAX - 1) / POINTS_MAX;
        curve c = {0};
        for (size_t from = 0, n; from < count; from += n) {
            double step = 0, value = 0;
            n = count - from < stride ? count - from : stride;
            for (size_t p = from; p < from + n; p++) {
                step += s->points.items[p].step / (double)n;
                value += s->points.items[p].value / (double)n;
            }
            add_point(d, &c, step, value, 0, 0);
        }
        bool named = !method || strcmp(runs[i]->method, method) != 0; // once in the legend
        if (!count) continue;
        method = runs[i]->method;
        add_series(d, method, &c, NULL);
        if (!named && !d->memory->failed) d->series.items[d->series.count - 1].name = NULL;
    }
    const char *policy = name + strlen(kinds[k].name);
    bool exploring = strcmp(policy, "expl") == 0;
    d->section = k < POLICIES ? WK_FIGURES_LOSSES_MODEL : WK_FIGURES_LOSSES_POLICIES;
    d->title =
        PRINT(d, "%s: %s, %s%s%s", kinds[k].title, runs[first]->domain, runs[first]->exploration,
              *policy ? ", " : "", exploring ? "exploration" : policy);
    d->name = PRINT(d, "loss-%s-%s-%s", name, runs[first]->domain, runs[first]->exploration);
    d->caption = PRINT(d, "%s.", kinds[k].caption);
    d->x_label = "agent steps";
    d->y_label = k == KINDS - 1 ? "entropy" : "loss";
    return finish(d, LINES, err);
}

// Each signal of a kind that any of the group's runs has.
static wk_status draw_signals(drawing *d, wk_error *err)
{
    const wk_runs *all = d->data->runs;
    wk_report_run *const *runs = all->items.items;
    for (size_t first = 0, end; first < all->items.count; first = end) {
        double last = 0; // step
        end = wk_runs_group_end(all, first);
        for (size_t i = first; i < end; i++)
            for (size_t k = 0; k < runs[i]->signals.count; k++) {
                const wk_run_signal *s = &runs[i]->signals.items[k];
                if (s->points.count && s->kind != WK_SIGNAL_LOSS)
                    last = fmax(last, s->points.items[s->points.count - 1].step);
            }
        for (wk_signal_kind kind = WK_SIGNAL_PARAM; kind <= WK_SIGNAL_LOSS; kind++)
            for (size_t i = first; i < end; i++)
                for (size_t k = 0; k < runs[i]->signals.count; k++) {
                    const wk_run_signal *s = &runs[i]->signals.items[k];
                    bool drawn = s->kind != kind; // or for a run before
                    for (size_t before = first; before < i && !drawn; before++)
                        drawn = wk_run_find_signal(runs[before], kind, s->name, strlen(s->name));
                    if (!drawn && kind == WK_SIGNAL_LOSS)
                        WK_TRY(draw_loss(d, first, end, s->name, err));
                    else if (!drawn && last > 0)
                        WK_TRY(draw_signal(d, first, end, last, kind, s->name, err));
                }
    }
    return WK_OK;
}

// Model errors.

// Bars of the errors and of how well the ensemble ranks them, for each domain, exploration, policy.
static wk_status draw_errors(drawing *d, wk_error *err)
{
    static const wk_error_statistic shown[] = {WK_ERROR_MEAN, WK_ERROR_CVAR, WK_ERROR_CORRELATION};
    const wk_report_rows *errors = d->data->errors;
    for (size_t first = 0, end; first < errors->items.count; first = end) {
        const wk_report_row *row = &errors->items.items[first];
        end = wk_rows_end(errors, first, WK_ROW_FIELDS);
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
            const char *what = wk_error_statistic_name(shown[k]);
            bool correlation = shown[k] == WK_ERROR_CORRELATION, several = false;
            for (size_t from = first, to; from < end; from = to) {
                double mean, sd;
                const char *method = errors->items.items[from].run->method;
                to = wk_rows_end(errors, from, WK_FIELDS);
                size_t seeds = wk_error_statistic_of(errors, from, to, shown[k], &mean, &sd);
                const wk_plot_bar bar = {method, mean, seeds > 1 ? mean - sd : NAN,
                                         seeds > 1 ? mean + sd : NAN, style_of(d, method)};
                if (!isnan(mean)) wk_report_push(d->memory, &d->bars, bar);
                several |= seeds > 1;
            }
            d->section = WK_FIGURES_ERRORS;
            d->title = PRINT(d, "%s%s: %s, %s, policy %s",
                             correlation ? "Estimate and error, " : "Image error, ", what,
                             row->run->domain, row->run->exploration, row->result->policy);
            d->name = PRINT(d, "model-error-%s-%s-%s-%s", what, row->run->domain,
                            row->run->exploration, row->result->policy);
            d->caption =
                PRINT(d, "%s%s.%s",
                      correlation ? "How well the ensemble's estimate ranks the "
                                    "environments by their error: 1 is as they are, 0 by "
                                    "chance"
                                  : "Squared error of the images predicted one step ahead, ",
                      correlation                 ? ""
                      : shown[k] == WK_ERROR_MEAN ? "mean over the environments"
                                                  : "mean of the worst tenth of them",
                      several ? " Intervals are the s.d. over seeds." : "");
            d->x_label = PRINT(d, "%s%s", what,
                               correlation ? " of estimate and error" : " of the squared error");
            WK_TRY(finish(d, BARS, err));
        }
    }
    return WK_OK;
}

// Curves that results have.

// A figure made of a curve of results, one for each domain and exploration, task, case and part.
static const struct curve_kind {
    wk_result_kind of;
    int x, y; // curves of the result; x -1: the number of the point
    wk_figure_section section;
    const char *title, *name, *x_label, *y_label, *caption;
} curve_kinds[] = {
    {WK_RESULT_MODEL_ERROR, WK_CURVE_ENV_ESTIMATES, WK_CURVE_ENV_ERRORS, WK_FIGURES_ERRORS,
     "Estimate against error", "estimate", "ensemble's estimate", "image prediction error",
     "The ensemble's estimate for an environment, and the model's error there; one run of each "
     "method, up to 100 of its environments."},
    {WK_RESULT_SCORE, -1, WK_CURVE_IMAGE_ERRORS, WK_FIGURES_PREDICTIONS, "Imagined images",
     "imagined-image", "agent steps ahead", "mean squared error of the image", NULL},
    {WK_RESULT_SCORE, -1, WK_CURVE_REWARD_ERRORS, WK_FIGURES_PREDICTIONS, "Imagined rewards",
     "imagined-reward", "agent steps ahead", "mean absolute error of the reward", NULL},
    {WK_RESULT_BENCHMARK, WK_CURVE_FRACTION, WK_CURVE_CVAR, WK_FIGURES_ROBUST, NULL, NULL,
     "worst fraction α", NULL, NULL},
};

static bool same_subject(const wk_result *a, const wk_result *b)
{
    return a->kind == b->kind && strcmp(a->domain, b->domain) == 0 &&
           strcmp(a->task, b->task) == 0 && strcmp(a->set, b->set) == 0 &&
           strcmp(a->part ? a->part : "", b->part ? b->part : "") == 0;
}

// Policies that were trained for the task come before others.
static int policy_rank(const char *policy)
{
    static const char *const order[] = {"random", "alongside", "adapted"};
    int rank = 0;
    while (rank < 3 && strcmp(policy, order[rank]) != 0)
        rank++;
    return rank;
}

// The result of the run on the subject of `like` that has the curves: of scores that of the policy
// which counts; of the best policy; the newest one. NULL: there is none.
static const wk_result *choose_result(const drawing *d, const wk_report_run *run,
                                      const wk_result *like)
{
    const wk_result *best = NULL;
    const char *policy = wk_run_policy(run, d->data->config);
    for (size_t i = 0; i < run->results.count; i++) {
        const wk_result *r = &run->results.items[i];
        if (r->points == 0 || !same_subject(r, like)) continue;
        if (r->kind == WK_RESULT_SCORE &&
            (!policy || strcmp(r->policy, policy) != 0 || strcmp(r->set, "dr") != 0))
            continue;
        int better = best ? policy_rank(r->policy) - policy_rank(best->policy) : 1;
        if (!better) better = (r->step > best->step) - (r->step < best->step);
        if (!better) better = -wk_result_order_samples(r, 1, best, 1);
        if (better > 0) best = r;
    }
    return best;
}

// Points of one run: more than can be told apart are taken at even distances.
static void add_cloud(drawing *d, const struct curve_kind *kind, const char *method,
                      const wk_result *r)
{
    enum { POINTS_MAX = 100 };
    size_t stride = (r->points + POINTS_MAX - 1) / POINTS_MAX;
    curve c = {0};
    for (size_t i = 0; i < r->points; i += stride)
        add_point(d, &c, r->curves[kind->x][i], r->curves[kind->y][i], 0, 0);
    add_series(d, method, &c, NULL);
}

// The mean of the curves of a method's runs with their s.d.; a run alone has the band of its own.
static void add_mean_curve(drawing *d, const struct curve_kind *kind, const char *method,
                           const wk_result *const *results, size_t count)
{
    double *values = wk_report_alloc(d->memory, count, sizeof *values);
    curve c = {0};
    for (size_t i = 0; i < results[0]->points && values; i++) {
        const wk_result *r = results[0];
        const double *low = r->curves[WK_CURVE_CVAR_LOW], *high = r->curves[WK_CURVE_CVAR_HIGH];
        double x = kind->x < 0 ? (double)i + 1 : r->curves[kind->x][i], y = r->curves[kind->y][i];
        size_t same = 0; // curves of another length are left out
        for (size_t k = 0; k < count; k++)
            if (results[k]->points == r->points) values[same++] = results[k]->curves[kind->y][i];
        if (same == 1)
            add_point(d, &c, x, y, low ? y - low[i] : 0, high ? high[i] - y : 0);
        else
            add_mean(d, &c, x, values, same);
    }
    add_series(d, method, &c, NULL);
}

// Draws the kind's figure of the runs from `first` on that are of its domain and exploration.
static wk_status draw_kind(drawing *d, const struct curve_kind *kind, size_t first,
                           const wk_result *like, wk_error *err)
{
    const wk_runs *all = d->data->runs;
    wk_report_run *const *runs = all->items.items;
    const wk_report_run *run = runs[first];
    size_t end = wk_runs_group_end(all, first);
    bool several = false;
    const wk_result **found = wk_report_alloc(d->memory, end - first, sizeof *found);
    for (size_t from = first, to; from < end && found; from = to) {
        size_t count = 0;
        for (to = from; to < end && strcmp(runs[from]->method, runs[to]->method) == 0; to++) {
            const wk_result *r = choose_result(d, runs[to], like);
            if (r) found[count++] = r;
        }
        several |= count > 1;
        if (count && kind->of == WK_RESULT_MODEL_ERROR)
            add_cloud(d, kind, runs[from]->method, found[0]);
        else if (count)
            add_mean_curve(d, kind, runs[from]->method, found, count);
    }
    d->section = kind->section;
    d->x_label = kind->x_label;
    d->y_label = kind->y_label;
    d->caption = kind->caption;
    if (kind->of == WK_RESULT_MODEL_ERROR) {
        d->title = PRINT(d, "%s: %s, %s, policy %s", kind->title, run->domain, run->exploration,
                         like->policy);
        d->name = PRINT(d, "%s-%s-%s-%s", kind->name, run->domain, run->exploration, like->policy);
        return finish(d, SCATTER, err);
    }
    if (kind->of == WK_RESULT_SCORE) {
        d->title =
            PRINT(d, "%s: %s, %s, %s", kind->title, like->domain, like->task, run->exploration);
        d->name = PRINT(d, "%s-%s-%s-%s", kind->name, like->domain, like->task, run->exploration);
        d->caption = "Along episodes of the policy in the default distribution the world model "
                     "sees 5 frames and imagines the rest from the actions alone, again and again; "
                     "means over 8 episodes, of several runs with their s.d.";
        return finish(d, LINES, err);
    }
    d->title = PRINT(d, "%s, %s distribution: %s, %s, %s", like->set,
                     strcmp(like->part, "in") == 0 ? "in" : "out of", run->domain, like->task,
                     run->exploration);
    d->name = PRINT(d, "robust-%s-%s-%s-%s-%s", like->set, like->part, run->domain, like->task,
                    run->exploration);
    d->y_label = PRINT(d, "CVaR of the %s", like->score);
    d->caption = PRINT(d,
                       "Mean of the worst fraction α of the environments; at 1 that is the mean of "
                       "all. %s",
                       several ? "Lines are means over runs, shaded by their s.d.; of single runs "
                                 "by the 95 % bootstrap interval over the environments."
                               : "Shaded: 95 % bootstrap interval over the environments.");
    return finish(d, LINES, err);
}

// What a figure shows, and the first run that has it.
typedef struct subject {
    const wk_result *like;
    const wk_report_run *of;
    size_t run;
} subject;

// Place of the result's task in the domain, random actions first; 0 for plug-ins.
static int place_of_task(const subject *s)
{
    const wk_domain *domain;
    int place = 0;
    if (strcmp(s->like->task, "random") == 0) return -1;
    if (wk_domain_find(s->of->domain, &domain, NULL) != WK_OK) return 0;
    while (place < domain->n_tasks && strcmp(domain->tasks[place].name, s->like->task) != 0)
        place++;
    return place;
}

static int compare_subjects(const void *a, const void *b, void *paper)
{
    const subject *x = a, *y = b;
    int order = strcmp(x->like->set, y->like->set);
    if (!order) order = place_of_task(x) - place_of_task(y);
    if (!order) order = wk_paper_order(paper, WK_FIELD_TASK, x->like->task, y->like->task);
    if (!order) order = strcmp(x->like->domain, y->like->domain);
    if (!order && x->like->part) order = strcmp(x->like->part, y->like->part);
    return order;
}

// The figures of each domain and exploration in the order of the tasks, whatever that of the files.
static wk_status draw_result_curves(drawing *d, wk_result_kind of, wk_error *err)
{
    const wk_runs *all = d->data->runs;
    wk_report_run *const *runs = all->items.items;
    for (size_t first = 0, end; first < all->items.count; first = end) {
        WK_ARRAY(subject) list = {0};
        end = wk_runs_group_end(all, first);
        for (size_t i = first; i < end; i++)
            for (size_t k = 0; k < runs[i]->results.count; k++) {
                const wk_result *like = &runs[i]->results.items[k];
                bool known = like->kind != of || choose_result(d, runs[i], like) != like;
                for (size_t r = first; r < i && !known; r++) // of a run before
                    known = choose_result(d, runs[r], like);
                if (!known) wk_report_push(d->memory, &list, (subject){like, runs[i], i});
            }
        if (list.count)
            qsort_r(list.items, list.count, sizeof *list.items, compare_subjects,
                    (void *)d->data->paper);
        for (size_t s = 0; s < list.count; s++)
            for (size_t c = 0; c < sizeof curve_kinds / sizeof *curve_kinds; c++)
                if (curve_kinds[c].of == of)
                    WK_TRY(
                        draw_kind(d, &curve_kinds[c], list.items[s].run, list.items[s].like, err));
    }
    return WK_OK;
}

wk_status wk_report_figures_draw(const wk_figure_data *data, wk_report_figures *figures,
                                 wk_sentences *missing, wk_error *err)
{
    drawing d = {.data = data, .memory = &data->runs->memory, .figures = figures};
    WK_TRY(draw_improvements(&d, err));
    WK_TRY(draw_curves(&d, err));
    WK_TRY(wk_report_figures_maps(data, figures, missing, err));
    WK_TRY(draw_signals(&d, err));
    WK_TRY(draw_errors(&d, err));
    WK_TRY(draw_result_curves(&d, WK_RESULT_MODEL_ERROR, err));
    WK_TRY(draw_promises(&d, err));
    WK_TRY(draw_result_curves(&d, WK_RESULT_SCORE, err));
    return draw_result_curves(&d, WK_RESULT_BENCHMARK, err);
}
