// The weight gradients of convolutions of RGB images, in bf16 on capability 9.0: sums over places
// (see conv.cu), which go through shared memory 128 at a time. The small image's channels are the
// rows, for there are at least three times as many, and the columns are the pixels and colours of a
// place at all taps of a line: a copy for each tap, shifted by one place. Lines of taps begin at
// different places. At places that the small image does not have, it is zero.
#include "tensor/cuda/hopper/conv.cuh"
#include "tensor/cuda/hopper/wgmma.cuh"

enum { DEPTH = 128, STAGES = 3, CHUNK = 8, CHUNK_BYTES = 16, REACH_MAX = 128 };
enum { MULTIPLYING = 256, COPYING = 192, THREADS = MULTIPLYING + COPYING };
enum { ROWS = 64, ROW_CHUNKS = ROWS / CHUNK, SMALL_PITCH = (DEPTH + 1) * CHUNK_BYTES };
enum { SMALL = ROW_CHUNKS * SMALL_PITCH };

typedef struct front {
    uint64_t full[STAGES], empty[STAGES];
    unsigned large[2][DEPTH + REACH_MAX], small[2][DEPTH]; // where the places of a stage begin
} front;

// A block's places.
typedef struct share {
    unsigned begin, end, steps;
} share;

static __device__ share share_of(const wk_rgb_weights &j)
{
    share s;
    s.begin = blockIdx.x * j.group;
    s.end = min(s.begin + j.group, j.x.places);
    s.steps = s.begin < s.end ? (s.end - s.begin + DEPTH - 1) / DEPTH : 0;
    return s;
}

static __device__ void locate_stage(const wk_rgb_weights &j, const share &s, unsigned place,
                                    unsigned *large, unsigned *small)
{
    unsigned image, row, column;
    for (unsigned i = threadIdx.x - MULTIPLYING; i < DEPTH + j.reach; i += COPYING) {
        wk_locate(j.x, place + i, &image, &row, &column);
        unsigned at = image * j.x.image + row * j.x.down + column * j.x.right;
        large[i] = place + i < j.x.places ? at | WK_PLACE : 0;
        if (i >= DEPTH) continue;
        bool real = place + i < s.end && row < j.small_side && column < j.small_side;
        at = ((image * j.small_side + row) * j.small_side + column) * j.small_c;
        small[i] = real ? at | WK_PLACE : 0;
    }
}

// The small image's chunks, as many as it has, in pairs of 16 places, and those of the large one
// for every tap of a line: a warp's places lie side by side in shared memory.
template <int TAPS>
static __device__ void copy_stage(const wk_rgb_weights &j, const unsigned *large,
                                  const unsigned *small, unsigned to)
{
    enum { WARPS = COPYING / 32, HIGH = 16 };
    unsigned warp = (threadIdx.x - MULTIPLYING) / 32, lane = threadIdx.x % 32;
    unsigned tasks = (j.small_c / CHUNK + 1) / 2 * (DEPTH / HIGH);
    for (unsigned task = warp; task < tasks; task += WARPS) {
        unsigned at = task % (DEPTH / HIGH) * HIGH + lane / 2;
        unsigned chunk = task / (DEPTH / HIGH) * 2 + lane % 2, place = small[at];
        if (chunk * CHUNK >= j.small_c) continue;
        wk_copy_chunk(to + chunk * SMALL_PITCH + at * CHUNK_BYTES,
                      j.small.at() + (place & ~WK_PLACE_BITS) + chunk * CHUNK, place);
    }
    unsigned rows = DEPTH + (TAPS - 1) * j.x.width;
    for (unsigned at = warp * 32 + lane; at < rows; at += COPYING) {
#pragma unroll
        for (unsigned chunk = 0; chunk < 2 * TAPS; chunk++) {
            unsigned place = large[at + chunk / 2];
            wk_copy_chunk(to + SMALL + chunk * j.pitch + at * CHUNK_BYTES,
                          j.x.from.at() + (place & ~WK_PLACE_BITS) + chunk % 2 * j.x.chunk, place);
        }
    }
}

template <int TAPS>
static __device__ void copy_all(const wk_rgb_weights &j, const share &s, front *f, unsigned stages,
                                unsigned stage)
{
    unsigned full = (unsigned)__cvta_generic_to_shared(f->full);
    unsigned empty = (unsigned)__cvta_generic_to_shared(f->empty);
#pragma unroll 1
    for (unsigned step = 0; step < s.steps; step++) {
        unsigned at = step % STAGES, *large = f->large[step % 2], *small = f->small[step % 2];
        locate_stage(j, s, s.begin + step * DEPTH, large, small);
        asm volatile("bar.sync 1, %0;" ::"n"((int)COPYING) : "memory"); // of these warps alone
        if (step >= STAGES) wk_barrier_wait(empty + at * 8, (step / STAGES - 1) % 2);
        copy_stage<TAPS>(j, large, small, stages + at * stage);
        wk_barrier_arrive_copied(full + at * 8);
    }
}

// A warp group takes every other 16 places.
template <int TAPS>
static __device__ void multiply(const wk_rgb_weights &j, unsigned at, float (&sum)[TAPS][8 * TAPS])
{
    wk_wgmma_begin();
#pragma unroll
    for (unsigned k = 0; k < DEPTH; k += 32) {
        unsigned place = (k + threadIdx.x / 128 * 16) * CHUNK_BYTES;
        uint64_t a = wk_operand(at + place, 128, SMALL_PITCH);
#pragma unroll
        for (unsigned i = 0; i < TAPS; i++) {
            unsigned from = at + SMALL + place + i * j.x.width * CHUNK_BYTES;
            wk_wgmma<1, 1>(sum[i], a, wk_operand(from, 128, j.pitch), 1);
        }
    }
    wk_wgmma_commit();
}

// The sums of a warp group as [line][column][row], put down or added.
template <int TAPS>
static __device__ void put_down(const float (&sum)[TAPS][8 * TAPS], bool add, float *to)
{
    unsigned lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (unsigned i = 0; i < TAPS; i++)
#pragma unroll
        for (unsigned n = 0; n < 8 * TAPS; n++) {
            unsigned column = n / 4 * 8 + lane % 4 * 2 + n % 2;
            float *at = to + (i * 16 * TAPS + column) * ROWS + row + n / 2 % 2 * 8;
            *at = add ? *at + sum[i][n] : sum[i][n];
        }
}

// From [line][tap][row][column][colour][channel] to the weights' order, without the fourth colour.
template <int TAPS> static __device__ void store(const wk_rgb_weights &j, const float *from)
{
    const unsigned kernel = 2 * TAPS;
    float *to = j.sums + (size_t)blockIdx.x * kernel * kernel * 3 * j.small_c;
    for (unsigned id = threadIdx.x; id < TAPS * TAPS * 16 * ROWS; id += MULTIPLYING) {
        unsigned channel = id % ROWS, at = id / ROWS, colour = at % 4;
        if (colour == 3 || channel >= j.small_c) continue;
        unsigned tap = at / 16, down = tap / TAPS * 2 + at / 8 % 2;
        unsigned right = tap % TAPS * 2 + at / 4 % 2;
        to[((down * kernel + right) * 3 + colour) * j.small_c + channel] = from[id];
    }
}

template <int TAPS>
static __device__ void multiply_all(const wk_rgb_weights &j, const share &s, front *f,
                                    unsigned stages, unsigned stage, float *result)
{
    unsigned full = (unsigned)__cvta_generic_to_shared(f->full);
    unsigned empty = (unsigned)__cvta_generic_to_shared(f->empty);
    float sum[TAPS][8 * TAPS] = {};
    for (int i = 0; i < TAPS; i++)
        wk_wgmma_hold(sum[i]);
#pragma unroll 1
    for (unsigned step = 0; step < s.steps; step++) {
        unsigned at = step % STAGES;
        wk_barrier_wait(full + at * 8, step / STAGES % 2);
        wk_publish_shared(); // what others copied
        multiply<TAPS>(j, stages + at * stage, sum);
        wk_wgmma_wait<1>();
        if (step > 0 && threadIdx.x % 32 == 0) wk_barrier_arrive(empty + (step - 1) % STAGES * 8);
        __syncwarp();
    }
    wk_wgmma_wait<0>();
    for (int i = 0; i < TAPS; i++)
        wk_wgmma_hold(sum[i]);
    for (unsigned group = 0; group < MULTIPLYING / 128; group++) {
        asm volatile("bar.sync 2, %0;" ::"n"((int)MULTIPLYING) : "memory");
        if (threadIdx.x / 128 == group) put_down<TAPS>(sum, group > 0, result);
    }
    asm volatile("bar.sync 2, %0;" ::"n"((int)MULTIPLYING) : "memory");
    store<TAPS>(j, result);
}

template <int TAPS>
static __global__ void __launch_bounds__(THREADS, 1) colours_kernel(const wk_rgb_weights j)
{
    extern __shared__ __align__(128) char memory[];
    front *f = (front *)memory;
    const share s = share_of(j);
    unsigned stages = (unsigned)__cvta_generic_to_shared(memory) + sizeof(front);
    unsigned stage = SMALL + 2 * TAPS * j.pitch;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            wk_barrier_init((unsigned)__cvta_generic_to_shared(&f->full[i]), COPYING);
            wk_barrier_init((unsigned)__cvta_generic_to_shared(&f->empty[i]), MULTIPLYING / 32);
        }
    }
    __syncthreads();
    wk_begin();
    if (threadIdx.x < MULTIPLYING)
        multiply_all<TAPS>(j, s, f, stages, stage, (float *)(memory + sizeof(front)));
    else
        copy_all<TAPS>(j, s, f, stages, stage);
}

template <int TAPS> static void launch(const wk_cuda_call *c, wk_rgb_weights j)
{
    j.reach = (TAPS - 1) * (j.x.width + 1);
    j.pitch = ((DEPTH + (TAPS - 1) * j.x.width) | 1) * CHUNK_BYTES;
    unsigned steps = (j.x.places + DEPTH - 1) / DEPTH, group = (steps + j.groups - 1) / j.groups;
    j.group = group * DEPTH;
    wk_launch_shared(c, colours_kernel<TAPS>, j.groups, THREADS,
                     sizeof(front) + STAGES * (SMALL + 2 * TAPS * j.pitch), j);
}

bool wk_cuda_rgb_weights_suit(unsigned taps, unsigned small_c, unsigned width)
{
    return (taps == 2 || taps == 3) && small_c <= ROWS && (taps - 1) * (width + 1) <= REACH_MAX;
}

void wk_cuda_rgb_weights(const wk_cuda_call *c, const wk_rgb_weights *j, unsigned taps)
{
    if (taps == 2)
        launch<2>(c, *j);
    else
        launch<3>(c, *j);
}
