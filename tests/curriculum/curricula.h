// A curriculum over a space of its own, as the tests of rules use it.
#ifndef WK_TESTS_CURRICULA_H
#define WK_TESTS_CURRICULA_H

#include "support/check.h"
#include "waker/curriculum.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct fixture {
    wk_space *space;
    wk_curriculum *curriculum;
    size_t count; // θ of the space
} fixture;

static inline fixture make_rule(const wk_curriculum_rule *rule, const wk_domain *domain,
                                wk_curriculum_config config)
{
    wk_error err = {0};
    fixture f = {0};
    assert_ok(wk_space_create(domain, false, &f.space, &err));
    assert_ok(wk_curriculum_create(rule, domain, f.space, &config, &f.curriculum, &err));
    f.count = wk_space_count(f.space);
    return f;
}

static inline const wk_curriculum_rule *rule_of(const char *name)
{
    wk_error err = {0};
    const wk_curriculum_rule *rule;
    assert_ok(wk_curriculum_rule_find(name, &rule, &err));
    return rule;
}

static inline void drop(fixture *f)
{
    wk_curriculum_destroy(f->curriculum);
    wk_space_destroy(f->space);
}

static inline void report(fixture *f, size_t index, float delta)
{
    wk_curriculum_report_at(f->curriculum, NULL, &index, &delta, 1);
}

/// The θ of the next episode; `theta` may be NULL.
static inline size_t next(fixture *f, uint64_t episode, bool prefill, double *theta)
{
    wk_error err = {0};
    double ignored[WK_PARAMS_MAX];
    size_t index = SIZE_MAX;
    assert_ok(
        wk_curriculum_next(f->curriculum, episode, prefill, theta ? theta : ignored, &index, &err));
    return index;
}

/// The saved state, malloc'd.
static inline char *save(const fixture *f, size_t *size)
{
    *size = wk_curriculum_state_size(f->curriculum);
    char *bytes = malloc(*size);
    assert_non_null(bytes);
    wk_curriculum_save(f->curriculum, bytes);
    return bytes;
}

/// Compares the distributions of two curricula over the same space.
static inline void expect_same_choice(const fixture *a, const fixture *b)
{
    double p[64], q[64];
    assert_true(a->count == b->count && a->count <= 64);
    wk_curriculum_distribution(a->curriculum, p);
    wk_curriculum_distribution(b->curriculum, q);
    assert_memory_equal(p, q, a->count * sizeof *p);
}

#endif
