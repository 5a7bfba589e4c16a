// Devices by name: what is chosen, and what is refused rather than replaced.
#include "support/check.h"
#include "tensor/cuda/cuda.h"
#include "train/device.h"

static wk_status open_device(const char *device, const char *precision, char *name, wk_error *err)
{
    wk_backend *backend = NULL;
    wk_status status = wk_device_open(device, precision, NULL, &backend, name, err);
    if (status == WK_OK) wk_backend_destroy(backend);
    return status;
}

static void the_cpu_is_opened_by_name_and_where_there_is_no_gpu(void **state)
{
    (void)state;
    wk_error err = {0};
    char name[WK_DEVICE_NAME_MAX];
    assert_ok(open_device("cpu", "auto", name, &err));
    assert_string_equal(name, "cpu");
    assert_ok(open_device("auto", "auto", name, &err));
    if (wk_cuda_device_count() == 0)
        assert_string_equal(name, "cpu");
    else
        assert_memory_equal(name, "cuda:0", 6);
}

static void what_cannot_be_had_is_an_error(void **state)
{
    (void)state;
    wk_error err = {0};
    char name[WK_DEVICE_NAME_MAX];
    assert_refused(open_device("cpu", "bf16", name, &err), WK_E_UNSUPPORTED, "f32");
    static const char *const wrong[] = {"gpu", "cuda:", "cuda:x", "cuda:-1", ""};
    for (int i = 0; i < 5; i++)
        assert_refused(open_device(wrong[i], "auto", name, &err), WK_E_INPUT, "cuda:N");
    assert_int_equal(open_device("cuda:1000", "auto", name, &err), WK_E_UNSUPPORTED);
    assert_true(strlen(err.message) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_is_opened_by_name_and_where_there_is_no_gpu),
        cmocka_unit_test(what_cannot_be_had_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
