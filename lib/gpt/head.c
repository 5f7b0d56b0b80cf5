#include "lib/gpt/head.h"

#include <string.h>

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

static double cap_of(const tg_acts *a)
{
    return a->bound.model->config.final_logit_softcapping;
}

void tg_head_forward_uncapped(tg_acts *a, tg_matrix logits, tg_matrix x, size_t rows)
{
    const tg_linear head = tg_bind_head(&a->bound);
    const tg_matrix none = {0};

    tg_acts_page(a)->norm_forward(a, normed(a), x, rows);
    tg_linear_forward(logits, none, normed(a), &head, rows);
}

void tg_head_forward(tg_acts *a, tg_matrix logits, tg_matrix x, size_t rows)
{
    tg_head_forward_uncapped(a, logits, x, rows);
    if (cap_of(a) > 0)
        tg_softcap_forward(logits, cap_of(a), rows);
}

static void *row_of(tg_matrix m, size_t n)
{
    return tg_matrix_from(m, n).data;
}

static void move_row(tg_matrix m, size_t to, size_t from)
{
    if (to != from)
        memmove(row_of(m, to), row_of(m, from), m.cols * tg_type_size(m.type));
}

/* Move the rows of the tokens that are predicted, and their targets, to the front.  Returns their number; at
 * least one, because a product with no rows would not write the gradient of the head. */
static size_t gather(tg_acts *a, const int32_t *targets)
{
    const size_t N = a->B * a->T;
    size_t n = 0;

    for (size_t i = 0; i < N; i++) {
        if (targets[i] < 0)
            continue;
        move_row(normed(a), n, i);
        a->targets[n++] = targets[i];
    }
    if (n == 0)
        a->targets[n++] = targets[0];
    return n;
}

/* Move n losses, and the gradients of their rows, back to their tokens; those of others are 0. */
static void scatter(tg_acts *a, float *losses, const int32_t *targets, size_t n)
{
    const bool gradients = a->bound.grads;

    for (size_t i = a->B * a->T; i-- > 0;) {
        const bool predicted = targets[i] >= 0;
        const size_t from = predicted ? --n : 0;

        losses[i] = predicted ? losses[from] : 0;
        if (gradients && predicted)
            move_row(dnormed(a), i, from);
        else if (gradients)
            tg_zero_rows(tg_matrix_from(dnormed(a), i), 1);
    }
}

void tg_head_losses(tg_acts *a, float *losses, const int32_t *targets, float scale)
{
    const tg_linear head = tg_bind_head(&a->bound);
    const tg_matrix none = {0};
    size_t n;

    tg_acts_page(a)->norm_forward(a, normed(a), a->x, a->B * a->T);
    n = gather(a, targets);
    tg_head_loss(losses, a->bound.grads ? dnormed(a) : none, normed(a), a->targets, &head, cap_of(a), scale,
                 n, a->logits);
    if (n < a->B * a->T)
        scatter(a, losses, targets, n);
}

/* From the gradient of the norm's output, for some rows; the others' is zero. */
static void norm_backward(tg_acts *a, size_t first, size_t rows)
{
    const tg_matrix dx = tg_acts_gradient(a, TG_ACT_X);

    tg_zero_rows(dx, a->B * a->T);
    tg_acts_page(a)->norm_backward(a, tg_matrix_from(dx, first), dnormed(a), tg_matrix_from(a->x, first),
                                   rows);
}

void tg_head_backward(tg_acts *a, tg_matrix dlogits, tg_matrix logits, size_t first, size_t rows)
{
    const tg_linear head = tg_bind_head(&a->bound);

    if (cap_of(a) > 0)
        tg_softcap_backward(dlogits, logits, cap_of(a), rows);
    tg_linear_backward(dnormed(a), dlogits, normed(a), &head, rows);
    norm_backward(a, first, rows);
}

void tg_head_losses_backward(tg_acts *a)
{
    norm_backward(a, 0, a->B * a->T);
}
