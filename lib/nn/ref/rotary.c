#include "lib/nn/ref/real.h"

/* out = inp rotated, or with sign -1 rotated back; out may be inp */
static void rotate(real *out, const real *inp, const real *cosines, const real *sines, real sign, size_t d)
{
    for (size_t i = 0; i < d / 2; i++) {
        const real a = inp[i], b = inp[i + d / 2];

        out[i] = a * cosines[i] - b * sign * sines[i];
        out[i + d / 2] = b * cosines[i] + a * sign * sines[i];
    }
}

void REF(rotary_forward)(real *out, const real *inp, const real *cosines, const real *sines, size_t B,
                         size_t T, size_t H, size_t D, size_t d)
{
    for (size_t n = 0; n < B * T; n++)
        for (size_t h = 0; h < H; h++) {
            const size_t head = (n * H + h) * D, t = n % T;

            rotate(out + head, inp + head, cosines + t * (d / 2), sines + t * (d / 2), 1, d);
            for (size_t i = d; i < D; i++)
                out[head + i] = inp[head + i];
        }
}

void REF(rotary_backward)(real *dinp, const real *dout, const real *cosines, const real *sines, size_t B,
                          size_t T, size_t H, size_t D, size_t d)
{
    for (size_t n = 0; n < B * T; n++)
        for (size_t h = 0; h < H; h++) {
            const size_t head = (n * H + h) * D, t = n % T;

            rotate(dinp + head, dout + head, cosines + t * (d / 2), sines + t * (d / 2), -1, d);
            for (size_t i = d; i < D; i++)
                dinp[head + i] = dout[head + i];
        }
}
