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

/* x = c[0] x + (c[1] a + c[2] a a) x,  a = x x^T */
static void one_round(double *x, size_t rows, size_t cols, const double c[3])
{
    double *a = calloc(2 * rows * rows + rows * cols, sizeof *a);
    double *aa = a + rows * rows, *y = aa + rows * rows;

    product(a, x, x, true, rows, rows, cols);
    product(aa, a, a, false, rows, rows, rows);
    for (size_t i = 0; i < rows * rows; i++)
        a[i] = c[1] * a[i] + c[2] * aa[i];
    product(y, a, x, false, rows, cols, rows);
    for (size_t i = 0; i < rows * cols; i++)
        x[i] = c[0] * x[i] + y[i];
    free(a);
}

void ref_muon_orthogonal(double *o, const double *u, size_t rows, size_t cols)
{
    static const double few[][3] = {
        {8.09337, -23.62043, 17.44615}, {3.63659, -2.72193, 0.53655}, {2.66130, -1.97715, 0.45262}};
    static const double many[][3] = {{8.47033, -25.10808, 18.62928},
                                     {4.18283, -3.10870, 0.58061},
                                     {3.96186, -2.95406, 0.56298},
                                     {3.28659, -2.46472, 0.50736},
                                     {2.27375, -1.64466, 0.41619}};
    const bool is_small = rows <= 256 || cols <= 256;
    double sum = 0;

    for (size_t i = 0; i < rows * cols; i++)
        sum += u[i] * u[i];
    for (size_t i = 0; i < rows * cols; i++)
        o[i] = u[i] / sqrt(sum);
    for (size_t i = 0; i < (is_small ? 3 : 5); i++)
        one_round(o, rows, cols, is_small ? few[i] : many[i]);
}
