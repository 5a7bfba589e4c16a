// State: named tensors in device memory that are saved to and loaded from one safetensors file:
// weights, moments, counters. A save refuses numbers that are not finite, so that a diverged step
// is never kept; a load that fails for any reason leaves all of the device memory as it was.
#ifndef WK_NN_STATE_H
#define WK_NN_STATE_H

#include "nn/optimizer.h"
#include "nn/safetensors.h"

typedef struct wk_state wk_state;

/// An empty list.
wk_status wk_state_create(wk_state **out, wk_error *err);
/// NULL is allowed. The device memory is not the state's.
void wk_state_destroy(wk_state *state);

/// Adds a tensor at `offset` bytes in `buffer` (borrowed). The name is copied and must be new.
wk_status wk_state_add(wk_state *state, const char *name, wk_dtype dtype, wk_shape shape,
                       wk_buffer *buffer, size_t offset, wk_error *err);
/// Adds all weights of a placed set: "SET/NAME".
wk_status wk_state_add_params(wk_state *state, const wk_params *params, wk_error *err);
/// Adds the moments and counts of a bound optimizer: "SET.adam/m/NAME", ".../v/NAME", ".../counts".
wk_status wk_state_add_optimizer(wk_state *state, const wk_optimizer *optimizer, wk_error *err);

/// Bytes of all tensors together.
size_t wk_state_bytes(const wk_state *state);

/// Writes all tensors and the metadata to `path` in `in` (base/file.h), atomically.
wk_status wk_state_save(const wk_state *state, const wk_dir *in, const char *path,
                        const wk_safetensors_pair *metadata, size_t pairs, wk_error *err);

/// Fills all tensors from an open file that holds exactly these, and what `filter` ignores (NULL:
/// nothing).
wk_status wk_state_load(const wk_state *state, const wk_safetensors *file,
                        const wk_safetensors_filter *filter, wk_error *err);

#endif
