// Calls of the ops that move and combine elements.
#include "tensor/cpu/calls.h"
#include "tensor/cpu/kernels.h"

void wk_cpu_call_slice(const wk_cpu_call *c)
{
    int axis = c->node->attrs.slice.axis;
    wk_split from = wk_shape_split(wk_call_input_shape(c, 0), axis, 1);
    size_t width = (size_t)c->node->attrs.slice.count * from.inner;
    const float *x = c->in[0];
    wk_cpu_copy_columns(from.outer, width, x + (size_t)c->node->attrs.slice.start * from.inner,
                        from.length * from.inner, c->out[0], width, c->pool);
}

// Zeros from `begin` to `end` of a vector, where nothing was put.
static void fill_gap(const wk_cpu_call *c, size_t begin, size_t end)
{
    if (end > begin) wk_cpu_fill(end - begin, 0, (float *)c->out[0] + begin, c->pool);
}

// One vector out of several: inputs that the plan put in place already are not copied.
static void concat_vector(const wk_cpu_call *c, size_t length, size_t inner)
{
    const int *starts = c->g->extents.items + c->node->attrs.concat.starts;
    size_t covered = 0;
    for (int i = 0; i < c->node->input_count; i++) {
        size_t begin = (size_t)starts[i] * inner;
        size_t count = wk_shape_count(wk_call_input_shape(c, i));
        float *place = (float *)c->out[0] + begin;
        fill_gap(c, covered, begin);
        if (place != c->in[i]) wk_cpu_copy(count, c->in[i], place, c->pool);
        covered = begin + count;
    }
    fill_gap(c, covered, length * inner);
}

void wk_cpu_call_concat(const wk_cpu_call *c)
{
    int axis = c->node->attrs.concat.axis;
    wk_split to = wk_shape_split(wk_call_output_shape(c, 0), axis, 1);
    if (to.outer == 1) {
        concat_vector(c, to.length, to.inner);
        return;
    }
    const int *starts = c->g->extents.items + c->node->attrs.concat.starts;
    if (c->node->attrs.concat.gaps) wk_cpu_fill(wk_call_count(c), 0, c->out[0], c->pool);
    for (int i = 0; i < c->node->input_count; i++) {
        size_t width = (size_t)wk_call_input_shape(c, i).dim[axis] * to.inner;
        wk_cpu_copy_columns(to.outer, width, c->in[i], width,
                            (float *)c->out[0] + (size_t)starts[i] * to.inner, to.length * to.inner,
                            c->pool);
    }
}

void wk_cpu_call_repeat(const wk_cpu_call *c)
{
    wk_split to = wk_shape_split(wk_call_output_shape(c, 0), c->node->attrs.repeat.axis, 1);
    float scale = c->node->attrs.repeat.scale;
    const float *x = c->in[0];
    float *y = c->out[0];
    if (to.inner == 1) {
        wk_cpu_broadcast_rows(to.outer, to.length, scale, x, y, c->pool);
        return;
    }
    for (size_t i = 0; i < to.outer; i++)
        wk_cpu_broadcast_columns(to.length, to.inner, scale, x + i * to.inner,
                                 y + i * to.length * to.inner, c->pool);
}

void wk_cpu_call_add(const wk_cpu_call *c)
{
    wk_cpu_add(wk_call_count(c), c->in[0], c->in[1], c->out[0], c->pool);
}

void wk_cpu_call_mul(const wk_cpu_call *c)
{
    wk_cpu_mul(wk_call_count(c), c->in[0], c->in[1], c->out[0], c->pool);
}

void wk_cpu_call_add_n(const wk_cpu_call *c)
{
    const float *sum = c->in[0];
    if (c->node->input_count == 1 && sum != c->out[0])
        wk_cpu_copy(wk_call_count(c), sum, c->out[0], c->pool);
    for (int i = 1; i < c->node->input_count; i++) {
        wk_cpu_add(wk_call_count(c), sum, c->in[i], c->out[0], c->pool);
        sum = c->out[0];
    }
}

void wk_cpu_call_affine(const wk_cpu_call *c)
{
    wk_cpu_affine(wk_call_count(c), c->node->attrs.affine.scale, c->node->attrs.affine.offset,
                  c->in[0], c->out[0], c->pool);
}

void wk_cpu_call_clamp_min(const wk_cpu_call *c)
{
    wk_cpu_clamp_min(wk_call_count(c), c->node->attrs.floor, c->in[0], c->out[0], c->pool);
}

void wk_cpu_call_clamp_min_grad(const wk_cpu_call *c)
{
    wk_cpu_clamp_min_backward(wk_call_count(c), c->node->attrs.floor, c->in[1], c->in[0], c->out[0],
                              c->pool);
}

void wk_cpu_call_scale_rows(const wk_cpu_call *c)
{
    size_t rows = wk_shape_count(wk_call_input_shape(c, 1));
    wk_cpu_scale_rows(rows, wk_call_count(c) / rows, c->in[1], c->in[0], c->out[0], c->pool);
}

void wk_cpu_call_reduce(const wk_cpu_call *c)
{
    wk_split from = wk_shape_split(wk_call_input_shape(c, 0), c->node->attrs.reduce.axis,
                                   c->node->attrs.reduce.axes);
    float scale = c->node->attrs.reduce.scale;
    const float *x = c->in[0];
    float *y = c->out[0];
    if (from.outer == 1 && from.inner == 1) {
        wk_cpu_sum(from.length, scale, x, y, c->pool);
    } else if (from.inner == 1) {
        wk_cpu_row_sums(from.outer, from.length, scale, x, y, c->pool);
    } else {
        for (size_t i = 0; i < from.outer; i++)
            wk_cpu_column_sums(from.length, from.inner, scale, x + i * from.length * from.inner,
                               y + i * from.inner, c->pool);
    }
}
