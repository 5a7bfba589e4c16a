// Comparisons of curricula as tables.
#include "report/tables/improvement.h"

#include <string.h>

// What the paper's metrics are called for people.
static const char *metric_title(const char *metric)
{
    if (strcmp(metric, "cvar0.1") == 0) return "CVaR 0.1";
    if (strcmp(metric, "ood-average") == 0) return "Out-of-distribution average";
    return strcmp(metric, "average") == 0 ? "Average" : metric;
}

void wk_comparison_group_title(const wk_comparison_group *group, wk_text *out)
{
    wk_text_printf(out, "%s, %s%s", metric_title(group->metric), group->exploration,
                   group->combined ? ", combined domain" : "");
}

static void put_headings(wk_text_table *out, const char *const *names, size_t count, size_t heads)
{
    out->columns = count;
    out->heads = heads;
    for (size_t i = 0; i < count; i++)
        wk_text_table_add(out, false, "%s", names[i]);
}

static void put_group(wk_text_table *out, const wk_comparison_group *group)
{
    wk_text_table_add(out, false, "%s%s", group->metric, group->combined ? " (combined)" : "");
    wk_text_table_add(out, false, "%s", group->exploration);
}

static void put_estimate(wk_text_table *out, const wk_estimate *e, bool best)
{
    wk_text_table_add(out, best, "%.3f", e->value);
    wk_text_table_add(out, false, "%.3f to %.3f", e->low, e->high);
}

void wk_improvement_table(const wk_comparison *comparison, wk_text_table *out)
{
    static const char *const names[] = {"metric", "exploration", "X",     "Y",
                                        "P(X>Y)", "interval",    "tasks", "runs"};
    out->title = "Probability of improvement";
    wk_text_puts(&out->caption,
                 "How likely a run of X scores higher than one of Y, averaged over tasks, with "
                 "its 95 % stratified bootstrap interval; marked: the interval lies above 0.5 "
                 "and there are at least 4 runs of each. Runs: the fewest of a task.");
    put_headings(out, names, sizeof names / sizeof *names, 4);
    for (size_t i = 0; i < comparison->improvements.count; i++) {
        const wk_improvement *p = &comparison->improvements.items[i];
        put_group(out, &p->group);
        wk_text_table_add(out, false, "%s", p->x);
        wk_text_table_add(out, false, "%s", p->y);
        put_estimate(out, &p->estimate, wk_improvement_is_claimed(&p->estimate, p->min_runs));
        wk_text_table_add(out, false, "%zu", p->tasks);
        wk_text_table_add(out, false, "%zu", p->min_runs);
    }
}

void wk_ranking_table(const wk_comparison *comparison, wk_text_table *out)
{
    static const char *const names[] = {"metric",   "exploration", "curriculum", "IQM",
                                        "interval", "tasks",       "runs"};
    out->title = "Interquartile means";
    wk_text_puts(&out->caption,
                 "Mean of the middle half of all scores, each divided by the highest that any run "
                 "has on its task, with its 95 % stratified bootstrap interval. Runs: the most "
                 "of a task.");
    put_headings(out, names, sizeof names / sizeof *names, 3);
    for (size_t i = 0; i < comparison->ranking.count; i++) {
        const wk_curriculum_score *s = &comparison->ranking.items[i];
        put_group(out, &s->group);
        wk_text_table_add(out, false, "%s", s->curriculum);
        put_estimate(out, &s->iqm, false);
        wk_text_table_add(out, false, "%zu", s->tasks);
        wk_text_table_add(out, false, "%zu", s->runs);
    }
}

static void csv_group(const wk_comparison_group *group, wk_text *out)
{
    wk_text_printf(out, "%s,%s,%d,", group->metric, group->exploration, group->combined);
}

void wk_improvement_csv(const wk_comparison *comparison, wk_text *out)
{
    wk_text_puts(out, "metric,exploration,combined,x,y,probability,low,high,tasks,runs\n");
    for (size_t i = 0; i < comparison->improvements.count; i++) {
        const wk_improvement *p = &comparison->improvements.items[i];
        csv_group(&p->group, out);
        wk_csv_field(out, p->x);
        wk_text_puts(out, ",");
        wk_csv_field(out, p->y);
        wk_text_printf(out, ",%.17g,%.17g,%.17g,%zu,%zu\n", p->estimate.value, p->estimate.low,
                       p->estimate.high, p->tasks, p->min_runs);
    }
}

void wk_ranking_csv(const wk_comparison *comparison, wk_text *out)
{
    wk_text_puts(out, "metric,exploration,combined,curriculum,iqm,low,high,tasks,runs\n");
    for (size_t i = 0; i < comparison->ranking.count; i++) {
        const wk_curriculum_score *s = &comparison->ranking.items[i];
        csv_group(&s->group, out);
        wk_csv_field(out, s->curriculum);
        wk_text_printf(out, ",%.17g,%.17g,%.17g,%zu,%zu\n", s->iqm.value, s->iqm.low, s->iqm.high,
                       s->tasks, s->runs);
    }
}
