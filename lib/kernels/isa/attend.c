/*
 * Causal attention of one head: see attend.h.
 *
 * Blocks of QB queries meet blocks of KB keys, and a block's scores never leave the
 * first-level cache.  Forward keeps a running maximum and sum per query, and rescales the
 * output when the maximum grows; backward recomputes the probabilities from the saved
 * logarithm of the sum.  Blocks that are masked entirely are skipped.
 *
 * The scheme is FlashAttention's: Dao et al. 2022, arXiv:2205.14135.
 */
#include <math.h>
#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/attend_few.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/transpose.h"

#define QB TG_ATTEND_BLOCK
#define KB TG_ATTEND_BLOCK

/* The tile of a small product, in registers: TR rows of up to TV vectors. */
#define TR 6
#define TV (VL == 16 ? 4 : 2)

/* ---- small products: c = a b or c += a b; a has both strides */

/* How the mask restricts a product; query i of the block sees the keys j <= i + diagonal. */
enum mask {
    MASK_COLUMNS,    /* c is [query, key]: masked columns are skipped and keep their values */
    MASK_TERMS_FROM, /* c's rows are keys, the sum is over queries, from the first that sees them on */
    MASK_TERMS_TO    /* c's rows are queries, the sum is over keys, up to the last that they see */
};

struct product {
    float *c;
    size_t ldc;
    const float *a;
    size_t a_row, a_col;
    const float *b;
    size_t ldb;
    size_t M, N, K; /* N is a multiple of VL */
    bool add;
    enum mask mask;
    ptrdiff_t diagonal;
};

INLINE size_t clamp(ptrdiff_t n, size_t max)
{
    return n < 0 ? 0 : tg_size_min((size_t)n, max);
}

/* TR rows from m on and `vectors` vectors from column n on, terms k0 .. k1-1.  A row beyond M
 * repeats the last one and is not stored. */
INLINE void small_tile(const struct product *p, size_t m, size_t n, size_t k0, size_t k1,
                       const size_t vectors)
{
    const float *a[TR];
    vf sum[TR * TV];

    for (size_t r = 0; r < TR; r++)
        a[r] = p->a + tg_size_min(m + r, p->M - 1) * p->a_row;
#pragma GCC unroll 24
    for (size_t t = 0; t < TR * vectors; t++)
        sum[t] = (vf){0};
    for (size_t k = k0; k < k1; k++) {
        vf b[TV];

#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            b[v] = load(p->b + k * p->ldb + n + v * VL);
#pragma GCC unroll 24
        for (size_t t = 0; t < TR * vectors; t++)
            sum[t] = add_product(sum[t], splat(a[t / vectors][k * p->a_col]), b[t % vectors]);
    }
#pragma GCC unroll 24
    for (size_t t = 0; t < TR * vectors; t++) {
        float *c = p->c + (m + t / vectors) * p->ldc + n + t % vectors * VL;

        if (m + t / vectors < p->M)
            store(c, p->add ? load(c) + sum[t] : sum[t]);
    }
}

static void small_rows(const struct product *p, size_t m)
{
    const ptrdiff_t first = (ptrdiff_t)m, end = first + TR + p->diagonal; /* end of the keys that are seen */
    const size_t N = p->mask == MASK_COLUMNS ? clamp(end, p->N) : p->N;
    const size_t k0 = p->mask == MASK_TERMS_FROM ? clamp(first - p->diagonal, p->K) : 0;
    const size_t k1 = p->mask == MASK_TERMS_TO ? clamp(end, p->K) : p->K;
    size_t n = 0;

    for (; n + (TV - 1) * VL < N; n += TV * VL)
        small_tile(p, m, n, k0, k1, TV);
    for (; n + VL < N; n += 2 * VL)
        small_tile(p, m, n, k0, k1, 2);
    if (n < N)
        small_tile(p, m, n, k0, k1, 1);
}

static void small_product(const struct product *p)
{
    for (size_t m = 0; m < p->M; m += TR)
        small_rows(p, m);
}

/* ---- operands in scratch, padded with zeros */

/* xt[d][j] = x[j][d] for VL rows, transposed as squares in registers. */
INLINE void transpose_rows(float *restrict xt, const float *restrict x, size_t ld, size_t D)
{
    size_t d = 0;

    for (; d + VL <= D; d += VL) {
        vf row[VL];

        for (size_t r = 0; r < VL; r++)
            row[r] = load(x + r * ld + d);
        transpose(row);
        for (size_t r = 0; r < VL; r++)
            store(xt + (d + r) * KB, row[r]);
    }
    for (; d < D; d++)
        for (size_t r = 0; r < VL; r++)
            xt[d * KB + r] = x[r * ld + d];
}

/* xt[block][d][j]: blocks of KB rows of x, transposed, zero-padded. */
static void pack_transposed(float *restrict xt, const float *restrict x, size_t ld, size_t rows, size_t D)
{
    for (size_t j0 = 0; j0 < rows; j0 += KB, xt += KB * D) {
        const size_t n = tg_size_min(KB, rows - j0);
        size_t j = 0;

        if (n < KB)
            memset(xt, 0, KB * D * sizeof *xt);
        for (; j + VL <= n; j += VL)
            transpose_rows(xt + j, x + (j0 + j) * ld, ld, D);
        for (; j < n; j++)
            for (size_t d = 0; d < D; d++)
                xt[d * KB + j] = x[(j0 + j) * ld + d];
    }
}

/* Rows of x, zero-padded from D to Dp. */
static void pack_rows(float *restrict to, size_t Dp, const float *restrict x, size_t ld, size_t rows,
                      size_t D)
{
    for (size_t j = 0; j < rows; j++) {
        for (size_t d = 0; d < D; d++)
            to[j * Dp + d] = x[j * ld + d];
        for (size_t d = D; d < Dp; d++)
            to[j * Dp + d] = 0;
    }
}

static void unpack_rows(float *restrict x, size_t ld, const float *restrict from, size_t Dp, size_t rows,
                        size_t D)
{
    for (size_t j = 0; j < rows; j++)
        for (size_t d = 0; d < D; d++)
            x[j * ld + d] = from[j * Dp + d];
}

/* The maximum, and the sum, of the KB elements of a row. */
INLINE float row_max(const float *x)
{
    float lane[VL], max;
    vf v = load(x);

    for (size_t j = VL; j < KB; j += VL)
        v = larger(v, load(x + j));
    store(lane, v);
    max = lane[0];
    for (size_t l = 1; l < VL; l++)
        max = lane[l] > max ? lane[l] : max;
    return max;
}

INLINE float row_sum(const float *x)
{
    vf v = load(x);

    for (size_t j = VL; j < KB; j += VL)
        v += load(x + j);
    return sum_lanes(v);
}

/* The keys of the block from k0 on that query i sees: from .. to - 1; none: both are 0. */
struct seen {
    size_t from, to;
};

INLINE struct seen seen(const tg_attention_head *op, size_t i, size_t k0)
{
    const size_t first = first_seen(op, i), keys = op->past + i + 1;

    if (keys <= k0 || first >= k0 + KB)
        return (struct seen){0, 0};
    return (struct seen){first > k0 ? first - k0 : 0, tg_size_min(KB, keys - k0)};
}

/* The block of keys that a block of queries, of which q0 is the first, begins with. */
INLINE size_t first_block(const tg_attention_head *op, size_t q0)
{
    return first_seen(op, q0) / KB * KB;
}

/* ---- forward */

struct forward {
    float *kt, *v;    /* [keys/KB][D][KB], [keys][Dp] */
    float *s;         /* [QB][KB] scores, then probabilities */
    float *o;         /* [QB][Dp] */
    float *max, *sum; /* [QB] */
    float *factors;   /* [KB] */
    size_t Dp;
};

/* Turns the scores of row r into unnormalised probabilities; rescales the earlier sums. */
static void softmax_step(const tg_attention_head *op, const struct forward *f, size_t i, size_t r, size_t k0)
{
    const struct seen keys = seen(op, i, k0);
    float *s = f->s + r * KB, *o = f->o + r * f->Dp;
    float max, rescale;

    if (keys.to == 0) {
        memset(s, 0, KB * sizeof *s);
        return;
    }
    for (size_t j = 0; j < KB; j++)
        s[j] *= op->scale;
    if (op->cap > 0)
        cap_each(s, op->cap, KB);
    for (size_t j = 0; j < keys.from; j++)
        s[j] = -INFINITY; /* masked */
    for (size_t j = keys.to; j < KB; j++)
        s[j] = -INFINITY;
    max = fmaxf(f->max[r], row_max(s));
    for (size_t j = 0; j < KB; j++)
        s[j] = exp_f32(s[j] - max);
    if (max > f->max[r]) {
        rescale = exp_f32(f->max[r] - max); /* 0 in the first block, where the maximum was -inf */
        f->sum[r] *= rescale;
        for (size_t d = 0; d < f->Dp; d++)
            o[d] *= rescale;
    }
    f->sum[r] += row_sum(s);
    f->max[r] = max;
    if (op->keep) {
        op->keep(f->factors, i, k0, keys.to, op->context);
        for (size_t j = 0; j < keys.to; j++)
            s[j] *= f->factors[j];
    }
}

static void forward_block(const tg_attention_head *op, const struct forward *f, size_t q0, size_t rows)
{
    const size_t D = op->D, Dp = f->Dp, keys = op->past + q0 + rows;

    for (size_t r = 0; r < rows; r++) {
        f->max[r] = -INFINITY;
        f->sum[r] = 0;
    }
    memset(f->o, 0, rows * Dp * sizeof(float));
    for (size_t k0 = first_block(op, q0); k0 < keys; k0 += KB) {
        const ptrdiff_t diagonal = (ptrdiff_t)(op->past + q0) - (ptrdiff_t)k0;
        const struct product scores = {
            .c = f->s,
            .ldc = KB,
            .a = (const float *)op->q + q0 * op->ldq,
            .a_row = op->ldq,
            .a_col = 1,
            .b = f->kt + k0 * D,
            .ldb = KB,
            .M = rows,
            .N = KB,
            .K = D,
            .mask = MASK_COLUMNS,
            .diagonal = diagonal,
        };
        const struct product gather = {
            .c = f->o,
            .ldc = Dp,
            .a = f->s,
            .a_row = KB,
            .a_col = 1,
            .b = f->v + k0 * Dp,
            .ldb = Dp,
            .M = rows,
            .N = Dp,
            .K = tg_size_min(KB, keys - k0),
            .add = true,
            .mask = MASK_TERMS_TO,
            .diagonal = diagonal,
        };

        small_product(&scores);
        for (size_t r = 0; r < rows; r++)
            softmax_step(op, f, q0 + r, r, k0);
        small_product(&gather);
    }
    for (size_t r = 0; r < rows; r++) {
        float *out = (float *)op->out + (q0 + r) * op->ldo, inverse = 1.0f / f->sum[r];

        for (size_t d = 0; d < D; d++)
            out[d] = f->o[r * Dp + d] * inverse;
        if (op->lse)
            op->lse[q0 + r] = f->max[r] + logf(f->sum[r]);
    }
}

INLINE float dot(const float *restrict a, const float *restrict b, size_t n)
{
    vf sums = {0};
    float rest = 0;
    size_t i = 0;

    for (; i + VL <= n; i += VL)
        sums += load(a + i) * load(b + i);
    for (; i < n; i++)
        rest += a[i] * b[i];
    return sum_lanes(sums) + rest;
}

void ISA_NAME(attend_forward)(const tg_attention_head *op, float *work)
{
    const size_t keys = op->past + op->queries, D = op->D;
    const size_t P = tg_round_up(keys, KB), Dp = tg_round_up(D, VL);
    struct forward f = {.Dp = Dp};

    if (op->queries < TG_ATTEND_FEW && !op->keep) {
        forward_few(op, work);
        return;
    }
    f.kt = work;
    f.v = f.kt + P * D;
    f.s = f.v + P * Dp;
    f.o = f.s + QB * KB;
    f.max = f.o + QB * Dp;
    f.sum = f.max + QB;
    f.factors = f.sum + QB;
    pack_transposed(f.kt, op->k, op->ldk, keys, D);
    pack_rows(f.v, Dp, op->v, op->ldv, keys, D);
    for (size_t q0 = 0; q0 < op->queries; q0 += QB)
        forward_block(op, &f, q0, tg_size_min(QB, op->queries - q0));
}

/* ---- backward */

struct backward {
    float *kt, *vt;      /* [keys/KB][D][KB] */
    float *k, *q, *dout; /* [keys][Dp], [QB][Dp], [QB][Dp] */
    float *dk, *dv, *dq; /* [keys][Dp] twice, [QB][Dp] */
    float *p, *ds;       /* [QB][KB] */
    float *factors;      /* [KB] */
    size_t Dp;
};

/*
 * With p the probabilities and f dropout's factors (1 without):
 *   dv_j = sum_i p_ij f_ij dout_i        dp_ij = f_ij dout_i . v_j
 *   ds_ij = p_ij (dp_ij - sum_j p_ij dp_ij),  where that sum is dout_i . out_i
 *   dq_i = scale sum_j ds_ij k_j         dk_j = scale sum_i ds_ij q_i
 * With a cap ds_ij is also multiplied with the slope 1 - (s_ij / cap)^2.
 *
 * Row r: p has scores, and becomes p f; ds has dout . v, and becomes scale ds.
 */
static void softmax_backward(const tg_attention_head *op, const struct backward *b, size_t i, size_t r,
                             size_t k0)
{
    const struct seen keys = seen(op, i, k0);
    const float *dout = op->dout, *out = op->saved_out;
    const float mean_dp = dot(dout + i * op->ldo, out + i * op->ldo, op->D);
    float *p = b->p + r * KB, *ds = b->ds + r * KB, slope[KB];

    for (size_t j = 0; j < KB; j++) /* whole vectors; masked elements are set to 0 below */
        p[j] *= op->scale;
    if (op->cap > 0) {
        cap_each(p, op->cap, KB);
        for (size_t j = 0; j < KB; j++)
            slope[j] = 1 - p[j] / op->cap * (p[j] / op->cap);
    }
    for (size_t j = 0; j < KB; j++)
        p[j] = exp_f32(p[j] - op->saved_lse[i]);
    for (size_t j = 0; j < keys.from; j++)
        p[j] = ds[j] = 0;
    for (size_t j = keys.to; j < KB; j++)
        p[j] = ds[j] = 0;
    if (op->keep) {
        if (keys.to > 0)
            op->keep(b->factors, i, k0, keys.to, op->context);
        for (size_t j = 0; j < keys.to; j++) {
            ds[j] = p[j] * (ds[j] * b->factors[j] - mean_dp) * op->scale;
            p[j] *= b->factors[j];
        }
    } else {
        for (size_t j = 0; j < KB; j++)
            ds[j] = p[j] * (ds[j] - mean_dp) * op->scale;
    }
    if (op->cap > 0)
        for (size_t j = 0; j < KB; j++)
            ds[j] *= slope[j];
}

static void backward_block(const tg_attention_head *op, const struct backward *b, size_t q0, size_t rows)
{
    const size_t D = op->D, Dp = b->Dp, keys = q0 + rows;

    pack_rows(b->q, Dp, (const float *)op->q + q0 * op->ldq, op->ldq, rows, D);
    pack_rows(b->dout, Dp, (const float *)op->dout + q0 * op->ldo, op->ldo, rows, D);
    memset(b->dq, 0, rows * Dp * sizeof(float));
    for (size_t k0 = first_block(op, q0); k0 < keys; k0 += KB) {
        const size_t n = tg_size_min(KB, keys - k0);
        const ptrdiff_t diagonal = (ptrdiff_t)(q0 - k0); /* whole blocks */
        const struct product products[] = {
            /* scores = q k^T, ds = dout v^T */
            {b->p, KB, b->q, Dp, 1, b->kt + k0 * D, KB, rows, KB, D, false, MASK_COLUMNS, diagonal},
            {b->ds, KB, b->dout, Dp, 1, b->vt + k0 * D, KB, rows, KB, D, false, MASK_COLUMNS, diagonal},
            /* dq += ds k, dk += ds^T q, dv += p^T dout */
            {b->dq, Dp, b->ds, KB, 1, b->k + k0 * Dp, Dp, rows, Dp, n, true, MASK_TERMS_TO, diagonal},
            {b->dk + k0 * Dp, Dp, b->ds, 1, KB, b->q, Dp, n, Dp, rows, true, MASK_TERMS_FROM, diagonal},
            {b->dv + k0 * Dp, Dp, b->p, 1, KB, b->dout, Dp, n, Dp, rows, true, MASK_TERMS_FROM, diagonal},
        };

        small_product(&products[0]);
        small_product(&products[1]);
        for (size_t r = 0; r < rows; r++)
            softmax_backward(op, b, q0 + r, r, k0);
        for (size_t i = 2; i < 5; i++)
            small_product(&products[i]);
    }
    unpack_rows((float *)op->dq + q0 * op->ldq, op->ldq, b->dq, Dp, rows, D);
}

void ISA_NAME(attend_backward)(const tg_attention_head *op, float *work)
{
    const size_t keys = op->queries, D = op->D;
    const size_t P = tg_round_up(keys, KB), Dp = tg_round_up(D, VL);
    struct backward b = {.Dp = Dp};

    b.kt = work;
    b.vt = b.kt + P * D;
    b.k = b.vt + P * D;
    b.dk = b.k + P * Dp;
    b.dv = b.dk + P * Dp;
    b.q = b.dv + P * Dp;
    b.dout = b.q + QB * Dp;
    b.dq = b.dout + QB * Dp;
    b.p = b.dq + QB * Dp;
    b.ds = b.p + QB * KB;
    b.factors = b.ds + QB * KB;
    pack_transposed(b.kt, op->k, op->ldk, keys, D);
    pack_transposed(b.vt, op->v, op->ldv, keys, D);
    pack_rows(b.k, Dp, op->k, op->ldk, keys, D);
    memset(b.dk, 0, 2 * P * Dp * sizeof(float));
    for (size_t q0 = 0; q0 < keys; q0 += QB)
        backward_block(op, &b, q0, tg_size_min(QB, keys - q0));
    unpack_rows(op->dk, op->lddk, b.dk, Dp, keys, D);
    unpack_rows(op->dv, op->lddv, b.dv, Dp, keys, D);
}
