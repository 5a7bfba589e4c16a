// What every built-in domain owes the host, whichever it is: the examination finds no fault, a
// vector of its environments does not depend on the number of threads, episodes end by time and
// continue elsewhere, allocations may fail, and an environment stays small.
#include "base/json.h"
#include "base/random.h"
#include "env/description.h"
#include "env/plugins/plugin_check.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/findings.h"
#include "support/toy_domain.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { COUNT = 4, STEPS = 12 };

static wk_error err;

TEST_CASE(the_examination_finds_nothing)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i);
        int faults;
        wk_text found = examine(domain, &faults);
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
    const wk_batch *batch = wk_vec_batch(vec);
    wk_rng rng = wk_rng_stream(4, "actions", 0);
    size_t numbers = (size_t)(COUNT * domain->n_tasks) * sizeof(float);
    uint32_t sum = 0;
    for (int step = 0; step <= 2 * STEPS; step++) {
        for (int i = 0; i < COUNT && step % STEPS == 0; i++) {
            double theta[WK_PARAMS_MAX];
            wk_space_sample(space, 3, (uint64_t)(i + step), theta);
            assert_ok(wk_vec_plan_reset(vec, i, theta, (size_t)domain->n_params, 3,
                                        (uint64_t)(i + step), &err));
        }
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

TEST_CASE(results_do_not_depend_on_the_number_of_threads)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        uint32_t one = play(wk_domain_at(i), 1), three = play(wk_domain_at(i), 3);
        if (one != three) fail_msg("%s differs", wk_domain_at(i)->name);
    }
}

static wk_env *begin(const wk_domain *domain, const double *theta, const wk_frame *out)
{
    wk_env *env = NULL;
    assert_ok(wk_env_create(domain, NULL, &env, &err));
    assert_ok(wk_env_reset(env, theta, (size_t)domain->n_params, 31, 4, out, &err));
    return env;
}

TEST_CASE(an_episode_ends_by_time)
{
    const float still[WK_ACTION_MAX] = {0};
    for (size_t i = 0; i < wk_domain_count(); i++) {
        uint8_t flags = 0;
        const wk_frame out = {.flags = &flags};
        const wk_domain *domain = wk_domain_at(i);
        wk_env *env = begin(domain, domain->hardest, &out);
        assert_int_equal(flags, WK_IS_FIRST);
        for (int step = 1; step <= domain->episode_steps; step++) {
            assert_ok(wk_env_step(env, still, &out, &err));
            assert_int_equal(flags, step == domain->episode_steps ? WK_IS_LAST : 0);
        }
        assert_refused(wk_env_step(env, still, &out, &err), WK_E_INPUT, "the episode ended");
        wk_env_destroy(env);
    }
}

// In the hardest world and in the last case's, which may be of another kind.
TEST_CASE(a_saved_episode_goes_on_elsewhere_to_the_same_images)
{
    static uint8_t bytes[1 << 16], images[2][WK_IMAGE_BYTES];
    const float action[WK_ACTION_MAX] = {0.9f, 0.2f, -0.3f, 0.4f, 0.1f, -0.5f};
    for (size_t i = 0; i < 2 * wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i / 2);
        const double *theta =
            i % 2 && domain->n_cases ? domain->cases[domain->n_cases - 1].params : domain->hardest;
        wk_env *env[2] = {begin(domain, theta, &(wk_frame){0}),
                          begin(domain, domain->hardest, &(wk_frame){0})};
        const int half = domain->episode_steps < 50 ? domain->episode_steps / 2 : 25;
        for (int step = 0; step < half; step++)
            assert_ok(wk_env_step(env[0], action, &(wk_frame){0}, &err));
        size_t size = wk_env_state_size(env[0]);
        assert_in_range(size, 1, sizeof bytes);
        assert_ok(wk_env_save(env[0], bytes, size, &err));
        assert_ok(wk_env_load(env[1], bytes, size, &err));
        assert_int_equal(wk_env_steps(env[1]), half);
        for (int step = 0; step < half; step++) {
            float rewards[2][WK_TASKS_MAX] = {{0}};
            for (int e = 0; e < 2; e++)
                assert_ok(wk_env_step(
                    env[e], action, &(wk_frame){.image = images[e], .rewards = rewards[e]}, &err));
            assert_memory_equal(images[0], images[1], WK_IMAGE_BYTES);
            assert_memory_equal(rewards[0], rewards[1], sizeof rewards[0]);
        }
        wk_env_destroy(env[0]);
        wk_env_destroy(env[1]);
    }
}

TEST_CASE(an_episode_depends_on_theta_seed_and_number_alone)
{
    static uint8_t images[3][WK_IMAGE_BYTES];
    const float action[WK_ACTION_MAX] = {0.9f, 0.2f, -0.3f, 0.4f, 0.1f, -0.5f};
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i);
        const size_t params = (size_t)domain->n_params;
        // The second environment comes from other worlds, the third has another number.
        wk_env *env[3] = {begin(domain, domain->hardest, &(wk_frame){0}),
                          begin(domain, domain->hardest, &(wk_frame){0}),
                          begin(domain, domain->hardest, &(wk_frame){0})};
        const double *last = domain->most_complex + (size_t)(domain->n_complex - 1) * params;
        const double *foreign = domain->n_cases ? domain->cases[domain->n_cases - 1].params : last;
        for (int k = 0; k < 4; k++) {
            if (k % 2 == 0)
                assert_ok(wk_env_reset(env[1], k ? foreign : last, params, 9, (uint64_t)k,
                                       &(wk_frame){0}, &err));
            assert_ok(wk_env_step(env[1], action, &(wk_frame){0}, &err));
        }
        for (int e = 0; e < 3; e++)
            assert_ok(wk_env_reset(env[e], domain->hardest, params, 4, e < 2 ? 6 : 7,
                                   &(wk_frame){0}, &err));
        for (int step = 0; step < STEPS; step++) {
            float rewards[3][WK_TASKS_MAX] = {{0}};
            for (int e = 0; e < 3; e++)
                assert_ok(wk_env_step(
                    env[e], action, &(wk_frame){.image = images[e], .rewards = rewards[e]}, &err));
            assert_memory_equal(images[0], images[1], WK_IMAGE_BYTES);
            assert_memory_equal(rewards[0], rewards[1], sizeof rewards[0]);
        }
        assert_memory_not_equal(images[0], images[2], WK_IMAGE_BYTES);
        for (int e = 0; e < 3; e++)
            wk_env_destroy(env[e]);
    }
}

static wk_status make_and_reset(const wk_domain *domain)
{
    const int options[WK_OPTIONS_MAX] = {0};
    void *env = NULL;
    WK_TRY(domain->create(domain, options, &env, &err));
    wk_status status = domain->reset(env, domain->hardest, 1, 1, &(wk_outcome){0}, &err);
    domain->destroy(env);
    return status;
}

TEST_CASE(every_failing_allocation_is_reported_and_leaks_nothing)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i);
        int n = 0;
        for (;; n++) {
            fault_arm(FAULT_ALLOC, n, ENOMEM);
            err = (wk_error){0};
            wk_status status = make_and_reset(domain);
            bool happened = fault_disarm(FAULT_ALLOC);
            if (status != (happened ? WK_E_MEMORY : WK_OK))
                fail_msg("%s, allocation %d: status '%s' (%s)", domain->name, n,
                         wk_status_name(status), err.message);
            if (!happened) break;
        }
        assert_true(n >= 1);
    }
}

static long resident_kib(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) abort();
    fclose(file);
    return resident * 4;
}

// The most memory that one environment visiting θ of all kinds adds to this process.
static long memory_of(const wk_domain *domain)
{
    long before = resident_kib(), peak = before;
    const float action[WK_ACTION_MAX] = {1, 0.1f};
    wk_space *space;
    assert_ok(wk_space_create(domain, false, &space, &err));
    wk_env *env = begin(domain, domain->hardest, &(wk_frame){0});
    size_t points = wk_space_count(space), visits = points < 40 ? points : 40;
    for (size_t i = 0; i <= visits; i++) {
        const double *theta = i < visits            ? wk_space_params(space, i * points / visits)
                              : domain->n_cases > 0 ? domain->cases[domain->n_cases - 1].params
                                                    : domain->hardest;
        assert_ok(wk_env_reset(env, theta, (size_t)domain->n_params, 1, i, &(wk_frame){0}, &err));
        for (int step = 0; step < 5; step++)
            assert_ok(wk_env_step(env, action, &(wk_frame){0}, &err));
        if (resident_kib() > peak) peak = resident_kib();
    }
    wk_env_destroy(env);
    wk_space_destroy(space);
    return peak - before;
}

TEST_CASE(an_environment_stays_below_thirty_megabytes)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); // a sanitizer's own memory would be measured
#endif
    for (size_t i = 0; i < wk_domain_count(); i++) {
        // A process of its own, so that memory freed by earlier environments is not used again. It
        // ends with 0 only if nothing failed in it.
        int ends[2], status = 0;
        long kib = 0;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            kib = memory_of(wk_domain_at(i));
            _exit(write(ends[1], &kib, sizeof kib) != sizeof kib);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(read(ends[0], &kib, sizeof kib), sizeof kib);
        close(ends[0]);
        close(ends[1]);
        print_message("%s: %ld MB\n", wk_domain_at(i)->name, kib / 1024);
        assert_in_range(kib / 1024, 0, 30);
    }
}

// Makes something and destroys it again.
typedef wk_status attempt(const wk_domain *domain);

static wk_status make_space(const wk_domain *domain)
{
    wk_space *space;
    WK_TRY(wk_space_create(domain, false, &space, &err));
    wk_space_destroy(space);
    return WK_OK;
}

static wk_status make_env(const wk_domain *domain)
{
    wk_env *env;
    WK_TRY(wk_env_create(domain, NULL, &env, &err));
    wk_env_destroy(env);
    return WK_OK;
}

static wk_status make_vec(const wk_domain *domain)
{
    wk_vec *vec;
    WK_TRY(wk_vec_create(domain, NULL, 3, 2, &vec, &err));
    wk_vec_destroy(vec);
    return WK_OK;
}

static wk_status load_plugin(const wk_domain *domain)
{
    wk_plugin *plugin;
    WK_TRY(wk_plugin_load("no-such-file.so", &plugin, &err));
    return WK_OK;
}

static wk_text description; // of the toy

static wk_status read_description(const wk_domain *domain)
{
    wk_document document;
    wk_description *read = NULL;
    WK_TRY(wk_document_start("toy", description.chars, description.length, &document, &err));
    wk_status status = wk_description_read(&document, &read, &err);
    wk_description_destroy(read);
    return status;
}

TEST_CASE(everything_survives_every_failing_allocation)
{
    static const struct {
        const char *what;
        attempt *make;
        int at_least; // allocations
    } cases[] = {{"a space", make_space, 5},
                 {"an environment", make_env, 7},
                 {"a vector", make_vec, 30},
                 {"a plug-in", load_plugin, 1},
                 {"a description", read_description, 8}};
    toy t = toy_make(TOY_SOUND);
    wk_json json = {.text = &description};
    wk_json_object(&json, NULL);
    assert_ok(wk_domain_describe(&t.domain, &json, &err));
    wk_json_close(&json, '}');
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = 0;
        for (;; n++) {
            fault_arm(FAULT_ALLOC, n, ENOMEM);
            err = (wk_error){0};
            wk_status status = cases[i].make(&t.domain);
            if (!fault_disarm(FAULT_ALLOC)) break;
            if (status != WK_E_MEMORY)
                fail_msg("%s, allocation %d: status '%s' (%s)", cases[i].what, n,
                         wk_status_name(status), err.message);
            assert_true(strlen(err.message) > 0);
            assert_int_equal(toy_worlds(), 0);
        }
        if (n < cases[i].at_least) fail_msg("%s has %d allocations", cases[i].what, n);
    }
    wk_text_free(&description);
}

static void ignore(void *context, bool fault, const char *sentence) {}

// The examination goes on without what it could not allocate; it must not fall over.
TEST_CASE(an_examination_survives_failing_allocations)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.episode_steps = 4;
    t.domain.n_options = 0;
    for (int n = 0; n < 60; n++) {
        int faults;
        fault_arm(FAULT_ALLOC, n, ENOMEM);
        wk_plugin_check(&t.domain, ignore, NULL, &faults, &err);
        fault_disarm(FAULT_ALLOC);
        assert_int_equal(toy_worlds(), 0);
    }
}

TEST_MAIN(NULL, NULL)
