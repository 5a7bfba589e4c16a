// Metrics of updates (update_metrics.def), from the scalars that a run downloads; their names in
// the logs, and which of them are not finite.
#include "agent/learner_parts.h"

#include <assert.h>
#include <math.h>

wk_scalars wk_scalars_join(wk_graph *g, const wk_tensor *tensors, size_t count)
{
    wk_scalars f = {0};
    wk_tensor parts[WK_SCALARS_MAX];
    assert(count <= WK_SCALARS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!wk_tensor_exists(tensors[i])) continue;
        size_t values = wk_shape_count(wk_graph_shape(g, tensors[i]));
        f.item[f.count].x = tensors[i];
        f.item[f.count].offset = f.total;
        f.item[f.count].count = values;
        parts[f.count++] = wk_graph_reshape(g, tensors[i], WK_SHAPE((int)values));
        f.total += values;
    }
    f.joined = wk_graph_concat(g, parts, f.count, 0);
    return f;
}

const float *wk_scalars_at(const wk_scalars *scalars, const float *values, wk_tensor x)
{
    for (size_t i = 0; i < scalars->count; i++)
        if (scalars->item[i].x.id == x.id) return values + scalars->item[i].offset;
    return NULL;
}

int wk_model_scalar_count(const wk_learner_config *c)
{
    int count = 0;
#define WK_MODEL_METRIC(field, tensor, name, condition, checked) count += (condition);
#include "agent/update_metrics.def"
    return count;
}

// The mean of the values of x; 0 for a tensor that does not exist.
static float mean_of(const wk_scalars *scalars, const float *values, wk_tensor x)
{
    double sum = 0;
    for (size_t i = 0; i < scalars->count; i++) {
        size_t count = scalars->item[i].count;
        if (scalars->item[i].x.id != x.id) continue;
        for (size_t k = 0; k < count; k++)
            sum += values[scalars->item[i].offset + k];
        return (float)(sum / (double)count);
    }
    return 0;
}

void wk_learner_fill_metrics(const wk_learner *learner, wk_learner_metrics *m)
{
    const wk_update_tensors *update = &learner->update_t;
    const wk_model_tensors *model = &learner->model_t;
    const float *values = learner->scalars;
    // Those of the world model's graph came with the update's.
    const float *model_values = wk_scalars_at(&update->scalars, values, update->model_scalars);
#define WK_MODEL_METRIC(field, tensor, name, condition, checked)                                   \
    m->field = mean_of(&model->scalars, model_values, model->tensor);
#define WK_UPDATE_METRIC(field, tensor, name, checked)                                             \
    m->field = mean_of(&update->scalars, values, update->tensor);
#define WK_POLICY_METRIC(field, name, checked)                                                     \
    m->explore.field = mean_of(&update->scalars, values, update->field);
#include "agent/update_metrics.def"
}

void wk_learner_read_tasks(const wk_learner *learner, wk_task_metrics *m)
{
    const wk_task_tensors *t = &learner->task_t;
    const float *values = wk_learner_task_scalars(learner);
    for (int k = 0; k < learner->config.tasks; k++) {
        m->reward_loss[k] = wk_scalars_at(&t->scalars, values, t->reward_loss)[k];
        m->reward_norm[k] = wk_scalars_at(&t->scalars, values, t->reward_norm)[k];
#define WK_POLICY_METRIC(field, name, checked)                                                     \
    m->policy[k].field = wk_scalars_at(&t->scalars, values, t->field)[k];
#include "agent/update_metrics.def"
    }
}

size_t wk_learner_metrics_list(const wk_learner_config *c, const wk_learner_metrics *m,
                               wk_named_metric out[WK_NAMED_METRICS_MAX])
{
    size_t count = 0;
#define WK_MODEL_METRIC(field, tensor, name, condition, checked)                                   \
    if (condition) out[count++] = (wk_named_metric){name, m->field};
#define WK_UPDATE_METRIC(field, tensor, name, checked)                                             \
    out[count++] = (wk_named_metric){name, m->field};
#define WK_DERIVED_METRIC(name, value) out[count++] = (wk_named_metric){name, value};
#include "agent/update_metrics.def"
    assert(count <= WK_NAMED_METRICS_MAX);
    return count;
}

size_t wk_policy_metrics_list(const wk_policy_metrics *m, wk_named_metric out[WK_NAMED_METRICS_MAX])
{
    size_t count = 0;
#define WK_POLICY_METRIC(field, name, checked) out[count++] = (wk_named_metric){name, m->field};
#include "agent/update_metrics.def"
    assert(count <= WK_NAMED_METRICS_MAX);
    return count;
}

static const char *policy_nonfinite(const wk_policy_metrics *m)
{
#define WK_POLICY_METRIC(field, name, checked)                                                     \
    if ((checked) && !isfinite(m->field)) return #field;
#include "agent/update_metrics.def"
    return NULL;
}

const char *wk_learner_metrics_nonfinite(const wk_learner_metrics *m)
{
#define WK_MODEL_METRIC(field, tensor, name, condition, checked)                                   \
    if ((checked) && !isfinite(m->field)) return #field;
#define WK_UPDATE_METRIC(field, tensor, name, checked)                                             \
    if ((checked) && !isfinite(m->field)) return #field;
#include "agent/update_metrics.def"
    return policy_nonfinite(&m->explore);
}

const char *wk_task_metrics_nonfinite(const wk_task_metrics *m, int tasks)
{
    for (int k = 0; k < tasks; k++) {
        if (!isfinite(m->reward_loss[k]) || !isfinite(m->reward_norm[k])) return "reward_loss";
        const char *name = policy_nonfinite(&m->policy[k]);
        if (name) return name;
    }
    return NULL;
}
