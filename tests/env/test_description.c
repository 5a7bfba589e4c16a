// Descriptions of domains: what is written reads back as the same domain, to the bit of its grid,
// and what makes another domain of it is named.
#include "base/text.h"
#include "env/description.h"
#include "support/check.h"
#include "support/toy_domain.h"

static wk_error err;

static wk_text describe(const wk_domain *domain)
{
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_json_object(&json, NULL);
    assert_ok(wk_domain_describe(domain, &json, &err));
    wk_json_close(&json, '}');
    return text;
}

static wk_description *read_back(const wk_text *text)
{
    wk_document document;
    wk_description *description = NULL;
    assert_ok(wk_document_start("text", text->chars, text->length, &document, &err));
    assert_ok(wk_description_read(&document, &description, &err));
    assert_ok(wk_document_close(&document, &err));
    return description;
}

static void every_domain_reads_back_as_the_same(void **state)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i);
        wk_text text = describe(domain);
        wk_description *description = read_back(&text);
        assert_ok(wk_description_fits(description, domain, &err));
        // Without the code the grid is a list.
        const wk_domain *again = wk_description_domain(description);
        assert_int_equal(again->n_complex, domain->n_complex);
        for (int k = 0; k < domain->n_cases; k++) {
            size_t numbers = (size_t)domain->cases[k].count * (size_t)domain->n_params;
            assert_int_equal(again->cases[k].count, domain->cases[k].count);
            assert_memory_equal(again->cases[k].params, domain->cases[k].params,
                                numbers * sizeof(double));
        }
        assert_string_equal(again->summary, domain->summary);
        wk_env *env;
        assert_refused(wk_env_create(again, NULL, &env, &err), WK_E_INPUT, "code was not loaded");
        wk_description_destroy(description);
        wk_text_free(&text);
    }
}

static void what_makes_another_domain_is_named(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_text text = describe(&t.domain);
    wk_description *description = read_back(&text);
    assert_ok(wk_description_fits(description, &t.domain, &err));
    wk_domain other = t.domain;
    other.summary = "other words";
    other.n_cases = 0;
    assert_ok(wk_description_fits(description, &other, &err));
    other.name = "another";
    assert_refused(wk_description_fits(description, &other, &err), WK_E_INPUT, "the name changed");
    other = t.domain;
    other.action_size++;
    assert_refused(wk_description_fits(description, &other, &err), WK_E_INPUT,
                   "action_size changed");
    other = t.domain;
    other.n_tasks--;
    assert_refused(wk_description_fits(description, &other, &err), WK_E_INPUT, "the tasks changed");
    other = t.domain;
    wk_param params[WK_PARAMS_MAX];
    memcpy(params, t.domain.params, (size_t)t.domain.n_params * sizeof *params);
    other.params = params;
    params[0].step = params[0].max - params[0].min;
    assert_refused(wk_description_fits(description, &other, &err), WK_E_INPUT, "the grid changed");
    params[0].name = "renamed";
    assert_refused(wk_description_fits(description, &other, &err), WK_E_INPUT,
                   "the params changed");
    wk_description_destroy(description);
    wk_text_free(&text);
}

static void control_characters_do_not_come_through(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_domain loud = t.domain;
    loud.summary = "a\x1b[2Jb\nc\u202e";
    wk_text text = describe(&loud);
    wk_description *description = read_back(&text);
    assert_string_equal(wk_description_domain(description)->summary, "a [2Jb c   ");
    wk_description_destroy(description);
    wk_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_domain_reads_back_as_the_same),
        cmocka_unit_test(what_makes_another_domain_is_named),
        cmocka_unit_test(control_characters_do_not_come_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
