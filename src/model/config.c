#include "model/config.h"

#include "base/text.h"

#define DEFAULT_INT(value, choices) value
#define DEFAULT_NUMBER(value, choices) value
#define DEFAULT_TEXT(value, choices) wk_text_choice(choices, value)

wk_learner_config wk_learner_config_default(void)
{
    return (wk_learner_config){
#define FIELD(kind, name, key, value, min, max, ...) .name = DEFAULT_##kind(value, max),
        WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    };
}

static wk_status check(const char *name, float value, float min, float max, const char *meaning,
                       wk_error *err)
{
    if (value >= min && value <= max) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "learner: %s = %g is not within %g to %g (%s)", name,
                   (double)value, (double)min, (double)max, meaning);
}

#define MAX_INT(max) (max)
#define MAX_NUMBER(max) (max)
#define MAX_TEXT(choices) (wk_text_choices(choices) - 1)

wk_status wk_learner_config_check(const wk_learner_config *config, wk_error *err)
{
#define FIELD(kind, name, key, value, min, max, role, paper, authors, meaning)                     \
    WK_TRY(check(#name, (float)config->name, (float)(min), (float)MAX_##kind(max), meaning, err));
    WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    WK_TRY(check("action_size", (float)config->action_size, config->discrete ? 2 : 1, 32,
                 "of the domain", err));
    WK_TRY(check("observation.vector", (float)config->observation.vector,
                 config->observation.no_image ? 1 : 0, WK_VECTOR_MAX, "of the domain", err));
    return check("tasks", (float)config->tasks, 0, 16, "policies trained alongside", err);
}

bool wk_learner_config_is_alike(const wk_learner_config *a, const wk_learner_config *b)
{
    wk_learner_config other = *b;
    other.model_rate = a->model_rate;
    other.ensemble_rate = a->ensemble_rate;
    other.policy_rate = a->policy_rate;
    other.exploration_rate = a->exploration_rate;
#define FIELD(kind, name, ...)                                                                     \
    if (a->name != other.name) return false;
    WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    return a->action_size == b->action_size && a->discrete == b->discrete &&
           a->observation.vector == b->observation.vector &&
           a->observation.no_image == b->observation.no_image && a->tasks == b->tasks &&
           a->discount_head == b->discount_head && a->exploration == b->exploration;
}
