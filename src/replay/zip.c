#include "replay/zip.h"
#include "base/array.h"
#include "base/file.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// A file in the archive, for the directory at its end.
typedef struct member {
    char name[64];
    uint32_t crc, packed, size, offset;
} member;

struct wk_zip {
    wk_file_writer *file;
    uint64_t offset;
    WK_ARRAY(member) members;
};

// Bytes of a header under construction.
typedef struct bytes {
    unsigned char data[256];
    size_t size;
} bytes;

static void put16(bytes *to, uint32_t value)
{
    to->data[to->size++] = (unsigned char)value;
    to->data[to->size++] = (unsigned char)(value >> 8);
}

static void put32(bytes *to, uint32_t value)
{
    put16(to, value & 0xffff);
    put16(to, value >> 16);
}

static void put_name(bytes *to, const char *name)
{
    size_t length = strlen(name);
    memcpy(to->data + to->size, name, length);
    to->size += length;
}

// The fields that a file's own header and its entry in the directory share. The time is the
// earliest that zip knows, 1980-01-01, so that equal content gives equal bytes.
static void put_common(bytes *to, const member *file)
{
    enum { VERSION = 20, DEFLATED = 8, DATE = 0x21 };
    put16(to, VERSION);
    put16(to, 0);
    put16(to, DEFLATED);
    put16(to, 0);
    put16(to, DATE);
    put32(to, file->crc);
    put32(to, file->packed);
    put32(to, file->size);
    put16(to, (uint32_t)strlen(file->name));
    put16(to, 0);
}

static wk_status append(wk_zip *zip, const void *data, size_t size, wk_error *err)
{
    WK_TRY(wk_file_writer_append(zip->file, data, size, err));
    zip->offset += size;
    return WK_OK;
}

static wk_status write_member(wk_zip *zip, const member *file, const void *packed, wk_error *err)
{
    bytes header = {.size = 0};
    put32(&header, 0x04034b50);
    put_common(&header, file);
    put_name(&header, file->name);
    WK_TRY(append(zip, header.data, header.size, err));
    return append(zip, packed, file->packed, err);
}

wk_status wk_zip_begin(const char *path, wk_zip **out, wk_error *err)
{
    wk_zip *zip = calloc(1, sizeof *zip);
    if (!zip) return wk_fail(err, WK_E_MEMORY, "'%s': no memory to write it", path);
    wk_status status = wk_file_writer_begin(path, &zip->file, err);
    if (status == WK_OK)
        *out = zip;
    else
        free(zip);
    return status;
}

// Deflates two pieces as one stream; returns its size, or 0 when zlib has no memory.
static size_t deflate_pieces(const void *head, size_t head_size, const void *body, size_t body_size,
                             unsigned char *packed, size_t room)
{
    enum { RAW = -15, MEMORY = 8, LEVEL = 6 };
    z_stream stream = {0};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    stream.next_in = (Bytef *)head;
    stream.avail_in = (uInt)head_size;
    int result = deflate(&stream, Z_NO_FLUSH);
    assert(result == Z_OK && stream.avail_in == 0);
    stream.next_in = (Bytef *)body;
    stream.avail_in = (uInt)body_size;
    result = deflate(&stream, Z_FINISH);
    assert(result == Z_STREAM_END);
    size_t size = stream.total_out;
    deflateEnd(&stream);
    return size;
}

static wk_status add_packed(wk_zip *zip, member *file, const void *head, size_t head_size,
                            const void *body, size_t body_size, unsigned char *packed, size_t room,
                            wk_error *err)
{
    size_t size = deflate_pieces(head, head_size, body, body_size, packed, room);
    if (size == 0) return wk_fail(err, WK_E_MEMORY, "no memory to compress '%s'", file->name);
    uint32_t crc = (uint32_t)crc32(crc32(0, head, (uInt)head_size), body, (uInt)body_size);
    file->crc = crc;
    file->packed = (uint32_t)size;
    file->size = (uint32_t)(head_size + body_size);
    file->offset = (uint32_t)zip->offset;
    if (!wk_array_reserve(&zip->members, 1))
        return wk_fail(err, WK_E_MEMORY, "no memory to compress '%s'", file->name);
    WK_TRY(write_member(zip, file, packed, err));
    zip->members.items[zip->members.count++] = *file;
    return WK_OK;
}

wk_status wk_zip_add(wk_zip *zip, const char *name, const void *head, size_t head_size,
                     const void *body, size_t body_size, wk_error *err)
{
    const uint64_t max = 0xf0000000;
    member file = {.crc = 0};
    assert(strlen(name) < sizeof file.name);
    memcpy(file.name, name, strlen(name));
    // zlib's own bound counts in its header's frame; both pieces together stay below this one.
    uint64_t size = (uint64_t)head_size + body_size, room = size + size / 1000 + 4096;
    if (zip->offset + room > max)
        return wk_fail(err, WK_E_UNSUPPORTED, "'%s' is too large for a zip archive of 4 GB", name);
    unsigned char *packed = malloc(room);
    if (!packed)
        return wk_fail(err, WK_E_MEMORY, "no memory to compress '%s' of %llu bytes", name,
                       (unsigned long long)size);
    wk_status status = add_packed(zip, &file, head, head_size, body, body_size, packed, room, err);
    free(packed);
    return status;
}

static wk_status write_directory(wk_zip *zip, wk_error *err)
{
    uint32_t start = (uint32_t)zip->offset, count = (uint32_t)zip->members.count;
    for (size_t i = 0; i < zip->members.count; i++) {
        const member *file = &zip->members.items[i];
        bytes entry = {.size = 0};
        put32(&entry, 0x02014b50);
        put16(&entry, 20);
        put_common(&entry, file);
        put16(&entry, 0); // no comment, first disk, nothing known of attributes
        put16(&entry, 0);
        put16(&entry, 0);
        put32(&entry, 0);
        put32(&entry, file->offset);
        put_name(&entry, file->name);
        WK_TRY(append(zip, entry.data, entry.size, err));
    }
    bytes end = {.size = 0};
    put32(&end, 0x06054b50);
    put32(&end, 0);
    put16(&end, count);
    put16(&end, count);
    put32(&end, (uint32_t)(zip->offset - start));
    put32(&end, start);
    put16(&end, 0);
    return append(zip, end.data, end.size, err);
}

wk_status wk_zip_commit(wk_zip *zip, wk_error *err)
{
    wk_status status = write_directory(zip, err);
    if (status == WK_OK) {
        status = wk_file_writer_commit(zip->file, err);
        zip->file = NULL;
    }
    wk_zip_discard(zip);
    return status;
}

void wk_zip_discard(wk_zip *zip)
{
    if (!zip) return;
    wk_file_writer_discard(zip->file);
    wk_array_free(&zip->members);
    free(zip);
}
