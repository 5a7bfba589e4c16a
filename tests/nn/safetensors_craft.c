#include "nn/safetensors_craft.h"

#include <stdlib.h>
#include <string.h>

crafted craft_with_length(uint64_t length, const char *json, size_t data_size)
{
    size_t text = strlen(json);
    crafted file = {malloc(8 + text + data_size), 8 + text + data_size};
    if (!file.bytes) abort();
    memcpy(file.bytes, &length, 8);
    memcpy(file.bytes + 8, json, text);
    for (size_t i = 0; i < data_size; i++)
        file.bytes[8 + text + i] = (char)i;
    return file;
}

crafted craft(const char *json, size_t data_size)
{
    return craft_with_length(strlen(json), json, data_size);
}

void crafted_free(crafted *file)
{
    free(file->bytes);
    *file = (crafted){0};
}
