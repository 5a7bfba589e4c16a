// Saved state: training goes on in the same bits after a save and a load, and bad numbers or files
// change nothing.
#include "base/file.h"
#include "nn/small_net.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

#define PATH "test_state.tmp.safetensors"

static small_net open_net(int stack, uint64_t seed)
{
    wk_error err = {0};
    small_net net;
    assert_ok(small_net_open(&net, stack, seed, &err));
    return net;
}

static float step(small_net *net)
{
    wk_error err = {0};
    float loss;
    assert_ok(small_net_step(net, &loss, &err));
    return loss;
}

static void save(const small_net *net)
{
    wk_error err = {0};
    const wk_safetensors_pair step_pair = {"step", "5"};
    assert_ok(wk_state_save(net->state, NULL, PATH, &step_pair, 1, &err));
}

static wk_status load(const small_net *net, wk_error *err)
{
    wk_safetensors *file = NULL;
    WK_TRY(wk_safetensors_open(PATH, &file, err));
    wk_status status = wk_state_load(net->state, file, NULL, err);
    wk_safetensors_close(file);
    return status;
}

TEST_CASE(training_reduces_the_loss)
{
    small_net net = open_net(0, 1);
    float first = step(&net), last = first;
    for (int i = 0; i < 300; i++)
        last = step(&net);
    assert_true(last < 0.1f * first);
    small_net_close(&net);
}

static void check_resume(int stack)
{
    wk_error err = {0};
    small_net net = open_net(stack, 1), resumed = open_net(stack, 2);
    for (int i = 0; i < 5; i++)
        step(&net);
    save(&net);
    assert_ok(load(&resumed, &err));
    for (int i = 0; i < 5; i++) {
        float expected = step(&net), got = step(&resumed);
        assert_memory_equal(&expected, &got, sizeof expected);
    }
    wk_optimizer_counts counts;
    assert_ok(wk_optimizer_get_counts(resumed.optimizer, 0, &counts, &err));
    assert_int_equal(counts.steps, 10);
    small_net_close(&net);
    small_net_close(&resumed);
    remove(PATH);
}

TEST_CASE(training_resumes_in_the_same_bits)
{
    check_resume(0);
}

TEST_CASE(a_stack_resumes_in_the_same_bits)
{
    check_resume(3);
}

TEST_CASE(the_file_names_weights_moments_and_counts)
{
    wk_error err = {0};
    small_net net = open_net(0, 1);
    save(&net);
    wk_safetensors *file = NULL;
    assert_ok(wk_safetensors_open(PATH, &file, &err));
    static const char *const names[] = {"net/in/w", "net/gru/gain", "net.adam/m/in/w",
                                        "net.adam/v/out/b", "net.adam/counts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(wk_safetensors_find(file, names[i]));
    assert_int_equal(wk_safetensors_count(file), 8 * 3 + 1);
    assert_string_equal(wk_safetensors_metadata(file, "step"), "5");
    wk_safetensors_close(file);
    small_net_close(&net);
    remove(PATH);
}

TEST_CASE(numbers_that_are_not_finite_are_never_saved)
{
    wk_error err = {0};
    small_net net = open_net(0, 1);
    save(&net);
    char *before, *after;
    size_t before_size, after_size;
    assert_ok(wk_file_read(PATH, 1 << 20, &before, &before_size, &err));
    float bad = NAN;
    size_t offset = net.params->weights.items[1].offset + sizeof bad;
    assert_ok(wk_buffer_upload(net.params->buffer, offset, &bad, sizeof bad, &err));
    assert_refused(wk_state_save(net.state, NULL, PATH, NULL, 0, &err), WK_E_DIVERGED,
                   "'net/in/b' has a value that is not finite (nan at element 1)");
    assert_ok(wk_file_read(PATH, 1 << 20, &after, &after_size, &err));
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    free(before);
    free(after);
    small_net_close(&net);
    remove(PATH);
}

// All weights, moments and counts as the device has them.
static char *snapshot(const small_net *net, size_t *size)
{
    wk_error err = {0};
    wk_buffer *weights = net->params->buffer, *moments = net->optimizer->buffer;
    *size = weights->size + moments->size;
    char *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_ok(wk_buffer_download(weights, 0, bytes, weights->size, &err));
    assert_ok(wk_buffer_download(moments, 0, bytes + weights->size, moments->size, &err));
    return bytes;
}

TEST_CASE(a_load_that_fails_leaves_the_device_as_it_was)
{
    wk_error err = {0};
    small_net net = open_net(0, 1);
    step(&net);
    save(&net);
    // Damage the last tensor in the file, so that all others have been read when it is noticed.
    char *content;
    size_t size;
    assert_ok(wk_file_read(PATH, 1 << 20, &content, &size, &err));
    content[size - 1] ^= 1;
    assert_ok(wk_file_write(PATH, content, size, &err));
    free(content);
    step(&net);
    size_t bytes;
    char *before = snapshot(&net, &bytes);
    assert_refused(load(&net, &err), WK_E_FORMAT, "is damaged");
    char *after = snapshot(&net, &bytes);
    assert_memory_equal(before, after, bytes);
    free(before);
    free(after);
    small_net_close(&net);
    remove(PATH);
}

TEST_CASE(a_file_of_another_shape_is_refused_by_name)
{
    wk_error err = {0};
    small_net one = open_net(2, 1), other = open_net(3, 1);
    save(&one);
    assert_refused(load(&other, &err), WK_E_FORMAT, "net/in/w is F32[2,3,5], expected F32[3,3,5]");
    small_net_close(&one);
    small_net_close(&other);
    remove(PATH);
}

TEST_MAIN(NULL, NULL)
