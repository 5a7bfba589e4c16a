// A wait that lasts too long is reported once; short ones are not.
#include "base/clock.h"
#include "base/watchdog.h"
#include "support/check.h"
#include <stdatomic.h>
#include <time.h>

static atomic_int reports;
static atomic_int ahead; // seconds by which the time of day is too late

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    int result = __real_clock_gettime(clock, out);
    if (clock == CLOCK_REALTIME) out->tv_sec += ahead;
    return result;
}

static void count(void *context, double seconds)
{
    (void)context;
    assert_true(seconds >= 0.05);
    reports++;
}

static void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static void a_long_wait_is_reported_once(void **state)
{
    wk_error err = {0};
    wk_watchdog *dog;
    assert_ok(wk_watchdog_create(0.05, count, NULL, &dog, &err));
    for (int wait = 1; wait <= 2; wait++) {
        wk_watchdog_begin(dog);
        for (int i = 0; i < 1000 && reports < wait; i++)
            sleep_ms(10);
        sleep_ms(150);
        wk_watchdog_end(dog);
        assert_int_equal(reports, wait);
    }
    wk_watchdog_destroy(dog);
}

// A time of day that is set back must not make it sleep for as long.
static void the_time_of_day_does_not_matter(void **state)
{
    wk_error err = {0};
    wk_watchdog *dog;
    int before = reports;
    ahead = 3600;
    assert_ok(wk_watchdog_create(0.05, count, NULL, &dog, &err));
    wk_watchdog_begin(dog);
    for (int i = 0; i < 1000 && reports == before; i++)
        sleep_ms(10);
    wk_watchdog_end(dog);
    wk_watchdog_destroy(dog);
    ahead = 0;
    assert_int_equal(reports, before + 1);
}

static void nothing_is_said_where_nobody_waits(void **state)
{
    wk_error err = {0};
    wk_watchdog *dog;
    int before = reports;
    assert_ok(wk_watchdog_create(0.5, count, NULL, &dog, &err));
    double waited = wk_clock_seconds();
    wk_watchdog_begin(dog);
    wk_watchdog_end(dog);
    waited = wk_clock_seconds() - waited;
    sleep_ms(700);
    wk_watchdog_destroy(dog);
    if (waited < 0.5) assert_int_equal(reports, before); // a machine may stand still in between
    wk_watchdog_begin(NULL);
    wk_watchdog_end(NULL);
    wk_watchdog_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_wait_is_reported_once),
        cmocka_unit_test(the_time_of_day_does_not_matter),
        cmocka_unit_test(nothing_is_said_where_nobody_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
