// The variable-width LZW of GIF: codes of growing width, packed from the low bit, in sub-blocks of
// at most 255 bytes.
#ifndef WK_MEDIA_LZW_H
#define WK_MEDIA_LZW_H

#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

/// Appends the code width, the sub-blocks and their end mark for `count` indices below 1 << `bits`;
/// `bits` is 2 to 8. A failed append shows in `out`.
void wk_lzw_encode(const uint8_t *indices, size_t count, int bits, wk_text *out);

#endif
