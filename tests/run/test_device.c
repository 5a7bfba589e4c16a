// Devices by name: what is chosen and why, and what is refused rather than replaced.
#include "run/world.h"
#include "support/check.h"
#include "tensor/cuda/cuda.h"
#include <dlfcn.h>
#include <stdio.h>

static wk_status open_device(const char *device, const char *precision, wk_device *chosen,
                             wk_error *err)
{
    wk_backend *backend = NULL;
    wk_status status = wk_device_open(device, precision, NULL, &backend, chosen, err);
    if (status == WK_OK) wk_backend_destroy(backend);
    return status;
}

static void the_cpu_is_opened_by_name(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_device chosen;
    assert_ok(open_device("cpu", "auto", &chosen, &err));
    assert_string_equal(chosen.name, "cpu");
    assert_string_equal(chosen.why, "device cpu was asked for");
    assert_int_equal(chosen.number, -1);
}

static void the_cpu_is_taken_where_there_is_no_gpu_and_the_reason_said(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_device chosen;
    if (wk_cuda_device_count() > 0) skip();
    assert_ok(open_device("auto", "auto", &chosen, &err));
    assert_string_equal(chosen.name, "cpu");
#ifdef BUILT_WITH_CUDA
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver) dlclose(driver);
    if (!driver)
        assert_string_equal(chosen.why, "device auto, no CUDA driver");
    else
        assert_memory_equal(chosen.why, "device auto, ", 13);
#else
    assert_string_equal(chosen.why, "device auto, built without CUDA");
#endif
    assert_refused(open_device("auto", "bf16", &chosen, &err), WK_E_UNSUPPORTED, chosen.why);
}

static void the_first_gpu_is_taken_where_there_is_one(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_device chosen;
    char expected[WK_DEVICE_WHY_MAX];
    int count = wk_cuda_device_count();
    if (count == 0) skip();
    assert_ok(open_device("auto", "auto", &chosen, &err));
    assert_memory_equal(chosen.name, "cuda:0 (", 8);
    assert_non_null(strstr(chosen.name, ", bf16)"));
    snprintf(expected, sizeof expected, "device auto, first of %d GPU%s", count,
             count == 1 ? "" : "s");
    assert_string_equal(chosen.why, expected);
    assert_ok(open_device("cuda", "f32", &chosen, &err));
    assert_non_null(strstr(chosen.name, ", f32)"));
    assert_string_equal(chosen.why, "device cuda was asked for");
}

static void what_cannot_be_had_is_an_error(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_device chosen;
    assert_refused(open_device("cpu", "bf16", &chosen, &err), WK_E_UNSUPPORTED, "f32");
    static const char *const wrong[] = {"gpu", "cuda:", "cuda:x", "cuda:-1", ""};
    for (int i = 0; i < 5; i++)
        assert_refused(open_device(wrong[i], "auto", &chosen, &err), WK_E_INPUT, "cuda:N");
    assert_int_equal(open_device("cuda:1000", "auto", &chosen, &err), WK_E_UNSUPPORTED);
    assert_true(strlen(err.message) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_is_opened_by_name),
        cmocka_unit_test(the_cpu_is_taken_where_there_is_no_gpu_and_the_reason_said),
        cmocka_unit_test(the_first_gpu_is_taken_where_there_is_one),
        cmocka_unit_test(what_cannot_be_had_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
