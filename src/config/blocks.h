// Named blocks of settings and how they become one configuration: the named blocks apply from left
// to right over `defaults` and the block of the default exploration, then the settings of the
// command line. A file may also be the config.yaml of a run, which has no blocks: it applies in
// place of the block of the default exploration. Every value remembers where it came from.
#ifndef WK_CONFIG_BLOCKS_H
#define WK_CONFIG_BLOCKS_H

#include "config/config.h"

/// Blocks read from files. Origins point into it: keep it as long as they are used.
typedef struct wk_config_blocks wk_config_blocks;

wk_status wk_config_blocks_create(wk_config_blocks **out, wk_error *err);
/// NULL is allowed.
void wk_config_blocks_destroy(wk_config_blocks *blocks);

/// Adds the blocks of YAML text; `name` stands for it in messages. A block that exists already is
/// refused: two files must not mean different things by one name. Text whose outermost keys are
/// those of a run is a run's config.yaml.
wk_status wk_config_blocks_add(wk_config_blocks *blocks, const char *name, const char *bytes,
                               size_t size, wk_error *err);
/// As wk_config_blocks_add, from a file.
wk_status wk_config_blocks_add_file(wk_config_blocks *blocks, const char *path, wk_error *err);
/// As wk_config_blocks_add, for every configuration of the program: `defaults`, made of the field
/// list, a block for each rule of the curricula, made of its row, and configs/*.yaml, which are
/// compiled in.
wk_status wk_config_blocks_add_embedded(wk_config_blocks *blocks, wk_error *err);

/// Number of blocks, and the name of the i-th and of its file, in the order of the files.
size_t wk_config_blocks_count(const wk_config_blocks *blocks);
const char *wk_config_blocks_name(const wk_config_blocks *blocks, size_t i);
const char *wk_config_blocks_file(const wk_config_blocks *blocks, size_t i);

/// Where a value was set. A NULL file means the command line.
typedef struct wk_origin {
    const char *file, *block;
    int line;
} wk_origin;

/// The block that every new configuration begins with, after `defaults`: how plan2explore explores.
/// `defaults` alone is the paper's.
#define WK_IMPLIED_BLOCK "plan2explore"

/// The `block` of values from a run's config.yaml, and of those that nothing set.
#define WK_ORIGIN_RUN "run"
#define WK_ORIGIN_DEFAULTS "defaults"
/// The `file` of the blocks of rules.
#define WK_ORIGIN_RULES "curriculum rules"

/// A setting of the command line, --key value or --key=value; the key need not end in a zero.
typedef struct wk_setting {
    const char *key;
    size_t key_length;
    const char *value;
} wk_setting;

/// A configuration with the origin of each value.
typedef struct wk_merged_config {
    wk_run_config config;
    wk_origin origins[WK_RUN_FIELD_COUNT];
} wk_merged_config;

/// Starts from block `defaults`.
wk_status wk_config_merge_defaults(const wk_config_blocks *blocks, wk_merged_config *out,
                                   wk_error *err);
/// Applies a block; the error for an unknown one names the nearest.
wk_status wk_config_merge_block(const wk_config_blocks *blocks, const char *name,
                                wk_merged_config *merged, wk_error *err);
/// Applies a setting of the command line. Keys may be patterns here too.
wk_status wk_config_merge_setting(const wk_setting *setting, wk_merged_config *merged,
                                  wk_error *err);

/// All of it: defaults, files without blocks (or, if there are none, WK_IMPLIED_BLOCK), the named
/// blocks, the settings.
wk_status wk_config_merge(const wk_config_blocks *blocks, const char *const *names, size_t n_names,
                          const wk_setting *settings, size_t n_settings, wk_merged_config *out,
                          wk_error *err);

/// The configuration of the paper's runs of the same domain, curriculum and exploration: defaults
/// and their blocks (those that exist), then block `extra` unless NULL.
wk_status wk_config_reference(const wk_config_blocks *blocks, const wk_run_config *config,
                              const char *extra, wk_run_config *out, wk_error *err);

/// Applies the keys of the file called `file` where it has no blocks and is a user's own; the
/// config.yaml of a run, which has every key, sets nothing here.
wk_status wk_config_merge_own_keys(const wk_config_blocks *blocks, const char *file,
                                   wk_merged_config *merged, wk_error *err);

/// Appends a line with the keys of such files to which the named blocks, which come after them,
/// give other values, and nothing where there are none. `result` is all merged: keys that the
/// command line sets are left out.
wk_status wk_config_overridden(const wk_config_blocks *blocks, const char *const *files,
                               size_t n_files, const char *const *names, size_t n_names,
                               const wk_merged_config *result, wk_text *out, wk_error *err);

/// Blocks that undo each other: two of one kind (two domains), or one that sizes a run before the
/// one it is for (a preset before a domain). Later blocks win, which may not be what was meant.
/// Appends a line for every such pair among the named blocks of the program, with the keys that the
/// later one won.
wk_status wk_config_conflicts(const wk_config_blocks *blocks, const char *const *names,
                              size_t count, wk_text *out, wk_error *err);

#endif
