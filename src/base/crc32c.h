// Checksums against accidents. CRC-32C (Castagnoli) is that of safetensors metadata and TensorBoard
// records: by the processor's instruction where there is one, by eight table look-ups a word
// elsewhere; both give the same number. FNV-1a hashes names and configurations.
#ifndef WK_BASE_CRC32C_H
#define WK_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/// The checksum of the bytes whose checksum so far is `crc` (0 at the beginning) followed by these.
uint32_t wk_crc32c(uint32_t crc, const void *bytes, size_t size);

/// As wk_crc32c, by tables only; public so that tests can compare the two.
uint32_t wk_crc32c_portable(uint32_t crc, const void *bytes, size_t size);

#define WK_FNV1A_START 0xcbf29ce484222325u

/// FNV-1a of 64 bits, of the bytes whose hash so far is `hash` (WK_FNV1A_START) followed by these.
uint64_t wk_fnv1a(uint64_t hash, const void *bytes, size_t size);

#endif
