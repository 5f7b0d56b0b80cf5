/* The gradient of a score: from the loss through the weighted sum, the probability and the softmax to
 * the score, then to its query and key. */
#include <math.h>

#include "cmd/tg-attn-dump/trace.h"

/* ---- the loss and the weighted sum */

static void print_loss_of_model(trace_page *p)
{
    const size_t last = p->T - 1, target = p->d->what.target;
    const double logit = p->d->g.logits[target];
    char shown[LABEL_SIZE];

    (void)label_quote(shown, sizeof shown, LABEL_COLUMNS, p->in->model.model.tokenizer, (int32_t)target);
    trace_heading(p, "the loss", "lib/gpt/gradient64.c: tg_gradient64_loss");
    printf("loss = -log softmax(logits[T-1])[target], the prediction of the next token\n");
    printf("T-1 = %zu%s, target = %zu %s\n", last, trace_token(p, last).s, target, shown);
    printf("logits[%zu,%zu] = %s, softmax = %s\n", last, target, trace_number(logit).s,
           trace_number(exp(-p->d->g.loss)).s);
    printf("loss = %s\n", trace_number(p->d->g.loss).s);
}

static void print_loss_as_given(trace_page *p)
{
    trace_heading(p, "the loss", "without a model, one channel of the weighted sum: --channel");
    printf("loss = %s = %s\n", trace_att_place(p).s,
           trace_number(p->d->t.att[p->h * p->D + p->d->what.channel]).s);
}

/* The equation of datt in a model, by the layout of w (trace_forward.c). */
static void print_datt_equation(const trace_page *p, size_t m)
{
    const size_t C = p->C, Q = p->H * p->D, row = (p->b * p->T + p->i) * C;

    if (!p->d->output.transposed) {
        printf("follows: the loss, the head, ln_f, the later layers, this layer's MLP\n"
               "datt[b,i,m] = sum over c of dout[b,i,c] * w[m,c], w offset = m*C + c\n"
               "m = h*D + d = %zu: dout.data[%zu..%zu] times w.data[%zu..%zu], summed:\n",
               m, row, row + C - 1, m * C, m * C + C - 1);
        return;
    }
    printf("follows: the loss, the head, the last norm, later layers, the rest of this one\n"
           "datt[b,i,m] = sum over c of dout[b,i,c] * w[c,m], w offset = c*Q + m, Q = H*D\n"
           "m = h*D + d = %zu: dout.data[%zu..%zu] times w.data[%zu..%zu], every %zu, summed:\n",
           m, row, row + C - 1, m, (C - 1) * Q + m, Q);
}

static void print_datt(trace_page *p)
{
    const size_t row = (p->b * p->T + p->i) * p->H * p->D, m = p->h * p->D + p->d->what.channel;

    if (!p->d->layer.x) {
        trace_heading(p, "the gradient of the weighted sum", "the loss is one of its channels");
        printf("datt.data[%zu] = 1, and 0 in the head's other channels\n", p->d->q_base + p->d->what.channel);
        return;
    }
    trace_heading(p, "the gradient of the weighted sum", "lib/gpt/gradient64.c: tg_gradient64_run");
    printf("dout is the gradient of the projection's output; it came back through all that\n");
    print_datt_equation(p, m);
    printf("datt.data[%zu] = %s%s\n", row + m, trace_number(p->d->datt[p->d->what.channel]).s,
           p->d->masked ? "" : "   (the whole head: see the next table)");
    if (p->d->layer.number + 1 == p->in->layers.L && p->i + 1 < p->T)
        printf("it is 0: in the last layer only the last query, %zu, reaches the loss\n", p->T - 1);
}

/* ---- the probability and the score */

static void print_dprobs(trace_page *p)
{
    const trace_factor datt = {"datt", p->d->q_base, 1, p->d->datt, 1};
    const trace_factor v = {"v", p->d->k_base, 1, p->d->t.v + (p->j * p->KV + p->g) * p->D, 1};

    trace_heading(p, "the gradient of the probability",
                  "lib/nn/ref/attention_rows.c: attention_values_row_backward");
    if (p->one)
        printf("dprobs[b,i,j] = sum over c of datt[b,i,c] * v[b,j,c]\n");
    else
        printf("dprobs[b,h,i,j] = sum over d of datt[b,i,h,d] * v[b,j,%c,d]\n", p->KV < p->H ? 'g' : 'h');
    if (p->d->masked && !p->after) {
        printf("%s = 0: the window of query %zu begins at key %zu\n", trace_place(p, "dprobs").s, p->i,
               p->d->t.first);
        return;
    }
    if (p->d->masked) {
        printf("%s = 0: the loop over keys ends at j = i = %zu\n", trace_place(p, "dprobs").s, p->i);
        return;
    }
    trace_print_sum(p->letter, 0, p->D, &datt, &v, p->D);
    printf("%s = %s\n", trace_place(p, "dprobs").s, trace_number(p->d->t.dprobs[p->j]).s);
}

static void print_dscores(trace_page *p)
{
    const tg_attn_trace *t = &p->d->t;
    const size_t row = p->d->offset - p->j;
    const trace_factor probs = {"probs", row, 1, t->probs, 1}, dprobs = {"dprobs", row, 1, t->dprobs, 1};

    trace_heading(p, "the gradient of the score", "lib/nn/ref/softmax.c: softmax_row_backward");
    printf("dscores[j] = probs[j] * (dprobs[j] - sum over %s of probs[m] * dprobs[m])\n",
           p->rule->window > 0 ? "m seen" : "m <= i");
    trace_print_sum('m', t->first, p->i + 1, &probs, &dprobs, p->j);
    printf("sum = %s\n", trace_number(t->mean).s);
    if (p->d->masked) {
        printf("%s = 0: the score is -1e9 whatever q and k are,\nand its probability 0\n",
               trace_place(p, "dscores").s);
        return;
    }
    printf("%s\n    = %s * (%s - %s) = %s\n", trace_place(p, "dscores").s, trace_number(t->probs[p->j]).s,
           trace_number(t->dprobs[p->j]).s, trace_number(t->mean).s, trace_number(t->dscores[p->j]).s);
}

/* ---- the query and the key */

static void print_cap_backward(trace_page *p)
{
    const tg_attn_trace *t = &p->d->t;

    trace_heading(p, "the gradient before the cap",
                  "lib/nn/ref/attention_rule.c: attention_rule_row_backward");
    if (p->d->masked) {
        printf("0: a masked score is no function of s\n");
        return;
    }
    printf("score = cap * tanh(s / cap), so ds = dscores[j] * (1 - (score / cap)^2)\n"
           "ds = %s * (1 - (%s / %s)^2) = %s\n",
           trace_number(t->dscores[p->j]).s, trace_number(t->unmasked).s, trace_number(p->rule->cap).s,
           trace_number(t->dscaled).s);
}

/* What is multiplied with the vectors: with 1/sqrt(D), or with the model's own scale. */
static void print_factor(const trace_page *p)
{
    const char *const d = p->rule->cap > 0 ? "ds" : "dscores[j]", c = p->letter, width = p->one ? 'C' : 'D';
    const double dscore = p->d->t.dscaled, root = sqrt((double)p->D), scale = p->rule->scale;

    if (scale > 0) {
        printf("dq[%c] += %s * scale * k[%c]   dk[%c] += %s * scale * q[%c]\n", c, d, c, c, d, c);
        printf("%s * scale = %s * %s = %s\n", d, trace_number(dscore).s, trace_number(scale).s,
               trace_number(dscore * scale).s);
        return;
    }
    printf("dq[%c] += %s * k[%c] / sqrt(%c)   dk[%c] += %s * q[%c] / sqrt(%c)\n", c, d, c, width, c, d, c,
           width);
    printf("%s / sqrt(%zu) = %s / %s = %s\n", d, p->D, trace_number(dscore).s, trace_number(root).s,
           trace_number(dscore / root).s);
}

static void print_adds(trace_page *p)
{
    const trace_factor dq = {"dq", p->d->q_base, 1, p->d->t.dq, 1};
    const trace_factor dk = {"dk", p->d->k_base, 1, p->d->t.dk, 1};

    trace_heading(p, "what it adds to dq and dk",
                  "lib/nn/ref/attention_rows.c: attention_scores_row_backward");
    if (p->d->masked) {
        printf("nothing: a masked score is no function of q and k\n");
        return;
    }
    print_factor(p);
    trace_print_adds(p->letter, p->D, &p->k, &dq);
    trace_print_adds(p->letter, p->D, &p->q, &dk);
    printf("dq.data[%zu..%zu] sums this over the keys j <= i,\ndk.data[%zu..%zu] over the queries i >= j%s\n",
           p->d->q_base, p->d->q_base + p->D - 1, p->d->k_base, p->d->k_base + p->D - 1,
           p->KV < p->H ? ", and over heads" : "");
}

void trace_print_backward(trace_page *p)
{
    if (p->d->layer.x)
        print_loss_of_model(p);
    else
        print_loss_as_given(p);
    print_datt(p);
    print_dprobs(p);
    print_dscores(p);
    if (p->rule->cap > 0)
        print_cap_backward(p);
    print_adds(p);
    trace_print_vectors_backward(p);
}
