// SHA-256 (FIPS 180-4): verifies that a file is the one a user inspected, also against an attacker
// who substitutes another. Checksums against accidents are in base/crc32c.h.
#ifndef WK_BASE_SHA256_H
#define WK_BASE_SHA256_H

#include "waker/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WK_SHA256_CHARS = 65 }; // 64 lower-case hexadecimal digits and a zero

/// A hash in the making. Start it with wk_sha256_start; plain data.
typedef struct wk_sha256 {
    uint32_t state[8];
    uint64_t length; // bytes added so far
    uint8_t block[64];
} wk_sha256;

wk_sha256 wk_sha256_start(void);
void wk_sha256_add(wk_sha256 *hash, const void *bytes, size_t size);
/// The hash of all bytes added; start anew afterwards.
void wk_sha256_finish(wk_sha256 *hash, char out[WK_SHA256_CHARS]);

/// Whether `text` is a hash as wk_sha256_finish writes it.
bool wk_sha256_valid(const char *text);

/// The hash of a regular file's content.
wk_status wk_sha256_file(const char *path, char out[WK_SHA256_CHARS], wk_error *err);

#endif
