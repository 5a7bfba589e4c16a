// What a shell can complete, read from the option tables: the options of a command and what may
// follow them. completion_bash.c and completion_zsh.c write it down for their shells.
#ifndef WK_CLI_COMPLETION_H
#define WK_CLI_COMPLETION_H

#include "cli/cli.h"

enum { WK_COMPLETION_OPTIONS_MAX = 512, WK_EXTENSION_MAX = 16 };

/// What can be put for a `value` of an option table: words, files or directories. Free it.
typedef struct wk_completion {
    wk_text words; // with blanks between
    bool files, directories;
    char extension[WK_EXTENSION_MAX]; // of the files, "" for any
} wk_completion;

/// Reads a value ("all|TASK,...", "FILE.png"; NULL for none).
wk_status wk_completion_read(const char *value, wk_completion *out, wk_error *err);
void wk_completion_free(wk_completion *completion);

/// Fills `rows` with all options that the command takes, those of every command and keys of the
/// configuration included. NULL: the program itself. Returns how many.
size_t wk_completion_options(const wk_command *command, wk_arg rows[WK_COMPLETION_OPTIONS_MAX]);

/// What the first words of the command's usage are called ("RUN" of "eval RUN [--json]"), or "".
void wk_completion_words(const wk_command *command, char *value, size_t size);

/// What a key of the configuration takes, as in an option table.
const char *wk_completion_key(int field);

/// The second words of the commands that begin with `first`, with blanks between.
void wk_completion_seconds(const char *first, wk_text *out);

/// Whether an earlier command begins with the same word.
bool wk_completion_repeated(size_t command);

/// Appends text between single quotes for a shell.
void wk_completion_quote(wk_text *out, const char *text);

wk_status wk_completion_bash(wk_text *out, wk_error *err);
wk_status wk_completion_zsh(wk_text *out, wk_error *err);

#endif
