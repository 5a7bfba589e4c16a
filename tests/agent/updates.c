// What two builds must have in common when only the shape of the code changes: `updates` prints a
// checksum of the learner after 20 updates on the CPU in every configuration below, `launches` (the
// same with cuda/recorder.h) what the CUDA backend captures for it. tools/same-updates compares the
// output of two builds.
#include "../bench/sizes.h"
#include "agent/acting.h"
#include "agent/prediction.h"
#include "agent/synthetic_batch.h"
#include "base/file.h"
#include "base/hash.h"
#include "support/check.h"
#ifdef WK_RECORDER
#include "cuda/recorder.h"
#include "tensor/cuda/cuda.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { UPDATES = 20, MEMBERS_MAX = 3 };

static wk_error err;

// What differs from the sizes alone: fields that are left out are those of the default.
typedef struct variant {
    const char *name;
    int members, tasks, vector;
    bool no_image, discrete, ends, random;
    float saturation;
    int kind, action, states, clip, epsilon, sample;
} variant;

static const variant variants[] = {
    {.name = "image"},
    {.name = "vector", .vector = 7, .no_image = true},
    {.name = "image and vector", .vector = 5},
    {.name = "discount head", .ends = true, .tasks = 1},
    {.name = "discrete", .discrete = true, .tasks = 1},
    {.name = "saturation", .saturation = 0.1f},
    {.name = "variance of arriving actions",
     .kind = WK_DISAGREEMENT_VARIANCE,
     .action = WK_ACTION_ARRIVING},
    {.name = "all states", .states = WK_STATES_ALL},
    {.name = "as the authors'",
     .clip = WK_CLIP_JOINT,
     .epsilon = WK_EPSILON_KERAS,
     .tasks = 2,
     .sample = 1},
    {.name = "random exploration", .random = true, .tasks = 1},
    {.name = "tasks", .tasks = 3},
    {.name = "population", .members = 3, .tasks = 1},
    {.name = "population of vectors, discrete",
     .members = 2,
     .vector = 4,
     .no_image = true,
     .discrete = true},
};

static wk_learner_config config_of(const variant *v, const char *sizes)
{
    wk_learner_config c = wk_learner_config_default();
    if (sizes)
        assert_true(bench_sizes(&c, sizes));
    else
        c.depth = 2, c.deter = 10, c.hidden = 9, c.stoch = 3, c.classes = 5, c.units = 8,
        c.layers = 2, c.ensemble = 3, c.batch = 3, c.length = 6, c.horizon = 3;
    c.slow_period = 4, c.action_size = 4, c.tasks = v->tasks, c.seed = 5;
    c.observation.vector = v->vector, c.observation.no_image = v->no_image;
    c.discrete = v->discrete, c.discount_head = v->ends, c.saturation_scale = v->saturation;
    c.exploration = v->random ? WK_EXPLORE_RANDOM : WK_EXPLORE_PLAN2EXPLORE;
    c.ensemble_kind = v->kind, c.ensemble_action = v->action, c.ensemble_states = v->states;
    c.ensemble_clip = c.reward_clip = v->clip, c.adam_epsilon = v->epsilon;
    c.sample_gradient = v->sample;
    return c;
}

static void print_weights(const wk_learner *learner)
{
    char path[64], *bytes;
    size_t size;
    snprintf(path, sizeof path, "updates.%d.tmp.safetensors", (int)getpid());
    assert_ok(wk_learner_save(learner, NULL, path, NULL, 0, &err));
    assert_ok(wk_file_read(path, 1 << 28, &bytes, &size, &err));
    printf("  %zu bytes, %08x\n", size, wk_crc32c(0, bytes, size));
    free(bytes);
    unlink(path);
}

static void learn(wk_learner *leader, const wk_synthetic_batch *batch, int members, int updates)
{
    wk_learner_batch batches[MEMBERS_MAX];
    wk_learner_metrics metrics[MEMBERS_MAX];
    for (int r = 0; r < members; r++)
        batches[r] = batch->batch;
    for (int n = 0; n < updates; n++) {
        assert_ok(wk_learner_stage(leader, batches, &err));
        assert_ok(wk_learner_start(leader, &err));
        assert_ok(wk_learner_start_tasks(leader, &err));
        assert_ok(wk_learner_finish(leader, metrics, NULL, &err));
    }
    printf("  model loss %a, disagreement %a\n", (double)metrics[0].model_loss,
           (double)metrics[0].disagreement);
}

// Graphs besides those of updates: acting, steps of latent states, predictions.
static void use(wk_learner *learner, const variant *v)
{
    wk_acting *acting;
    wk_latent_step *step;
    wk_prediction *prediction;
    if (!v->random) {
        assert_ok(wk_acting_create_estimating(learner, WK_POLICY_EXPLORE, 3, &acting, &err));
        wk_acting_destroy(acting);
    }
    for (int kind = 0; kind < WK_STEP_KINDS; kind++) {
        assert_ok(wk_latent_step_create(learner, (wk_latent_step_kind)kind, 2, true, &step, &err));
        wk_latent_step_destroy(step);
    }
    assert_ok(wk_prediction_create(learner, 2, 4, 2, &prediction, &err));
    wk_prediction_destroy(prediction);
}

static void run(const variant *v, const char *sizes, wk_backend *const *backends, int updates)
{
    wk_learner *learners[MEMBERS_MAX];
    wk_learner_config configs[MEMBERS_MAX];
    wk_synthetic_batch batch;
    int members = v->members ? v->members : 1;
    for (int r = 0; r < members; r++) {
        configs[r] = config_of(v, sizes);
        configs[r].seed += (uint64_t)r;
    }
    unsigned uses = WK_LEARNER_UPDATES | (members == 1 ? WK_LEARNER_OBSERVES : 0);
    assert_ok(wk_learner_create_population(uses, configs, backends, members, learners, &err));
    assert_ok(wk_synthetic_batch_create(configs, backends[0], &batch, &err));
    learn(learners[0], &batch, members, updates);
    if (members == 1) use(learners[0], v);
    for (int r = 0; r < members && updates > 1; r++)
        print_weights(learners[r]);
    for (int r = 0; r < members; r++)
        wk_learner_destroy(learners[r]);
    wk_synthetic_batch_free(&batch);
}

#ifdef WK_RECORDER
static void run_on_gpu(const variant *v, const char *sizes, bool bf16)
{
    wk_backend *backends[MEMBERS_MAX];
    int members = v->members ? v->members : 1;
    printf("%s, %s, %s\n", v->name, sizes, bf16 ? "bf16" : "float32");
    assert_ok(wk_backend_cuda_create_population(0, bf16 ? WK_CUDA_BF16 : WK_CUDA_F32, members,
                                                backends, &err));
    cuda_recorder_begin();
    run(v, sizes, backends, 1);
    for (int r = members - 1; r >= 0; r--)
        wk_backend_destroy(backends[r]);
}
#endif

int main(void)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
#ifdef WK_RECORDER
        for (int bf16 = 0; bf16 < 2; bf16++) {
            run_on_gpu(&variants[i], "quick", bf16);
            if (bf16) run_on_gpu(&variants[i], "small", bf16);
            if (bf16 && !variants[i].discrete) run_on_gpu(&variants[i], "paper", bf16);
        }
#else
        wk_backend *cpu;
        wk_backend *backends[MEMBERS_MAX];
        printf("%s\n", variants[i].name);
        assert_ok(wk_backend_cpu_create(NULL, &cpu, &err));
        for (int r = 0; r < MEMBERS_MAX; r++)
            backends[r] = cpu;
        run(&variants[i], NULL, backends, UPDATES);
        wk_backend_destroy(cpu);
#endif
    }
    return 0;
}
