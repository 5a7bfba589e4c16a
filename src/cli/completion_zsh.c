#include "cli/completion.h"

#include <string.h>

static const char engine_begin[] =
    "    # Options and 'help' before the command.\n"
    "    while (( CURRENT > 2 )) && [[ $words[2] == (-*|help) ]]; do\n"
    "        if [[ $words[2] == (%s) ]] && (( CURRENT > 3 )); then\n"
    "            words[2]=()\n"
    "            (( CURRENT-- ))\n"
    "        fi\n"
    "        words[2]=()\n"
    "        (( CURRENT-- ))\n"
    "    done\n"
    "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
    "        _describe -t commands 'waker command' commands\n"
    "        return\n"
    "    fi\n"
    "    # The command is one word or two.\n"
    "    local command=\n"
    "    local -a seconds\n"
    "    if (( CURRENT > 2 )); then\n"
    "        command=$words[2]\n"
    "        seconds=(${=second_words[$command]})\n"
    "        shift words\n"
    "        (( CURRENT-- ))\n"
    "    fi\n"
    "    if (( CURRENT > 2 && $seconds[(Ie)$words[2]] )); then\n"
    "        command+=\" $words[2]\"\n"
    "        shift words\n"
    "        (( CURRENT-- ))\n"
    "    elif (( CURRENT == 2 && $#seconds )); then\n"
    "        _describe -t commands 'waker command' seconds\n"
    "    fi\n"
    "    case $command in\n";

static const char engine_end[] = "    esac\n"
                                 "}\n\n"
                                 "if [[ $funcstack[1] == _waker ]]; then\n"
                                 "    _waker \"$@\"\n"
                                 "else\n"
                                 "    compdef _waker waker\n"
                                 "fi\n";

// `text` with a backslash before what _arguments and _describe would take for their own.
static void put_escaped(wk_text *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text)) wk_text_puts(out, "\\");
        wk_text_append(out, text, 1);
    }
}

// ":VALUE:(a b)" and the like.
static wk_status put_value(const char *value, wk_text *out, wk_error *err)
{
    wk_completion c;
    WK_TRY(wk_completion_read(value, &c, err));
    put_escaped(out, value);
    if (c.files && *c.extension)
        wk_text_printf(out, ":_files -g \"*.%s\"", c.extension);
    else if (c.files)
        wk_text_puts(out, ":_files");
    else if (c.directories)
        wk_text_puts(out, ":_files -/");
    else
        wk_text_printf(out, ":(%s)", wk_text_get(&c.words));
    wk_completion_free(&c);
    return WK_OK;
}

// One argument of _arguments.
static wk_status put_spec(const wk_arg *row, wk_text *spec, wk_error *err)
{
    bool repeats = row->type == WK_ARG_TEXTS || row->type == WK_ARG_NAMES;
    wk_text_printf(spec, "%s--%s%s[", repeats ? "*" : "", row->name,
                   row->type == WK_ARG_FLAG ? "" : "=");
    put_escaped(spec, row->help);
    wk_text_puts(spec, "]");
    if (row->type == WK_ARG_FLAG) return WK_OK;
    wk_text_puts(spec, ":");
    return put_value(row->value, spec, err);
}

static void put_line(wk_text *spec, wk_text *out)
{
    wk_text_puts(out, " \\\n            ");
    wk_completion_quote(out, wk_text_get(spec));
    out->failed |= spec->failed;
    wk_text_free(spec);
}

// What is no option: the command's own words, or more words of an option that takes several
// (_arguments knows options with several words, but offers no options after them).
static wk_status put_words(const wk_command *command, wk_text *out, wk_error *err)
{
    char words[64];
    wk_completion_words(command, words, sizeof words);
    const char *value = *words ? words : NULL;
    for (size_t i = 0; !value && i < command->n_args; i++)
        if (command->args[i].type == WK_ARG_NAMES) value = command->args[i].value;
    if (!value) return WK_OK;
    wk_text spec = {0};
    wk_text_puts(&spec, *words && command->max_words == 1 ? "1:" : "*:");
    wk_status status = put_value(value, &spec, err);
    put_line(&spec, out);
    return status;
}

static wk_status put_command(const wk_command *command, wk_text *out, wk_error *err)
{
    wk_arg rows[WK_COMPLETION_OPTIONS_MAX];
    size_t count = wk_completion_options(command, rows);
    wk_text_puts(out, "    (");
    wk_completion_quote(out, command ? command->name : "");
    wk_text_puts(out, ")\n        _arguments");
    for (size_t i = 0; i < count; i++) {
        wk_text spec = {0};
        wk_status status = put_spec(&rows[i], &spec, err);
        put_line(&spec, out);
        if (status != WK_OK) return status;
    }
    if (command) WK_TRY(put_words(command, out, err));
    wk_text_puts(out, "\n        ;;\n");
    return WK_OK;
}

// "name:summary" of every first word; one with several commands after it has theirs.
static void put_names(wk_text *out)
{
    wk_text_puts(out, "    local -a commands=(\n");
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        const wk_command *command = wk_program_spec.commands[i];
        if (wk_completion_repeated(i)) continue;
        wk_text line = {0}, seconds = {0};
        wk_completion_seconds(command->name, &seconds);
        wk_text_append(&line, command->name, strcspn(command->name, " "));
        wk_text_puts(&line, ":");
        put_escaped(&line, strchr(command->name, ' ') ? wk_text_get(&seconds) : command->summary);
        wk_text_puts(out, "        ");
        wk_completion_quote(out, wk_text_get(&line));
        wk_text_puts(out, "\n");
        out->failed |= line.failed || seconds.failed;
        wk_text_free(&line);
        wk_text_free(&seconds);
    }
    wk_text_puts(out, "        'help:Show the help of a command'\n    )\n");
}

static void put_seconds(wk_text *out)
{
    wk_text_puts(out, "    local -A second_words=(");
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        const char *name = wk_program_spec.commands[i]->name;
        wk_text seconds = {0};
        if (!wk_completion_repeated(i)) wk_completion_seconds(name, &seconds);
        if (seconds.length)
            wk_text_printf(out, " %.*s '%s'", (int)strcspn(name, " "), name, wk_text_get(&seconds));
        out->failed |= seconds.failed;
        wk_text_free(&seconds);
    }
    wk_text_puts(out, " )\n");
}

wk_status wk_completion_zsh(wk_text *out, wk_error *err)
{
    wk_text_puts(out, "#compdef waker\n# Completions of waker " WAKER_VERSION
                      " for zsh, made by 'waker completion zsh'.\n\n_waker() {\n");
    put_names(out);
    put_seconds(out);
    wk_text with_value = {0};
    for (size_t i = 0; i < wk_program_spec.n_args; i++)
        if (wk_program_spec.args[i].value)
            wk_text_printf(&with_value, "%s--%s", with_value.length ? "|" : "",
                           wk_program_spec.args[i].name);
    wk_text_printf(out, engine_begin, wk_text_get(&with_value));
    out->failed |= with_value.failed;
    wk_text_free(&with_value);
    WK_TRY(put_command(NULL, out, err));
    for (size_t i = 0; i < wk_program_spec.n_commands; i++)
        WK_TRY(put_command(wk_program_spec.commands[i], out, err));
    wk_text_puts(out, engine_end);
    return WK_OK;
}
