// Hashes. CRC-32C (Castagnoli) and FNV-1a are checksums against accidents; SHA-256 verifies that a
// file is the one a user inspected, also against an attacker who substitutes another.
#ifndef WK_BASE_HASH_H
#define WK_BASE_HASH_H

#include "waker/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// CRC-32C, that of safetensors metadata and TensorBoard records, of the bytes whose checksum so
/// far is `crc` (0 at the beginning) followed by these.
uint32_t wk_crc32c(uint32_t crc, const void *bytes, size_t size);

/// As wk_crc32c, without the processor's instruction; public so that tests can compare the two.
uint32_t wk_crc32c_portable(uint32_t crc, const void *bytes, size_t size);

#define WK_FNV1A_START 0xcbf29ce484222325u

/// FNV-1a of 64 bits, for names and configurations, of the bytes whose hash so far is `hash`
/// (WK_FNV1A_START) followed by these.
uint64_t wk_fnv1a(uint64_t hash, const void *bytes, size_t size);

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
