// Fuzz target: whole runs. A true run of two checkpoints is edited in any of its files and
// continued by some steps: that succeeds, or is refused with a message; an unedited one succeeds.
// Built by tools/fuzz/run.
#include "fuzz/fuzz.h"
#include "train/runs.h"

static wk_status train(const char *directory, int64_t steps, wk_error *err)
{
    wk_run_control control = {0};
    wk_run_end end;
    wk_run_config config = quiet_run();
    config.steps = steps, config.prefill = 24, config.checkpoint_every_steps = 24;
    config.env_count = 1, config.replay_capacity = 60, config.snapshot_every = 0;
    config.batch = 1, config.length = 3, config.horizon = 2;
    config.log_every = 12, config.log_images_every = 0;
    return wk_train(&config, directory, NULL, &control, &end, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    wk_error err = {0};
    if (fuzz_count == 0) {
        fuzz_enter();
        if (train("true", 60, &err) != WK_OK) abort();
        fuzz_load("true");
    }
    bool edited = fuzz_make("run", bytes, size) > 0;
    // Updates are most of the time: one input in eight goes on to the next of them.
    int64_t steps = size > 0 && bytes[size - 1] % 8 == 7 ? 66 : 61;
    wk_status status = train("run", steps, &err);
    assert(status == WK_OK || (edited && err.message[0]));
    return 0;
}
