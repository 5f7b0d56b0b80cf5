#include "lib/nn/ref/real.h"

/* The sum over c of row[c] * w[c * stride]. */
static real product(const real *row, const real *w, size_t stride, size_t n)
{
    real sum = 0;

    for (size_t c = 0; c < n; c++)
        sum += row[c] * w[c * stride];
    return sum;
}

void REF(low_rank_backward)(real *da, real *db, const real *dout, const real *inp, const real *a,
                            const real *b, real scale, size_t N, size_t C, size_t OC, size_t R)
{
    /* out[n,o] = scale * sum over r of b[o,r] * (sum over c of a[r,c] * inp[n,c]) */
    for (size_t r = 0; r < R; r++) {
        for (size_t n = 0; n < N; n++) {
            const real inner = scale * product(inp + n * C, a + r * C, 1, C);
            const real dinner = scale * product(dout + n * OC, b + r, R, OC);

            for (size_t o = 0; o < OC; o++)
                db[o * R + r] += dout[n * OC + o] * inner;
            for (size_t c = 0; c < C; c++)
                da[r * C + c] += dinner * inp[n * C + c];
        }
    }
}
