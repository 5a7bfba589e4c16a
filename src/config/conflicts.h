// Blocks that undo each other: two of one kind (two domains), or one that sizes a run before the
// one it is for (a preset before a domain). Later blocks win, which may not be what was meant.
#ifndef WK_CONFIG_CONFLICTS_H
#define WK_CONFIG_CONFLICTS_H

#include "config/blocks.h"

/// Appends a line for every such pair among the named blocks of the program, with the keys that the
/// later one won.
wk_status wk_config_conflicts(const wk_config_blocks *blocks, const char *const *names,
                              size_t count, wk_text *out, wk_error *err);

#endif
