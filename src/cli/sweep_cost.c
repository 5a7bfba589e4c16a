#include "base/table.h"
#include "cli/sweep.h"
#include "log/status_line.h"
#include "run/world.h"
#include "train/update_time.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// The rate of a shape that an earlier one has already; NULL: none.
static const wk_sweep_rate *known_rate(const wk_sweep_plan *plan, const wk_sweep_rate *rates,
                                       size_t shape)
{
    for (size_t i = 0; i < shape; i++)
        if (wk_sweep_same_rate(&plan->shapes.items[i].config, &plan->shapes.items[shape].config))
            return &rates[i];
    return NULL;
}

// Measures with the learner of the shape. That of a plug-in's domain is not known: planning loads
// no code.
static wk_status measure(const wk_cli *cli, const wk_sweep_shape *shape, wk_sweep_rate *out,
                         wk_error *err)
{
    wk_update_time time = {0};
    const wk_log log = wk_cli_log(cli);
    if (*shape->config.plugin) return WK_OK;
    wk_log_line(&log, WK_LOG_INFO, "measuring an update of %s ...", shape->name);
    WK_TRY(wk_update_time_measure(&shape->config, NULL, &time, err));
    *out = (wk_sweep_rate){time.seconds, time.learner_bytes, time.weights_bytes};
    return WK_OK;
}

static bool is_needed(const wk_sweep_plan *plan, const wk_sweep_entry *entries, int shape)
{
    for (size_t i = 0; i < plan->tasks.count; i++)
        if (plan->tasks.items[i].shape == shape && !plan->tasks.items[i].left_out &&
            !entries[i].state.trained)
            return true;
    return false;
}

static wk_status find_rates(const wk_cli *cli, const wk_sweep_plan *plan,
                            const wk_sweep_entry *entries, double updates, bool may_measure,
                            wk_sweep_rate *rates, wk_error *err)
{
    for (size_t i = 0; i < plan->shapes.count; i++) {
        const wk_sweep_rate *known = known_rate(plan, rates, i);
        rates[i] = known ? *known : (wk_sweep_rate){.seconds = NAN};
        if (updates > 0)
            rates[i].seconds = 1 / updates;
        else if (may_measure && isnan(rates[i].seconds) && is_needed(plan, entries, (int)i))
            WK_TRY(measure(cli, &plan->shapes.items[i], &rates[i], err));
    }
    return WK_OK;
}

static void put_hours(wk_table *table, double hours)
{
    if (isnan(hours))
        wk_table_cell(table, "-");
    else
        wk_table_cell(table, hours < 10 ? "%.2f" : "%.0f", hours);
}

static void put_cost(wk_table *table, const char *name, const wk_sweep_cost *cost)
{
    char updates[WK_COUNT_TEXT_MAX];
    wk_count_text((int64_t)cost->updates, updates);
    wk_table_cell(table, "%s", name);
    wk_table_cell(table, "%d", cost->runs);
    wk_table_cell(table, "%d", cost->left);
    wk_table_cell(table, "%s", updates);
    put_hours(table, cost->left > 0 ? cost->hours / cost->left : 0);
    put_hours(table, cost->hours);
    wk_table_cell(table, "%.2f", cost->disk / (1 << 30));
    wk_table_cell(table, "%.2f", cost->memory / (1 << 30));
}

static void print_costs(const wk_sweep_plan *plan, const wk_sweep_entry *entries,
                        const wk_sweep_rate *rates, wk_sweep_cost *total, wk_text *out)
{
    wk_table table;
    wk_device device;
    bool gpu = wk_device_choose("auto", "auto", &device, NULL) == WK_OK && device.number >= 0;
    wk_table_begin(&table, "lrrrrrrr", "shape", "runs", "left", "updates left", "hours each",
                   gpu ? "GPU hours" : "CPU hours", "GiB disk", "GiB memory");
    *total = (wk_sweep_cost){0};
    int rows = 0;
    for (size_t i = 0; i < plan->shapes.count; i++) {
        if (plan->shapes.items[i].count == 0) continue;
        wk_sweep_cost cost = wk_sweep_cost_of(plan, entries, (int)i, &rates[i]);
        put_cost(&table, plan->shapes.items[i].name, &cost);
        wk_sweep_cost_add(total, &cost);
        rows++;
    }
    if (rows > 1) put_cost(&table, "all", total);
    wk_table_finish(&table, 0, out);
}

// What the hours leave out.
static void print_follows(const wk_sweep_grid *grid, wk_text *out)
{
    const char *between = "training only; not included: ";
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++) {
        if (!grid->follow[i].present) continue;
        wk_text_printf(out, "%s%s", between, wk_sweep_follow_names[i]);
        between = ", ";
    }
    if (grid->report.present) wk_text_printf(out, "%sthe report", between);
    if (*between != 't' || grid->report.present) wk_text_puts(out, "\n");
}

wk_status wk_cli_sweep_cost(const wk_cli *cli, const wk_sweep_plan *plan,
                            const wk_sweep_entry *entries, double updates, bool may_measure,
                            wk_sweep_cost *total, wk_text *out, wk_error *err)
{
    wk_sweep_rate *rates = calloc(plan->shapes.count, sizeof *rates);
    if (!rates) return wk_fail(err, WK_E_MEMORY, "no memory for the cost");
    wk_status status = find_rates(cli, plan, entries, updates, may_measure, rates, err);
    if (status == WK_OK) {
        print_costs(plan, entries, rates, total, out);
        print_follows(plan->grid, out);
        bool measured = false;
        for (size_t i = 0; i < plan->shapes.count; i++)
            measured |= rates[i].learner_bytes > 0;
        if (!measured && total->left > 0)
            wk_text_puts(out, "disk and memory are those of the replay buffer: the weights were "
                              "not measured\n");
    }
    free(rates);
    return status;
}
