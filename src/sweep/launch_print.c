// --launch print: the commands of every run that is not done, one line each, for another scheduler
// or a shell.
#include "sweep/report.h"
#include <stdlib.h>
#include <string.h>

// Prints a command after `before` and frees its words. A line holds no control character, and
// without it the words would be others.
static wk_status print_words(wk_sweep_words *words, const char *before, wk_text *out, wk_error *err)
{
    wk_status status = WK_OK;
    for (size_t i = 0; i < words->items.count; i++)
        for (const char *c = words->items.items[i]; status == WK_OK && *c; c++)
            if (wk_utf8_control(c))
                status = wk_fail(err, WK_E_INPUT,
                                 "'%s' has a control character, which a printed command cannot "
                                 "have; rename it, or use --launch local",
                                 words->items.items[i]);
    wk_text_puts(out, before);
    wk_sweep_words_print(words, "waker", out);
    wk_sweep_words_free(words);
    return status;
}

// Whether the grid's own keys name a plug-in. On a command line they would say that the user trusts
// it, which a grid cannot.
static bool names_code(const wk_sweep_plan *plan, int task)
{
    const wk_sweep_settings settings = wk_sweep_task_settings(plan, task);
    bool found = false;
    for (int i = 0; i < settings.n_keys; i++)
        found |= strcmp(settings.keys[i].key, wk_run_keys[WK_RUN_plugin_INDEX]) == 0 ||
                 strcmp(settings.keys[i].key, wk_run_keys[WK_RUN_curriculum_plugin_INDEX]) == 0;
    return found;
}

// What is left of a task: training, where it is not done, and what follows.
static wk_status print_task(const wk_sweep_launch *launch, int task, const wk_sweep_state *state,
                            wk_text *out, wk_error *err)
{
    const char *between = "";
    wk_sweep_words words = {0};
    if (names_code(launch->plan, task)) {
        wk_sweep_task_words(launch->plan, launch->directory, &task, 1, &words);
        return print_words(&words, "", out, err);
    }
    if (!state->trained) {
        wk_sweep_train_words(launch->plan, launch->directory, task, &words);
        WK_TRY(print_words(&words, between, out, err));
        between = " && ";
    }
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++) {
        if (state->follow[i]) continue;
        wk_sweep_follow_words(launch->plan, launch->directory, task, (wk_sweep_follow_kind)i,
                              &words);
        WK_TRY(print_words(&words, between, out, err));
        between = " && ";
    }
    return WK_OK;
}

static wk_status print_all(const wk_sweep_launch *launch, const wk_sweep_state *states,
                           wk_error *err)
{
    bool reported;
    int left = 0;
    for (size_t i = 0; i < launch->plan->tasks.count; i++) {
        if (launch->plan->tasks.items[i].left_out || states[i].phase == WK_SWEEP_DONE) continue;
        WK_TRY(print_task(launch, (int)i, &states[i], launch->output, err));
        wk_text_puts(launch->output, "\n");
        left++;
    }
    WK_TRY(wk_sweep_report_done(launch->plan, launch->directory, &reported, err));
    if (!launch->plan->grid->report.present || (left == 0 && reported)) return WK_OK;
    wk_sweep_words words = {0};
    wk_sweep_report_words(launch->plan, launch->directory, &words);
    WK_TRY(print_words(&words, "", launch->output, err));
    wk_text_puts(launch->output, "\n");
    return WK_OK;
}

static wk_status start(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    wk_sweep_state *states = calloc(launch->plan->tasks.count, sizeof *states);
    if (!states) return wk_fail(err, WK_E_MEMORY, "no memory for the states of the runs");
    wk_status status = wk_sweep_states_read(launch->plan, launch->directory,
                                            launch->options->attempts, states, err);
    if (status == WK_OK) status = print_all(launch, states, err);
    free(states);
    *end = WK_SWEEP_SUBMITTED;
    return status;
}

const wk_sweep_launcher wk_sweep_print = {.name = "print", .start = start};
