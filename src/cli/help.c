// What the program says of itself, from one walk over the tables of commands and options: --help,
// waker man (manual pages in the language of man(7)) and docs/cli.md (waker man --markdown).
#include "base/file.h"
#include "cli/cli.h"
#include "config/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64, NAME_LENGTH_MAX = 64, HELP_COLUMN = 24, HELP_WIDTH = 96 };

// The parts of a page after its usage.
typedef enum section {
    DETAILS,
    COMMANDS,
    OPTIONS,
    COMMON,
    EXAMPLES,
    CODES,
    KEYS,
    SEE,
    SECTIONS
} section;

// How a page is written.
typedef struct format {
    const char *headings[SECTIONS]; // with what is around them; NULL: the part is left out
    void (*usage)(wk_text *page, const wk_command *command);
    void (*prose)(wk_text *page, const char *lines);    // indented lines stay as they are
    void (*examples)(wk_text *page, const char *lines); // without "waker"
    void (*item)(wk_text *page, section of, const char *name, const char *value, const char *text);
} format;

static const char tagline[] = "robust world models from reward-free curricula";

static const char about[] =
    "Trains world models without rewards in environments whose parameters change from\n"
    "episode to episode, uses the model's own error to choose which environments to visit\n"
    "next, and derives task policies from the result.";

static const char conventions[] =
    "Options are written '--name value' or '--name=value'; '--' ends them. Where a name does\n"
    "not exist, the error suggests the nearest that does. Results go to standard output,\n"
    "messages to standard error. A result that cannot be written is a failure; 'train',\n"
    "'adapt', 'finetune' and 'sweep', whose results are files, end as they would otherwise.\n"
    "Long commands show progress, speed and time left on standard error: on a terminal one\n"
    "line that is rewritten, elsewhere a line every 10 seconds, with --quiet none. A second\n"
    "interrupt ends a command at once, without saving, with exit code 130. Files are\n"
    "replaced atomically: after a failure the old file is still there.\n";

const char *wk_cli_key_value(int field)
{
    // Keys whose choices are known only here, or that are files.
    static const char *const known[][2] = {
        {"domain", "DOMAIN"},
        {"plugin", "FILE.so"},
        {"curriculum.rule", "RULE"},
        {"curriculum.plugin", "FILE.so"},
        {"device", "auto|cpu|cuda|cuda:N"},
    };
    static const char *const kinds[] = {
        [WK_RUN_BOOL] = "true|false", [WK_RUN_INT] = "N",         [WK_RUN_COUNT] = "N",
        [WK_RUN_SEED] = "N",          [WK_RUN_NUMBER] = "NUMBER", [WK_RUN_TEXT] = "TEXT",
        [WK_RUN_LIST] = "NAME,...",
    };
    const wk_run_field *f = &wk_run_fields[field];
    if (f->choices) return f->choices;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(f->key, known[i][0]) == 0) return known[i][1];
    return kinds[f->kind];
}

// Each of `lines` after `first` or, from the second on, after `next`.
static void put_lines(wk_text *page, const char *first, const char *next, const char *lines)
{
    for (const char *prefix = first; *lines; prefix = next) {
        size_t length = strcspn(lines, "\n");
        wk_text_printf(page, "%s%.*s\n", length ? prefix : "", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

// The walk.

static void put_options(const format *f, wk_text *page, section of, const wk_arg *args,
                        size_t count)
{
    if (!f->headings[of] || count == 0) return;
    wk_text_puts(page, f->headings[of]);
    for (size_t i = 0; i < count; i++)
        f->item(page, of, args[i].name, args[i].value, args[i].help);
}

static void put_codes(const format *f, wk_text *page)
{
    static const struct {
        const char *code, *text;
    } codes[] = {{"0", "done"},
                 {"1", "failed at run time (I/O, memory)"},
                 {"2", "wrong usage or bad input"},
                 {"3", "a check found problems"},
                 {"75", "stopped early and saved; run the same command to resume"}};
    if (!f->headings[CODES]) return;
    wk_text_puts(page, f->headings[CODES]);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        f->item(page, CODES, codes[i].code, NULL, codes[i].text);
}

// Keys that the command takes as options, with their defaults.
static void put_keys(const format *f, wk_text *page)
{
    wk_run_config config = wk_run_config_default();
    if (!f->headings[KEYS]) return;
    wk_text_puts(page, f->headings[KEYS]);
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        wk_text value = {0}, text = {0};
        wk_run_config_get(&config, i, &value);
        wk_text_printf(&text, "%s (default: %s)", wk_run_fields[i].meaning,
                       value.length ? wk_text_get(&value) : "none");
        f->item(page, KEYS, wk_run_keys[i], wk_cli_key_value(i), wk_text_get(&text));
        page->failed |= value.failed || text.failed;
        wk_text_free(&value);
        wk_text_free(&text);
    }
}

static void put_command(const format *f, wk_text *page, const wk_command *command)
{
    f->usage(page, command);
    if (command->details) {
        wk_text_puts(page, f->headings[DETAILS]);
        f->prose(page, command->details);
    }
    put_options(f, page, OPTIONS, command->args, command->n_args);
    put_options(f, page, COMMON, wk_program_spec.args, wk_program_spec.n_args);
    wk_text_puts(page, f->headings[EXAMPLES]);
    f->examples(page, command->examples);
    put_codes(f, page);
    if (wk_command_takes(command, "KEY")) put_keys(f, page);
}

// What the program's page has between its usage and the end.
static void put_program(const format *f, wk_text *page)
{
    wk_text_puts(page, f->headings[COMMANDS]);
    for (size_t i = 0; i < wk_program_spec.n_commands; i++)
        f->item(page, COMMANDS, wk_program_spec.commands[i]->name, NULL,
                wk_program_spec.commands[i]->summary);
    put_options(f, page, COMMON, wk_program_spec.args, wk_program_spec.n_args);
}

// --help.

static void help_usage(wk_text *page, const wk_command *command)
{
    put_lines(page, "Usage: waker ", "       waker ", command->usage);
    wk_text_printf(page, "\n%s.\n", command->summary);
}

static void help_examples(wk_text *page, const char *lines)
{
    put_lines(page, "  waker ", "  waker ", lines);
}

// An option with its text from HELP_COLUMN on, broken at HELP_WIDTH.
static void help_item(wk_text *page, section of, const char *name, const char *value,
                      const char *text)
{
    if (of == COMMANDS || of == CODES) {
        wk_text_printf(page, of == CODES ? "%3s  %s\n" : "  %-22s%s\n", name, text);
        return;
    }
    size_t start = page->length;
    wk_text_printf(page, "  --%s%s%s", name, value ? " " : "", value ? value : "");
    int column = (int)(page->length - start);
    if (column + 2 > HELP_COLUMN) {
        wk_text_puts(page, "\n");
        column = 0;
    }
    wk_text_repeat(page, ' ', (size_t)(HELP_COLUMN - column));
    column = HELP_COLUMN;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            wk_text_printf(page, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        column += length + (column > HELP_COLUMN);
        wk_text_printf(page, "%s%.*s", column > HELP_COLUMN + length ? " " : "", length, text);
        text += length;
        text += strspn(text, " ");
    }
    wk_text_puts(page, "\n");
}

static const format help = {.headings = {[DETAILS] = "\n",
                                         [COMMANDS] = "\nCommands:\n",
                                         [OPTIONS] = "\nOptions:\n",
                                         [COMMON] = "\nOptions of every command:\n",
                                         [EXAMPLES] = "\nExample:\n",
                                         [CODES] = "\nExit codes:\n"},
                            .usage = help_usage,
                            .prose = wk_text_puts,
                            .examples = help_examples,
                            .item = help_item};

wk_status wk_help_program(wk_error *err)
{
    wk_text page = {0};
    wk_text_printf(&page, "waker: %s\n\nUsage: waker COMMAND [OPTIONS]\n", tagline);
    put_program(&help, &page);
    put_codes(&help, &page);
    wk_text_puts(&page,
                 "\n'waker COMMAND --help' shows the options of a command, with examples.\n");
    return wk_cli_print(&page, err);
}

wk_status wk_help_command(const wk_command *command, wk_error *err)
{
    wk_text page = {0};
    put_command(&help, &page, command);
    if (wk_command_takes(command, "KEY"))
        wk_text_puts(&page,
                     "\n'waker config --search WORD' finds keys, 'waker man train' lists all.\n");
    return wk_cli_print(&page, err);
}

bool wk_help_group(const char *word, wk_error *err, wk_status *status)
{
    wk_text page = {0};
    size_t length = strlen(word);
    wk_text_printf(&page, "Usage: waker %s COMMAND [OPTIONS]\n\nCommands:\n", word);
    size_t empty = page.length;
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        const wk_command *command = wk_program_spec.commands[i];
        if (strncmp(command->name, word, length) == 0 && command->name[length] == ' ')
            help_item(&page, COMMANDS, command->name, NULL, command->summary);
    }
    bool any = page.length > empty;
    if (any)
        *status = wk_cli_print(&page, err);
    else
        wk_text_free(&page);
    return any;
}

// Manual pages.

// Text that is printed as it is: no request at the start of a line, no escape, no hyphen that a
// reader could not paste into a shell.
static void man_text(wk_text *page, const char *text, size_t length)
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

static void man_examples(wk_text *page, const char *lines)
{
    wk_text_puts(page, ".EX\n");
    for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
        length = strcspn(lines, "\n");
        wk_text_puts(page, "waker ");
        man_text(page, lines, length);
        wk_text_puts(page, "\n");
    }
    wk_text_puts(page, ".EE\n");
}

// Paragraphs are filled.
static void man_prose(wk_text *page, const char *lines)
{
    bool verbatim = false;
    for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
        bool indented = *lines == ' ';
        length = strcspn(lines, "\n");
        if (indented != verbatim) wk_text_puts(page, indented ? ".EX\n" : ".EE\n");
        verbatim = indented;
        if (length == 0)
            wk_text_puts(page, ".PP");
        else
            man_text(page, lines, length);
        wk_text_puts(page, "\n");
    }
    if (verbatim) wk_text_puts(page, ".EE\n");
}

static void man_item(wk_text *page, section of, const char *name, const char *value,
                     const char *text)
{
    wk_text_printf(page, ".TP\n\\fB%s", of == COMMANDS || of == CODES ? "" : "\\-\\-");
    man_text(page, name, strlen(name));
    wk_text_puts(page, "\\fR");
    if (value) {
        wk_text_puts(page, " \\fI");
        man_text(page, value, strlen(value));
        wk_text_puts(page, "\\fR");
    }
    wk_text_puts(page, "\n");
    man_text(page, text, strlen(text));
    wk_text_puts(page, "\n");
}

// "waker-bench-env"; "waker" for NULL.
static void page_name(const wk_command *command, char name[NAME_LENGTH_MAX])
{
    snprintf(name, NAME_LENGTH_MAX, "waker%s%s", command ? "-" : "", command ? command->name : "");
    for (char *c = name; *c; c++)
        if (*c == ' ') *c = '-';
}

static void man_title(wk_text *page, const wk_command *command, const char *summary,
                      const char *usage)
{
    char name[NAME_LENGTH_MAX];
    page_name(command, name);
    wk_text_puts(page, ".TH ");
    for (const char *c = name; *c; c++)
        man_text(page, &(char){(char)toupper((unsigned char)*c)}, 1);
    wk_text_puts(page, " 1 \"\" \"waker " WAKER_VERSION "\" \"waker manual\"\n");
    wk_text_puts(page, ".SH \"NAME\"\n");
    man_text(page, name, strlen(name));
    wk_text_puts(page, " \\- ");
    man_text(page, summary, strlen(summary));
    wk_text_puts(page, "\n");
    wk_text_puts(page, ".SH \"SYNOPSIS\"\n");
    man_examples(page, usage);
}

static void man_usage(wk_text *page, const wk_command *command)
{
    man_title(page, command, command->summary, command->usage);
}

static const format man = {.headings = {[DETAILS] = ".SH \"DESCRIPTION\"\n",
                                        [COMMANDS] = ".SH \"COMMANDS\"\n",
                                        [OPTIONS] = ".SH \"OPTIONS\"\n",
                                        [COMMON] = ".SH \"OPTIONS OF EVERY COMMAND\"\n",
                                        [EXAMPLES] = ".SH \"EXAMPLES\"\n",
                                        [CODES] = ".SH \"EXIT STATUS\"\n",
                                        [KEYS] = ".SH \"KEYS\"\n",
                                        [SEE] = ".SH \"SEE ALSO\"\n"},
                           .usage = man_usage,
                           .prose = man_prose,
                           .examples = man_examples,
                           .item = man_item};

// The page of a command; NULL: of the program.
static void write_man(const wk_command *command, wk_text *page)
{
    if (command) {
        put_command(&man, page, command);
        wk_text_puts(page, man.headings[SEE]);
        wk_text_puts(page, ".BR waker (1)\n");
        return;
    }
    man_title(page, NULL, tagline, "COMMAND [OPTIONS]\nhelp [COMMAND]");
    wk_text_puts(page, man.headings[DETAILS]);
    man_prose(page, about);
    man_prose(page, "Every command has a page of its own:\nwaker-COMMAND(1).\n\n");
    man_prose(page, conventions);
    put_program(&man, page);
    put_codes(&man, page);
    wk_text_puts(page, man.headings[SEE]);
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        char name[NAME_LENGTH_MAX];
        page_name(wk_program_spec.commands[i], name);
        wk_text_puts(page, ".BR ");
        man_text(page, name, strlen(name));
        wk_text_printf(page, " (1)%s\n", i + 1 < wk_program_spec.n_commands ? "," : "");
    }
}

// Markdown.

// Text in a sentence or a cell of a table: what Markdown would take for its own is escaped, and the
// pages of docs/ are linked.
static void md_text(wk_text *page, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t name = 0;
        if (strncmp(text + i, "docs/", 5) == 0)
            name = strspn(text + i + 5, "abcdefghijklmnopqrstuvwxyz-");
        if (name > 0 && strncmp(text + i + 5 + name, ".md", 3) == 0) {
            int chars = (int)name + 3;
            wk_text_printf(page, "[%.*s](%.*s)", chars, text + i + 5, chars, text + i + 5);
            i += (size_t)chars + 4;
            continue;
        }
        if (strchr("*_<>|[]", text[i])) wk_text_puts(page, "\\");
        wk_text_append(page, text + i, 1);
    }
}

static void md_examples(wk_text *page, const char *lines)
{
    put_lines(page, "    waker ", "    waker ", lines);
}

static void md_usage(wk_text *page, const wk_command *command)
{
    wk_text_printf(page, "\n## waker %s\n\n", command->name);
    md_text(page, command->summary, strlen(command->summary));
    wk_text_puts(page, ".\n\n");
    md_examples(page, command->usage);
}

static void md_prose(wk_text *page, const char *lines)
{
    for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
        length = strcspn(lines, "\n");
        if (*lines == ' ')
            wk_text_printf(page, "  %.*s", (int)length, lines);
        else
            md_text(page, lines, length);
        wk_text_puts(page, "\n");
    }
}

static void md_item(wk_text *page, section of, const char *name, const char *value,
                    const char *text)
{
    char link[NAME_LENGTH_MAX];
    snprintf(link, sizeof link, "%s", name);
    for (char *c = link; *c; c++)
        if (*c == ' ') *c = '-';
    if (of == COMMANDS)
        wk_text_printf(page, "| [%s](#waker-%s) | ", name, link);
    else
        wk_text_printf(page, "| `%s%s%s", of == CODES ? "" : "--", name, value ? " " : "");
    for (; value && *value; value++)
        wk_text_printf(page, *value == '|' ? "\\%c" : "%c", *value);
    wk_text_puts(page, of == COMMANDS ? "" : "` | ");
    md_text(page, text, strlen(text));
    wk_text_puts(page, " |\n");
}

// Keys are in docs/configuration.md; options of every command are said once.
static const format markdown = {
    .headings = {[DETAILS] = "\n",
                 [OPTIONS] = "\n| option | meaning |\n|---|---|\n",
                 [EXAMPLES] = "\nExample:\n\n"},
    .usage = md_usage,
    .prose = md_prose,
    .examples = md_examples,
    .item = md_item,
};

static void write_markdown(wk_text *page)
{
    format whole = markdown;
    whole.headings[COMMANDS] = "\n| command | what it does |\n|---|---|\n";
    whole.headings[COMMON] = "\nOptions of every command:\n\n| option | meaning |\n|---|---|\n";
    whole.headings[CODES] = "\nExit codes:\n\n| code | meaning |\n|---|---|\n";
    wk_text_puts(
        page, "# The command line\n\n"
              "`waker man --markdown` makes this page; `waker COMMAND --help` shows the same.\n\n"
              "    waker COMMAND [OPTIONS]\n\n");
    md_prose(page, about);
    wk_text_puts(page, "\n");
    md_prose(page, conventions);
    put_program(&whole, page);
    put_codes(&whole, page);
    for (size_t i = 0; i < wk_program_spec.n_commands; i++)
        put_command(&markdown, page, wk_program_spec.commands[i]);
}

// waker man.

typedef struct man_values {
    const char *out;
    bool markdown;
} man_values;

static const man_values defaults;

#define WK_VALUES man_values
static const wk_arg args[] = {
    WK_OPT_TEXT("out", out, "DIR", "write all pages to DIR, as waker.1 and waker-COMMAND.1"),
    WK_OPT_FLAG("markdown", markdown, "print docs/cli.md, all commands on one page"),
};

// Command number -1 is the program.
static wk_status save_pages(const char *directory, wk_error *err)
{
    WK_TRY(wk_dir_create(directory, err));
    for (int i = -1; i < (int)wk_program_spec.n_commands; i++) {
        const wk_command *command = i < 0 ? NULL : wk_program_spec.commands[i];
        char path[WK_PATH_MAX], name[NAME_LENGTH_MAX];
        wk_text page = {0};
        page_name(command, name);
        WK_TRY(wk_path_print(path, err, "%s/%s.1", directory, name));
        write_man(command, &page);
        WK_TRY(wk_file_write_text(NULL, path, &page, err));
    }
    return WK_OK;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const man_values *v = values;
    if ((v->out || v->markdown) && cli->words.count > 0)
        return wk_fail(err, WK_E_INPUT, "--%s writes all pages: leave out the command",
                       v->out ? "out" : "markdown");
    if (v->out) return save_pages(v->out, err);
    int used, count = cli->words.count;
    const wk_command *command = wk_command_find(cli->words.items, count, &used);
    if (count > 0 && (!command || used < count)) {
        const char *names[NAMES_MAX] = {0};
        char name[NAME_LENGTH_MAX];
        snprintf(name, sizeof name, "%s%s%s", cli->words.items[0], count > 1 ? " " : "",
                 count > 1 ? cli->words.items[1] : "");
        for (size_t i = 0; i < wk_program_spec.n_commands; i++)
            names[i] = wk_program_spec.commands[i]->name;
        return wk_arg_unknown(err, "command", name, names, wk_program_spec.n_commands);
    }
    wk_text page = {0};
    if (v->markdown)
        write_markdown(&page);
    else
        write_man(command, &page);
    return wk_cli_print(&page, err);
}

const wk_command wk_command_man = {
    .name = "man",
    .summary = "Print the manual page of the program or of a command",
    .usage = "man [COMMAND]\nman --out DIR\nman --markdown",
    .details = "An installed waker has its pages where man(1) finds them: 'man waker-train'.\n",
    .examples = "man train | man -l -",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {0, 2},
    .run = run,
};
