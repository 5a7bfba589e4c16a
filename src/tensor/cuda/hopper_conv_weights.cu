// The weights' gradients of convolutions in bf16 on capability 9.0. Places of the large image's
// planes and of the small image go through shared memory, 64 at a time; a block of threads has some
// channels of all planes as rows, some of the small channels as columns, and makes the sums of two
// taps, which begin at different places of the same copy. At places that the small
// image does not have, it is zero. Three warp groups multiply, four more warps copy.
#include "tensor/cuda/hopper_conv.cuh"
#include "tensor/cuda/hopper_wgmma.cuh"

enum { ROWS = WK_WEIGHTS_ROWS, COLS = WK_WEIGHTS_COLS, DEPTH = WK_WEIGHTS_DEPTH };
enum { CHUNK = 8, CHUNK_BYTES = 16, STAGES = 5, TAPS = 2 };
enum { MULTIPLYING = ROWS / 64 * 128, COPYING = 128, THREADS = MULTIPLYING + COPYING };
enum { LEFT_CHUNKS = ROWS / CHUNK, RIGHT_CHUNKS = COLS / CHUNK };
enum { RIGHT_PITCH = (DEPTH + 1) * CHUNK_BYTES, RIGHT = RIGHT_CHUNKS * RIGHT_PITCH };

// The beginning of shared memory, before the stages.
typedef struct front {
    uint64_t full[STAGES], empty[STAGES];
} front;

// A block's part of the product.
typedef struct share {
    unsigned rows, columns;  // blocks of both
    unsigned tap, count;     // the first of its taps, and how many
    unsigned shift, further; // places to the first tap, and from there to the second
    unsigned begin, end;     // places
    unsigned steps;
} share;

static __device__ share share_of(const wk_planes_weights &j)
{
    share s = {};
    unsigned at = blockIdx.x;
    s.rows = at % j.row_blocks, at /= j.row_blocks;
    s.columns = at % j.column_blocks;
    s.tap = at / j.column_blocks * TAPS;
    s.count = min((unsigned)TAPS, j.taps * j.taps - s.tap);
    s.shift = s.tap / j.taps * j.x.width + s.tap % j.taps;
    unsigned second = s.tap + s.count - 1;
    s.further = second / j.taps * j.x.width + second % j.taps - s.shift;
    s.begin = blockIdx.y * j.group;
    s.end = min(s.begin + j.group, j.x.places);
    s.steps = s.begin < s.end ? (s.end - s.begin + DEPTH - 1) / DEPTH : 0;
    return s;
}

// A thread copies every other chunk of one place: a warp has 16 places, which lie side by side in
// shared memory, and pairs of chunks, which are a whole sector of global memory.
enum { PAIRS = LEFT_CHUNKS / 2, RIGHT_PAIRS = RIGHT_CHUNKS / 2, HIGH = 16 };
typedef struct chunks {
    unsigned left[PAIRS]; // where they begin in a place, with the bits that the place must have
    unsigned live;        // a bit for each that exists
    unsigned right;       // where the first begins on the right
} chunks;

static __device__ chunks chunks_of(const wk_planes_weights &j, const share &s)
{
    chunks c = {};
    unsigned odd = threadIdx.x % 2;
#pragma unroll
    for (unsigned i = 0; i < PAIRS; i++) {
        unsigned at = s.rows * LEFT_CHUNKS + i * 2 + odd, plane = wk_quotient(at, j.x.by_chunks);
        unsigned y = plane / 2, x = plane % 2;
        at -= plane * j.x.plane_chunks;
        c.left[i] = y * j.x.plane_down + x * j.x.plane_right + at * CHUNK;
        c.left[i] |= WK_PLACE | y * WK_PLACE_BELOW | x * WK_PLACE_RIGHT;
        if (plane < 4) c.live |= 1u << i;
    }
    c.right = s.columns * COLS + odd * CHUNK;
    return c;
}

// Left chunks FIRST, FIRST + STEP ... of a place.
template <int STEP>
static __device__ void copy_left(const wk_planes_weights &j, const chunks &c, unsigned first,
                                 unsigned place, unsigned to)
{
#pragma unroll
    for (unsigned i = 0; i < PAIRS; i++) {
        if (STEP > 1 && i % STEP != first) continue;
        unsigned need = c.left[i] & WK_PLACE_BITS, offset = c.left[i] & ~WK_PLACE_BITS;
        bool real = (place & need) == need && (c.live >> i & 1);
        wk_copy_chunk(to + i * 2 * j.pitch,
                      j.x.from + (real ? (place & ~WK_PLACE_BITS) + offset : 0), real);
    }
}

static __device__ void copy_right(const wk_planes_weights &j, const share &s, const chunks &c,
                                  unsigned place, unsigned to)
{
    unsigned image, row, column;
    wk_locate(j.x, place, &image, &row, &column);
    bool inside = place < s.end && row < j.small_side && column < j.small_side;
    unsigned from = ((image * j.small_side + row) * j.small_side + column) * j.small_c + c.right;
#pragma unroll
    for (unsigned i = 0; i < RIGHT_PAIRS; i++) {
        bool real = inside && c.right + i * 2 * CHUNK < j.small_c;
        wk_copy_chunk(to + i * 2 * RIGHT_PITCH, j.small + (real ? from + i * 2 * CHUNK : 0), real);
    }
}

static __device__ void copy_stage(const wk_planes_weights &j, const share &s, const chunks &c,
                                  unsigned place, unsigned to)
{
    unsigned id = threadIdx.x - MULTIPLYING, odd = id % 2, at = id / 2;
    unsigned left = to + RIGHT + odd * j.pitch;
    copy_left<1>(j, c, 0, wk_place_of(j.x, place + s.shift + at), left + at * CHUNK_BYTES);
    copy_right(j, s, c, place + at, to + odd * RIGHT_PITCH + at * CHUNK_BYTES);
    // The places that the second tap needs beyond: all warps copy a part of their chunks.
    for (at = DEPTH + at % HIGH; at < DEPTH + s.further; at += HIGH)
        copy_left<COPYING / 32>(j, c, id / 32, wk_place_of(j.x, place + s.shift + at),
                                left + at * CHUNK_BYTES);
}

static __device__ void copy_all(const wk_planes_weights &j, const share &s, front *f,
                                unsigned stages, unsigned stage)
{
    unsigned full = (unsigned)__cvta_generic_to_shared(f->full);
    unsigned empty = (unsigned)__cvta_generic_to_shared(f->empty);
    const chunks c = chunks_of(j, s);
#pragma unroll 1
    for (unsigned step = 0; step < s.steps; step++) {
        unsigned at = step % STAGES;
        if (step >= STAGES) wk_barrier_wait(empty + at * 8, (step / STAGES - 1) % 2);
        copy_stage(j, s, c, s.begin + step * DEPTH, stages + at * stage);
        wk_barrier_arrive_copied(full + at * 8);
    }
}

// The second tap of a block that has one is the same as the first, and not stored.
static __device__ void multiply(const wk_planes_weights &j, const share &s, unsigned at,
                                float (&sum)[TAPS][COLS / 2])
{
    unsigned left = at + RIGHT + threadIdx.x / 128 * 8 * j.pitch, right = at;
    wk_wgmma_begin();
#pragma unroll
    for (unsigned k = 0; k < DEPTH; k += 16) {
        uint64_t b = wk_operand(right + k * CHUNK_BYTES, 128, RIGHT_PITCH);
        wk_wgmma<1, 1>(sum[0], wk_operand(left + k * CHUNK_BYTES, 128, j.pitch), b);
        wk_wgmma<1, 1>(sum[1], wk_operand(left + (k + s.further) * CHUNK_BYTES, 128, j.pitch), b);
    }
    wk_wgmma_commit();
}

static __device__ void store(const wk_planes_weights &j, const share &s,
                             const float (&sum)[TAPS][COLS / 2])
{
    float *y = j.sums + blockIdx.y * j.weights;
    unsigned lane = threadIdx.x % 32, column = s.columns * COLS + lane % 4 * 2;
    unsigned row = s.rows * ROWS + threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (unsigned half = 0; half < 2; half++) { // the lane's rows are eight apart
        unsigned at = row / CHUNK + half, plane = wk_quotient(at, j.x.by_chunks);
        unsigned channel = (at - plane * j.x.plane_chunks) * CHUNK + row % CHUNK;
        if (plane >= 4) continue;
#pragma unroll
        for (unsigned i = 0; i < TAPS; i++) {
            unsigned down = (s.tap + i) / j.taps * 2 + plane / 2;
            unsigned right = (s.tap + i) % j.taps * 2 + plane % 2;
            if (i >= s.count || down >= j.kernel || right >= j.kernel) continue;
            unsigned line = (down * j.kernel + right) * j.channels + channel;
            float *to = y + (size_t)line * j.small_c + column;
#pragma unroll
            for (unsigned n = 0; n < COLS / 8; n++)
                if (column + n * 8 < j.small_c)
                    *(float2 *)(to + n * 8) =
                        make_float2(sum[i][n * 4 + half * 2], sum[i][n * 4 + half * 2 + 1]);
        }
    }
}

static __device__ void multiply_all(const wk_planes_weights &j, const share &s, front *f,
                                    unsigned stages, unsigned stage)
{
    unsigned full = (unsigned)__cvta_generic_to_shared(f->full);
    unsigned empty = (unsigned)__cvta_generic_to_shared(f->empty);
    float sum[TAPS][COLS / 2] = {};
    wk_wgmma_hold(sum[0]);
    wk_wgmma_hold(sum[1]);
#pragma unroll 1
    for (unsigned step = 0; step < s.steps; step++) {
        unsigned at = step % STAGES;
        wk_barrier_wait(full + at * 8, step / STAGES % 2);
        wk_publish_shared(); // what others copied
        multiply(j, s, stages + at * stage, sum);
        wk_wgmma_wait<1>();
        if (step > 0 && threadIdx.x % 32 == 0) wk_barrier_arrive(empty + (step - 1) % STAGES * 8);
        __syncwarp();
    }
    wk_wgmma_wait<0>();
    wk_wgmma_hold(sum[0]);
    wk_wgmma_hold(sum[1]);
    store(j, s, sum);
}

static __global__ void __launch_bounds__(THREADS, 1) weights_kernel(const wk_planes_weights j)
{
    extern __shared__ __align__(128) char memory[];
    front *f = (front *)memory;
    const share s = share_of(j);
    unsigned base = (unsigned)__cvta_generic_to_shared(memory), stages = base + sizeof(front);
    unsigned stage = RIGHT + LEFT_CHUNKS * j.pitch;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            wk_barrier_init((unsigned)__cvta_generic_to_shared(&f->full[i]), COPYING);
            wk_barrier_init((unsigned)__cvta_generic_to_shared(&f->empty[i]), MULTIPLYING / 32);
        }
    }
    __syncthreads();
    wk_begin();
    if (threadIdx.x < MULTIPLYING)
        multiply_all(j, s, f, stages, stage);
    else
        copy_all(j, s, f, stages, stage);
}

unsigned wk_cuda_planes_weights_bytes(const wk_planes_weights *j)
{
    return sizeof(front) + STAGES * (RIGHT + LEFT_CHUNKS * j->pitch);
}

void wk_cuda_planes_weights(const wk_cuda_call *c, const wk_planes_weights *j)
{
    unsigned sets = (j->taps * j->taps + TAPS - 1) / TAPS;
    wk_launch_shared(c, weights_kernel, dim3(j->row_blocks * j->column_blocks * sets, j->groups),
                     THREADS, wk_cuda_planes_weights_bytes(j), *j);
}
