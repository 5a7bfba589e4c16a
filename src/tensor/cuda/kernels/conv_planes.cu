// Prepares convolutions for the kernels of capability 9.0, hopper/conv.cu.
#include "tensor/cuda/hopper/conv.cuh"
#include "tensor/cuda/kernels/column_sums.cuh"

enum { CHUNK = WK_CONV_CHUNK };

static wk_planes_image places_of(const wk_conv_sizes *z, unsigned width)
{
    wk_planes_image x = {};
    x.width = x.height = width;
    x.places = z->batch * width * width;
    x.by_width = x.by_height = wk_divisor_of(width);
    return x;
}

// Two chunks are a sector, and three make whole sectors with their neighbours.
static void set_chunks(wk_planes_image *x, unsigned channels, bool contiguous)
{
    unsigned chunks = wk_conv_chunks(channels);
    x->quads = channels % CHUNK ? channels / WK_CONV_QUAD : 0;
    x->plane_chunks = chunks;
    x->adjacent = !contiguous ? 1 : chunks % 2 == 0 ? 2 : chunks % 3 == 0 ? 3 : 1;
    x->by_across = wk_divisor_of(chunks / x->adjacent);
}

// The large image as four planes of every other pixel.
static wk_planes_image large_planes(const wk_conv_sizes *z, const wk_conv_planes *p)
{
    wk_planes_image x = places_of(z, p->width);
    unsigned line = z->large * z->large_c;
    x.split = p->split;
    x.side = z->large;
    x.image = (unsigned)z->large_count;
    x.down = 2 * line, x.right = 2 * z->large_c;
    x.chunk = CHUNK;
    x.plane_down = line, x.plane_right = z->large_c;
    set_chunks(&x, z->large_c, true);
    return x;
}

// Images of four colours, the last zero: a chunk is two neighbouring pixels, and the chunk below it
// belongs to the same place.
static wk_planes_image large_rgb(const wk_conv_sizes *z)
{
    wk_planes_image x = places_of(z, z->large / 2);
    unsigned line = z->large * (WK_CONV_RGB + 1);
    x.split = 1;
    x.side = z->large / 2;
    x.image = z->large * line;
    x.down = 2 * line, x.right = CHUNK;
    x.chunk = line;
    set_chunks(&x, 2 * CHUNK, false);
    return x;
}

static wk_planes_image small_plane(const wk_conv_sizes *z, const wk_conv_planes *p)
{
    wk_planes_image x = places_of(z, p->width);
    x.split = 1;
    x.side = z->small;
    x.image = (unsigned)z->small_count;
    x.down = z->small * z->small_c, x.right = z->small_c;
    x.chunk = CHUNK;
    set_chunks(&x, z->small_c, true);
    return x;
}

// A term and a column of the product, in the weights [kernel][kernel][large_c][small_c]: their
// place, or that there is none.
typedef struct weights_order {
    unsigned kernel, large_c, small_c, columns, chunks, taps[2];
    bool transposed, joined, rgb;
} weights_order;

static __device__ unsigned taps_of(const weights_order &o, unsigned kind)
{
    return o.transposed ? o.taps[kind / 2] * o.taps[kind % 2] : o.taps[0] * o.taps[0];
}

static __device__ bool weight_at(const weights_order &o, unsigned kind, unsigned tap,
                                 unsigned channel, unsigned n, unsigned *place)
{
    unsigned down = kind / 2, right = kind % 2;
    if (n >= o.columns) return false;
    if (!o.rgb && channel >= (o.transposed ? o.small_c : o.large_c)) return false;
    if (o.transposed) {
        unsigned index = o.joined ? n / o.large_c : 0;
        down += index / 2, right += index % 2;
        unsigned wide = o.taps[right], u = tap / wide;
        down += 2 * u, right += 2 * (tap - u * wide);
        *place = ((down * o.kernel + right) * o.large_c + n - index * o.large_c) * o.small_c;
        *place += channel;
        return true;
    }
    if (!o.rgb) {
        *place = (tap * o.large_c + channel) * o.small_c + n;
        return true;
    }
    // The terms of a tap are row, column and colour of a place.
    down = tap / o.taps[0] * 2 + channel / CHUNK, right = tap % o.taps[0] * 2 + channel / 4 % 2;
    *place = ((down * o.kernel + right) * WK_CONV_RGB + channel % 4) * o.small_c + n;
    return channel % 4 < WK_CONV_RGB;
}

// The weights as the kernels read them.
static void lay_out_weights(const wk_cuda_call *c, const wk_conv_sizes *z, bool transposed,
                            wk_planes *j)
{
    const wk_conv_planes *p = &j->p;
    weights_order o = {z->kernel,  z->large_c, z->small_c,
                       p->columns, p->chunks,  {p->taps[0], p->taps[1]},
                       transposed, p->joined,  !transposed && p->rgb};
    unsigned wide = wk_planes_columns(j), depth = WK_PLANES_DEPTH(wide);
    unsigned blocks = (p->columns + wide - 1) / wide;
    j->steps = (WK_PLANES_TERMS_OF(p->taps[0] * p->taps[0], p->chunks) + depth - 1) / depth;
    unsigned steps = j->steps;
    wk_in w = wk_call_load(c, 1);
    size_t chunks = (size_t)p->classes * blocks * steps * wide * depth / CHUNK;
    wk_ptr<uint4> y = wk_cuda_scratch_of<uint4>(c, chunks);
    j->weights = y.as<const __nv_bfloat16>();
    wk_cuda_each(c, chunks, [=] __device__(unsigned i) {
        unsigned n = i % wide, k = i / wide % (depth / CHUNK), step = i / (wide * depth / CHUNK);
        unsigned block = step / steps, kind = block / blocks;
        n += block % blocks * wide;
        k += step % steps * (depth / CHUNK);
        wk_planes_chunk at = wk_planes_chunk_at(k, o.chunks, taps_of(o, kind), o.transposed);
        float v[CHUNK];
        for (unsigned e = 0; e < CHUNK; e++) {
            unsigned place, channel = at.chunk * CHUNK + e;
            bool real = at.real && weight_at(o, kind, at.tap, channel, n, &place);
            v[e] = real ? w[place] : 0.0f;
        }
        y[i] = make_uint4(wk_pack_bf16(v[0], v[1]), wk_pack_bf16(v[2], v[3]),
                          wk_pack_bf16(v[4], v[5]), wk_pack_bf16(v[6], v[7]));
    });
}

// Parts of the images that column sums are taken of.
static unsigned parts_of(const wk_planes *j, unsigned blocks)
{
    if (blocks > 0) return blocks;
    return j->p.classes * ((j->x.places + WK_PLANES_ROWS - 1) / WK_PLANES_ROWS);
}

// A fused call takes the slope at the layer's output, and wants column sums.
static void set_result(const wk_cuda_call *c, unsigned blocks, wk_planes *j)
{
    j->elu = c->node->attrs.conv.activation == WK_ELU;
    j->sloped = c->fused_next;
    j->out = wk_call_store(c + c->fused_next, 0);
    if (!j->sloped) return;
    j->slope = wk_call_load(c + 1, 1);
    j->totals = wk_cuda_scratch_of<float>(c, (size_t)parts_of(j, blocks) * j->p.columns);
}

static void collect_totals(const wk_cuda_call *c, unsigned blocks, const wk_planes *j)
{
    if (j->sloped)
        wk_cuda_collect(c, 1, parts_of(j, blocks) * (j->p.columns / j->result_c), j->result_c,
                        j->totals, wk_call_out(c + 1, 1));
}

// The bf16 numbers of image i. What exists in bf16 alone may lie in a block that has floats of
// something else.
static wk_ptr<const __nv_bfloat16> bf16_image(const wk_cuda_call *c, int i, size_t count)
{
    wk_in x = wk_call_load(c, i);
    return x.bf16 ? x.bf16 : wk_cuda_bf16_copy(c, wk_call_operand(c, i), count);
}

static wk_pixels pixels_of(const wk_cuda_call *c)
{
    wk_ptr<const uint8_t> bytes = wk_call_bytes(c, 0);
    return {bytes ? wk_in{} : wk_call_load(c, 0), bytes};
}

// A member's blocks of hopper/conv_rgb.cu, as many as the device holds at once; 0 for other
// kernels.
static unsigned rgb_blocks(const wk_cuda_call *c, const wk_conv_sizes *z)
{
    if (c->kernel != WK_KERNEL_CONV_RGB && c->kernel != WK_KERNEL_RGB_WEIGHTS) return 0;
    assert((uintptr_t)pixels_of(c).bytes % 2 == 0); // an input of its own
    unsigned tiles = z->batch * WK_RGB_WIDTH * WK_RGB_WIDTH / WK_PLANES_ROWS;
    unsigned each = z->small_c <= 24 ? WK_RGB_NARROW : WK_RGB_WIDE;
    unsigned max_blocks = each * (unsigned)c->processors / (unsigned)c->members;
    if (max_blocks == 0) max_blocks = 1;
    return tiles < max_blocks ? tiles : max_blocks;
}

static wk_planes_image image_of(const wk_cuda_call *c, const wk_conv_sizes *z, bool transposed,
                                const wk_conv_planes *p, bool padded)
{
    bool rgb = !transposed && p->rgb;
    wk_planes_image image = transposed ? small_plane(z, p)
                            : rgb      ? large_rgb(z)
                                       : large_planes(z, p);
    size_t count = z->batch * (transposed ? z->small_count : z->large_count);
    if (!rgb)
        image.from = bf16_image(c, 0, count);
    else if (padded)
        image.from = wk_cuda_pad_rgb(c, count / WK_CONV_RGB, wk_call_load(c, 0));
    return image;
}

void wk_cuda_conv_planes(const wk_cuda_call *c)
{
    const wk_conv_sizes z = wk_conv_measure(c->g, c->node);
    bool transposed = wk_conv_is_transposed(c->node->op);
    unsigned blocks = rgb_blocks(c, &z);
    wk_planes j = {};
    j.p = wk_conv_planes_of(&z, transposed);
    j.x = image_of(c, &z, transposed, &j.p, blocks == 0);
    j.result = transposed ? z.large : z.small;
    j.result_c = transposed ? z.large_c : z.small_c;
    j.by_result_c = wk_divisor_of(j.result_c);
    j.bias = wk_call_in(c, 2);
    lay_out_weights(c, &z, transposed, &j);
    set_result(c, blocks, &j);
    if (blocks > 0) {
        if (!transposed) j.pixels = pixels_of(c);
        wk_cuda_rgb(c, &j, transposed, z.small_c, blocks);
    } else {
        wk_cuda_planes(c, &j, transposed);
    }
    collect_totals(c, blocks, &j);
}

// The row of sums that has a channel of a pixel's weights.
typedef struct weights_rows {
    unsigned kernel, taps, chunks;
    bool rgb;
} weights_rows;

static __device__ unsigned sums_row(const weights_rows &o, unsigned pixel, unsigned channel)
{
    if (!o.rgb) return pixel * o.chunks * CHUNK + channel;
    unsigned down = pixel / o.kernel, right = pixel % o.kernel;
    unsigned chunk = (down / 2 * o.taps + right / 2) * 2 + down % 2;
    return chunk * CHUNK + right % 2 * (WK_CONV_RGB + 1) + channel;
}

// The sums of all splits, without the fourth colour and the channels that fill up chunks.
static void finish_weights(const wk_cuda_call *c, const wk_conv_sizes *z,
                           const wk_planes_weights *j, unsigned k_splits)
{
    wk_ptr<float> dw = wk_call_out(c, 0);
    size_t count = (size_t)j->chunks * CHUNK * j->columns;
    if (count == z->weights) return wk_cuda_column_sums(c, 1, k_splits, count, 1, j->sums, dw);
    wk_ptr<float> padded = wk_cuda_scratch_of<float>(c, count);
    wk_cuda_column_sums(c, 1, k_splits, count, 1, j->sums, padded);
    weights_rows o = {z->kernel, j->p.taps[0], j->p.chunks, j->p.rgb};
    unsigned width = z->small_c, channels = z->large_c;
    wk_cuda_each(c, z->weights, [=] __device__(unsigned i) {
        unsigned row = i / width, pixel = row / channels;
        unsigned from = sums_row(o, pixel, row - pixel * channels);
        dw[i] = padded[from * width + (i - row * width)];
    });
}

// A member's blocks for each block of rows: no more than the device holds at once, since a few
// left over would take as long as all the others.
static unsigned weights_blocks(const wk_cuda_call *c, const wk_planes_weights *j,
                               unsigned row_blocks)
{
    unsigned few = j->w.columns <= 24 ? 3 : 1;
    unsigned at_once = j->row_tiles <= few ? 2 : 1; // of a multiprocessor, as registers allow
    unsigned max_blocks = at_once * (unsigned)c->processors / ((unsigned)c->members * row_blocks);
    if (max_blocks == 0) max_blocks = 1;
    return j->tiles < max_blocks ? j->tiles : max_blocks;
}

// Shares out the rows and places of a gradient, and launches it; how many sums there are (split-K).
static unsigned launch_weights(const wk_cuda_call *c, wk_planes_weights *j)
{
    unsigned rows = (j->chunks + 7) / 8,
             each = (rows + WK_WEIGHTS_WARPGROUPS - 1) / WK_WEIGHTS_WARPGROUPS;
    j->row_warpgroups = rows == 1 ? 1 : WK_WEIGHTS_WARPGROUPS;
    j->row_tiles = each <= 3 ? each : 5; // as registers allow
    unsigned at_once = j->row_warpgroups * j->row_tiles,
             row_blocks = (rows + at_once - 1) / at_once;
    unsigned blocks = weights_blocks(c, j, row_blocks);
    unsigned k_splits = blocks * (WK_WEIGHTS_WARPGROUPS / j->row_warpgroups);
    j->sums = wk_cuda_scratch_of<float>(c, (size_t)k_splits * j->chunks * CHUNK * j->columns);
    wk_cuda_planes_weights(c, j, blocks, row_blocks);
    return k_splits;
}

void wk_cuda_conv_weights(const wk_cuda_call *c)
{
    const wk_conv_sizes z = wk_conv_measure(c->g, c->node);
    unsigned blocks = rgb_blocks(c, &z), k_splits = blocks;
    wk_planes_weights j = {};
    j.p = wk_conv_planes_of(&z, false);
    j.w = wk_conv_weights_of(&z, &j.p);
    j.x = image_of(c, &z, false, &j.p, blocks == 0);
    j.small = small_plane(&z, &j.p);
    j.small.from = bf16_image(c, 1, z.batch * z.small_count);
    j.chunks = j.p.taps[0] * j.p.taps[0] * j.p.chunks;
    j.columns = z.small_c;
    j.tiles = (j.x.places + WK_PLANES_ROWS - 1) / WK_PLANES_ROWS;
    if (blocks > 0) {
        j.pixels = pixels_of(c);
        j.sums = wk_cuda_scratch_of<float>(c, (size_t)k_splits * j.chunks * CHUNK * j.columns);
        wk_cuda_rgb_weights(c, &j, blocks);
    } else {
        k_splits = launch_weights(c, &j);
    }
    finish_weights(c, &z, &j, k_splits);
}
