#include "lib/circuit/ends.h"

#include <string.h>

#include "lib/base/threads.h"
#include "lib/circuit/vocab.h"

void tg_ends_place(tg_arena *arena, tg_ends *e, const tg_config *config, size_t n, size_t top)
{
    const size_t H = config->n_head, C = config->n_embd, D = tg_config_head_dim(config);

    *e = (tg_ends){.H = H, .n = n, .top = top};
    e->vector = tg_arena_take_rows(arena, TG_ENDS * H * n, C, sizeof *e->vector);
    for (size_t i = 0; i < 2; i++) {
        e->x[i] = tg_arena_take_rows(arena, H * D, C, sizeof *e->x[i]);
        e->y[i] = tg_arena_take_rows(arena, H * D, C, sizeof *e->y[i]);
        e->size[i] = tg_arena_take_rows(arena, H, D, sizeof *e->size[i]);
    }
    e->scratch = tg_arena_take_rows(arena, H * n, TG_VOCAB_ROWS, sizeof *e->scratch);
    for (size_t i = 0; i < TG_ENDS; i++) {
        tg_top *t = &e->tokens[i];

        *t = (tg_top){.n = H * n, .top = top};
        t->id = tg_arena_take_rows(arena, t->n * 2, top, sizeof *t->id);
        t->value = tg_arena_take_rows(arena, t->n * 2, top, sizeof *t->value);
    }
}

/* out [D,C] = a^T for a [C,D] */
static void turn(double *out, const double *a, size_t C, size_t D)
{
    for (size_t i = 0; i < C * D; i++)
        out[i % D * C + i / D] = a[i];
}

static double *vector_at(const tg_ends *e, tg_end end, size_t h, size_t C)
{
    return e->vector + ((size_t)end * e->H + h) * e->n * C;
}

struct layer {
    tg_ends *e;
    const tg_factors *f;
};

static void decompose(void *context, size_t begin, size_t end)
{
    const struct layer *l = context;
    const tg_ends *e = l->e;
    const size_t C = l->f->C, D = l->f->D;

    for (size_t i = begin; i < end; i++) {
        const size_t h = i / 2, qk = i % 2;
        double *x = e->x[qk] + h * D * C, *y = e->y[qk] + h * D * C;

        turn(x, qk ? tg_factors_q(l->f, h) : tg_factors_v(l->f, h), C, D);
        if (qk)
            turn(y, tg_factors_k(l->f, h), C, D);
        else
            memcpy(y, tg_factors_o(l->f, h), D * C * sizeof *y);
        tg_directions(x, y, e->size[qk] + h * D, D, C);
        memcpy(vector_at(e, qk ? TG_END_QUERY : TG_END_READS, h, C), x, e->n * C * sizeof *x);
        memcpy(vector_at(e, qk ? TG_END_KEY : TG_END_WRITES, h, C), y, e->n * C * sizeof *y);
    }
}

/* out [C] = x a b for a [C,D], b [D,C]; or x b^T a^T */
static void pass_through(double *out, const double *x, const double *a, const double *b, bool back, size_t C,
                         size_t D)
{
    memset(out, 0, C * sizeof *out);
    for (size_t d = 0; d < D; d++) {
        double sum = 0;

        for (size_t c = 0; c < C; c++)
            sum += x[c] * (back ? b[d * C + c] : a[c * D + d]);
        for (size_t c = 0; c < C; c++)
            out[c] += sum * (back ? a[c * D + d] : b[d * C + c]);
    }
}

static void find_tokens(tg_ends *e, const tg_model *model)
{
    for (size_t end = 0; end < TG_END_WRITES; end++)
        tg_top_embedding(&e->tokens[end], vector_at(e, (tg_end)end, 0, model->config.n_embd), model,
                         e->scratch);
    tg_top_logits(&e->tokens[TG_END_WRITES], vector_at(e, TG_END_WRITES, 0, model->config.n_embd), model,
                  e->scratch);
}

void tg_ends_of_directions(tg_ends *e, const tg_factors *f, const tg_model *model)
{
    struct layer l = {e, f};

    e->signs = true;
    tg_threads_run(2 * f->H, 1, decompose, &l);
    find_tokens(e, model);
}

void tg_ends_of_token(tg_ends *e, const tg_factors *f, const tg_model *model, size_t token)
{
    const size_t C = f->C, D = f->D;
    double *in = e->y[0], *out = e->y[1], *turned = e->x[0];

    e->signs = false;
    tg_vocab_vectors(in, model, token, 1);
    tg_vocab_column(out, model, token);
    for (size_t h = 0; h < f->H; h++) {
        const double *q = tg_factors_q(f, h), *v = tg_factors_v(f, h), *o = tg_factors_o(f, h);

        turn(turned, tg_factors_k(f, h), C, D);
        pass_through(vector_at(e, TG_END_WRITES, h, C), in, v, o, false, C, D);
        pass_through(vector_at(e, TG_END_READS, h, C), out, v, o, true, C, D);
        pass_through(vector_at(e, TG_END_KEY, h, C), in, q, turned, false, C, D);
        pass_through(vector_at(e, TG_END_QUERY, h, C), in, q, turned, true, C, D);
    }
    find_tokens(e, model);
}

const int32_t *tg_ends_tokens(const double **values, const tg_ends *e, tg_end end, size_t h, size_t i)
{
    const tg_end asks = end == TG_END_READS || end == TG_END_WRITES ? TG_END_READS : TG_END_QUERY;
    const size_t list = 2 * (h * e->n + i);
    const double *value = e->tokens[asks].value;
    const size_t at = (list + (e->signs && value[(list + 1) * e->top] > value[list * e->top])) * e->top;

    *values = e->tokens[end].value + at;
    return e->tokens[end].id + at;
}
