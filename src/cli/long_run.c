#include "cli/long_run.h"

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

static const int stop_signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP};
enum { STOP_SIGNALS = sizeof stop_signals / sizeof *stop_signals };
static struct sigaction usual[STOP_SIGNALS]; // what they did before

static void do_nothing(int number)
{
    (void)number;
}

void wk_cli_signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigset_t caught;
    sigemptyset(&caught);
    for (int i = 0; i < STOP_SIGNALS; i++) {
        sigaction(stop_signals[i], NULL, &usual[i]);
        // nohup has the caller's word that a lost terminal does not matter.
        if (stop_signals[i] == SIGHUP && usual[i].sa_handler == SIG_IGN) continue;
        sigaction(stop_signals[i], &action, NULL);
        sigaddset(&caught, stop_signals[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &caught, NULL);
    // Where files have a size limit (ulimit -f), the call that writes fails and says so. Caught and
    // not ignored, which programs that are started from here would inherit.
    action.sa_handler = do_nothing;
    sigaction(SIGXFSZ, &action, NULL);
    // A starter may ignore it, and then the exit codes of programs started from here are lost.
    signal(SIGCHLD, SIG_DFL);
}

void wk_cli_signals_release(void)
{
    for (int i = 0; i < STOP_SIGNALS; i++)
        sigaction(stop_signals[i], &usual[i], NULL);
    if (stop) raise(stop);
}

void wk_cli_run_begin(const wk_cli *cli, double lock_wait, bool population, wk_cli_run *run)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    *run = (wk_cli_run){.control = {.stop = &stop, .lock_wait = lock_wait}};
    if (population) {
        wk_run_table_start(&run->table, STDERR_FILENO, PLAIN_SECONDS);
        run->table.line.stamped = true;
    } else {
        wk_status_line_start(&run->line, STDERR_FILENO, PLAIN_SECONDS);
        run->line.stamped = true;
    }
    if (!cli->quiet && population) {
        run->control.table = &run->table;
        run->control.log = (wk_log){wk_run_table_log, &run->table, WK_LOG_INFO};
    } else if (!cli->quiet) {
        run->control.line = &run->line;
        run->control.log = (wk_log){wk_status_line_log, &run->line, WK_LOG_INFO};
    }
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
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
    return wk_cli_note(cli, &text, err);
}
