// Matrix products by OpenBLAS. The library runs single-threaded on tiles of the output that depend
// on the shape alone, and our pool deals the tiles to threads: a product has the same bits for any
// number of threads, which the library's own threading does not promise.

#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include <cblas.h>
#include <pthread.h>
#include <string.h>

// How the output is cut. OpenBLAS packs op(b) once per tile, so tiles keep all columns and some
// hundred rows; measured, cutting columns costs up to a fifth and rows a few percent. Only products
// of few rows are cut by columns. Below MIN_WORK multiply-adds a thread's wake-up costs more than
// it saves.
enum { TILE_ROWS = 192, ROW_TILES = 16, FEW_TILES = 4, TILE_COLS = 256 };
static const double MIN_WORK = 3e5;

static pthread_once_t blas_once = PTHREAD_ONCE_INIT;

// The number of threads is the library's global state; one is the only value under which calls from
// several threads do not compete.
static void make_blas_single_threaded(void)
{
    openblas_set_num_threads(1);
}

void wk_gemm_init(void)
{
    pthread_once(&blas_once, make_blas_single_threaded);
}

void wk_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, const float *a, size_t row_a,
             const float *b, size_t row_b, bool accumulate, float *c, size_t row_c)
{
    if (n == 1) { // one column: bound by reading a, which a matrix-vector product does once
        cblas_sgemv(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, (int)(ta ? k : m),
                    (int)(ta ? m : k), 1.0f, a, (int)row_a, b, tb ? 1 : (int)row_b, accumulate, c,
                    (int)row_c);
        return;
    }
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                (int)m, (int)n, (int)k, 1.0f, a, (int)row_a, b, (int)row_b, accumulate, c,
                (int)row_c);
}

typedef struct job {
    const wk_matmul *p;
    size_t row_a, row_b; // elements from row to row
    const float *a, *b;
    float *c;
    size_t tile_m, tile_n, tiles_m, tiles_n;
} job;

// c's tile for one stack entry, or for all of them when they are summed.
static void run_tile(void *context, size_t piece, int thread)
{
    (void)thread;
    const job *j = context;
    const wk_matmul *p = j->p;
    size_t n0 = piece % j->tiles_n * j->tile_n;
    size_t m0 = piece / j->tiles_n % j->tiles_m * j->tile_m;
    size_t s0 = piece / j->tiles_n / j->tiles_m;
    size_t m = wk_min_size(j->tile_m, p->m - m0), n = wk_min_size(j->tile_n, p->n - n0);
    size_t last = p->stride_c ? s0 + 1 : p->stacks;
    for (size_t s = s0; s < last; s++) {
        const float *a = j->a + s * p->stride_a + (p->transpose_a ? m0 : m0 * j->row_a);
        const float *b = j->b + s * p->stride_b + (p->transpose_b ? n0 * j->row_b : n0);
        float *c = j->c + s * p->stride_c + m0 * p->n + n0;
        wk_gemm(p->transpose_a, p->transpose_b, m, n, p->k, a, j->row_a, b, j->row_b,
                p->accumulate || s > s0, c, p->n);
    }
}

// Folds stacks into rows (or into the summed axis) where the arrays allow it: one large
// product is faster than many small ones.
static wk_matmul normalise(const wk_matmul *given)
{
    wk_matmul p = *given;
    if (p.stacks == 1) p.stride_c = p.m * p.n;
    bool rows_follow_a = p.stride_a == p.m * p.k && !p.transpose_a;
    bool rows_follow_c = p.stride_c && p.stride_c == p.m * p.n;
    if (rows_follow_a && rows_follow_c && p.stride_b == 0) {
        p.m *= p.stacks;
        p.stacks = 1;
        p.stride_c = p.m * p.n;
    }
    bool sum_follows_a = p.transpose_a && p.stride_a == p.k * p.m;
    bool sum_follows_b = !p.transpose_b && p.stride_b == p.k * p.n;
    if (p.stride_c == 0 && sum_follows_a && sum_follows_b) {
        p.k *= p.stacks;
        p.stacks = 1;
        p.stride_c = p.m * p.n;
    }
    return p;
}

// The number of parts to split `n` into so that each has at least `min`, and their length.
static size_t cut(size_t n, size_t min, size_t max, size_t *parts)
{
    size_t wanted = wk_min_size(n / min, max);
    size_t length = wk_ceil_div(wk_ceil_div(n, wanted ? wanted : 1), 16) * 16;
    *parts = wk_ceil_div(n, length);
    return length;
}

static void choose_tiles(job *j)
{
    size_t outputs = j->p->stride_c ? j->p->stacks : 1;
    j->tile_m = cut(j->p->m, TILE_ROWS, wk_ceil_div(ROW_TILES, outputs), &j->tiles_m);
    j->tile_n = cut(j->p->n, TILE_COLS, wk_ceil_div(FEW_TILES, j->tiles_m * outputs), &j->tiles_n);
}

void wk_cpu_matmul(const wk_matmul *given, const float *a, const float *b, float *c, wk_pool *pool)
{
    wk_matmul p = normalise(given);
    if (p.m == 0 || p.n == 0) return;
    size_t outputs = p.stride_c ? p.stacks : 1;
    if (p.k == 0 || p.stacks == 0) {
        for (size_t s = 0; s < outputs && !p.accumulate; s++)
            memset(c + s * p.stride_c, 0, p.m * p.n * sizeof *c);
        return;
    }
    wk_gemm_init();
    job j = {.p = &p, .a = a, .b = b, .c = c};
    j.row_a = p.transpose_a ? p.m : p.k;
    j.row_b = p.transpose_b ? p.k : p.n;
    choose_tiles(&j);
    double work = (double)p.m * (double)p.n * (double)p.k * (double)p.stacks;
    wk_pool_run(work < MIN_WORK ? NULL : pool, outputs * j.tiles_m * j.tiles_n, run_tile, &j);
}
