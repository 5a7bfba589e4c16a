// Element types and shapes of safetensors files.
#include "nn/safetensors_header.h"

#include <assert.h>
#include <stdio.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[WK_ST_DTYPES] = {
    [WK_ST_U64] = {"U64", 8},   [WK_ST_I64] = {"I64", 8}, [WK_ST_F64] = {"F64", 8},
    [WK_ST_U32] = {"U32", 4},   [WK_ST_I32] = {"I32", 4}, [WK_ST_F32] = {"F32", 4},
    [WK_ST_U16] = {"U16", 2},   [WK_ST_I16] = {"I16", 2}, [WK_ST_BF16] = {"BF16", 2},
    [WK_ST_F16] = {"F16", 2},   [WK_ST_I8] = {"I8", 1},   [WK_ST_U8] = {"U8", 1},
    [WK_ST_BOOL] = {"BOOL", 1},
};

const char *wk_safetensors_dtype_name(wk_safetensors_dtype dtype)
{
    assert(dtype < WK_ST_DTYPES);
    return dtypes[dtype].name;
}

size_t wk_safetensors_dtype_size(wk_safetensors_dtype dtype)
{
    assert(dtype < WK_ST_DTYPES);
    return dtypes[dtype].size;
}

bool wk_safetensors_spec_size(const wk_safetensors_spec *spec, uint64_t *size)
{
    uint64_t product = wk_safetensors_dtype_size(spec->dtype);
    for (int i = 0; i < spec->rank; i++)
        if (__builtin_mul_overflow(product, spec->shape[i], &product)) return false;
    *size = product;
    return product <= INT64_MAX;
}

size_t wk_safetensors_spec_bytes(const wk_safetensors_spec *spec)
{
    uint64_t size = 0;
    bool fits = wk_safetensors_spec_size(spec, &size);
    assert(fits);
    (void)fits;
    return (size_t)size;
}

char *wk_safetensors_spec_text(const wk_safetensors_spec *spec, char *out, size_t room)
{
    size_t used = (size_t)snprintf(out, room, "%s[", wk_safetensors_dtype_name(spec->dtype));
    for (int i = 0; i < spec->rank && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%llu", i ? "," : "",
                                 (unsigned long long)spec->shape[i]);
    if (used < room) snprintf(out + used, room - used, "]");
    return out;
}
