// Fuzz target: event files and metrics.jsonl that a resumed run writes on in. The input is the
// file; where the mark of the checkpoint lies is taken from it. The file is cut to whole records,
// and what is written afterwards stands at its end. Built by tools/fuzz/run.
#include "fuzz/fuzz.h"
#include "log/files.h"

// Writes a record at the end of what was opened and takes it back.
static void go_on(wk_append_file *file, bool lines)
{
    wk_error err = {0};
    wk_scalar scalar = {"train/loss", 1.5, WK_SCALAR_PLAIN};
    wk_metrics_record record = {.step = 8, .agent_step = 4, .scalars = &scalar, .n_scalars = 1};
    uint64_t before = file->end;
    wk_status status = lines ? wk_jsonl_write(file, &record, false, &err)
                             : wk_tensorboard_write(file, &record, &err);
    if (status != WK_OK) abort();
    assert(file->end > before);
    if (wk_append_file_truncate(file, before, &err) != WK_OK) abort();
    wk_append_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char name[] = "events.out.tfevents.1.fuzz.1.waker";
    if (!*fuzz_root) fuzz_enter();
    if (size < 2) return 0;
    uint64_t max = bytes[0] & 1 ? UINT64_MAX : bytes[1];
    wk_error err = {0};
    wk_dir *dir = NULL;
    wk_append_file file = {0};
    char used[WK_METRICS_FILE_MAX];
    fuzz_write("log", name, bytes + 2, size - 2);
    fuzz_write("log", WK_METRICS_JSONL, bytes + 2, size - 2);
    if (wk_dir_open(NULL, "log", &dir, &err) != WK_OK) abort();
    if (wk_tensorboard_open(dir, name, max, &(wk_metrics_config){0}, used, &file, &err) == WK_OK)
        go_on(&file, false);
    else
        assert(err.message[0]);
    if (wk_jsonl_open(dir, WK_METRICS_JSONL, max, &file, &err) == WK_OK)
        go_on(&file, true);
    else
        assert(err.message[0]);
    wk_dir_close(dir);
    fuzz_remove("log");
    return 0;
}
