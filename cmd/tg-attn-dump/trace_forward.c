/* The derivation of a score: equation, offsets, product terms, scale, mask and softmax; then the
 * weighted sum and the output. */
#include <math.h>
#include <string.h>

#include "cmd/tg-attn-dump/places.h"
#include "cmd/tg-attn-dump/trace.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"

/* ---- the first lines */

static void print_title(const trace_page *p)
{
    const size_t L = p->in->layers.L;

    input_print_title(p->in);
    printf("# trace of scores%s", trace_indices(p).s);
    if (L > 1)
        printf(", layer %zu of 0 to %zu%s", p->d->layer.number, L - 1,
               p->any_layer ? " (choose with --layer)" : "");
    printf("\n# query i = %zu%s, key j = %zu%s\n", p->i, trace_token(p, p->i).s, p->j,
           trace_token(p, p->j).s);
}

/* ---- the score */

static void print_equation(trace_page *p)
{
    trace_heading(p, "the equation", "lib/nn/ref/attention_rows.c: attention_scores_row");
    if (p->H == 1)
        printf("scores[b,i,j] = (sum over c of q[b,i,c] * k[b,j,c]) / sqrt(C)  for j <= i\n"
               "              = -1e9                                           for j > i\n");
    else
        printf("scores[b,h,i,j] = (sum over d of q[b,i,h,d] * k[b,j,h,d]) / sqrt(D)  for j <= i\n"
               "                = -1e9                                               for j > i\n");
}

static void print_offsets(trace_page *p)
{
    const places at = places_of(&p->d->t.view);
    const tg_attn_index *index = &p->d->what.at;

    trace_heading(p, "where the numbers lie", "lib/attn/attn.h: tg_attn_base, tg_attn_offset");
    printf("q, k, v ");
    print_shape(&at.whole);
    if (p->H > 1) {
        printf(" seen as ");
        print_shape(&at.vector);
    }
    printf(p->H > 1 ? "\nscores, probs " : "   scores, probs ");
    print_shape(&at.square);
    printf("\nq_base = ");
    print_base(&at, 'i', index);
    printf(" = %zu\nk_base = ", p->d->q_base);
    print_base(&at, 'j', index);
    printf(" = %zu\nscores offset = ", p->d->k_base);
    print_formulas(&at.square, p->H > 1 ? "\n              = " : " = ", index);
    printf(" = %zu\n", p->d->offset);
}

/* In a model q, k and v are slices of qkv. */
static void print_qkv(const trace_page *p)
{
    const size_t T = p->T, C = p->C, row = 3 * C, column = p->h * p->D;
    const size_t q = (p->b * T + p->i) * row + column, k = (p->b * T + p->j) * row + C + column;

    if (!p->d->layer.qkv)
        return;
    printf("in qkv [B,T,3C] = [1,%zu,%zu], of which q, k and v are slices\n"
           "(lib/gpt/gpt2.c: forward):\n",
           T, row);
    printf("  q.data[%zu] is qkv.data[(b*T + i)*3C + h*D]\n"
           "    = qkv.data[(%zu*%zu + %zu)*%zu + %zu*%zu] = qkv.data[%zu]\n",
           p->d->q_base, p->b, T, p->i, row, p->h, p->D, q);
    printf("  k.data[%zu] is qkv.data[(b*T + j)*3C + C + h*D]\n"
           "    = qkv.data[(%zu*%zu + %zu)*%zu + %zu + %zu*%zu] = qkv.data[%zu]\n",
           p->d->k_base, p->b, T, p->j, row, C, p->h, p->D, k);
}

static void print_terms(trace_page *p)
{
    trace_heading(p, "the product terms", "lib/nn/ref/attention_rows.c: sum += q[d] * k[j * ldk + d]");
    if (p->d->masked) {
        printf("none: the loop stops at j = i = %zu; key %zu is masked\n", p->i, p->j);
        return;
    }
    trace_print_sum(p->letter, p->D, &p->q, &p->k, p->D);
    printf("sum = %s\n", trace_number(p->d->t.sum).s);
}

static void print_scale(trace_page *p)
{
    const double root = sqrt((double)p->D), score = p->d->t.scores[p->j];
    const char width = p->H == 1 ? 'C' : 'D';

    trace_heading(p, "the scale", "lib/nn/ref/attention_rows.c: scores[j] = sum / sqrt((real)D)");
    printf("scale = 1/sqrt(%c) = 1/sqrt(%zu) = %s\n", width, p->D, trace_number(1 / root).s);
    if (p->d->masked)
        printf("there is no sum to scale\n");
    else
        printf("score = sum * scale = sum / sqrt(%zu) = %s / %s = %s\n", p->D, trace_number(p->d->t.sum).s,
               trace_number(root).s, trace_number(score).s);
}

static void print_mask(trace_page *p)
{
    trace_heading(p, "the mask", "lib/nn/ref/attention_rows.c: scores[j] = (real)TG_MASKED");
    printf("j > i is %zu > %zu: %s\n", p->j, p->i, p->d->masked ? "true" : "false");
    if (p->d->masked) {
        printf("key %zu comes after query %zu, which must not see it: masked\n", p->j, p->i);
        printf("%s = -1e9\n", trace_place(p, "scores").s);
        printf("(unmasked it would be %s)\n", trace_number(p->d->t.sum / sqrt((double)p->D)).s);
        return;
    }
    printf("key %zu does not come after query %zu, which may see it: not masked\n", p->j, p->i);
    printf("%s = %s\n", trace_place(p, "scores").s, trace_number(p->d->t.scores[p->j]).s);
}

/* ---- the probability */

static void print_row(const trace_page *p)
{
    const tg_attn_trace *t = &p->d->t;
    const size_t i = p->i, row = p->d->offset - p->j;
    const int width = (int)tg_size_max(tg_decimal_digits(row + i), strlen("offset"));

    printf("#    j  %*s  %12s  %12s  %12s\n", width, "offset", "score", "exp(s - max)", "prob");
    for (size_t j = 0; j <= i; j++)
        printf("%c %4zu  %*zu  %12s  %12s  %12s%s\n", j == p->j ? '>' : ' ', j, width, row + j,
               trace_number(t->scores[j]).s, trace_number(t->exps[j]).s, trace_number(t->probs[j]).s,
               trace_token(p, j).s);
    if (i + 1 == p->T)
        return;
    printf(i + 2 < p->T ? "keys %zu to %zu" : "key %zu", i + 1, p->T - 1);
    printf(": masked, -1e9; exponential 0, probability 0\n");
}

static void print_softmax(trace_page *p)
{
    const tg_attn_trace *t = &p->d->t;
    trace_heading(p, "the softmax of its row", "lib/nn/ref/softmax.c: softmax_row");
    printf("probs[j] = exp(scores[j] - max) / (sum over m <= i of exp(scores[m] - max))\n");
    printf("max = the greatest of scores.data[%zu..%zu] = %s\n", p->d->offset - p->j,
           p->d->offset - p->j + p->i, trace_number(t->max).s);
    print_row(p);
    printf("sum of the exponentials = %s\n", trace_number(t->exp_sum).s);
    if (p->d->masked)
        printf("%s = 0: the softmax is over the %zu key%s that\nquery %zu sees; even among them "
               "exp(-1e9 - max) would be 0\n",
               trace_place(p, "probs").s, p->i + 1, cli_plural(p->i + 1), p->i);
    else
        printf("%s = %s / %s = %s\n", trace_place(p, "probs").s, trace_number(t->exps[p->j]).s,
               trace_number(t->exp_sum).s, trace_number(t->probs[p->j]).s);
}

/* ---- the weighted sum and the output */

static void print_att(trace_page *p)
{
    const size_t c = p->d->what.channel, base = p->d->q_base, column = p->h * p->D + c;
    const trace_factor probs = {"probs", p->d->offset - p->j, 1, p->d->t.probs, 1};
    const trace_factor v = {"v", p->b * p->T * p->C + column, p->C, p->d->t.v + column, p->C};

    trace_heading(p, "the weighted sum", "lib/nn/ref/attention_rows.c: attention_values_row");
    if (p->H == 1)
        printf("att[b,i,c] = sum over j <= i of probs[b,i,j] * v[b,j,c]\n"
               "c = %zu, v offset = (b*T + j)*C + c, att offset = (b*T + i)*C + c = %zu\n",
               c, base + c);
    else
        printf("att[b,i,h,d] = sum over j <= i of probs[b,h,i,j] * v[b,j,h,d]\n"
               "d = %zu, v offset = ((b*T + j)*H + h)*D + d\n"
               "att offset = ((b*T + i)*H + h)*D + d = %zu\n",
               c, base + c);
    trace_print_sum('j', p->i + 1, &probs, &v, p->j);
    if (p->d->masked)
        printf("key %zu is masked, and no term of it\n", p->j);
    printf("%s = %s\n", trace_att_place(p).s, trace_number(p->d->t.att[column]).s);
    if (p->D > ATT_WIDTH_MAX)
        return;
    printf("its head: att.data[%zu..%zu] =", base, base + p->D - 1);
    for (size_t d = 0; d < p->D; d++)
        printf(" %s", trace_number(p->d->t.att[p->h * p->D + d]).s);
    putchar('\n');
}

#define WEIGHT_WIDTH 46 /* the start of a line that still fits into 80 columns with what follows */

static void print_out(trace_page *p)
{
    const tg_derivation *d = p->d;
    const tg_derived_output *o = &d->output;
    const size_t h = p->h, c = d->what.out_channel, C = p->C, row = (p->b * p->T + p->i) * C;
    const trace_factor att = {"att", row, 1, d->t.att, 1}, w = {"w", c, C, o->w, 1};
    int used;

    trace_heading(p, "the output projection", "lib/nn/ref/linear.c: linear_forward");
    printf("out[b,i,c] = (sum over m of att[b,i,m] * w[m,c]) + bias[c]\n"
           "c = %zu, w offset = m*C + c, att offset = (b*T + i)*C + m\n",
           c);
    used = printf("w is %s [C,C] = [%zu,%zu];", o->name, C, C);
    printf("%chead h has m = h*D to h*D + D - 1\n", used > WEIGHT_WIDTH ? '\n' : ' ');
    trace_print_sum('m', C, &att, &w, C);
    printf("sum = %s, of which head %zu, m = %zu to %zu: %s\n", trace_number(o->sum).s, h, h * p->D,
           (h + 1) * p->D - 1, trace_number(o->of_head).s);
    if (d->layer.proj.b)
        printf("bias.data[%zu] = %s\n", c, trace_number((double)d->layer.proj.b[c]).s);
    printf("out[%zu,%zu,%zu] = out.data[%zu] = %s\n", p->b, p->i, c, row + c, trace_number(o->out).s);
}

/* ---- all of it */

void trace_print_forward(trace_page *p)
{
    print_title(p);
    print_equation(p);
    print_offsets(p);
    print_qkv(p);
    print_terms(p);
    print_scale(p);
    print_mask(p);
    print_softmax(p);
    if (p->att)
        print_att(p);
    if (p->out)
        print_out(p);
}
