// Fuzz target: any bytes as a safetensors file. The reader must refuse or read them without
// touching memory it does not own; what it accepts must be usable. Built by tools/fuzz/run.
#include "fuzz/fuzz.h"
#include "nn/safetensors.h"

// What the reader accepted must be consistent with the file it came from.
static void use(const wk_safetensors *file, size_t size)
{
    wk_error err = {0};
    uint64_t total = 0;
    for (size_t i = 0; i < wk_safetensors_count(file); i++) {
        const wk_safetensors_spec *spec = wk_safetensors_at(file, i);
        assert(wk_safetensors_find(file, spec->name) == spec);
        size_t need = wk_safetensors_spec_bytes(spec);
        total += need;
        assert(total <= size);
        char *data = malloc(need + 1);
        if (!data) abort();
        wk_status status = wk_safetensors_read(file, spec, data, &err);
        assert(status == WK_OK || strstr(err.message, "is damaged"));
        free(data);
    }
    if (wk_safetensors_verify_weights(file, &err) != WK_OK) assert(err.message[0] != 0);
    float wanted;
    const wk_safetensors_target target = {{"w", WK_ST_F32, 1, {1}}, &wanted};
    if (wk_safetensors_read_all(file, &target, 1, NULL, &err) != WK_OK) assert(err.message[0] != 0);
}

static void try_file(const void *bytes, size_t size)
{
    wk_error err = {0};
    wk_safetensors *file = NULL;
    if (wk_safetensors_open_memory(bytes, size, "fuzz", &file, &err) == WK_OK)
        use(file, size);
    else
        assert(err.message[0] != 0 && !file);
    wk_safetensors_close(file);
}

// The input as header text up to its last brace and data after it, under a length word that fits:
// mutations then reach the checks behind the first one.
static void try_with_length(const uint8_t *bytes, size_t size)
{
    const uint8_t *brace = memrchr(bytes, '}', size);
    if (!brace) return;
    uint64_t length = (uint64_t)(brace + 1 - bytes);
    char *file = malloc(8 + size);
    if (!file) abort();
    memcpy(file, &length, 8);
    memcpy(file + 8, bytes, size);
    try_file(file, 8 + size);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    try_file(bytes, size);
    try_with_length(bytes, size);
    if (size > 8) try_with_length(bytes + 8, size - 8);
    return 0;
}
