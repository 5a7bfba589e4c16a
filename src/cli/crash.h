// What the program says when code of a plug-in crashes: the plug-in's file, which of its functions
// ran and in which episode, in one line on standard error. Then the signal does what it would have
// done. Handlers are installed with the first shared object that is loaded, not without.
#ifndef WK_CLI_CRASH_H
#define WK_CLI_CRASH_H

/// Watches what `command` loads.
void wk_crash_watch(const char *command);

/// A crash is also to say that the same command goes on from the last checkpoint.
void wk_crash_continues(void);

/// Calls `first` before the line is written; it must be safe in a handler.
void wk_crash_first(void (*first)(void));

#endif
