/* tg_kernels_check: all kernels of a table, against the portable ones, on a tiny case. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/kernels/isas.h"
#include "lib/kernels/kernels.h"

extern const tg_kernels tg_kernels_portable;

enum { SIDE = 19, SQUARE = SIDE * SIDE }; /* multiples of no vector's width */

/* All that the kernels of a table compute: floats, and nothing else. */
struct trial {
    float product[SQUARE], product_bf16[SQUARE];
    float packed[3][SQUARE], packed_one[3][SIDE]; /* of every type, many rows and one */
    float attention[SQUARE], lse[SIDE], dq[SQUARE], dk[SQUARE], dv[SQUARE];
    float gelu[SQUARE], slope[SQUARE];
    float norm[SQUARE], mean, rstd, dnorm[SQUARE], dw_norm[SIDE], db_norm[SIDE];
    float rms[SQUARE], drms[SQUARE], dot, turned[2 * SQUARE], silu[SQUARE], silu_slope[SQUARE];
    float relu2[SQUARE], relu2_slope[SQUARE];
    float products[SQUARE], products_added[SQUARE];
    float capped[SQUARE], cap_slope[SQUARE], softmax[SQUARE], dlogits[SQUARE], loss;
    float halves[SQUARE], product_halves[SQUARE], rows_halves[SIDE];
    float sum[SQUARE], rows[SIDE], squares, normals[SQUARE], words[2][SQUARE], factors[SQUARE];
    float softmax_sums[3], probs[SQUARE], mean_logit, before;
    float w[SQUARE], m[SQUARE], v[SQUARE];
};

/* What they compute in bf16, and its probabilities' sum. */
struct trial16 {
    tg_bf16 attention[SQUARE], dq[SQUARE], dk[SQUARE], dv[SQUARE];
    float lse[SIDE];
};

/* Multiples of 1/16 below 1: bf16 holds them exactly. */
static float value(size_t i)
{
    return ((float)(i * 7 % 13) - 6) / 16;
}

static void try_packed(const tg_kernels *k, struct trial *t, const tg_matmul *like, void *work)
{
    for (int type = TG_WEIGHT_FLOAT32; type <= TG_WEIGHT_INT8; type++) {
        float scales[64];
        const tg_packed_matrix w = {.K = SIDE,
                                    .N = SIDE,
                                    .type = (tg_weight_type)type,
                                    .panels = work,
                                    .scales = type == TG_WEIGHT_INT8 ? scales : NULL};
        tg_matmul op = *like;

        k->packed_matrix_pack(&w, op.b, SIDE, 1);
        op.c = t->packed[type];
        k->packed_matrix_run(&op, &w);
        op.M = 1;
        op.c = t->packed_one[type];
        k->packed_matrix_run(&op, &w);
    }
}

static void try_products(const tg_kernels *k, struct trial *t, const float *x, void *work)
{
    const tg_matmul_scratch scratch = {.packed = work, .threads = 1};
    tg_matmul op = {.M = SIDE,
                    .N = SIDE,
                    .K = SIDE,
                    .a = x,
                    .a_row = 1,
                    .a_col = SIDE,
                    .b = x,
                    .b_row = SIDE,
                    .b_col = 1,
                    .c = t->product,
                    .ldc = SIDE};

    k->matmul(&op, &scratch);
    op.c = t->product_bf16;
    k->matmul_bf16(&op, &scratch);
    op.a_row = SIDE;
    op.a_col = 1;
    try_packed(k, t, &op, work);
}

/* One head of attention, in either type: operands from x on, each an element after the one before, results in
 * *t. */
#define HEAD(x, t)                                                                                           \
    {                                                                                                        \
        .queries = SIDE, .D = SIDE, .scale = 0.3f, .q = (x), .k = (x) + 1, .v = (x) + 2, .ldq = SIDE,        \
        .ldk = SIDE, .ldv = SIDE, .ldo = SIDE, .out = (t)->attention, .lse = (t)->lse,                       \
        .saved_out = (t)->attention, .saved_lse = (t)->lse, .dout = (x) + 3, .dq = (t)->dq, .dk = (t)->dk,   \
        .dv = (t)->dv, .lddk = SIDE, .lddv = SIDE                                                            \
    }

static void try_attention(const tg_kernels *k, struct trial *t, const float *x, void *work)
{
    const tg_attention_head op = HEAD(x, t);

    k->attend_forward(&op, work);
    k->attend_backward(&op, work);
}

/* All sums are exact in float32. */
static void try_halves(const tg_kernels *k, struct trial *t, const float *x, void *work)
{
    const tg_matmul_scratch scratch = {.packed = work, .threads = 1};
    tg_bf16 halves[SQUARE], product[SQUARE];
    const tg_matmul op = {.M = SIDE,
                          .N = SIDE,
                          .K = SIDE,
                          .a = halves,
                          .b = halves,
                          .c = product,
                          .a_type = TG_TYPE_BF16,
                          .b_type = TG_TYPE_BF16,
                          .c_type = TG_TYPE_BF16,
                          .a_row = SIDE,
                          .a_col = 1,
                          .b_row = SIDE,
                          .b_col = 1,
                          .ldc = SIDE};

    k->round16(halves, x, SQUARE);
    k->widen(t->halves, halves, SQUARE);
    k->add_rows16(t->rows_halves, halves, SIDE, SIDE, SIDE);
    k->matmul_bf16(&op, &scratch);
    k->widen(t->product_halves, product, SQUARE);
}

static void try_attention16(const tg_kernels *k, struct trial16 *t, const float *x, void *work)
{
    tg_bf16 y[SQUARE + 3];
    const tg_attention_head op = HEAD(y, t);

    (void)tg_round_to_bf16(y, x, SQUARE + 3);
    k->attend16_forward(&op, work);
    k->attend16_backward(&op, work);
}

static void try_rows(const tg_kernels *k, struct trial *t, const float *x)
{
    const tg_row_range rows = {x + 1, x + 2, SIDE, SIDE};

    k->gelu_tanh_forward(t->gelu, x, SQUARE);
    memcpy(t->slope, x + 1, sizeof t->slope);
    k->gelu_tanh_backward(t->slope, x, SQUARE);
    k->layernorm_stats(&t->mean, &t->rstd, x, SQUARE, 1e-5f);
    k->layernorm_apply(t->norm, t->mean, t->rstd, x, x + 1, x + 2, SQUARE);
    k->layernorm_row_backward(t->dnorm, x + 3, x, t->mean, t->rstd, x + 1, SQUARE);
    k->layernorm_columns_backward(t->dw_norm, t->db_norm, x + 3, x, &rows, SIDE);
    memcpy(t->capped, x, sizeof t->capped);
    k->softcap_forward(t->capped, 0.25f, SQUARE);
    memcpy(t->cap_slope, x + 1, sizeof t->cap_slope);
    k->softcap_backward(t->cap_slope, t->capped, 0.25f, SQUARE);
    k->softmax_row(t->softmax, x, SQUARE);
    memcpy(t->dlogits, x, sizeof t->dlogits);
    t->loss = k->crossentropy_row(t->dlogits, SQUARE, SIDE, 0.5f);
}

/* Odd lengths, and operands that begin anywhere. */
static void try_llama_rows(const tg_kernels *k, struct trial *t, const float *x)
{
    const tg_gains gains = {x, 1};

    k->rmsnorm_apply(t->rms, x + 2, 0.5f, &gains, 1, SQUARE);
    t->dot = (float)k->rmsnorm_dot(x + 3, x + 2, &gains, 1, SQUARE);
    k->rmsnorm_backward(t->drms, x + 3, x + 2, 0.5f, 0.25f, &gains, 1, SQUARE);
    k->rotate(t->turned, t->turned + SQUARE, x, x + 1, x + 2, x + 3, -1, SQUARE);
    k->silu_forward(t->silu, x + 1, SQUARE);
    memcpy(t->silu_slope, x, sizeof t->silu_slope);
    k->silu_backward(t->silu_slope, x + 1, SQUARE);
    k->relu2_forward(t->relu2, x + 1, SQUARE);
    memcpy(t->relu2_slope, x, sizeof t->relu2_slope);
    k->relu2_backward(t->relu2_slope, x + 1, SQUARE);
    memcpy(t->products, x, sizeof t->products);
    k->multiply(t->products, x + 1, SQUARE);
    k->add_products(t->products_added, x + 1, x + 2, 0.5f, SQUARE);
}

static void try_elements(const tg_kernels *k, struct trial *t, const float *x)
{
    const tg_adamw_step step = {.learning_rate = 0.01f,
                                .beta1 = 0.9f,
                                .beta2 = 0.99f,
                                .gain1 = 0.1f,
                                .gain2 = 0.01f,
                                .epsilon = 1e-8f,
                                .weight_decay = 0.1f,
                                .correction1 = 0.1f,
                                .correction2 = 0.01f,
                                .grad_scale = 0.5f};
    const tg_rng rng = {.seed = 1, .purpose = TG_RNG_INIT};
    uint32_t words[SQUARE];

    k->add(t->sum, x, SQUARE);
    k->add_rows(t->rows, x, SIDE, SIDE, SIDE);
    t->squares = (float)k->sum_squares(x, SQUARE);
    k->adamw(t->w, t->m, t->v, x, SQUARE, &step);
    k->normals(t->normals, &rng, 7, SQUARE, 0.5);
    k->dropout_factors(t->factors, &rng, 7, SQUARE, 1u << 31, 2);
    k->random_words(words, &rng, 7, SQUARE);
    for (size_t i = 0; i < SQUARE; i++) { /* halves, which floats hold exactly */
        t->words[0][i] = (float)(words[i] >> 16);
        t->words[1][i] = (float)(words[i] & 0xFFFF);
    }
}

static void try_scores(const tg_kernels *k, struct trial *t, const float *x)
{
    tg_softmax_sums s;
    double p[SQUARE];

    k->softmax_sums(&s, x, SQUARE);
    k->softmax_probs(p, x, s.max, SQUARE);
    t->softmax_sums[0] = (float)s.max;
    t->softmax_sums[1] = (float)s.sum;
    t->softmax_sums[2] = (float)s.weighted;
    for (size_t i = 0; i < SQUARE; i++)
        t->probs[i] = (float)p[i];
    t->mean_logit = (float)k->mean_logit(p, x, SQUARE);
    t->before = (float)k->count_before(x, SQUARE / 2, SQUARE);
}

static void try_kernels(const tg_kernels *k, struct trial *t, struct trial16 *t16, void *work)
{
    float x[SQUARE + 3]; /* each operand begins one element later than the one before */

    for (size_t i = 0; i < SQUARE + 3; i++)
        x[i] = value(i);
    try_products(k, t, x, work);
    try_attention(k, t, x, work);
    try_halves(k, t, x, work);
    try_attention16(k, t16, x, work);
    try_rows(k, t, x);
    try_llama_rows(k, t, x);
    try_elements(k, t, x);
    try_scores(k, t, x);
}

/* Whether n values are the portable kernels', within what rounding explains. */
static bool agree(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(b[i]))))
            return false;
    return true;
}

/* Rounded probabilities and results differ by 2^-8 of terms below 1/2, and backward's come from both. */
static bool agree16(const struct trial16 *a, const struct trial16 *b)
{
    const tg_bf16 *x = a->attention, *y = b->attention;

    for (size_t i = 0; i < offsetof(struct trial16, lse) / sizeof *x; i++) {
        const uint32_t bits[2] = {(uint32_t)x[i] << 16, (uint32_t)y[i] << 16};
        float values[2];

        memcpy(values, bits, sizeof values);
        if (!(fabsf(values[0] - values[1]) <= 0x1p-9f + 0x1p-6f * fabsf(values[1])))
            return false;
    }
    return agree(a->lse, b->lse, SIDE);
}

tg_status tg_kernels_check(const tg_kernels *k, tg_err *err)
{
    const size_t bytes = tg_size_max(tg_matmul_work(1), tg_attention_head16_work(SIDE, SIDE) * sizeof(float));
    const tg_kernels *reference = &tg_kernels_portable;
    struct trial *t = calloc(2, sizeof *t);
    struct trial16 *t16 = calloc(2, sizeof *t16);
    void *work = aligned_alloc(TG_ALIGN, tg_round_up(bytes, TG_ALIGN));
    tg_status status = TG_OK;

    if (!t || !t16 || !work) {
        status = tg_fail_memory(err, bytes, "the kernels' test");
        goto done;
    }
    try_kernels(reference, &t[0], &t16[0], work);
    try_kernels(k, &t[1], &t16[1], work);
    if (!agree((const float *)&t[1], (const float *)&t[0], sizeof *t / sizeof(float)) ||
        !agree16(&t16[1], &t16[0]))
        status = tg_isas_fail(k->isa, err);

done:
    free(work);
    free(t16);
    free(t);
    return status;
}
