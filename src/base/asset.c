#include "base/asset.h"

#include <assert.h>
#include <string.h>

const wk_asset *wk_asset_find(const char *name)
{
    for (const wk_asset *asset = wk_assets; asset->name; asset++)
        if (strcmp(asset->name, name) == 0) return asset;
    assert(!"no such embedded file");
    return NULL;
}
