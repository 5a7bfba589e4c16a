// Which function of a plug-in the thread is in, for the message of a program whose plug-in crashes.
// Callers note every call of a domain, a rule or a reward, those that are built in too; the notes
// of calls within calls form a list. Reading the note is safe in the handler of a signal.
#ifndef WK_BASE_PLUGIN_CALL_H
#define WK_BASE_PLUGIN_CALL_H

#include <stdint.h>

/// A call under way. Texts must stay valid during the call.
typedef struct wk_plugin_call {
    const char *kind, *name;      // "domain", "ball"
    const char *function;         // "step"
    const char *theta;            // of the episode, "(0.5, 1)"; NULL: there is none
    uint64_t seed, episode;       // of the episode
    int step;                     // of the episode, 0 for its reset; -1: not known
    struct wk_plugin_call *outer; // set by wk_plugin_call_enter
} wk_plugin_call;

/// The calling thread enters the function; leave it with the same `call`.
void wk_plugin_call_enter(wk_plugin_call *call);
void wk_plugin_call_leave(const wk_plugin_call *call);

/// The innermost call of the calling thread, or NULL.
const wk_plugin_call *wk_plugin_call_running(void);

/// Makes the call that is the rest of the arguments, noted as `note`.
#define WK_PLUGIN_CALL(note, ...)                                                                  \
    do {                                                                                           \
        wk_plugin_call call_noted = (note);                                                        \
        wk_plugin_call_enter(&call_noted);                                                         \
        __VA_ARGS__;                                                                               \
        wk_plugin_call_leave(&call_noted);                                                         \
    } while (0)

#endif
