// waker config: the configuration that a run would get, where each value comes from, and how it
// differs from the paper's.
#include "base/table.h"
#include "cli/cli.h"
#include "cli/run_config.h"
#include "waker/curriculum.h"
#include "waker/env.h"
#include <assert.h>
#include <string.h>

typedef struct config_values {
    wk_run_args run;
    const char *diff, *search;
    bool json, yaml, list, table;
} config_values;

static const config_values defaults;

#define WK_VALUES config_values
static const wk_arg args[] = {
    WK_RUN_ARG_ROWS(run),
    WK_OPT_TEXT(
        "diff", diff, "BLOCK",
        "show only what differs from BLOCK with the same domain, curriculum and exploration"),
    WK_OPT_TEXT("search", search, "WORD",
                "list the keys about a word, with meaning, range and default"),
    WK_OPT_FLAG("yaml", yaml, "print the config.yaml of the run"),
    WK_OPT_FLAG("json", json, "print JSON"),
    WK_OPT_FLAG("list", list, "list all blocks with a description"),
    WK_OPT_FLAG("table", table, "print the table of all keys in docs/configuration.md"),
};

static void describe_origin(const wk_origin *origin, wk_text *out)
{
    if (!origin->file)
        wk_text_puts(out, "command line");
    else if (strcmp(origin->block, WK_ORIGIN_DEFAULTS) == 0)
        wk_text_puts(out, "default");
    else if (strcmp(origin->file, WK_ORIGIN_RULES) == 0)
        wk_text_printf(out, "%s (%s)", origin->file, origin->block);
    else
        wk_text_printf(out, "%s:%d (%s)", origin->file, origin->line, origin->block);
}

// Adds the value of a key as a cell of its own kind; people see texts as they would write them.
static void put_value(wk_table *table, const wk_run_config *config, int i)
{
    const wk_run_field *field = &wk_run_fields[i];
    const void *place = (const char *)config + field->offset;
    wk_text text = {0};
    wk_run_config_get(config, i, &text);
    if (field->kind == WK_RUN_BOOL)
        wk_table_bool(table, *(const bool *)place);
    else if (field->kind == WK_RUN_INT)
        wk_table_integer(table, *(const int *)place);
    else if (field->kind == WK_RUN_COUNT)
        wk_table_integer(table, *(const int64_t *)place);
    else if (field->kind == WK_RUN_NUMBER)
        wk_table_number(table, *(const double *)place);
    else if (field->kind == WK_RUN_SEED && *(const uint64_t *)place <= 1ull << 53)
        wk_table_unsigned(table, *(const uint64_t *)place);
    else // readers that keep numbers as doubles would round a larger seed
        wk_table_text(table, wk_text_get(&text));
    wk_table_shown(table, "%s", text.length ? wk_text_get(&text) : "''");
    table->failed |= text.failed;
    wk_text_free(&text);
}

// An object for each row, called as the row's first cell.
static void json_by_key(const wk_table *table, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    out->failed |= table->failed;
    for (size_t row = 0; !out->failed && row < wk_table_count(table); row++) {
        wk_json_object(&json, table->cells.items[(row + 1) * table->columns].value);
        wk_table_json_row(table, row, &json);
        wk_json_close(&json, '}');
    }
    wk_json_close(&json, '}');
}

// What the paper has, of the key's own kind; false where it has no such thing.
static bool take_paper(const wk_run_config *paper, int i, wk_run_config *out)
{
    const char *said = wk_run_fields[i].paper;
    *out = *paper;
    bool valid = !*said || strcmp(said, "=") == 0 || wk_run_config_set(out, i, said, NULL) == WK_OK;
    assert(valid);
    return *said;
}

static void print_listing(const wk_merged_config *merged, const wk_run_config *paper, bool as_json,
                          wk_text *out)
{
    static const wk_column columns[] = {
        {WK_COLUMN_TEXT, NULL, "key", NULL, 0},   {WK_COLUMN_TEXT, "value", "value", NULL, 0},
        {WK_COLUMN_TEXT, NULL, "paper", NULL, 0}, {WK_COLUMN_TEXT, "source", "set by", NULL, 0},
        {WK_COLUMN_TEXT, "paper", NULL, NULL, 0}, {WK_COLUMN_TEXT, "differs", NULL, NULL, 0}};
    int differ = 0;
    wk_table table;
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        wk_run_config theirs;
        bool known = take_paper(paper, i, &theirs);
        bool differs = known && !wk_run_config_same(&merged->config, &theirs, i);
        wk_text source = {0}, other = {0};
        describe_origin(&merged->origins[i], &source);
        if (differs) wk_run_config_get(&theirs, i, &other);
        differ += differs;
        wk_table_text(&table, wk_run_keys[i]);
        put_value(&table, &merged->config, i);
        wk_table_cell(&table, "%s%s", differs ? "differs: " : "",
                      differs && !other.length ? "''" : wk_text_get(&other));
        wk_table_text(&table, wk_text_get(&source));
        if (known)
            put_value(&table, &theirs, i);
        else
            wk_table_absent(&table);
        wk_table_bool(&table, differs);
        table.failed |= source.failed || other.failed;
        wk_text_free(&source);
        wk_text_free(&other);
    }
    if (as_json)
        json_by_key(&table, out);
    else {
        wk_table_print(&table, 0, out);
        wk_text_printf(out,
                       "\n%d of %d values differ%s from the paper's for this domain, curriculum "
                       "and exploration.\n",
                       differ, WK_RUN_FIELD_COUNT, differ == 1 ? "s" : "");
    }
    wk_table_free(&table);
}

static void print_diff(const wk_run_config *ours, const wk_run_config *theirs, const char *name,
                       bool as_json, wk_text *out)
{
    const wk_column columns[] = {{WK_COLUMN_TEXT, NULL, "key", NULL, 0},
                                 {WK_COLUMN_TEXT, "value", "value", NULL, 0},
                                 {WK_COLUMN_TEXT, name, name, NULL, 0}};
    wk_table table;
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        if (wk_run_config_same(ours, theirs, i)) continue;
        wk_table_text(&table, wk_run_keys[i]);
        put_value(&table, ours, i);
        put_value(&table, theirs, i);
    }
    if (as_json)
        json_by_key(&table, out);
    else if (wk_table_count(&table) > 0)
        wk_table_print(&table, 0, out);
    else
        wk_text_printf(out, "no value differs from '%s'\n", name);
    wk_table_free(&table);
}

// What the paper or the authors have, against our default.
static const char *table_cell(const char *theirs, const char *ours)
{
    return strcmp(theirs, "=") == 0 ? ours : *theirs ? theirs : "";
}

static void put_range(const wk_run_field *field, wk_text *out)
{
    if (field->choices) {
        for (const char *c = field->choices; *c; c++)
            if (*c == '|')
                wk_text_puts(out, ", ");
            else
                wk_text_append(out, c, 1);
    } else if (field->kind == WK_RUN_BOOL)
        wk_text_puts(out, "true, false");
    else if (field->kind == WK_RUN_SEED)
        wk_text_puts(out, "0 to 2^64-1");
    else if (field->kind != WK_RUN_TEXT && field->kind != WK_RUN_LIST)
        wk_text_printf(out, "%.10g to %.10g", field->min, field->max);
}

static wk_status print_search(const char *word, bool as_json, wk_text *out, wk_error *err)
{
    static const wk_column columns[] = {{WK_COLUMN_TEXT, "key", "key", NULL, 0},
                                        {WK_COLUMN_TEXT, "default", "default", NULL, 0},
                                        {WK_COLUMN_TEXT, "range", "range", NULL, 0},
                                        {WK_COLUMN_TEXT, "meaning", "meaning", NULL, 0}};
    const wk_run_config defaults_of_keys = wk_run_config_default();
    wk_table table;
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        if (!wk_run_field_is_about(i, word)) continue;
        wk_text range = {0};
        put_range(&wk_run_fields[i], &range);
        wk_table_text(&table, wk_run_keys[i]);
        put_value(&table, &defaults_of_keys, i);
        wk_table_text(&table, wk_text_get(&range));
        wk_table_text(&table, wk_run_fields[i].meaning);
        table.failed |= range.failed;
        wk_text_free(&range);
    }
    bool any = table.failed || wk_table_count(&table) > 0;
    if (any && as_json)
        wk_table_json(&table, NULL, &(wk_json){.text = out});
    else if (any)
        wk_table_print(&table, 0, out);
    wk_table_free(&table);
    if (any) return WK_OK;
    return wk_fail(err, WK_E_NOT_FOUND,
                   "no key and no meaning has '%.80s'; 'waker config' lists all keys", word);
}

// Markdown; docs/configuration.md has it word for word.
static void print_table(wk_text *out)
{
    const wk_run_config ours = wk_run_config_default();
    wk_text_puts(out, "| key | default | paper | authors' code | range | resuming | meaning |\n"
                      "|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const wk_run_field *field = &wk_run_fields[i];
        wk_text value = {0};
        wk_run_config_get(&ours, i, &value);
        wk_text_printf(out, "| `%s` | %s | %s | %s | ", field->key, wk_text_get(&value),
                       table_cell(field->paper, wk_text_get(&value)),
                       table_cell(field->authors, wk_text_get(&value)));
        put_range(field, out);
        wk_text_printf(out, " | %s | %s |\n", field->role == WK_RUN_FREE ? "free" : "",
                       field->meaning);
        wk_text_free(&value);
    }
}

// What domains and rules say of themselves is taken from there.
static const struct {
    const char *file, *heading;
} groups[] = {{WK_ORIGIN_DEFAULTS, "Always applied"},
              {"domains.yaml", "Domains: name one first"},
              {WK_ORIGIN_RULES, "Curricula"},
              {"exploration.yaml", "Exploration"},
              {"presets.yaml", "Presets, sizes for a machine: name one after the others"},
              {"protocols.yaml", "Protocols: name one last"}};

enum { N_GROUPS = sizeof groups / sizeof *groups };

static const struct {
    const char *block, *text;
} descriptions[] = {{"defaults", "every key, with the paper's numbers for the terrain domains"},
                    {"plan2explore", "a policy that seeks the ensemble's disagreement"},
                    {"random", "random actions"},
                    {"paper", "the paper's networks and batches: a data-centre GPU"},
                    {"small", "a desktop GPU, or many hours on a CPU"},
                    {"quick", "minutes on two CPU cores"},
                    {"authors", "what the authors' code does differently from the paper's text"}};

static const char *describe_block(const char *block)
{
    const wk_domain *domain;
    const wk_curriculum_rule *rule;
    for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++)
        if (strcmp(descriptions[i].block, block) == 0) return descriptions[i].text;
    if (wk_domain_find(block, &domain, NULL) == WK_OK) return domain->summary;
    if (wk_curriculum_rule_find(block, &rule, NULL) == WK_OK) return rule->summary;
    return "";
}

static void put_group(const wk_config_blocks *blocks, const char *heading, const char *file,
                      wk_text *out)
{
    wk_text_printf(out, "%s%s (%s)\n", out->length ? "\n" : "", heading, file);
    for (size_t i = 0; i < wk_config_blocks_count(blocks); i++) {
        const char *name = wk_config_blocks_name(blocks, i);
        if (strcmp(wk_config_blocks_file(blocks, i), file) != 0) continue;
        const char *text = describe_block(name);
        wk_text_printf(out, *text ? "  %-16s%s\n" : "  %s\n", name, text);
    }
}

static bool is_own(const char *file)
{
    for (size_t g = 0; g < N_GROUPS; g++)
        if (strcmp(groups[g].file, file) == 0) return false;
    return true;
}

static void print_blocks(const wk_config_blocks *blocks, wk_text *out)
{
    for (size_t g = 0; g < N_GROUPS; g++)
        put_group(blocks, groups[g].heading, groups[g].file, out);
    const char *last = "";
    for (size_t i = 0; i < wk_config_blocks_count(blocks); i++) {
        const char *file = wk_config_blocks_file(blocks, i);
        if (is_own(file) && strcmp(file, last) != 0) put_group(blocks, "Your own", file, out);
        last = file;
    }
}

static void json_blocks(const wk_config_blocks *blocks, wk_text *out)
{
    static const wk_column columns[] = {WK_COLUMN_KEY("name"), WK_COLUMN_KEY("file"),
                                        WK_COLUMN_KEY("description")};
    wk_table table;
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < wk_config_blocks_count(blocks); i++) {
        const char *name = wk_config_blocks_name(blocks, i);
        wk_table_text(&table, name);
        wk_table_text(&table, wk_config_blocks_file(blocks, i));
        wk_table_text(&table, describe_block(name));
    }
    wk_table_json(&table, NULL, &(wk_json){.text = out});
    wk_table_free(&table);
}

static wk_status check(wk_merged_config *merged, wk_error *err)
{
    wk_run_plugins code = {0};
    wk_status status = wk_run_settings_open(merged, NULL, NULL, &code, err);
    wk_run_plugins_close(&code);
    return status;
}

static wk_status show(const config_values *values, const wk_config_blocks *blocks,
                      wk_merged_config *merged, wk_error *err)
{
    wk_text out = {0};
    wk_run_config reference;
    if (values->list) {
        (values->json ? json_blocks : print_blocks)(blocks, &out);
        return wk_cli_print(&out, err);
    }
    WK_TRY(check(merged, err));
    WK_TRY(wk_config_reference(blocks, &merged->config, values->diff, &reference, err));
    if (values->yaml)
        wk_run_config_print(&merged->config, &out);
    else if (values->diff)
        print_diff(&merged->config, &reference, values->diff, values->json, &out);
    else
        print_listing(merged, &reference, values->json, &out);
    return wk_cli_print(&out, err);
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    const config_values *values = given;
    const wk_log log = wk_cli_log(cli);
    if (values->json && (values->yaml || values->table))
        return wk_fail(err, WK_E_INPUT, "give --json or --%s, not both",
                       values->yaml ? "yaml" : "table");
    wk_text out = {0};
    if (values->search)
        return wk_cli_print_if(print_search(values->search, values->json, &out, err), &out, err);
    if (values->table) {
        print_table(&out);
        return wk_cli_print(&out, err);
    }
    wk_config_blocks *blocks;
    wk_merged_config merged;
    const wk_run_settings settings = wk_run_args_settings(&values->run);
    wk_status status = wk_run_settings_merge(&settings, &log, &blocks, &merged, err);
    if (status == WK_OK) status = show(values, blocks, &merged, err);
    wk_config_blocks_destroy(blocks);
    return status;
}

const wk_command wk_command_config = {
    .name = "config",
    .summary = "Show the configuration a run would get, and where each value comes from",
    .usage = "config [--configs BLOCK...] [--KEY VALUE]... [--diff BLOCK] [--json]\n"
             "config --list\nconfig --search WORD [--json]\nconfig --table",
    .details = "Blocks apply from left to right over the defaults, then the keys given on the\n"
               "command line. A key with characters such as * or | is a regular expression over\n"
               "all keys. docs/configuration.md explains the keys.\n",
    .examples = "config --configs terrain-walker waker-m paper --rssm.deter 512\n"
                "config --configs clean-up dr quick --diff paper\n"
                "config --search rate",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
