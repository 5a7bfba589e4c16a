// Hand-made safetensors files in memory, for tests of what the reader refuses.
#ifndef WK_TESTS_NN_SAFETENSORS_CRAFT_H
#define WK_TESTS_NN_SAFETENSORS_CRAFT_H

#include <stddef.h>
#include <stdint.h>

/// A file in exactly as much malloc'd memory as it needs, so that sanitizers see any overrun.
typedef struct crafted {
    char *bytes;
    size_t size;
} crafted;

/// The length of `json`, `json`, then `data_size` bytes 0, 1, 2, ...
crafted craft(const char *json, size_t data_size);

/// The same with a length word of our choice.
crafted craft_with_length(uint64_t length, const char *json, size_t data_size);

void crafted_free(crafted *file);

#endif
