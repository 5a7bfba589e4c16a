#include "sweep/report.h"

#include "base/file.h"
#include "sweep/folder.h"
#include "sweep/process.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char MARK[] = "report/sweep.done", LOG[] = WK_SWEEP_FOLDER "/report.log";
enum { MARK_LIMIT = 1 << 26, LEFT_OUT = 3 };

// What the report is made of: its options, and the runs that are done with what followed them.
static wk_status print_mark(const wk_sweep_plan *plan, const char *directory, wk_text *out,
                            wk_error *err)
{
    for (int i = 0; i < plan->grid->report.count; i++)
        wk_text_printf(out, "%s ", plan->grid->report.options[i]);
    wk_text_puts(out, "\n");
    for (size_t i = 0; i < plan->tasks.count; i++) {
        wk_sweep_state state;
        WK_TRY(wk_sweep_state_read(plan, directory, (int)i, 0, &state, err));
        if (state.phase == WK_SWEEP_DONE)
            wk_text_printf(out, "%s %" PRIu64 "\n", plan->tasks.items[i].name,
                           wk_sweep_progress(&state));
    }
    return out->failed ? wk_fail(err, WK_E_MEMORY, "no memory for the report's runs") : WK_OK;
}

static wk_status is_made(const char *directory, const wk_text *wanted, bool *out, wk_error *err)
{
    char path[WK_PATH_MAX], *there = NULL;
    size_t size;
    *out = false;
    if (wk_path_join(directory, MARK, path, NULL) != WK_OK) return WK_OK;
    wk_status status = wk_file_read(path, MARK_LIMIT, &there, &size, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) *out = strcmp(there, wk_text_get(wanted)) == 0;
    free(there);
    return status;
}

wk_status wk_sweep_report_done(const wk_sweep_plan *plan, const char *directory, bool *out,
                               wk_error *err)
{
    wk_text wanted = {0};
    *out = true;
    if (!plan->grid->report.present) return WK_OK;
    wk_status status = print_mark(plan, directory, &wanted, err);
    if (status == WK_OK) status = is_made(directory, &wanted, out, err);
    wk_text_free(&wanted);
    return status;
}

static wk_status make(const wk_sweep_launch *launch, int *code, wk_error *err)
{
    char line[WK_SWEEP_LINE_MAX], log[WK_PATH_MAX];
    wk_sweep_words words = {0};
    WK_TRY(wk_dir_make_below(launch->directory, "report", err));
    WK_TRY(wk_path_join(launch->directory, LOG, log, err));
    wk_sweep_report_words(launch->plan, launch->directory, &words);
    if (launch->options->quiet) wk_sweep_words_add(&words, "--quiet");
    const wk_sweep_process process = {.program = launch->program, .words = &words, .log = log};
    wk_status status = wk_sweep_process_run(&process, launch->stop, code, line, err);
    wk_sweep_words_free(&words);
    if (status != WK_OK || *code == 0 || *code == LEFT_OUT) return status;
    if (launch->stop && *launch->stop) return WK_OK;
    return wk_fail(err, WK_E_IO, "the report failed: %s", line);
}

static wk_status make_and_mark(const wk_sweep_launch *launch, const wk_text *mark,
                               wk_sweep_end *end, wk_error *err)
{
    int code = 0;
    char path[WK_PATH_MAX];
    WK_TRY(make(launch, &code, err));
    if (code != 0 && code != LEFT_OUT) {
        *end = WK_SWEEP_SAVED; // interrupted
        return WK_OK;
    }
    if (code == LEFT_OUT && *end == WK_SWEEP_FINISHED) *end = WK_SWEEP_FINDINGS;
    WK_TRY(wk_path_join(launch->directory, MARK, path, err));
    return wk_file_write(path, wk_text_get(mark), mark->length, err);
}

wk_status wk_sweep_report_make(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    bool made;
    wk_text mark = {0};
    if (!launch->plan->grid->report.present) return WK_OK;
    wk_status status = print_mark(launch->plan, launch->directory, &mark, err);
    if (status == WK_OK) status = is_made(launch->directory, &mark, &made, err);
    if (status == WK_OK && !made) status = make_and_mark(launch, &mark, end, err);
    wk_text_free(&mark);
    return status;
}
