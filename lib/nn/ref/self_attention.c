#include <string.h>

#include "lib/nn/ref/real.h"

typedef REF(attention_buffers) buffers;

/* qkv = x w_qkv + b_qkv, then q, k, v = its thirds */
static void project_in(const buffers *f, const real *x, const real *w_qkv, const real *b_qkv, size_t N,
                       size_t C)
{
    REF(linear_forward)(f->qkv, x, w_qkv, b_qkv, N, C, 3 * C);
    REF(slice_forward)(f->q, f->qkv, N, 3 * C, 0, C);
    REF(slice_forward)(f->k, f->qkv, N, 3 * C, C, C);
    REF(slice_forward)(f->v, f->qkv, N, 3 * C, 2 * C, C);
}

static void project_in_backward(real *dx, real *dw_qkv, real *db_qkv, const buffers *d, const real *x,
                                const real *w_qkv, size_t N, size_t C)
{
    REF(slice_backward)(d->qkv, d->q, N, 3 * C, 0, C);
    REF(slice_backward)(d->qkv, d->k, N, 3 * C, C, C);
    REF(slice_backward)(d->qkv, d->v, N, 3 * C, 2 * C, C);
    REF(linear_backward)(dx, dw_qkv, db_qkv, d->qkv, x, w_qkv, N, C, 3 * C);
}

/* The operations add to gradients, so the intermediate ones start at 0. */
static void clear(const buffers *d, size_t N, size_t C)
{
    memset(d->qkv, 0, N * 3 * C * sizeof *d->qkv);
    memset(d->q, 0, N * C * sizeof *d->q);
    memset(d->k, 0, N * C * sizeof *d->k);
    memset(d->v, 0, N * C * sizeof *d->v);
    memset(d->att, 0, N * C * sizeof *d->att);
}

void REF(self_attention_1h_forward)(real *out, const buffers *f, const real *x, const real *w_qkv,
                                    const real *b_qkv, const real *w_proj, const real *b_proj, size_t B,
                                    size_t T, size_t C)
{
    project_in(f, x, w_qkv, b_qkv, B * T, C);
    REF(attention_1h_forward)(f->att, f->probs, f->scores, f->q, f->k, f->v, B, T, C);
    REF(linear_forward)(out, f->att, w_proj, b_proj, B * T, C, C);
}

void REF(self_attention_1h_backward)(real *dx, real *dw_qkv, real *db_qkv, real *dw_proj, real *db_proj,
                                     const buffers *d, const real *dout, const buffers *f, const real *x,
                                     const real *w_qkv, const real *w_proj, size_t B, size_t T, size_t C)
{
    clear(d, B * T, C);
    REF(linear_backward)(d->att, dw_proj, db_proj, dout, f->att, w_proj, B * T, C, C);
    REF(attention_1h_backward)
    (d->q, d->k, d->v, d->probs, d->scores, d->att, f->probs, f->q, f->k, f->v, B, T, C);
    project_in_backward(dx, dw_qkv, db_qkv, d, x, w_qkv, B * T, C);
}

void REF(self_attention_mha_forward)(real *out, const buffers *f, const real *x, const real *w_qkv,
                                     const real *b_qkv, const real *w_proj, const real *b_proj,
                                     const real *keep, size_t B, size_t T, size_t H, size_t D)
{
    size_t C = H * D;

    project_in(f, x, w_qkv, b_qkv, B * T, C);
    REF(attention_mha_forward)(f->att, f->probs, f->scores, f->q, f->k, f->v, keep, B, T, H, D);
    REF(linear_forward)(out, f->att, w_proj, b_proj, B * T, C, C);
}

void REF(self_attention_mha_backward)(real *dx, real *dw_qkv, real *db_qkv, real *dw_proj, real *db_proj,
                                      const buffers *d, const real *dout, const buffers *f, const real *x,
                                      const real *w_qkv, const real *w_proj, const real *keep, size_t B,
                                      size_t T, size_t H, size_t D)
{
    size_t C = H * D;

    clear(d, B * T, C);
    REF(linear_backward)(d->att, dw_proj, db_proj, dout, f->att, w_proj, B * T, C, C);
    REF(attention_mha_backward)
    (d->q, d->k, d->v, d->probs, d->scores, d->att, f->probs, f->q, f->k, f->v, keep, B, T, H, D);
    project_in_backward(dx, dw_qkv, db_qkv, d, x, w_qkv, B * T, C);
}
