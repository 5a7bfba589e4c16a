// A small learner for the tests' toy domain, with the weights it begins with.
#ifndef WK_TESTS_EVAL_FIXTURE_H
#define WK_TESTS_EVAL_FIXTURE_H

#include "agent/learner.h"
#include "base/pool.h"
#include "support/backend.h"
#include "support/check.h"
#include "support/toy_domain.h"

/// The learner and what it runs on.
typedef struct fixture {
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
} fixture;

static inline fixture open_fixture(int threads)
{
    fixture r = {0};
    wk_error err = {0};
    wk_learner_config c = {.depth = 2,
                           .deter = 12,
                           .hidden = 12,
                           .stoch = 4,
                           .classes = 4,
                           .units = 12,
                           .layers = 2,
                           .ensemble = 2,
                           .batch = 2,
                           .length = 4,
                           .horizon = 3,
                           .slow_period = 100,
                           .kl_scale = 1,
                           .kl_balance = 0.8f,
                           .free_nats = 1,
                           .model_rate = 1e-3f,
                           .ensemble_rate = 1e-3f,
                           .policy_rate = 1e-3f,
                           .discount = 0.9f,
                           .lambda = 0.9f,
                           .entropy_scale = 1e-4f,
                           .disagreement_scale = 1,
                           .action_size = TOY_ACTIONS,
                           .tasks = 2,
                           .seed = 9};
    assert_ok(wk_pool_create(threads, &r.pool, &err));
    assert_ok(test_backend_create(r.pool, &r.backend, &err));
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, r.backend, &r.learner,
                                &err));
    return r;
}

static inline void close_fixture(fixture *r)
{
    wk_learner_destroy(r->learner);
    wk_backend_destroy(r->backend);
    wk_pool_destroy(r->pool);
}

#endif
