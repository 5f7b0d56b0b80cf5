#include "lib/patch/metric.h"

#include <math.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"

static double divergence(const tg_patch_metric *m, const float *logits)
{
    const tg_score p = tg_score_row(logits, m->V, m->V, -1);
    double sum = 0;

    for (size_t v = 0; v < m->V; v++) {
        const double log_r = tg_score_log_prob(&m->of_reference, m->reference[v]);

        sum += exp(log_r) * (log_r - tg_score_log_prob(&p, logits[v]));
    }
    return fmax(sum, 0); /* rounding may have made it negative */
}

double tg_patch_measure(const tg_patch_metric *m, const float *logits)
{
    switch (m->kind) {
    case TG_PATCH_DIFF:
        return (double)logits[m->answer] - (double)logits[m->wrong];
    case TG_PATCH_PROB:
        return exp(tg_score_row(logits, m->V, m->V, m->answer).log_prob);
    case TG_PATCH_LOSS:
        return -tg_score_row(logits, m->V, m->V, m->answer).log_prob;
    case TG_PATCH_KL:
        break;
    }
    return divergence(m, logits);
}

struct measuring {
    const tg_patch_metric *metric;
    double *values;
    const float *logits;
};

static void measure_some(void *context, size_t begin, size_t end)
{
    const struct measuring *m = context;

    for (size_t i = begin; i < end; i++)
        m->values[i] = tg_patch_measure(m->metric, m->logits + i * m->metric->V);
}

void tg_patch_measure_rows(double *values, const tg_patch_metric *metric, tg_pass *pass, float *x, size_t n)
{
    const size_t C = pass->acts.C, at_once = tg_pass_logits_rows(pass);

    for (size_t i = 0; i < n; i += at_once) {
        const size_t rows = tg_size_min(at_once, n - i);
        const tg_matrix some = tg_matrix_of(x + i * C, TG_TYPE_FLOAT, C);
        struct measuring m = {metric, values + i, tg_pass_logits(pass, some, rows)};

        tg_threads_run(rows, 1, measure_some, &m);
    }
}

/* p = softmax(logits) */
static void softmax(double *p, const double *logits, size_t V)
{
    double max = logits[0], sum = 0;

    for (size_t v = 1; v < V; v++)
        max = logits[v] > max ? logits[v] : max;
    for (size_t v = 0; v < V; v++)
        sum += p[v] = exp(logits[v] - max);
    for (size_t v = 0; v < V; v++)
        p[v] /= sum;
}

void tg_patch_measure_backward(double *dlogits, const tg_patch_metric *m, const double *logits)
{
    if (m->kind == TG_PATCH_DIFF) {
        memset(dlogits, 0, m->V * sizeof *dlogits);
        dlogits[m->answer] += 1;
        dlogits[m->wrong] -= 1;
        return;
    }
    softmax(dlogits, logits, m->V);
    if (m->kind == TG_PATCH_KL) {
        for (size_t v = 0; v < m->V; v++)
            dlogits[v] -= exp(tg_score_log_prob(&m->of_reference, m->reference[v]));
    } else {
        const double p = dlogits[m->answer], scale = m->kind == TG_PATCH_PROB ? -p : 1;

        dlogits[m->answer] -= 1;
        for (size_t v = 0; v < m->V; v++)
            dlogits[v] *= scale;
    }
}
