// The boxes of ISO/IEC 14496-12 and 14496-15.
#include "media/mp4.h"

#include "base/array.h"
#include "media/h264.h"
#include <math.h>
#include <stdlib.h>

enum { TICKS = 90000 }; // of a second

typedef struct sample {
    uint32_t size;
    bool key;
} sample;

struct wk_mp4 {
    wk_h264 *video;
    uint32_t duration; // of a frame, in ticks
    wk_text data;      // NAL units, each after its size
    WK_ARRAY(sample) samples;
};

static wk_status out_of_memory(wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "video: no memory");
}

wk_status wk_mp4_create(int width, int height, double seconds, wk_mp4 **out, wk_error *err)
{
    if (!(seconds >= 0.001 && seconds <= 100))
        return wk_fail(err, WK_E_INPUT, "a video of %g seconds a frame: it must be 0.001 to 100",
                       seconds);
    wk_mp4 *mp4 = calloc(1, sizeof *mp4);
    if (!mp4) return out_of_memory(err);
    mp4->duration = (uint32_t)lround(seconds * TICKS);
    wk_status status = wk_h264_create(width, height, 1 / seconds, &mp4->video, err);
    if (status != WK_OK) {
        wk_mp4_destroy(mp4);
        return status;
    }
    *out = mp4;
    return WK_OK;
}

void wk_mp4_destroy(wk_mp4 *mp4)
{
    if (!mp4) return;
    wk_h264_destroy(mp4->video);
    wk_text_free(&mp4->data);
    wk_array_free(&mp4->samples);
    free(mp4);
}

static void put(wk_text *out, uint32_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        char byte = (char)(value >> 8 * i & 255);
        wk_text_append(out, &byte, 1);
    }
}

static void put_at(wk_text *out, size_t place, uint32_t value)
{
    for (int i = 0; i < 4 && !out->failed; i++)
        out->chars[place + (size_t)i] = (char)(value >> (24 - 8 * i) & 255);
}

wk_status wk_mp4_add(wk_mp4 *mp4, const wk_image *frame, wk_error *err)
{
    size_t begin = mp4->data.length;
    sample made;
    put(&mp4->data, 0, 4);
    wk_status status = wk_h264_add(mp4->video, frame, &mp4->data, &made.key, err);
    if (status != WK_OK) {
        mp4->data.length = begin; // a refused frame leaves nothing between its neighbours
        return status;
    }
    made.size = (uint32_t)(mp4->data.length - begin);
    put_at(&mp4->data, begin, made.size - 4);
    if (mp4->data.length > UINT32_MAX / 2)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "a video of more than 2 GB: show fewer frames, or smaller ones");
    return wk_array_push(&mp4->samples, made) ? WK_OK : out_of_memory(err);
}

// Begins a box, whose size is known at its end.
static size_t begin(wk_text *out, const char *type)
{
    size_t place = out->length;
    put(out, 0, 4);
    wk_text_append(out, type, 4);
    return place;
}

static size_t begin_full(wk_text *out, const char *type, uint32_t flags)
{
    size_t place = begin(out, type);
    put(out, flags, 4);
    return place;
}

static void end(wk_text *out, size_t place)
{
    put_at(out, place, (uint32_t)(out->length - place));
}

static void put_zeros(wk_text *out, int count)
{
    for (int i = 0; i < count; i++)
        put(out, 0, 1);
}

static void put_matrix(wk_text *out)
{
    static const uint32_t unity[9] = {0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000};
    for (int i = 0; i < 9; i++)
        put(out, unity[i], 4);
}

static uint64_t whole_duration(const wk_mp4 *mp4)
{
    return (uint64_t)mp4->duration * mp4->samples.count;
}

// Whether headers need their second version, whose dates and durations have 64 bits.
static bool is_long(const wk_mp4 *mp4)
{
    return whole_duration(mp4) > UINT32_MAX;
}

// Begins a header, which has no dates.
static size_t begin_header(const wk_mp4 *mp4, wk_text *out, const char *type, uint32_t flags)
{
    size_t place = begin_full(out, type, flags | (uint32_t)is_long(mp4) << 24);
    put_zeros(out, is_long(mp4) ? 16 : 8);
    return place;
}

static void put_duration(const wk_mp4 *mp4, wk_text *out)
{
    if (is_long(mp4)) put(out, (uint32_t)(whole_duration(mp4) >> 32), 4);
    put(out, (uint32_t)whole_duration(mp4), 4);
}

static void put_movie_header(const wk_mp4 *mp4, wk_text *out)
{
    size_t box = begin_header(mp4, out, "mvhd", 0);
    put(out, TICKS, 4);
    put_duration(mp4, out);
    put(out, 0x10000, 4); // usual speed
    put(out, 0x100, 2);
    put_zeros(out, 10);
    put_matrix(out);
    put_zeros(out, 24);
    put(out, 2, 4); // the next track
    end(out, box);
}

static void put_track_header(const wk_mp4 *mp4, wk_text *out)
{
    size_t box = begin_header(mp4, out, "tkhd", 3); // enabled, in the movie
    put(out, 1, 4);
    put_zeros(out, 4);
    put_duration(mp4, out);
    put_zeros(out, 16);
    put_matrix(out);
    put(out, (uint32_t)wk_h264_width(mp4->video) << 16, 4);
    put(out, (uint32_t)wk_h264_height(mp4->video) << 16, 4);
    end(out, box);
}

static void put_media_header(const wk_mp4 *mp4, wk_text *out)
{
    size_t box = begin_header(mp4, out, "mdhd", 0);
    put(out, TICKS, 4);
    put_duration(mp4, out);
    put(out, 0x55C4, 2); // no language
    put_zeros(out, 2);
    end(out, box);
    box = begin_full(out, "hdlr", 0);
    put_zeros(out, 4);
    wk_text_append(out, "vide", 4);
    put_zeros(out, 13);
    end(out, box);
}

static void put_decoder(const wk_mp4 *mp4, wk_text *out)
{
    wk_text sequence = {0}, picture = {0};
    wk_h264_parameters(mp4->video, &sequence, &picture);
    out->failed |= sequence.failed || picture.failed;
    size_t box = begin(out, "avcC");
    put(out, 1, 1);
    if (!out->failed) wk_text_append(out, sequence.chars + 1, 3); // profile and level
    put(out, 0xFF, 1);                                            // sizes of 4 bytes
    put(out, 0xE1, 1);                                            // one set of each
    put(out, (uint32_t)sequence.length, 2);
    wk_text_append(out, sequence.chars, sequence.length);
    put(out, 1, 1);
    put(out, (uint32_t)picture.length, 2);
    wk_text_append(out, picture.chars, picture.length);
    end(out, box);
    wk_text_free(&sequence);
    wk_text_free(&picture);
}

static void put_description(const wk_mp4 *mp4, wk_text *out)
{
    size_t box = begin_full(out, "stsd", 0);
    put(out, 1, 4);
    size_t entry = begin(out, "avc1");
    put_zeros(out, 6);
    put(out, 1, 2);
    put_zeros(out, 16);
    put(out, (uint32_t)wk_h264_width(mp4->video), 2);
    put(out, (uint32_t)wk_h264_height(mp4->video), 2);
    put(out, 0x480000, 4); // 72 dots an inch
    put(out, 0x480000, 4);
    put_zeros(out, 4);
    put(out, 1, 2);
    put_zeros(out, 32);
    put(out, 24, 2); // bits a pixel
    put(out, 0xFFFF, 2);
    put_decoder(mp4, out);
    end(out, entry);
    end(out, box);
}

// Where samples are, how long they last, how large they are; all in one chunk. Returns the place of
// its offset in the file.
static size_t put_samples(const wk_mp4 *mp4, wk_text *out)
{
    uint32_t count = (uint32_t)mp4->samples.count, keys = 0;
    size_t box = begin_full(out, "stts", 0);
    put(out, 1, 4);
    put(out, count, 4);
    put(out, mp4->duration, 4);
    end(out, box);
    box = begin_full(out, "stss", 0);
    size_t at = out->length;
    put(out, 0, 4);
    for (uint32_t i = 0; i < count; i++) {
        if (!mp4->samples.items[i].key) continue;
        put(out, i + 1, 4);
        keys++;
    }
    put_at(out, at, keys);
    end(out, box);
    box = begin_full(out, "stsc", 0);
    put(out, 1, 4);
    put(out, 1, 4);
    put(out, count, 4);
    put(out, 1, 4);
    end(out, box);
    box = begin_full(out, "stsz", 0);
    put(out, 0, 4);
    put(out, count, 4);
    for (uint32_t i = 0; i < count; i++)
        put(out, mp4->samples.items[i].size, 4);
    end(out, box);
    box = begin_full(out, "stco", 0);
    put(out, 1, 4);
    at = out->length;
    put(out, 0, 4);
    end(out, box);
    return at;
}

static void put_data_reference(wk_text *out)
{
    size_t box = begin_full(out, "vmhd", 1);
    put_zeros(out, 8);
    end(out, box);
    box = begin(out, "dinf");
    size_t list = begin_full(out, "dref", 0);
    put(out, 1, 4);
    end(out, begin_full(out, "url ", 1)); // in this file
    end(out, list);
    end(out, box);
}

static size_t put_movie(const wk_mp4 *mp4, wk_text *out)
{
    size_t movie = begin(out, "moov");
    put_movie_header(mp4, out);
    size_t track = begin(out, "trak");
    put_track_header(mp4, out);
    size_t media = begin(out, "mdia");
    put_media_header(mp4, out);
    size_t information = begin(out, "minf");
    put_data_reference(out);
    size_t table = begin(out, "stbl");
    put_description(mp4, out);
    size_t offset = put_samples(mp4, out);
    end(out, table);
    end(out, information);
    end(out, media);
    end(out, track);
    end(out, movie);
    return offset;
}

wk_status wk_mp4_finish(wk_mp4 *mp4, uint8_t **bytes, size_t *size, wk_error *err)
{
    if (mp4->samples.count == 0)
        return wk_fail(err, WK_E_INPUT, "a video needs at least one frame");
    wk_text out = {0};
    size_t box = begin(&out, "ftyp");
    wk_text_append(&out, "isom\0\0\2\0isomiso2avc1mp41", 24);
    end(&out, box);
    size_t offset = put_movie(mp4, &out);
    box = begin(&out, "mdat");
    put_at(&out, offset, (uint32_t)out.length);
    wk_text_append(&out, mp4->data.chars, mp4->data.length);
    end(&out, box);
    if (out.failed) {
        wk_text_free(&out);
        return out_of_memory(err);
    }
    *bytes = (uint8_t *)out.chars;
    *size = out.length;
    return WK_OK;
}
