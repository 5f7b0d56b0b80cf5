#include "lib/nn/rotary.h"

#include <math.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/nn/pieces.h"

void tg_rotary_fill(tg_matrix angles, size_t i, double frequency, size_t first, size_t T)
{
    const size_t half = angles.cols / 2;

    for (size_t t = 0; t < T; t++) {
        const double angle = (double)(first + t) * frequency;
        const size_t at = t * angles.ld + i;

        if (angles.type == TG_TYPE_DOUBLE) {
            tg_doubles(angles)[at] = cos(angle);
            tg_doubles(angles)[at + half] = sin(angle);
        } else {
            tg_floats(angles)[at] = (float)cos(angle);
            tg_floats(angles)[at + half] = (float)sin(angle);
        }
    }
}

/* The matrices of an operation. */
struct rows {
    tg_matrix out, inp;
    const tg_rotary *rotary;
    int sign; /* -1: back */
};

/* The row of the table of angles that row n has. */
static size_t position_of(const tg_rotary *rotary, size_t n)
{
    return rotary->positions ? (size_t)rotary->positions[n] : n % rotary->T;
}

/* ---- float, bf16 */

/* The head whose first channel is col of row n. */
static void rotate_head(const struct rows *r, size_t n, size_t col)
{
    const tg_matrix angles = r->rotary->angles;
    const size_t half = angles.cols / 2, t = position_of(r->rotary, n);
    const float *cosines = tg_floats(angles) + t * angles.ld, *sines = cosines + half;
    float a[TG_PIECE], b[TG_PIECE];

    for (size_t i = 0; i < half; i += TG_PIECE) {
        const size_t some = tg_size_min(TG_PIECE, half - i), first = col + i, second = first + half;
        const float *x = tg_piece_read(r->inp, n, first, some, a);
        const float *y = tg_piece_read(r->inp, n, second, some, b);
        float *to_x = tg_piece_begin(r->out, n, first, a), *to_y = tg_piece_begin(r->out, n, second, b);

        tg_kernels_get()->rotate(to_x, to_y, x, y, cosines + i, sines + i, (float)r->sign, some);
        tg_piece_write(r->out, n, first, some, to_x);
        tg_piece_write(r->out, n, second, some, to_y);
    }
}

/* ---- double */

static void rotate_head64(const struct rows *r, size_t n, size_t col)
{
    const tg_matrix angles = r->rotary->angles;
    const size_t half = angles.cols / 2;
    const double *cosines = tg_doubles(angles) + position_of(r->rotary, n) * angles.ld,
                 *sines = cosines + half;
    const double *inp = tg_doubles(r->inp) + n * r->inp.ld + col;
    double *out = tg_doubles(r->out) + n * r->out.ld + col;

    for (size_t i = 0; i < half; i++) {
        const double x = inp[i], y = inp[i + half], sine = r->sign * sines[i];

        out[i] = x * cosines[i] - y * sine;
        out[i + half] = y * cosines[i] + x * sine;
    }
}

/* ---- both kinds */

/* What is not rotated. */
static void copy_rest(const struct rows *r, size_t n, size_t col)
{
    const size_t each = tg_type_size(r->inp.type), d = r->rotary->angles.cols;
    char *out = (char *)r->out.data + (n * r->out.ld + col + d) * each;
    const char *inp = (const char *)r->inp.data + (n * r->inp.ld + col + d) * each;

    if (out != inp)
        memcpy(out, inp, (r->rotary->D - d) * each);
}

static void some_rows(void *context, size_t begin, size_t end)
{
    const struct rows *r = context;

    for (size_t n = begin; n < end; n++)
        for (size_t col = 0; col < r->inp.cols; col += r->rotary->D) {
            (r->inp.type == TG_TYPE_DOUBLE ? rotate_head64 : rotate_head)(r, n, col);
            copy_rest(r, n, col);
        }
}

static void run(tg_matrix out, tg_matrix inp, const tg_rotary *rotary, int sign, size_t N)
{
    struct rows rows = {out, inp, rotary, sign};

    tg_threads_run(N, tg_threads_grain(inp.cols, 1), some_rows, &rows);
}

void tg_rotary_forward(tg_matrix out, tg_matrix inp, const tg_rotary *rotary, size_t N)
{
    run(out, inp, rotary, 1, N);
}

void tg_rotary_backward(tg_matrix dinp, tg_matrix dout, const tg_rotary *rotary, size_t N)
{
    run(dinp, dout, rotary, -1, N);
}
