// DIRECTORY/plugin.json: what a run keeps of its plug-ins, there where it has any. The files (path,
// SHA-256) it last loaded, so that a changed one is noticed, and the description of its domain and
// its rule, so that the saved run can be read without loading code.
#ifndef WK_RUN_SETUP_PLUGIN_RECORD_H
#define WK_RUN_SETUP_PLUGIN_RECORD_H

#include "base/arena.h"
#include "base/code_file.h"
#include "base/dir.h"
#include "curriculum/plugin.h"
#include "env/description.h"

/// Zero-initialise; what is not from a plug-in stays zero.
typedef struct wk_plugin_record {
    wk_arena arena;
    wk_code_file domain_file, rule_file;
    wk_description *domain;
    wk_curriculum_rule rule; // name NULL: built in; its distribution is always NULL
} wk_plugin_record;

/// Reads it. Runs without plug-ins, and those of older programs, have none: nothing is filled in.
wk_status wk_plugin_record_read(const char *directory, wk_plugin_record *out, wk_error *err);
void wk_plugin_record_free(wk_plugin_record *record);

/// What is written: NULL for a part that is built in.
typedef struct wk_plugin_parts {
    const wk_domain *domain;
    const wk_curriculum_rule *rule;
    const wk_code_file *domain_file, *rule_file;
} wk_plugin_parts;

wk_status wk_plugin_record_write(const wk_plugin_parts *parts, const wk_dir *directory,
                                 wk_error *err);

#endif
