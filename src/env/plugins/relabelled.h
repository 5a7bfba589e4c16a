// A domain with more tasks: those of users' rewards (waker/reward.h) after its own. Its
// environments are environments of the domain, watched after every control step. Of a task whose
// code is not there only the name is known: its environments report no reward for it.
#ifndef WK_ENV_PLUGINS_RELABELLED_H
#define WK_ENV_PLUGINS_RELABELLED_H

#include "waker/reward.h"

/// A task to add.
typedef struct wk_added_task {
    const char *name;        // copied
    const wk_reward *reward; // borrowed; NULL: its code is not loaded
} wk_added_task;

typedef struct wk_relabelled wk_relabelled;

/// `domain` is borrowed. Without code the result has the functions of `domain`, so that a
/// description gives a description.
wk_status wk_relabelled_create(const wk_domain *domain, const wk_added_task *tasks, int count,
                               wk_relabelled **out, wk_error *err);
/// NULL is allowed.
void wk_relabelled_destroy(wk_relabelled *relabelled);
const wk_domain *wk_relabelled_domain(const wk_relabelled *relabelled);

#endif
