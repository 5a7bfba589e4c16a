// Calls of the ops that write persistent tensors: the optimiser, copies, counters.
#include "tensor/cpu/calls.h"
#include "tensor/cpu/kernels.h"

#include <math.h>
#include <string.h>

void wk_cpu_call_global_norm(const wk_cpu_call *c)
{
    size_t stacks = (size_t)c->node->attrs.stack;
    wk_span *spans = c->workspace;
    float *norm = c->out[0];
    for (size_t s = 0; s < stacks; s++) {
        for (int i = 0; i < c->node->input_count; i++) {
            size_t count = wk_shape_count(wk_call_input_shape(c, i)) / stacks;
            spans[i] = (wk_span){(const float *)c->in[i] + s * count, count};
        }
        wk_cpu_global_norm((size_t)c->node->input_count, spans, &norm[s], c->pool);
    }
}

// What adam_begin hands to adam for each stack member, as floats: the norm (NaN says skip), the
// rate, and the number of the step in two exact halves.
enum { STEP_NORM, STEP_RATE, STEP_LOW, STEP_HIGH, STEP_FLOATS };
enum { STEP_LOW_BITS = 24 };

static float joint_norm(const float *norm, size_t stacks)
{
    double sum = 0;
    for (size_t s = 0; s < stacks; s++)
        sum += (double)norm[s] * (double)norm[s];
    return (float)sqrt(sum);
}

// Whether the member of a population does nothing in this run; input i says so, where it is given.
static bool is_idle(const wk_cpu_call *c, int i)
{
    return i < c->node->input_count && c->in[i] && *(const uint64_t *)c->in[i];
}

void wk_cpu_call_adam_begin(const wk_cpu_call *c)
{
    size_t stacks = (size_t)wk_call_output_shape(c, 0).dim[0];
    const float *norm = c->in[0], *rate = c->in[1];
    uint64_t *state = c->in[2];
    const uint64_t *flag = c->node->input_count > 3 ? c->in[3] : NULL;
    float *step = c->out[0], all = joint_norm(norm, stacks);
    bool joint = c->node->attrs.adam.joint_clip, idle = is_idle(c, 4);
    for (size_t s = 0; s < stacks; s++, step += STEP_FLOATS, state += 2) {
        float clipped = joint ? all : norm[s];
        bool skip = idle || !isfinite(clipped) || (flag && *flag);
        state[skip] += !idle;
        step[STEP_NORM] = skip ? NAN : clipped;
        step[STEP_RATE] = *rate;
        step[STEP_LOW] = (float)(state[0] & ((1u << STEP_LOW_BITS) - 1));
        step[STEP_HIGH] = (float)(state[0] >> STEP_LOW_BITS);
    }
}

// Keras' epsilon as one of PyTorch's formula: the root of v is not corrected where it is added.
static double epsilon_of(const wk_adam_config *config, uint64_t step)
{
    double epsilon = config->epsilon;
    return config->keras_epsilon ? epsilon / sqrt(1 - pow(config->beta2, (double)step)) : epsilon;
}

void wk_cpu_call_adam(const wk_cpu_call *c)
{
    size_t stacks = (size_t)wk_call_input_shape(c, 4).dim[0];
    size_t count = wk_shape_count(wk_call_input_shape(c, 0)) / stacks;
    const wk_adam_config *config = &c->node->attrs.adam;
    float *weight = c->in[0], *m = c->in[1], *v = c->in[2];
    const float *gradient = c->in[3], *step = c->in[4];
    for (size_t s = 0; s < stacks; s++, step += STEP_FLOATS) {
        if (isnan(step[STEP_NORM])) continue;
        uint64_t number = (uint64_t)step[STEP_LOW] + ((uint64_t)step[STEP_HIGH] << STEP_LOW_BITS);
        const wk_adam p = {.rate = step[STEP_RATE],
                           .beta1 = config->beta1,
                           .beta2 = config->beta2,
                           .eps = epsilon_of(config, number),
                           .decay = config->decay,
                           .clip = config->clip,
                           .step = number};
        size_t at = s * count;
        wk_cpu_adam(&p, count, &step[STEP_NORM], gradient + at, weight + at, m + at, v + at,
                    c->pool);
    }
}

void wk_cpu_call_check_finite(const wk_cpu_call *c)
{
    size_t count = wk_shape_count(wk_call_input_shape(c, 0));
    if (wk_cpu_count_nonfinite(count, c->in[0], c->pool) > 0) *(uint64_t *)c->in[1] = 1;
}

void wk_cpu_call_store(const wk_cpu_call *c)
{
    const wk_type type = wk_info(c->g, wk_node_inputs(c->g, c->node)[0])->type;
    if (c->in[0] == c->in[1]) return; // it was made in its place
    if (type.dtype == WK_F32)
        wk_cpu_copy(wk_shape_count(type.shape), c->in[1], c->in[0], c->pool);
    else
        memmove(c->in[0], c->in[1], wk_type_size(type));
}

void wk_cpu_call_store_every(const wk_cpu_call *c)
{
    if (is_idle(c, 3)) return;
    if (*(const uint64_t *)c->in[2] % c->node->attrs.period == 0) wk_cpu_call_store(c);
}

void wk_cpu_call_count(const wk_cpu_call *c)
{
    if (!is_idle(c, 1)) *(uint64_t *)c->in[0] += c->node->attrs.period;
}

// Here a run is done when it is enqueued: there is nothing to wait for.
void wk_cpu_call_mark(const wk_cpu_call *c)
{
    (void)c;
}
