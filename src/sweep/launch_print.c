// --launch print: the commands of every run that is not done, one line each, for another scheduler
// or a shell.
#include "sweep/report.h"
#include <stdlib.h>

static void print_words(wk_sweep_words *words, wk_text *out)
{
    wk_sweep_words_print(words, "waker", out);
    wk_sweep_words_free(words);
}

// What is left of a task: training, where it is not done, and what follows.
static void print_task(const wk_sweep_launch *launch, int task, const wk_sweep_state *state,
                       wk_text *out)
{
    const char *between = "";
    if (!state->trained) {
        wk_sweep_words words = {0};
        wk_sweep_train_words(launch->plan, launch->directory, task, &words);
        print_words(&words, out);
        between = " && ";
    }
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++) {
        if (state->follow[i]) continue;
        wk_sweep_words words = {0};
        wk_text_puts(out, between);
        wk_sweep_follow_words(launch->plan, launch->directory, task, (wk_sweep_follow_kind)i,
                              &words);
        print_words(&words, out);
        between = " && ";
    }
    wk_text_puts(out, "\n");
}

static void print_report(const wk_sweep_launch *launch)
{
    wk_sweep_words words = {0};
    wk_sweep_report_words(launch->plan, launch->directory, &words);
    print_words(&words, launch->output);
    wk_text_puts(launch->output, "\n");
}

static wk_status print_all(const wk_sweep_launch *launch, const wk_sweep_state *states,
                           wk_error *err)
{
    bool reported;
    int left = 0;
    for (size_t i = 0; i < launch->plan->tasks.count; i++) {
        if (launch->plan->tasks.items[i].left_out || states[i].phase == WK_SWEEP_DONE) continue;
        print_task(launch, (int)i, &states[i], launch->output);
        left++;
    }
    WK_TRY(wk_sweep_report_done(launch->plan, launch->directory, &reported, err));
    if (launch->plan->grid->report.present && (left > 0 || !reported)) print_report(launch);
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
