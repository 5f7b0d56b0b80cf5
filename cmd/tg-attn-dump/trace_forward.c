/* The derivation of a score: equation, offsets, product terms, scale, mask and softmax. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "cmd/tg-attn-dump/places.h"
#include "cmd/tg-attn-dump/trace.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"

#define PLAIN_TERMS 4 /* of a row's sum without the maximum: so many fit on a line */

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

/* The equation of scores with a scale, a cap or a window of their own, or of heads that share keys. */
static void print_own_equation(const trace_page *p)
{
    const char *const score = p->one ? "scores[b,i,j]" : "scores[b,h,i,j]";
    const char *const q = p->one ? "b,i,c" : "b,i,h,d";
    const char *const k = p->one ? "b,j,c" : p->KV < p->H ? "b,j,g,d" : "b,j,h,d";

    printf("%s = %s * (sum over %c of q[%s] * k[%s])\n", p->rule->cap > 0 ? "s" : score,
           p->rule->scale > 0 ? "scale"
           : p->one           ? "1/sqrt(C)"
                              : "1/sqrt(D)",
           p->letter, q, k);
    if (p->rule->cap > 0)
        printf("%s = cap * tanh(s / cap)\n", score);
    printf("%s = -1e9  for j > i%s\n", score, p->rule->window > 0 ? ", and for i - j >= window" : "");
    if (p->KV < p->H)
        printf("g = h/(H/KV), rounded down: the head of keys that head h of queries reads\n");
}

static void print_equation(trace_page *p)
{
    trace_heading(p, "the equation", "lib/nn/ref/attention_rows.c: attention_scores_row");
    if (!p->plain || p->KV < p->H)
        print_own_equation(p);
    else if (p->one)
        printf("scores[b,i,j] = (sum over c of q[b,i,c] * k[b,j,c]) / sqrt(C)  for j <= i\n"
               "              = -1e9                                           for j > i\n");
    else
        printf("scores[b,h,i,j] = (sum over d of q[b,i,h,d] * k[b,j,h,d]) / sqrt(D)  for j <= i\n"
               "                = -1e9                                               for j > i\n");
}

/* Heads that share keys, or are not C/H wide. */
static void print_own_heads(const trace_page *p, const places *at)
{
    printf(p->KV < p->H ? "q, att " : "q, k, v, att ");
    print_shape(&at->vector);
    if (p->KV < p->H) {
        printf("   k, v ");
        print_shape(&at->keys);
        printf("\ng = h/(H/KV) = %zu/%zu = %zu", p->h, at->group, p->g);
    }
}

static void print_shapes(const trace_page *p, const places *at)
{
    if (!p->divide) {
        print_own_heads(p, at);
    } else {
        printf("q, k, v ");
        print_shape(&at->whole);
        if (p->H > 1) {
            printf(" seen as ");
            print_shape(&at->vector);
        }
    }
    printf(p->one ? "   scores, probs " : "\nscores, probs ");
    print_shape(&at->square);
}

static void print_offsets(trace_page *p)
{
    const places at = places_of(&p->d->t.view);
    const tg_attn_index *index = &p->d->what.at;

    trace_heading(p, "where the numbers lie",
                  p->KV == p->H ? "lib/tg/attention.h: tg_attn_base, tg_attn_offset"
                                : "lib/tg/attention.h: tg_attn_base, tg_attn_kv_base, tg_attn_offset");
    print_shapes(p, &at);
    printf("\nq_base = ");
    print_base(&at, 'i', index);
    printf(" = %zu\nk_base = ", p->d->q_base);
    print_base(&at, 'j', index);
    printf(" = %zu\nscores offset = ", p->d->k_base);
    print_formulas(&at.square, p->one ? " = " : "\n              = ", index);
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
    if (p->after) {
        printf("none: the loop stops at j = i = %zu; key %zu is masked\n", p->i, p->j);
        return;
    }
    trace_print_sum(p->letter, 0, p->D, &p->q, &p->k, p->D);
    printf("sum = %s\n", trace_number(p->d->t.sum).s);
}

/* A scale of the model's own. */
static void print_own_scale(trace_page *p, const char *name)
{
    const tg_attn_trace *t = &p->d->t;

    trace_heading(p, "the scale", "lib/nn/ref/attention_rule.c: scores[j] *= factor(rule, D)");
    printf("scale = %s, a setting of the model\n", trace_number(p->rule->scale).s);
    if (p->after)
        printf("there is no sum to scale\n");
    else
        printf("%s = sum * scale = %s * %s = %s\n", name, trace_number(t->sum).s,
               trace_number(p->rule->scale).s, trace_number(t->scaled).s);
}

static void print_scale(trace_page *p)
{
    const double root = sqrt((double)p->D);
    const char width = p->one ? 'C' : 'D', *name = p->rule->cap > 0 ? "s" : "score";

    if (p->rule->scale > 0) {
        print_own_scale(p, name);
        return;
    }
    trace_heading(p, "the scale", "lib/nn/ref/attention_rows.c: scores[j] = sum / sqrt((real)D)");
    printf("scale = 1/sqrt(%c) = 1/sqrt(%zu) = %s\n", width, p->D, trace_number(1 / root).s);
    if (p->after)
        printf("there is no sum to scale\n");
    else
        printf("%s = sum * scale = sum / sqrt(%zu) = %s / %s = %s\n", name, p->D, trace_number(p->d->t.sum).s,
               trace_number(root).s, trace_number(p->d->t.scaled).s);
}

static void print_cap(trace_page *p)
{
    const tg_attn_trace *t = &p->d->t;
    const double cap = p->rule->cap;

    trace_heading(p, "the cap", "lib/nn/ref/attention_rule.c: scores[j] = cap * tanh(scores[j] / cap)");
    printf("cap = %s, a setting of the model\n", trace_number(cap).s);
    if (p->after)
        printf("there is no score to cap\n");
    else
        printf("before it s = %s, s / cap = %s\nafter it score = cap * tanh(s / cap) = %s\n",
               trace_number(t->scaled).s, trace_number(t->scaled / cap).s, trace_number(t->unmasked).s);
}

/* What the window says of a key that does not come after the query. */
static void print_window(const trace_page *p)
{
    const bool hides = p->d->masked;

    printf("i - j >= window is %zu - %zu >= %zu: %s\n", p->i, p->j, p->rule->window,
           hides ? "true" : "false");
    if (hides)
        printf("key %zu lies before the window of query %zu, keys %zu to %zu: masked\n", p->j, p->i,
               p->d->t.first, p->i);
}

static void print_mask(trace_page *p)
{
    trace_heading(p, "the mask",
                  p->d->masked && !p->after ? "lib/nn/ref/attention_rule.c: scores[j] = (real)TG_MASKED"
                                            : "lib/nn/ref/attention_rows.c: scores[j] = (real)TG_MASKED");
    printf("j > i is %zu > %zu: %s\n", p->j, p->i, p->after ? "true" : "false");
    if (p->after)
        printf("key %zu comes after query %zu, which must not see it: masked\n", p->j, p->i);
    else if (p->rule->window > 0)
        print_window(p);
    if (p->d->masked) {
        printf("%s = -1e9\n", trace_place(p, "scores").s);
        printf("(unmasked it would be %s)\n", trace_number(p->d->t.unmasked).s);
        return;
    }
    printf("key %zu does not come after query %zu, which may see it: not masked\n", p->j, p->i);
    printf("%s = %s\n", trace_place(p, "scores").s, trace_number(p->d->t.scores[p->j]).s);
}

/* ---- the probability */

static void print_masked_keys(size_t from, size_t to)
{
    printf(from < to ? "keys %zu to %zu" : "key %zu", from, to);
    printf(": masked, -1e9; exponential 0, probability 0\n");
}

static void print_row(const trace_page *p)
{
    const tg_attn_trace *t = &p->d->t;
    const size_t i = p->i, row = p->d->offset - p->j;
    const int width = (int)tg_size_max(tg_decimal_digits(row + i), strlen("offset"));

    printf("#    j  %*s  %12s  %12s  %12s\n", width, "offset", "score", "exp(s - max)", "prob");
    if (t->first > 0)
        print_masked_keys(0, t->first - 1);
    for (size_t j = t->first; j <= i; j++)
        printf("%c %4zu  %*zu  %12s  %12s  %12s%s\n", j == p->j ? '>' : ' ', j, width, row + j,
               trace_number(t->scores[j]).s, trace_number(t->exps[j]).s, trace_number(t->probs[j]).s,
               trace_token(p, j).s);
    if (i + 1 < p->T)
        print_masked_keys(i + 1, p->T - 1);
}

/* The terms of the row's sum without the maximum, as powers or as numbers: all of a short row, else the first
 * two and the last. */
static void print_plain_terms(const trace_page *p, bool powers)
{
    const size_t first = p->d->t.first, i = p->i;
    const double *scores = p->d->t.scores;

    for (size_t j = first; j <= i; j++) {
        if (j == first + 2 && i - first >= PLAIN_TERMS) {
            printf(" + ...");
            j = i;
        }
        printf("%s%s%s", j == first ? "" : " + ", powers ? "e^" : "",
               trace_number(powers ? scores[j] : exp(scores[j])).s);
    }
}

static void print_plain_sum(const trace_page *p)
{
    const tg_attn_trace *t = &p->d->t;
    const size_t terms = p->i + 1 - t->first;

    printf("without max: ");
    if (t->plain_sum > (double)FLT_MAX) {
        printf("the sum, at least e^%s, exceeds a float32's range\n", trace_number(t->max).s);
        return;
    }
    print_plain_terms(p, true);
    if (terms > PLAIN_TERMS)
        printf(", %zu terms", terms);
    if (terms > 1) {
        printf("\n    = ");
        print_plain_terms(p, false);
    }
    printf(" = %s\n", trace_number(t->plain_sum).s);
}

static void print_softmax(trace_page *p)
{
    const tg_attn_trace *t = &p->d->t;
    const size_t row = p->d->offset - p->j, seen = p->i + 1 - t->first;

    trace_heading(p, "the softmax of its row", "lib/nn/ref/softmax.c: softmax_row");
    printf("probs[j] = exp(scores[j] - max) / (sum over %s of exp(scores[m] - max))\n",
           p->rule->window > 0 ? "m seen" : "m <= i");
    printf("max = the greatest of scores.data[%zu..%zu] = %s\n", row + t->first, row + p->i,
           trace_number(t->max).s);
    print_row(p);
    printf("sum of the exponentials = %s\n", trace_number(t->exp_sum).s);
    print_plain_sum(p);
    if (p->d->masked)
        printf("%s = 0: the softmax is over the %zu key%s that\nquery %zu sees; even among them "
               "exp(-1e9 - max) would be 0\n",
               trace_place(p, "probs").s, seen, cli_plural(seen), p->i);
    else
        printf("%s = %s / %s = %s\n", trace_place(p, "probs").s, trace_number(t->exps[p->j]).s,
               trace_number(t->exp_sum).s, trace_number(t->probs[p->j]).s);
}

/* ---- all of it */

void trace_print_forward(trace_page *p)
{
    print_title(p);
    print_equation(p);
    print_offsets(p);
    print_qkv(p);
    trace_print_vectors(p);
    print_terms(p);
    print_scale(p);
    if (p->rule->cap > 0)
        print_cap(p);
    print_mask(p);
    print_softmax(p);
    if (p->att)
        trace_print_att(p);
    if (p->out)
        trace_print_out(p);
}
