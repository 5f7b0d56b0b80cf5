/* A score's gradient: the loss, the weighted sum, the probability, the softmax, and what
 * the score passes on to its query and its key. */
#include <math.h>

#include "cmd/tg-attn-dump/trace.h"

/* ---- where it begins */

static void print_loss_of_model(attn_page *p)
{
    const size_t last = p->T - 1, target = (size_t)p->target;
    const double logit = p->g.logits[target];
    unsigned char text[TG_TOKEN_BYTES_MAX];
    char shown[ATTN_LABEL_SIZE];
    const size_t n = tg_tokenizer_decode(&p->subject->model.model.tokenizer, text, p->target);

    cli_escape(shown, sizeof shown, text, n);
    attn_heading(p, "the loss", "lib/gpt/gradient64.c: tg_gradient64_loss");
    printf("loss = -log softmax(logits[T-1])[target], the prediction behind the last token\n");
    printf("T-1 = %zu%s, target = %zu \"%s\"\n", last, attn_token(p, last), target, shown);
    printf("logits[%zu,%zu] = %s, softmax = %s\n", last, target, attn_number(logit),
           attn_number(exp(-p->g.loss)));
    printf("loss = %s\n", attn_number(p->g.loss));
}

static void print_loss_as_given(attn_page *p)
{
    const char *att = attn_vector(p, "att", p->at.i, p->att_c);

    attn_heading(p, "the loss", "without a model, one channel of the weighted sum: --channel");
    printf("loss = %s = att.data[%zu] = %s\n", att, p->q_base + p->att_c,
           attn_number(p->t.att[p->at.h * p->D + p->att_c]));
}

static void print_datt(attn_page *p)
{
    const size_t i = p->at.i, C = p->C, row = (p->at.b * p->T + i) * C, m = p->at.h * p->D + p->att_c;

    if (!p->layer.qkv) {
        attn_heading(p, "the gradient of the weighted sum", "the loss is one of its channels");
        printf("datt.data[%zu] = 1, and 0 in the head's other channels\n", p->q_base + p->att_c);
        return;
    }
    attn_heading(p, "the gradient of the weighted sum", "lib/gpt/gradient64.c: tg_gradient64_run");
    printf("dout is the gradient of the projection's output; it came back through all that\n"
           "follows: the loss, the head, ln_f, the later layers, this layer's MLP\n"
           "datt[b,i,m] = sum over c of dout[b,i,c] * w[m,c], w offset = m*C + c\n"
           "m = h*D + d = %zu: dout.data[%zu..%zu] times w.data[%zu..%zu], summed:\n",
           m, row, row + C - 1, m * C, m * C + C - 1);
    printf("datt.data[%zu] = %s%s\n", row + m, attn_number(p->datt[p->att_c]),
           p->masked ? "" : "   (the whole head: see the next table)");
    if (p->layer.number + 1 == p->subject->layers.L && i + 1 < p->T)
        printf("it is 0: in the last layer only the last query, %zu, reaches the loss\n", p->T - 1);
}

/* ---- the probability and the score */

static void print_dprobs(attn_page *p)
{
    const size_t i = p->at.i, j = p->at.j;
    const attn_factor datt = {"datt", p->q_base, 1, p->datt, 1};
    const attn_factor v = {"v", p->k_base, 1, p->t.v + j * p->C + p->at.h * p->D, 1};

    attn_heading(p, "the gradient of the probability",
                 "lib/nn/ref/attention_rows.c: attention_values_row_backward");
    if (p->H == 1)
        printf("dprobs[b,i,j] = sum over c of datt[b,i,c] * v[b,j,c]\n");
    else
        printf("dprobs[b,h,i,j] = sum over d of datt[b,i,h,d] * v[b,j,h,d]\n");
    if (p->masked) {
        printf("%s = dprobs.data[%zu] = 0: the loop over keys ends at j = i = %zu\n",
               attn_square(p, "dprobs", i, j), p->offset, i);
        return;
    }
    attn_print_sum(p->d, p->D, &datt, &v, ATTN_NONE);
    printf("%s = dprobs.data[%zu] = %s\n", attn_square(p, "dprobs", i, j), p->offset,
           attn_number(p->t.dprobs[j]));
}

static void print_dscores(attn_page *p)
{
    const tg_attn_trace *t = &p->t;
    const size_t i = p->at.i, j = p->at.j, row = p->offset - j;
    const attn_factor probs = {"probs", row, 1, t->probs, 1}, dprobs = {"dprobs", row, 1, t->dprobs, 1};

    attn_heading(p, "the gradient of the score", "lib/nn/ref/softmax.c: softmax_row_backward");
    printf("dscores[j] = probs[j] * (dprobs[j] - sum over m <= i of probs[m] * dprobs[m])\n");
    attn_print_sum('m', i + 1, &probs, &dprobs, j);
    printf("sum = %s\n", attn_number(t->mean));
    if (p->masked) {
        printf("%s = dscores.data[%zu] = 0: the score is -1e9 whatever q and k are,\n"
               "and its probability 0\n",
               attn_square(p, "dscores", i, j), p->offset);
        return;
    }
    printf("%s = dscores.data[%zu]\n    = %s * (%s - %s) = %s\n", attn_square(p, "dscores", i, j), p->offset,
           attn_number(t->probs[j]), attn_number(t->dprobs[j]), attn_number(t->mean),
           attn_number(t->dscores[j]));
}

/* ---- what the score passes on */

static void print_adds(attn_page *p)
{
    const size_t h_d = p->at.h * p->D;
    const attn_factor q = {"q", p->q_base, 1, p->t.q + p->at.i * p->C + h_d, 1};
    const attn_factor k = {"k", p->k_base, 1, p->t.k + p->at.j * p->C + h_d, 1};
    const attn_factor dq = {"dq", p->q_base, 1, p->t.dq, 1}, dk = {"dk", p->k_base, 1, p->t.dk, 1};
    const char width = p->H == 1 ? 'C' : 'D';

    attn_heading(p, "what it adds to dq and dk",
                 "lib/nn/ref/attention_rows.c: attention_scores_row_backward");
    if (p->masked) {
        printf("nothing: a masked score is no function of q and k\n");
        return;
    }
    printf("dq[%c] += dscores[j] * k[%c] / sqrt(%c)   dk[%c] += dscores[j] * q[%c] / sqrt(%c)\n", p->d, p->d,
           width, p->d, p->d, width);
    printf("dscores[j] / sqrt(%zu) = %s / %s = %s\n", p->D, attn_number(p->t.dscores[p->at.j]),
           attn_number(sqrt((double)p->D)), attn_number(p->t.dscores[p->at.j] / sqrt((double)p->D)));
    attn_print_adds(p->d, p->D, &k, &dq);
    attn_print_adds(p->d, p->D, &q, &dk);
    printf("dq.data[%zu..%zu] sums this over the keys j <= i,\ndk.data[%zu..%zu] over the queries i >= j\n",
           p->q_base, p->q_base + p->D - 1, p->k_base, p->k_base + p->D - 1);
}

void attn_trace_print_backward(attn_page *p)
{
    if (p->layer.qkv)
        print_loss_of_model(p);
    else
        print_loss_as_given(p);
    print_datt(p);
    print_dprobs(p);
    print_dscores(p);
    print_adds(p);
}
