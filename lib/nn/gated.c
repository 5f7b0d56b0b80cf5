#include "lib/nn/gated.h"

#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/nn/pieces.h"
#include "lib/nn/ref/ref.h"

/* The matrices of an operation. */
struct rows {
    tg_matrix out;              /* forward */
    tg_matrix dgate, dup, dout; /* backward */
    tg_matrix gate, up;
    tg_activation kind;
    void (*piece)(const struct rows *r, size_t n, size_t c, size_t some);
};

/* ---- float, bf16: the elements c .. c + some - 1 of row n */

static void forward_piece(const struct rows *r, size_t n, size_t c, size_t some)
{
    float a[TG_PIECE], b[TG_PIECE], out[TG_PIECE];

    tg_activation_elements(r->kind)(out, tg_piece_read(r->gate, n, c, some, a), some);
    tg_kernels_get()->multiply(out, tg_piece_read(r->up, n, c, some, b), some);
    tg_piece_write(r->out, n, c, some, out);
}

static void backward_piece(const struct rows *r, size_t n, size_t c, size_t some)
{
    float a[TG_PIECE], b[TG_PIECE], d[TG_PIECE], dgate[TG_PIECE], dup[TG_PIECE];
    const float *gate = tg_piece_read(r->gate, n, c, some, a), *up = tg_piece_read(r->up, n, c, some, b);
    const float *dout = tg_piece_read(r->dout, n, c, some, d);

    tg_activation_elements(r->kind)(dup, gate, some);
    tg_kernels_get()->multiply(dup, dout, some);
    memcpy(dgate, up, some * sizeof *dgate);
    tg_kernels_get()->multiply(dgate, dout, some);
    tg_activation_gradient_elements(r->kind)(dgate, gate, some);
    tg_piece_write(r->dgate, n, c, some, dgate);
    tg_piece_write(r->dup, n, c, some, dup);
}

/* ---- double */

static void forward_piece64(const struct rows *r, size_t n, size_t c, size_t some)
{
    const size_t at = n * r->gate.cols + c;

    tg_gated_forward_ref64(tg_doubles(r->out) + at, tg_doubles(r->gate) + at, tg_doubles(r->up) + at, some,
                           r->kind);
}

static void backward_piece64(const struct rows *r, size_t n, size_t c, size_t some)
{
    const size_t at = n * r->gate.cols + c;
    double dgate[TG_PIECE] = {0}, dup[TG_PIECE] = {0};

    tg_gated_backward_ref64(dgate, dup, tg_doubles(r->dout) + at, tg_doubles(r->gate) + at,
                            tg_doubles(r->up) + at, some, r->kind);
    memcpy(tg_doubles(r->dgate) + at, dgate, some * sizeof *dgate);
    memcpy(tg_doubles(r->dup) + at, dup, some * sizeof *dup);
}

/* ---- both kinds */

static void some_rows(void *context, size_t begin, size_t end)
{
    const struct rows *r = context;

    for (size_t n = begin; n < end; n++)
        for (size_t c = 0; c < r->gate.cols; c += TG_PIECE)
            r->piece(r, n, c, tg_size_min(TG_PIECE, r->gate.cols - c));
}

void tg_gated_forward(tg_matrix out, tg_matrix gate, tg_matrix up, tg_activation kind, size_t N)
{
    struct rows rows = {.out = out, .gate = gate, .up = up, .kind = kind};

    rows.piece = gate.type == TG_TYPE_DOUBLE ? forward_piece64 : forward_piece;
    tg_threads_run(N, tg_threads_grain(gate.cols, 1), some_rows, &rows);
}

void tg_gated_backward(tg_matrix dgate, tg_matrix dup, tg_matrix dout, tg_matrix gate, tg_matrix up,
                       tg_activation kind, size_t N)
{
    struct rows rows = {.dgate = dgate, .dup = dup, .dout = dout, .gate = gate, .up = up, .kind = kind};

    rows.piece = gate.type == TG_TYPE_DOUBLE ? backward_piece64 : backward_piece;
    tg_threads_run(N, tg_threads_grain(gate.cols, 1), some_rows, &rows);
}
