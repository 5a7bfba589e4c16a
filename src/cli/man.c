// waker man: the manual page of the program or of a command, in the language of man(7), made from
// the tables that --help is made from.
#include "base/file.h"
#include "cli/completion.h"
#include "config/config.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct man_values {
    const char *out;
} man_values;

static const man_values defaults;

#define WK_VALUES man_values
static const wk_arg args[] = {
    WK_OPT_TEXT("out", out, "DIR", "write all pages to DIR, as waker.1 and waker-COMMAND.1"),
};

enum { NAME_LENGTH_MAX = 64 };

// Text that is printed as it is: no request at the start of a line, no escape, no hyphen that a
// reader could not paste into a shell.
static void put(wk_text *page, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool first = page->length == 0 || page->chars[page->length - 1] == '\n';
        if (first && (text[i] == '.' || text[i] == '\'')) wk_text_puts(page, "\\&");
        if (text[i] == '\\')
            wk_text_puts(page, "\\e");
        else if (text[i] == '-')
            wk_text_puts(page, "\\-");
        else
            wk_text_append(page, text + i, 1);
    }
}

static void put_all(wk_text *page, const char *text)
{
    put(page, text, strlen(text));
}

static void section(wk_text *page, const char *title)
{
    wk_text_printf(page, ".SH \"%s\"\n", title);
}

// Lines as they are, each after `prefix`.
static void put_lines(wk_text *page, const char *prefix, const char *lines)
{
    wk_text_puts(page, ".EX\n");
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        put_all(page, prefix);
        put(page, lines, length);
        wk_text_puts(page, "\n");
        lines += length + (lines[length] == '\n');
    }
    wk_text_puts(page, ".EE\n");
}

// Paragraphs, filled; indented lines stay as they are.
static void put_prose(wk_text *page, const char *lines)
{
    bool verbatim = false;
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        bool indented = *lines == ' ';
        if (indented != verbatim) wk_text_puts(page, indented ? ".EX\n" : ".EE\n");
        verbatim = indented;
        if (length == 0)
            wk_text_puts(page, ".PP");
        else
            put(page, lines, length);
        wk_text_puts(page, "\n");
        lines += length + (lines[length] == '\n');
    }
    if (verbatim) wk_text_puts(page, ".EE\n");
}

static void put_options(wk_text *page, const wk_arg *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        wk_text_puts(page, ".TP\n\\fB\\-\\-");
        put_all(page, rows[i].name);
        wk_text_puts(page, "\\fR");
        if (rows[i].value) {
            wk_text_puts(page, " \\fI");
            put_all(page, rows[i].value);
            wk_text_puts(page, "\\fR");
        }
        wk_text_puts(page, "\n");
        put_all(page, rows[i].help);
        wk_text_puts(page, "\n");
    }
}

// The keys that a command takes as options, with their defaults.
static void put_keys(wk_text *page)
{
    wk_run_config config = wk_run_config_default();
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const wk_run_field *field = &wk_run_fields[i];
        wk_text value = {0};
        wk_run_config_get(&config, i, &value);
        wk_text_puts(page, ".TP\n\\fB\\-\\-");
        put_all(page, field->key);
        wk_text_puts(page, "\\fR \\fI");
        put_all(page, wk_completion_key(i));
        wk_text_puts(page, "\\fR\n");
        put_all(page, field->meaning);
        wk_text_puts(page, " (default: ");
        put_all(page, value.length ? wk_text_get(&value) : "none");
        wk_text_puts(page, ")\n");
        page->failed |= value.failed;
        wk_text_free(&value);
    }
}

static bool takes_keys(const wk_command *command)
{
    for (size_t i = 0; i < command->n_args; i++)
        if (command->args[i].type == WK_ARG_KEYS) return true;
    return false;
}

// "Exit codes:\n  0  done\n ..." as a list.
static void put_exit_codes(wk_text *page)
{
    section(page, "EXIT STATUS");
    const char *line = strchr(wk_program_spec.exit_codes, '\n') + 1;
    while (*line) {
        char *text;
        long code = strtol(line, &text, 10);
        text += strspn(text, " ");
        size_t length = strcspn(text, "\n");
        wk_text_printf(page, ".TP\n\\fB%ld\\fR\n", code);
        put(page, text, length);
        wk_text_puts(page, "\n");
        line = text + length + (text[length] == '\n');
    }
}

// "waker-bench-env"
static void page_name(const wk_command *command, char name[NAME_LENGTH_MAX])
{
    snprintf(name, NAME_LENGTH_MAX, "waker-%s", command->name);
    for (char *c = name; *c; c++)
        if (*c == ' ') *c = '-';
}

static void put_title(wk_text *page, const char *name, const char *summary)
{
    wk_text_puts(page, ".TH ");
    for (const char *c = name; *c; c++)
        put(page, &(char){(char)toupper((unsigned char)*c)}, 1);
    wk_text_puts(page, " 1 \"\" \"waker " WAKER_VERSION "\" \"waker manual\"\n");
    section(page, "NAME");
    put_all(page, name);
    wk_text_puts(page, " \\- ");
    put_all(page, summary);
    wk_text_puts(page, "\n");
}

static void write_program_page(wk_text *page)
{
    put_title(page, "waker", "robust world models from reward-free curricula");
    section(page, "SYNOPSIS");
    put_lines(page, "waker ", "COMMAND [OPTIONS]\nhelp [COMMAND]");
    section(page, "DESCRIPTION");
    put_prose(
        page,
        "Trains world models without rewards in environments whose parameters change from\n"
        "episode to episode, uses the model's own error to choose which environments to visit\n"
        "next, and derives task policies from the result. Every command has a page of its own:\n"
        "waker-COMMAND(1).\n");
    section(page, "COMMANDS");
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        const wk_command *command = wk_program_spec.commands[i];
        wk_text_printf(page, ".TP\n\\fB%s\\fR\n", command->name);
        put_all(page, command->summary);
        wk_text_puts(page, "\n");
    }
    section(page, "OPTIONS");
    put_options(page, wk_program_spec.args, wk_program_spec.n_args);
    put_exit_codes(page);
    section(page, "SEE ALSO");
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        char name[NAME_LENGTH_MAX];
        page_name(wk_program_spec.commands[i], name);
        wk_text_puts(page, ".BR ");
        put_all(page, name);
        wk_text_printf(page, " (1)%s\n", i + 1 < wk_program_spec.n_commands ? "," : "");
    }
}

static void write_command_page(const wk_command *command, wk_text *page)
{
    char name[NAME_LENGTH_MAX];
    page_name(command, name);
    put_title(page, name, command->summary);
    section(page, "SYNOPSIS");
    put_lines(page, "waker ", command->usage);
    if (command->details) {
        section(page, "DESCRIPTION");
        put_prose(page, command->details);
    }
    if (command->n_args > 0) section(page, "OPTIONS");
    put_options(page, command->args, command->n_args);
    section(page, "OPTIONS OF EVERY COMMAND");
    put_options(page, wk_program_spec.args, wk_program_spec.n_args);
    if (takes_keys(command)) {
        section(page, "KEYS");
        put_keys(page);
    }
    section(page, "EXAMPLES");
    put_lines(page, "waker ", command->examples);
    put_exit_codes(page);
    section(page, "SEE ALSO");
    wk_text_puts(page, ".BR waker (1)\n");
}

static wk_status save_page(const char *directory, const char *name, wk_text *page, wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_print(path, err, "%s/%s.1", directory, name));
    return wk_file_write_text(NULL, path, page, err);
}

static wk_status save_pages(const char *directory, wk_error *err)
{
    WK_TRY(wk_dir_create(directory, err));
    wk_text page = {0};
    write_program_page(&page);
    WK_TRY(save_page(directory, "waker", &page, err));
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        char name[NAME_LENGTH_MAX];
        page_name(wk_program_spec.commands[i], name);
        write_command_page(wk_program_spec.commands[i], &page);
        WK_TRY(save_page(directory, name, &page, err));
    }
    return WK_OK;
}

static wk_status find_command(const wk_arg_words *words, const wk_command **out, wk_error *err)
{
    char name[NAME_LENGTH_MAX];
    const char *names[WK_ARG_WORDS_MAX];
    snprintf(name, sizeof name, "%s%s%s", words->items[0], words->count > 1 ? " " : "",
             words->count > 1 ? words->items[1] : "");
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        *out = wk_program_spec.commands[i];
        names[i] = (*out)->name;
        if (strcmp(names[i], name) == 0) return WK_OK;
    }
    return wk_arg_unknown(err, "command", name, names, wk_program_spec.n_commands);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const man_values *v = values;
    if (v->out && cli->words.count > 0)
        return wk_fail(err, WK_E_INPUT, "--out writes all pages: leave out the command");
    if (v->out) return save_pages(v->out, err);
    const wk_command *command = NULL;
    if (cli->words.count > 0) WK_TRY(find_command(&cli->words, &command, err));
    wk_text page = {0};
    if (command)
        write_command_page(command, &page);
    else
        write_program_page(&page);
    return wk_cli_print(&page, err);
}

const wk_command wk_command_man = {
    .name = "man",
    .summary = "Print the manual page of the program or of a command",
    .usage = "man [COMMAND]\nman --out DIR",
    .details = "An installed waker has its pages where man(1) finds them: 'man waker-train'.\n",
    .examples = "man train | man -l -",
    WK_COMMAND_OPTIONS(args, defaults),
    .max_words = 2,
    .run = run,
};
