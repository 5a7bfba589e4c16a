// Metrics in files: what is written, what a crash leaves, and that a resumed run leaves the bytes
// of one that never stopped.
#include "base/json_reader.h"
#include "log/files.h"
#include "log/logs.h"

#define FOLDER "metrics_test.tmp"
#define EVENTS "events.out.tfevents."

static const wk_metrics_mark beginning;

static wk_metrics *open_at(const wk_metrics_mark *mark)
{
    wk_error err = {0};
    wk_metrics *metrics;
    assert_ok(wk_metrics_open(
        &(wk_metrics_config){.logdir = FOLDER, .tensorboard = true, .action_repeat = 2}, mark,
        &metrics, &err));
    return metrics;
}

static int begin(void **state)
{
    (void)state;
    remove_folder(FOLDER);
    return 0;
}

static int end(void **state)
{
    return begin(state);
}

// The metrics of one step: a deterministic function of it.
static void write_step(wk_metrics *metrics, int64_t step)
{
    wk_error err = {0};
    wk_metrics_scalar(metrics, "train/model_loss", 1.0 / (double)(step + 1));
    wk_metrics_scalar(metrics, "fps", (double)step);
    assert_ok(wk_metrics_write(metrics, step, &err));
}

static void a_line_has_steps_and_scalars_in_the_order_of_noting(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_metrics *metrics = open_at(&beginning);
    wk_metrics_scalar(metrics, "b", 0.5);
    wk_metrics_scalar(metrics, "a\"\\", -3);
    wk_metrics_scalar(metrics, "b", 0.1);
    assert_ok(wk_metrics_write(metrics, 21, &err));
    assert_ok(wk_metrics_write(metrics, 22, &err)); // nothing noted, nothing written
    wk_metrics_scalar(metrics, "nan", NAN);
    wk_metrics_scalar(metrics, "inf", -INFINITY);
    assert_ok(wk_metrics_write(metrics, 23, &err));
    wk_metrics_close(metrics);
    char *text = content(FOLDER, "metrics.jsonl", NULL);
    assert_string_equal(text, "{\"step\": 42, \"agent_step\": 21, \"b\": 0.1, \"a\\\"\\\\\": -3}\n"
                              "{\"step\": 46, \"agent_step\": 23, \"nan\": null, \"inf\": null}\n");
    free(text);
}

static void numbers_read_back_exactly(void **state)
{
    (void)state;
    static const double values[] = {0.1, 1.0 / 3, 1e300, 5e-324, -0.0, 123456789.125, (double)0.1f};
    wk_error err = {0};
    wk_metrics *metrics = open_at(&beginning);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        wk_metrics_scalar(metrics, (char[]){'a' + (char)i, 0}, values[i]);
    assert_ok(wk_metrics_write(metrics, 0, &err));
    wk_metrics_close(metrics);
    size_t size;
    char *text = content(FOLDER, "metrics.jsonl", &size);
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

static void measured_numbers_are_left_out_of_the_lines_unless_asked_for(void **state)
{
    (void)state;
    wk_error err = {0};
    for (int timing = 0; timing < 2; timing++) {
        wk_metrics *metrics;
        const wk_metrics_config config = {
            .logdir = FOLDER, .tensorboard = true, .timing = timing, .action_repeat = 2};
        assert_ok(wk_metrics_open(&config, &beginning, &metrics, &err));
        wk_metrics_timing(metrics, "fps", 812);
        wk_metrics_scalar(metrics, "x", 1);
        assert_ok(wk_metrics_write(metrics, 1, &err));
        wk_metrics_close(metrics);
        size_t size;
        char name[300], *text = content(FOLDER, "metrics.jsonl", NULL);
        assert_int_equal(strstr(text, "\"fps\": 812") != NULL, timing);
        free(text);
        count_files(FOLDER, EVENTS, name);
        text = content(FOLDER, name, &size);
        assert_non_null(memmem(text, size, "run/fps", 7));
        free(text);
    }
}

static void thousands_of_names_are_kept_apart(void **state)
{
    (void)state;
    enum { NAMES = 5000 };
    wk_error err = {0};
    wk_metrics *metrics = open_at(&beginning);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < NAMES; i++) {
            char name[64];
            snprintf(name, sizeof name, "env_sampler/num_episodes/[%.4f]", i * 0.25);
            wk_metrics_scalar(metrics, name, i + round);
        }
    assert_ok(wk_metrics_write(metrics, 1, &err));
    wk_metrics_close(metrics);
    char *text = content(FOLDER, "metrics.jsonl", NULL), *at = text;
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

static void checksums_are_those_of_the_format(void **state)
{
    (void)state;
    assert_int_equal(wk_tensorboard_crc("123456789", 9), 0xc78ab0e5);
    assert_int_equal(wk_tensorboard_crc((const char[8]){24}, 8), 0x224b7fa3);
}

static void event_files_are_records_with_checksums_and_a_version_first(void **state)
{
    (void)state;
    wk_metrics *metrics = open_at(&beginning);
    write_step(metrics, 0);
    write_step(metrics, 300);
    wk_metrics_close(metrics);
    char name[300];
    assert_int_equal(count_files(FOLDER, EVENTS, name), 1);
    size_t size, at = 0;
    char *bytes = content(FOLDER, name, &size);
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
        if (records == 2) assert_memory_equal(data + 9, "\x10\xd8\x04\x2a", 4); // 600
        at += length + 16;
    }
    assert_int_equal(at, size);
    assert_int_equal(records, 3);
    free(bytes);
}

static void same_files(const char *wanted, size_t wanted_size, size_t events_size)
{
    size_t size;
    char name[300], *bytes = content(FOLDER, "metrics.jsonl", &size);
    assert_int_equal(size, wanted_size);
    assert_memory_equal(bytes, wanted, size);
    free(bytes);
    assert_int_equal(count_files(FOLDER, EVENTS, name), 1);
    bytes = content(FOLDER, name, &size);
    assert_int_equal(size, events_size); // equal but for the time of writing
    free(bytes);
}

static void a_resumed_run_leaves_the_files_of_an_uninterrupted_one(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    wk_error err = {0};
    wk_metrics *metrics = open_at(&beginning);
    for (int i = 0; i < STEPS; i++)
        write_step(metrics, i);
    wk_metrics_close(metrics);
    char name[300];
    size_t size, events_size;
    char *whole = content(FOLDER, "metrics.jsonl", &size);
    count_files(FOLDER, EVENTS, name);
    free(content(FOLDER, name, &events_size));
    for (int checkpoint = 0; checkpoint <= STEPS; checkpoint++) {
        wk_metrics_mark mark;
        metrics = open_at(&beginning);
        for (int i = 0; i < STEPS; i++) {
            if (i == checkpoint) assert_ok(wk_metrics_position(metrics, &mark, &err));
            write_step(metrics, i);
        }
        if (checkpoint == STEPS) assert_ok(wk_metrics_position(metrics, &mark, &err));
        wk_metrics_close(metrics); // the run dies here and goes back to its checkpoint
        metrics = open_at(&mark);
        for (int i = checkpoint; i < STEPS; i++)
            write_step(metrics, i);
        wk_metrics_close(metrics);
        same_files(whole, size, events_size);
    }
    free(whole);
}

static void a_run_without_a_checkpoint_begins_afresh(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_metrics *metrics = open_at(&beginning);
    write_step(metrics, 1);
    wk_metrics_close(metrics);
    assert_ok(wk_file_write(FOLDER "/" EVENTS "0000000001.host.1.0", "other", 5, &err));
    metrics = open_at(&beginning);
    write_step(metrics, 7);
    wk_metrics_close(metrics);
    size_t size;
    char *text = content(FOLDER, "metrics.jsonl", &size);
    assert_memory_equal(text, "{\"step\": 14", 11);
    free(text);
    // Ours and the other program's, which stays.
    assert_int_equal(count_files(FOLDER, EVENTS, NULL), 2);
    text = content(FOLDER, EVENTS "0000000001.host.1.0", &size);
    assert_int_equal(size, 5);
    free(text);
}

static void truncate_file(const char *name, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    assert_int_equal(truncate(path, (off_t)size), 0);
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

static void check_lines(const char *lines, size_t cut)
{
    size_t size;
    char *now = content(FOLDER, "metrics.jsonl", &size);
    assert_true(size <= cut && (size == 0 || now[size - 1] == '\n'));
    assert_memory_equal(now, lines, size);
    assert_null(memchr(lines + size, '\n', cut - size)); // no whole line was lost
    free(now);
}

// The version is written again where even that was torn.
static void check_events(const char *name, const char *events, size_t cut)
{
    size_t size, version = little(events, 8) + 16;
    char *now = content(FOLDER, name, &size);
    if (cut < version)
        assert_int_equal(size, version);
    else
        assert_memory_equal(now, events, size);
    assert_true(size <= cut || size == version);
    free(now);
}

// Cut at every byte, the files are repaired to whole records.
static void files_torn_at_any_byte_are_repaired(void **state)
{
    (void)state;
    wk_metrics *metrics = open_at(&beginning);
    for (int i = 0; i < 3; i++)
        write_step(metrics, i);
    wk_metrics_close(metrics);
    size_t lines_size, events_size;
    char name[300], *lines = content(FOLDER, "metrics.jsonl", &lines_size);
    count_files(FOLDER, EVENTS, name);
    char *events = content(FOLDER, name, &events_size);
    for (size_t cut = 0; cut <= events_size; cut++) {
        size_t cut_lines = cut < lines_size ? cut : lines_size;
        put_file("metrics.jsonl", lines, cut_lines);
        put_file(name, events, cut);
        wk_metrics_close(open_at(NULL));
        check_lines(lines, cut_lines);
        check_events(name, events, cut);
    }
    free(lines);
    free(events);
}

// A flipped bit in a record's length, content or checksum ends the file there.
static void an_event_file_damaged_anywhere_is_cut_to_whole_records(void **state)
{
    (void)state;
    wk_metrics *metrics = open_at(&beginning);
    write_step(metrics, 1);
    write_step(metrics, 2);
    wk_metrics_close(metrics);
    size_t size, now_size;
    char name[300];
    count_files(FOLDER, EVENTS, name);
    char *events = content(FOLDER, name, &size);
    size_t version = little(events, 8) + 16, second = version + little(events + version, 8) + 16;
    for (size_t at = second; at < size; at++) {
        events[at] ^= 4;
        put_file(name, events, size);
        wk_metrics_close(open_at(NULL));
        free(content(FOLDER, name, &now_size));
        assert_int_equal(now_size, second);
        events[at] ^= 4;
    }
    free(events);
}

static void count_warning(void *count, wk_log_level level, const char *line)
{
    (void)line;
    if (level == WK_LOG_WARN) ++*(int *)count;
}

static void files_shorter_than_the_checkpoint_says_are_used_with_a_warning(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_metrics_mark mark;
    wk_metrics *metrics = open_at(&beginning);
    write_step(metrics, 1);
    write_step(metrics, 2);
    assert_ok(wk_metrics_position(metrics, &mark, &err));
    wk_metrics_close(metrics);
    truncate_file("metrics.jsonl", (size_t)mark.jsonl - 3);
    truncate_file(mark.events_file, (size_t)mark.events - 3);
    int warnings = 0;
    const wk_log log = {count_warning, &warnings, WK_LOG_INFO};
    assert_ok(wk_metrics_open(
        &(wk_metrics_config){
            .logdir = FOLDER, .tensorboard = true, .action_repeat = 2, .log = &log},
        &mark, &metrics, &err));
    write_step(metrics, 3);
    wk_metrics_close(metrics);
    assert_int_equal(warnings, 2);
    char *text = content(FOLDER, "metrics.jsonl", NULL);
    assert_non_null(strstr(text, "\"agent_step\": 1,"));
    assert_null(strstr(text, "\"agent_step\": 2,"));
    assert_non_null(strstr(text, "\"agent_step\": 3,"));
    free(text);
}

static void a_mark_cannot_name_a_file_elsewhere(void **state)
{
    (void)state;
    wk_error err = {0};
    static const char *const names[] = {"../events.out.tfevents.1.h.1.waker", "metrics.jsonl",
                                        "events.out.tfevents./../x.waker"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wk_metrics_mark mark = {.events = 3}, now;
        strcpy(mark.events_file, names[i]);
        wk_metrics *metrics = open_at(&mark);
        assert_ok(wk_metrics_position(metrics, &now, &err));
        wk_metrics_close(metrics);
        assert_string_not_equal(now.events_file, names[i]);
    }
}

static void a_folder_that_cannot_be_used_is_an_error(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_metrics *metrics;
    assert_refused(wk_metrics_open(&(wk_metrics_config){.logdir = "/dev/full", .action_repeat = 1},
                                   NULL, &metrics, &err),
                   WK_E_IO, "/dev/full");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_line_has_steps_and_scalars_in_the_order_of_noting),
        TEST(numbers_read_back_exactly),
        TEST(measured_numbers_are_left_out_of_the_lines_unless_asked_for),
        TEST(thousands_of_names_are_kept_apart),
        TEST(checksums_are_those_of_the_format),
        TEST(event_files_are_records_with_checksums_and_a_version_first),
        TEST(a_resumed_run_leaves_the_files_of_an_uninterrupted_one),
        TEST(a_run_without_a_checkpoint_begins_afresh),
        TEST(files_torn_at_any_byte_are_repaired),
        TEST(an_event_file_damaged_anywhere_is_cut_to_whole_records),
        TEST(files_shorter_than_the_checkpoint_says_are_used_with_a_warning),
        TEST(a_mark_cannot_name_a_file_elsewhere),
        TEST(a_folder_that_cannot_be_used_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
