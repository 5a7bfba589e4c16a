// The kernel that runs a whole observed sequence, in bf16, against the CPU's nodes in float32: what
// it observes, and the gradients of everything it reads. A draw whose threshold falls between the
// two roundings differs, some in a thousand, and takes its sequence elsewhere: sequences without
// one are held to bf16's rounding, and the sums over all sequences to less.
#include "base/random.h"
#include "model/rssm.h"
#include "support/backend.h"
#include "support/check.h"
#include "tensor/cuda/cuda.h"
#include "tensor/plan.h"
#include "tensor/program.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 4, ACTIONS = 3, RESULTS = 12 };

typedef struct observation {
    wk_graph *g;
    wk_params *params;
    wk_scope *scope;
    wk_program *program;
    wk_tensor given[6]; // embed, action, keep, and the weights of the loss
    wk_tensor result[RESULTS];
} observation;

static const char *const names[RESULTS] = {"stoch",  "deter",    "logits",       "d embed",
                                           "d in",   "d in b",   "d gru x",      "d gru h",
                                           "d gain", "d offset", "d post deter", "d post b"};

static wk_learner_config config_of(int size, int classes, int rows)
{
    wk_learner_config c = wk_learner_config_default();
    c.depth = 2, c.deter = c.hidden = size, c.stoch = c.classes = classes;
    c.batch = rows, c.length = STEPS, c.action_size = ACTIONS, c.seed = 3;
    return c;
}

// sum(x * weight), the weight an input.
static wk_tensor weighed(observation *o, int i, wk_tensor x)
{
    o->given[i] = wk_graph_input(o->g, WK_F32, wk_graph_shape(o->g, x), "weight");
    return wk_graph_sum_all(o->g, wk_graph_mul(o->g, x, o->given[i]));
}

static void record(observation *o, const wk_learner_config *c)
{
    wk_graph *g = o->g;
    int rows = c->batch, embed = 32 * c->depth;
    o->given[0] = wk_graph_input(g, WK_F32, WK_SHAPE(STEPS, rows, embed), "embed");
    o->given[1] = wk_graph_input(g, WK_F32, WK_SHAPE(STEPS, rows, ACTIONS), "action");
    o->given[2] = wk_graph_input(g, WK_F32, WK_SHAPE(STEPS, rows), "keep");
    wk_tensor counter = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "counter", NULL, 0);
    wk_rssm rssm = wk_rssm_use(o->scope, c);
    wk_observed seen =
        wk_rssm_observe(&rssm, o->given[0], o->given[1], o->given[2], counter, "test/observe");
    wk_tensor loss = weighed(o, 3, seen.latent.stoch);
    loss = wk_graph_add(g, loss, weighed(o, 4, seen.latent.deter));
    loss = wk_graph_add(g, loss, weighed(o, 5, seen.post_logits));
    wk_tensor from[] = {o->given[0],   rssm.in_stoch,   rssm.in_bias,    rssm.gru_x,    rssm.gru_h,
                        rssm.gru_gain, rssm.gru_offset, rssm.post_deter, rssm.post_bias};
    o->result[0] = seen.latent.stoch;
    o->result[1] = seen.latent.deter;
    o->result[2] = seen.post_logits;
    wk_graph_gradients(g, loss, from, sizeof from / sizeof *from, o->result + 3);
    for (int i = 0; i < RESULTS; i++)
        wk_graph_output(g, o->result[i]);
}

static void fill(observation *o, int i)
{
    wk_error err = {0};
    size_t count = wk_shape_count(wk_graph_shape(o->g, o->given[i]));
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    wk_rng rng = wk_rng_stream(7, "observe", (uint64_t)i);
    for (size_t k = 0; k < count; k++)
        values[k] = (float)wk_rng_uniform(&rng, -1, 1);
    // A state that starts anew in the middle of a sequence.
    for (size_t k = 0; i == 2 && k < count; k++)
        values[k] = k == count / 2 ? 0.0f : 1.0f;
    assert_ok(wk_program_upload(o->program, o->given[i], values, count * sizeof *values, &err));
    free(values);
}

// Up to the plan of its program.
static observation plan(wk_backend *backend, const wk_learner_config *c)
{
    wk_error err = {0};
    observation o = {0};
    wk_params_config params = {.name = "model", .seed = c->seed};
    assert_ok(wk_graph_create(&o.g, &err));
    assert_ok(wk_params_create(&params, &o.params, &err));
    assert_ok(wk_scope_create(o.params, o.g, &o.scope, &err));
    record(&o, c);
    assert_ok(wk_scope_bind(o.scope, backend, &err));
    assert_ok(wk_program_plan(o.g, backend, &o.program, &err));
    return o;
}

static observation observe(wk_backend *backend, const wk_learner_config *c)
{
    wk_error err = {0};
    observation o = plan(backend, c);
    assert_ok(wk_program_compile(o.program, NULL, &err));
    for (int i = 0; i < 6; i++)
        fill(&o, i);
    assert_ok(wk_program_run(o.program, &err));
    return o;
}

static void close_observation(observation *o)
{
    wk_program_destroy(o->program);
    wk_scope_destroy(o->scope);
    wk_graph_destroy(o->g);
    wk_params_destroy(o->params);
}

static float *download(const observation *o, int i, size_t *count)
{
    wk_error err = {0};
    *count = wk_shape_count(wk_graph_shape(o->g, o->result[i]));
    float *values = malloc(*count * sizeof *values);
    assert_non_null(values);
    assert_ok(wk_program_download(o->program, o->result[i], values, *count * sizeof *values, &err));
    return values;
}

enum { OF_SEQUENCES = 4 }; // the first results are [STEPS,sequences,..]

// Which sequences drew the same classes in all steps; returns how many.
static int find_same(const float *ours, const float *truth, size_t count, int rows, bool *same)
{
    size_t width = count / STEPS / (size_t)rows;
    int found = 0;
    for (int row = 0; row < rows; row++) {
        same[row] = true;
        for (size_t t = 0; t < STEPS; t++) {
            size_t at = (t * (size_t)rows + (size_t)row) * width;
            if (memcmp(ours + at, truth + at, width * sizeof *ours) != 0) same[row] = false;
        }
        found += same[row];
    }
    return found;
}

// |ours - truth| / |truth|, as lengths of vectors, over the chosen sequences or, with NULL, all.
static double distance(const float *ours, const float *truth, size_t count, int rows,
                       const bool *chosen)
{
    double off = 0, all = 0;
    size_t width = chosen ? count / STEPS / (size_t)rows : 1;
    for (size_t i = 0; i < count; i++) {
        if (chosen && !chosen[i / width % (size_t)rows]) continue;
        double d = (double)ours[i] - (double)truth[i];
        off += d * d;
        all += (double)truth[i] * (double)truth[i];
    }
    return sqrt(off / all);
}

static void check_sizes(int size, int classes, int rows)
{
    wk_error err = {0};
    wk_backend *cpu, *gpu;
    wk_learner_config c = config_of(size, classes, rows);
    assert_ok(wk_backend_cpu_create(NULL, &cpu, &err));
    assert_ok(test_cuda_create(true, &gpu, &err));
    observation truth = observe(cpu, &c), ours = observe(gpu, &c), again = observe(gpu, &c);
    assert_int_equal(ours.program->plan->groups.count, 2); // the kernel is what runs, both ways
    bool same[16];
    int found = 0;
    for (int i = 0; i < RESULTS; i++) {
        size_t count;
        float *x = download(&ours, i, &count), *y = download(&again, i, &count);
        float *z = download(&truth, i, &count);
        if (i == 0) found = find_same(x, z, count, rows, same);
        assert_true(2 * found >= rows);
        double off = distance(x, z, count, rows, i < OF_SEQUENCES ? same : NULL);
        if (!(off < (i < OF_SEQUENCES || found == rows ? 0.02 : 0.2)))
            fail_msg("%d units, %d rows: %s is off by %.3g", size, rows, names[i], off);
        assert_memory_equal(x, y, count * sizeof *x);
        free(x);
        free(y);
        free(z);
    }
    close_observation(&again);
    close_observation(&ours);
    close_observation(&truth);
    wk_backend_destroy(gpu);
    wk_backend_destroy(cpu);
}

// Members with weights and draws of their own.
static void check_population(int size, int classes, int rows, int population)
{
    enum { MOST = 34 };
    assert_true(population <= MOST);
    wk_error err = {0};
    wk_backend *backends[MOST], *gpu;
    observation members[MOST];
    wk_program *programs[MOST];
    wk_buffer *temporaries[MOST] = {NULL};
    wk_learner_config c = config_of(size, classes, rows);
    assert_ok(test_cuda_create(true, &gpu, &err));
    assert_ok(wk_backend_cuda_create_population(0, WK_CUDA_BF16, population, backends, &err));
    for (int r = 0; r < population; r++) {
        c.seed = 3 + (uint64_t)r;
        members[r] = plan(backends[r], &c);
        programs[r] = members[r].program;
    }
    assert_ok(wk_program_compile_population(programs, temporaries, population, &err));
    for (int r = 0; r < population; r++)
        for (int i = 0; i < 6; i++)
            fill(&members[r], i);
    assert_ok(wk_program_run(programs[0], &err));
    for (int r = 0; r < population; r++) {
        c.seed = 3 + (uint64_t)r;
        observation alone = observe(gpu, &c);
        for (int i = 0; i < RESULTS; i++) {
            size_t count;
            float *x = download(&members[r], i, &count), *y = download(&alone, i, &count);
            double off = distance(x, y, count, c.batch, NULL);
            if (!(off < 1e-3)) fail_msg("member %d: %s is off by %.3g", r, names[i], off);
            free(x);
            free(y);
        }
        close_observation(&alone);
    }
    for (int r = 0; r < population; r++)
        close_observation(&members[r]);
    for (int r = 0; r < population; r++)
        wk_backend_destroy(backends[r]);
    wk_backend_destroy(gpu);
}

// The kernels of one member, those of which more share a multiprocessor, and more members than the
// device holds at once even of these.
TEST_CASE(a_population_s_sequences_are_those_of_each_alone)
{
    check_population(256, 24, 16, 3);
    check_population(256, 24, 16, 10);
    check_population(256, 24, 16, 14);
    check_population(128, 16, 8, 34);
    check_population(600, 32, 16, 2);
}

TEST_CASE(a_sequence_of_the_quick_preset_is_the_cpu_s)
{
    check_sizes(128, 16, 8);
}

TEST_CASE(a_sequence_of_the_small_preset_is_the_cpu_s)
{
    check_sizes(256, 24, 16);
}

TEST_CASE(a_sequence_of_the_paper_preset_is_the_cpu_s)
{
    check_sizes(600, 32, 16);
}

TEST_CASE(fewer_sequences_than_a_tile_has_rows_are_the_cpu_s)
{
    check_sizes(600, 32, 3);
}

TEST_MAIN(NULL, NULL)
