#include "model/config.h"

wk_learner_config wk_learner_config_default(void)
{
    return (wk_learner_config){
#define FIELD(type, name, value, min, max, meaning) .name = value,
        WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    };
}

wk_status wk_learner_config_check(const wk_learner_config *config, wk_error *err)
{
#define FIELD(type, name, value, min, max, meaning)                                                \
    if (!(config->name >= (type)(min) && config->name <= (type)(max)))                             \
        return wk_fail(err, WK_E_INPUT, "learner: " #name " = %g is not within %g to %g (%s)",     \
                       (double)config->name, (double)(min), (double)(max), meaning);
    WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    if (config->action_size < 1 || config->action_size > 32)
        return wk_fail(err, WK_E_INPUT, "learner: action_size = %d is not within 1 to 32",
                       config->action_size);
    if (config->tasks < 0 || config->tasks > 16)
        return wk_fail(err, WK_E_INPUT, "learner: tasks = %d is not within 0 to 16", config->tasks);
    return WK_OK;
}
