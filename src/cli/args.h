// Command-line options from tables: one row declares an option's name, type, range and help, and
// parsing, error messages and help text all come from that row.
#ifndef WK_CLI_ARGS_H
#define WK_CLI_ARGS_H

#include "base/text.h"
#include "config/blocks.h"
#include "waker/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WK_ARG_REPEATS_MAX = 32, WK_ARG_WORDS_MAX = 1024, WK_ARG_SETTINGS_MAX = 128 };

/// Kind of an option's value, and the C type of the member that receives it.
typedef enum wk_arg_type {
    WK_ARG_FLAG,   // bool, no value
    WK_ARG_INT,    // int within [min, max]
    WK_ARG_NUMBER, // double within [min, max]
    WK_ARG_SEED,   // wk_arg_seed
    WK_ARG_STEP,   // int64_t, an agent step or "last" (WK_STEP_LAST); "all" where `value` has it
    WK_ARG_TEXT,   // const char *
    WK_ARG_CHOICE, // the same, one of the alternatives in `value`
    WK_ARG_PATH,   // const char *, of a file or directory: not empty
    WK_ARG_TEXTS,  // wk_arg_texts, the option may be repeated
    WK_ARG_PATHS,  // the same, of files or directories: not empty
    WK_ARG_NAMES,  // wk_arg_texts, takes all words up to the next option
    WK_ARG_KEYS,   // wk_arg_settings, takes every option that is a key and that no other row has
    WK_ARG_PLUGIN, // the same, another word for the key plugin
} wk_arg_type;

/// A seed, and whether there was one: every value is a seed, so that none can mean its absence.
typedef struct wk_arg_seed {
    uint64_t value;
    bool given;
} wk_arg_seed;

/// Values of a repeated option, in order.
typedef struct wk_arg_texts {
    const char *items[WK_ARG_REPEATS_MAX];
    int count;
} wk_arg_texts;

/// Options that are no option but a key of the configuration, in order. A key with a character that
/// no name has is a pattern and taken as it is. Borrowed from argv.
typedef struct wk_arg_settings {
    wk_setting items[WK_ARG_SETTINGS_MAX];
    size_t count;
} wk_arg_settings;

/// One option.
typedef struct wk_arg {
    const char *name; // without the dashes
    // What the value is called in help, NULL for a flag: alternatives with '|' between them. Those
    // without capitals are words to type, the others say what is meant, for completions to offer:
    // FILE, FILE.png, DIR, RUN, DOMAIN, TASK, CASE, BLOCK, RULE, COMMAND; others mean nothing to
    // them (N, SECONDS).
    const char *value;
    const char *help;
    wk_arg_type type;
    size_t offset; // of the member that receives it, in the struct of values
    double min, max;
    bool required;
} wk_arg;

/// A row of an option table whose value goes to the member `field` of WK_VALUES, the command's
/// struct of values, which its file defines.
#define WK_ARG_ROW(type, name, field, value, help, min, max)                                       \
    {                                                                                              \
        name, value, help, type, offsetof(WK_VALUES, field), min, max, false                       \
    }
#define WK_OPT_FLAG(name, field, help) WK_ARG_ROW(WK_ARG_FLAG, name, field, NULL, help, 0, 0)
#define WK_OPT_TEXT(name, field, value, help)                                                      \
    WK_ARG_ROW(WK_ARG_TEXT, name, field, value, help, 0, 0)
#define WK_OPT_CHOICE(name, field, value, help)                                                    \
    WK_ARG_ROW(WK_ARG_CHOICE, name, field, value, help, 0, 0)
#define WK_OPT_TEXTS(name, field, value, help)                                                     \
    WK_ARG_ROW(WK_ARG_TEXTS, name, field, value, help, 0, 0)
#define WK_OPT_PATH(name, field, value, help)                                                      \
    WK_ARG_ROW(WK_ARG_PATH, name, field, value, help, 0, 0)
#define WK_OPT_PATHS(name, field, value, help)                                                     \
    WK_ARG_ROW(WK_ARG_PATHS, name, field, value, help, 0, 0)
#define WK_OPT_INT(name, field, value, help, min, max)                                             \
    WK_ARG_ROW(WK_ARG_INT, name, field, value, help, min, max)
#define WK_OPT_NUMBER(name, field, value, help, min, max)                                          \
    WK_ARG_ROW(WK_ARG_NUMBER, name, field, value, help, min, max)
/// A text or path without which the command is refused; the refusal quotes `help`.
#define WK_OPT_REQUIRED(type, name, field, value, help)                                            \
    {                                                                                              \
        name, value, help, type, offsetof(WK_VALUES, field), 0, 0, true                            \
    }

/// Options together with the struct that receives their values.
typedef struct wk_arg_table {
    const wk_arg *args;
    size_t count;
    void *values;
} wk_arg_table;

/// Arguments that are not options, in order.
typedef struct wk_arg_words {
    const char *items[WK_ARG_WORDS_MAX];
    int count;
} wk_arg_words;

/// Reads `--name value`, `--name=value` and words from argv[0 ... argc-1] until the end or "--";
/// later values win; an empty word is refused. Values are borrowed from argv. `-h` means --help.
/// With `words` NULL reading stops at the first word. Returns through `taken` how many arguments
/// were read.
wk_status wk_args_parse(const wk_arg_table *tables, size_t n_tables, int argc, char **argv,
                        wk_arg_words *words, int *taken, wk_error *err);

/// Reads a decimal number that fills all of `text`; `what` names it in the error.
wk_status wk_parse_number(const char *what, const char *text, double *out, wk_error *err);

/// Reads a whole number within [min, max] that fills all of `text`, also written as 1e3.
wk_status wk_parse_int(const char *what, const char *text, int min, int max, int *out,
                       wk_error *err);

/// WK_E_INPUT for an unknown `what` called `name`, naming the nearest of `names` if one is near.
wk_status wk_arg_unknown(wk_error *err, const char *what, const char *name,
                         const char *const *names, size_t count);

/// WK_E_INPUT for the first required option that has no value.
wk_status wk_args_check_required(const wk_arg_table *table, wk_error *err);

/// Whether a file's name has this ending and more before it, in any case.
bool wk_path_ends_in(const char *path, const char *extension);

#endif
