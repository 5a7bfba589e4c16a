// The blocks of settings there are, as 'waker config --list' shows them.
#ifndef WK_CLI_CONFIG_LIST_H
#define WK_CLI_CONFIG_LIST_H

#include "config/blocks.h"

/// Appends the blocks in groups, one for each file, each with what it is.
void wk_config_list(const wk_config_blocks *blocks, wk_text *out);

#endif
