#include "lib/circuit/eigen.h"

#include <float.h>
#include <math.h>

#include "lib/base/size.h"

#define STEPS_MAX 60   /* for one eigenvalue; the usual number is 2 to 4 */
#define STEPS_SHIFT 10 /* after so many without success the shifts are others */

/* A reflection I - beta v v^T, on n >= 1 rows or columns. */
struct reflection {
    const double *v;
    double beta;
    size_t n;
};

/* Make v [n], n >= 1, the vector of the reflection that maps it to a multiple of the first axis; the
 * multiple. */
static double reflect_to_axis(struct reflection *r, double *v, size_t n)
{
    double scale = 0, sum = 0, norm;

    *r = (struct reflection){v, 0, n};
    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(v[i]));
    if (scale == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        v[i] /= scale;
        sum += v[i] * v[i];
    }
    norm = v[0] > 0 ? -sqrt(sum) : sqrt(sum);
    v[0] -= norm;
    r->beta = -1 / (norm * v[0]);
    return norm * scale;
}

/* Rows row .. row + r->n - 1, in columns `from` .. n - 1. */
static void reflect_rows(double *a, size_t n, const struct reflection *r, size_t row, size_t from)
{
    for (size_t c = from; c < n; c++) {
        double sum = 0;

        for (size_t i = 0; i < r->n; i++)
            sum += r->v[i] * a[(row + i) * n + c];
        for (size_t i = 0; i < r->n; i++)
            a[(row + i) * n + c] -= r->beta * sum * r->v[i];
    }
}

/* Columns column .. column + r->n - 1, in rows 0 .. to - 1. */
static void reflect_columns(double *a, size_t n, const struct reflection *r, size_t column, size_t to)
{
    for (size_t i = 0; i < to; i++) {
        double *row = a + i * n + column, sum = 0;

        for (size_t c = 0; c < r->n; c++)
            sum += row[c] * r->v[c];
        for (size_t c = 0; c < r->n; c++)
            row[c] -= r->beta * sum * r->v[c];
    }
}

/* Reduce a to zeros below its subdiagonal; v [n] is scratch. */
static void make_hessenberg(double *a, double *v, size_t n)
{
    for (size_t c = 0; c + 2 < n; c++) {
        const size_t rows = n - c - 1;
        struct reflection r;
        double first;

        for (size_t i = 0; i < rows; i++)
            v[i] = a[(c + 1 + i) * n + c];
        first = reflect_to_axis(&r, v, rows);
        reflect_rows(a, n, &r, c + 1, c + 1);
        reflect_columns(a, n, &r, c + 1, n);
        a[(c + 1) * n + c] = first;
        for (size_t i = 1; i < rows; i++)
            a[(c + 1 + i) * n + c] = 0;
    }
}

/* Where the last block that does not divide further begins, of rows 0 .. end - 1; what is below it becomes 0.
 */
static size_t find_block(double *a, size_t n, size_t end, double norm)
{
    size_t i = end - 1;

    for (; i > 0; i--) {
        const double beside = fabs(a[(i - 1) * n + i - 1]) + fabs(a[i * n + i]);

        if (fabs(a[i * n + i - 1]) <= DBL_EPSILON * (beside > 0 ? beside : norm))
            break;
    }
    if (i > 0)
        a[i * n + i - 1] = 0;
    return i;
}

/* Those of the block [2,2] at b, whose rows are n apart. */
static void eigenvalues_2(double re[2], double im[2], const double *b, size_t n)
{
    const double half = (b[0] - b[n + 1]) / 2, product = b[1] * b[n], mean = (b[0] + b[n + 1]) / 2;
    const double square = half * half + product, root = sqrt(fabs(square));

    im[0] = im[1] = 0;
    if (square < 0) {
        re[0] = re[1] = mean;
        im[0] = root;
        im[1] = -root;
    } else { /* the smaller one from the product, without cancellation */
        const double far = half < 0 ? half - root : half + root;

        re[0] = b[n + 1] + far;
        re[1] = far == 0 ? b[n + 1] : b[n + 1] - product / far;
    }
}

/* The sum and the product of the shifts of a step on rows begin .. end - 1. */
static void choose_shifts(double *sum, double *product, const double *a, size_t n, size_t end, size_t steps)
{
    const double *b = a + (end - 2) * n + end - 2;

    *sum = b[0] + b[n + 1];
    *product = b[0] * b[n + 1] - b[1] * b[n];
    if (steps > 0 && steps % STEPS_SHIFT == 0) {
        const double size = fabs(b[n]) + (end > 2 ? fabs(b[-1]) : 0);

        *sum = 1.5 * size;
        *product = size * size;
    }
}

/* A step on rows begin .. end - 1, at least 3: the first column of (a - s1)(a - s2) makes a bulge, which
 * reflections drive out at the end. */
static void step(double *a, size_t n, size_t begin, size_t end, double sum, double product)
{
    const double *b = a + begin * n + begin;
    double v[3] = {(b[0] * b[0] + b[1] * b[n]) - sum * b[0] + product, b[n] * (b[0] + b[n + 1] - sum),
                   b[n] * b[2 * n + 1]};

    for (size_t k = begin; k + 1 < end; k++) {
        const size_t rows = tg_size_min(3, end - k);
        struct reflection r;
        double first;

        for (size_t i = 0; k > begin && i < rows; i++)
            v[i] = a[(k + i) * n + k - 1];
        first = reflect_to_axis(&r, v, rows);
        reflect_rows(a, n, &r, k, k);
        reflect_columns(a, n, &r, k, tg_size_min(end, k + 4));
        for (size_t i = 0; k > begin && i < rows; i++)
            a[(k + i) * n + k - 1] = i == 0 ? first : 0;
    }
}

static double norm_of(const double *a, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

bool tg_eigenvalues(double *re, double *im, double *a, size_t n)
{
    const double norm = norm_of(a, n);
    size_t end = n, steps = 0;

    if (!isfinite(norm))
        return false;
    make_hessenberg(a, re, n);
    while (end > 0) {
        const size_t begin = find_block(a, n, end, norm);
        double sum, product;

        if (end - begin > 2) {
            if (++steps > STEPS_MAX)
                return false;
            choose_shifts(&sum, &product, a, n, end, steps);
            step(a, n, begin, end, sum, product);
            continue;
        }
        if (end - begin == 2) {
            eigenvalues_2(re + begin, im + begin, a + begin * n + begin, n);
        } else {
            re[begin] = a[begin * n + begin];
            im[begin] = 0;
        }
        end = begin;
        steps = 0;
    }
    return true;
}
