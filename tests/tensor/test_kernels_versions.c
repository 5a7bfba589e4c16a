// The kernels exist in several versions, one per instruction set, and must agree to the bit. This
// program runs every kernel of ours on fixed inputs and digests the outputs; built a second time
// with the baseline version alone it prints its digests, and the test compares the two lists.
#include "kernel_check.h"
#include "tensor/cpu/kernels.h"

enum { ROWS = 37, COLS = 131, N = ROWS * COLS };

typedef struct inputs {
    float *a, *b, *positive; // N numbers each
    float *y, *z;            // 3 N numbers each
    float *workspace;        // 64 N
    uint8_t bytes[N];
    wk_draws draws;
} inputs;

typedef struct digest {
    const char *name;
    uint64_t hash;
} digest;

enum { DIGESTS = 32 };

typedef struct digests {
    digest list[DIGESTS];
    int count;
} digests;

// FNV-1a over the bytes of both outputs, which are cleared again.
static void take(digests *d, const char *name, inputs *in)
{
    uint64_t hash = 0xCBF29CE484222325u;
    float *outputs[] = {in->y, in->z};
    for (int k = 0; k < 2; k++) {
        const uint8_t *bytes = (const uint8_t *)outputs[k];
        for (size_t i = 0; i < 3 * N * sizeof(float); i++)
            hash = (hash ^ bytes[i]) * 0x100000001B3u;
        memset(outputs[k], 0, 3 * N * sizeof(float));
    }
    assert_true(d->count < DIGESTS);
    d->list[d->count++] = (digest){name, hash};
}

static void digest_layers(inputs *in, digests *d)
{
    for (wk_activation act = WK_IDENTITY; act <= WK_SIGMOID; act++) {
        wk_bias_act p = {1, ROWS, COLS, 0, act};
        wk_cpu_bias_act(&p, in->a, in->b, in->y, NULL);
        wk_cpu_bias_act_backward(&p, in->a, in->b, in->z, in->z + N, NULL);
        take(d, "bias and activation", in);
    }
    wk_gru gru = {1, ROWS, COLS / 3, 0, 1e-3f, -1};
    wk_gru_params params = {in->b, in->positive, in->a};
    wk_gru_grads grads = {in->z, in->z + COLS, in->z + 2 * COLS};
    wk_cpu_gru(&gru, in->a, &params, in->b, in->y, in->y + N, in->y + N + ROWS, NULL);
    wk_cpu_gru_backward(&gru, in->a, &params, in->b, in->y + N, in->y + N + ROWS, in->positive,
                        in->y + 2 * N, in->z + N, &grads, in->workspace, NULL);
    take(d, "GRU cell", in);
    wk_conv conv = {3, 9, 3, 5, 4, 2};
    wk_cpu_conv(&conv, in->a, in->b, in->positive, WK_ELU, in->y, in->workspace, NULL);
    wk_cpu_conv_transposed(&conv, in->a, in->b, in->positive, WK_ELU, in->z, in->workspace, NULL);
    take(d, "convolutions", in);
}

static void digest_distributions(inputs *in, digests *d)
{
    wk_cpu_sample_onehot(ROWS, COLS, in->a, &in->draws, in->y, in->z, NULL);
    take(d, "one-hot sample", in);
    wk_cpu_softmax(ROWS, COLS, in->a, in->y + N, NULL);
    wk_cpu_softmax_backward(ROWS, COLS, in->y + N, in->b, in->z, NULL);
    take(d, "softmax", in);
    wk_cpu_kl(ROWS, 1, COLS, in->a, in->b, in->y, NULL);
    wk_cpu_kl_backward(ROWS, 1, COLS, in->a, in->b, in->positive, in->z, in->z + N, NULL);
    wk_cpu_entropy(ROWS, 1, COLS, in->a, in->y + N, NULL);
    take(d, "KL and entropy", in);
    enum { DIMS = 5, STATES = N / 2 / DIMS };
    wk_cpu_truncated_normal_sample(STATES, DIMS, in->a, &in->draws, in->y, NULL);
    wk_cpu_truncated_normal_sample_backward(STATES, DIMS, in->a, &in->draws, WK_SAMPLE_EXACT, in->b,
                                            in->z, NULL);
    take(d, "truncated normal sample", in);
    wk_cpu_truncated_normal_entropy(STATES, DIMS, in->a, in->y, NULL);
    wk_cpu_truncated_normal_entropy_backward(STATES, DIMS, in->a, in->b, in->z, NULL);
    take(d, "truncated normal entropy", in);
}

static void digest_learning(inputs *in, digests *d)
{
    wk_cpu_half_squared_error(1, ROWS, COLS, in->a, in->b, 0, in->y, NULL);
    wk_cpu_half_squared_error_backward(1, ROWS, COLS, in->a, in->b, 0, in->positive, in->z, NULL);
    take(d, "Gaussian loss", in);
    wk_cpu_disagreement(WK_DISAGREEMENT_STD, ROWS, 1, COLS, 50, in->a, in->y, NULL);
    wk_cpu_disagreement_backward(WK_DISAGREEMENT_STD, ROWS, 1, COLS, 50, in->a, in->b, in->z, NULL);
    take(d, "disagreement", in);
    wk_lambda_return returns = {1, ROWS - 1, COLS, 0.99f, 0.95f};
    wk_cpu_lambda_return(&returns, in->a, in->b, in->y, NULL);
    wk_cpu_lambda_return_backward(&returns, in->a, in->z, in->z + N, NULL);
    take(d, "lambda return", in);
    wk_adam adam = {3e-4, 0.9, 0.999, 1e-5, 1e-6, 0, 3};
    memcpy(in->y, in->a, N * sizeof(float));
    memcpy(in->z, in->b, N * sizeof(float));
    memcpy(in->z + N, in->positive, N * sizeof(float));
    wk_cpu_adam(&adam, N, NULL, in->a, in->y, in->z, in->z + N, NULL);
    take(d, "Adam", in);
    wk_span span = {in->a, N};
    wk_cpu_global_norm(1, &span, in->y, NULL);
    wk_cpu_sum(N, 1, in->a, in->y + 1, NULL);
    wk_cpu_row_sums(ROWS, COLS, 1, in->a, in->y + 2, NULL);
    wk_cpu_column_sums(ROWS, COLS, 1, in->a, in->z, NULL);
    take(d, "sums", in);
    wk_cpu_uniform(N, &in->draws, -1, 1, in->y, NULL);
    wk_cpu_image_normalise(N, in->bytes, in->z, NULL);
    take(d, "uniform and images", in);
}

static digests digest_all(void)
{
    arrays a = arrays_new(1);
    inputs in = {.draws = {5, 6, 7}};
    in.a = new_input(&a, N, -4, 4), in.b = new_input(&a, N, -1, 1);
    in.positive = new_input(&a, N, 0.1, 2);
    in.y = new_input(&a, 3 * N, 0, 0), in.z = new_input(&a, 3 * N, 0, 0);
    in.workspace = new_input(&a, 64 * N, 0, 0);
    for (size_t i = 0; i < N; i++)
        in.bytes[i] = (uint8_t)i;
    digests d = {0};
    digest_layers(&in, &d);
    digest_distributions(&in, &d);
    digest_learning(&in, &d);
    arrays_release(&a);
    return d;
}

#ifdef PLAIN_PROGRAM
TEST_CASE(every_instruction_set_gives_the_same_bits)
{
    digests ours = digest_all();
    FILE *plain = popen(PLAIN_PROGRAM, "r");
    assert_non_null(plain);
    for (int i = 0; i < ours.count; i++) {
        unsigned long long hash = 0;
        assert_int_equal(fscanf(plain, "%llx", &hash), 1);
        if (hash != ours.list[i].hash) fail_msg("%s differs", ours.list[i].name);
    }
    assert_int_equal(pclose(plain), 0);
}

TEST_MAIN(NULL, NULL)
#else
int main(void)
{
    digests d = digest_all();
    for (int i = 0; i < d.count; i++)
        printf("%016llx\n", (unsigned long long)d.list[i].hash);
    return 0;
}
#endif
