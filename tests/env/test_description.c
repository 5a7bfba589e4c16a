// Descriptions of domains: what is written reads back as the same domain, to the bit of its grid,
// and what makes another domain of it is named.
#include "base/json.h"
#include "env/description.h"
#include "support/check.h"
#include "support/toy_domain.h"

static wk_error err;

// Describes the domain and reads that back.
static wk_description *read_back(const wk_domain *domain)
{
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_document document;
    wk_description *description = NULL;
    wk_json_object(&json, NULL);
    assert_ok(wk_domain_describe(domain, &json, &err));
    wk_json_close(&json, '}');
    assert_ok(wk_document_start("text", text.chars, text.length, &document, &err));
    assert_ok(wk_description_read(&document, &description, &err));
    assert_ok(wk_document_close(&document, &err));
    wk_text_free(&text);
    return description;
}

TEST_CASE(every_domain_reads_back_as_the_same)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i);
        wk_description *description = read_back(domain);
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
    }
}

TEST_CASE(what_makes_another_domain_is_named)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.discrete = t.domain.observation.no_image = true;
    t.domain.observation.vector = 3;
    wk_description *description = read_back(&t.domain);
    const wk_domain *read = wk_description_domain(description);
    assert_true(read->discrete && read->observation.no_image);
    assert_int_equal(read->observation.vector, 3);
    assert_ok(wk_description_fits(description, &t.domain, &err));
    wk_domain other = t.domain;
    other.summary = "other words";
    other.n_cases = 0;
    assert_ok(wk_description_fits(description, &other, &err));
#define CHANGED(field, value, part)                                                                \
    do {                                                                                           \
        other = t.domain;                                                                          \
        other.field = (value);                                                                     \
        assert_refused(wk_description_fits(description, &other, &err), WK_E_INPUT,                 \
                       "the " part " changed");                                                    \
    } while (0)
    CHANGED(name, "another", "name");
    CHANGED(action_size, t.domain.action_size + 1, "action_size");
    CHANGED(discrete, false, "kind of actions");
    CHANGED(observation.vector, 4, "observation");
    CHANGED(observation.no_image, false, "observation");
    CHANGED(action_repeat, 9, "action_repeat");
    CHANGED(episode_steps, 9, "episode_steps");
    CHANGED(ends_early, !t.domain.ends_early, "ends_early");
    CHANGED(n_tasks, t.domain.n_tasks - 1, "tasks");
    CHANGED(n_options, t.domain.n_options - 1, "options");
    wk_param params[WK_PARAMS_MAX];
    memcpy(params, t.domain.params, (size_t)t.domain.n_params * sizeof *params);
    params[0].step = params[0].max - params[0].min;
    CHANGED(params, params, "grid");
    params[0].name = "renamed";
    CHANGED(params, params, "params");
    wk_description_destroy(description);
}

TEST_CASE(control_characters_do_not_come_through)
{
    toy t = toy_make(TOY_SOUND);
    wk_domain loud = t.domain;
    loud.summary = "a\x1b[2Jb\nc\u202e";
    wk_description *description = read_back(&loud);
    assert_string_equal(wk_description_domain(description)->summary, "a [2Jb c   ");
    wk_description_destroy(description);
}

TEST_MAIN(NULL, NULL)
