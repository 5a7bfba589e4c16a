// waker report: what many runs say together, as a page, tables and figures.
#include "report/report.h"
#include "cli/cli.h"
#include "run/weights.h"

#include <stdio.h>
#include <string.h>

typedef struct report_values {
    const char *out, *policy, *name;
    wk_arg_texts by;
    wk_arg_seed seed;
    int reps;
    double step;
    bool json;
} report_values;

// As many resamples as rliable's documentation uses for probabilities of improvement.
static const report_values defaults = {.reps = 2000, .step = -1};

#define WK_VALUES report_values
static const wk_arg args[] = {
    WK_OPT_REQUIRED(WK_ARG_PATH, "out", out, "DIR", "directory for the page, tables and figures"),
    WK_OPT_CHOICE("policy", policy, "adapted|alongside|finetuned|random",
                  "policies to report (default: adapted if any, else alongside)"),
    WK_OPT_TEXT("name", name, "NAME", "use the adaptations or fine-tunings with this name"),
    WK_OPT_TEXTS("by", by, "KEY",
                 "setting whose value is part of every column's name; may be repeated"),
    WK_OPT_NUMBER("step", step, "N",
                  "agent step of the world models in the tables (default: the last of each run)", 0,
                  1e15),
    WK_SEED_ARG_ROW("the bootstrap", "0"),
    WK_OPT_INT("reps", reps, "N", "resamples of the bootstrap (default: 2000)", 2, 10000000),
    WK_OPT_FLAG("json", json, "print the numbers as JSON"),
};

static wk_status check_name(const report_values *v, wk_error *err)
{
    bool named =
        !v->policy || strcmp(v->policy, "adapted") == 0 || strcmp(v->policy, "finetuned") == 0;
    if (v->name && !named)
        return wk_fail(err, WK_E_INPUT,
                       "--name selects adapted or fine-tuned policies; --policy %s has no names",
                       v->policy);
    return wk_weights_check_name(v->name, err);
}

// As results have it: "adapted", "adapted.NAME"; NULL for what is usual.
static const char *policy_of(const report_values *v, char out[WK_WEIGHTS_TITLE_MAX])
{
    if (!v->name) return v->policy;
    snprintf(out, WK_WEIGHTS_TITLE_MAX, "%s.%s", v->policy ? v->policy : "adapted", v->name);
    return out;
}

static wk_status show(wk_cli *cli, const report_values *v, const wk_report *report, wk_error *err)
{
    wk_text text = {0};
    const wk_log log = {wk_log_to_stream, stderr, WK_LOG_WARN};
    if (v->json)
        wk_report_json(report, &text);
    else
        wk_report_text(report, &text);
    if (!v->json)
        wk_text_printf(&text, "%s%zu run%s, %zu figure%s, written to %s/index.html\n",
                       text.length ? "\n" : "", report->runs.items.count,
                       wk_plural(report->runs.items.count), report->figures.items.count,
                       wk_plural(report->figures.items.count), v->out);
    for (size_t i = 0; i < report->runs.problems.items.count; i++)
        wk_log_line(&log, WK_LOG_WARN, "left out: %s", report->runs.problems.items.items[i]);
    for (size_t i = 0; i < report->runs.items.count; i++)
        wk_cli_warn_older(cli, report->runs.items.items[i]->directory);
    cli->findings = report->runs.problems.items.count > 0;
    return wk_cli_print(&text, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const report_values *v = values;
    WK_TRY(check_name(v, err));
    char title[WK_WEIGHTS_TITLE_MAX];
    wk_pool *pool;
    wk_progress_line progress = {0};
    WK_TRY(wk_pool_create(cli->threads, &pool, err));
    wk_cli_progress(cli, "runs", &progress);
    wk_report_config config = {
        .runs = {.paths = cli->words.items,
                 .n_paths = (size_t)cli->words.count,
                 .by = v->by.items,
                 .n_by = (size_t)v->by.count,
                 .pool = pool,
                 .progress = &progress},
        .results = {.policy = policy_of(v, title), .step = (int64_t)v->step},
        .bootstrap = wk_bootstrap_config_default(),
    };
    config.bootstrap.reps = v->reps;
    config.bootstrap.seed = v->seed.value;
    wk_report report = {0};
    wk_status status = wk_report_make(&config, &report, err);
    if (status == WK_OK) status = wk_report_write(&report, v->out, err);
    wk_progress_finish(&progress);
    if (status == WK_OK) status = show(cli, v, &report, err);
    wk_report_free(&report);
    wk_pool_destroy(pool);
    return status;
}

const wk_command wk_command_report = {
    .name = "report",
    .summary = "Compare many runs: tables, statistics and figures on one page",
    .usage = "report [LABEL=]RUN... --out DIR [--by KEY] [--policy KIND] [--name NAME] [--step N] "
             "[--json]",
    .details =
        "Takes runs, and directories that contain runs at any depth. Reads the results of\n"
        "'waker eval' and 'waker model-error' and writes DIR/index.html, which is\n"
        "self-contained, DIR/tables (txt, csv) and DIR/figures (svg, png). A grid need\n"
        "not be complete: the report lists what is missing. Files that cannot be used are left\n"
        "out and listed, and the exit code is then 3. Runs whose settings all agree are seeds\n"
        "of one method; others get columns of their own, named by what differs, by --by KEY, or\n"
        "by the LABEL given to them. Runs with the same label are seeds of one method.\n",
    .examples = "report runs --out report\nreport runs/dr-* runs/waker-m-* --out report --json\n"
                "report runs --out report --by curriculum.temperature\n"
                "report wide=runs/units-800 narrow=runs/units-400 --out report",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {1, WK_ARG_WORDS_MAX},
    .run = run,
};
