#include "lib/gpt/head.h"

#include "lib/gpt/family.h"
#include "lib/nn/ops.h"

static tg_matrix normed(const tg_acts *a)
{
    return tg_acts_scratch(a, TG_SCRATCH_NORMED, a->C);
}

static tg_matrix dnormed(const tg_acts *a)
{
    return tg_acts_scratch(a, TG_SCRATCH_DNORMED, a->C);
}

void tg_head_forward(tg_acts *a, tg_matrix logits, tg_matrix x, size_t rows)
{
    const tg_linear head = tg_bind_head(&a->bound);
    const tg_matrix none = {0};

    tg_acts_page(a)->norm_forward(a, normed(a), x, rows);
    tg_linear_forward(logits, none, normed(a), &head, rows);
}

void tg_head_losses(tg_acts *a, float *losses, const int32_t *targets, float scale)
{
    const tg_linear head = tg_bind_head(&a->bound);
    const tg_matrix none = {0};
    const size_t N = a->B * a->T;

    tg_acts_page(a)->norm_forward(a, normed(a), a->x, N);
    tg_head_loss(losses, a->bound.grads ? dnormed(a) : none, normed(a), targets, &head, scale, N, a->logits);
}

/* From the gradient of the norm's output, for some rows; the others' is zero. */
static void norm_backward(tg_acts *a, size_t first, size_t rows)
{
    const tg_matrix dx = tg_acts_gradient(a, TG_ACT_X);

    tg_zero_rows(dx, a->B * a->T);
    tg_acts_page(a)->norm_backward(a, tg_matrix_from(dx, first), dnormed(a), tg_matrix_from(a->x, first),
                                   rows);
}

void tg_head_backward(tg_acts *a, tg_matrix dlogits, size_t first, size_t rows)
{
    const tg_linear head = tg_bind_head(&a->bound);

    tg_linear_backward(dnormed(a), dlogits, normed(a), &head, rows);
    norm_backward(a, first, rows);
}

void tg_head_losses_backward(tg_acts *a)
{
    norm_backward(a, 0, a->B * a->T);
}
