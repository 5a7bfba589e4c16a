// waker trust: the user's list of plug-ins that may be loaded without being named.
#include "base/python_spec.h"
#include "base/shared_object.h"
#include "base/table.h"
#include "base/trusted.h"
#include "cli/cli.h"
#include <stdio.h>
#include <string.h>

typedef struct trust_values {
    bool list, remove, json;
} trust_values;

static const trust_values defaults;

#define WK_VALUES trust_values
static const wk_arg args[] = {
    WK_OPT_FLAG("list", list, "show the list, and whether the files are unchanged"),
    WK_OPT_FLAG("remove", remove, "remove the files from the list"),
    WK_OPT_FLAG("json", json, "print the list as JSON"),
};

// "same", "changed", or "missing": the file now, next to what was trusted.
static const char *state_of(const wk_code_file *entry)
{
    wk_code_file now;
    wk_status status = wk_code_file_read(entry->path, &now, NULL);
    if (status == WK_E_NOT_FOUND) return "missing";
    if (status != WK_OK) return "unreadable";
    return strcmp(now.sha256, entry->sha256) == 0 ? "same" : "changed";
}

static void print_json(const wk_trusted *trusted, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_array(&json, NULL);
    for (size_t i = 0; i < trusted->files.count; i++) {
        const wk_code_file *entry = &trusted->files.items[i];
        wk_json_object(&json, NULL);
        wk_json_string(&json, "path", entry->path);
        wk_json_string(&json, "sha256", entry->sha256);
        wk_json_string(&json, "state", state_of(entry));
        wk_json_close(&json, '}');
    }
    wk_json_close(&json, ']');
}

static wk_status print_list(const wk_trusted *trusted, wk_text *out, wk_error *err)
{
    char place[WK_CODE_PATH_MAX];
    WK_TRY(wk_trusted_path(place, err));
    if (trusted->files.count == 0) {
        wk_text_printf(out, "no file is trusted (%s)\n", place);
        return WK_OK;
    }
    wk_table table = {0};
    wk_table_begin(&table, "lll", "file", "now", "SHA-256");
    for (size_t i = 0; i < trusted->files.count; i++)
        wk_table_texts(&table, trusted->files.items[i].path, state_of(&trusted->files.items[i]),
                       trusted->files.items[i].sha256);
    wk_table_finish(&table, 0, out);
    wk_text_printf(out,
                   "\n"
                   "stored in %s\n",
                   place);
    return WK_OK;
}

static wk_status add(wk_trusted *trusted, const char *name, wk_text *out, wk_error *err)
{
    wk_code_file file;
    WK_TRY(wk_code_file_read(name, &file, err));
    if (!wk_python_spec_has_file(file.path)) WK_TRY(wk_shared_object_check(file.path, err));
    wk_text_printf(out, "trusted: %s, SHA-256 %s\n", file.path, file.sha256);
    return wk_trusted_add(trusted, &file, err);
}

// A file that is gone is named as the list has it.
static wk_status take_out(wk_trusted *trusted, const char *name, wk_text *out, wk_error *err)
{
    wk_code_file file;
    const char *path = wk_code_file_read(name, &file, NULL) == WK_OK ? file.path : name;
    if (!wk_trusted_remove(trusted, path) && !wk_trusted_remove(trusted, path = name))
        return wk_fail(err, WK_E_NOT_FOUND,
                       "'%s' is not in the list; 'waker trust --list' shows it", name);
    wk_text_printf(out, "no longer trusted: %s\n", path);
    return WK_OK;
}

static wk_status change(wk_trusted *trusted, const wk_arg_words *words, bool remove, wk_text *out,
                        wk_error *err)
{
    for (int i = 0; i < words->count; i++)
        WK_TRY((remove ? take_out : add)(trusted, words->items[i], out, err));
    return words->count > 0 ? wk_trusted_write(trusted, err) : WK_OK;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const trust_values *v = values;
    if (cli->words.count == 0 && (v->remove || !v->list))
        return wk_fail(err, WK_E_INPUT, "a file is required: give FILE..., or --list");
    wk_trusted trusted = {0};
    wk_text text = {0};
    WK_TRY(wk_trusted_read(&trusted, err));
    wk_status status = change(&trusted, &cli->words, v->remove, &text, err);
    if (status == WK_OK && v->json) {
        wk_text_free(&text);
        print_json(&trusted, &text);
    } else if (status == WK_OK && v->list) {
        status = print_list(&trusted, &text, err);
    }
    wk_trusted_free(&trusted);
    return wk_cli_print_if(status, &text, err);
}

const wk_command wk_command_trust = {
    .name = "trust",
    .summary = "Trust plug-ins, so that runs load them without --plugin",
    .usage = "trust FILE... [--json]\ntrust --list [--json]\ntrust --remove FILE... [--json]",
    .details =
        "A plug-in is code. It is loaded only if a command names it with --plugin, or if it is\n"
        "in your list of trusted files, $XDG_CONFIG_HOME/waker/trusted\n"
        "(~/.config/waker/trusted), which has the format of sha256sum. An entry is valid for\n"
        "the file's absolute path and its current content; after a rebuild, trust the file\n"
        "again. A Python function is written as FILE.py:FUNCTION. docs/security.md says which\n"
        "other files are opened.\n",
    .examples = "trust ./ball.so\ntrust --list",
    WK_COMMAND_OPTIONS(args, defaults),
    .max_words = WK_ARG_WORDS_MAX,
    .run = run,
};
