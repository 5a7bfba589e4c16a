#include "tensor/cuda/passes/fusion.h"
#include "tensor/cuda/passes/conv_sizes.h"
#include "tensor/cuda/passes/thresholds.h"
#include "tensor/shape.h"

#include <assert.h>
#include <string.h>

enum {
    EPILOGUE_WITHIN = 4, // steps from a product to its epilogue, at most
    NEXT_MAX = 2,
};

const char *const wk_kernel_names[WK_KERNEL_COUNT] = {
    [WK_KERNEL_OP] = "op",
    [WK_KERNEL_NONE] = "none",
    [WK_KERNEL_OBSERVE] = "observe",
    [WK_KERNEL_ADAM] = "adam",
    [WK_KERNEL_SKINNY_ACTION] = "skinny_action",
    [WK_KERNEL_SKINNY_HEAD] = "skinny_head",
    [WK_KERNEL_SKINNY_N] = "skinny_n",
    [WK_KERNEL_SKINNY_K] = "skinny_k",
    [WK_KERNEL_SKINNY_DW] = "skinny_dw",
    [WK_KERNEL_WGMMA] = "wgmma",
    [WK_KERNEL_CUBLASLT_BIAS] = "cublaslt_bias",
    [WK_KERNEL_CUBLAS] = "cublas",
    [WK_KERNEL_CONV_RGB] = "conv_rgb",
    [WK_KERNEL_CONV_PLANES] = "conv_planes",
    [WK_KERNEL_RGB_WEIGHTS] = "rgb_weights",
    [WK_KERNEL_CONV_WEIGHTS] = "conv_weights",
    [WK_KERNEL_CONV_DIRECT] = "conv_direct",
    [WK_KERNEL_CONV_PRODUCT] = "conv_product",
    [WK_KERNEL_GRU_CELL] = "gru_cell",
    [WK_KERNEL_CLASS_QUADS] = "class_quads",
    [WK_KERNEL_SAMPLE_MANY] = "sample_many",
};

// A pattern that was found at a step; the other steps are -1 where the pattern has none.
typedef struct match {
    const wk_plan *plan;
    const wk_graph *g;
    const wk_cuda_limits *limits;
    const wk_fused *fused;
    int step, addend, next[NEXT_MAX], epilogue;
    wk_cuda_product p; // of a matmul
    wk_conv_sizes z;   // of a convolution
} match;

typedef const char *guard(const match *m);

// The plan's nodes, tensors and places.

static const wk_node *node_of(const match *m, int step)
{
    return &m->g->nodes.items[m->plan->nodes[step]];
}

static int input(const match *m, int step, int i)
{
    const wk_node *node = node_of(m, step);
    return i < node->input_count ? wk_node_inputs(m->g, node)[i] : 0;
}

static int output(const match *m, int step)
{
    return node_of(m, step)->outputs;
}

static wk_shape shape_of(const match *m, int tensor)
{
    return wk_info(m->g, tensor)->type.shape;
}

static unsigned formats_of(const match *m, int tensor)
{
    return m->plan->formats[wk_info(m->g, tensor)->root];
}

static bool in_bf16_alone(const match *m, int tensor)
{
    return formats_of(m, tensor) == WK_FORMAT_BF16;
}

static bool same_place(const match *m, int a, int b)
{
    wk_place x = m->plan->places[a], y = m->plan->places[b];
    return x.region == y.region && x.offset == y.offset && x.bf16 == y.bf16 &&
           wk_plan_buffer(m->plan, a) == wk_plan_buffer(m->plan, b);
}

// Whether a tensor begins at a multiple of so many numbers; bf16 copies begin at as many.
static bool begins_at(const match *m, int tensor, size_t numbers)
{
    enum { BF16_SIZE = 2 };
    wk_place place = m->plan->places[tensor];
    return place.offset != WK_NOWHERE ? place.offset % (numbers * sizeof(float)) == 0
                                      : place.bf16 % (numbers * BF16_SIZE) == 0;
}

// Whether vectors of 16 bytes can read a tensor in the format that a kernel loads, and write one in
// all its formats.
static bool loads_whole(const match *m, int tensor)
{
    return !tensor ||
           begins_at(m, tensor, in_bf16_alone(m, tensor) ? WK_ROW_UNIT : WK_ROW_UNIT / 2);
}

static bool stores_whole(const match *m, int tensor)
{
    return begins_at(m, tensor,
                     formats_of(m, tensor) & WK_FORMAT_BF16 ? WK_ROW_UNIT : WK_ROW_UNIT / 2);
}

// Bytes of a tensor in its region.
typedef struct range {
    size_t begin, end;
} range;

static range range_of(const match *m, int tensor)
{
    wk_place place = m->plan->places[tensor];
    size_t size = wk_type_size(wk_info(m->g, tensor)->type);
    if (place.offset != WK_NOWHERE) return (range){place.offset, place.offset + size};
    return (range){place.bf16, place.bf16 + size / 2};
}

static bool overlap(const match *m, int a, int b)
{
    range x = range_of(m, a), y = range_of(m, b);
    return m->plan->places[a].region == m->plan->places[b].region &&
           wk_plan_buffer(m->plan, a) == wk_plan_buffer(m->plan, b) && x.begin < y.end &&
           y.begin < x.end;
}

static bool is_lazy(const match *m, int tensor)
{
    int producer = wk_info(m->g, wk_info(m->g, tensor)->root)->producer;
    return producer >= 0 && m->plan->lazy[producer];
}

static bool is_free(const match *m, int step)
{
    return !m->plan->lazy[m->plan->nodes[step]] && !wk_plan_is_grouped(m->plan, step) &&
           m->fused[step].fused_into < 0;
}

static bool same_stream(const match *m, int a, int b)
{
    return m->plan->streams[a] == m->plan->streams[b];
}

static wk_activation activation_of(const match *m, int step)
{
    return node_of(m, step)->attrs.bias_act.activation;
}

// Whether input i of a step is a product's result, whose place its own result takes: nobody else
// reads the product then.
static bool replaces(const match *m, int step, int i, int product)
{
    int from = input(m, step, i), result = output(m, product);
    return wk_info(m->g, from)->root == result && same_place(m, from, result) &&
           same_place(m, output(m, step), result);
}

static bool reads(const match *m, int step, int root)
{
    const wk_node *node = node_of(m, step);
    for (int i = 0; i < node->input_count; i++)
        if (wk_info(m->g, input(m, step, i))->root == root) return true;
    return false;
}

// Guards of skinny products.

static const char *refuse_skinny_n(const match *m)
{
    const wk_cuda_product *p = &m->p;
    if (p->n > WK_SKINNY_MAX) return "more than 16 results a row";
    if (p->k % WK_ROW_UNIT || p->k > WK_SKINNY_ROW_MAX)
        return "its terms are no multiple of 8, or more than 640";
    if (p->transpose_a || (p->stacks > 1 && !p->stride_c))
        return "its left operand is transposed, or its stack is summed";
    if (in_bf16_alone(m, input(m, m->step, 1)) || in_bf16_alone(m, output(m, m->step)))
        return "the weights or the results exist in bf16 alone";
    if (!begins_at(m, input(m, m->step, 0), WK_ROW_UNIT)) return "its rows begin at no 16 bytes";
    return NULL;
}

static size_t bias_stacks(const match *m, int step)
{
    return wk_shape_count(shape_of(m, input(m, step, 1))) / m->p.n;
}

static const char *refuse_skinny_head(const match *m)
{
    int bias = m->next[0];
    const char *why = refuse_skinny_n(m);
    if (why) return why;
    if (m->p.accumulate) return "it adds to a sum";
    if (!same_stream(m, m->step, bias)) return "the bias is on another stream";
    if (!input(m, bias, 1) || activation_of(m, bias) != WK_IDENTITY)
        return "more, or less, than a bias follows";
    if (!replaces(m, bias, 0, m->step) || in_bf16_alone(m, output(m, bias)))
        return "the bias is not added in place, in float32";
    if (wk_shape_width(shape_of(m, output(m, bias))) != m->p.n ||
        (bias_stacks(m, bias) != 1 && bias_stacks(m, bias) != m->p.stacks))
        return "the bias has another shape";
    return NULL;
}

// Actions may be written while what they come from is still read.
static const char *refuse_skinny_action(const match *m)
{
    int bias = m->next[0], draw = m->next[1], action = output(m, draw);
    const char *why = refuse_skinny_head(m);
    if (why) return why;
    if (!same_stream(m, m->step, draw)) return "the draw is on another stream";
    if (wk_info(m->g, input(m, draw, 0))->root != output(m, bias) ||
        !same_place(m, input(m, draw, 0), output(m, bias)))
        return "the action is drawn from something else";
    if (overlap(m, input(m, m->step, 0), action) || overlap(m, input(m, m->step, 1), action) ||
        overlap(m, input(m, bias, 1), action))
        return "the action takes the place of an operand";
    return NULL;
}

static const char *refuse_skinny_k(const match *m)
{
    const wk_cuda_product *p = &m->p;
    if (p->k > WK_SKINNY_MAX) return "more than 16 terms";
    if (p->n % 4 || p->n > WK_SKINNY_ROW_MAX)
        return "its results are no multiple of 4, or more than 640";
    if (p->transpose_a || (p->stacks > 1 && !p->stride_c))
        return "its left operand is transposed, or its stack is summed";
    if (in_bf16_alone(m, input(m, m->step, 0)) || in_bf16_alone(m, input(m, m->step, 1)))
        return "an operand exists in bf16 alone";
    if (!begins_at(m, output(m, m->step), 4)) return "its result begins at no 16 bytes";
    return NULL;
}

static const char *refuse_skinny_dw(const match *m)
{
    enum { ROWS_MIN = 64 };
    const wk_cuda_product *p = &m->p;
    if (!p->transpose_a || p->transpose_b || p->accumulate || (p->stacks > 1 && !p->stride_c))
        return "it is no gradient of weights";
    if (p->n > WK_SKINNY_MAX) return "more than 16 columns";
    if (p->m % WK_ROW_UNIT || p->m > WK_SKINNY_ROW_MAX)
        return "its rows are no multiple of 8, or more than 640";
    if (p->k < ROWS_MIN) return "fewer than 64 terms";
    if (in_bf16_alone(m, input(m, m->step, 1)) || in_bf16_alone(m, output(m, m->step)))
        return "the right operand or the result exists in bf16 alone";
    if (!begins_at(m, input(m, m->step, 0), WK_ROW_UNIT)) return "its rows begin at no 16 bytes";
    return NULL;
}

// Guards of products with an epilogue.

static bool bias_fits(const match *m, int step)
{
    if (!input(m, step, 1)) return true;
    size_t stacks = bias_stacks(m, step);
    return stacks == 1 || (stacks == m->p.stacks && m->p.stride_b && m->p.stride_c);
}

// Whether what a step reads besides the product is ready before the product runs.
static bool is_ready(const match *m, int step)
{
    for (int between = m->step + 1; between < step; between++) {
        const wk_node *node = node_of(m, between);
        if (wk_op_writes(node->op)) return false;
        for (int i = 0; i < node->output_count; i++)
            if (reads(m, step, node->outputs + i)) return false;
    }
    return true;
}

// What any kernel needs to finish a product with the step that reads it.
static const char *refuse_epilogue(const match *m, int epilogue)
{
    if (!replaces(m, epilogue, 0, m->step)) return "the epilogue does not take the product's place";
    if (m->p.transpose_a) return "its left operand is transposed";
    if (wk_shape_width(shape_of(m, output(m, epilogue))) != m->p.n || m->p.n % WK_ROW_UNIT)
        return "its columns are no multiple of 8";
    if (node_of(m, epilogue)->op == WK_OP_bias_act && !bias_fits(m, epilogue))
        return "the bias has another shape";
    return is_ready(m, epilogue) ? NULL : "what the epilogue reads is made after the product";
}

static const char *refuse_biased(const match *m)
{
    int bias = m->next[0];
    const char *why = refuse_epilogue(m, bias);
    if (why) return why;
    if (!input(m, bias, 1) || activation_of(m, bias) != WK_IDENTITY)
        return "more, or less, than a bias follows";
    if (formats_of(m, output(m, bias)) == (WK_FORMAT_F32 | WK_FORMAT_BF16))
        return "the result exists in both formats";
    return m->p.accumulate || !m->p.stride_c ? "it adds to a sum, or its stack is summed" : NULL;
}

// Whether TMA can read a matrix of rows of so many numbers: ragged rows are padded on the way.
static bool can_map(const match *m, int tensor, size_t cols)
{
    return cols % WK_ROW_UNIT || formats_of(m, tensor) == WK_FORMAT_PADDED_BF16 ||
           begins_at(m, tensor, WK_ROW_UNIT);
}

static bool can_map_operands(const match *m, int step)
{
    wk_cuda_product p = wk_product_joined(wk_product_of(m->g, node_of(m, step)));
    return p.k > 0 && can_map(m, input(m, step, 0), p.k) &&
           can_map(m, input(m, step, 1), p.transpose_b ? p.k : p.n);
}

static bool is_shared(const match *m)
{
    return m->limits->processors < WK_SHARED_PROCESSORS;
}

static const char *refuse_addend(const match *m)
{
    const wk_fused *addend = &m->fused[m->addend];
    if (addend->addend >= 0 || addend->epilogue >= 0 || addend->fused_next > 0)
        return "the product before it is fused already";
    if (!m->p.accumulate || node_of(m, m->addend)->input_count > 2 ||
        !replaces(m, m->step, 2, m->addend))
        return "it does not add to the product before it";
    wk_cuda_product p = m->p, q = wk_product_of(m->g, node_of(m, m->addend));
    if (p.transpose_a || q.transpose_a || p.transpose_b != q.transpose_b || p.stacks != 1 ||
        q.stacks != 1 || p.m != q.m || p.n != q.n || p.n % WK_ROW_UNIT)
        return "the two products are not alike";
    size_t terms = is_shared(m) ? WK_WGMMA_TERMS_MAX : WK_WGMMA_ADDEND_TERMS_MAX;
    if (p.k > WK_WGMMA_TERMS_MAX || q.k > terms) return "too many terms";
    return can_map_operands(m, m->addend) ? NULL : "an operand begins at no 16 bytes";
}

// The result's epilogue in whole vectors, or a plain result in pairs.
static const char *refuse_result(const match *m, int last)
{
    int add = m->p.accumulate && m->addend < 0 ? input(m, m->step, 2) : 0;
    int beside = m->epilogue >= 0 ? input(m, m->epilogue, 1) : 0, out = output(m, last);
    bool plain = m->epilogue < 0 && !(formats_of(m, out) & WK_FORMAT_BF16);
    if (plain && m->p.n % 2 == 0 && begins_at(m, out, 2) && (!add || begins_at(m, add, 2)))
        return NULL;
    if (m->p.n % WK_ROW_UNIT) return "its columns are no multiple of 8";
    if (!stores_whole(m, out) || !loads_whole(m, beside) || (add && !begins_at(m, add, 4)))
        return "what the epilogue reads or writes begins at no 16 bytes";
    return NULL;
}

// Whether the epilogue is of ELU, or only a bias for which cuBLAS would be launched for each matrix
// of a small stack.
static bool suits_epilogue(const match *m, wk_cuda_product p)
{
    wk_activation activation = activation_of(m, m->epilogue);
    bool small = is_shared(m) && p.stacks > 1 && p.m <= WK_SHARED_STACK_ROWS_MAX;
    return activation == WK_ELU || (activation == WK_IDENTITY && small);
}

static const char *refuse_wgmma(const match *m)
{
    wk_cuda_product p = wk_product_joined(m->p);
    bool summed = p.stacks > 1 && p.stride_c == 0;
    if (m->limits->capability != 90) return "the device has no wgmma";
    if (p.transpose_a) return "its left operand is transposed";
    if (m->epilogue < 0 && m->addend < 0 && !summed) return "there is nothing to fuse";
    if (summed && !(p.stride_a && p.stride_b)) return "a summed operand is shared";
    if (m->epilogue >= 0) {
        const char *why = refuse_epilogue(m, m->epilogue);
        if (why) return why;
        if (!suits_epilogue(m, p)) return "the epilogue is not of ELU";
        if (m->p.k > WK_WGMMA_TERMS_MAX) return "more than 1024 terms";
    }
    if (m->addend >= 0) {
        const char *why = refuse_addend(m);
        if (why) return why;
    }
    if (!can_map_operands(m, m->step)) return "an operand begins at no 16 bytes";
    if (p.m == 0 || p.m * p.n * (summed ? 1 : p.stacks) >= (size_t)1 << 34)
        return "the result is too large";
    return refuse_result(m, m->epilogue >= 0 ? m->epilogue : m->step);
}

// The gradient of a layer's inputs, and the slope and bias of the layer that made them. Columns are
// summed of slopes from bf16 to bf16 alone.
static const char *refuse_wgmma_slope(const match *m)
{
    int slope = m->next[0];
    match with_epilogue = *m;
    with_epilogue.epilogue = slope;
    const char *why = refuse_wgmma(&with_epilogue);
    if (why) return why;
    wk_cuda_product p = wk_product_joined(m->p);
    if (!p.transpose_b || p.accumulate || !p.stride_c)
        return "it is no gradient of a layer's inputs";
    if (!in_bf16_alone(m, output(m, slope)) || !in_bf16_alone(m, input(m, slope, 1)))
        return "the slope is not from bf16 to bf16 alone";
    if (activation_of(m, slope) != WK_ELU) return "the epilogue is not of ELU";
    if ((size_t)node_of(m, slope)->attrs.bias_act.stack != p.stacks)
        return "the bias has another shape";
    return same_stream(m, m->step, slope) ? NULL : "the slope is on another stream";
}

// The guard of the last row for a product: cuBLAS takes any.
static const char *refuse_nothing(const match *m)
{
    (void)m;
    return NULL;
}

// Whether the bf16 numbers of an operand, in their place or rounded in scratch memory, begin at a
// multiple of so many.
static bool rounds_at(const match *m, int tensor, size_t numbers)
{
    wk_place place = m->plan->places[tensor];
    if (place.region != WK_REGION_TEMPORARY) return begins_at(m, tensor, numbers);
    return place.bf16 == WK_NOWHERE || place.bf16 % (2 * numbers) == 0;
}

static bool rounds_whole(const match *m, int tensor)
{
    return rounds_at(m, tensor, WK_ROW_UNIT);
}

// The form of a product of the step's operands. Ragged rows are padded in scratch memory.
static wk_product_form form_of(const match *m, wk_cuda_product p)
{
    int out = output(m, m->next[0] >= 0 ? m->next[0] : m->step);
    size_t cols_a = p.transpose_a ? p.m : p.k, cols_b = p.transpose_b ? p.k : p.n;
    p.bf16_c = !(formats_of(m, out) & WK_FORMAT_F32);
    return wk_product_choose_form(&p, cols_a % WK_ROW_UNIT || rounds_whole(m, input(m, m->step, 0)),
                                  cols_b % WK_ROW_UNIT || rounds_whole(m, input(m, m->step, 1)),
                                  begins_at(m, out, 4));
}

// Guards of convolutions.

static bool is_stack(const match *m)
{
    return shape_of(m, input(m, m->step, 0)).rank != 4;
}

static bool is_transposed(const match *m)
{
    return wk_conv_is_transposed(node_of(m, m->step)->op);
}

static bool is_of_weights(const match *m)
{
    return node_of(m, m->step)->op == WK_OP_conv_dw;
}

// The numbers that planes read or write at once: pixels begin at as many.
static size_t pixel_unit(unsigned channels)
{
    return channels % WK_ROW_UNIT ? WK_CONV_QUAD : WK_ROW_UNIT;
}

// Whether the images that planes read begin at such multiples.
static bool reads_pixels(const match *m)
{
    bool dw = is_of_weights(m), rgb = m->z.large_c == WK_CONV_RGB;
    size_t large = pixel_unit(m->z.large_c), small = pixel_unit(m->z.small_c);
    if (is_transposed(m)) return rounds_at(m, input(m, m->step, 0), small);
    return (rgb || rounds_at(m, input(m, m->step, 0), large)) &&
           (!dw || rounds_at(m, input(m, m->step, 1), small));
}

// Whether the operands do: images and weights of RGB layers are padded in scratch memory.
static bool reads_whole(const match *m)
{
    bool padded = m->z.large_c == WK_CONV_RGB && !is_transposed(m);
    return (padded || rounds_whole(m, input(m, m->step, 0))) &&
           ((padded && !is_of_weights(m)) || rounds_whole(m, input(m, m->step, 1)));
}

static const char *refuse_conv_planes(const match *m)
{
    int slope = m->next[0], out = output(m, slope >= 0 ? slope : m->step);
    const char *why = wk_conv_refuse_planes(m->g, node_of(m, m->step), m->limits);
    if (why) return why;
    bool quads = pixel_unit(is_transposed(m) ? m->z.large_c : m->z.small_c) == WK_CONV_QUAD;
    if (!reads_pixels(m) || !(quads ? begins_at(m, out, WK_CONV_QUAD) : stores_whole(m, out)))
        return "what it reads or writes begins at no pixel of whole vectors";
    int beside = slope >= 0 ? input(m, slope, 1) : 0;
    if (beside && !(quads ? begins_at(m, beside, WK_CONV_QUAD) : loads_whole(m, beside)))
        return "what its slope is taken from begins at no pixel of whole vectors";
    return NULL;
}

// The gradient of an image, and the slope of the layer that made it.
static const char *refuse_conv_slope(const match *m)
{
    int slope = m->next[0];
    if (activation_of(m, slope) != WK_ELU || node_of(m, slope)->attrs.bias_act.stack != 1)
        return "it is not the slope of one ELU layer";
    if (!replaces(m, slope, 0, m->step) || wk_shape_count(shape_of(m, output(m, slope))) !=
                                               wk_shape_count(shape_of(m, output(m, m->step))))
        return "the slope does not take the gradient's place";
    if (is_transposed(m) && m->z.large_c == WK_CONV_RGB) return "the image is RGB";
    return refuse_conv_planes(m);
}

static const char *refuse_conv_weights(const match *m)
{
    const char *why = wk_conv_refuse_planes(m->g, node_of(m, m->step), m->limits);
    if (why) return why;
    return reads_pixels(m) ? NULL : "an operand begins at no pixel of whole vectors";
}

// RGB images of a preset's sizes.
static const char *refuse_conv_rgb(const match *m)
{
    enum { PAIR = 2 };
    int image = input(m, m->step, 0);
    const char *why = is_of_weights(m)  ? refuse_conv_weights(m)
                      : m->next[0] >= 0 ? refuse_conv_slope(m)
                                        : refuse_conv_planes(m);
    if (why) return why;
    if (!wk_conv_suits_rgb(&m->z, is_transposed(m)))
        return "its image is not RGB of a preset's sizes";
    return is_transposed(m) || is_lazy(m, image) || begins_at(m, image, PAIR)
               ? NULL
               : "its image begins at no pair of numbers";
}

static const char *refuse_conv_direct(const match *m)
{
    enum { PAIR = 2 };
    int out = output(m, m->step);
    size_t member = wk_shape_count(shape_of(m, out));
    if (is_stack(m)) member /= (size_t)shape_of(m, out).dim[0];
    if (!wk_conv_suits(&m->z, is_transposed(m))) return "its sizes are not those of whole chunks";
    if (!reads_whole(m)) return "an operand begins at no 16 bytes";
    if (!in_bf16_alone(m, out) && (!begins_at(m, out, PAIR) || (is_stack(m) && member % PAIR)))
        return "its result begins at no 8 bytes";
    return NULL;
}

static const char *refuse_conv_product(const match *m)
{
    return m->z.large == m->z.kernel ? NULL : "its small image has more than one pixel";
}

// Guards of cells and categorical variables.

static bool begin_in_fours(const match *m, int first, int count)
{
    for (int i = first; i < first + count; i++)
        if (!begins_at(m, i, 4)) return false;
    return true;
}

static bool inputs_begin_in_fours(const match *m, int count)
{
    for (int i = 0; i < count; i++)
        if (input(m, m->step, i) && !begins_at(m, input(m, m->step, i), 4)) return false;
    return true;
}

// The numbers in a row of a sum: where it is lazy, those of its parts.
static size_t terms_width(const match *m, int tensor)
{
    return wk_shape_width(shape_of(m, is_lazy(m, tensor) ? wk_info(m->g, tensor)->root : tensor));
}

static const char *refuse_gru_cell(const match *m)
{
    const wk_node *node = node_of(m, m->step);
    bool backward = node->op == WK_OP_gru_grad;
    size_t units = wk_shape_width(shape_of(m, input(m, m->step, 4)));
    if (wk_row_stack(shape_of(m, input(m, m->step, 1))) > 1) return "it is a stack of cells";
    if (backward && node->attrs.norm.params) return "the gradients of its parameters are wanted";
    if (units % 4 || units > WK_GRU_CELL_MAX)
        return "its units are no multiple of 4, or more than 1024";
    if (backward && terms_width(m, input(m, m->step, 6)) != units)
        return "its gradient has rows of another length";
    if (!inputs_begin_in_fours(m, 5) || !begin_in_fours(m, output(m, m->step), backward ? 2 : 1))
        return "what it reads or writes begins at no 16 bytes";
    return NULL;
}

static const char *refuse_class_quads(const match *m)
{
    const wk_node *node = node_of(m, m->step);
    wk_shape x = shape_of(m, input(m, m->step, 0));
    bool slope = node->op == WK_OP_softmax_grad, two = node->op != WK_OP_entropy && !slope;
    bool writes_rows = node->op != WK_OP_entropy && node->op != WK_OP_kl;
    unsigned classes = (unsigned)wk_shape_width(x), warp = 32;
    if (classes % 4 || classes < 4 || classes > 4 * warp)
        return "its classes are no multiple of 4, or more than 128";
    unsigned each = warp / (classes / 4), variables = slope ? 1 : (unsigned)x.dim[x.rank - 2];
    if ((variables + each - 1) / each * warp > WK_CLASS_QUADS_MAX)
        return "a row has more variables than a block";
    if (slope && terms_width(m, input(m, m->step, 1)) % 4)
        return "its gradient has rows of another length";
    if (!inputs_begin_in_fours(m, two ? 2 : 1) ||
        (writes_rows && !begin_in_fours(m, output(m, m->step), 1)))
        return "what it reads or writes begins at no 16 bytes";
    return NULL;
}

static bool are_a_preset_s(size_t count)
{
    return false
#define MODEL(name, hidden, deter, variables, classes, forward, backward, together)                \
    || count == (classes)
#include "tensor/cuda/passes/model_sizes.def"
#undef MODEL
        ;
}

static const char *refuse_sample_many(const match *m)
{
    wk_shape x = shape_of(m, input(m, m->step, 0));
    size_t classes = wk_shape_width(x), variables = wk_shape_count(x) / classes;
    if (!are_a_preset_s(classes)) return "no preset has as many classes";
    if (variables * (size_t)m->limits->members < WK_SAMPLES_MIN)
        return "fewer variables than fill a device";
    if (!inputs_begin_in_fours(m, 1) || !begin_in_fours(m, output(m, m->step), 2))
        return "what it reads or writes begins at no 16 bytes";
    return NULL;
}

// The table. `addend` is the step just before, whose product this one is added to; `next` and
// `then` are the steps just after; `epilogue` is the first step that reads the product,
// EPILOGUE_WITHIN steps later at most.
typedef struct row {
    wk_kernel kernel;
    int addend, op, next, then, epilogue; // ops, or one of the classes below
    guard *refuse;
    bool f32; // also where products are in float32
} row;

// No op; a convolution in any direction; one whose result is an image; an image's gradient; a GRU
// cell and what is computed of categorical variables, with their gradients.
enum { NONE = WK_OP_COUNT, ANY_CONV, IMAGE_CONV, IMAGE_GRAD, GRU, CATEGORICAL };

#define OP(name) WK_OP_##name
#define KERNEL(name) WK_KERNEL_##name
// clang-format off
static const row table[] = {
    // kernel                  addend      op                next               then                         epilogue
    {KERNEL(SKINNY_ACTION),    NONE,       OP(matmul),       OP(bias_act),      OP(truncated_normal_sample), NONE,         refuse_skinny_action, false},
    {KERNEL(SKINNY_HEAD),      NONE,       OP(matmul),       OP(bias_act),      NONE,                        NONE,         refuse_skinny_head,   false},
    {KERNEL(WGMMA),            OP(matmul), OP(matmul),       NONE,              NONE,                        OP(bias_act), refuse_wgmma,         false},
    {KERNEL(WGMMA),            OP(matmul), OP(matmul),       NONE,              NONE,                        OP(act_grad), refuse_wgmma,         false},
    {KERNEL(WGMMA),            OP(matmul), OP(matmul),       NONE,              NONE,                        NONE,         refuse_wgmma,         false},
    {KERNEL(WGMMA),            NONE,       OP(matmul),       NONE,              NONE,                        OP(bias_act), refuse_wgmma,         false},
    {KERNEL(WGMMA),            NONE,       OP(matmul),       NONE,              NONE,                        OP(act_grad), refuse_wgmma,         false},
    {KERNEL(WGMMA),            NONE,       OP(matmul),       OP(bias_act_grad), NONE,                        NONE,         refuse_wgmma_slope,   false},
    {KERNEL(WGMMA),            NONE,       OP(matmul),       NONE,              NONE,                        NONE,         refuse_wgmma,         false},
    {KERNEL(SKINNY_N),         NONE,       OP(matmul),       NONE,              NONE,                        NONE,         refuse_skinny_n,      false},
    {KERNEL(SKINNY_K),         NONE,       OP(matmul),       NONE,              NONE,                        NONE,         refuse_skinny_k,      false},
    {KERNEL(SKINNY_DW),        NONE,       OP(matmul),       NONE,              NONE,                        NONE,         refuse_skinny_dw,     false},
    {KERNEL(CUBLASLT_BIAS),    NONE,       OP(matmul),       OP(bias_act),      NONE,                        NONE,         refuse_biased,        false},
    {KERNEL(CUBLAS),           NONE,       OP(matmul),       NONE,              NONE,                        NONE,         refuse_nothing,       false},
    {KERNEL(CONV_RGB),         NONE,       IMAGE_GRAD,       OP(bias_act_grad), NONE,                        NONE,         refuse_conv_rgb,      false},
    {KERNEL(CONV_PLANES),      NONE,       IMAGE_GRAD,       OP(bias_act_grad), NONE,                        NONE,         refuse_conv_slope,    false},
    {KERNEL(CONV_RGB),         NONE,       IMAGE_CONV,       NONE,              NONE,                        NONE,         refuse_conv_rgb,      false},
    {KERNEL(CONV_PLANES),      NONE,       IMAGE_CONV,       NONE,              NONE,                        NONE,         refuse_conv_planes,   false},
    {KERNEL(RGB_WEIGHTS),      NONE,       OP(conv_dw),      NONE,              NONE,                        NONE,         refuse_conv_rgb,      false},
    {KERNEL(CONV_WEIGHTS),     NONE,       OP(conv_dw),      NONE,              NONE,                        NONE,         refuse_conv_weights,  false},
    {KERNEL(CONV_DIRECT),      NONE,       ANY_CONV,         NONE,              NONE,                        NONE,         refuse_conv_direct,   false},
    {KERNEL(CONV_PRODUCT),     NONE,       ANY_CONV,         NONE,              NONE,                        NONE,         refuse_conv_product,  true},
    {KERNEL(GRU_CELL),         NONE,       GRU,              NONE,              NONE,                        NONE,         refuse_gru_cell,      false},
    {KERNEL(CLASS_QUADS),      NONE,       CATEGORICAL,      NONE,              NONE,                        NONE,         refuse_class_quads,   true},
    {KERNEL(SAMPLE_MANY),      NONE,       OP(sample_onehot), NONE,             NONE,                        NONE,         refuse_sample_many,   true},
};
// clang-format on
enum { ROWS = sizeof table / sizeof *table };

// Whether an op is the one of a row, or of its class.
static bool is_of(wk_op op, int wanted)
{
    switch (wanted) {
    case ANY_CONV:
        return wk_op_is_conv(op);
    case IMAGE_CONV:
        return wk_op_is_conv(op) && op != WK_OP_conv_dw;
    case IMAGE_GRAD:
        return op == WK_OP_conv_dx || op == WK_OP_deconv_dx;
    case GRU:
        return op == WK_OP_gru || op == WK_OP_gru_grad;
    case CATEGORICAL:
        return op == WK_OP_softmax_grad || op == WK_OP_entropy || op == WK_OP_kl ||
               op == WK_OP_kl_dp || op == WK_OP_kl_dq;
    default:
        return (int)op == wanted;
    }
}

// The first step soon after the product that reads it, if it is `op`; -1 else.
static int find_epilogue(const match *m, int op)
{
    int end = m->step + EPILOGUE_WITHIN, last = (int)m->plan->node_count - 1;
    for (int step = m->step + 1; step <= end && step <= last; step++)
        if (reads(m, step, output(m, m->step)))
            return is_of(node_of(m, step)->op, op) && is_free(m, step) ? step : -1;
    return -1;
}

// Whether the ops of a row are at a step, and free.
static bool find_pattern(match *m, const row *r)
{
    int count = (int)m->plan->node_count;
    m->addend = m->epilogue = m->next[0] = m->next[1] = -1;
    wk_op op = node_of(m, m->step)->op;
    if (!is_of(op, r->op) || !is_free(m, m->step)) return false;
    const struct {
        int op, step, *found;
    } parts[] = {{r->addend, m->step - 1, &m->addend},
                 {r->next, m->step + 1, &m->next[0]},
                 {r->then, m->step + 2, &m->next[1]}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int step = parts[i].step;
        if (parts[i].op == NONE) continue;
        if (step < 0 || step >= count || !is_of(node_of(m, step)->op, parts[i].op) ||
            !is_free(m, step))
            return false;
        *parts[i].found = step;
    }
    if (r->epilogue != NONE) m->epilogue = find_epilogue(m, r->epilogue);
    if (op == WK_OP_matmul) m->p = wk_product_of(m->g, node_of(m, m->step));
    if (wk_op_is_conv(op)) m->z = wk_conv_measure(m->g, node_of(m, m->step));
    return r->epilogue == NONE || m->epilogue >= 0;
}

static wk_gemm_tile tile_of(const match *m)
{
    wk_cuda_product p = wk_product_joined(m->p);
    int last = m->epilogue >= 0 ? m->epilogue : m->step;
    bool slope = m->epilogue >= 0 && node_of(m, m->epilogue)->op == WK_OP_act_grad,
         sums = m->next[0] >= 0;
    bool bf16 = slope && in_bf16_alone(m, input(m, m->epilogue, 1));
    wk_gemm_sizes z = {p.stacks, p.m, p.n, {p.k, 0}, p.stacks > 1 && !p.stride_c, false};
    if (m->addend >= 0) z.k[1] = wk_product_of(m->g, node_of(m, m->addend)).k;
    bool add = m->p.accumulate && m->addend < 0;
    z.simple = p.n % WK_ROW_UNIT == 0 && in_bf16_alone(m, output(m, last)) && !add && !sums &&
               (!slope || (bf16 && p.transpose_b)) && !wk_is_off(m->limits, WK_PART_RESIDENT);
    return wk_gemm_choose_tile(&z, m->limits->processors);
}

static void fuse(wk_fused *fused, int part, int into)
{
    fused[part].kernel = WK_KERNEL_NONE;
    fused[part].fused_into = into;
}

static void record(const match *m, const row *r, wk_fused *fused)
{
    wk_fused *f = &fused[m->step];
    f->kernel = r->kernel;
    f->addend = m->addend;
    f->epilogue = m->epilogue;
    if (m->addend >= 0) fuse(fused, m->addend, m->step);
    if (m->epilogue >= 0) fuse(fused, m->epilogue, m->step);
    for (int i = 0; i < NEXT_MAX && m->next[i] >= 0; i++, f->fused_next++)
        fuse(fused, m->next[i], m->step);
    if (r->kernel == WK_KERNEL_WGMMA) f->tile = tile_of(m);
    if (!m->limits->bf16) return;
    if (r->kernel == WK_KERNEL_CUBLAS || r->kernel == WK_KERNEL_CUBLASLT_BIAS)
        f->form = form_of(m, wk_product_joined(m->p));
    // Of a convolution only the sum over a patch can have a ragged number of terms to pad.
    if (r->kernel == WK_KERNEL_CONV_PRODUCT && !is_transposed(m) && !is_of_weights(m))
        f->form = form_of(
            m, (wk_cuda_product){.stacks = 1, .m = m->z.batch, .n = m->z.small_c, .k = m->z.patch});
}

// Whether a later step reads the weights that a step of adam writes.
static bool is_read_again(const match *m, int step)
{
    int weights = wk_info(m->g, input(m, step, 0))->root;
    for (int later = step + 1; later < (int)m->plan->node_count; later++)
        if (node_of(m, later)->op != WK_OP_mark && reads(m, later, weights)) return true;
    return false;
}

// Neighbouring steps of one optimiser. What reads weights does not wait for those that nothing
// reads.
static void fuse_adam(const match *m, wk_fused *fused)
{
    int next = m->step + 1;
    bool again = is_read_again(m, m->step);
    fused[m->step].kernel = WK_KERNEL_ADAM;
    for (; next < (int)m->plan->node_count && node_of(m, next)->op == WK_OP_adam &&
           same_place(m, input(m, next, 4), input(m, m->step, 4)) &&
           same_stream(m, next, m->step) && is_read_again(m, next) == again;
         next++)
        fuse(fused, next, m->step);
    fused[m->step].fused_next = next - m->step - 1;
}

// Steps that run nothing of their own whatever follows them, and groups.
static void mark_skipped(const match *m, wk_fused *fused)
{
    for (int step = 0; step < (int)m->plan->node_count; step++) {
        const wk_node *node = node_of(m, step);
        bool stored =
            node->op == WK_OP_store && same_place(m, input(m, step, 0), input(m, step, 1));
        bool skipped = stored || m->plan->lazy[m->plan->nodes[step]];
        fused[step] = (wk_fused){
            skipped ? WK_KERNEL_NONE : WK_KERNEL_OP, WK_TILE_NONE, WK_FORM_PLAIN, -1, -1, -1, 0};
    }
    for (size_t i = 0; i < m->plan->groups.count; i++) {
        wk_group group = m->plan->groups.items[i];
        fused[group.begin].kernel = WK_KERNEL_OBSERVE;
        fused[group.begin].fused_next = group.end - group.begin;
        for (int step = group.begin + 1; step <= group.end; step++)
            fuse(fused, step, group.begin);
    }
}

static match match_at(const wk_plan *plan, const wk_cuda_limits *limits, const wk_fused *fused,
                      int step)
{
    return (match){.plan = plan, .g = plan->graph, .limits = limits, .fused = fused, .step = step};
}

void wk_fusion_choose(const wk_plan *plan, const wk_cuda_limits *limits, wk_fused *fused)
{
    match m = match_at(plan, limits, fused, 0);
    mark_skipped(&m, fused);
    for (; m.step < (int)plan->node_count; m.step++) {
        if (fused[m.step].kernel != WK_KERNEL_OP) continue;
        if (node_of(&m, m.step)->op == WK_OP_adam) fuse_adam(&m, fused);
        for (int i = 0; i < ROWS; i++) {
            if (wk_is_off(limits, table[i].kernel) || (!limits->bf16 && !table[i].f32)) continue;
            if (!find_pattern(&m, &table[i]) || table[i].refuse(&m)) continue;
            record(&m, &table[i], fused);
            break;
        }
    }
}

static_assert(WK_PART_COUNT <= 8 * sizeof((wk_cuda_limits *)NULL)->off, "a bit for each part");

// The part of a name; -1 if there is none.
static int find_part(const char *name, size_t length)
{
    static const char *const others[] = {"resident", "schedule", "lazy_terms"};
    for (int i = 0; i < ROWS + WK_PART_COUNT - WK_KERNEL_COUNT; i++) {
        int part = i < ROWS ? (int)table[i].kernel : WK_KERNEL_COUNT + i - ROWS;
        const char *known = i < ROWS ? wk_kernel_names[part] : others[i - ROWS];
        if (strlen(known) == length && strncmp(known, name, length) == 0) return part;
    }
    return -1;
}

wk_status wk_cuda_switch_off(const char *names, wk_cuda_limits *limits, wk_error *err)
{
    for (const char *name = names; *name;) {
        size_t length = strcspn(name, ",");
        int part = find_part(name, length);
        if (part < 0)
            return wk_fail(err, WK_E_INPUT,
                           "'%.*s' cannot be switched off; what can is listed at "
                           "wk_cuda_switch_off (src/tensor/cuda/passes/fusion.h)",
                           (int)length, name);
        limits->off |= 1u << part;
        name += length + (name[length] == ',');
    }
    return WK_OK;
}

int wk_fusion_rows(void)
{
    return ROWS;
}

wk_kernel wk_fusion_row_kernel(int i)
{
    return table[i].kernel;
}

const char *wk_fusion_why_not(const wk_plan *plan, const wk_cuda_limits *limits,
                              const wk_fused *fused, int at, int step)
{
    match m = match_at(plan, limits, fused, step);
    return find_pattern(&m, &table[at]) ? table[at].refuse(&m) : "";
}
