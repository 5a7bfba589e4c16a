// What long-running commands share: signals that end them cleanly, the status line or table, and
// the closing message. SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP (unless ignored, as by nohup) and,
// once the work has begun, SIGPIPE and SIGXFSZ ask to save and stop; a second SIGINT quits.
#ifndef WK_CLI_LONG_RUN_H
#define WK_CLI_LONG_RUN_H

#include "cli/cli.h"
#include "log/run_table.h"
#include "train/train.h"

/// A long run's control with the line or table it points to. One at a time in a process.
typedef struct wk_cli_run {
    wk_run_control control;
    wk_status_line line;
    wk_run_table table;
    wk_run_end end; // for the call that is controlled
} wk_cli_run;

/// A row for --lock-wait (default WK_LOCK_WAIT_SECONDS), which sets the member double lock_wait.
#define WK_LOCK_WAIT_ARG_ROW                                                                       \
    WK_OPT_NUMBER("lock-wait", lock_wait, "SECONDS",                                               \
                  "wait for another process to leave the directory (default: 10)", 0, 86400)

/// Catches the signals, first thing in the program: a control that is made later knows of one that
/// has come. Unblocks them too: who starts the program with them blocked leaves no moment in which
/// one kills it. SIGXFSZ does nothing from here on, so that the call that writes fails.
void wk_cli_signals_catch(void);
/// For commands that cannot resume: signals act as usual, also one that has come.
void wk_cli_signals_release(void);

/// Makes the control, which waits `lock_wait` seconds for another process; of a population with the
/// table instead of the line.
void wk_cli_run_begin(const wk_cli *cli, double lock_wait, bool population, wk_cli_run *run);

/// Says how it ended in `directory` and sets the exit code for a run to be continued.
wk_status wk_cli_run_end(wk_cli *cli, const wk_cli_run *run, const char *directory, wk_error *err);

#endif
