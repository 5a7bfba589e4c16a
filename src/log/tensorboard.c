// TensorBoard event files: length-prefixed records of the Event message, each part with a masked
// CRC-32C. Scalars are simple_value under a tag, images are PNG, or GIF, which it animates; the
// axis is agent steps. The settings of the run come first, as a text and as hyperparameters.
#include "log/files.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_SIZE = 12, TAIL_SIZE = 4, RGB = 3 };

static const char prefix[] = "events.out.tfevents.", ending[] = ".waker";

static uint32_t mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

uint32_t wk_tensorboard_crc(const void *bytes, size_t size)
{
    return mask(wk_crc32c(0, bytes, size));
}

static void put_little(wk_text *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        wk_text_append(out, &(char){(char)(value >> 8 * i)}, 1);
}

static uint64_t get_little(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

// Protocol-buffer parts: a field's key is its number and how its value is written.
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(wk_text *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        wk_text_append(out, &(char){(char)(value | 0x80)}, 1);
    wk_text_append(out, &(char){(char)value}, 1);
}

static void put_integer(wk_text *out, unsigned field, int64_t value)
{
    put_varint(out, field << 3 | VARINT);
    put_varint(out, (uint64_t)value);
}

static void put_double(wk_text *out, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_varint(out, field << 3 | FIXED64);
    put_little(out, bits, 8);
}

static void put_float(wk_text *out, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_varint(out, field << 3 | FIXED32);
    put_little(out, bits, 4);
}

static void put_bytes(wk_text *out, unsigned field, const void *bytes, size_t size)
{
    put_varint(out, field << 3 | BYTES);
    put_varint(out, size);
    wk_text_append(out, bytes, size);
}

// A finished message as a field of another; frees it.
static void put_message(wk_text *out, unsigned field, wk_text *message)
{
    put_bytes(out, field, wk_text_get(message), message->length);
    out->failed |= message->failed;
    wk_text_free(message);
}

// Fields of Event, Summary.Value, Summary.Image, SummaryMetadata and TensorProto.
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_IMAGE = 4, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum { IMAGE_HEIGHT = 1, IMAGE_WIDTH = 2, IMAGE_COLORSPACE = 3, IMAGE_ENCODED = 4 };
enum { METADATA_PLUGIN = 1, PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_STRINGS = 8, SHAPE_DIM = 2, DIM_SIZE = 1 };
enum { DTYPE_FLOAT = 1, DTYPE_STRING = 7 };
// Fields of the hyperparameter plug-in's data; values are google.protobuf.Value.
enum { HPARAMS_SESSION = 3, SESSION_HPARAMS = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { PROTO_NUMBER = 2, PROTO_STRING = 3 };

static void put_string(wk_text *out, unsigned field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

// The tag of a scalar. TensorBoard shows groups of tags, which are what is before the first slash,
// by the alphabet: losses come first, then scores.
static void put_tag(const char *name, wk_text *out)
{
    static const struct {
        const char *begins, *has, *group;
    } rules[] = {
        {"train/", "_loss", "losses"},           {"train_return_", "", "scores"},
        {"train_completion_", "", "scores"},     {"eval_", "_mean_return", "scores"},
        {"eval_", "_mean_completion", "scores"}, {"eval_", "", "scores_more"},
        {"env_sampler/", "", "train_env"},       {"fps", "", "time"},
    };
    const char *slash = strchr(name, '/'), *last = slash ? slash + 1 : name;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strncmp(name, rules[i].begins, strlen(rules[i].begins)) == 0 &&
            strstr(name, rules[i].has)) {
            wk_text_printf(out, "%s/%s", rules[i].group, last);
            return;
        }
    if (!slash && strncmp(name, "train_", 6) == 0) name += 6; // train_length: train/length
    wk_text_printf(out, "%s%s", slash ? "" : "train/", name);
}

static void put_scalar(wk_text *summary, const wk_scalar *scalar)
{
    wk_text tag = {0}, value = {0};
    put_tag(scalar->name, &tag);
    put_message(&value, VALUE_TAG, &tag);
    put_float(&value, VALUE_SIMPLE, (float)scalar->value);
    put_message(summary, SUMMARY_VALUE, &value);
}

static void put_image(wk_text *summary, const wk_metric_image *encoded)
{
    wk_text value = {0}, image = {0};
    put_integer(&image, IMAGE_HEIGHT, encoded->height);
    put_integer(&image, IMAGE_WIDTH, encoded->width);
    put_integer(&image, IMAGE_COLORSPACE, RGB);
    put_bytes(&image, IMAGE_ENCODED, encoded->bytes, encoded->size);
    put_string(&value, VALUE_TAG, encoded->name);
    put_message(&value, VALUE_IMAGE, &image);
    put_message(summary, SUMMARY_VALUE, &value);
}

static double wall_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Writes an Event as a record and frees it.
static wk_status append_event(wk_append_file *file, wk_text *event, wk_error *err)
{
    wk_text record = {0};
    put_little(&record, event->length, 8);
    put_little(&record, wk_tensorboard_crc(wk_text_get(&record), record.length), 4);
    wk_text_append(&record, wk_text_get(event), event->length);
    put_little(&record, wk_tensorboard_crc(wk_text_get(event), event->length), 4);
    wk_status status = event->failed || record.failed
                           ? wk_fail(err, WK_E_MEMORY, "'%s': no memory for an event", file->path)
                           : wk_append_file_append(file, record.chars, record.length, err);
    wk_text_free(&record);
    wk_text_free(event);
    return status;
}

// A value that a plug-in of TensorBoard shows: its content, and a tensor, both finished messages.
static void put_plugin_value(wk_text *summary, const char *tag, const char *plugin,
                             wk_text *content, wk_text *tensor)
{
    wk_text value = {0}, metadata = {0}, data = {0};
    put_string(&data, PLUGIN_NAME, plugin);
    put_message(&data, PLUGIN_CONTENT, content);
    put_message(&metadata, METADATA_PLUGIN, &data);
    put_string(&value, VALUE_TAG, tag);
    put_message(&value, VALUE_TENSOR, tensor);
    put_message(&value, VALUE_METADATA, &metadata);
    put_message(summary, SUMMARY_VALUE, &value);
}

// The settings as a table in Markdown, which the page of texts renders.
static void put_settings_text(wk_text *summary, const wk_metrics_config *config)
{
    wk_text table = {0}, tensor = {0}, shape = {0}, content = {0};
    wk_text_puts(&table, "| key | value |\n|---|---|\n");
    for (size_t i = 0; i < config->n_settings; i++)
        wk_text_printf(&table, "| `%s` | `%s` |\n", config->settings[i].key,
                       config->settings[i].value);
    put_integer(&tensor, TENSOR_DTYPE, DTYPE_STRING);
    put_message(&tensor, TENSOR_SHAPE, &shape); // a scalar
    put_message(&tensor, TENSOR_STRINGS, &table);
    put_plugin_value(summary, "config", "text", &content, &tensor);
}

static void put_hparam(wk_text *session, const wk_log_setting *setting)
{
    wk_text entry = {0}, value = {0};
    put_string(&entry, ENTRY_KEY, setting->key);
    if (setting->is_number)
        put_double(&value, PROTO_NUMBER, setting->number);
    else
        put_string(&value, PROTO_STRING, setting->value);
    put_message(&entry, ENTRY_VALUE, &value);
    put_message(session, SESSION_HPARAMS, &entry);
}

static void put_hparams(wk_text *summary, const wk_metrics_config *config)
{
    wk_text content = {0}, session = {0}, tensor = {0}, shape = {0}, dim = {0};
    for (size_t i = 0; i < config->n_settings; i++)
        put_hparam(&session, &config->settings[i]);
    put_message(&content, HPARAMS_SESSION, &session);
    put_integer(&tensor, TENSOR_DTYPE, DTYPE_FLOAT); // empty: the plug-in reads its content only
    put_integer(&dim, DIM_SIZE, 0);
    put_message(&shape, SHAPE_DIM, &dim);
    put_message(&tensor, TENSOR_SHAPE, &shape);
    put_plugin_value(summary, "_hparams_/session_start_info", "hparams", &content, &tensor);
}

// The version, then the settings.
static wk_status begin_file(wk_append_file *file, const wk_metrics_config *config, wk_error *err)
{
    wk_text version = {0}, settings = {0}, summary = {0};
    put_double(&version, EVENT_WALL_TIME, wall_time());
    put_string(&version, EVENT_VERSION, "brain.Event:2");
    WK_TRY(append_event(file, &version, err));
    if (config->n_settings == 0) return WK_OK;
    put_double(&settings, EVENT_WALL_TIME, wall_time());
    put_settings_text(&summary, config);
    if (!config->part) put_hparams(&summary, config);
    put_message(&settings, EVENT_SUMMARY, &summary);
    return append_event(file, &settings, err);
}

wk_status wk_tensorboard_write(wk_append_file *file, const wk_metrics_record *record, wk_error *err)
{
    wk_text event = {0}, summary = {0};
    put_double(&event, EVENT_WALL_TIME, wall_time());
    put_integer(&event, EVENT_STEP, record->agent_step);
    for (size_t i = 0; i < record->n_scalars; i++)
        if (record->scalars[i].kind != WK_SCALAR_DETAIL) put_scalar(&summary, &record->scalars[i]);
    for (size_t i = 0; i < record->n_images; i++)
        put_image(&summary, &record->images[i]);
    put_message(&event, EVENT_SUMMARY, &summary);
    return append_event(file, &event, err);
}

// Moves *at past the whole record there; stays if there is none.
static wk_status pass_record(const wk_append_file *file, uint64_t *at, bool *whole, wk_error *err)
{
    unsigned char head[HEAD_SIZE], tail[TAIL_SIZE], chunk[8192];
    uint64_t end = file->end, start = *at + HEAD_SIZE;
    uint32_t sum = 0;
    *whole = false;
    if (end - *at < HEAD_SIZE + TAIL_SIZE) return WK_OK;
    WK_TRY(wk_fd_read(file->fd, file->path, *at, head, sizeof head, err));
    uint64_t size = get_little(head, 8);
    if (wk_tensorboard_crc(head, 8) != get_little(head + 8, 4)) return WK_OK;
    if (size > end - start - TAIL_SIZE) return WK_OK;
    for (uint64_t done = 0, part; done < size; done += part) {
        part = size - done < sizeof chunk ? size - done : sizeof chunk;
        WK_TRY(wk_fd_read(file->fd, file->path, start + done, chunk, part, err));
        sum = wk_crc32c(sum, chunk, part);
    }
    WK_TRY(wk_fd_read(file->fd, file->path, start + size, tail, sizeof tail, err));
    *whole = mask(sum) == get_little(tail, 4);
    if (*whole) *at = start + size + TAIL_SIZE;
    return WK_OK;
}

static wk_status truncate_to(wk_append_file *file, uint64_t max, wk_error *err)
{
    if (file->end >= max) return wk_append_file_truncate(file, max, err);
    uint64_t at = 0;
    for (bool whole = true; whole;)
        WK_TRY(pass_record(file, &at, &whole, err));
    return at < file->end ? wk_append_file_truncate(file, at, err) : WK_OK;
}

static bool is_ours(const char *name)
{
    size_t length = strlen(name), tail = sizeof ending - 1;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && length > tail &&
           strcmp(name + length - tail, ending) == 0;
}

// events.out.tfevents.<time>.<host>.<process>.waker
static void make_name(char name[WK_METRICS_FILE_MAX])
{
    char host[65] = "";
    if (gethostname(host, sizeof host - 1) != 0) host[0] = 0;
    snprintf(name, WK_METRICS_FILE_MAX, "%s%010lld.%s.%d%s", prefix, (long long)time(NULL), host,
             (int)getpid(), ending);
}

wk_status wk_tensorboard_open(const wk_dir *dir, const char *name, uint64_t max,
                              const wk_metrics_config *config, char used[WK_METRICS_FILE_MAX],
                              wk_append_file *out, wk_error *err)
{
    wk_entry there = WK_ENTRY_NONE;
    bool known = is_ours(name) && !strchr(name, '/');
    if (known) WK_TRY(wk_dir_stat(dir, name, &there, NULL, err));
    if (there != WK_ENTRY_NONE)
        memmove(used, name, strlen(name) + 1);
    else
        make_name(used);
    WK_TRY(wk_append_file_open(dir, used, out, err));
    wk_status status = truncate_to(out, max, err);
    if (status == WK_OK && out->end == 0) status = begin_file(out, config, err);
    if (status != WK_OK) wk_append_file_close(out);
    return status;
}

// Removes our event files, or finds the newest of them.
static wk_status visit_ours(const wk_dir *dir, char newest[WK_METRICS_FILE_MAX], wk_error *err)
{
    wk_names names = {0};
    wk_status status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++)
        if (!is_ours(names.items[i]))
            continue;
        else if (!newest)
            status = wk_dir_remove(dir, names.items[i], err);
        else if (strlen(names.items[i]) < WK_METRICS_FILE_MAX)
            snprintf(newest, WK_METRICS_FILE_MAX, "%s", names.items[i]);
    wk_names_free(&names);
    return status;
}

wk_status wk_tensorboard_remove(const wk_dir *dir, wk_error *err)
{
    return visit_ours(dir, NULL, err);
}

wk_status wk_tensorboard_newest(const wk_dir *dir, char name[WK_METRICS_FILE_MAX], wk_error *err)
{
    name[0] = 0;
    return visit_ours(dir, name, err);
}
