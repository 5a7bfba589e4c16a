// CRC-32C (Castagnoli), the checksum of safetensors metadata and TensorBoard records. Uses the
// processor's instruction where there is one and eight table look-ups a word elsewhere; both give
// the same number.
#ifndef WK_BASE_CRC32C_H
#define WK_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/// The checksum of the bytes whose checksum so far is `crc` (0 at the beginning) followed by these.
uint32_t wk_crc32c(uint32_t crc, const void *bytes, size_t size);

/// The same by tables only; public so that tests can compare the two.
uint32_t wk_crc32c_portable(uint32_t crc, const void *bytes, size_t size);

#endif
