// Parameters of the convolutions of capability 9.0; conv.cu explains planes and places.
#ifndef WK_TENSOR_CUDA_HOPPER_CONV_CUH
#define WK_TENSOR_CUDA_HOPPER_CONV_CUH

#include "tensor/cuda/kernels/conv.cuh"

/// An image in bf16 as planes of places. Offsets are in numbers.
typedef struct wk_planes_image {
    wk_ptr<const __nv_bfloat16> from;
    unsigned split;        // planes along each axis
    unsigned side;         // pixels along each axis, in all planes together
    unsigned plane_chunks; // chunks of 8 channels in a plane
    unsigned image, down, right, chunk, plane_down, plane_right; // from one to the next
    unsigned width, height, places;                              // of all images
    unsigned paired; // 2 if chunks of a place are contiguous in pairs, else 1
    wk_divisor by_width, by_height, by_across; // by_across: plane_chunks / beside
} wk_planes_image;

/// A convolution in either direction. Results are act(product + bias), or the product times the
/// slope of ELU at the layer's output.
typedef struct wk_planes {
    wk_planes_image x;
    // For each class, block of columns and stage: [terms / 8][columns][8], zeros where there are
    // none.
    wk_ptr<const __nv_bfloat16> weights;
    unsigned steps;                       // stages of a block
    unsigned copied, pitch, copied_bytes; // places in shared memory, from chunk to chunk, in all
    unsigned channels;                    // terms of a tap
    unsigned kernel, taps[2];             // taps along an axis, by class
    unsigned columns;                     // of the product
    bool joined;                          // transposed: the classes are columns
    unsigned classes;                     // otherwise their number
    unsigned result, result_c;            // the result's side and channels
    wk_divisor by_result_c, by_blocks;    // by_blocks: of columns
    wk_ptr<const float> bias;
    bool elu, sloped;
    wk_in slope; // ELU's output where `sloped`
    wk_out out;
    wk_ptr<float> totals; // column sums of every tile [class][tile][column], or NULL
} wk_planes;

/// Rows of a tile, and maximum halo of places that it copies besides them: `totals` has one entry
/// for each WK_PLANES_ROWS places of each class.
enum { WK_PLANES_ROWS = 128, WK_PLANES_HALO = 128 };

/// Columns of a block.
static inline unsigned wk_planes_columns(const wk_planes *j)
{
    if (j->result_c == 3) return 16;
    return j->columns <= 48 && j->classes == 1 && !j->joined ? 48 : j->columns <= 96 ? 96 : 192;
}

/// Maximum terms, and terms of a stage.
enum { WK_PLANES_TERMS = 4096 };
#define WK_PLANES_DEPTH(columns) ((columns) > 96 ? 32 : 64)

void wk_cuda_planes_forward(const wk_cuda_call *c, const wk_planes *j);
void wk_cuda_planes_transposed(const wk_cuda_call *c, const wk_planes *j);

/// The weight gradient for a large RGB image, padded to four channels: sums over places of its
/// chunks times the small image.
typedef struct wk_rgb_weights {
    wk_planes_image x;
    wk_ptr<const __nv_bfloat16> small;
    unsigned small_side, small_c;
    unsigned groups;              // partial sums
    unsigned group, reach, pitch; // set by the kernel: places of a group, of the taps, of a chunk
    wk_ptr<float> sums;           // [group][weights]
} wk_rgb_weights;

/// Whether the kernel has the taps, the channels of the small image and the width of places.
bool wk_cuda_rgb_weights_suit(unsigned taps, unsigned small_c, unsigned width);
void wk_cuda_rgb_weights(const wk_cuda_call *c, const wk_rgb_weights *j, unsigned taps);

/// Where a place lies.
static __device__ inline void wk_locate(const wk_planes_image &x, unsigned place, unsigned *image,
                                        unsigned *row, unsigned *column)
{
    unsigned line = wk_quotient(place, x.by_width);
    *column = place - line * x.width;
    *image = wk_quotient(line, x.by_height);
    *row = line - *image * x.height;
}

/// Begins to copy a chunk, or zeros, to shared memory.
static __device__ inline void wk_copy_chunk(unsigned to, const __nv_bfloat16 *from, bool real)
{
    int bytes = real ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

/// What the low bits of a place's beginning say: that it is there, and whether the planes of the
/// lower row and of the right column have it too.
enum { WK_PLACE = 4, WK_PLACE_BELOW = 1, WK_PLACE_RIGHT = 2, WK_PLACE_BITS = 7 };

/// Where a place of the image begins, with its bits; 0 for places outside.
static __device__ inline unsigned wk_place_of(const wk_planes_image &x, unsigned place)
{
    unsigned image, row, column;
    wk_locate(x, place, &image, &row, &column);
    if (place >= x.places || row * x.split >= x.side || column * x.split >= x.side) return 0;
    unsigned at = image * x.image + row * x.down + column * x.right;
    at |= row * x.split + 1 < x.side ? WK_PLACE_BELOW : 0;
    return at | (column * x.split + 1 < x.side ? WK_PLACE_RIGHT : 0) | WK_PLACE;
}

#endif
