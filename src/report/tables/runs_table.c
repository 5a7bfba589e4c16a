#include "report/tables/runs_table.h"

#include "report/data/methods.h"
#include <inttypes.h>
#include <string.h>

static uint64_t last_step(const wk_report_run *run)
{
    uint64_t last = 0;
    for (size_t i = 0; i < run->scores.count; i++)
        if (run->scores.items[i].step > last) last = run->scores.items[i].step;
    return last;
}

static void put_setting(const wk_report_run *run, int field, wk_text_table *out)
{
    wk_text value = {0};
    wk_run_setting(run, field, &value);
    wk_text_table_add(out, false, "%s", wk_text_get(&value));
    out->failed |= value.failed;
    wk_text_free(&value);
}

// Control steps are known of built-in domains: reading a run loads no code.
static void put_steps(const wk_report_run *run, wk_text_table *out)
{
    const wk_domain *domain;
    uint64_t last = last_step(run);
    bool known = wk_domain_find(run->domain, &domain, NULL) == WK_OK;
    wk_text_table_add(out, false, run->scores.count ? "%" PRIu64 : "-", last);
    wk_text_table_add(out, false, run->scores.count && known ? "%" PRIu64 : "-",
                      known ? last * (uint64_t)domain->action_repeat : 0);
}

void wk_runs_table(const wk_runs *runs, wk_text_table *out)
{
    static const char *const heads[] = {"domain", "exploration", "method", "seed"};
    bool differs[WK_RUN_FIELD_COUNT];
    wk_runs_differing(runs, differs);
    bool many = wk_runs_differ_in_many(runs); // then the table of settings has them
    if (many) memset(differs, 0, sizeof differs);
    out->title = "Runs";
    wk_text_puts(&out->caption,
                 "Runs are seeds of one method when all settings that shape what is learned agree. "
                 "Agent steps: the last ones with scores; control steps: what the simulator did in "
                 "them, as the paper counts.");
    wk_text_puts(&out->caption, many ? " runs.csv has all settings of every run."
                                     : " Behind them: the settings that differ; runs.csv has all "
                                       "of them.");
    out->heads = sizeof heads / sizeof *heads;
    for (size_t i = 0; i < out->heads; i++)
        wk_text_table_add(out, false, "%s", heads[i]);
    wk_text_table_add(out, false, "agent steps");
    wk_text_table_add(out, false, "control steps");
    out->columns = out->heads + 3;
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
        if (differs[f]) {
            wk_text_table_add(out, false, "%s", wk_run_keys[f]);
            out->columns++;
        }
    wk_text_table_add(out, false, "run");
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        wk_text_table_add(out, false, "%s", run->domain);
        wk_text_table_add(out, false, "%s", run->exploration);
        wk_text_table_add(out, false, "%s", run->method);
        wk_text_table_add(out, false, "%" PRIu64, run->seed);
        put_steps(run, out);
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
            if (differs[f]) put_setting(run, f, out);
        wk_text_table_add(out, false, "%s", run->directory);
    }
}

void wk_runs_table_csv(const wk_runs *runs, wk_text *out)
{
    wk_text_puts(out, "run,method,agent_steps");
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
        wk_text_printf(out, ",%s", wk_run_keys[f]);
    wk_text_puts(out, "\n");
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        wk_csv_field(out, run->directory);
        wk_text_puts(out, ",");
        wk_csv_field(out, run->method);
        wk_text_printf(out, ",%" PRIu64, last_step(run));
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++) {
            wk_text value = {0};
            wk_run_config_get(&run->config, f, &value);
            wk_text_puts(out, ",");
            wk_csv_field(out, wk_text_get(&value));
            out->failed |= value.failed;
            wk_text_free(&value);
        }
        wk_text_puts(out, "\n");
    }
}
