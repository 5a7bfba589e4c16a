// Metrics of updates, from the scalars that a run downloads, and which of them are not finite.
#include "agent/learner_parts.h"

#include <math.h>

static float mean_of(const float *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return (float)(sum / count);
}

// Those of the world model's graph came with the update's.
static void fill_model_metrics(const wk_learner *learner, wk_learner_metrics *m)
{
    const wk_model_tensors *t = &learner->model_t;
    const wk_learn_tensors *update = &learner->learn_t;
    const float *numbers = wk_scalars_at(&update->scalars, learner->scalars, update->model_scalars);
    const struct {
        wk_tensor x;
        float *to;
    } scalars[] = {
        {t->losses.total, &m->model_loss},
        {t->losses.observed.image, &m->image_loss},
        {t->losses.observed.vector, &m->vector_loss},
        {t->losses.kl, &m->kl},
        {t->losses.prior_entropy, &m->prior_entropy},
        {t->losses.post_entropy, &m->post_entropy},
        {t->norm, &m->model_norm},
        {t->losses.discount, &m->discount_loss},
    };
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        const float *at = wk_scalars_at(&t->scalars, numbers, scalars[i].x);
        *scalars[i].to = at ? *at : 0;
    }
}

void wk_learner_fill_metrics(const wk_learner *learner, wk_learner_metrics *m)
{
    const wk_learn_tensors *t = &learner->learn_t;
    const struct {
        wk_tensor x;
        int count; // more than one: the mean
        float *to;
    } scalars[] = {
        {t->reward, 1, &m->disagreement},
        {t->actor_loss, 1, &m->explore.actor_loss},
        {t->critic_loss, 1, &m->explore.critic_loss},
        {t->actor_norm, 1, &m->explore.actor_norm},
        {t->critic_norm, 1, &m->explore.critic_norm},
        {t->value, 1, &m->explore.value},
        {t->entropy, 1, &m->explore.entropy},
        {t->ensemble_loss, learner->config.ensemble, &m->ensemble_loss},
        {t->ensemble_norm, learner->config.ensemble, &m->ensemble_norm},
    };
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        const float *at = wk_scalars_at(&t->scalars, learner->scalars, scalars[i].x);
        *scalars[i].to = at ? mean_of(at, scalars[i].count) : 0;
    }
    fill_model_metrics(learner, m);
}

void wk_learner_read_tasks(const wk_learner *learner, wk_task_metrics *m)
{
    const wk_task_tensors *t = &learner->task_t;
    for (int k = 0; k < learner->config.tasks; k++) {
        wk_policy_metrics *p = &m->policy[k];
        const struct {
            wk_tensor x;
            float *to;
        } scalars[] = {
            {t->reward_loss, &m->reward_loss[k]},
            {t->reward_norm, &m->reward_norm[k]},
            {t->actor_loss, &p->actor_loss},
            {t->critic_loss, &p->critic_loss},
            {t->actor_norm, &p->actor_norm},
            {t->critic_norm, &p->critic_norm},
            {t->value, &p->value},
            {t->entropy, &p->entropy},
        };
        for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
            *scalars[i].to =
                wk_scalars_at(&t->scalars, wk_learner_task_scalars(learner), scalars[i].x)[k];
    }
}

const char *wk_learner_metrics_nonfinite(const wk_learner_metrics *m)
{
    const struct {
        const char *name;
        float value;
    } scalars[] = {
        {"model_loss", m->model_loss},           {"image_loss", m->image_loss},
        {"vector_loss", m->vector_loss},         {"kl", m->kl},
        {"discount_loss", m->discount_loss},     {"model_norm", m->model_norm},
        {"ensemble_loss", m->ensemble_loss},     {"ensemble_norm", m->ensemble_norm},
        {"disagreement", m->disagreement},       {"actor_loss", m->explore.actor_loss},
        {"actor_norm", m->explore.actor_norm},   {"critic_loss", m->explore.critic_loss},
        {"critic_norm", m->explore.critic_norm},
    };
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (!isfinite(scalars[i].value)) return scalars[i].name;
    return NULL;
}

const char *wk_task_metrics_nonfinite(const wk_task_metrics *m, int tasks)
{
    for (int k = 0; k < tasks; k++) {
        const wk_policy_metrics *p = &m->policy[k];
        if (!isfinite(m->reward_loss[k]) || !isfinite(m->reward_norm[k])) return "reward_loss";
        if (!isfinite(p->actor_loss) || !isfinite(p->actor_norm)) return "actor_loss";
        if (!isfinite(p->critic_loss) || !isfinite(p->critic_norm)) return "critic_loss";
    }
    return NULL;
}
