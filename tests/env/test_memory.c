// Every allocation on the way to an environment fails once: nothing leaks, nothing crashes, and the
// caller gets an error.
#include "base/json.h"
#include "env/description.h"
#include "env/plugins/plugin_check.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/toy_domain.h"

static wk_error err;

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

static void everything_survives_every_failing_allocation(void **state)
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
static void an_examination_survives_failing_allocations(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_survives_every_failing_allocation),
        cmocka_unit_test(an_examination_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
