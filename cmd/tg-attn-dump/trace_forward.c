/* A score's derivation: equation, offsets, product terms, scale, mask, softmax, and on to
 * the weighted sum and the output. */
#include <math.h>

#include "cmd/tg-attn-dump/trace.h"

/* ---- the first lines */

static void print_head(const attn_page *p)
{
    const attn_subject *s = p->subject;
    const size_t L = s->layers.L, i = p->at.i, j = p->at.j;

    printf("# %s\n", s->title);
    if (s->remark)
        printf("# %s\n", s->remark);
    printf("# trace of %s", attn_square(p, "scores", i, j));
    if (L > 1)
        printf(", layer %zu of 0 to %zu%s", p->layer.number, L - 1,
               p->layer_by_default ? " (choose with --layer)" : "");
    printf("\n# query i = %zu%s, key j = %zu%s\n", i, attn_token(p, i), j, attn_token(p, j));
}

/* ---- the score */

static void print_equation(attn_page *p)
{
    attn_heading(p, "the equation", "lib/nn/ref/attention_rows.c: attention_scores_row");
    if (p->H == 1)
        printf("scores[b,i,j] = (sum over c of q[b,i,c] * k[b,j,c]) / sqrt(C)  for j <= i\n"
               "              = -1e9                                           for j > i\n");
    else
        printf("scores[b,h,i,j] = (sum over d of q[b,i,h,d] * k[b,j,h,d]) / sqrt(D)  for j <= i\n"
               "                = -1e9                                               for j > i\n");
}

static void print_offsets(attn_page *p)
{
    const tg_attn_view *a = &p->t.view;
    tg_attn_shape whole, heads, scores;

    tg_attn_stage_shape(&whole, TG_ATTN_X, a);
    attn_vectors_shape(&heads, a);
    attn_squares_shape(&scores, a);
    attn_heading(p, "where the numbers lie", "lib/attn/attn.h: tg_attn_base, tg_attn_offset");
    printf("q, k, v ");
    attn_print_shape(&whole);
    if (p->H > 1) {
        printf(" seen as ");
        attn_print_shape(&heads);
    }
    printf(p->H > 1 ? "\nscores, probs " : "   scores, probs ");
    attn_print_shape(&scores);
    printf("\nq_base = ");
    attn_print_base(a, 'i', &p->at);
    printf(" = %zu\nk_base = ", p->q_base);
    attn_print_base(a, 'j', &p->at);
    printf(" = %zu\nscores offset = ", p->k_base);
    attn_print_indices(&scores, p->H > 1 ? "\n              = " : " = ", &p->at);
    printf(" = %zu\n", p->offset);
}

/* In a model the three lie side by side. */
static void print_qkv(const attn_page *p)
{
    const size_t b = p->at.b, h = p->at.h, i = p->at.i, j = p->at.j, T = p->T, C = p->C, D = p->D;
    const size_t q = (b * T + i) * 3 * C + h * D, k = (b * T + j) * 3 * C + C + h * D;

    if (!p->layer.qkv)
        return;
    printf("in qkv [B,T,3C] = [1,%zu,%zu], of which q, k and v are slices\n"
           "(lib/gpt/infer.c: tg_infer_qkv):\n",
           T, 3 * C);
    printf("  q.data[%zu] is qkv.data[(b*T + i)*3C + h*D]\n"
           "    = qkv.data[(%zu*%zu + %zu)*%zu + %zu*%zu] = qkv.data[%zu]\n",
           p->q_base, b, T, i, 3 * C, h, D, q);
    printf("  k.data[%zu] is qkv.data[(b*T + j)*3C + C + h*D]\n"
           "    = qkv.data[(%zu*%zu + %zu)*%zu + %zu + %zu*%zu] = qkv.data[%zu]\n",
           p->k_base, b, T, j, 3 * C, C, h, D, k);
}

static void print_terms(attn_page *p)
{
    const size_t h_d = p->at.h * p->D;
    const attn_factor q = {"q", p->q_base, 1, p->t.q + p->at.i * p->C + h_d, 1};
    const attn_factor k = {"k", p->k_base, 1, p->t.k + p->at.j * p->C + h_d, 1};

    attn_heading(p, "the product terms", "lib/nn/ref/attention_rows.c: sum += q[d] * k[j * ldk + d]");
    if (p->masked) {
        printf("none: the loop over keys ends at j = i = %zu, and key %zu lies behind it\n", p->at.i,
               p->at.j);
        return;
    }
    attn_print_sum(p->d, p->D, &q, &k, ATTN_NONE);
    printf("sum = %s\n", attn_number(p->t.sum));
}

static void print_scale(attn_page *p)
{
    const double root = sqrt((double)p->D), score = p->t.scores[p->at.j];
    const char width = p->H == 1 ? 'C' : 'D';

    attn_heading(p, "the scale", "lib/nn/ref/attention_rows.c: scores[j] = sum / sqrt((real)D)");
    printf("scale = 1/sqrt(%c) = 1/sqrt(%zu) = %s\n", width, p->D, attn_number(1 / root));
    if (p->masked)
        printf("there is no sum to scale\n");
    else
        printf("score = sum * scale = sum / sqrt(%zu) = %s / %s = %s\n", p->D, attn_number(p->t.sum),
               attn_number(root), attn_number(score));
}

static void print_mask(attn_page *p)
{
    const size_t i = p->at.i, j = p->at.j;

    attn_heading(p, "the mask", "lib/nn/ref/attention_rows.c: scores[j] = (real)TG_MASKED");
    printf("j > i is %zu > %zu: %s\n", j, i, p->masked ? "true" : "false");
    if (p->masked) {
        printf("key %zu comes after query %zu, which must not see it: masked\n", j, i);
        printf("%s = scores.data[%zu] = -1e9\n", attn_square(p, "scores", i, j), p->offset);
        printf("(unmasked it would be %s)\n", attn_number(p->t.sum / sqrt((double)p->D)));
        return;
    }
    printf("key %zu does not come after query %zu, which may see it: not masked\n", j, i);
    printf("%s = scores.data[%zu] = %s\n", attn_square(p, "scores", i, j), p->offset,
           attn_number(p->t.scores[j]));
}

/* ---- the probability */

static void print_row(const attn_page *p)
{
    const tg_attn_trace *t = &p->t;
    const size_t i = p->at.i, row = p->offset - p->at.j;
    char last[24];
    int digits = snprintf(last, sizeof last, "%zu", row + i);
    const int width = digits > 6 ? digits : 6;

    printf("#    j  %*s  %12s  %12s  %12s\n", width, "offset", "score", "exp(s - max)", "prob");
    for (size_t j = 0; j <= i; j++)
        printf("%c %4zu  %*zu  %12s  %12s  %12s%s\n", j == p->at.j ? '>' : ' ', j, width, row + j,
               attn_number(t->scores[j]), attn_number(t->exps[j]), attn_number(t->probs[j]),
               attn_token(p, j));
    if (i + 1 == p->T)
        return;
    printf(i + 2 < p->T ? "keys %zu to %zu" : "key %zu", i + 1, p->T - 1);
    printf(": masked, -1e9; exponential 0, probability 0\n");
}

static void print_softmax(attn_page *p)
{
    const tg_attn_trace *t = &p->t;
    const size_t i = p->at.i, j = p->at.j;

    attn_heading(p, "the softmax of its row", "lib/nn/ref/softmax.c: softmax_row");
    printf("probs[j] = exp(scores[j] - max) / (sum over m <= i of exp(scores[m] - max))\n");
    printf("max = the greatest of scores.data[%zu..%zu] = %s\n", p->offset - j, p->offset - j + i,
           attn_number(t->max));
    print_row(p);
    printf("sum of the exponentials = %s\n", attn_number(t->exp_sum));
    if (p->masked)
        printf("%s = probs.data[%zu] = 0: the softmax is over the %zu key%s that\nquery %zu sees; even among "
               "them exp(-1e9 - max) would be 0\n",
               attn_square(p, "probs", i, j), p->offset, i + 1, cli_plural(i + 1), i);
    else
        printf("%s = probs.data[%zu] = %s / %s = %s\n", attn_square(p, "probs", i, j), p->offset,
               attn_number(t->exps[j]), attn_number(t->exp_sum), attn_number(t->probs[j]));
}

/* ---- the weighted sum and the output */

static void print_att(attn_page *p)
{
    const size_t i = p->at.i, base = p->q_base, column = p->at.h * p->D + p->att_c;
    const attn_factor probs = {"probs", p->offset - p->at.j, 1, p->t.probs, 1};
    const attn_factor v = {"v", p->at.b * p->T * p->C + column, p->C, p->t.v + column, p->C};

    attn_heading(p, "the weighted sum", "lib/nn/ref/attention_rows.c: attention_values_row");
    if (p->H == 1)
        printf("att[b,i,c] = sum over j <= i of probs[b,i,j] * v[b,j,c]\n"
               "c = %zu, v offset = (b*T + j)*C + c, att offset = (b*T + i)*C + c = %zu\n",
               p->att_c, base + p->att_c);
    else
        printf("att[b,i,h,d] = sum over j <= i of probs[b,h,i,j] * v[b,j,h,d]\n"
               "d = %zu, v offset = ((b*T + j)*H + h)*D + d\n"
               "att offset = ((b*T + i)*H + h)*D + d = %zu\n",
               p->att_c, base + p->att_c);
    attn_print_sum('j', i + 1, &probs, &v, p->at.j);
    if (p->masked)
        printf("key %zu is masked, and no term of it\n", p->at.j);
    printf("%s = att.data[%zu] = %s\n", attn_vector(p, "att", i, p->att_c), base + p->att_c,
           attn_number(p->t.att[column]));
    if (p->D > ATTN_ATT_WIDEST)
        return;
    printf("its head: att.data[%zu..%zu] =", base, base + p->D - 1);
    for (size_t d = 0; d < p->D; d++)
        printf(" %s", attn_number(p->t.att[p->at.h * p->D + d]));
    putchar('\n');
}

static void print_out(attn_page *p)
{
    const size_t i = p->at.i, c = p->out_c, C = p->C, row = (p->at.b * p->T + i) * C;
    const attn_factor att = {"att", row, 1, p->t.att, 1}, w = {"w", c, C, p->w_column, 1};
    double sum = 0, of_head = 0;

    for (size_t m = 0; m < C; m++) {
        p->w_column[m] = (double)p->layer.w_proj[m * C + c];
        sum += p->t.att[m] * p->w_column[m];
        if (m / p->D == p->at.h)
            of_head += p->t.att[m] * p->w_column[m];
    }
    attn_heading(p, "the output projection", "lib/nn/ref/linear.c: linear_forward");
    printf("out[b,i,c] = (sum over m of att[b,i,m] * w[m,c]) + bias[c]\n"
           "c = %zu, w offset = m*C + c, att offset = (b*T + i)*C + m\n"
           "w is h.%zu.attn.c_proj.weight [C,C] = [%zu,%zu]; head h has m = h*D to h*D + D - 1\n",
           c, p->layer.number, C, C);
    attn_print_sum('m', C, &att, &w, ATTN_NONE);
    printf("sum = %s, of which head %zu, m = %zu to %zu: %s\n", attn_number(sum), p->at.h, p->at.h * p->D,
           (p->at.h + 1) * p->D - 1, attn_number(of_head));
    if (p->layer.b_proj)
        printf("bias.data[%zu] = %s\n", c, attn_number((double)p->layer.b_proj[c]));
    printf("out[%zu,%zu,%zu] = out.data[%zu] = %s\n", p->at.b, i, c, row + c,
           attn_number(p->layer.b_proj ? sum + (double)p->layer.b_proj[c] : sum));
}

/* ---- */

void attn_trace_print_forward(attn_page *p)
{
    print_head(p);
    print_equation(p);
    print_offsets(p);
    print_qkv(p);
    print_terms(p);
    print_scale(p);
    print_mask(p);
    print_softmax(p);
    if (p->o->through != ATTN_NONE)
        print_att(p);
    if (p->o->through == ATTN_OUT)
        print_out(p);
}
