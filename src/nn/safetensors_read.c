// Opening safetensors files and reading tensors out of them, from disk or from memory.
#include "nn/safetensors_header.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "nn/packed.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor data is read as it lies");

struct wk_safetensors {
    char *name;
    wk_file_reader *reader; // NULL for a file in memory
    const char *memory;     // the bytes of a file in memory
    uint64_t size, data_at; // of the file; where its data begins
    char *text;             // the header, unescaped in place
    wk_safetensors_header header;
};

static wk_status no_memory(const wk_safetensors *file, uint64_t size, wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "'%s': no memory for %" PRIu64 " bytes", file->name, size);
}

static wk_status read_at(const wk_safetensors *file, uint64_t offset, char *bytes, size_t size,
                         wk_error *err)
{
    assert(offset <= file->size && size <= file->size - offset);
    if (file->reader) return wk_file_reader_read(file->reader, offset, bytes, size, err);
    if (size > 0) memcpy(bytes, file->memory + offset, size);
    return WK_OK;
}

// The length word says how much header there is; it is believed only if the file is that long.
static wk_status read_header_size(const wk_safetensors *file, uint64_t *size, wk_error *err)
{
    if (file->size < 8)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' has %" PRIu64 " bytes, too few for a safetensors file; it was cut "
                       "short: copy or save it again",
                       file->name, file->size);
    WK_TRY(read_at(file, 0, (char *)size, 8, err));
    if (*size > WK_SAFETENSORS_HEADER_MAX)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' claims a header of %" PRIu64
                       " bytes, more than the 100000000 allowed; it is not a safetensors file",
                       file->name, *size);
    if (*size > file->size - 8)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' claims a header of %" PRIu64 " bytes but has only %" PRIu64
                       " bytes; it was cut short or is not a safetensors file",
                       file->name, *size, file->size);
    return WK_OK;
}

static wk_status load_header(wk_safetensors *file, wk_error *err)
{
    uint64_t size = 0;
    WK_TRY(read_header_size(file, &size, err));
    file->data_at = 8 + size;
    file->text = malloc((size_t)size + 1);
    if (!file->text) return no_memory(file, size + 1, err);
    WK_TRY(read_at(file, 8, file->text, (size_t)size, err));
    file->text[size] = 0;
    return wk_safetensors_header_parse(&file->header, file->text, (size_t)size,
                                       file->size - file->data_at, file->name, err);
}

static wk_status create(const char *name, wk_safetensors **out, wk_error *err)
{
    wk_safetensors *file = calloc(1, sizeof *file);
    if (file) file->name = strdup(name);
    if (!file || !file->name) {
        free(file);
        return wk_fail(err, WK_E_MEMORY, "'%s': no memory to open it", name);
    }
    *out = file;
    return WK_OK;
}

static wk_status finish_open(wk_safetensors *file, wk_safetensors **out, wk_error *err)
{
    wk_status status = load_header(file, err);
    if (status == WK_OK)
        *out = file;
    else
        wk_safetensors_close(file);
    return status;
}

wk_status wk_safetensors_open_in(const wk_dir *in, const char *path, wk_safetensors **out,
                                 wk_error *err)
{
    wk_safetensors *file = NULL;
    WK_TRY(create(path, &file, err));
    wk_status status = wk_file_reader_open_in(in, path, &file->reader, err);
    if (status != WK_OK) {
        wk_safetensors_close(file);
        return status;
    }
    file->size = wk_file_reader_size(file->reader);
    return finish_open(file, out, err);
}

wk_status wk_safetensors_open(const char *path, wk_safetensors **out, wk_error *err)
{
    return wk_safetensors_open_in(NULL, path, out, err);
}

wk_status wk_safetensors_open_memory(const void *bytes, size_t size, const char *name,
                                     wk_safetensors **out, wk_error *err)
{
    wk_safetensors *file = NULL;
    WK_TRY(create(name, &file, err));
    file->memory = bytes;
    file->size = size;
    return finish_open(file, out, err);
}

void wk_safetensors_close(wk_safetensors *file)
{
    if (!file) return;
    wk_file_reader_close(file->reader);
    wk_safetensors_header_free(&file->header);
    free(file->text);
    free(file->name);
    free(file);
}

size_t wk_safetensors_count(const wk_safetensors *file)
{
    return file->header.entries.count;
}

const wk_safetensors_spec *wk_safetensors_at(const wk_safetensors *file, size_t index)
{
    assert(index < file->header.entries.count);
    return &file->header.entries.items[index].spec;
}

const wk_safetensors_spec *wk_safetensors_find(const wk_safetensors *file, const char *name)
{
    const wk_safetensors_entry *entry = wk_safetensors_header_find(&file->header, name);
    return entry ? &entry->spec : NULL;
}

const char *wk_safetensors_metadata(const wk_safetensors *file, const char *key)
{
    for (size_t i = 0; i < file->header.metadata.count; i++)
        if (strcmp(file->header.metadata.items[i].key, key) == 0)
            return file->header.metadata.items[i].value;
    return NULL;
}

size_t wk_safetensors_metadata_count(const wk_safetensors *file)
{
    return file->header.metadata.count;
}

wk_safetensors_pair wk_safetensors_metadata_at(const wk_safetensors *file, size_t index)
{
    assert(index < file->header.metadata.count);
    return file->header.metadata.items[index];
}

static wk_status check_crc(const wk_safetensors *file, const wk_safetensors_entry *entry,
                           uint32_t crc, wk_error *err)
{
    if (!file->header.has_checksums || crc == entry->crc) return WK_OK;
    return wk_fail(
        err, WK_E_FORMAT,
        "'%s': tensor '%.200s' is damaged: its checksum is %08x, not %08x; use an older copy",
        file->name, entry->spec.name, crc, entry->crc);
}

wk_status wk_safetensors_read(const wk_safetensors *file, const wk_safetensors_spec *spec,
                              void *bytes, wk_error *err)
{
    const wk_safetensors_entry *entry = (const wk_safetensors_entry *)spec;
    size_t size = (size_t)(entry->end - entry->begin);
    WK_TRY(read_at(file, file->data_at + entry->begin, bytes, size, err));
    return check_crc(file, entry, wk_crc32c(0, bytes, size), err);
}

// Whether a number in one of the float formats is finite: its exponent is not all ones.
static bool all_finite(wk_safetensors_dtype dtype, const char *bytes, size_t size)
{
    static const uint64_t exponents[WK_ST_DTYPES] = {[WK_ST_F64] = 0x7ff0000000000000u,
                                                     [WK_ST_F32] = 0x7f800000u,
                                                     [WK_ST_BF16] = 0x7f80u,
                                                     [WK_ST_F16] = 0x7c00u};
    uint64_t exponent = exponents[dtype];
    size_t width = wk_safetensors_dtype_size(dtype);
    for (size_t i = 0; exponent && i + width <= size; i += width) {
        uint64_t number = 0;
        memcpy(&number, bytes + i, width);
        if ((number & exponent) == exponent) return false;
    }
    return true;
}

static wk_status verify_entry(const wk_safetensors *file, const wk_safetensors_entry *entry,
                              char *chunk, size_t max, wk_error *err)
{
    uint32_t crc = 0;
    bool finite = true;
    for (uint64_t at = entry->begin; at < entry->end; at += max) {
        size_t size = entry->end - at < max ? (size_t)(entry->end - at) : max;
        WK_TRY(read_at(file, file->data_at + at, chunk, size, err));
        crc = wk_crc32c(crc, chunk, size);
        finite = finite && all_finite(entry->spec.dtype, chunk, size);
    }
    WK_TRY(check_crc(file, entry, crc, err));
    if (finite) return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "'%s': tensor '%.200s' has a number that is not finite",
                   file->name, entry->spec.name);
}

wk_status wk_safetensors_verify_weights(const wk_safetensors *file, wk_error *err)
{
    enum { CHUNK = 1 << 16 };
    if (!file->header.has_checksums)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' has no checksums, which waker always writes: whether it is whole "
                       "cannot be told",
                       file->name);
    char *chunk = malloc(CHUNK);
    if (!chunk) return no_memory(file, CHUNK, err);
    wk_status status = WK_OK;
    for (size_t i = 0; i < file->header.entries.count && status == WK_OK; i++)
        status = verify_entry(file, &file->header.entries.items[i], chunk, CHUNK, err);
    free(chunk);
    return status;
}

static size_t count_of(const wk_safetensors_spec *spec)
{
    return wk_safetensors_spec_bytes(spec) / wk_safetensors_dtype_size(spec->dtype);
}

// The scales of a tensor in 8 bits; NULL where there are none that fit it.
static const wk_safetensors_spec *scales_of(const wk_safetensors *file,
                                            const wk_safetensors_spec *spec)
{
    wk_text name = {0};
    wk_text_printf(&name, "%s" WK_SAFETENSORS_SCALE, spec->name);
    const wk_safetensors_spec *scales =
        name.failed ? NULL : wk_safetensors_find(file, wk_text_get(&name));
    wk_text_free(&name);
    bool fits = scales && scales->dtype == WK_ST_F16 && scales->rank == 1 &&
                scales->shape[0] == wk_packed_scales(count_of(spec));
    return fits ? scales : NULL;
}

// Whether a tensor of the file can be read as the one that is wanted.
static bool is_readable_as(const wk_safetensors *file, const wk_safetensors_spec *found,
                           const wk_safetensors_spec *wanted)
{
    bool packed =
        wanted->dtype == WK_ST_F32 &&
        (found->dtype == WK_ST_F16 || (found->dtype == WK_ST_I8 && scales_of(file, found)));
    return (found->dtype == wanted->dtype || packed) && found->rank == wanted->rank &&
           memcmp(found->shape, wanted->shape, (size_t)found->rank * sizeof *found->shape) == 0;
}

// Reads a tensor that is_readable_as the target.
static wk_status read_target(const wk_safetensors *file, const wk_safetensors_target *target,
                             wk_error *err)
{
    const wk_safetensors_spec *found = wk_safetensors_find(file, target->spec.name);
    if (found->dtype == target->spec.dtype)
        return wk_safetensors_read(file, found, target->bytes, err);
    size_t count = count_of(found), scales = wk_packed_scales(count);
    bool halves = found->dtype == WK_ST_F16;
    uint16_t *half = malloc(((halves ? count : scales) + 1) * sizeof *half);
    int8_t *bytes = malloc(halves ? 1 : count + 1);
    wk_status status = half && bytes ? WK_OK : no_memory(file, count, err);
    if (status == WK_OK)
        status = wk_safetensors_read(file, found, halves ? (void *)half : bytes, err);
    if (status == WK_OK && !halves)
        status = wk_safetensors_read(file, scales_of(file, found), half, err);
    if (status == WK_OK && halves) wk_unpack_halves(half, count, target->bytes);
    if (status == WK_OK && !halves) wk_unpack_bytes(bytes, half, count, target->bytes);
    free(half);
    free(bytes);
    return status;
}

// A list in a message: the first few items, then how many there are.
typedef struct name_list {
    wk_text text;
    size_t count;
} name_list;

static void list_add(name_list *list, const char *item)
{
    enum { SHOWN = 3 };
    if (list->count < SHOWN) wk_text_printf(&list->text, "%s%.90s", list->count ? ", " : "", item);
    if (list->count == SHOWN) wk_text_puts(&list->text, ", ...");
    list->count++;
}

static void list_put(wk_text *message, name_list *list, const char *title)
{
    if (list->count > 0)
        wk_text_printf(message, "; %zu %s: %s", list->count, title, wk_text_get(&list->text));
    wk_text_free(&list->text);
}

static void add_difference(name_list *list, const wk_safetensors_spec *is,
                           const wk_safetensors_spec *wanted)
{
    char is_text[24], wanted_text[24], item[92];
    snprintf(item, sizeof item, "%.30s is %s, expected %s", wanted->name,
             wk_safetensors_spec_text(is, is_text, sizeof is_text),
             wk_safetensors_spec_text(wanted, wanted_text, sizeof wanted_text));
    list_add(list, item);
}

static bool is_target(const char *name, const wk_safetensors_target *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(targets[i].spec.name, name) == 0) return true;
    return false;
}

// Whether a tensor is the scales of another.
static bool is_scales(const wk_safetensors *file, const char *name)
{
    size_t length = strlen(name), ending = strlen(WK_SAFETENSORS_SCALE);
    if (length <= ending || strcmp(name + length - ending, WK_SAFETENSORS_SCALE) != 0) return false;
    char *scaled = strndup(name, length - ending);
    const wk_safetensors_spec *found = scaled ? wk_safetensors_find(file, scaled) : NULL;
    free(scaled);
    return found && found->dtype == WK_ST_I8;
}

static bool is_ignored(const wk_safetensors *file, const char *name,
                       const wk_safetensors_filter *filter)
{
    return (filter && filter->ignores(filter->context, name)) || is_scales(file, name);
}

static wk_status report_misfit(const wk_safetensors *file, const wk_safetensors_target *targets,
                               size_t count, const wk_safetensors_filter *filter, wk_error *err)
{
    name_list missing = {0}, different = {0}, unexpected = {0};
    for (size_t i = 0; i < count; i++) {
        const wk_safetensors_spec *wanted = &targets[i].spec,
                                  *found = wk_safetensors_find(file, wanted->name);
        if (!found)
            list_add(&missing, wanted->name);
        else if (!is_readable_as(file, found, wanted))
            add_difference(&different, found, wanted);
    }
    for (size_t i = 0; i < file->header.entries.count; i++) {
        const char *name = file->header.entries.items[i].spec.name;
        if (!is_target(name, targets, count) && !is_ignored(file, name, filter))
            list_add(&unexpected, name);
    }
    wk_text message = {0};
    list_put(&message, &missing, "missing");
    list_put(&message, &different, "different");
    list_put(&message, &unexpected, "unexpected");
    wk_fail(err, WK_E_FORMAT,
            "'%s' does not fit%s; use the config the file was saved with, or another file",
            file->name, wk_text_get(&message));
    wk_text_free(&message);
    return WK_E_FORMAT;
}

static bool fits(const wk_safetensors *file, const wk_safetensors_target *targets, size_t count,
                 const wk_safetensors_filter *filter)
{
    for (size_t i = 0; i < count; i++) {
        const wk_safetensors_spec *found = wk_safetensors_find(file, targets[i].spec.name);
        if (!found || !is_readable_as(file, found, &targets[i].spec)) return false;
    }
    size_t own = 0;
    for (size_t i = 0; i < file->header.entries.count; i++)
        own += !is_ignored(file, file->header.entries.items[i].spec.name, filter);
    return own <= count;
}

wk_status wk_safetensors_read_all(const wk_safetensors *file, const wk_safetensors_target *targets,
                                  size_t count, const wk_safetensors_filter *filter, wk_error *err)
{
    if (!fits(file, targets, count, filter))
        return report_misfit(file, targets, count, filter, err);
    for (size_t i = 0; i < count; i++)
        WK_TRY(read_target(file, &targets[i], err));
    return WK_OK;
}
