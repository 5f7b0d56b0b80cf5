/* The derivation of a score, continued: the weighted sum that it is part of, and the output. */
#include "cmd/tg-attn-dump/places.h"
#include "cmd/tg-attn-dump/trace.h"

/* ---- the weighted sum */

/* The equation of the weighted sum, and its offsets, of heads that share keys. */
static void print_shared_att(size_t d, size_t at)
{
    printf("att[b,i,h,d] = sum over j of probs[b,h,i,j] * v[b,j,g,d], over the keys seen\n"
           "d = %zu, v offset = ((b*T + j)*KV + g)*D + d\n"
           "att offset = ((b*T + i)*H + h)*D + d = %zu\n",
           d, at);
}

void trace_print_att(trace_page *p)
{
    const size_t c = p->d->what.channel, base = p->d->q_base, KV = p->KV * p->D, column = p->g * p->D + c;
    const trace_factor probs = {"probs", p->d->offset - p->j, 1, p->d->t.probs, 1};
    const trace_factor v = {"v", p->b * p->T * KV + column, KV, p->d->t.v + column, KV};

    trace_heading(p, "the weighted sum", "lib/nn/ref/attention_rows.c: attention_values_row");
    if (p->KV < p->H)
        print_shared_att(c, base + c);
    else if (p->one)
        printf("att[b,i,c] = sum over j <= i of probs[b,i,j] * v[b,j,c]\n"
               "c = %zu, v offset = (b*T + j)*C + c, att offset = (b*T + i)*C + c = %zu\n",
               c, base + c);
    else
        printf("att[b,i,h,d] = sum over j <= i of probs[b,h,i,j] * v[b,j,h,d]\n"
               "d = %zu, v offset = ((b*T + j)*H + h)*D + d\n"
               "att offset = ((b*T + i)*H + h)*D + d = %zu\n",
               c, base + c);
    trace_print_sum('j', p->d->t.first, p->i + 1, &probs, &v, p->j);
    if (p->d->masked)
        printf("key %zu is masked, and no term of it\n", p->j);
    printf("%s = %s\n", trace_att_place(p).s, trace_number(p->d->t.att[p->h * p->D + c]).s);
    if (p->D > ATT_WIDTH_MAX)
        return;
    printf("its head: att.data[%zu..%zu] =", base, base + p->D - 1);
    for (size_t d = 0; d < p->D; d++)
        printf(" %s", trace_number(p->d->t.att[p->h * p->D + d]).s);
    putchar('\n');
}

/* ---- the output */

#define WEIGHT_WIDTH 46 /* the start of a line that still fits into 80 columns with what follows */

/* The equation of the output, and what w is: [C,C] as GPT-2 has it, or [C,Q], a row for each output, with
 * Q = H*D. */
static void print_out_equation(const trace_page *p)
{
    const tg_derived_output *o = &p->d->output;
    const bool transposed = o->transposed;
    const size_t C = p->C, c = p->d->what.out_channel;
    int used;

    printf("out[b,i,c] = (sum over m of att[b,i,m] * %s) + bias[c]\n", transposed ? "w[c,m]" : "w[m,c]");
    printf(transposed ? "c = %zu, w offset = c*Q + m, att offset = (b*T + i)*Q + m, Q = H*D\n"
                      : "c = %zu, w offset = m*C + c, att offset = (b*T + i)*C + m\n",
           c);
    used = transposed ? printf("w is %s [C,Q] = [%zu,%zu];", o->name, C, p->H * p->D)
                      : printf("w is %s [C,C] = [%zu,%zu];", o->name, C, C);
    printf("%chead h has m = h*D to h*D + D - 1\n", used > WEIGHT_WIDTH ? '\n' : ' ');
}

void trace_print_out(trace_page *p)
{
    const tg_derivation *d = p->d;
    const tg_derived_output *o = &d->output;
    const size_t h = p->h, c = d->what.out_channel, C = p->C, Q = p->H * p->D, row = p->b * p->T + p->i;
    const trace_factor att = {"att", row * Q, 1, d->t.att, 1};
    const float *bias = tg_model_weight(d->layer.model, TG_ATT_PROJ_B, d->layer.number);
    const trace_factor w = {"w", o->transposed ? c * Q : c, o->transposed ? 1 : C, o->w, 1};

    trace_heading(p, "the output projection", "lib/nn/ref/linear.c: linear_forward");
    print_out_equation(p);
    trace_print_sum('m', 0, Q, &att, &w, Q);
    printf("sum = %s, of which head %zu, m = %zu to %zu: %s\n", trace_number(o->sum).s, h, h * p->D,
           (h + 1) * p->D - 1, trace_number(o->of_head).s);
    if (bias)
        printf("bias.data[%zu] = %s\n", c, trace_number((double)bias[c]).s);
    printf("out[%zu,%zu,%zu] = out.data[%zu] = %s\n", p->b, p->i, c, row * C + c, trace_number(o->out).s);
    if (o->norm)
        printf("%s norms it\nbefore it is added to the residual stream\n", o->norm);
}
