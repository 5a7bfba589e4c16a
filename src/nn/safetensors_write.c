// Writing safetensors files: widest elements first, then by name, so that the bytes do not depend
// on the order in which tensors are given and every tensor is aligned.
#include "nn/safetensors_header.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_sources(const void *left, const void *right)
{
    const wk_safetensors_source *a = left, *b = right;
    if (a->spec.dtype != b->spec.dtype) return a->spec.dtype < b->spec.dtype ? -1 : 1;
    return strcmp(a->spec.name, b->spec.name);
}

static int compare_names(const void *left, const void *right)
{
    const wk_safetensors_source *a = left, *b = right;
    return strcmp(a->spec.name, b->spec.name);
}

static wk_status no_memory(const char *path, wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "'%s': no memory to write it", path);
}

// Leaves the tensors sorted by name.
static wk_status check_names(const char *path, wk_safetensors_source *sorted, size_t count,
                             wk_error *err)
{
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < count; i++) {
        const char *name = sorted[i].spec.name;
        bool twice = i > 0 && strcmp(sorted[i - 1].spec.name, name) == 0;
        if (!twice && strcmp(name, "__metadata__") != 0) continue;
        return wk_fail(err, WK_E_INPUT, "'%s': cannot write tensor '%s': %s", path, name,
                       twice ? "the name is used twice; rename one"
                             : "the name is reserved; choose another");
    }
    return WK_OK;
}

static wk_status check_metadata(const char *path, const wk_safetensors_pair *metadata, size_t pairs,
                                wk_error *err)
{
    for (size_t i = 0; i < pairs; i++) {
        bool twice = false;
        for (size_t j = 0; j < i; j++)
            twice |= strcmp(metadata[i].key, metadata[j].key) == 0;
        if (!twice && !wk_safetensors_is_crc_key(metadata[i].key)) continue;
        return wk_fail(err, WK_E_INPUT, "'%s': cannot write metadata key '%s': %s", path,
                       metadata[i].key,
                       twice ? "it is used twice; rename one"
                             : "it is reserved for checksums; choose another");
    }
    return WK_OK;
}

static void put_pair(wk_text *text, bool first, const char *key, const char *value)
{
    if (!first) wk_text_puts(text, ",");
    wk_text_quote(text, key);
    wk_text_puts(text, ":");
    wk_text_quote(text, value);
}

static void put_crc(wk_text *text, bool first, const char *name, uint32_t crc)
{
    char digits[9];
    snprintf(digits, sizeof digits, "%08" PRIx32, crc);
    wk_text key = {0};
    wk_text_printf(&key, WK_SAFETENSORS_CRC_KEY "%s%s", name ? "/" : "", name ? name : "");
    put_pair(text, first, wk_text_get(&key), digits);
    text->failed |= key.failed;
    wk_text_free(&key);
}

static void put_metadata(wk_text *text, const wk_safetensors_source *sorted, size_t count,
                         const wk_safetensors_pair *metadata, size_t pairs)
{
    wk_text_puts(text, "{\"__metadata__\":{");
    for (size_t i = 0; i < pairs; i++)
        put_pair(text, i == 0, metadata[i].key, metadata[i].value);
    put_crc(text, pairs == 0, NULL, wk_safetensors_metadata_crc(metadata, pairs));
    for (size_t i = 0; i < count; i++)
        put_crc(text, false, sorted[i].spec.name,
                wk_crc32c(0, sorted[i].bytes, wk_safetensors_spec_bytes(&sorted[i].spec)));
    wk_text_puts(text, "}");
}

static void put_tensor(wk_text *text, const wk_safetensors_spec *spec, uint64_t begin, uint64_t end)
{
    wk_text_puts(text, ",");
    wk_text_quote(text, spec->name);
    wk_text_printf(text, ":{\"dtype\":\"%s\",\"shape\":[", wk_safetensors_dtype_name(spec->dtype));
    for (int i = 0; i < spec->rank; i++)
        wk_text_printf(text, "%s%" PRIu64, i ? "," : "", spec->shape[i]);
    wk_text_printf(text, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, end);
}

// The header text, padded with spaces so that the data begins at a multiple of 8.
static void put_header(wk_text *text, const wk_safetensors_source *sorted, size_t count,
                       const wk_safetensors_pair *metadata, size_t pairs)
{
    put_metadata(text, sorted, count, metadata, pairs);
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = at + wk_safetensors_spec_bytes(&sorted[i].spec);
        put_tensor(text, &sorted[i].spec, at, end);
        at = end;
    }
    wk_text_puts(text, "}");
    wk_text_printf(text, "%*s", (int)((8 - text->length % 8) % 8), "");
}

// Names and values come from users; text that is not UTF-8 would make a file nobody can read.
static bool is_json(const wk_text *header)
{
    wk_json_reader reader = wk_json_reader_start(header->chars, header->length);
    return wk_json_reader_skip(&reader, wk_json_reader_next(&reader));
}

static wk_status write_parts(wk_file_writer *writer, const wk_text *header,
                             const wk_safetensors_source *sorted, size_t count, wk_error *err)
{
    uint64_t length = header->length;
    WK_TRY(wk_file_writer_append(writer, &length, sizeof length, err));
    WK_TRY(wk_file_writer_append(writer, header->chars, header->length, err));
    for (size_t i = 0; i < count; i++)
        WK_TRY(wk_file_writer_append(writer, sorted[i].bytes,
                                     wk_safetensors_spec_bytes(&sorted[i].spec), err));
    return WK_OK;
}

static wk_status write_file(const wk_dir *in, const char *path, const wk_text *header,
                            const wk_safetensors_source *sorted, size_t count, wk_error *err)
{
    if (header->failed) return no_memory(path, err);
    if (header->length > WK_SAFETENSORS_HEADER_MAX)
        return wk_fail(err, WK_E_INPUT,
                       "'%s': its header would have %zu bytes, more than the 100000000 readers "
                       "accept; shorten the metadata",
                       path, header->length);
    if (!is_json(header))
        return wk_fail(
            err, WK_E_INPUT,
            "'%s': a tensor name or metadata entry is not UTF-8; change it and save again", path);
    wk_file_writer *writer = NULL;
    WK_TRY(wk_file_writer_begin_in(in, path, &writer, err));
    wk_status status = write_parts(writer, header, sorted, count, err);
    if (status == WK_OK) return wk_file_writer_commit(writer, err);
    wk_file_writer_discard(writer);
    return status;
}

wk_status wk_safetensors_save_in(const wk_dir *in, const char *path,
                                 const wk_safetensors_source *tensors, size_t count,
                                 const wk_safetensors_pair *metadata, size_t pairs, wk_error *err)
{
    WK_TRY(check_metadata(path, metadata, pairs, err));
    wk_safetensors_source *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted) return no_memory(path, err);
    if (count > 0) memcpy(sorted, tensors, count * sizeof *sorted);
    wk_status status = check_names(path, sorted, count, err);
    if (status == WK_OK) {
        qsort(sorted, count, sizeof *sorted, compare_sources);
        wk_text header = {0};
        put_header(&header, sorted, count, metadata, pairs);
        status = write_file(in, path, &header, sorted, count, err);
        wk_text_free(&header);
    }
    free(sorted);
    return status;
}
