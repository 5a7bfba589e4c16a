// Fuzz target: any bytes as a configuration file. Whatever is accepted as blocks is merged, each
// value of the result is within its range, and the result reads back from its own text as the same.
#include "base/file.h"
#include "config/blocks.h"
#include "config/yaml.h"
#include "fuzz/fuzz.h"

const wk_asset wk_assets[] = {{0}}; // no embedded blocks

static void check_same(const wk_run_config *a, const wk_run_config *b)
{
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++)
        assert(wk_run_config_same(a, b, i));
}

// Prints the configuration, parses the text, and sets every value again.
static void round_trip(const wk_run_config *config)
{
    wk_text text = {0};
    wk_error err = {0};
    wk_yaml yaml;
    wk_run_config_print(config, &text);
    if (wk_yaml_parse("print", text.chars, text.length, false, &yaml, &err) != WK_OK) abort();
    wk_run_config back = wk_run_config_default();
    assert(yaml.values.count == WK_RUN_FIELD_COUNT + 1);
    for (size_t i = 0; i < yaml.values.count; i++) {
        const wk_yaml_value *value = &yaml.values.items[i];
        if (strcmp(value->key, "format") == 0) continue;
        int field = wk_run_field_find(value->key, strlen(value->key));
        if (field < 0 || wk_run_config_set(&back, field, value->text, &err) != WK_OK) abort();
    }
    check_same(config, &back);
    wk_yaml_free(&yaml);
    wk_text_free(&text);
}

static void merge_each(const wk_config_blocks *blocks)
{
    for (size_t i = 0; i < wk_config_blocks_count(blocks); i++) {
        wk_error err = {0};
        wk_merged_config merged = {.config = wk_run_config_default()};
        const char *name = wk_config_blocks_name(blocks, i);
        wk_status status = wk_config_merge_block(blocks, name, &merged, &err);
        if (status == WK_OK)
            round_trip(&merged.config);
        else
            assert(err.message[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    wk_error err = {0};
    wk_yaml flat;
    if (wk_yaml_parse("flat", (const char *)bytes, size, false, &flat, &err) == WK_OK)
        wk_yaml_free(&flat);
    wk_config_blocks *blocks;
    if (wk_config_blocks_create(&blocks, &err) != WK_OK) abort();
    if (wk_config_blocks_add(blocks, "fuzz", (const char *)bytes, size, &err) == WK_OK)
        merge_each(blocks);
    wk_config_blocks_destroy(blocks);
    return 0;
}
