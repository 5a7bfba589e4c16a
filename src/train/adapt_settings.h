// The settings of an adaptation, as stored in adapt.yaml. Not for use outside src/train.
#ifndef WK_TRAIN_ADAPT_SETTINGS_H
#define WK_TRAIN_ADAPT_SETTINGS_H

#include "base/dir.h"
#include "config/config.h"
#include "run/data_cutoff.h"

typedef struct wk_adapt_settings {
    uint64_t snapshot; // its step
    char tasks[WK_RUN_TEXT_MAX];
    uint64_t seed;
    bool all_data;
    uint64_t updates;
    uint64_t rows;         // of the episodes it learns from
    wk_data_cutoff cutoff; // which episodes
} wk_adapt_settings;

/// Writes it atomically / reads it.
wk_status wk_adapt_settings_write(const wk_adapt_settings *settings, const wk_dir *dir,
                                  const char *name, wk_error *err);
wk_status wk_adapt_settings_read(const wk_dir *dir, const char *name, wk_adapt_settings *out,
                                 wk_error *err);

/// Whether an adaptation begun with `old` may resume with `now`: everything that shapes the result
/// must be equal except updates, rows and cutoff, which follow from the data. The error names what
/// differs.
wk_status wk_adapt_settings_resumable(const wk_adapt_settings *old, const wk_adapt_settings *now,
                                      wk_error *err);

#endif
