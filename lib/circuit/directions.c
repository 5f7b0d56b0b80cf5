#include "lib/circuit/directions.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/circuit/product64.h"
#include "lib/circuit/vocab.h"

#define SWEEPS_MAX 40 /* the usual number is 6 to 10 */

/* ---- singular vectors */

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void rotate(double *a, double *b, double cosine, double sine, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double x = a[i], y = b[i];

        a[i] = cosine * x - sine * y;
        b[i] = sine * x + cosine * y;
    }
}

/* Make rows i and j of x orthogonal, with the same rotation of y's.  False: they are already. */
static bool make_orthogonal(double *x, double *y, size_t i, size_t j, size_t C)
{
    double *a = x + i * C, *b = x + j * C;
    const double aa = dot(a, a, C), bb = dot(b, b, C), ab = dot(a, b, C);
    double ratio, tangent, cosine;

    if (!(fabs(ab) > DBL_EPSILON * sqrt(aa) * sqrt(bb)))
        return false;
    ratio = (bb - aa) / (2 * ab);
    tangent = copysign(1, ratio) / (fabs(ratio) + sqrt(1 + ratio * ratio));
    cosine = 1 / sqrt(1 + tangent * tangent);
    rotate(a, b, cosine, cosine * tangent, C);
    rotate(y + i * C, y + j * C, cosine, cosine * tangent, C);
    return true;
}

static void make_all_orthogonal(double *x, double *y, size_t D, size_t C)
{
    bool any = true;

    for (size_t sweep = 0; sweep < SWEEPS_MAX && any; sweep++) {
        any = false;
        for (size_t i = 0; i < D; i++)
            for (size_t j = i + 1; j < D; j++)
                any = make_orthogonal(x, y, i, j, C) || any;
    }
}

/* x's row becomes a unit vector; its former length. */
static double normalise(double *x, size_t C)
{
    const double length = sqrt(dot(x, x, C));

    for (size_t c = 0; c < C && length > 0; c++)
        x[c] /= length;
    return length;
}

static void exchange(double *a, double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double x = a[i];

        a[i] = b[i];
        b[i] = x;
    }
}

void tg_directions(double *x, double *y, double *size, size_t D, size_t C)
{
    make_all_orthogonal(x, y, D, C);
    for (size_t d = 0; d < D; d++) {
        const double length = normalise(x + d * C, C);

        for (size_t c = 0; c < C; c++)
            y[d * C + c] *= length;
    }
    make_all_orthogonal(y, x, D, C);
    for (size_t d = 0; d < D; d++)
        size[d] = normalise(y + d * C, C);
    for (size_t d = 0; d < D; d++) {
        size_t largest = d;

        for (size_t e = d + 1; e < D; e++)
            largest = size[e] > size[largest] ? e : largest;
        if (largest == d)
            continue;
        exchange(size + d, size + largest, 1);
        exchange(x + d * C, x + largest * C, C);
        exchange(y + d * C, y + largest * C, C);
    }
}

/* ---- tokens */

/* Put a token, whose id is above those that are there, into a falling list of `have` < top or top tokens. */
static void insert(int32_t *id, double *value, size_t top, size_t have, int32_t token, double x)
{
    size_t i = have;

    if (have == top) {
        if (!(x > value[top - 1]))
            return;
        i = top - 1;
    }
    for (; i > 0 && x > value[i - 1]; i--) {
        id[i] = id[i - 1];
        value[i] = value[i - 1];
    }
    id[i] = token;
    value[i] = x;
}

/* vectors times the head's rows, or times E. */
static void find_top(tg_top *out, const double *vectors, const tg_model *model, double *scratch, bool head)
{
    const size_t V = tg_vocab_tokens(model), C = model->config.n_embd;
    double scale[TG_VOCAB_ROWS] = {0};

    for (size_t first = 0; first < V; first += TG_VOCAB_ROWS) {
        const size_t n = tg_size_min(TG_VOCAB_ROWS, V - first);
        const float *rows = head ? tg_vocab_head(model, first) : tg_vocab_embedding(model, first, n);

        if (!head)
            tg_vocab_scales(scale, rows, model, n);
        memset(scratch, 0, out->n * n * sizeof *scratch);
        tg_product64_run(&(tg_product64){out->n, n, C, vectors, rows, TG_TYPE_DOUBLE, TG_TYPE_FLOAT, C, 1, 1,
                                         C, scratch, n, false});
        for (size_t i = 0; i < 2 * out->n; i++)
            for (size_t t = 0; t < n; t++) {
                const double x = scratch[i / 2 * n + t] * (head ? 1 : scale[t]);

                insert(out->id + i * out->top, out->value + i * out->top, out->top,
                       tg_size_min(first + t, out->top), (int32_t)(first + t), i % 2 ? -x : x);
            }
    }
}

void tg_top_embedding(tg_top *out, const double *vectors, const tg_model *model, double *scratch)
{
    find_top(out, vectors, model, scratch, false);
}

void tg_top_logits(tg_top *out, double *vectors, const tg_model *model, double *scratch)
{
    tg_vocab_norm(vectors, model, out->n);
    find_top(out, vectors, model, scratch, true);
}
