#include "cli/long_run.h"

#include "cli/crash.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { PLAIN_SECONDS = 10 }; // between lines that go to a file or pipe

static volatile sig_atomic_t stop;

// Only a flag: the loop looks at it between iterations. A second interrupt means now.
static void on_signal(int number)
{
    if (stop && number == SIGINT) _exit(128 + SIGINT);
    stop = number;
}

// nohup has the caller's word that a lost terminal does not matter.
static bool is_ignored(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void wk_cli_run_catch_signals(void)
{
    wk_crash_mention_resume();
    static const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i] != SIGHUP || !is_ignored(SIGHUP)) sigaction(signals[i], &action, NULL);
}

void wk_cli_run_begin(const wk_cli *cli, double lock_wait, wk_cli_run *run)
{
    *run = (wk_cli_run){.control = {.stop = &stop, .lock_wait = lock_wait}};
    wk_status_line_start(&run->line, STDERR_FILENO, PLAIN_SECONDS);
    run->line.stamped = true;
    if (!cli->quiet) {
        run->control.line = &run->line;
        run->control.log = (wk_log){wk_status_line_log, &run->line, WK_LOG_INFO};
    }
    wk_cli_run_catch_signals();
}

void wk_cli_run_begin_population(const wk_cli *cli, double lock_wait, wk_cli_run *run)
{
    *run = (wk_cli_run){.control = {.stop = &stop, .lock_wait = lock_wait}};
    wk_run_table_start(&run->table, STDERR_FILENO, PLAIN_SECONDS);
    run->table.line.stamped = true;
    if (!cli->quiet) {
        run->control.table = &run->table;
        run->control.log = (wk_log){wk_run_table_log, &run->table, WK_LOG_INFO};
    }
    wk_cli_run_catch_signals();
}

wk_status wk_cli_run_end(wk_cli *cli, const wk_cli_run *run, const char *directory, wk_error *err)
{
    wk_text text = {0};
    cli->resume = run->end != WK_RUN_FINISHED;
    if (run->end == WK_RUN_FINISHED)
        wk_text_printf(&text, "finished: %s\n", directory);
    else
        wk_text_printf(&text, "saved after %s; run the same command to resume: %s\n",
                       run->end == WK_RUN_OUT_OF_TIME ? "the time limit" : strsignal(stop),
                       directory);
    if (!cli->quiet) return wk_cli_print(&text, err);
    wk_text_free(&text);
    return WK_OK;
}
