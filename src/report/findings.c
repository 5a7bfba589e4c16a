#include "report/report.h"

#include <string.h>

// The comparisons and methods of one metric and exploration.
typedef struct group_results {
    const wk_comparison_group *group;
    const wk_improvement *pairs;
    size_t n_pairs;
    const wk_curriculum_score *methods;
    size_t n_methods;
} group_results;

static const char *method_name(const group_results *c, size_t i)
{
    return c->methods[i].curriculum;
}

// Which of the two scores higher for certain: 1 for X, -1 for Y, 0 for neither.
static int winner(const wk_improvement *p)
{
    if (wk_improvement_is_claimed(&p->estimate, p->min_runs)) return 1;
    wk_estimate turned = {1 - p->estimate.value, 1 - p->estimate.high, 1 - p->estimate.low};
    return wk_improvement_is_claimed(&turned, p->min_runs) ? -1 : 0;
}

// The numbers of a single pair; of several the table has them.
static void put_numbers(const wk_improvement *p, bool turned, wk_text *out)
{
    const wk_estimate *e = &p->estimate;
    wk_text_printf(out, " (probability %.2f, interval %.2f to %.2f)",
                   turned ? 1 - e->value : e->value, turned ? 1 - e->high : e->low,
                   turned ? 1 - e->low : e->high);
}

// "'waker-m' scores higher than 'dr', 'ge'", or nothing.
static bool put_wins(const group_results *c, const char *name, wk_text *out)
{
    size_t found = 0;
    for (size_t i = 0; i < c->n_pairs; i++) {
        const wk_improvement *p = &c->pairs[i];
        bool x = strcmp(p->x, name) == 0;
        if ((!x && strcmp(p->y, name) != 0) || winner(p) != (x ? 1 : -1)) continue;
        if (found++ == 0)
            wk_text_printf(out, "'%s' scores higher than ", name);
        else
            wk_text_puts(out, ", ");
        wk_text_printf(out, "'%s'", x ? p->y : p->x);
        if (c->n_pairs == 1) put_numbers(p, !x, out);
    }
    return found > 0;
}

static size_t fewest_runs(const group_results *c)
{
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; i < c->n_pairs; i++)
        fewest = c->pairs[i].min_runs < fewest ? c->pairs[i].min_runs : fewest;
    return fewest;
}

// The pairs that nothing can be said about, where others can.
static void put_open(const group_results *c, wk_text *out)
{
    const char *before = ". No difference can be claimed between ";
    for (size_t i = 0; i < c->n_pairs; i++) {
        if (winner(&c->pairs[i]) != 0) continue;
        wk_text_printf(out, "%s'%s' and '%s'", before, c->pairs[i].x, c->pairs[i].y);
        before = ", ";
    }
}

static void put_none(const group_results *c, wk_text *out)
{
    size_t runs = fewest_runs(c);
    wk_text_puts(out, "no difference can be claimed between ");
    for (size_t i = 0; i < c->n_methods; i++)
        wk_text_printf(out, "%s'%s'",
                       i == 0                 ? ""
                       : i + 1 < c->n_methods ? ", "
                                              : " and ",
                       method_name(c, i));
    if (runs < WK_CLAIM_RUNS_MIN)
        wk_text_printf(out, ": %zu run%s of a task %s too few, %d of each method are needed", runs,
                       wk_plural((uint64_t)runs), runs == 1 ? "is" : "are", WK_CLAIM_RUNS_MIN);
    else
        wk_text_puts(out, ": the intervals of all probabilities of improvement include 0.5");
}

static void put_group(const group_results *c, wk_text *out)
{
    wk_comparison_group_title(c->group, out);
    wk_text_puts(out, ": ");
    if (c->n_methods < 2) {
        wk_text_printf(out, "only '%s' has results; there is nothing to compare it with",
                       method_name(c, 0));
        return;
    }
    if (c->n_pairs == 0) {
        wk_text_puts(out, "no two methods have results of the same task");
        return;
    }
    size_t start = out->length;
    for (size_t i = 0; i < c->n_methods; i++) {
        wk_text wins = {0};
        if (put_wins(c, method_name(c, i), &wins))
            wk_text_printf(out, "%s%s", out->length > start ? "; " : "", wk_text_get(&wins));
        out->failed |= wins.failed;
        wk_text_free(&wins);
    }
    if (out->length > start)
        put_open(c, out);
    else
        put_none(c, out);
}

// The methods and pairs of the group that ranking entry `first` belongs to.
static group_results find_group(const wk_comparison *comparison, size_t first)
{
    const wk_curriculum_score *methods = &comparison->ranking.items[first];
    group_results c = {.group = &methods->group, .methods = methods};
    while (first + c.n_methods < comparison->ranking.count &&
           wk_comparison_group_same(c.group, &methods[c.n_methods].group))
        c.n_methods++;
    for (size_t i = 0; i < comparison->improvements.count; i++) {
        const wk_improvement *p = &comparison->improvements.items[i];
        if (!wk_comparison_group_same(c.group, &p->group)) continue;
        if (c.n_pairs++ == 0) c.pairs = p;
    }
    return c;
}

wk_status wk_findings_make(const wk_comparison *comparison, wk_sentences *out, wk_error *err)
{
    for (size_t i = 0; i < comparison->ranking.count;) {
        group_results c = find_group(comparison, i);
        wk_text text = {0};
        put_group(&c, &text);
        wk_status status = text.failed ? wk_fail(err, WK_E_MEMORY, "no memory for the findings")
                                       : wk_sentences_add(out, err, "%s", wk_text_get(&text));
        wk_text_free(&text);
        WK_TRY(status);
        i += c.n_methods;
    }
    return WK_OK;
}
