// The weights' gradients of convolutions in bf16 on capability 9.0. Places of the large image's
// planes and of the small image go through shared memory, 64 at a time; a block of threads has some
// channels of all planes as rows, some of the small channels as columns, and makes the sums of two
// taps, which begin at different places of the same copy. At places that the small
// image does not have, it is zero.
#include "tensor/cuda/hopper_wgmma.cuh"
#include "tensor/cuda/hopper_conv.cuh"

enum { GROUPS = 3, THREADS = GROUPS * 128, CHUNK = 8, CHUNK_BYTES = 16, STAGES = 5 };
enum { ROWS = WK_WEIGHTS_ROWS, COLS = WK_WEIGHTS_COLS, DEPTH = WK_WEIGHTS_DEPTH };
enum { LEFT_CHUNKS = ROWS / CHUNK, RIGHT_CHUNKS = COLS / CHUNK };
enum { RIGHT_PITCH = (DEPTH + 1) * CHUNK_BYTES, RIGHT = RIGHT_CHUNKS * RIGHT_PITCH };
enum { TAPS = 2 }; // of a block

// A block's part of the product, and a thread's chunk of it on both sides.
typedef struct share {
    unsigned rows, columns;  // blocks of both
    unsigned tap, count;     // the first of its taps, and how many
    unsigned shift, further; // places to the first tap, and from there to the second
    unsigned begin, end;     // places
    unsigned y, x, offset;   // the plane of the thread's chunk, and where the chunk begins
    bool left, right;        // whether it exists
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
    unsigned chunk = s.rows * LEFT_CHUNKS + threadIdx.x % LEFT_CHUNKS;
    unsigned plane = wk_quotient(chunk, j.x.by_chunks);
    chunk -= plane * j.x.plane_chunks;
    s.left = plane < j.x.split * j.x.split;
    s.y = plane / j.x.split, s.x = plane % j.x.split;
    s.offset = s.y * j.x.plane_down + s.x * j.x.plane_right + chunk * j.x.chunk;
    s.right = s.columns * COLS + threadIdx.x % RIGHT_CHUNKS * CHUNK < j.small_c;
    return s;
}

// A chunk of the large image at a place.
static __device__ void copy_left(const wk_planes_weights &j, const share &s, unsigned place,
                                 unsigned to)
{
    unsigned image, row, column;
    wk_locate(j.x, place, &image, &row, &column);
    bool real = s.left && place < j.x.places && row * j.x.split + s.y < j.x.side &&
                column * j.x.split + s.x < j.x.side;
    unsigned from = image * j.x.image + row * j.x.down + column * j.x.right + s.offset;
    wk_copy_chunk(to, j.x.from + (real ? from : 0), real);
}

static __device__ void copy_right(const wk_planes_weights &j, const share &s, unsigned place,
                                  unsigned to)
{
    unsigned image, row, column, n = s.columns * COLS + threadIdx.x % RIGHT_CHUNKS * CHUNK;
    wk_locate(j.x, place, &image, &row, &column);
    bool real = s.right && place < s.end && row < j.small_side && column < j.small_side;
    unsigned from = ((image * j.small_side + row) * j.small_side + column) * j.small_c + n;
    wk_copy_chunk(to, j.small + (real ? from : 0), real);
}

static __device__ void copy_stage(const wk_planes_weights &j, const share &s, unsigned place,
                                  unsigned to)
{
    const unsigned high = THREADS / LEFT_CHUNKS;
    unsigned at = threadIdx.x / LEFT_CHUNKS, first = place + s.shift;
    unsigned left = to + RIGHT + threadIdx.x % LEFT_CHUNKS * j.pitch;
#pragma unroll
    for (unsigned i = 0; i < DEPTH; i += high)
        copy_left(j, s, first + at + i, left + (at + i) * CHUNK_BYTES);
    for (unsigned i = DEPTH + at; i < DEPTH + s.further; i += high)
        copy_left(j, s, first + i, left + i * CHUNK_BYTES);
    unsigned right = to + threadIdx.x % RIGHT_CHUNKS * RIGHT_PITCH;
    at = threadIdx.x / RIGHT_CHUNKS;
#pragma unroll
    for (unsigned i = 0; i < DEPTH; i += THREADS / RIGHT_CHUNKS)
        copy_right(j, s, place + at + i, right + (at + i) * CHUNK_BYTES);
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
        unsigned chunk = row / CHUNK + half, plane = wk_quotient(chunk, j.x.by_chunks);
        unsigned channel = (chunk - plane * j.x.plane_chunks) * CHUNK + row % CHUNK;
        if (plane >= j.x.split * j.x.split) continue;
#pragma unroll
        for (unsigned i = 0; i < TAPS; i++) {
            unsigned down = (s.tap + i) / j.taps * j.x.split + plane / j.x.split;
            unsigned right = (s.tap + i) % j.taps * j.x.split + plane % j.x.split;
            if (i >= s.count || down >= j.kernel || right >= j.kernel) continue;
            unsigned at = (down * j.kernel + right) * j.channels + channel;
            float *to = y + (size_t)at * j.small_c + column;
#pragma unroll
            for (unsigned n = 0; n < COLS / 8; n++)
                if (column + n * 8 < j.small_c)
                    *(float2 *)(to + n * 8) =
                        make_float2(sum[i][n * 4 + half * 2], sum[i][n * 4 + half * 2 + 1]);
        }
    }
}

static __global__ void __launch_bounds__(THREADS, 1) weights_kernel(const wk_planes_weights j)
{
    extern __shared__ __align__(128) char memory[];
    wk_begin();
    const share s = share_of(j);
    unsigned base = (unsigned)__cvta_generic_to_shared(memory);
    unsigned stage = RIGHT + LEFT_CHUNKS * j.pitch;
    unsigned steps = s.begin < s.end ? (s.end - s.begin + DEPTH - 1) / DEPTH : 0;
    auto load = [&](unsigned step) {
        if (step < steps) copy_stage(j, s, s.begin + step * DEPTH, base + step % STAGES * stage);
        asm volatile("cp.async.commit_group;");
    };
    for (unsigned step = 0; step < STAGES - 2; step++)
        load(step);
    float sum[TAPS][COLS / 2] = {};
    wk_wgmma_hold(sum[0]);
    wk_wgmma_hold(sum[1]);
#pragma unroll 1
    for (unsigned step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 3));
        wk_publish_shared();
        __syncthreads(); // the stage is there, and nobody reads the one before the last any more
        multiply(j, s, base + step % STAGES * stage, sum);
        load(step + STAGES - 2);
        wk_wgmma_wait<1>();
    }
    wk_wgmma_wait<0>();
    wk_wgmma_hold(sum[0]);
    wk_wgmma_hold(sum[1]);
    store(j, s, sum);
}

unsigned wk_cuda_planes_weights_bytes(const wk_planes_weights *j)
{
    return STAGES * (RIGHT + LEFT_CHUNKS * j->pitch);
}

void wk_cuda_planes_weights(const wk_cuda_call *c, const wk_planes_weights *j)
{
    unsigned sets = (j->taps * j->taps + TAPS - 1) / TAPS;
    wk_launch_shared(c, weights_kernel, dim3(j->row_blocks * j->column_blocks * sets, j->groups),
                     THREADS, wk_cuda_planes_weights_bytes(j), *j);
}
