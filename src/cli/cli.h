// What the commands of the program share: how a command is declared, what every command is given,
// and the exit codes.
#ifndef WK_CLI_CLI_H
#define WK_CLI_CLI_H

#include "base/log.h"
#include "cli/args.h"
#include "log/status_line.h"
#include "waker/error.h"
#include <stdbool.h>

/// Exit codes; documented in the help text and docs/cli.md.
enum {
    WK_EXIT_OK = 0,
    WK_EXIT_FAILURE = 1,  // files, memory, device
    WK_EXIT_USAGE = 2,    // wrong usage or bad input
    WK_EXIT_FINDINGS = 3, // a check found problems
    WK_EXIT_RESUME = 75,  // stopped early and saved; the same command continues
};

/// The exit code of a command that ends with this status.
int wk_exit_code(wk_status status);

/// What every command gets: the global options and its own words.
typedef struct wk_cli {
    bool help, version, quiet;
    int threads; // 0: one per core
    bool threads_given;
    wk_arg_words words;
    bool running;  // the command's own work has begun: options and words are as they should be
    bool findings; // set by a command whose check found problems
    bool resume;   // set by a command that stopped early and saved
} wk_cli;

/// One command, all of it constant.
typedef struct wk_command {
    const char *name; // one or two words
    const char *summary;
    const char *usage;    // lines, each without the leading "waker "
    const char *details;  // more text of the help, or NULL
    const char *examples; // lines
    const wk_arg *args;
    size_t n_args;
    size_t values_size;   // of the struct the options fill; 0: there are none
    const void *defaults; // its initial value
    int words[2];         // at least and at most; none if both are 0
    bool resumes;         // asked to stop, it saves, and the same command continues
    wk_status (*run)(wk_cli *cli, const void *values, wk_error *err);
} wk_command;

/// The options of a command: their table, and the struct they fill with its initial values.
#define WK_COMMAND_OPTIONS(table, initial)                                                         \
    .args = (table), .n_args = sizeof(table) / sizeof *(table), .values_size = sizeof(initial),    \
    .defaults = &(initial)

/// A new struct of values for a command's options; the caller frees it.
wk_status wk_command_values(const wk_command *command, void **values, wk_error *err);

#define COMMAND(name) extern const wk_command wk_command_##name;
#include "cli/commands.def"
#undef COMMAND

/// All that the program offers, for the commands that describe it: manual pages and completions are
/// made from the tables that parsing and --help use.
typedef struct wk_cli_spec {
    const wk_command *const *commands;
    size_t n_commands;
    const wk_arg *args; // of every command
    size_t n_args;
} wk_cli_spec;

extern const wk_cli_spec wk_program_spec;

/// The command that the words begin with, and how many of them are its name; NULL: there is none.
const wk_command *wk_command_find(const char *const *words, int count, int *used);

/// Whether an option of that name is in its table; "KEY": it takes the keys of a configuration.
bool wk_command_takes(const wk_command *command, const char *option);

/// Prints the help of the program, or of a command.
wk_status wk_help_program(wk_error *err);
wk_status wk_help_command(const wk_command *command, wk_error *err);
/// Prints the commands that begin with a word ("bench"); false if none does.
bool wk_help_group(const char *word, wk_error *err, wk_status *status);

/// What a key of the configuration takes, as in an option table.
const char *wk_cli_key_value(int field);

/// Messages on standard error, none with --quiet.
wk_log wk_cli_log(const wk_cli *cli);

/// Starts a line on standard error that shows how many `unit` are done, silent with --quiet; gives
/// a log whose messages stand above it.
wk_log wk_cli_progress(const wk_cli *cli, const char *unit, wk_progress_line *progress);

/// A row for --plugin, which sets the member const char *`field`.
#define WK_PLUGIN_ARG_ROW(field, help) WK_ARG_ROW(WK_ARG_PATH, "plugin", field, "FILE", help, 0, 0)
/// A row for --python, another word for --plugin.
#define WK_PYTHON_ARG_ROW(field, help)                                                             \
    WK_ARG_ROW(WK_ARG_PATH, "python", field, "MODULE:FUNCTION", help " (or FILE.py:FUNCTION)", 0, 0)
/// Both, for commands that play in the environments of saved runs.
#define WK_PLUGIN_ARG_ROWS(field)                                                                  \
    WK_PLUGIN_ARG_ROW(field, "take the run's domain from this plug-in"),                           \
        WK_PYTHON_ARG_ROW(field, "take the run's environments from this Python function")
/// Both, for commands that are about a domain.
#define WK_DOMAIN_PLUGIN_ARG_ROWS(field)                                                           \
    WK_PLUGIN_ARG_ROW(field, "use the domain of this plug-in instead"),                            \
        WK_PYTHON_ARG_ROW(field, "use the environments of this Python function")
/// A row for --reward, which sets the member wk_arg_texts rewards.
#define WK_REWARDS_ARG_ROW                                                                         \
    WK_OPT_PATHS("reward", rewards, "FILE",                                                        \
                 "plug-in of a reward that 'waker relabel' added; may be repeated")
/// A row for --device, which sets the member const char *`field`. `otherwise` says what is used
/// without it.
#define WK_DEVICE_ARG_ROW(field, otherwise)                                                        \
    WK_OPT_TEXT("device", field, "auto|cpu|cuda|cuda:N",                                           \
                "where to compute (default: " otherwise ")")
/// A row for --snapshot, which sets the member int64_t `field`.
#define WK_SNAPSHOT_ARG_ROW(field)                                                                 \
    WK_ARG_ROW(WK_ARG_STEP, "snapshot", field, "STEP|last",                                        \
               "agent step of the weights; last is the newest (default: last)", 0, 0)
/// As WK_SNAPSHOT_ARG_ROW, for commands that also take all of them.
#define WK_SNAPSHOTS_ARG_ROW(field)                                                                \
    WK_ARG_ROW(WK_ARG_STEP, "snapshot", field, "STEP|all|last",                                    \
               "agent step of the weights; last is the newest, all takes one after the other "     \
               "(default: last)",                                                                  \
               0, 0)
/// A row for --seed, which sets the member wk_arg_seed seed. `of` says what it is the seed of,
/// `otherwise` what is used without it.
#define WK_SEED_ARG_ROW(of, otherwise)                                                             \
    WK_ARG_ROW(WK_ARG_SEED, "seed", seed, "N", "seed of " of " (default: " otherwise ")", 0, 0)

/// Warns where the newest checkpoint of a run is damaged, so that commands use an older one.
void wk_cli_warn_older(const wk_cli *cli, const char *directory);

/// Prints a finished text, a result, to standard output and frees it; fails if its memory had run
/// out. Where it does not arrive, the command fails.
wk_status wk_cli_print(wk_text *text, wk_error *err);
/// As wk_cli_print, of a word about work whose results are files, left out with --quiet: a long run
/// does not fail because nobody hears that it has ended.
wk_status wk_cli_note(const wk_cli *cli, wk_text *text, wk_error *err);
/// As wk_cli_print if `status` is WK_OK; else frees the text and returns `status`.
wk_status wk_cli_print_if(wk_status status, wk_text *text, wk_error *err);

#endif
