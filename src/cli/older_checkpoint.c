// Commands that read the newest checkpoint take the one before when it is damaged, and say so.
#include "cli/cli.h"
#include "run/checkpoint/checkpoint.h"
#include <inttypes.h>

// Whether the step is still listed: a run that trains may have deleted it since.
static bool is_there(const char *directory, uint64_t step)
{
    wk_steps steps = {0};
    bool there = false;
    if (wk_checkpoint_list(directory, &steps, NULL) == WK_OK)
        for (size_t i = 0; i < steps.count; i++)
            there |= steps.items[i] == step;
    wk_array_free(&steps);
    return there;
}

void wk_cli_warn_older(const wk_cli *cli, const char *directory)
{
    wk_steps steps = {0};
    wk_checkpoint_summary summary;
    wk_error fault = {0};
    uint64_t used;
    if (wk_checkpoint_list(directory, &steps, NULL) == WK_OK && steps.count > 1 &&
        wk_checkpoint_newest(directory, &used, NULL) == WK_OK) {
        uint64_t newest = steps.items[steps.count - 1];
        const wk_log log = wk_cli_log(cli);
        if (used < newest &&
            wk_checkpoint_summarise(directory, newest, &summary, &fault) != WK_OK &&
            is_there(directory, newest))
            wk_log_line(&log, WK_LOG_WARN,
                        "using the older checkpoint at agent step %" PRIu64 ", because %.500s",
                        used, fault.message);
    }
    wk_array_free(&steps);
}
