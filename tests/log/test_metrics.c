// Metrics in files: what is written, what a crash leaves, and that a resumed run leaves the bytes
// of one that never stopped.
#include "base/json.h"
#include "log/files.h"
#include "log/logs.h"

#define FOLDER "metrics_test.tmp"
#define EVENTS "events.out.tfevents."

static const wk_metrics_mark beginning;
static wk_error err;
static wk_metrics *metrics; // open in every test from its beginning

static void close_metrics(void)
{
    wk_metrics_close(metrics);
    metrics = NULL;
}

static void open_at(const wk_metrics_mark *mark)
{
    close_metrics();
    assert_ok(wk_metrics_open(
        &(wk_metrics_config){.logdir = FOLDER, .tensorboard = true, .action_repeat = 2}, mark,
        &metrics, &err));
}

static int begin(void **state)
{
    remove_tree(FOLDER);
    open_at(&beginning);
    return 0;
}

static int end(void **state)
{
    close_metrics();
    remove_tree(FOLDER);
    return 0;
}

// The lines so far; the metrics are closed.
static char *lines(size_t *size)
{
    close_metrics();
    return content(FOLDER, "metrics.jsonl", size);
}

// The event file, and its name.
static char *events(char name[300], size_t *size)
{
    close_metrics();
    assert_int_equal(count_files(FOLDER, EVENTS, name), 1);
    return content(FOLDER, name, size);
}

// The metrics of one step: a deterministic function of it.
static void write_step(int64_t step)
{
    wk_metrics_scalar(metrics, "train/model_loss", 1.0 / (double)(step + 1));
    wk_metrics_scalar(metrics, "fps", (double)step);
    assert_ok(wk_metrics_write(metrics, step, &err));
}

TEST_CASE(a_line_has_steps_and_scalars_in_the_order_of_noting)
{
    wk_metrics_scalar(metrics, "b", 0.5);
    wk_metrics_scalar(metrics, "a\"\\", -3);
    wk_metrics_scalar(metrics, "b", 0.1);
    assert_ok(wk_metrics_write(metrics, 21, &err));
    assert_ok(wk_metrics_write(metrics, 22, &err)); // nothing noted, nothing written
    wk_metrics_scalar(metrics, "nan", NAN);
    wk_metrics_scalar(metrics, "inf", -INFINITY);
    assert_ok(wk_metrics_write(metrics, 23, &err));
    char *text = lines(NULL);
    assert_string_equal(text, "{\"step\": 42, \"agent_step\": 21, \"b\": 0.1, \"a\\\"\\\\\": -3}\n"
                              "{\"step\": 46, \"agent_step\": 23, \"nan\": null, \"inf\": null}\n");
    free(text);
}

TEST_CASE(numbers_read_back_exactly)
{
    static const double values[] = {0.1, 1.0 / 3, 1e300, 5e-324, -0.0, 123456789.125, (double)0.1f};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        wk_metrics_scalar(metrics, (char[]){'a' + (char)i, 0}, values[i]);
    assert_ok(wk_metrics_write(metrics, 0, &err));
    size_t size;
    char *text = lines(&size);
    wk_json_reader reader = wk_json_reader_start(text, size);
    size_t found = 0;
    for (wk_json_token token; (token = wk_json_reader_next(&reader)).kind != WK_JSON_END;) {
        assert_int_not_equal(token.kind, WK_JSON_ERROR);
        if (token.kind != WK_JSON_KEY || token.length != 1) continue;
        double value;
        assert_true(wk_json_to_double(wk_json_reader_next(&reader), &value));
        assert_memory_equal(&value, &values[found++], sizeof value);
    }
    assert_int_equal(found, sizeof values / sizeof *values);
    free(text);
}

TEST_CASE(measured_numbers_are_left_out_of_the_lines_unless_asked_for)
{
    for (int timing = 0; timing < 2; timing++) {
        const wk_metrics_config config = {
            .logdir = FOLDER, .tensorboard = true, .timing = timing, .action_repeat = 2};
        close_metrics();
        assert_ok(wk_metrics_open(&config, &beginning, &metrics, &err));
        wk_metrics_timing(metrics, "fps", 812);
        wk_metrics_scalar(metrics, "x", 1);
        assert_ok(wk_metrics_write(metrics, 1, &err));
        size_t size;
        char name[300], *text = lines(NULL);
        assert_int_equal(strstr(text, "\"fps\": 812") != NULL, timing);
        free(text);
        text = events(name, &size);
        assert_non_null(memmem(text, size, "time/fps", 8));
        free(text);
    }
}

TEST_CASE(a_thousand_names_are_kept_apart)
{
    enum { NAMES = 1000 };
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < NAMES; i++) {
            char name[64];
            snprintf(name, sizeof name, "env_sampler/num_episodes/[%.4f]", i * 0.25);
            wk_metrics_scalar(metrics, name, i + round);
        }
    assert_ok(wk_metrics_write(metrics, 1, &err));
    char *text = lines(NULL), *at = text;
    for (int i = 0; i < NAMES; i++) {
        char part[96];
        snprintf(part, sizeof part, "[%.4f]\": %d", i * 0.25, i + 1);
        at = strstr(at, part);
        if (!at) fail_msg("no %s", part);
    }
    free(text);
}

// Reads the u64 or u32 at `bytes`.
static uint64_t little(const char *bytes, int count)
{
    uint64_t value = 0;
    memcpy(&value, bytes, (size_t)count); // tests run on little-endian machines
    return value;
}

TEST_CASE(checksums_are_those_of_the_format)
{
    assert_int_equal(wk_tensorboard_crc("123456789", 9), 0xc78ab0e5);
    assert_int_equal(wk_tensorboard_crc((const char[8]){24}, 8), 0x224b7fa3);
}

TEST_CASE(event_files_are_records_with_checksums_and_a_version_first)
{
    write_step(0);
    write_step(300);
    size_t size, at = 0;
    char name[300], *bytes = events(name, &size);
    int records = 0;
    for (; at < size; records++) {
        size_t length = little(bytes + at, 8);
        assert_int_equal(little(bytes + at + 8, 4), wk_tensorboard_crc(bytes + at, 8));
        const char *data = bytes + at + 12;
        assert_int_equal(little(data + length, 4), wk_tensorboard_crc(data, length));
        // wall_time comes first, then the version, or the step (varint) and the summary.
        assert_int_equal(data[0], 1 << 3 | 1);
        if (records == 0)
            assert_memory_equal(data + 9,
                                "\x1a\x0d"
                                "brain.Event:2",
                                15);
        if (records == 1) assert_memory_equal(data + 9, "\x10\x00\x2a", 3);
        if (records == 2) assert_memory_equal(data + 9, "\x10\xac\x02\x2a", 4); // 300
        at += length + 16;
    }
    assert_int_equal(at, size);
    assert_int_equal(records, 3);
    free(bytes);
}

TEST_CASE(a_resumed_run_leaves_the_files_of_an_uninterrupted_one)
{
    enum { STEPS = 12 };
    for (int i = 0; i < STEPS; i++)
        write_step(i);
    size_t size, events_size, now_size;
    char name[300], *whole = lines(&size);
    free(events(name, &events_size));
    for (int checkpoint = 0; checkpoint <= STEPS; checkpoint++) {
        wk_metrics_mark mark;
        open_at(&beginning);
        for (int i = 0; i < STEPS; i++) {
            if (i == checkpoint) assert_ok(wk_metrics_position(metrics, &mark, &err));
            write_step(i);
        }
        if (checkpoint == STEPS) assert_ok(wk_metrics_position(metrics, &mark, &err));
        open_at(&mark); // the run dies here and goes back to its checkpoint
        for (int i = checkpoint; i < STEPS; i++)
            write_step(i);
        char *now = lines(&now_size);
        assert_int_equal(now_size, size);
        assert_memory_equal(now, whole, size);
        free(now);
        free(events(name, &now_size));
        assert_int_equal(now_size, events_size); // equal but for the time of writing
    }
    free(whole);
}

TEST_CASE(a_run_without_a_checkpoint_begins_afresh)
{
    write_step(1);
    assert_ok(wk_file_write(FOLDER "/" EVENTS "0000000001.host.1.0", "other", 5, &err));
    open_at(&beginning);
    write_step(7);
    size_t size;
    char *text = lines(&size);
    assert_memory_equal(text, "{\"step\": 14", 11);
    free(text);
    // Ours and the other program's, which stays.
    assert_int_equal(count_files(FOLDER, EVENTS, NULL), 2);
    text = content(FOLDER, EVENTS "0000000001.host.1.0", &size);
    assert_int_equal(size, 5);
    free(text);
}

// Writes the first `size` bytes as folder/name.
static void put_file(const char *name, const char *bytes, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void check_lines(const char *before, size_t cut)
{
    size_t size;
    char *now = lines(&size);
    assert_true(size <= cut && (size == 0 || now[size - 1] == '\n'));
    assert_memory_equal(now, before, size);
    assert_null(memchr(before + size, '\n', cut - size)); // no whole line was lost
    free(now);
}

// The version is written again where even that was torn.
static void check_events(const char *name, const char *before, size_t cut)
{
    size_t size, version = little(before, 8) + 16;
    char *now = content(FOLDER, name, &size);
    if (cut < version)
        assert_int_equal(size, version);
    else
        assert_memory_equal(now, before, size);
    assert_true(size <= cut || size == version);
    free(now);
}

// Cut at every byte, the files are repaired to whole records.
TEST_CASE(files_torn_at_any_byte_are_repaired)
{
    for (int i = 0; i < 3; i++)
        write_step(i);
    size_t lines_size, events_size;
    char name[300], *before = lines(&lines_size), *records = events(name, &events_size);
    for (size_t cut = 0; cut <= events_size; cut++) {
        size_t cut_lines = cut < lines_size ? cut : lines_size;
        put_file("metrics.jsonl", before, cut_lines);
        put_file(name, records, cut);
        open_at(NULL);
        close_metrics();
        check_lines(before, cut_lines);
        check_events(name, records, cut);
    }
    free(before);
    free(records);
}

// A flipped bit in a record's length, content or checksum ends the file there.
TEST_CASE(an_event_file_damaged_anywhere_is_cut_to_whole_records)
{
    write_step(1);
    write_step(2);
    size_t size, now_size;
    char name[300], *records = events(name, &size);
    size_t version = little(records, 8) + 16, second = version + little(records + version, 8) + 16;
    for (size_t at = second; at < size; at++) {
        records[at] ^= 4;
        put_file(name, records, size);
        open_at(NULL);
        close_metrics();
        free(content(FOLDER, name, &now_size));
        assert_int_equal(now_size, second);
        records[at] ^= 4;
    }
    free(records);
}

static void count_warning(void *count, wk_log_level level, const char *line)
{
    (void)line;
    if (level == WK_LOG_WARN) ++*(int *)count;
}

TEST_CASE(files_shorter_than_the_checkpoint_says_are_used_with_a_warning)
{
    wk_metrics_mark mark;
    write_step(1);
    write_step(2);
    assert_ok(wk_metrics_position(metrics, &mark, &err));
    close_metrics();
    char path[600];
    snprintf(path, sizeof path, FOLDER "/%s", mark.events_file);
    assert_int_equal(truncate(FOLDER "/metrics.jsonl", (off_t)mark.jsonl - 3), 0);
    assert_int_equal(truncate(path, (off_t)mark.events - 3), 0);
    int warnings = 0;
    const wk_log log = {count_warning, &warnings, WK_LOG_INFO};
    assert_ok(wk_metrics_open(
        &(wk_metrics_config){
            .logdir = FOLDER, .tensorboard = true, .action_repeat = 2, .log = &log},
        &mark, &metrics, &err));
    write_step(3);
    assert_int_equal(warnings, 2);
    char *text = lines(NULL);
    assert_non_null(strstr(text, "\"agent_step\": 1,"));
    assert_null(strstr(text, "\"agent_step\": 2,"));
    assert_non_null(strstr(text, "\"agent_step\": 3,"));
    free(text);
}

TEST_CASE(a_mark_cannot_name_a_file_elsewhere)
{
    static const char *const names[] = {"../events.out.tfevents.1.h.1.waker", "metrics.jsonl",
                                        "events.out.tfevents./../x.waker"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wk_metrics_mark mark = {.events = 3}, now;
        strcpy(mark.events_file, names[i]);
        open_at(&mark);
        assert_ok(wk_metrics_position(metrics, &now, &err));
        assert_string_not_equal(now.events_file, names[i]);
    }
}

TEST_CASE(a_folder_that_cannot_be_used_is_an_error)
{
    wk_metrics *none;
    assert_refused(wk_metrics_open(&(wk_metrics_config){.logdir = "/dev/full", .action_repeat = 1},
                                   NULL, &none, &err),
                   WK_E_IO, "/dev/full");
}

int main(void)
{
    return run_each_test(begin, end);
}
