#include "lib/nn/softcap.h"

#include <assert.h>

#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/ref/ref.h"

struct elements {
    float *x; /* or a gradient */
    const float *y;
    float cap;
};

static void cap_some(void *context, size_t begin, size_t end)
{
    const struct elements *e = context;

    tg_kernels_get()->softcap_forward(e->x + begin, e->cap, end - begin);
}

void tg_softcap_forward(tg_matrix x, double cap, size_t N)
{
    const size_t n = N * x.cols;

    assert(x.ld == x.cols);
    if (x.type == TG_TYPE_DOUBLE)
        tg_softcap_forward_ref64(tg_doubles(x), tg_doubles(x), n, cap);
    else
        tg_threads_run(n, TG_THREADS_ELEMENTS, cap_some, &(struct elements){tg_floats(x), NULL, (float)cap});
}

static void slope_of_some(void *context, size_t begin, size_t end)
{
    const struct elements *e = context;

    tg_kernels_get()->softcap_backward(e->x + begin, e->y + begin, e->cap, end - begin);
}

static void backward64(double *d, const double *y, double cap, size_t n)
{
    const double one = 1;

    for (size_t i = 0; i < n; i++) {
        double slope = 0;

        tg_softcap_backward_ref64(&slope, &one, &y[i], 1, cap);
        d[i] *= slope;
    }
}

void tg_softcap_backward(tg_matrix d, tg_matrix y, double cap, size_t N)
{
    const size_t n = N * d.cols;

    assert(d.ld == d.cols && y.ld == y.cols);
    if (d.type == TG_TYPE_DOUBLE)
        backward64(tg_doubles(d), tg_doubles(y), cap, n);
    else
        tg_threads_run(n, TG_THREADS_ELEMENTS, slope_of_some,
                       &(struct elements){tg_floats(d), tg_floats(y), (float)cap});
}
