// What every built-in domain owes the host, whichever it is: the examination finds no fault, and a
// vector of its environments does not depend on the number of threads.
#include "base/rng.h"
#include "base/text.h"
#include "env/plugins/plugin_check.h"
#include "support/check.h"
#include <zlib.h>

enum { COUNT = 4, STEPS = 12 };

static wk_error err;

static void collect(void *context, bool fault, const char *sentence)
{
    wk_text_printf(context, "%s: %s\n", fault ? "fault" : "advice", sentence);
}

static void the_examination_finds_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i);
        wk_text found = {0};
        int faults;
        assert_ok(wk_plugin_check(domain, collect, &found, &faults, &err));
        if (strcmp(domain->name, "toy") == 0) { // its episodes are shorter than a default sequence
            assert_non_null(strstr(wk_text_get(&found), "advice: episodes have at most 21 rows"));
            assert_int_equal(faults, 0);
        } else if (found.length > 0) {
            fail_msg("%s:\n%s", domain->name, wk_text_get(&found));
        }
        wk_text_free(&found);
    }
}

// A checksum over the batches of an episode's first steps, with θ drawn from the default space.
static uint32_t play(const wk_domain *domain, int threads)
{
    wk_vec *vec;
    wk_space *space;
    assert_ok(wk_space_create(domain, false, &space, &err));
    assert_ok(wk_vec_create(domain, NULL, COUNT, threads, &vec, &err));
    for (int i = 0; i < COUNT; i++) {
        double theta[WK_PARAMS_MAX];
        wk_space_sample(space, 3, (uint64_t)i, theta);
        assert_ok(wk_vec_plan_reset(vec, i, theta, (size_t)domain->n_params, 3, (uint64_t)i, &err));
    }
    const wk_batch *batch = wk_vec_batch(vec);
    wk_rng rng = wk_rng_stream(4, "actions", 0);
    size_t numbers = (size_t)(COUNT * domain->n_tasks) * sizeof(float);
    uint32_t sum = 0;
    for (int step = 0; step <= STEPS; step++) {
        float actions[COUNT * WK_ACTION_MAX];
        for (int i = 0; i < COUNT * domain->action_size; i++)
            actions[i] = (float)wk_rng_uniform(&rng, -1, 1);
        assert_ok(wk_vec_step(vec, actions, &err));
        sum = (uint32_t)crc32_z(sum, batch->images, COUNT * WK_IMAGE_BYTES);
        sum = (uint32_t)crc32_z(sum, (const void *)batch->rewards, numbers);
        sum = (uint32_t)crc32_z(sum, (const void *)batch->completion, numbers);
    }
    wk_vec_destroy(vec);
    wk_space_destroy(space);
    return sum;
}

static void results_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < wk_domain_count(); i++) {
        uint32_t one = play(wk_domain_at(i), 1), three = play(wk_domain_at(i), 3);
        if (one != three) fail_msg("%s differs", wk_domain_at(i)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examination_finds_nothing),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
