// What the program says when code of a plug-in crashes: the plug-in's file, which of its functions
// ran and in which episode, in one line on standard error. Then the signal does what it would have
// done. Handlers are installed when the first shared object is loaded; without one there are none.
#ifndef WK_CLI_CRASH_H
#define WK_CLI_CRASH_H

/// Handles crashes of the plug-ins that `command` loads.
void wk_crash_handle(const char *command);

/// Adds to the message that the same command continues from the last checkpoint.
void wk_crash_mention_resume(void);

/// Has `callback` called before the message is written; it must be safe in a signal handler.
void wk_crash_before_message(void (*callback)(void));

/// Writes that code of a plug-in called exit(): of which, and in which of its functions.
void wk_crash_say_exit(void);

#endif
