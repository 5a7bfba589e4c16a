// A process with one environment of Python (assets/python/worker.py). Data goes through memory that
// both have; a byte on a socket wakes the other one up. It is the child of a guard, the process
// that is started here, which ends all that the environment has started, whatever group or session
// that is in, when the environment's process ends or is to end. Both end with the program, however
// that ends: they see a pipe whose other end nobody holds any more.
#ifndef WK_ENV_PLUGINS_PYTHON_PROCESS_H
#define WK_ENV_PLUGINS_PYTHON_PROCESS_H

#include "waker/env.h"
#include <sys/types.h>

enum { WK_PYTHON_MESSAGE_MAX = 4096 };

/// What the shared memory begins with; after it lie the vector and the image of the
/// observation, and room for a state. The worker has the same offsets.
typedef struct wk_python_shared {
    uint32_t command; // WK_PYTHON_RESET, ...
    uint32_t status;  // of the answer, a wk_python_answer
    uint32_t ended;   // bits: 1 terminated, 2 truncated
    uint32_t length;  // bytes of the message, or of a state
    uint32_t image_height, image_width, image_channels, state_bytes; // of a description
    uint64_t seed;
    double theta[WK_PARAMS_MAX];
    float action[WK_ACTION_MAX];
    float rewards[WK_TASKS_MAX];
    char message[WK_PYTHON_MESSAGE_MAX];
    uint32_t pid;          // of the environment's process; 0: it has not begun
    uint32_t close_failed; // 1: close() raised the exception in `message`
} wk_python_shared;

enum { WK_PYTHON_RESET = 1, WK_PYTHON_STEP, WK_PYTHON_SAVE, WK_PYTHON_LOAD };

/// How a command went.
typedef enum wk_python_answer {
    WK_PYTHON_DONE,
    WK_PYTHON_FAILED,  // the environment raised an exception
    WK_PYTHON_REFUSED, // it is used wrongly, or is not what it says: trying again is of no use
    WK_PYTHON_DIED,    // the process ended
    WK_PYTHON_HUNG,    // it did not answer in time
} wk_python_answer;

/// Zero-initialise.
typedef struct wk_python_process {
    pid_t pid;   // of the guard; 0: none
    int control; // socket: a byte wakes the other side up
    int life;    // pipe: the worker ends when we close it
    wk_python_shared *shared;
    size_t size; // of the shared memory
} wk_python_process;

/// Starts a process in one of the worker's modes, with `size` bytes after the header. Its first
/// answer is to be waited for.
wk_status wk_python_start(wk_python_process *process, const char *mode, const char *spec,
                          size_t size, wk_error *err);

/// The number of the environment's process, for messages.
int wk_python_pid(const wk_python_process *process);

/// Wakes the worker up for shared->command.
void wk_python_send(const wk_python_process *process);

/// Waits for its answer. `why` says what went wrong, in the words of Python where it spoke.
wk_python_answer wk_python_wait(wk_python_process *process, double seconds,
                                char why[WK_PYTHON_MESSAGE_MAX]);

/// Asks a worker that waits for a command to close its environment and end; it is to be stopped
/// then.
void wk_python_dismiss(const wk_python_process *process);

/// Ends the process and everything it started. With `gently` it first gets some seconds to close
/// its environment and end by itself; true: that raised the exception that `why` gets. A zeroed one
/// is fine.
bool wk_python_stop(wk_python_process *process, bool gently, char why[WK_PYTHON_MESSAGE_MAX]);

/// The file of a function that is named by its module, as FILE.py:FUNCTION; runs Python.
wk_status wk_python_locate(const char *spec, char *out, size_t size, wk_error *err);

#endif
