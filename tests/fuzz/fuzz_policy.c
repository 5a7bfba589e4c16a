// Fuzz target: a run from anywhere, opened through the public API. A true run is edited in any of
// its files; policy and world model are made of it, or refused with a message, and what was made
// acts and imagines. Some inputs are the state that a policy remembers. Built by tools/fuzz/run.
#include "fuzz/fuzz.h"
#include "train/runs.h"
#include "waker/model.h"
#include "waker/policy.h"

static wk_policy *remembers; // of the true run

static wk_policy_config policy_of(const char *run)
{
    wk_policy_config config = wk_policy_config_default();
    config.run = run, config.task = WK_POLICY_TASK_EXPLORE, config.device = "cpu";
    config.threads = 1;
    return config;
}

static void prepare(void)
{
    wk_error err = {0};
    wk_run_control control = {0};
    wk_run_end end;
    wk_run_config config = quiet_run();
    config.steps = 40, config.prefill = 24, config.env_count = 1, config.replay_capacity = 60;
    config.snapshot_every = 40, config.log_images_every = 0;
    config.batch = 1, config.length = 3, config.horizon = 2;
    fuzz_enter();
    if (wk_train(&config, "true", NULL, &control, &end, &err) != WK_OK) abort();
    fuzz_remove("true/replay"); // the API does not read it
    fuzz_load("true");
    wk_policy_config policy = policy_of("true");
    if (wk_policy_create(&policy, &remembers, &err) != WK_OK) abort();
}

static void act(wk_policy *policy)
{
    static uint8_t image[WK_IMAGE_BYTES];
    float actions[8];
    wk_error err = {0};
    wk_status status = wk_policy_act(policy, image, &(uint8_t){WK_IS_FIRST}, actions, &err);
    assert(status == WK_OK || err.message[0]);
}

static void use_model(const char *run)
{
    wk_error err = {0};
    wk_model *model;
    wk_model_config config = wk_model_config_default();
    config.run = run, config.device = "cpu", config.threads = 1;
    wk_status status = wk_model_create(&config, &model, &err);
    assert(status == WK_OK || err.message[0]);
    if (status != WK_OK) return;
    wk_model_sizes sizes = wk_model_get_sizes(model);
    float *numbers = calloc((size_t)(sizes.stoch * sizes.classes + sizes.deter + sizes.action) + 1,
                            sizeof *numbers);
    wk_model_latents states = {numbers, numbers + sizes.stoch * sizes.classes};
    status = wk_model_imagine(model, 1, states, states.deter + sizes.deter, &err);
    assert(status == WK_OK || err.message[0]);
    free(numbers);
    wk_model_destroy(model);
}

// The state of the true policy, with the input laid over it.
static void load_state(const uint8_t *bytes, size_t size)
{
    wk_error err = {0};
    size_t true_size = wk_policy_state_size(remembers);
    size_t at = size > 1 ? bytes[0] % true_size : 0;
    uint8_t *state = malloc(true_size + 64);
    if (wk_policy_save(remembers, state, &err) != WK_OK) abort();
    for (size_t i = 1; i < size && at + i - 1 < true_size; i++)
        state[at + i - 1] = bytes[i];
    wk_status status = wk_policy_load(remembers, state, true_size + (size == 1), &err);
    assert(status == WK_OK || err.message[0]);
    act(remembers);
    if (wk_policy_reset(remembers, 0, &err) != WK_OK) abort();
    free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    wk_error err = {0};
    wk_policy *policy;
    if (fuzz_count == 0) prepare();
    if (size > 0 && bytes[0] % 4 == 3) {
        load_state(bytes + 1, size - 1);
        return 0;
    }
    bool edited = fuzz_make("run", bytes, size) > 0;
    wk_policy_config config = policy_of("run");
    wk_status status = wk_policy_create(&config, &policy, &err);
    assert(status == WK_OK || (edited && err.message[0]));
    if (status == WK_OK) act(policy);
    if (status == WK_OK) wk_policy_destroy(policy);
    use_model("run");
    return 0;
}
