// The folder of a task: who works on it, and how earlier attempts ended.
#include "base/document.h"
#include "base/file.h"
#include "sweep/folder.h"
#include "sweep/state.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char FILE_NAME[] = "attempt.json";

wk_status wk_sweep_task_folder(const wk_sweep_plan *plan, const char *directory, int task,
                               bool make, wk_dir **out, wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_print(path, err, WK_SWEEP_FOLDER "/tasks/%s", plan->tasks.items[task].name));
    return wk_dir_open_below(directory, path, make, out, err);
}

static int read_count(wk_document *d)
{
    uint64_t number = wk_document_integer(d);
    if (number > 1000000) wk_document_fail(d, "%" PRIu64 " is too large", number);
    return number <= 1000000 ? (int)number : 0;
}

static void read_member(wk_document *d, wk_sweep_attempt *out)
{
    wk_arena arena = {0};
    if (wk_document_is(d, "attempts")) out->count = read_count(d);
    if (wk_document_is(d, "progress")) out->progress = wk_document_integer(d);
    if (wk_document_is(d, "open")) out->open = wk_document_bool(d);
    if (wk_document_is(d, "code")) out->code = read_count(d);
    if (wk_document_is(d, "error"))
        snprintf(out->error, sizeof out->error, "%s", wk_document_string(d, &arena));
    wk_arena_reset(&arena);
}

// What a damaged file said does not count: the task may be tried again.
static wk_status read_file(const wk_dir *dir, wk_sweep_attempt *out, wk_error *err)
{
    enum { LIMIT = 1 << 16 };
    char *bytes;
    size_t size;
    wk_document d;
    *out = (wk_sweep_attempt){0};
    wk_status status = wk_file_read_in(dir, FILE_NAME, LIMIT, &bytes, &size, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    WK_TRY(status);
    status = wk_document_start(FILE_NAME, bytes, size, &d, NULL);
    while (status == WK_OK && wk_document_member(&d))
        read_member(&d, out);
    if (wk_document_close(&d, NULL) != WK_OK || status != WK_OK) *out = (wk_sweep_attempt){0};
    free(bytes);
    wk_utf8_sanitise(out->error, false);
    return WK_OK;
}

static wk_status write_file(const wk_dir *dir, const wk_sweep_attempt *attempt, wk_error *err)
{
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_json_object(&json, NULL);
    wk_json_integer(&json, "attempts", attempt->count);
    wk_json_unsigned(&json, "progress", attempt->progress);
    wk_json_bool(&json, "open", attempt->open);
    wk_json_integer(&json, "code", attempt->code);
    wk_json_string(&json, "error", attempt->error);
    wk_json_close(&json, '}');
    wk_text_puts(&text, "\n");
    return wk_file_write_text(dir, FILE_NAME, &text, err);
}

wk_status wk_sweep_attempt_read(const wk_sweep_plan *plan, const char *directory, int task,
                                wk_sweep_attempt *out, bool *held, wk_error *err)
{
    wk_dir *dir;
    *out = (wk_sweep_attempt){0};
    *held = false;
    wk_status status = wk_sweep_task_folder(plan, directory, task, false, &dir, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = wk_lock_held(dir, held, err);
    if (status == WK_OK) status = read_file(dir, out, err);
    wk_dir_close(dir);
    return status;
}

wk_status wk_sweep_claim_take(const wk_sweep_plan *plan, const char *directory, int task,
                              wk_sweep_claim *out, wk_error *err)
{
    wk_sweep_state state;
    *out = (wk_sweep_claim){0};
    WK_TRY(wk_sweep_task_folder(plan, directory, task, true, &out->dir, err));
    wk_status status = wk_lock_take(out->dir, &out->lock, err);
    if (status == WK_E_INPUT)
        status = wk_fail(err, status, "another process is already working on the task '%s'",
                         plan->tasks.items[task].name);
    if (status == WK_OK) status = wk_sweep_state_read(plan, directory, task, 0, &state, err);
    if (status == WK_OK && state.foreign)
        status = wk_fail(err, WK_E_INPUT, "%s", state.attempt.error);
    if (status == WK_OK) {
        wk_sweep_attempt *attempt = &state.attempt;
        uint64_t progress = wk_sweep_progress(&state);
        attempt->count = progress == attempt->progress ? attempt->count + 1 : 1;
        attempt->progress = progress;
        attempt->open = true;
        status = write_file(out->dir, attempt, err);
    }
    if (status != WK_OK) wk_sweep_claim_drop(out);
    return status;
}

void wk_sweep_claim_drop(wk_sweep_claim *claim)
{
    wk_lock_release(&claim->lock);
    wk_dir_close(claim->dir);
    *claim = (wk_sweep_claim){0};
}

// How an attempt ended. Only failures are kept.
static wk_status end_attempt(const wk_dir *dir, int code, const char *error, wk_error *err)
{
    wk_sweep_attempt attempt;
    if (code == 0 || code == WK_SWEEP_EXIT_SAVED) return wk_dir_remove(dir, FILE_NAME, err);
    WK_TRY(read_file(dir, &attempt, err));
    attempt.open = false;
    attempt.code = code;
    snprintf(attempt.error, sizeof attempt.error, "%s", error);
    wk_utf8_sanitise(attempt.error, false);
    return write_file(dir, &attempt, err);
}

wk_status wk_sweep_claim_end(wk_sweep_claim *claim, int code, const char *error, wk_error *err)
{
    wk_status status = end_attempt(claim->dir, code, error, err);
    wk_sweep_claim_drop(claim);
    return status;
}

wk_status wk_sweep_attempt_close(const wk_sweep_plan *plan, const char *directory, int task,
                                 int code, const char *error, wk_error *err)
{
    wk_sweep_claim claim = {0};
    wk_sweep_attempt attempt;
    WK_TRY(wk_sweep_task_folder(plan, directory, task, true, &claim.dir, err));
    wk_status status = wk_lock_take(claim.dir, &claim.lock, err);
    bool claimed = status == WK_E_INPUT; // by another process, whose attempt it is now
    if (status == WK_OK) status = read_file(claim.dir, &attempt, err);
    if (status == WK_OK && attempt.open) status = end_attempt(claim.dir, code, error, err);
    wk_sweep_claim_drop(&claim);
    return claimed ? WK_OK : status;
}

wk_status wk_sweep_attempt_forget(const wk_sweep_plan *plan, const char *directory, int task,
                                  wk_error *err)
{
    wk_dir *dir = NULL;
    WK_TRY(wk_sweep_task_folder(plan, directory, task, true, &dir, err));
    wk_status status = wk_dir_remove(dir, FILE_NAME, err);
    wk_dir_close(dir);
    return status;
}
