#include "tests/unit/ref_muon.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* c [m,n] = a [m,k] b, b being [k,n] or, transposed, [n,k] */
static void product(double *c, const double *a, const double *b, bool transposed, size_t m, size_t n,
                    size_t k)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (size_t l = 0; l < k; l++)
                c[i * n + j] += a[i * k + l] * (transposed ? b[j * k + l] : b[l * n + j]);
        }
}

/* x = 3.4445 x + (-4.7750 a + 2.0315 a a) x,  a = x x^T */
static void one_round(double *x, size_t rows, size_t cols)
{
    double *a = calloc(2 * rows * rows + rows * cols, sizeof *a);
    double *aa = a + rows * rows, *y = aa + rows * rows;

    product(a, x, x, true, rows, rows, cols);
    product(aa, a, a, false, rows, rows, rows);
    for (size_t i = 0; i < rows * rows; i++)
        a[i] = -4.7750 * a[i] + 2.0315 * aa[i];
    product(y, a, x, false, rows, cols, rows);
    for (size_t i = 0; i < rows * cols; i++)
        x[i] = 3.4445 * x[i] + y[i];
    free(a);
}

void ref_muon_orthogonal(double *o, const double *u, size_t rows, size_t cols)
{
    double sum = 0;

    for (size_t i = 0; i < rows * cols; i++)
        sum += u[i] * u[i];
    for (size_t i = 0; i < rows * cols; i++)
        o[i] = u[i] / sqrt(sum);
    for (int i = 0; i < 5; i++)
        one_round(o, rows, cols);
}
