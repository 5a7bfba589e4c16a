// Prepares convolutions for the kernels of capability 9.0 (conv.cu and
// conv_rgb.cu), where the device has it and the sizes suit.
#include "tensor/cuda/hopper/conv.cuh"
#include "tensor/cuda/kernels/column_sums.cuh"

enum { CHUNK = WK_CONV_CHUNK, TERMS = 16, CHUNK_BYTES = 16, TAPS_MAX = 64 };
enum { SHARED = 226 << 10 }; // bytes of shared memory that a block can have

static bool aligned(wk_ptr<const void> x)
{
    return (uintptr_t)x % 16 == 0;
}

// The taps of a class along an axis.
static unsigned taps_of(const wk_conv_sizes *z, unsigned residue)
{
    return (z->kernel - residue + 1) / 2;
}

// What both directions and the weights ask for.
static bool suits(const wk_cuda_call *c, const wk_conv_sizes *z, size_t count)
{
    return c->precision == WK_CUDA_BF16 && z->stride == 2 && z->large > z->kernel &&
           z->kernel >= 2 && z->kernel * z->kernel <= TAPS_MAX && z->small_c % CHUNK == 0 &&
           z->batch * z->large_count < (size_t)1 << 31 &&
           z->batch * z->small_count < (size_t)1 << 31 && count == wk_call_count(c) && c->hopper;
}

static bool is_coloured(const wk_conv_sizes *z)
{
    return z->large_c == WK_CONV_RGB && z->large % 2 == 0 && z->kernel % 2 == 0;
}

// Whether few enough of the places are beyond the small image's edge.
static bool mostly_inside(const wk_conv_sizes *z, unsigned width)
{
    return 5 * z->small * z->small >= 3 * width * width;
}

static wk_planes_image places_of(const wk_conv_sizes *z, unsigned width)
{
    wk_planes_image x = {};
    x.width = x.height = width;
    x.places = z->batch * width * width;
    x.by_width = x.by_height = wk_divisor_of(width);
    return x;
}

static void divide_chunks(wk_planes_image *x, unsigned paired)
{
    x->paired = x->plane_chunks % 2 ? 1 : paired;
    x->by_across = wk_divisor_of(x->plane_chunks / x->paired);
}

// The large image as four planes of every other pixel.
static wk_planes_image large_planes(const wk_conv_sizes *z)
{
    wk_planes_image x = places_of(z, (z->large + 1) / 2);
    unsigned line = z->large * z->large_c;
    x.split = 2;
    x.side = z->large;
    x.plane_chunks = z->large_c / CHUNK;
    x.image = (unsigned)z->large_count;
    x.down = 2 * line, x.right = 2 * z->large_c;
    x.chunk = CHUNK;
    x.plane_down = line, x.plane_right = z->large_c;
    divide_chunks(&x, 2);
    return x;
}

// Images of four colours, the last zero: a chunk is two neighbouring pixels, and the chunk below it
// belongs to the same place.
static wk_planes_image large_colours(const wk_conv_sizes *z)
{
    wk_planes_image x = places_of(z, z->large / 2);
    unsigned line = z->large * (WK_CONV_RGB + 1);
    x.split = 1;
    x.side = z->large / 2;
    x.plane_chunks = 2;
    x.image = z->large * line;
    x.down = 2 * line, x.right = CHUNK;
    x.chunk = line;
    divide_chunks(&x, 1);
    return x;
}

static wk_planes_image small_plane(const wk_conv_sizes *z)
{
    unsigned reach = z->small + taps_of(z, 0) - 1, length = (z->large + 1) / 2;
    wk_planes_image x = places_of(z, reach > length ? reach : length);
    x.split = 1;
    x.side = z->small;
    x.plane_chunks = z->small_c / CHUNK;
    x.image = (unsigned)z->small_count;
    x.down = z->small * z->small_c, x.right = z->small_c;
    x.chunk = CHUNK;
    divide_chunks(&x, 2);
    return x;
}

static wk_ptr<const __nv_bfloat16> four_colours(const wk_cuda_call *c, const wk_conv_sizes *z,
                                                wk_ptr<const float> x)
{
    return wk_cuda_pad_rgb(c, (size_t)z->batch * z->large * z->large, x);
}

// A term and a column of the product, in the weights [kernel][kernel][large_c][small_c]: their
// place, or that there is none.
typedef struct weights_order {
    unsigned kernel, large_c, small_c, columns, channels, taps[2];
    bool transposed, joined, coloured;
} weights_order;

static __device__ bool weight_at(const weights_order &o, unsigned kind, unsigned k, unsigned n,
                                 unsigned *place)
{
    unsigned down = kind / 2, right = kind % 2, tap = k / o.channels, channel = k % o.channels;
    if (n >= o.columns) return false;
    if (o.transposed) {
        unsigned index = o.joined ? n / o.large_c : 0;
        down += index / 2, right += index % 2;
        unsigned wide = o.taps[right], u = tap / wide;
        down += 2 * u, right += 2 * (tap - u * wide);
        *place = ((down * o.kernel + right) * o.large_c + n - index * o.large_c) * o.small_c;
        *place += channel;
        return down < o.kernel;
    }
    if (!o.coloured) {
        *place = k * o.small_c + n;
        return tap < o.kernel * o.kernel;
    }
    // The terms of a tap are row, column and colour of a place.
    down = tap / o.taps[0] * 2 + channel / CHUNK, right = tap % o.taps[0] * 2 + channel / 4 % 2;
    *place = ((down * o.kernel + right) * WK_CONV_RGB + channel % 4) * o.small_c + n;
    return down < o.kernel && channel % 4 < WK_CONV_RGB;
}

// The weights as the kernels read them.
static void lay_out_weights(const wk_cuda_call *c, const wk_conv_sizes *z, bool transposed,
                            wk_planes *j)
{
    weights_order o = {z->kernel,  z->large_c,  z->small_c,
                       j->columns, j->channels, {j->taps[0], j->taps[1]},
                       transposed, j->joined,   !transposed && z->large_c == WK_CONV_RGB};
    unsigned wide = wk_planes_columns(j), depth = WK_PLANES_DEPTH(wide);
    unsigned blocks = (j->columns + wide - 1) / wide;
    j->steps = (j->taps[0] * j->taps[0] * j->channels + depth - 1) / depth;
    unsigned steps = j->steps;
    wk_in w = wk_call_load(c, 1);
    size_t chunks = (size_t)j->classes * blocks * steps * wide * depth / CHUNK;
    wk_ptr<uint4> y = wk_cuda_scratch_of<uint4>(c, chunks);
    j->weights = y.as<const __nv_bfloat16>();
    wk_cuda_each(c, chunks, [=] __device__(unsigned i) {
        unsigned n = i % wide, k = i / wide % (depth / CHUNK) * CHUNK,
                 step = i / (wide * depth / 8);
        unsigned block = step / steps, kind = block / blocks;
        n += block % blocks * wide;
        k += step % steps * depth;
        float v[CHUNK];
        for (unsigned e = 0; e < CHUNK; e++) {
            unsigned place;
            v[e] = weight_at(o, kind, k + e, n, &place) ? w[place] : 0.0f;
        }
        y[i] = make_uint4(wk_two_halves(v[0], v[1]), wk_two_halves(v[2], v[3]),
                          wk_two_halves(v[4], v[5]), wk_two_halves(v[6], v[7]));
    });
}

// The result, unless the kernels cannot give it so. A fused call takes the slope at the layer's
// output, and wants column sums.
static bool choose_result(const wk_cuda_call *c, wk_planes *j)
{
    wk_activation act = c->node->attrs.conv.activation;
    j->elu = act == WK_ELU;
    j->sloped = c->following;
    j->out = wk_call_store(c + c->following, 0);
    if (j->sloped) j->slope = wk_call_load(c + 1, 1);
    if (!j->out.aligned8() || !j->slope.aligned8()) return false;
    if (j->result_c == WK_CONV_RGB) return act == WK_IDENTITY && !j->sloped;
    return act == WK_IDENTITY || (j->elu && !j->out.x);
}

static unsigned tiles_of(const wk_planes *j)
{
    return j->classes * ((j->x.places + WK_PLANES_ROWS - 1) / WK_PLANES_ROWS);
}

static void make_totals(const wk_cuda_call *c, wk_planes *j)
{
    if (j->sloped) j->totals = wk_cuda_scratch_of<float>(c, (size_t)tiles_of(j) * j->columns);
}

static void collect_totals(const wk_cuda_call *c, const wk_planes *j)
{
    if (j->sloped)
        wk_cuda_collect(c, 1, tiles_of(j) * (j->columns / j->result_c), j->result_c, j->totals,
                        wk_call_out(c + 1, 1));
}

// The copy of the image; false when it does not fit.
static bool choose_copy(wk_planes *j, unsigned taps, unsigned reserved)
{
    unsigned chunks = j->x.split * j->x.split * j->x.plane_chunks;
    j->copied = WK_PLANES_ROWS + (taps - 1) * (j->x.width + 1);
    j->pitch = (j->copied | 1) * CHUNK_BYTES;
    j->copied_bytes = chunks * j->pitch;
    return j->copied_bytes + reserved <= SHARED && j->copied <= WK_PLANES_ROWS + WK_PLANES_HALO &&
           j->taps[0] * j->taps[0] * j->channels <= WK_PLANES_TERMS - 64;
}

enum { STAGES_BYTES = 4 * 13 << 10 }; // more than the weights of the kernels take

bool wk_cuda_conv_planes(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x,
                         wk_ptr<const float> bias)
{
    bool coloured = is_coloured(z);
    if (!suits(c, z, z->batch * z->small_count) || !(coloured || z->large_c % TERMS == 0))
        return false;
    wk_planes j = {};
    j.x = coloured ? large_colours(z) : large_planes(z);
    j.kernel = z->kernel;
    j.taps[0] = coloured ? z->kernel / 2 : z->kernel;
    j.channels = coloured ? TERMS : z->large_c;
    j.columns = j.result_c = z->small_c;
    j.by_result_c = wk_divisor_of(j.result_c);
    j.result = z->small;
    j.classes = 1;
    j.bias = bias;
    if (!choose_copy(&j, taps_of(z, 0), STAGES_BYTES) || !mostly_inside(z, j.x.width) ||
        !choose_result(c, &j))
        return false;
    j.x.from = coloured ? four_colours(c, z, x.x) : wk_cuda_half(c, x, z->batch * z->large_count);
    if (!aligned(j.x.from)) return false;
    lay_out_weights(c, z, false, &j);
    make_totals(c, &j);
    wk_cuda_planes_forward(c, &j);
    collect_totals(c, &j);
    return true;
}

bool wk_cuda_deconv_planes(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in x,
                           wk_ptr<const float> bias)
{
    bool coloured = is_coloured(z);
    if (!suits(c, z, z->batch * z->large_count) || z->small_c % TERMS != 0 ||
        !(coloured || z->large_c % CHUNK == 0))
        return false;
    wk_planes j = {};
    j.x = small_plane(z);
    j.kernel = z->kernel;
    j.taps[0] = taps_of(z, 0), j.taps[1] = taps_of(z, 1);
    j.channels = z->small_c;
    j.result = z->large;
    j.result_c = z->large_c;
    j.by_result_c = wk_divisor_of(j.result_c);
    j.joined = z->kernel % 2 == 0;
    j.columns = j.joined ? 4 * z->large_c : z->large_c;
    j.classes = j.joined ? 1 : 4;
    j.bias = bias;
    if (!choose_copy(&j, j.taps[0], STAGES_BYTES) || !choose_result(c, &j)) return false;
    j.x.from = wk_cuda_half(c, x, z->batch * z->small_count);
    if (!aligned(j.x.from)) return false;
    lay_out_weights(c, z, true, &j);
    make_totals(c, &j);
    wk_cuda_planes_transposed(c, &j);
    collect_totals(c, &j);
    return true;
}

bool wk_cuda_rgb_weights_planes(const wk_cuda_call *c, const wk_conv_sizes *z, wk_in large,
                                wk_in small, wk_ptr<float> dw)
{
    unsigned taps = z->kernel / 2;
    if (!suits(c, z, z->weights) || !is_coloured(z) ||
        !wk_cuda_rgb_weights_suit(taps, z->small_c, z->large / 2))
        return false;
    wk_rgb_weights j = {};
    j.x = large_colours(z);
    j.small = wk_cuda_half(c, small, z->batch * z->small_count);
    if (!aligned(j.small)) return false;
    j.x.from = four_colours(c, z, large.x);
    j.small_side = z->small;
    j.small_c = z->small_c;
    j.groups = (unsigned)c->processors;
    j.sums = wk_cuda_scratch_of<float>(c, j.groups * z->weights);
    wk_cuda_rgb_weights(c, &j, taps);
    wk_cuda_column_sums(c, 1, j.groups, z->weights, 1, j.sums, dw);
    return true;
}
