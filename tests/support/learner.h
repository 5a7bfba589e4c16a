// A reward-free update of the learner in one call.
#ifndef WK_TESTS_SUPPORT_LEARNER_H
#define WK_TESTS_SUPPORT_LEARNER_H

#include "agent/learner.h"

static inline wk_status learner_update(wk_learner *learner, const wk_learner_batch *batch,
                                       wk_learner_metrics *metrics, float *delta, wk_error *err)
{
    WK_TRY(wk_learner_stage(learner, batch, err));
    WK_TRY(wk_learner_start(learner, err));
    return wk_learner_finish(learner, metrics, delta, err);
}

#endif
