/* How the query and the key of a score came to be, in models that norm or rotate them: from x w + bias to
 * what attention reads; and the gradient back through the same. */
#include "cmd/tg-attn-dump/trace.h"

/* The names of one vector's arrays. */
typedef struct names {
    const char *made, *projected, *normed, *dmade, *dprojected, *dnormed;
} names;

static const names of_q = {"q.data",  "q.proj.data",  "q.normed.data",
                           "dq.data", "dq.proj.data", "dq.normed.data"};
static const names of_k = {"k.data",  "k.proj.data",  "k.normed.data",
                           "dk.data", "dk.proj.data", "dk.normed.data"};

/* What is rotated. */
static const char *from_of(const names *n, const tg_attn_vector *v)
{
    return v->is_normed ? n->normed : n->projected;
}

/* ---- norm */

static void print_normed(const names *n, const tg_attn_vector *v, size_t base)
{
    const trace_column column[] = {{n->projected, v->projected, true, base},
                                   {"gain", v->gain, true, v->at.head * v->D % v->width},
                                   {n->normed, v->normed, true, base}};

    printf("%c: rstd = %s\n", n->made[0], trace_number(v->rstd).s);
    trace_print_columns('d', v->D, column, 3);
}

static void print_norm(trace_page *p)
{
    const tg_derivation *d = p->d;
    const bool all = d->q.width > p->D || d->k.width > p->D;

    trace_heading(p, "the norms of q and k", "lib/nn/rmsnorm.c: forward_row");
    printf("normed = projected * rstd * gain, projected = x w + bias\n"
           "rstd = 1/sqrt(mean of projected^2 + epsilon), over ");
    printf(all ? "all heads' channels\n" : "the head's %zu channels\n", p->D);
    print_normed(&of_q, &d->q, d->q_base);
    print_normed(&of_k, &d->k, d->k_base);
}

/* ---- rotation */

/* The channels after the rotated ones. */
static void print_rest(const char *made, const char *from, const tg_attn_vector *v, size_t base)
{
    const size_t d = 2 * v->pairs;

    if (d < v->D)
        printf("%s[%zu..%zu] = %s[%zu..%zu], not rotated\n", made, base + d, base + v->D - 1, from, base + d,
               base + v->D - 1);
}

/* A line for each pair, with both channels a and b of x and one result, that of a or, if `second`, of b. */
static void print_turned(const char *from, const double *x, const char *made, const double *y, size_t pairs,
                         size_t base, bool second)
{
    const size_t shift = second ? pairs : 0;
    const trace_column column[] = {
        {from, x, true, base}, {"b", x + pairs, true, base + pairs}, {made, y + shift, true, base + shift}};

    trace_print_columns('m', pairs, column, 3);
}

static void print_rotated(const names *n, const tg_attn_vector *v, size_t base)
{
    const trace_column angles[] = {{.title = "angle", .value = v->angle},
                                   {.title = "cos", .value = v->cosines},
                                   {.title = "sin", .value = v->sines}};
    const char *from = from_of(n, v);

    if (v->pairs == 0) {
        print_rest(n->made, from, v, base);
        return;
    }
    printf("%c at position %zu, angle = %zu * frequency[m]\n", n->made[0], v->at.t, v->at.t);
    trace_print_columns('m', v->pairs, angles, 3);
    printf("a cos - b sin:\n");
    print_turned(from, v->normed, n->made, v->made, v->pairs, base, false);
    printf("b cos + a sin:\n");
    print_turned(from, v->normed, n->made, v->made, v->pairs, base, true);
    print_rest(n->made, from, v, base);
}

static void print_rotation(trace_page *p)
{
    const tg_derivation *d = p->d;

    trace_heading(p, "the rotation of q and k", "lib/nn/rotary.c: rotate_head");
    if (d->q.pairs == 0)
        printf("layer %zu rotates neither\n", d->layer.number);
    else
        printf("pair m of a head is a and b, its channels m and m + %zu, with an angle of its own\n",
               d->q.pairs);
    print_rotated(&of_q, &d->q, d->q_base);
    print_rotated(&of_k, &d->k, d->k_base);
}

/* ---- backward */

static void print_rotated_back(const names *n, const tg_attn_vector *v, const double *dmade, size_t base)
{
    const char *to = v->is_normed ? n->dnormed : n->dprojected;

    printf("a cos + b sin:\n");
    print_turned(n->dmade, dmade, to, v->dnormed, v->pairs, base, false);
    printf("b cos - a sin:\n");
    print_turned(n->dmade, dmade, to, v->dnormed, v->pairs, base, true);
    print_rest(to, n->dmade, v, base);
}

static void print_rotation_backward(trace_page *p)
{
    const tg_derivation *d = p->d;

    trace_heading(p, "what it adds before the rotation", "lib/nn/rotary.c: tg_rotary_backward");
    printf("what the score adds to dq and dk, pair by pair, turned back by the same angle\n");
    print_rotated_back(&of_q, &d->q, d->t.dq, d->q_base);
    print_rotated_back(&of_k, &d->k, d->t.dk, d->k_base);
}

static void print_normed_back(const names *n, const tg_attn_vector *v, size_t base)
{
    const trace_column column[] = {{n->dnormed, v->dnormed, true, base},
                                   {"gain", v->gain, true, v->at.head * v->D % v->width},
                                   {n->dprojected, v->dprojected, true, base}};

    printf("%c: mean = %s\n", n->made[0], trace_number(v->mean).s);
    trace_print_columns('d', v->D, column, 3);
}

static void print_norm_backward(trace_page *p)
{
    const tg_derivation *d = p->d;

    trace_heading(p, "what it adds before the norms", "lib/nn/rmsnorm.c: backward_row");
    printf("dprojected = rstd * (dnormed * gain - projected * rstd * mean)\n"
           "mean = the sum of dnormed * gain * projected * rstd, divided by %zu (q), %zu (k)\n",
           d->q.width, d->k.width);
    if (d->q.width > p->D || d->k.width > p->D)
        printf("the norm is over all heads: the others, whose dnormed is 0, get the mean's part\n");
    print_normed_back(&of_q, &d->q, d->q_base);
    print_normed_back(&of_k, &d->k, d->k_base);
}

/* ---- all of it */

void trace_print_vectors(trace_page *p)
{
    if (!p->d->layer.q_steps.projected)
        return;
    if (p->d->q.is_normed)
        print_norm(p);
    print_rotation(p);
}

void trace_print_vectors_backward(trace_page *p)
{
    const tg_attn_vector *q = &p->d->q;

    if (!p->d->layer.q_steps.projected || p->d->masked)
        return;
    if (q->pairs > 0)
        print_rotation_backward(p);
    if (q->is_normed)
        print_norm_backward(p);
}
