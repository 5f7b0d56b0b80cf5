#include "lib/nn/low_rank.h"

#include <assert.h>

#include "lib/base/threads.h"

struct scaling {
    float *x;
    float s;
};

static void scale_elements(void *context, size_t begin, size_t end)
{
    const struct scaling *of = context;

    for (size_t i = begin; i < end; i++)
        of->x[i] *= of->s;
}

/* work [N,R] = s rows [N,cols] W, for W [cols,R] with these strides. */
static void to_rank(const tg_low_rank *l, tg_matrix rows, const float *w, size_t w_row, size_t w_col,
                    const tg_matmul_scratch *scratch, size_t N)
{
    tg_matmul_run(&(tg_matmul){.M = N,
                               .N = l->R,
                               .K = rows.cols,
                               .a = rows.data,
                               .a_type = rows.type,
                               .a_row = rows.ld,
                               .a_col = 1,
                               .b = w,
                               .b_row = w_row,
                               .b_col = w_col,
                               .c = l->work,
                               .ldc = l->R},
                  scratch);
    tg_threads_run(N * l->R, TG_THREADS_ELEMENTS, scale_elements, &(struct scaling){l->work, l->scale});
}

/* a += work^T inp */
static void a_backward(const tg_low_rank *l, tg_matrix inp, bool overwrite, const tg_matmul_scratch *scratch,
                       size_t N)
{
    tg_matmul_run(&(tg_matmul){.M = l->R,
                               .N = inp.cols,
                               .K = N,
                               .a = l->work,
                               .a_row = 1,
                               .a_col = l->R,
                               .b = inp.data,
                               .b_type = inp.type,
                               .b_row = inp.ld,
                               .b_col = 1,
                               .c = l->da,
                               .ldc = inp.cols,
                               .accumulate = !overwrite},
                  scratch);
}

/* b += dout^T work */
static void b_backward(const tg_low_rank *l, tg_matrix dout, bool overwrite, const tg_matmul_scratch *scratch,
                       size_t N)
{
    tg_matmul_run(&(tg_matmul){.M = dout.cols,
                               .N = l->R,
                               .K = N,
                               .a = dout.data,
                               .a_type = dout.type,
                               .a_row = 1,
                               .a_col = dout.ld,
                               .b = l->work,
                               .b_row = l->R,
                               .b_col = 1,
                               .c = l->db,
                               .ldc = l->R,
                               .accumulate = !overwrite},
                  scratch);
}

void tg_low_rank_backward(const tg_low_rank *l, tg_matrix dout, tg_matrix inp, bool overwrite,
                          const tg_matmul_scratch *scratch, size_t N)
{
    assert(inp.type != TG_TYPE_DOUBLE && dout.type != TG_TYPE_DOUBLE);
    to_rank(l, dout, l->b, l->R, 1, scratch, N);
    a_backward(l, inp, overwrite, scratch, N);
    to_rank(l, inp, l->a, 1, inp.cols, scratch, N);
    b_backward(l, dout, overwrite, scratch, N);
}
