// Frozen sets of environments: those of the program are what they were and can be played; drawn
// ones are the same every time and lie where they should; a changed file is refused.
#include "base/file.h"
#include "eval/cases.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

#define FILE_NAME "theta-set.tmp"

static wk_error err;

static const wk_domain *domain_of(const char *name)
{
    const wk_domain *domain;
    assert_ok(wk_domain_find(name, &domain, &err));
    return domain;
}

static int teardown(void **state)
{
    unlink(FILE_NAME);
    return 0;
}

// A set never changes: another one has another name.
static const struct {
    const char *domain, *sha256;
} frozen[] = {
    {"terrain-walker", "5b985a70e7e673eba0b44c065370ba4a9cb671c84193fa4fd58ed79f22a2b114"},
    {"terrain-hopper", "0670f5546e6d742f6059ea29e05a3829df9a24b204cde8528e9cf5af99a63fa9"},
    {"terrain-body", "852f0767e198f415f51c41a2e343781487dc97005a03a831d968188269d5f7eb"},
    {"clean-up", "2accdd12b078065523fd534b0bb3f0de9d2c50332103d102764421226a63b05c"},
    {"car-clean-up", "6e10be55908789a7ff9d6f0465fd759ee7e46cabb6369a461daae9c5ca95c9d8"},
    {"combined", "9916b4921c51f187261aca92b33d6408e2565fcb17941666e4b9c32f5b7ea11f"},
    {"toy", "30a9185807f128f3fe266efa940f08edf8882447ea2000103af4a2b797c2be95"},
};
enum { FROZEN = sizeof frozen / sizeof *frozen };

TEST_CASE(the_programs_sets_are_frozen_and_whole)
{
    for (size_t d = 0; d < FROZEN; d++) {
        const wk_domain *domain = domain_of(frozen[d].domain);
        wk_theta_set set, again = {0};
        wk_text text = {0};
        wk_eval_case cases[WK_THETA_SET_PARTS];
        assert_ok(wk_theta_set_open("robust-v1", domain, &set, &err));
        assert_string_equal(set.sha256, frozen[d].sha256);
        assert_int_equal(wk_theta_set_cases(&set, cases), 2);
        assert_string_equal(cases[0].name, "robust-v1/in");
        assert_int_equal(cases[0].episodes, 1000);
        assert_int_equal(cases[1].episodes, 1000);
        // The documented command makes the same bytes.
        assert_ok(wk_theta_set_draw(domain, "robust-v1", 1000, 0, &again, &err));
        wk_theta_set_print(&again, domain, &text);
        assert_ok(wk_file_write(FILE_NAME, text.chars, text.length, &err));
        wk_theta_set_free(&again);
        assert_ok(wk_theta_set_open(FILE_NAME, domain, &again, &err));
        assert_string_equal(set.sha256, again.sha256);
        wk_theta_set_free(&again);
        wk_theta_set_free(&set);
        wk_text_free(&text);
    }
}

TEST_CASE(parts_lie_in_and_out_of_the_training_distribution)
{
    for (size_t d = 0; d < FROZEN; d++) {
        const wk_domain *domain = domain_of(frozen[d].domain);
        wk_theta_set set;
        wk_space *space;
        assert_ok(wk_space_create(domain, false, &space, &err));
        assert_ok(wk_theta_set_open("robust-v1", domain, &set, &err));
        for (int p = 0; p < WK_THETA_SET_PARTS; p++)
            for (int i = 0; i < set.parts[p].count; i++) {
                const double *theta = set.parts[p].params + (ptrdiff_t)i * set.n_params;
                if ((wk_space_find(space, theta) != SIZE_MAX) != (p == WK_THETA_SET_IN))
                    fail_msg("%s: θ %d of part %d", frozen[d].domain, i, p);
            }
        wk_theta_set_free(&set);
        wk_space_destroy(space);
    }
}

static void write_text(const char *text, size_t size)
{
    assert_ok(wk_file_write(FILE_NAME, text, size, &err));
}

TEST_CASE(a_changed_file_is_refused)
{
    const wk_domain *toy = domain_of("toy");
    wk_theta_set set;
    wk_text text = {0};
    assert_ok(wk_theta_set_draw(toy, "own-v1", 3, 5, &set, &err));
    wk_theta_set_print(&set, toy, &text);
    wk_theta_set_free(&set);
    for (size_t i = 0; i < text.length; i++) {
        char kept = text.chars[i];
        text.chars[i] ^= 1;
        write_text(text.chars, text.length);
        if (wk_theta_set_open(FILE_NAME, toy, &set, &err) == WK_OK)
            fail_msg("byte %zu was changed and nobody noticed", i);
        text.chars[i] = kept;
    }
    write_text(text.chars, text.length / 2);
    assert_refused(wk_theta_set_open(FILE_NAME, toy, &set, &err), WK_E_FORMAT,
                   "does not end with its SHA-256");
    write_text(text.chars, text.length);
    assert_refused(wk_theta_set_open(FILE_NAME, domain_of("clean-up"), &set, &err), WK_E_INPUT,
                   "is for the domain 'toy'");
    assert_refused(wk_theta_set_open("robust-v9", toy, &set, &err), WK_E_NOT_FOUND,
                   "there is robust-v1");
    wk_text_free(&text);
}

// A text with a right hash and wrong content: whoever wrote it meant something else.
TEST_CASE(wrong_content_is_named)
{
    static const struct {
        const char *text, *message;
    } wrongs[] = {
        {"waker-set-2\n", "not a set of environments"},
        {"waker-set-1\nname A/B\n", "line 2: this is not a valid name"},
        {"waker-set-1\nname a\ndomain toy\nseed -1\n", "not a seed"},
        {"waker-set-1\nname a\ndomain toy\nseed 0\nparams x\n", "other parameters"},
        {"waker-set-1\nname a\ndomain toy\nseed 0\nparams turbulence,x\n", "other parameters"},
        {"waker-set-1\nname a\ndomain toy\nseed 0\nparams turbulence\nin 99999999\n",
         "not a number of environments"},
        // As many would have been asked of memory before they were refused.
        {"waker-set-1\nname a\ndomain toy\nseed 0\nparams turbulence\nin 999999999999999999\n",
         "not a number of environments"},
        {"waker-set-1\nname a\ndomain toy\nseed 0\nparams turbulence\nin 1\nx\n", "not a θ"},
        {"waker-set-1\nname a\ndomain toy\nseed 0\nparams turbulence\nin 1\n1,2\n", "too many"},
        {"waker-set-1\nname a\ndomain toy\nseed 0\nparams turbulence\nin 1\n99\n", "line 7"},
        {"waker-set-1\nname a\ndomain toy\nseed 0\nparams turbulence\nin 0\nout 0\n", "empty"},
        {"waker-set-1\nname a\ndomain toy\nseed 0\nparams turbulence\nin 2\n1\n", "not a θ"},
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        wk_text text = {0};
        wk_theta_set set;
        char sha256[WK_SHA256_CHARS];
        wk_sha256 hash = wk_sha256_start();
        wk_sha256_add(&hash, wrongs[i].text, strlen(wrongs[i].text));
        wk_sha256_finish(&hash, sha256);
        wk_text_printf(&text, "%ssha256 %s\n", wrongs[i].text, sha256);
        write_text(text.chars, text.length);
        wk_status status = wk_theta_set_open(FILE_NAME, domain_of("toy"), &set, &err);
        if (status == WK_OK || !strstr(err.message, wrongs[i].message))
            fail_msg("'%s': %s", wrongs[i].text, status == WK_OK ? "taken" : err.message);
        wk_text_free(&text);
    }
}

TEST_MAIN(NULL, teardown)
