// Child processes of a sweep: this program with other words. Each has a process group of its own,
// so that an interrupt from the terminal reaches its parent alone, which passes it on once; when
// the parent dies, they are asked to save and stop.
#ifndef WK_SWEEP_PROCESS_H
#define WK_SWEEP_PROCESS_H

#include "sweep/plan.h"
#include <signal.h>
#include <sys/types.h>

enum { WK_SWEEP_LINE_MAX = 512 };

/// The path of this program; false where it cannot be known.
bool wk_sweep_program(char out[WK_PATH_MAX]);

/// What a process is started with.
typedef struct wk_sweep_process {
    const char *program;
    const wk_sweep_words *words;
    const char *log;  // file that its output is appended to; NULL: that of this process
    const char *gpus; // its CUDA_VISIBLE_DEVICES; NULL: as for this process
} wk_sweep_process;

/// Starts it without waiting.
wk_status wk_sweep_process_start(const wk_sweep_process *process, pid_t *pid, wk_error *err);

/// How a process ended: its exit code, or 128 and the number of the signal that ended it.
int wk_sweep_exit_code(int status);

/// Runs it to its end, with its messages passed on to standard error; a signal in `stop` (NULL:
/// never) is passed on as SIGTERM. `line` gets its last message; where a signal ended it, the
/// line begins with that.
wk_status wk_sweep_process_run(const wk_sweep_process *process, const volatile sig_atomic_t *stop,
                               int *code, char line[WK_SWEEP_LINE_MAX], wk_error *err);

/// Says in `line` that a signal ended a process and, where it had time for one, its own message
/// about it: `said`, the last line that it wrote ("" or NULL: none).
void wk_sweep_signal_line(int status, const char *said, char line[WK_SWEEP_LINE_MAX]);

/// The last message of the program ("waker COMMAND: ...") in a log after its first `begin` bytes,
/// "" where there is none.
void wk_sweep_log_message(const char *log, off_t begin, char line[WK_SWEEP_LINE_MAX]);
/// The size of a log; 0 where it cannot be read.
off_t wk_sweep_log_size(const char *log);

#endif
