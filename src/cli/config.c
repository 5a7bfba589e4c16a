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
    const char *diff;
    bool json, yaml, list, table;
} config_values;

static const config_values defaults = {.run = WK_RUN_ARGS_INIT};

#define WK_VALUES config_values
static const wk_arg args[] = {
    WK_RUN_ARG_ROWS(config_values, run),
    WK_OPT_TEXT(
        "diff", diff, "BLOCK",
        "show only what differs from BLOCK with the same domain, curriculum and exploration"),
    WK_OPT_FLAG("yaml", yaml, "print the config.yaml of the run"),
    WK_OPT_FLAG("json", json, "print JSON"),
    WK_OPT_FLAG("list", list, "list all blocks with a description"),
    WK_OPT_FLAG("table", table, "print the table of all keys in docs/configuration.md"),
};

// What one key has in the run at hand and in the paper's.
typedef struct shown_key {
    const wk_run_field *field;
    wk_text value, source, paper; // paper is empty where it has no such thing
    bool differs;
} shown_key;

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

static void describe_key(const wk_merged_config *merged, const wk_run_config *paper, int i,
                         shown_key *out)
{
    *out = (shown_key){.field = &wk_run_fields[i]};
    wk_run_config_get(&merged->config, i, &out->value);
    describe_origin(&merged->origins[i], &out->source);
    if (!*out->field->paper) return;
    if (strcmp(out->field->paper, "=") == 0)
        wk_run_config_get(paper, i, &out->paper);
    else
        wk_text_puts(&out->paper, out->field->paper);
    out->differs = strcmp(wk_text_get(&out->value), wk_text_get(&out->paper)) != 0;
}

static void free_key(shown_key *key)
{
    wk_text_free(&key->value);
    wk_text_free(&key->source);
    wk_text_free(&key->paper);
}

static const char *show_empty(const wk_text *value)
{
    return value->length ? wk_text_get(value) : "''";
}

static void print_listing(const wk_merged_config *merged, const wk_run_config *paper, wk_text *out)
{
    int differ = 0;
    wk_table table;
    wk_table_begin(&table, "llll", "key", "value", "paper", "set by");
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        shown_key key;
        describe_key(merged, paper, i, &key);
        differ += key.differs;
        wk_table_cell(&table, "%s", key.field->key);
        wk_table_name(&table, show_empty(&key.value));
        wk_table_cell(&table, "%s%s", key.differs ? "differs: " : "",
                      key.differs ? show_empty(&key.paper) : "");
        wk_table_name(&table, wk_text_get(&key.source));
        free_key(&key);
    }
    wk_table_finish(&table, 0, out);
    wk_text_printf(out,
                   "\n%d of %d values differ%s from the paper's for this domain, curriculum and "
                   "exploration.\n",
                   differ, WK_RUN_FIELD_COUNT, differ == 1 ? "s" : "");
}

static void json_value(wk_json *json, const char *name, const wk_run_config *config, int i)
{
    const wk_run_field *field = &wk_run_fields[i];
    const void *place = (const char *)config + field->offset;
    switch (field->kind) {
    case WK_RUN_BOOL:
        wk_json_bool(json, name, *(const bool *)place);
        break;
    case WK_RUN_INT:
        wk_json_integer(json, name, *(const int *)place);
        break;
    case WK_RUN_COUNT:
        wk_json_integer(json, name, *(const int64_t *)place);
        break;
    case WK_RUN_SEED: {
        // Beyond 2^53 as text: readers that keep numbers as doubles would round it.
        uint64_t seed = *(const uint64_t *)place;
        if (seed <= 1ull << 53) {
            wk_json_integer(json, name, (int64_t)seed);
            break;
        }
        wk_text text = {0};
        wk_run_config_get(config, i, &text);
        wk_json_string(json, name, wk_text_get(&text));
        wk_text_free(&text);
        break;
    }
    case WK_RUN_NUMBER:
        wk_json_number(json, name, *(const double *)place);
        break;
    case WK_RUN_TEXT:
    case WK_RUN_LIST:
        wk_json_string(json, name, place);
        break;
    }
}

// What the paper has, of the key's own kind.
static void json_paper(wk_json *json, const wk_run_config *paper, int i)
{
    wk_run_config theirs = *paper;
    const char *text = wk_run_fields[i].paper;
    bool valid = strcmp(text, "=") == 0 || wk_run_config_set(&theirs, i, text, NULL) == WK_OK;
    assert(valid);
    json_value(json, "paper", &theirs, i);
}

static void json_key(wk_json *json, const wk_merged_config *merged, const wk_run_config *paper,
                     int i)
{
    shown_key key;
    describe_key(merged, paper, i, &key);
    wk_json_object(json, key.field->key);
    json_value(json, "value", &merged->config, i);
    wk_json_string(json, "source", wk_text_get(&key.source));
    if (*key.field->paper) json_paper(json, paper, i);
    wk_json_bool(json, "differs", key.differs);
    wk_json_close(json, '}');
    free_key(&key);
}

static void print_json(const wk_merged_config *merged, const wk_run_config *paper, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++)
        json_key(&json, merged, paper, i);
    wk_json_close(&json, '}');
}

static void print_diff(const wk_run_config *ours, const wk_run_config *theirs, const char *name,
                       wk_text *out)
{
    int differ = 0;
    wk_table table;
    wk_table_begin(&table, "lll", "key", "value", name);
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        if (wk_run_config_same(ours, theirs, i)) continue;
        wk_text value = {0}, other = {0};
        wk_run_config_get(ours, i, &value);
        wk_run_config_get(theirs, i, &other);
        wk_table_texts(&table, wk_run_keys[i], show_empty(&value), show_empty(&other));
        wk_text_free(&value);
        wk_text_free(&other);
        differ++;
    }
    if (differ > 0)
        wk_table_print(&table, 0, out);
    else
        wk_text_printf(out, "no value differs from '%s'\n", name);
    wk_table_free(&table);
}

static void json_diff(const wk_run_config *ours, const wk_run_config *theirs, const char *name,
                      wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        if (wk_run_config_same(ours, theirs, i)) continue;
        wk_json_object(&json, wk_run_keys[i]);
        json_value(&json, "value", ours, i);
        json_value(&json, name, theirs, i);
        wk_json_close(&json, '}');
    }
    wk_json_close(&json, '}');
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
    wk_json json = {.text = out};
    wk_json_array(&json, NULL);
    for (size_t i = 0; i < wk_config_blocks_count(blocks); i++) {
        const char *name = wk_config_blocks_name(blocks, i);
        wk_json_object(&json, NULL);
        wk_json_string(&json, "name", name);
        wk_json_string(&json, "file", wk_config_blocks_file(blocks, i));
        wk_json_string(&json, "description", describe_block(name));
        wk_json_close(&json, '}');
    }
    wk_json_close(&json, ']');
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
        (values->json ? json_diff : print_diff)(&merged->config, &reference, values->diff, &out);
    else
        (values->json ? print_json : print_listing)(merged, &reference, &out);
    return wk_cli_print(&out, err);
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    const config_values *values = given;
    const wk_log log = wk_cli_log(cli);
    if (values->json && (values->yaml || values->table))
        return wk_fail(err, WK_E_INPUT, "give --json or --%s, not both",
                       values->yaml ? "yaml" : "table");
    if (values->table) {
        wk_text out = {0};
        print_table(&out);
        return wk_cli_print(&out, err);
    }
    wk_config_blocks *blocks;
    wk_merged_config merged;
    wk_setting keys[WK_RUN_SETTINGS_MAX];
    const wk_run_settings settings = wk_run_args_settings(&values->run, keys);
    wk_status status = wk_run_settings_merge(&settings, &log, &blocks, &merged, err);
    if (status == WK_OK) status = show(values, blocks, &merged, err);
    wk_config_blocks_destroy(blocks);
    return status;
}

const wk_command wk_command_config = {
    .name = "config",
    .summary = "Show the configuration a run would get, and where each value comes from",
    .usage = "config [--configs BLOCK...] [--KEY VALUE]... [--diff BLOCK] [--json]\n"
             "config --list\nconfig --table",
    .details = "Blocks apply from left to right over the defaults, then the keys given on the\n"
               "command line. A key with characters such as * or | is a regular expression over\n"
               "all keys. docs/configuration.md explains the keys.\n",
    .examples = "config --configs terrain-walker waker-m paper --rssm.deter 512\n"
                "config --configs clean-up dr quick --diff paper",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
