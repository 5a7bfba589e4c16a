// YAML as configuration files use it: mappings of mappings down to scalars and lists of scalars,
// flattened to "key.sub" with the line each value stands on. No aliases, no second document,
// bounded depth and number of values: a file may come from anywhere.
#ifndef WK_CONFIG_YAML_H
#define WK_CONFIG_YAML_H

#include "base/memory.h"
#include "waker/error.h"
#include <stddef.h>

/// One value of a file. Texts live in the file's arena.
typedef struct wk_yaml_value {
    int block;        // index into `blocks`, -1 in a file without blocks
    const char *key;  // flat; a pattern if wk_yaml_is_pattern says so
    const char *text; // of a list: its items with commas between
    bool is_list;
    const char *const *items; // of a list: each by itself; else the text alone
    size_t n_items;
    int line; // of the value, from 1
} wk_yaml_value;

/// A named group of values: a key at the outermost level.
typedef struct wk_yaml_block {
    const char *name;
    int line;
} wk_yaml_block;

/// A file that was read. Free it with wk_yaml_free.
typedef struct wk_yaml {
    const char *name; // of the file, as messages give it
    wk_arena arena;
    WK_ARRAY(wk_yaml_block) blocks;
    WK_ARRAY(wk_yaml_value) values;
} wk_yaml;

/// Reads YAML text. With `has_blocks` the outermost keys are names of blocks, otherwise keys.
wk_status wk_yaml_parse(const char *name, const char *bytes, size_t size, bool has_blocks,
                        wk_yaml *out, wk_error *err);
void wk_yaml_free(wk_yaml *yaml);

/// Whether a key is a regular expression over flat keys: it has a character outside [A-Za-z0-9_.-].
bool wk_yaml_is_pattern(const char *key);

/// Whether a value is the line of a run's config.yaml that says its format, which is no key.
bool wk_yaml_is_format(const wk_yaml_value *value);
/// Whether a run's config.yaml is of this version's format and lacks no key.
wk_status wk_yaml_check_run(const wk_yaml *yaml, wk_error *err);

#endif
