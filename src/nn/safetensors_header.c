#include "nn/safetensors_header.h"

#include "base/hash.h"
#include "base/json.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What the parsing functions share. `text` is the start of the header, for in-place unescaping.
typedef struct parser {
    wk_json_reader json;
    wk_safetensors_header *header;
    char *text;
    const char *file;
    wk_error *err;
} parser;

#define CORRUPT "; the file is damaged or was not written by a safetensors writer"

static wk_status no_memory(const parser *p)
{
    return wk_fail(p->err, WK_E_MEMORY, "'%s': no memory for its header", p->file);
}

static wk_status bad_json(const parser *p)
{
    return wk_fail(p->err, WK_E_FORMAT,
                   "'%s': the header is not valid JSON: %s at byte %zu" CORRUPT, p->file,
                   p->json.problem, p->json.at + 8);
}

static wk_status next(parser *p, wk_json_token *token)
{
    *token = wk_json_reader_next(&p->json);
    return token->kind == WK_JSON_ERROR ? bad_json(p) : WK_OK;
}

// Turns a key or string into a zero-terminated C string inside the header text. The reader is past
// the closing quote, whose byte becomes the terminator when nothing was escaped.
static wk_status to_string(parser *p, wk_json_token token, const char **out)
{
    char *place = p->text + (token.chars - p->text);
    size_t length = wk_json_unescape(token, place);
    place[length] = 0;
    *out = place;
    if (strlen(place) == length) return WK_OK;
    return wk_fail(p->err, WK_E_FORMAT,
                   "'%s': a name or value in the header has a zero byte" CORRUPT, p->file);
}

static wk_status bad_tensor(const parser *p, const char *name, const char *problem)
{
    return wk_fail(p->err, WK_E_FORMAT, "'%s': tensor '%.200s': %s" CORRUPT, p->file, name,
                   problem);
}

static wk_status parse_dtype(parser *p, wk_safetensors_spec *spec)
{
    wk_json_token token;
    WK_TRY(next(p, &token));
    if (token.kind != WK_JSON_STRING) return bad_tensor(p, spec->name, "its dtype is not a string");
    for (int i = 0; i < WK_ST_DTYPES; i++)
        if (wk_json_equals(token, wk_safetensors_dtype_name((wk_safetensors_dtype)i))) {
            spec->dtype = (wk_safetensors_dtype)i;
            return WK_OK;
        }
    return wk_fail(
        p->err, WK_E_FORMAT,
        "'%s': tensor '%.200s' has dtype '%.*s', which is not supported; convert it to one of "
        "BOOL, U8, I8, U16, I16, F16, BF16, U32, I32, F32, U64, I64, F64",
        p->file, spec->name, (int)(token.length < 40 ? token.length : 40), token.chars);
}

// An array of at most `room` non-negative integers.
static wk_status parse_integers(parser *p, const char *name, const char *problem, uint64_t *values,
                                int room, int *count)
{
    wk_json_token token;
    WK_TRY(next(p, &token));
    if (token.kind != WK_JSON_ARRAY) return bad_tensor(p, name, problem);
    for (*count = 0;; ++*count) {
        WK_TRY(next(p, &token));
        if (token.kind == WK_JSON_ARRAY_END) return WK_OK;
        if (*count == room || !wk_json_to_u64(token, &values[*count]))
            return bad_tensor(p, name, problem);
    }
}

static wk_status parse_shape(parser *p, wk_safetensors_spec *spec)
{
    return parse_integers(p, spec->name, "its shape is not a list of at most 8 sizes", spec->shape,
                          WK_SAFETENSORS_RANK_MAX, &spec->rank);
}

static wk_status parse_offsets(parser *p, wk_safetensors_entry *entry)
{
    const char *problem = "its data_offsets are not two offsets in order";
    uint64_t offsets[2] = {0};
    int count = 0;
    WK_TRY(parse_integers(p, entry->spec.name, problem, offsets, 2, &count));
    if (count != 2 || offsets[0] > offsets[1]) return bad_tensor(p, entry->spec.name, problem);
    entry->begin = offsets[0];
    entry->end = offsets[1];
    return WK_OK;
}

static wk_status check_size(parser *p, const wk_safetensors_entry *entry)
{
    uint64_t size, place = entry->end - entry->begin;
    if (!wk_safetensors_spec_size(&entry->spec, &size))
        return bad_tensor(p, entry->spec.name, "its shape is larger than any file");
    if (size == place) return WK_OK;
    return wk_fail(p->err, WK_E_FORMAT,
                   "'%s': tensor '%.200s' needs %" PRIu64
                   " bytes but its data_offsets span %" PRIu64 CORRUPT,
                   p->file, entry->spec.name, size, place);
}

// The object of one tensor: exactly dtype, shape and data_offsets.
static wk_status parse_tensor(parser *p, const char *name)
{
    static const char *const fields[] = {"dtype", "shape", "data_offsets"};
    wk_safetensors_entry entry = {.spec.name = name};
    wk_json_token token;
    WK_TRY(next(p, &token));
    if (token.kind != WK_JSON_OBJECT)
        return bad_tensor(p, name, "it is not described by an object");
    unsigned seen = 0;
    for (;;) {
        WK_TRY(next(p, &token));
        if (token.kind == WK_JSON_OBJECT_END) break;
        unsigned field = 0;
        while (field < 3 && !wk_json_equals(token, fields[field]))
            field++;
        if (field == 3 || seen >> field & 1)
            return bad_tensor(p, name, "it has an unknown or repeated field");
        seen |= 1u << field;
        WK_TRY(field == 0   ? parse_dtype(p, &entry.spec)
               : field == 1 ? parse_shape(p, &entry.spec)
                            : parse_offsets(p, &entry));
    }
    if (seen != 7) return bad_tensor(p, name, "it lacks dtype, shape or data_offsets");
    WK_TRY(check_size(p, &entry));
    return wk_array_push(&p->header->entries, entry) ? WK_OK : no_memory(p);
}

static wk_status parse_metadata(parser *p)
{
    wk_json_token token;
    WK_TRY(next(p, &token));
    bool strings = token.kind == WK_JSON_OBJECT;
    while (strings) {
        wk_safetensors_pair pair;
        WK_TRY(next(p, &token));
        if (token.kind == WK_JSON_OBJECT_END) return WK_OK;
        WK_TRY(to_string(p, token, &pair.key));
        WK_TRY(next(p, &token));
        strings = token.kind == WK_JSON_STRING;
        if (!strings) break;
        WK_TRY(to_string(p, token, &pair.value));
        if (!wk_array_push(&p->header->metadata, pair)) return no_memory(p);
    }
    return wk_fail(p->err, WK_E_FORMAT, "'%s': __metadata__ must be an object of strings" CORRUPT,
                   p->file);
}

static wk_status parse_members(parser *p)
{
    bool had_metadata = false;
    for (;;) {
        wk_json_token token;
        const char *name;
        WK_TRY(next(p, &token));
        if (token.kind == WK_JSON_OBJECT_END) return WK_OK;
        WK_TRY(to_string(p, token, &name));
        if (strcmp(name, "__metadata__") != 0) {
            WK_TRY(parse_tensor(p, name));
        } else {
            if (had_metadata)
                return wk_fail(p->err, WK_E_FORMAT, "'%s': __metadata__ appears twice" CORRUPT,
                               p->file);
            had_metadata = true;
            WK_TRY(parse_metadata(p));
        }
    }
}

// The object, then nothing but the spaces that writers pad with.
static wk_status parse_text(parser *p, size_t size)
{
    wk_json_token token;
    if (size == 0 || p->text[0] != '{')
        return wk_fail(p->err, WK_E_FORMAT, "'%s': the header does not begin with '{'" CORRUPT,
                       p->file);
    WK_TRY(next(p, &token));
    WK_TRY(parse_members(p));
    for (size_t i = p->json.at; i < size; i++)
        if (p->text[i] != ' ')
            return wk_fail(p->err, WK_E_FORMAT,
                           "'%s': something other than spaces after the header's JSON, at byte "
                           "%zu" CORRUPT,
                           p->file, i + 8);
    return WK_OK;
}

static int compare_places(const void *left, const void *right)
{
    const wk_safetensors_entry *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return strcmp(a->spec.name, b->spec.name);
}

// The tensors must tile the data: each begins where the one before ends, the last ends at the end.
static wk_status check_places(parser *p, uint64_t data_size)
{
    wk_safetensors_header *header = p->header;
    if (header->entries.count > 0)
        qsort(header->entries.items, header->entries.count, sizeof *header->entries.items,
              compare_places);
    uint64_t end = 0;
    for (size_t i = 0; i < header->entries.count; i++) {
        const wk_safetensors_entry *entry = &header->entries.items[i];
        if (entry->end > data_size)
            return wk_fail(p->err, WK_E_FORMAT,
                           "'%s': tensor '%.200s' ends at byte %" PRIu64
                           " of the data, which has only %" PRIu64
                           "; the file was cut short: copy or save it again",
                           p->file, entry->spec.name, entry->end, data_size);
        if (entry->begin != end)
            return bad_tensor(p, entry->spec.name,
                              entry->begin < end ? "its data overlaps another tensor's"
                                                 : "there is a hole in the data before it");
        end = entry->end;
    }
    if (end == data_size) return WK_OK;
    return wk_fail(p->err, WK_E_FORMAT,
                   "'%s': %" PRIu64 " bytes after the last tensor belong to none" CORRUPT, p->file,
                   data_size - end);
}

static int compare_names(const void *left, const void *right)
{
    const wk_safetensors_named *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static wk_status index_names(parser *p)
{
    wk_safetensors_header *header = p->header;
    size_t count = header->entries.count;
    if (count == 0) return WK_OK;
    if (!wk_array_reserve(&header->by_name, count)) return no_memory(p);
    wk_safetensors_named *names = header->by_name.items;
    for (size_t i = 0; i < count; i++) {
        wk_safetensors_entry *entry = &header->entries.items[i];
        names[i] = (wk_safetensors_named){entry->spec.name, entry};
    }
    header->by_name.count = count;
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1].name, names[i].name) == 0)
            return bad_tensor(p, names[i].name, "it appears twice");
    return WK_OK;
}

wk_safetensors_entry *wk_safetensors_header_find(const wk_safetensors_header *header,
                                                 const char *name)
{
    const wk_safetensors_named key = {.name = name};
    if (header->by_name.count == 0) return NULL;
    const wk_safetensors_named *found =
        bsearch(&key, header->by_name.items, header->by_name.count, sizeof key, compare_names);
    return found ? found->entry : NULL;
}

static int compare_keys(const void *left, const void *right)
{
    const wk_safetensors_pair *a = left, *b = right;
    return strcmp(a->key, b->key);
}

static wk_status check_keys_differ(parser *p)
{
    size_t count = p->header->metadata.count;
    if (count < 2) return WK_OK;
    wk_safetensors_pair *sorted = malloc(count * sizeof *sorted);
    if (!sorted) return no_memory(p);
    memcpy(sorted, p->header->metadata.items, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_keys);
    wk_status status = WK_OK;
    for (size_t i = 1; i < count && status == WK_OK; i++)
        if (strcmp(sorted[i - 1].key, sorted[i].key) == 0)
            status =
                wk_fail(p->err, WK_E_FORMAT, "'%s': metadata key '%.200s' appears twice" CORRUPT,
                        p->file, sorted[i].key);
    free(sorted);
    return status;
}

bool wk_safetensors_is_crc_key(const char *key)
{
    size_t length = strlen(WK_SAFETENSORS_CRC_KEY);
    return strncmp(key, WK_SAFETENSORS_CRC_KEY, length) == 0 &&
           (key[length] == 0 || key[length] == '/');
}

uint32_t wk_safetensors_metadata_crc(const wk_safetensors_pair *metadata, size_t pairs)
{
    uint32_t crc = 0;
    for (size_t i = 0; i < pairs; i++) {
        if (wk_safetensors_is_crc_key(metadata[i].key)) continue;
        crc = wk_crc32c(crc, metadata[i].key, strlen(metadata[i].key) + 1);
        crc = wk_crc32c(crc, metadata[i].value, strlen(metadata[i].value) + 1);
    }
    return crc;
}

// A checksum is eight lower-case hex digits.
static bool parse_crc(const char *text, uint32_t *crc)
{
    if (strlen(text) != 8 || strspn(text, "0123456789abcdef") != 8) return false;
    *crc = (uint32_t)strtoul(text, NULL, 16);
    return true;
}

// Gives each entry its checksum. Keys differ, so as many checksums as tensors means all have one.
static wk_status read_checksums(parser *p)
{
    wk_safetensors_header *header = p->header;
    size_t prefix = strlen(WK_SAFETENSORS_CRC_KEY "/"), found = 0;
    uint32_t own = 0;
    for (size_t i = 0; i < header->metadata.count; i++) {
        wk_safetensors_pair pair = header->metadata.items[i];
        if (!wk_safetensors_is_crc_key(pair.key)) continue;
        uint32_t crc;
        bool of_metadata = strcmp(pair.key, WK_SAFETENSORS_CRC_KEY) == 0;
        wk_safetensors_entry *entry =
            of_metadata ? NULL : wk_safetensors_header_find(header, pair.key + prefix);
        if (!parse_crc(pair.value, &crc) || (!of_metadata && !entry))
            return wk_fail(p->err, WK_E_FORMAT,
                           "'%s': the checksum '%.200s' is malformed or names no tensor" CORRUPT,
                           p->file, pair.key);
        header->has_checksums = true;
        found += !of_metadata;
        *(of_metadata ? &own : &entry->crc) = crc;
    }
    if (!header->has_checksums) return WK_OK;
    if (found != header->entries.count)
        return wk_fail(p->err, WK_E_FORMAT,
                       "'%s': only %zu of %zu tensors have a checksum; the file is damaged or was "
                       "edited: save it again without the crc32c metadata",
                       p->file, found, header->entries.count);
    if (own == wk_safetensors_metadata_crc(header->metadata.items, header->metadata.count))
        return WK_OK;
    return wk_fail(p->err, WK_E_FORMAT,
                   "'%s': the checksum of the metadata does not match; the file is damaged: use an "
                   "older copy",
                   p->file);
}

wk_status wk_safetensors_header_parse(wk_safetensors_header *header, char *text, size_t size,
                                      uint64_t data_size, const char *file, wk_error *err)
{
    parser p = {wk_json_reader_start(text, size), header, text, file, err};
    WK_TRY(parse_text(&p, size));
    WK_TRY(check_places(&p, data_size));
    WK_TRY(index_names(&p));
    WK_TRY(check_keys_differ(&p));
    return read_checksums(&p);
}

void wk_safetensors_header_free(wk_safetensors_header *header)
{
    wk_array_free(&header->entries);
    wk_array_free(&header->metadata);
    wk_array_free(&header->by_name);
}

static const struct {
    const char *name;
    size_t size;
} dtypes[WK_ST_DTYPES] = {
    [WK_ST_U64] = {"U64", 8},   [WK_ST_I64] = {"I64", 8}, [WK_ST_F64] = {"F64", 8},
    [WK_ST_U32] = {"U32", 4},   [WK_ST_I32] = {"I32", 4}, [WK_ST_F32] = {"F32", 4},
    [WK_ST_U16] = {"U16", 2},   [WK_ST_I16] = {"I16", 2}, [WK_ST_BF16] = {"BF16", 2},
    [WK_ST_F16] = {"F16", 2},   [WK_ST_I8] = {"I8", 1},   [WK_ST_U8] = {"U8", 1},
    [WK_ST_BOOL] = {"BOOL", 1},
};

const char *wk_safetensors_dtype_name(wk_safetensors_dtype dtype)
{
    assert(dtype < WK_ST_DTYPES);
    return dtypes[dtype].name;
}

size_t wk_safetensors_dtype_size(wk_safetensors_dtype dtype)
{
    assert(dtype < WK_ST_DTYPES);
    return dtypes[dtype].size;
}

bool wk_safetensors_spec_size(const wk_safetensors_spec *spec, uint64_t *size)
{
    uint64_t product = wk_safetensors_dtype_size(spec->dtype);
    for (int i = 0; i < spec->rank; i++)
        if (__builtin_mul_overflow(product, spec->shape[i], &product)) return false;
    *size = product;
    return product <= INT64_MAX;
}

size_t wk_safetensors_spec_bytes(const wk_safetensors_spec *spec)
{
    uint64_t size = 0;
    bool fits = wk_safetensors_spec_size(spec, &size);
    assert(fits);
    (void)fits;
    return (size_t)size;
}

char *wk_safetensors_spec_text(const wk_safetensors_spec *spec, char *out, size_t room)
{
    size_t used = (size_t)snprintf(out, room, "%s[", wk_safetensors_dtype_name(spec->dtype));
    for (int i = 0; i < spec->rank && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%llu", i ? "," : "",
                                 (unsigned long long)spec->shape[i]);
    if (used < room) snprintf(out + used, room - used, "]");
    return out;
}
