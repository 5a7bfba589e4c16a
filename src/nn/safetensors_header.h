// The header of a safetensors file: JSON in, checked tensor list out. Private to the reader and
// writer.
#ifndef WK_NN_SAFETENSORS_HEADER_H
#define WK_NN_SAFETENSORS_HEADER_H

#include "base/memory.h"
#include "nn/safetensors.h"

/// Largest header any reader accepts.
#define WK_SAFETENSORS_HEADER_MAX 100000000u

/// The metadata key of the metadata's own checksum; "crc32c/NAME" is that of tensor NAME.
#define WK_SAFETENSORS_CRC_KEY "crc32c"

/// A tensor and its place in the data.
typedef struct wk_safetensors_entry {
    wk_safetensors_spec spec; // first, so that a spec of this file can be cast back to its entry
    uint64_t begin, end;      // bytes, relative to the data
    uint32_t crc;             // meaningful when the file has checksums
} wk_safetensors_entry;

/// A name and the entry it belongs to.
typedef struct wk_safetensors_named {
    const char *name;
    wk_safetensors_entry *entry;
} wk_safetensors_named;

/// A parsed header. Names and values point into the text it was parsed from.
typedef struct wk_safetensors_header {
    WK_ARRAY(wk_safetensors_entry) entries; // sorted by place
    WK_ARRAY(wk_safetensors_pair) metadata; // in file order, checksums included
    WK_ARRAY(wk_safetensors_named) by_name; // the entries sorted by name
    bool has_checksums;
} wk_safetensors_header;

/// Parses and checks `size` bytes of header text for a file called `file` whose data has
/// `data_size` bytes. The text is changed (strings are unescaped in place) and must outlive the
/// header, which is freed by the caller also on failure.
wk_status wk_safetensors_header_parse(wk_safetensors_header *header, char *text, size_t size,
                                      uint64_t data_size, const char *file, wk_error *err);

void wk_safetensors_header_free(wk_safetensors_header *header);

/// The entry called `name`, or NULL.
wk_safetensors_entry *wk_safetensors_header_find(const wk_safetensors_header *header,
                                                 const char *name);

/// Whether a metadata key is one of the checksum entries.
bool wk_safetensors_is_crc_key(const char *key);

/// The checksum of the metadata that is not checksums itself, in the order given.
uint32_t wk_safetensors_metadata_crc(const wk_safetensors_pair *metadata, size_t pairs);

/// Bytes of the data of `spec`; false when they do not fit 63 bits.
bool wk_safetensors_spec_size(const wk_safetensors_spec *spec, uint64_t *size);

/// "F32[2,3]" into `out`, which is returned.
char *wk_safetensors_spec_text(const wk_safetensors_spec *spec, char *out, size_t room);

#endif
