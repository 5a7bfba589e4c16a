#include "cli/completion.h"

#include <string.h>

// The engine: walks over the words so far, then looks up what the tables behind it say.
static const char engine[] =
    "_waker() {\n"
    "    local current=$2 command= option= rule= word seconds i\n"
    "    COMPREPLY=()\n"
    "    [[ $current != = ]] || current= # bash makes a word of it\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $word == = ]]; then\n"
    "            continue\n"
    "        elif [[ $word == -* ]]; then\n"
    "            option=$word rule=$(_waker_rule \"$command\" \"$word\")\n"
    "            [[ $rule != flag ]] || option=\n"
    "        elif [[ $option ]]; then\n"
    "            [[ $rule == names* ]] || option=\n"
    "        elif [[ -z $command ]]; then\n"
    "            [[ $word == help ]] || command=$word\n"
    "        elif [[ \" $(_waker_seconds \"$command\") \" == *\" $word \"* ]]; then\n"
    "            command+=\" $word\"\n"
    "        fi\n"
    "    done\n"
    "    seconds=$(_waker_seconds \"$command\")\n"
    "    if [[ $current == -* ]]; then\n"
    "        rule=\"words $(_waker_options \"$command\")\"\n"
    "    elif [[ -z $option ]]; then\n"
    "        rule=$(_waker_rule \"$command\" '')\n"
    "        [[ -z $seconds ]] || rule=\"words $seconds ${rule#words }\"\n"
    "    fi\n"
    "    case $rule in\n"
    "    words* | names*) mapfile -t COMPREPLY < <(compgen -W \"${rule#* }\" -- \"$current\") ;;\n"
    "    directories) mapfile -t COMPREPLY < <(compgen -d -- \"$current\") ;;\n"
    "    files) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;;\n"
    "    files*) mapfile -t COMPREPLY < <(compgen -d -- \"$current\"\n"
    "        compgen -f -X \"!*.${rule#* }\" -- \"$current\") ;;\n"
    "    esac\n"
    "    case $rule in directories | files*) compopt -o filenames 2>/dev/null ;; esac\n"
    "}\n"
    "complete -F _waker waker\n";

static void write_options(const wk_command *command, wk_text *out)
{
    wk_arg rows[WK_COMPLETION_OPTIONS_MAX];
    size_t count = wk_completion_options(command, rows);
    wk_text_puts(out, "    ");
    wk_completion_quote(out, command ? command->name : "");
    wk_text_puts(out, ") echo '");
    for (size_t i = 0; i < count; i++)
        wk_text_printf(out, "%s--%s", i ? " " : "", rows[i].name);
    wk_text_puts(out, "' ;;\n");
}

// "words a b", "names a b" for an option that takes several, "files png", "directories", or "".
static wk_status write_rule(const char *value, bool several, wk_text *out, wk_error *err)
{
    wk_completion c;
    WK_TRY(wk_completion_read(value, &c, err));
    if (c.files)
        wk_text_printf(out, "files%s%s", *c.extension ? " " : "", c.extension);
    else if (c.directories)
        wk_text_puts(out, "directories");
    else if (c.words.length)
        wk_text_printf(out, "%s %s", several ? "names" : "words", wk_text_get(&c.words));
    wk_completion_free(&c);
    return WK_OK;
}

static wk_status write_rule_of(const char *command, const wk_arg *row, wk_text *out, wk_error *err)
{
    wk_text_printf(out, "    '%s --%s') echo '", command, row->name);
    if (row->type == WK_ARG_FLAG)
        wk_text_puts(out, "flag");
    else
        WK_TRY(write_rule(row->value, row->type == WK_ARG_NAMES, out, err));
    wk_text_puts(out, "' ;;\n");
    return WK_OK;
}

static wk_status write_rules(const wk_command *command, wk_text *out, wk_error *err)
{
    wk_arg rows[WK_COMPLETION_OPTIONS_MAX];
    size_t count = wk_completion_options(command, rows);
    const char *name = command ? command->name : "";
    char words[64] = "COMMAND|help";
    if (command) wk_completion_words(command, words, sizeof words);
    wk_text_printf(out, "    '%s ') echo '", name);
    WK_TRY(write_rule(words, false, out, err));
    wk_text_puts(out, "' ;;\n");
    for (size_t i = 0; i < count; i++)
        WK_TRY(write_rule_of(name, &rows[i], out, err));
    return WK_OK;
}

static void write_seconds(wk_text *out)
{
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        wk_text seconds = {0};
        const char *name = wk_program_spec.commands[i]->name;
        if (!wk_completion_repeated(i)) wk_completion_seconds(name, &seconds);
        if (seconds.length)
            wk_text_printf(out, "    %.*s) echo '%s' ;;\n", (int)strcspn(name, " "), name,
                           wk_text_get(&seconds));
        out->failed |= seconds.failed;
        wk_text_free(&seconds);
    }
}

wk_status wk_completion_bash(wk_text *out, wk_error *err)
{
    wk_text_puts(out, "# Completions of waker " WAKER_VERSION
                      " for bash, made by 'waker completion bash'.\n\n"
                      "# The second words of a command.\n"
                      "_waker_seconds() {\n    case $1 in\n");
    write_seconds(out);
    wk_text_puts(out, "    esac\n}\n\n_waker_options() {\n    case $1 in\n");
    write_options(NULL, out);
    for (size_t i = 0; i < wk_program_spec.n_commands; i++)
        write_options(wk_program_spec.commands[i], out);
    wk_text_puts(out, "    esac\n}\n\n# What follows an option of a command; without one, what its "
                      "words are.\n_waker_rule() {\n    case \"$1 $2\" in\n");
    WK_TRY(write_rules(NULL, out, err));
    for (size_t i = 0; i < wk_program_spec.n_commands; i++)
        WK_TRY(write_rules(wk_program_spec.commands[i], out, err));
    wk_text_printf(out, "    esac\n}\n\n%s", engine);
    return WK_OK;
}
