// Safetensors files: named arrays that any tool of the field can open, and nothing that can run.
//
// Layout: a little-endian u64 N, N bytes of JSON, then the arrays without gaps. Our files also
// carry a CRC-32C for every tensor and one for the metadata, as metadata strings, so that a damaged
// file is refused with the name of the damaged tensor. Files of other writers, which have none, are
// read too.
//
// The reader trusts nothing: sizes, offsets and names are checked against the file before memory
// is taken, and tensors are read straight into the caller's buffers.
#ifndef WK_NN_SAFETENSORS_H
#define WK_NN_SAFETENSORS_H

#include "base/file.h"
#include "waker/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Element types, in the order in which a writer lays them out (widest first).
typedef enum wk_safetensors_dtype {
    WK_ST_U64,
    WK_ST_I64,
    WK_ST_F64,
    WK_ST_U32,
    WK_ST_I32,
    WK_ST_F32,
    WK_ST_U16,
    WK_ST_I16,
    WK_ST_BF16,
    WK_ST_F16,
    WK_ST_I8,
    WK_ST_U8,
    WK_ST_BOOL,
    WK_ST_DTYPES,
} wk_safetensors_dtype;

/// "F32", "U8", ...: the name in the file.
const char *wk_safetensors_dtype_name(wk_safetensors_dtype dtype);

/// Bytes of one element.
size_t wk_safetensors_dtype_size(wk_safetensors_dtype dtype);

/// Maximum rank of a tensor.
#define WK_SAFETENSORS_RANK_MAX 8

/// What a tensor is called and how it looks; data in C order.
typedef struct wk_safetensors_spec {
    const char *name; // UTF-8
    wk_safetensors_dtype dtype;
    int rank;
    uint64_t shape[WK_SAFETENSORS_RANK_MAX];
} wk_safetensors_spec;

/// Bytes the data of `spec` takes; asserts that this fits, so only for specs that were checked.
size_t wk_safetensors_spec_bytes(const wk_safetensors_spec *spec);

/// A tensor to write.
typedef struct wk_safetensors_source {
    wk_safetensors_spec spec;
    const void *bytes;
} wk_safetensors_source;

/// A tensor to read: what must be in the file, and where it goes.
typedef struct wk_safetensors_target {
    wk_safetensors_spec spec;
    void *bytes;
} wk_safetensors_target;

/// One entry of the file's string-to-string metadata.
typedef struct wk_safetensors_pair {
    const char *key, *value;
} wk_safetensors_pair;

/// Replaces a name in a directory (base/file.h) atomically by a file with these tensors and
/// metadata. Names must differ; the keys "crc32c" and "crc32c/..." are ours.
wk_status wk_safetensors_save_in(const wk_dir *in, const char *name,
                                 const wk_safetensors_source *tensors, size_t count,
                                 const wk_safetensors_pair *metadata, size_t pairs, wk_error *err);

/// A file whose header has been read and found valid.
typedef struct wk_safetensors wk_safetensors;

/// Opens a file and checks all of its header, metadata checksum included, but no tensor data yet.
wk_status wk_safetensors_open(const char *path, wk_safetensors **out, wk_error *err);
wk_status wk_safetensors_open_in(const wk_dir *in, const char *name, wk_safetensors **out,
                                 wk_error *err);

/// As wk_safetensors_open, for a file in memory, which must outlive the result; `name` is for
/// messages.
wk_status wk_safetensors_open_memory(const void *bytes, size_t size, const char *name,
                                     wk_safetensors **out, wk_error *err);

/// Closes the file; NULL is allowed.
void wk_safetensors_close(wk_safetensors *file);

/// Number of tensors.
size_t wk_safetensors_count(const wk_safetensors *file);

/// Tensor `index`, in the order of the data; lives as long as `file`.
const wk_safetensors_spec *wk_safetensors_at(const wk_safetensors *file, size_t index);

/// The tensor called `name`, or NULL.
const wk_safetensors_spec *wk_safetensors_find(const wk_safetensors *file, const char *name);

/// The metadata value of `key`, or NULL.
const char *wk_safetensors_metadata(const wk_safetensors *file, const char *key);

/// Number of metadata entries, checksums included, and entry `index` in the order of the file.
size_t wk_safetensors_metadata_count(const wk_safetensors *file);
wk_safetensors_pair wk_safetensors_metadata_at(const wk_safetensors *file, size_t index);

/// Reads one tensor of this file (`spec` comes from it) into wk_safetensors_spec_bytes bytes and
/// verifies its checksum.
wk_status wk_safetensors_read(const wk_safetensors *file, const wk_safetensors_spec *spec,
                              void *bytes, wk_error *err);

/// What follows the name of a tensor in the name of its scales.
#define WK_SAFETENSORS_SCALE ".scale"

/// Says which tensors of a file to ignore.
typedef struct wk_safetensors_filter {
    bool (*ignores)(const void *context, const char *name);
    const void *context;
} wk_safetensors_filter;

/// Fills all targets. The file must hold exactly these names with these dtypes and shapes, and what
/// `filter` ignores (NULL: nothing); for F32 also F16, or I8 with scales in F16 under NAME.scale
/// (nn/packed.h), which are converted. What is missing, unexpected or different is listed in the
/// message and then nothing has been written. After a failed read or checksum the buffers' content
/// is unspecified.
wk_status wk_safetensors_read_all(const wk_safetensors *file, const wk_safetensors_target *targets,
                                  size_t count, const wk_safetensors_filter *filter, wk_error *err);

/// Reads every tensor of a file of weights that this program wrote once: it has checksums, they are
/// right, and its numbers are finite.
wk_status wk_safetensors_verify_weights(const wk_safetensors *file, wk_error *err);

#endif
