// The configurations compiled into the program.
#include "base/asset.h"
#include "config/blocks.h"
#include <string.h>

wk_status wk_config_blocks_add_embedded(wk_config_blocks *blocks, wk_error *err)
{
    for (const wk_asset *asset = wk_assets; asset->name; asset++) {
        const char *ending = strrchr(asset->name, '.');
        if (!ending || strcmp(ending, ".yaml") != 0) continue;
        WK_TRY(wk_config_blocks_add(blocks, asset->name, asset->content, asset->size, err));
    }
    return WK_OK;
}
