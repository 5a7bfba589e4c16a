// The program: finds the command, reads its options, runs it, and turns errors into messages and
// exit codes.
#include "base/machine.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/long_run.h"
#include "run/code.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const wk_command *const commands[] = {
#define COMMAND(name) &wk_command_##name,
#include "cli/commands.def"
#undef COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

// Until the options are read: 0 is a number of threads that can be given.
enum { THREADS_NOT_GIVEN = -1 };

#define WK_VALUES wk_cli
static const wk_arg global_args[] = {
    WK_OPT_FLAG("help", help, "show this help (also: waker help COMMAND)"),
    WK_OPT_FLAG("version", version, "show the version"),
    WK_OPT_FLAG("quiet", quiet, "print results and errors only"),
    WK_OPT_INT("threads", threads, "N",
               "threads of multi-threaded commands; 0: one per core (default: 0)", 0, 1024),
};
enum { N_GLOBAL_ARGS = sizeof global_args / sizeof *global_args };

const wk_cli_spec wk_program_spec = {commands, N_COMMANDS, global_args, N_GLOBAL_ARGS};

wk_log wk_cli_log(const wk_cli *cli)
{
    const wk_log loud = {wk_log_to_stream, stderr, WK_LOG_INFO}, silent = {0};
    return cli->quiet ? silent : loud;
}

wk_log wk_cli_progress(const wk_cli *cli, const char *unit, wk_progress_line *progress)
{
    if (cli->quiet) return (wk_log){0};
    wk_progress_start(progress, STDERR_FILENO, unit);
    return (wk_log){wk_status_line_log, &progress->line, WK_LOG_INFO};
}

// Names of files and words of plug-ins must not steer the terminal: control characters become '?'.
// Names that are no UTF-8 stay as they are, so that other programs find the files.
static void hide_controls(char *text)
{
    for (char *c = text; *c; c++)
        if (*c != '\n' && *c != '\t') memset(c, '?', wk_utf8_control(c));
}

static struct {
    char *const *items;
    int count;
} given_words; // of the command line

// A line break in the name of a file must not look like one of the output.
static void hide_breaks_of(const char *name, size_t length, char *text)
{
    for (char *at = text; (at = memmem(at, strlen(at), name, length)); at += length)
        for (size_t i = 0; i < length; i++)
            if (at[i] == '\n') at[i] = '?';
}

// Names with line breaks come from the command line. Paths are put together from their parts, and
// parts end at '/', or at the '=' of --option=value and LABEL=PATH.
static void hide_breaks(char *text)
{
    for (int w = 0; w < given_words.count; w++) {
        const char *word = given_words.items[w];
        for (size_t length; *word; word += length + (word[length] != 0)) {
            length = strcspn(word, "/=");
            if (length > 1 && memchr(word, '\n', length)) hide_breaks_of(word, length, text);
        }
    }
}

static bool output_closed; // when the program began
static int write_error;    // the errno of the first output that did not arrive

// Where a file would get the number of a standard stream that is closed, whoever writes to the
// stream would write into the file. Nobody can be told where even this does not work.
static void open_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        if (open("/dev/null", O_RDWR) != fd) _exit(WK_EXIT_FAILURE);
        output_closed |= fd == STDOUT_FILENO;
    }
}

// Notes what went wrong with the output since errno was 0.
static void note_write_error(void)
{
    if (!write_error) write_error = errno ? errno : EIO;
}

static wk_status write_output(wk_text *text, wk_error *err)
{
    wk_status status = WK_OK;
    if (text->failed)
        status = wk_fail(err, WK_E_MEMORY, "no memory for the output");
    else {
        if (text->length > 0) hide_breaks(text->chars);
        if (text->length > 0) hide_controls(text->chars);
        errno = 0;
        if (fputs(wk_text_get(text), stdout) == EOF) note_write_error();
    }
    wk_text_free(text);
    return status;
}

wk_status wk_cli_print(wk_text *text, wk_error *err)
{
    if (output_closed && text->length > 0) write_error = EBADF;
    return write_output(text, err);
}

wk_status wk_cli_note(const wk_cli *cli, wk_text *text, wk_error *err)
{
    if (cli->quiet) {
        wk_text_free(text);
        return WK_OK;
    }
    errno = 0;
    if (fflush(stdout) != 0) note_write_error(); // of a result before it
    int before = write_error;
    wk_status status = write_output(text, err);
    fflush(stdout);
    clearerr(stdout);
    write_error = before;
    return status;
}

wk_status wk_cli_print_if(wk_status status, wk_text *text, wk_error *err)
{
    if (status == WK_OK) return wk_cli_print(text, err);
    wk_text_free(text);
    return status;
}

bool wk_command_takes(const wk_command *command, const char *option)
{
    for (size_t i = 0; i < command->n_args; i++)
        if (strcmp(command->args[i].name, option) == 0) return true;
    return false;
}

const wk_command *wk_command_find(const char *const *words, int count, int *used)
{
    char both[64];
    snprintf(both, sizeof both, "%s %s", count > 0 ? words[0] : "", count > 1 ? words[1] : "");
    for (*used = 2; *used > 0; --*used)
        for (size_t i = 0; count >= *used && i < N_COMMANDS; i++)
            if (strcmp(commands[i]->name, *used == 2 ? both : words[0]) == 0) return commands[i];
    return NULL;
}

static bool asks_for_help(int argc, char **argv)
{
    return argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

// "unknown command", or for a first word with several commands after it, which ones there are.
static wk_status unknown_command(const char *const *words, int count, wk_error *err)
{
    const char *firsts[N_COMMANDS], *seconds[N_COMMANDS];
    char names[N_COMMANDS][32];
    size_t n_seconds = 0;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const char *blank = strchr(commands[i]->name, ' ');
        snprintf(names[i], sizeof names[i], "%.*s", (int)strcspn(commands[i]->name, " "),
                 commands[i]->name);
        firsts[i] = names[i];
        if (blank && strcmp(names[i], words[0]) == 0) seconds[n_seconds++] = blank + 1;
    }
    if (n_seconds == 0) return wk_arg_unknown(err, "command", words[0], firsts, N_COMMANDS);
    wk_text list = {0};
    for (size_t i = 0; i < n_seconds; i++)
        wk_text_printf(&list, "%s'waker %s %s'", i ? ", " : "", words[0], seconds[i]);
    wk_status status =
        count < 2 || words[1][0] == '-'
            ? wk_fail(err, WK_E_INPUT, "'%s' needs a subcommand: %s", words[0], wk_text_get(&list))
            : wk_fail(err, WK_E_INPUT, "'%s' has no subcommand '%s'; there is %s", words[0],
                      words[1], wk_text_get(&list));
    wk_text_free(&list);
    return status;
}

static wk_status check_words(const wk_command *command, const wk_arg_words *words, wk_error *err)
{
    const char *extra = words->count > command->words[1] ? words->items[command->words[1]] : NULL;
    if (extra && wk_command_takes(command, "configs"))
        return wk_fail(
            err, WK_E_INPUT,
            "unexpected argument '%s'; for the configuration of that name write --configs %s",
            extra, extra);
    if (extra) return wk_fail(err, WK_E_INPUT, "unexpected argument '%s'", extra);
    if (words->count < command->words[0])
        return wk_fail(err, WK_E_INPUT, "missing argument; usage: waker %.*s",
                       (int)strcspn(command->usage, "\n"), command->usage);
    return WK_OK;
}

static wk_status print_version(wk_error *err)
{
    wk_text text = {0};
    wk_text_puts(&text, "waker " WAKER_VERSION "\n");
    return wk_cli_print(&text, err);
}

static wk_status parse_and_run(const wk_command *command, wk_cli *cli, void *values, int argc,
                               char **argv, wk_error *err)
{
    const wk_arg_table tables[] = {{command->args, command->n_args, values},
                                   {global_args, N_GLOBAL_ARGS, cli}};
    int taken;
    WK_TRY(wk_args_parse(tables, 2, argc, argv, &cli->words, &taken, err));
    cli->threads_given = cli->threads != THREADS_NOT_GIVEN;
    if (!cli->threads_given) cli->threads = 0;
    if (cli->version) return print_version(err);
    if (cli->help) return wk_help_command(command, err);
    WK_TRY(check_words(command, &cli->words, err));
    WK_TRY(wk_args_check_required(&tables[0], err));
    if (!command->resumes) wk_cli_signals_release();
    cli->running = true;
    return command->run(cli, values, err);
}

wk_status wk_command_values(const wk_command *command, void **values, wk_error *err)
{
    *values = malloc(command->values_size + 1);
    if (!*values) return wk_fail(err, WK_E_MEMORY, "no memory for the options");
    if (command->values_size > 0) memcpy(*values, command->defaults, command->values_size);
    return WK_OK;
}

static wk_status run_command(const wk_command *command, wk_cli *cli, int argc, char **argv,
                             wk_error *err)
{
    void *values;
    WK_TRY(wk_command_values(command, &values, err));
    wk_status status = parse_and_run(command, cli, values, argc, argv, err);
    free(values);
    return status;
}

// Reads the global options before the command, then hands over; `command` is set once it is known.
static wk_status run_program(wk_cli *cli, int argc, char **argv, const wk_command **command,
                             wk_error *err)
{
    const wk_arg_table globals = {global_args, N_GLOBAL_ARGS, cli};
    int taken, used;
    WK_TRY(wk_args_parse(&globals, 1, argc, argv, NULL, &taken, err));
    argc -= taken;
    argv += taken;
    if (cli->version) return print_version(err);
    if (argc > 0 && strcmp(argv[0], "help") == 0) {
        cli->help = true;
        argc--;
        argv++;
    }
    if (argc == 0) return wk_help_program(err);
    *command = wk_command_find((const char *const *)argv, argc, &used);
    wk_status status;
    if (!*command && (cli->help || asks_for_help(argc, argv)) &&
        wk_help_group(argv[0], err, &status))
        return status;
    if (!*command) return unknown_command((const char *const *)argv, argc, err);
    return run_command(*command, cli, argc - used, argv + used, err);
}

int wk_exit_code(wk_status status)
{
    switch (status) {
    case WK_OK:
        return WK_EXIT_OK;
    case WK_E_INPUT:
    case WK_E_NOT_FOUND:
    case WK_E_FORMAT:
    case WK_E_UNSUPPORTED:
        return WK_EXIT_USAGE;
    case WK_E_STOPPED:
        return WK_EXIT_RESUME;
    default:
        return WK_EXIT_FAILURE;
    }
}

// The help is about words and options: it does not help when a world cannot be made, say.
static bool help_helps(const wk_cli *cli, const wk_error *err)
{
    return err->status == WK_E_INPUT && (!cli->running || strstr(err->message, "--"));
}

// Whether this is what a refusal ends with: options that name plug-ins, each with one word of the
// shell. Messages quote files of others, which could have the words of one before something else.
static bool names_plugins(const char *at)
{
    static const char *const options[] = {"--plugin ", "--curriculum.plugin ", "--reward "};
    for (bool more = true; more; more = *at++ == ' ') {
        size_t length = 0;
        for (int i = 0; i < 3; i++)
            if (strncmp(at, options[i], strlen(options[i])) == 0) length = strlen(options[i]);
        if (length == 0) return false;
        for (at += length; *at && *at != ' '; at++) {
            if (*at == '\'')
                at = strchr(at + 1, '\'');
            else if (strncmp(at, "\\'", 2) == 0)
                at++;
            else if (!isalnum((unsigned char)*at) && !strchr("/._-+=:,@%", *at))
                return false;
            if (!at) return false;
        }
    }
    return true;
}

static void print_error(const wk_cli *cli, const wk_command *command, wk_error *err)
{
    wk_utf8_sanitise(err->message, false);
    const char *name = command ? command->name : "";
    wk_text whole = {0};
    // Of a plug-in that was not named: the command as it was given, with the options that name it.
    const char *options = strstr(err->message, WK_PLUGIN_ADVICE);
    if (options && !names_plugins(options + strlen(WK_PLUGIN_ADVICE))) options = NULL;
    for (int i = 0; options && i < given_words.count; i++) {
        wk_text_puts(&whole, i == 0 ? ": waker " : " ");
        wk_text_shell_quote(&whole, given_words.items[i]);
    }
    if (options) wk_text_printf(&whole, " %s", options + strlen(WK_PLUGIN_ADVICE));
    if (whole.length > 0) wk_utf8_sanitise(whole.chars, false);
    fprintf(stderr, "waker%s%s: %s%s\n", *name ? " " : "", name, err->message, wk_text_get(&whole));
    if (!options && help_helps(cli, err))
        fprintf(stderr, "Try 'waker%s%s --help'.\n", *name ? " " : "", name);
    wk_text_free(&whole);
}

static bool ending; // by main itself

// Code of a plug-in may call exit; that nothing more is saved must not look like success.
static void on_exit_by_others(void)
{
    static const char text[] =
        "\nwaker: a plug-in, or a library it uses, called exit(): what was not "
        "saved is lost\n";
    if (ending) return;
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(WK_EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    wk_cli cli = {.threads = THREADS_NOT_GIVEN};
    wk_error err = {0};
    const wk_command *command = NULL;
    given_words.items = argv + 1;
    given_words.count = argc - 1;
    wk_blas_without_threads(argv); // may start the program anew
    wk_cli_signals_catch();
    open_closed_streams();
    wk_locale_use_c();
    atexit(on_exit_by_others);
    wk_status status = run_program(&cli, argc - 1, argv + 1, &command, &err);
    ending = true;
    // Results that did not arrive are a failure, even when the disk says so only now; but a run
    // that was saved resumes with the same command, whoever has stopped listening.
    errno = 0;
    if (fflush(stdout) != 0) note_write_error();
    if (write_error && status == WK_OK && !cli.resume)
        status = wk_fail(&err, WK_E_IO, "cannot write to standard output: %s",
                         write_error == EBADF ? "it is closed" : strerror(write_error));
    if (status != WK_OK) print_error(&cli, command, &err);
    if (status != WK_OK) return wk_exit_code(status);
    return cli.findings ? WK_EXIT_FINDINGS : cli.resume ? WK_EXIT_RESUME : WK_EXIT_OK;
}
