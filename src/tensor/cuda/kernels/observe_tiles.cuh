// One persistent kernel for all steps of an observed sequence. Each block owns eight units of the
// state, and some blocks a categorical variable as well; their columns of the weights are resident
// in shared memory, as operands of the tensor cores. Up to sixteen sequences are the rows of one
// matrix tile.
//
// A step has five phases, each of which needs what all blocks made in the one before. There is no
// barrier: results go through memory that was filled with a value no result can have (UNWRITTEN),
// and a reader loads a word again until it is another one. Every step has its own memory, so
// nothing is ever written twice. All blocks must run at once: the launch is cooperative. Members of
// a population wait for nothing of each other: as many as the device holds at once are one launch,
// and one launch follows the other.
//
// Results are exchanged in the order in which tensor cores want them: for every 16 columns the four
// words of each lane. What a product leaves in the registers of a lane is what the same lane of the
// next product needs.
//
// The critical path is from the arrival of the last word of a phase to the first word of the next:
// everything else is loaded, prepared or stored while a block would otherwise wait. The sizes are
// compile-time constants (those of the presets), which halves the instructions on that path.
#ifndef WK_TENSOR_CUDA_KERNELS_OBSERVE_TILES_CUH
#define WK_TENSOR_CUDA_KERNELS_OBSERVE_TILES_CUH

#include "tensor/cuda/kernels/mma.cuh"
#include "tensor/cuda/kernels/observe.cuh"

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    ROWS = WK_RECURRENCE_ROWS_MAX,
    UNITS = 8,                // of a block
    CELLS = ROWS * UNITS,     // of one tile of results
    WARP_ROWS = ROWS / WARPS, // of a tile: rows warp and warp + WARPS
};
#define UNWRITTEN 0xffffffffu

// Sizes of the model. State and hidden layers have as many blocks as eights of units.
template <int HIDDEN, int DETER, int VARIABLES, int CLASSES> struct shape {
    static constexpr int hidden = HIDDEN, deter = DETER, variables = VARIABLES, classes = CLASSES;
    static constexpr int flat = VARIABLES * CLASSES, gates = 3 * DETER;
    static constexpr int state_blocks = DETER / UNITS, hidden_blocks = HIDDEN / UNITS;
    static constexpr int limit = state_blocks > hidden_blocks ? state_blocks : hidden_blocks;
    static constexpr int blocks = limit > VARIABLES ? limit : VARIABLES;
};

// Tiles of 16 columns in rows of n (the last may be half full), how many of them a warp has at
// most, and their words, in units of the four or two that a lane has of each.
static __host__ __device__ constexpr int operand_tiles(int n)
{
    return (n + 15) / 16;
}
static __host__ __device__ constexpr int warp_tiles(int n)
{
    return (operand_tiles(n) + WARPS - 1) / WARPS;
}
static __host__ __device__ constexpr int tile_size(int n)
{
    return operand_tiles(n) * 32;
}

// Memory that other blocks poll.

static __device__ inline uint4 load_relaxed4(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

static __device__ inline uint2 load_relaxed2(const uint2 *p)
{
    uint2 v;
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0,%1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(p)
                 : "memory");
    return v;
}

static __device__ inline void publish(unsigned *p, unsigned word)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(word) : "memory");
}

// A NaN of the GPU's own arithmetic is 0x7fffffff, never UNWRITTEN, but one may have come in with
// the data.
static __device__ inline unsigned as_written(float x)
{
    unsigned word = __float_as_uint(x);
    return word == UNWRITTEN ? 0x7fffffffu : word;
}

static __device__ inline void publish2(uint2 *p, float a, float b)
{
    asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1,%2};" ::"l"(p), "r"(as_written(a)),
                 "r"(as_written(b))
                 : "memory");
}

static __device__ inline void publish_byte(unsigned char *p, unsigned byte)
{
    asm volatile("st.relaxed.gpu.global.u8 [%0], %1;" ::"l"(p), "r"(byte) : "memory");
}

static __device__ inline unsigned largest_word(uint4 v)
{
    return max(max(v.x, v.y), max(v.z, v.w));
}

// Makes eight columns of a result visible as an operand; `column` counts in eights of `columns`. A
// thread brings the cell of its row and unit, its neighbour the next unit's; all lanes of a warp
// take part, `active` are those that have a cell.
template <int COLUMNS>
static __device__ inline void publish_cell(uint4 *to, int column, int row, int unit, float value,
                                           bool active = true)
{
    float next = __shfl_down_sync(0xffffffffu, value, 1);
    if (unit % 2 || !active) return;
    __nv_bfloat162 pair = __floats2bfloat162_rn(value, next);
    unsigned *word =
        (unsigned *)(to + column / 2 * 32 + row % 8 * 4 + unit / 2) + row / 8 + column % 2 * 2;
    publish(word, *(unsigned *)&pair);
    // The second half of a last tile that is half full.
    if (COLUMNS % 2 == 1 && column == COLUMNS - 1) publish(word + 2, 0);
}

// Products of the tensor cores. Warp w has the operand tiles w, w + WARPS, ... of every sum.

template <int K> static __device__ inline bool has_tile(int i)
{
    constexpr int full = operand_tiles(K) / WARPS;
    return i < full || (int)(threadIdx.x / 32) < operand_tiles(K) - full * WARPS;
}

// Waits until this warp's operand tiles are there.
template <int K> static __device__ inline void fetch(uint4 (&a)[warp_tiles(K)], const uint4 *from)
{
    const uint4 *at = from + threadIdx.x;
    unsigned newest;
    do {
        newest = 0;
#pragma unroll
        for (int i = 0; i < warp_tiles(K); i++)
            if (has_tile<K>(i)) a[i] = load_relaxed4(at + i * THREADS);
#pragma unroll
        for (int i = 0; i < warp_tiles(K); i++)
            if (has_tile<K>(i)) newest = max(newest, largest_word(a[i]));
    } while (newest == UNWRITTEN);
}

// c[j] += rows of `from` times column tile j of the weights: this warp's part of the sum. The
// weights are read before the wait.
template <int K, int N>
static __device__ inline void multiply(float (&c)[N][4], const uint4 *from, const uint2 *weights)
{
    constexpr int limit = warp_tiles(K);
    uint2 b[N][limit];
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int i = 0; i < limit; i++)
            if (has_tile<K>(i)) b[j][i] = weights[j * tile_size(K) + i * THREADS + threadIdx.x];
    uint4 a[limit];
    fetch<K>(a, from);
#pragma unroll
    for (int i = 0; i < limit; i++)
        if (has_tile<K>(i))
#pragma unroll
            for (int j = 0; j < N; j++)
                wk_mma(c[j], a[i], b[j][i]);
}

// Every warp's part of up to TILES tiles of results; double-buffered, so that a faster warp does
// not overwrite what others still read.
template <int TILES> using partials = float[WARPS][TILES][CELLS];

template <int N, int TILES>
static __device__ inline void put_partials(partials<TILES> &to, const float (&c)[N][4])
{
    static_assert(N <= TILES, "a tile for each result");
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int at = lane / 4 * UNITS + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < N; j++) {
        *(float2 *)&to[warp][j][at] = make_float2(c[j][0], c[j][1]);
        *(float2 *)&to[warp][j][at + 8 * UNITS] = make_float2(c[j][2], c[j][3]);
    }
    __syncthreads();
}

template <int TILES>
static __device__ inline float total(const partials<TILES> &from, int column, int cell)
{
    float part[WARPS];
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        part[w] = from[w][column][cell];
#pragma unroll
    for (int step = 1; step < WARPS; step *= 2)
#pragma unroll
        for (int w = 0; w < WARPS; w += 2 * step)
            part[w] += part[w + step];
    return part[0];
}

// Weights, once.

// Columns at ... at+7 of w [K,n] as a tile: lane 4c+q holds rows 2q, 2q+1 and 2q+8, 2q+9 of column
// c of every 16 rows.
template <int K>
static __device__ void load_columns(uint2 *to, const __nv_bfloat16 *w, int n, int at)
{
    unsigned short *element = (unsigned short *)to;
    for (int row = threadIdx.x; row < operand_tiles(K) * 16; row += THREADS) {
        uint4 v = row < K ? *(const uint4 *)(w + (size_t)row * n + at) : make_uint4(0, 0, 0, 0);
        const unsigned short *values = (const unsigned short *)&v;
        int q = row % 8 / 2, word = row % 16 / 8;
#pragma unroll
        for (int c = 0; c < UNITS; c++)
            element[((row / 16 * 32 + c * 4 + q) * 2 + word) * 2 + row % 2] = values[c];
    }
}

// Rows at ... at+7 of w [n,K] as a tile, so that w is used transposed.
template <int K> static __device__ void load_rows(uint2 *to, const __nv_bfloat16 *w, int at)
{
    unsigned *words = (unsigned *)to;
    constexpr int eighths = operand_tiles(K) * 2;
    for (int i = threadIdx.x; i < eighths * UNITS; i += THREADS) {
        int c = i / eighths, part = i - c * eighths;
        uint4 v = part * 8 < K ? *(const uint4 *)(w + (size_t)(at + c) * K + part * 8)
                               : make_uint4(0, 0, 0, 0);
        unsigned *tile = words + (part / 2 * 32 + c * 4) * 2 + part % 2;
        tile[0] = v.x;
        tile[2] = v.y;
        tile[4] = v.z;
        tile[6] = v.w;
    }
}

// The steps' addresses from the parameters to shared memory.
static __device__ void copy_words(void *to, const void *from, size_t bytes)
{
    for (size_t i = threadIdx.x; i < bytes / sizeof(uint64_t); i += THREADS)
        ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
}

// The sum over neighbouring lanes, `lanes` a power of two.
static __device__ inline float lane_sum(float x, int lanes)
{
#pragma unroll
    for (int offset = lanes / 2; offset > 0; offset /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}

// Waits for the pairs that all blocks have for this thread's row; sixteen threads share a row.
template <int BLOCKS>
static __device__ inline void fetch_pairs(float2 (&pairs)[(BLOCKS + 15) / 16], const uint2 *from)
{
    constexpr int limit = (BLOCKS + 15) / 16;
    int row = threadIdx.x / 16, share = threadIdx.x % 16;
    const uint2 *at = from + row * BLOCKS + share;
    unsigned newest;
    uint2 v[limit];
    do {
        newest = 0;
#pragma unroll
        for (int i = 0; i < limit; i++) {
            v[i] = make_uint2(0, 0);
            if (share + 16 * i < BLOCKS) v[i] = load_relaxed2(at + 16 * i);
        }
#pragma unroll
        for (int i = 0; i < limit; i++)
            newest = max(newest, max(v[i].x, v[i].y));
    } while (newest == UNWRITTEN);
#pragma unroll
    for (int i = 0; i < limit; i++)
        pairs[i] = make_float2(__uint_as_float(v[i].x), __uint_as_float(v[i].y));
}

// The cell of a tile of results that a thread works on.
typedef struct place {
    int row, unit, column; // column of the block's eight in the whole
    bool whole, real;      // one of the tile's cells; and of a sequence that exists
} place;

static __device__ inline place place_of(int rows)
{
    int cell = threadIdx.x, row = cell / UNITS, unit = cell % UNITS;
    place p = {row, unit, (int)blockIdx.x * UNITS + unit, cell < CELLS, cell < CELLS && row < rows};
    return p;
}

extern __shared__ uint4 shared_memory[];

/// A kernel for one model, the same with fewer registers, so that more blocks of a population share
/// a multiprocessor, and the shared memory of a block with the largest number of steps.
template <class Job> struct wk_observe_version {
    int hidden, deter, variables, classes, blocks;
    void (*alone)(Job), (*together)(Job);
    size_t shared;
};

/// The calls of a recurrence, for looking up addresses.
typedef struct wk_binding {
    const wk_cuda_call *calls;
    const wk_recurrence *r;
} wk_binding;

/// The address of a tensor that a node of the recurrence reads; NULL for none.
wk_ptr<const float> wk_binding_read(const wk_binding *b, int step, wk_role role);
/// Where a result goes; notes that its bf16 copy will be up to date.
wk_out wk_binding_store(const wk_binding *b, int step, wk_role role);
/// A result in float32, whoever reads it.
wk_ptr<float> wk_binding_store_f32(const wk_binding *b, int step, wk_role role);
/// The bf16 copy of a weight.
wk_ptr<const __nv_bfloat16> wk_binding_weights(const wk_binding *b, wk_role role);
/// Memory for the exchange, filled with UNWRITTEN: pointers to parts of the given sizes.
enum { WK_EXCHANGES = 5 };
void wk_binding_exchange(const wk_binding *b, const size_t *bytes, wk_ptr<uint4> *parts);

/// The version for the sizes of a recurrence, or NULL.
template <class Job, size_t N>
static const wk_observe_version<Job> *
wk_observe_choose(const wk_observe_version<Job> (&versions)[N], const wk_recurrence *r)
{
    for (const wk_observe_version<Job> &v : versions)
        if (v.hidden == r->hidden && v.deter == r->deter && v.variables == r->variables &&
            v.classes == r->classes)
            return &v;
    return NULL;
}

/// The two directions.
void wk_cuda_observe_forward(const wk_binding *b);
void wk_cuda_observe_backward(const wk_binding *b);

/// The job of members `first` and after. A job is scalars followed by pointers only, so all of them
/// from the first one on are offset.
template <class Job> static Job wk_observe_from(Job job, int first)
{
    for (uint64_t *at = (uint64_t *)&job.in_w; at < (uint64_t *)(&job + 1); at++)
        if (*at) *at += (uint64_t)first << WK_MEMBER_SHIFT;
    return job;
}

/// How many members' blocks of a kernel run at once, at most, with so much shared memory.
template <class Job>
static int wk_observe_fit(const wk_cuda_call *c, const wk_observe_version<Job> &v,
                          void (*kernel)(Job), size_t shared)
{
    int each = 0;
    // One limit for programs of all lengths.
    (void)cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               (int)v.shared);
    (void)cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, THREADS, shared);
    int fit = each * c->processors / v.blocks;
    return fit < 1 ? 1 : fit;
}

/// Cooperative launches of as many members each.
template <class Job>
static void wk_observe_launch(const wk_cuda_call *c, const wk_observe_version<Job> &v,
                              const Job &job)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.blockDim = THREADS;
    config.dynamicSmemBytes = v.shared - (WK_RECURRENCE_STEPS_MAX - job.steps) * sizeof job.step[0];
    config.stream = c->stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    void (*kernel)(Job) = v.alone;
    int fit = wk_observe_fit(c, v, kernel, config.dynamicSmemBytes);
    if (fit < c->members) {
        kernel = v.together;
        fit = wk_observe_fit(c, v, kernel, config.dynamicSmemBytes);
    }
    int launches = (c->members + fit - 1) / fit, each = (c->members + launches - 1) / launches;
    for (int first = 0; first < c->members; first += each) {
        int members = c->members - first < each ? c->members - first : each;
        config.gridDim = dim3((unsigned)v.blocks, 1, (unsigned)members);
        // An error stays for cudaGetLastError.
        (void)cudaLaunchKernelEx(&config, kernel, wk_observe_from(job, first));
    }
}

#endif
