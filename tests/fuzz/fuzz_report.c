// Fuzz target: reports. The input is one of a run's files that a report reads: results of an
// evaluation, model errors or metrics. The report is made or refused with a message, and its page
// printed. Built by tools/fuzz/run.
#include "fuzz/fuzz.h"
#include "report/report.h"
#include "report/sheet.h"
#include "train/runs.h"

// The sheet of worlds is the same for every input and would be most of the time: a pixel of it.
wk_status __wrap_wk_contact_sheet_draw(const wk_domain *domain, const int *options, uint64_t seed,
                                       int steps, int cell, wk_image *out, int *cells,
                                       wk_error *err);
wk_status __wrap_wk_contact_sheet_draw(const wk_domain *domain, const int *options, uint64_t seed,
                                       int steps, int cell, wk_image *out, int *cells,
                                       wk_error *err)
{
    (void)domain, (void)options, (void)seed, (void)steps, (void)cell;
    *cells = 1;
    return wk_image_create(1, 1, 0, out, err);
}

static void make_true_run(void)
{
    wk_error err = {0};
    wk_run_control control = {0};
    wk_run_end end;
    wk_run_config config = quiet_run();
    config.steps = 40, config.prefill = 24, config.env_count = 2, config.replay_capacity = 300;
    config.snapshot_every = 0, config.log_images_every = 0;
    config.eval_every = 40, config.eval_envs = 2;
    snprintf(config.tasks, sizeof config.tasks, "all");
    if (wk_train(&config, "run", NULL, &control, &end, &err) != WK_OK) abort();
    fuzz_remove("run/checkpoints"); // read for every report, and the same for every input
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const names[] = {"eval/alongside-000000000040.json",
                                        "eval/model-error-000000000040.json", "metrics.jsonl"};
    if (!*fuzz_root) {
        fuzz_enter();
        make_true_run();
    }
    if (size == 0) return 0;
    const char *name = names[bytes[0] % 3];
    fuzz_write("run", name, bytes + 1, size - 1);
    wk_error err = {0};
    const char *path = "run";
    wk_report_config config = {.runs = {.paths = &path, .n_paths = 1},
                               .bootstrap = wk_bootstrap_config_default()};
    config.bootstrap.reps = 10;
    wk_report report = {0};
    wk_text page = {0};
    wk_status status = wk_report_make(&config, &report, &err);
    if (status == WK_OK) status = wk_report_page(&report, &page, &err);
    assert(status == WK_OK || err.message[0]);
    if (status == WK_OK) wk_report_text(&report, &page);
    wk_text_free(&page);
    wk_report_free(&report);
    char written[FUZZ_PATH];
    snprintf(written, sizeof written, "run/%s", name);
    unlink(written);
    return 0;
}
