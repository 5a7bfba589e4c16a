#include "cli/completion.h"
#include "config/blocks.h"
#include "waker/curriculum.h"
#include "waker/env.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Whether words[0 ... ] between blanks has the word.
static bool has_word(const wk_text *words, const char *word, size_t length)
{
    const char *at = wk_text_get(words);
    while (*at) {
        size_t n = strcspn(at, " ");
        if (n == length && memcmp(at, word, length) == 0) return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static void add_word(wk_text *words, const char *word, size_t length)
{
    if (has_word(words, word, length)) return;
    if (words->length) wk_text_puts(words, " ");
    wk_text_append(words, word, length);
}

static void add_name(wk_text *words, const char *name)
{
    add_word(words, name, strlen(name));
}

static void add_domains(wk_completion *c)
{
    for (size_t i = 0; i < wk_domain_count(); i++)
        add_name(&c->words, wk_domain_at(i)->name);
}

static void add_tasks(wk_completion *c)
{
    for (size_t i = 0; i < wk_domain_count(); i++)
        for (int k = 0; k < wk_domain_at(i)->n_tasks; k++)
            add_name(&c->words, wk_domain_at(i)->tasks[k].name);
}

static void add_cases(wk_completion *c)
{
    for (size_t i = 0; i < wk_domain_count(); i++)
        for (int k = 0; k < wk_domain_at(i)->n_cases; k++)
            add_name(&c->words, wk_domain_at(i)->cases[k].name);
}

static void add_rules(wk_completion *c)
{
    for (size_t i = 0; i < wk_curriculum_rule_count(); i++)
        add_name(&c->words, wk_curriculum_rule_at(i)->name);
}

// Those in the program are sound; only memory can be short.
static void add_blocks(wk_completion *c)
{
    wk_config_blocks *blocks = NULL;
    wk_status status = wk_config_blocks_create(&blocks, NULL);
    if (status == WK_OK) status = wk_config_blocks_add_embedded(blocks, NULL);
    for (size_t i = 0; status == WK_OK && i < wk_config_blocks_count(blocks); i++)
        add_name(&c->words, wk_config_blocks_name(blocks, i));
    c->words.failed |= status != WK_OK;
    wk_config_blocks_destroy(blocks);
}

static void add_commands(wk_completion *c)
{
    for (size_t i = 0; i < wk_program_spec.n_commands; i++)
        add_word(&c->words, wk_program_spec.commands[i]->name,
                 strcspn(wk_program_spec.commands[i]->name, " "));
}

static void set_files(wk_completion *c)
{
    c->files = true;
}

static void set_directories(wk_completion *c)
{
    c->directories = true;
}

static const struct {
    const char *name;
    void (*add)(wk_completion *c);
} meanings[] = {
    {"FILE", set_files},       {"PLUGIN", set_files},   {"DIR", set_directories},
    {"RUN", set_directories},  {"DOMAIN", add_domains}, {"TASK", add_tasks},
    {"CASE", add_cases},       {"BLOCK", add_blocks},   {"RULE", add_rules},
    {"COMMAND", add_commands},
};

// One alternative: a word to type, or a word in capitals, perhaps with an extension after it.
static void read_alternative(const char *text, size_t length, wk_completion *out)
{
    size_t capitals = 0, end;
    bool literal = length > 0;
    for (size_t i = 0; i < length; i++)
        literal &= !isupper((unsigned char)text[i]);
    if (literal) {
        add_word(&out->words, text, length);
        return;
    }
    while (capitals < length && isupper((unsigned char)text[capitals]))
        capitals++;
    for (end = capitals + 1; end < length && islower((unsigned char)text[end]); end++)
        ;
    if (capitals < length && text[capitals] == '.')
        snprintf(out->extension, sizeof out->extension, "%.*s", (int)(end - capitals - 1),
                 text + capitals + 1);
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strlen(meanings[i].name) == capitals && memcmp(meanings[i].name, text, capitals) == 0)
            meanings[i].add(out);
}

wk_status wk_completion_read(const char *value, wk_completion *out, wk_error *err)
{
    *out = (wk_completion){0};
    while (value && *value) {
        size_t length = strcspn(value, "|");
        read_alternative(value, length, out);
        value += length + (value[length] == '|');
    }
    if (!out->words.failed) return WK_OK;
    wk_completion_free(out);
    return wk_fail(err, WK_E_MEMORY, "no memory for a completion");
}

void wk_completion_free(wk_completion *completion)
{
    wk_text_free(&completion->words);
}

const char *wk_completion_key(int field)
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

static bool has_option(const wk_arg *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0) return true;
    return false;
}

static size_t add_rows(const wk_arg *from, size_t n, wk_arg *rows, size_t count)
{
    for (size_t i = 0; i < n; i++) {
        assert(count < WK_COMPLETION_OPTIONS_MAX);
        if (from[i].type != WK_ARG_KEYS) rows[count++] = from[i];
    }
    return count;
}

// A row for each key that has no option of its own.
static size_t add_keys(wk_arg *rows, size_t count)
{
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const wk_run_field *f = &wk_run_fields[i];
        if (has_option(rows, count, f->key)) continue;
        assert(count < WK_COMPLETION_OPTIONS_MAX);
        rows[count++] = (wk_arg){
            .name = f->key, .value = wk_completion_key(i), .help = f->meaning, .type = WK_ARG_TEXT};
    }
    return count;
}

size_t wk_completion_options(const wk_command *command, wk_arg rows[WK_COMPLETION_OPTIONS_MAX])
{
    size_t count = 0;
    if (command) count = add_rows(command->args, command->n_args, rows, count);
    count = add_rows(wk_program_spec.args, wk_program_spec.n_args, rows, count);
    for (size_t i = 0; command && i < command->n_args; i++)
        if (command->args[i].type == WK_ARG_KEYS) count = add_keys(rows, count);
    return count;
}

void wk_completion_words(const wk_command *command, char *value, size_t size)
{
    const char *at = command->usage + strlen(command->name);
    at += strspn(at, " [");
    bool word = isalpha((unsigned char)*at) && command->max_words > 0;
    snprintf(value, size, "%.*s", word ? (int)strcspn(at, " ]\n") : 0, at);
}

void wk_completion_seconds(const char *first, wk_text *out)
{
    size_t length = strcspn(first, " ");
    for (size_t i = 0; i < wk_program_spec.n_commands; i++) {
        const char *name = wk_program_spec.commands[i]->name;
        if (strncmp(name, first, length) == 0 && name[length] == ' ')
            add_name(out, name + length + 1);
    }
}

bool wk_completion_repeated(size_t command)
{
    const char *name = wk_program_spec.commands[command]->name;
    size_t length = strcspn(name, " ");
    for (size_t i = 0; i < command; i++) {
        const char *other = wk_program_spec.commands[i]->name;
        if (strcspn(other, " ") == length && memcmp(other, name, length) == 0) return true;
    }
    return false;
}

void wk_completion_quote(wk_text *out, const char *text)
{
    wk_text_puts(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            wk_text_puts(out, "'\\''");
        else
            wk_text_append(out, text, 1);
    }
    wk_text_puts(out, "'");
}
