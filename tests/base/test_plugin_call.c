// The note of the plug-in's function that runs: one per thread, the innermost call.
#include "base/plugin_call.h"
#include "support/check.h"
#include <pthread.h>
#include <stddef.h>

static void expect(const char *name, const char *function)
{
    const wk_plugin_call *call = wk_plugin_call_running();
    assert_non_null(call);
    assert_string_equal(call->name, name);
    assert_string_equal(call->function, function);
}

static void *look(void *seen)
{
    *(const wk_plugin_call **)seen = wk_plugin_call_running();
    return NULL;
}

// Another thread is in no call.
static void inner(void)
{
    pthread_t thread;
    const wk_plugin_call *seen = (const wk_plugin_call *)&thread;
    expect("good", "reward");
    assert_int_equal(pthread_create(&thread, NULL, look, (void *)&seen), 0);
    pthread_join(thread, NULL);
    assert_null(seen);
}

static void outer(void)
{
    expect("ball", "step");
    WK_PLUGIN_CALL(
        ((wk_plugin_call){.kind = "reward", .name = "good", .function = "reward", .step = -1}),
        inner());
    expect("ball", "step");
}

static void the_innermost_call_of_the_thread_is_noted(void **state)
{
    (void)state;
    assert_null(wk_plugin_call_running());
    WK_PLUGIN_CALL(((wk_plugin_call){.kind = "domain", .name = "ball", .function = "step"}),
                   outer());
    assert_null(wk_plugin_call_running());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_call_of_the_thread_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
