// waker completion: what makes bash complete commands, options and their values, read from the
// option tables. zsh loads the same script through its bashcompinit.
#include "cli/cli.h"
#include "config/blocks.h"
#include "waker/curriculum.h"
#include "waker/env.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// What can be put for a value: words with blanks between, files or directories.
typedef struct offer {
    wk_text words;
    bool files, directories;
    char extension[16]; // of the files, "" for any
} offer;

// Adds a word that is not there yet.
static void add_word(wk_text *words, const char *word, size_t length)
{
    for (const char *at = wk_text_get(words); *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (n == length && memcmp(at, word, length) == 0) return;
        at += n;
    }
    if (words->length) wk_text_puts(words, " ");
    wk_text_append(words, word, length);
}

static void add_name(wk_text *words, const char *name)
{
    add_word(words, name, strlen(name));
}

// The blocks in the program are sound; only memory can be short.
static void add_blocks(wk_text *words)
{
    wk_config_blocks *blocks = NULL;
    wk_status status = wk_config_blocks_create(&blocks, NULL);
    if (status == WK_OK) status = wk_config_blocks_add_embedded(blocks, NULL);
    for (size_t i = 0; status == WK_OK && i < wk_config_blocks_count(blocks); i++)
        add_name(words, wk_config_blocks_name(blocks, i));
    words->failed |= status != WK_OK;
    wk_config_blocks_destroy(blocks);
}

// What a word in capitals means (cli/args.h); those that are not here mean nothing to a shell.
static void add_meaning(const char *name, size_t length, offer *out)
{
    char word[16];
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    bool domains = strcmp(word, "DOMAIN") == 0, tasks = strcmp(word, "TASK") == 0,
         cases = strcmp(word, "CASE") == 0, rules = strcmp(word, "RULE") == 0,
         commands = strcmp(word, "COMMAND") == 0;
    out->files |= strcmp(word, "FILE") == 0 || strcmp(word, "PLUGIN") == 0;
    out->directories |= strcmp(word, "DIR") == 0 || strcmp(word, "RUN") == 0;
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i);
        if (domains) add_name(&out->words, domain->name);
        for (int k = 0; tasks && k < domain->n_tasks; k++)
            add_name(&out->words, domain->tasks[k].name);
        for (int k = 0; cases && k < domain->n_cases; k++)
            add_name(&out->words, domain->cases[k].name);
    }
    for (size_t i = 0; rules && i < wk_curriculum_rule_count(); i++)
        add_name(&out->words, wk_curriculum_rule_at(i)->name);
    if (strcmp(word, "BLOCK") == 0) add_blocks(&out->words);
    for (size_t i = 0; commands && i < wk_program_spec.n_commands; i++) {
        const char *command = wk_program_spec.commands[i]->name;
        add_word(&out->words, command, strcspn(command, " "));
    }
}

// Reads a value of an option table: "all|TASK,...", "FILE.png".
static void read_value(const char *value, offer *out)
{
    *out = (offer){0};
    for (size_t length; *value; value += length + (value[length] == '|')) {
        size_t capitals = 0, extension = 0;
        bool literal = true;
        length = strcspn(value, "|");
        for (size_t i = 0; i < length; i++)
            literal &= !isupper((unsigned char)value[i]);
        if (literal) {
            add_word(&out->words, value, length);
            continue;
        }
        while (capitals < length && isupper((unsigned char)value[capitals]))
            capitals++;
        if (value[capitals] == '.') {
            while (islower((unsigned char)value[capitals + 1 + extension]))
                extension++;
            snprintf(out->extension, sizeof out->extension, "%.*s", (int)extension,
                     value + capitals + 1);
        }
        add_meaning(value, capitals, out);
    }
}

// The rule for what follows an option: "words a b", "names a b" for an option that takes several,
// "files png", "directories", or "".
static void write_rule(const char *command, const char *option, const char *value, bool several,
                       wk_text *out)
{
    offer o;
    read_value(value, &o);
    wk_text_printf(out, "    '%s %s') echo '", command, option);
    if (o.files)
        wk_text_printf(out, "files%s%s", *o.extension ? " " : "", o.extension);
    else if (o.directories)
        wk_text_puts(out, "directories");
    else if (o.words.length)
        wk_text_printf(out, "%s %s", several ? "names" : "words", wk_text_get(&o.words));
    wk_text_puts(out, "' ;;\n");
    out->failed |= o.words.failed;
    wk_text_free(&o.words);
}

// Adds one option: its name to `names`, its rule to `rules`.
static void add_option(const char *command, const wk_arg *arg, wk_text *names, wk_text *rules)
{
    char option[80];
    snprintf(option, sizeof option, "--%s", arg->name);
    wk_text_printf(names, "%s%s", names->length ? " " : "", option);
    if (arg->type == WK_ARG_FLAG)
        wk_text_printf(rules, "    '%s %s') echo 'flag' ;;\n", command, option);
    else
        write_rule(command, option, arg->value, arg->type == WK_ARG_NAMES, rules);
}

// Adds what the command takes, NULL for the program itself: its words, its options, those of every
// command and keys that have no option of their own.
static void add_command(const wk_command *command, wk_text *options, wk_text *rules)
{
    const char *name = command ? command->name : "";
    char words[64] = "COMMAND|help";
    wk_text names = {0};
    if (command) {
        // What the first words of its usage are called: "RUN" of "eval RUN [--json]".
        const char *at = command->usage + strlen(name);
        at += strspn(at, " [");
        bool takes = isalpha((unsigned char)*at) && command->words[1] > 0;
        snprintf(words, sizeof words, "%.*s", takes ? (int)strcspn(at, " ]\n") : 0, at);
    }
    write_rule(name, "", words, false, rules);
    for (size_t i = 0; command && i < command->n_args; i++)
        if (command->args[i].type != WK_ARG_KEYS)
            add_option(name, &command->args[i], &names, rules);
    for (size_t i = 0; i < wk_program_spec.n_args; i++)
        add_option(name, &wk_program_spec.args[i], &names, rules);
    bool keys = command && wk_command_takes(command, "KEY");
    for (int i = 0; keys && i < WK_RUN_FIELD_COUNT; i++)
        if (!wk_command_takes(command, wk_run_keys[i]))
            add_option(name,
                       &(wk_arg){.name = wk_run_keys[i],
                                 .value = wk_cli_key_value(i),
                                 .type = WK_ARG_TEXT},
                       &names, rules);
    wk_text_printf(options, "    '%s') echo '%s' ;;\n", name, wk_text_get(&names));
    options->failed |= names.failed;
    wk_text_free(&names);
}

// The second words of commands, once for each first word.
static void write_seconds(wk_text *out)
{
    const wk_cli_spec *spec = &wk_program_spec;
    const char *last = "";
    for (size_t i = 0; i < spec->n_commands; i++) {
        const char *first = spec->commands[i]->name;
        size_t length = strcspn(first, " ");
        wk_text seconds = {0};
        if (strncmp(first, last, length) == 0 && strcspn(last, " ") == length) continue;
        last = first;
        for (size_t k = i; k < spec->n_commands; k++) {
            const char *name = spec->commands[k]->name;
            if (strncmp(name, first, length) == 0 && name[length] == ' ')
                add_name(&seconds, name + length + 1);
        }
        if (seconds.length)
            wk_text_printf(out, "    %.*s) echo '%s' ;;\n", (int)length, first,
                           wk_text_get(&seconds));
        out->failed |= seconds.failed;
        wk_text_free(&seconds);
    }
}

// Walks over the words so far, then looks up what the tables above it say. Both shells run it.
static const char engine[] =
    "_waker_complete() {\n"
    "    local current=$2 command= option= rule= word seconds offers= i\n"
    "    COMPREPLY=()\n"
    "    [[ $current != '=' ]] || current= # bash makes a word of it\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $word == '=' ]]; then\n"
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
    "    words* | names*) offers=$(compgen -W \"${rule#* }\" -- \"$current\") ;;\n"
    "    directories) offers=$(compgen -d -- \"$current\") ;;\n"
    "    files) offers=$(compgen -f -- \"$current\") ;;\n"
    "    files*) offers=$(compgen -d -- \"$current\"\n"
    "        compgen -f -X \"!*.${rule#* }\" -- \"$current\") ;;\n"
    "    esac\n"
    "    while IFS= read -r word; do\n"
    "        [[ -z $word ]] || COMPREPLY+=(\"$word\")\n"
    "    done <<<\"$offers\"\n"
    "    case $rule in directories | files*) compopt -o filenames 2>/dev/null ;; esac\n"
    "}\n"
    "complete -F _waker_complete waker\n";

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    (void)values;
    static const char *const shells[] = {"bash", "zsh"};
    const char *shell = cli->words.items[0];
    bool zsh = strcmp(shell, "zsh") == 0;
    if (!zsh && strcmp(shell, "bash") != 0) return wk_arg_unknown(err, "shell", shell, shells, 2);
    wk_text out = {0}, options = {0}, rules = {0};
    add_command(NULL, &options, &rules);
    for (size_t i = 0; i < wk_program_spec.n_commands; i++)
        add_command(wk_program_spec.commands[i], &options, &rules);
    if (zsh) wk_text_puts(&out, "#compdef waker\n");
    wk_text_printf(&out, "# Completions of waker %s for %s, made by 'waker completion %s'.\n",
                   WAKER_VERSION, shell, shell);
    if (zsh) wk_text_puts(&out, "autoload -Uz bashcompinit && bashcompinit\n");
    wk_text_puts(&out, "\n# The second words of a command.\n_waker_seconds() {\n    case $1 in\n");
    write_seconds(&out);
    wk_text_printf(&out,
                   "    esac\n}\n\n_waker_options() {\n    case $1 in\n%s    esac\n}\n\n"
                   "# What follows an option of a command; without one, what its words are.\n"
                   "_waker_rule() {\n    case \"$1 $2\" in\n%s    esac\n}\n\n%s",
                   wk_text_get(&options), wk_text_get(&rules), engine);
    // As a file on zsh's path it becomes the function _waker, which is called to complete.
    if (zsh)
        wk_text_puts(&out, "[[ $funcstack[1] != _waker ]] || _bash_complete -F _waker_complete\n");
    out.failed |= options.failed || rules.failed;
    wk_text_free(&options);
    wk_text_free(&rules);
    return wk_cli_print(&out, err);
}

const wk_command wk_command_completion = {
    .name = "completion",
    .summary = "Print shell completions",
    .usage = "completion bash|zsh",
    .details =
        "Completes commands, options and their choices, files of the right kind, directories,\n"
        "names of domains, tasks, cases, curricula and blocks, and keys of the configuration.\n"
        "An installed waker has them where the shells look. To load them without installing:\n\n"
        "  source <(waker completion bash)\n"
        "  source <(waker completion zsh)\n",
    .examples = "completion bash",
    .words = {1, 1},
    .run = run,
};
