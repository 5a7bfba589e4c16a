// Sizes of an observation.
#ifndef WK_BASE_OBSERVATION_H
#define WK_BASE_OBSERVATION_H

#include "waker/env.h"

/// Bytes of an image: WK_IMAGE_BYTES, or 0 where there is none.
static inline size_t wk_observation_image_bytes(wk_observation_spec spec)
{
    return spec.no_image ? 0 : WK_IMAGE_BYTES;
}

#endif
