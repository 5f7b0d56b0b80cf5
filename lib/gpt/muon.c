#include "lib/gpt/muon.h"

#include <math.h>
#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

#ifdef TG_TINY_CHUNK
#define SLOT_BYTES ((size_t)1 << 10)
#define SYMMETRIC_ROWS 5
#else
#define SLOT_BYTES ((size_t)256 << 20) /* of all slots, unless one has more */
#define SYMMETRIC_ROWS 256             /* from which on half of a symmetric product saves time */
#endif
#define EPSILON 1e-7

/* ---- parts */

/* Floats of a slot for a part: x twice, a and its polynomial. */
static size_t slot_floats(const tg_muon_part *p)
{
    const size_t least = tg_size_min(p->rows, p->cols);

    return 2 * (p->rows * p->cols + least * least);
}

static void add_part(tg_muon *muon, size_t param, size_t first, size_t cols)
{
    const tg_param *p = &muon->table->entry[param];
    const tg_muon_part part = {p->offset + first, p->shape[0], cols, p->shape[1], param};

    if (muon->part)
        muon->part[muon->n] = part;
    muon->n++;
    muon->floats = tg_size_max(muon->floats, slot_floats(&part));
}

/* The parts of a parameter; of queries, keys and values side by side, three. */
static void add_parts(tg_muon *muon, size_t param, const tg_config *config)
{
    const tg_dim edge[] = {TG_DIM_ZERO, TG_DIM_Q, TG_DIM_Q_KV, TG_DIM_QKV};

    if (muon->table->entry[param].kind != TG_QKV_W) {
        add_part(muon, param, 0, muon->table->entry[param].shape[1]);
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        const size_t first = tg_dim_size(edge[i], config);

        add_part(muon, param, first, tg_dim_size(edge[i + 1], config) - first);
    }
}

static void list_parts(tg_muon *muon, const tg_config *config)
{
    muon->n = 0;
    for (size_t i = 0; i < muon->table->n; i++)
        if (muon->table->entry[i].hidden)
            add_parts(muon, i, config);
}

/* One for each thread; a few less if these are too large, but not less than half as many: then one part at a
 * time is better. */
static size_t count_slots(const tg_muon *muon)
{
    const size_t threads = tg_threads(), fit = SLOT_BYTES / sizeof(float) / tg_size_max(muon->floats, 1);

    return 2 * fit < threads ? 1 : tg_size_max(1, tg_size_min(fit, threads));
}

void tg_muon_place(tg_arena *arena, tg_muon *muon, const tg_params *table, const tg_config *config)
{
    *muon = (tg_muon){.table = table};
    list_parts(muon, config); /* counts them */
    muon->part = tg_arena_take(arena, muon->n, sizeof *muon->part);
    muon->slots = count_slots(muon);
    muon->work = tg_arena_take_rows(arena, muon->slots, muon->floats, sizeof *muon->work);
    if (muon->part)
        list_parts(muon, config);
}

/* ---- momentum */

struct momentum {
    float *m, *u;
    const float *g;
    float mu, gain, grad_scale; /* gain: 1 - mu, rounded once */
};

static void add_gradient(void *context, size_t begin, size_t end)
{
    const struct momentum *s = context;

    for (size_t i = begin; i < end; i++) {
        const float g = s->gain * (s->g[i] * s->grad_scale);

        s->m[i] = s->mu * s->m[i] + g;
        s->u[i] = s->mu * s->m[i] + g;
    }
}

void tg_muon_momentum(const tg_params *table, const tg_adamw_state *state, const tg_muon_step *step,
                      size_t begin, size_t end)
{
    struct momentum s = {
        .mu = (float)step->momentum,
        .gain = (float)(1.0 - step->momentum),
        .grad_scale = (float)step->grad_scale,
    };

    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];
        const size_t first = tg_size_max(begin, p->offset), last = tg_size_min(end, p->offset + p->count);

        if (!p->hidden || first >= last)
            continue;
        s.m = state->m.floats + first;
        s.u = state->v.floats + first;
        s.g = state->grads + first;
        tg_threads_run(last - first, TG_THREADS_ELEMENTS, add_gradient, &s);
    }
}

/* ---- orthogonal matrices */

/* A part's matrices: x and y [rows,cols], a and b [n,n], n being the lesser of rows and cols. */
struct slot {
    size_t rows, cols, n;
    float *x, *y, *a, *b;
    const tg_matmul_scratch *scratch;
};

static struct slot slot_of(const tg_muon_part *p, float *work, const tg_matmul_scratch *scratch)
{
    const size_t count = p->rows * p->cols, n = tg_size_min(p->rows, p->cols);

    return (struct slot){
        .rows = p->rows,
        .cols = p->cols,
        .n = n,
        .x = work,
        .y = work + count,
        .a = work + 2 * count,
        .b = work + 2 * count + n * n,
        .scratch = scratch,
    };
}

/* x = u / max(|u|, EPSILON) */
struct normalising {
    const struct slot *slot;
    const float *u;
    size_t ld;
    double norm;
};

static void normalise_rows(void *context, size_t begin, size_t end)
{
    const struct normalising *n = context;
    const size_t cols = n->slot->cols;

    for (size_t r = begin; r < end; r++)
        for (size_t c = 0; c < cols; c++)
            n->slot->x[r * cols + c] = (float)((double)n->u[r * n->ld + c] / n->norm);
}

static void normalise(const struct slot *s, const float *u, size_t ld)
{
    double sum = 0;

    for (size_t r = 0; r < s->rows; r++)
        sum += tg_kernels_get()->sum_squares(u + r * ld, s->cols);
    tg_threads_run(s->rows, tg_threads_grain(s->cols, 1), normalise_rows,
                   &(struct normalising){s, u, ld, fmax(sqrt(sum), EPSILON)});
}

/* What lies above the diagonal of c [n,n] = what lies below it. */
struct mirroring {
    float *c;
    size_t n;
};

/* A cache line of each of so many rows is read for all of the range's. */
#define MIRROR_ROWS ((size_t)16)

static void mirror_rows(void *context, size_t begin, size_t end)
{
    const struct mirroring *m = context;
    const size_t n = m->n;

    for (size_t from = begin; from < n; from += MIRROR_ROWS)
        for (size_t r = begin; r < end; r++)
            for (size_t c = tg_size_max(from, r + 1); c < tg_size_min(from + MIRROR_ROWS, n); c++)
                m->c[r * n + c] = m->c[c * n + r];
}

/* out [n,n] = a b, a symmetric matrix whose elements on both sides of the diagonal have the same terms in the
 * same order.  A large one is computed a quarter of its rows at a time, up to the diagonal. */
static void symmetric_product(const struct slot *s, float *out, tg_matmul op)
{
    const size_t n = s->n, rows = n < SYMMETRIC_ROWS ? n : tg_ceil_div(n, 4);
    const float *const a = op.a;

    for (size_t first = 0; first < n; first += rows) {
        op.M = tg_size_min(rows, n - first);
        op.N = first + op.M;
        op.a = a + first * op.a_row;
        op.c = out + first * n;
        op.ldc = n;
        tg_matmul_run(&op, s->scratch);
    }
    if (rows < n)
        tg_threads_run(n, tg_threads_grain(n, 1), mirror_rows, &(struct mirroring){out, n});
}

/* a = x x^T, or x^T x if that is smaller */
static void gram(const struct slot *s)
{
    const bool wide = s->rows <= s->cols;

    symmetric_product(s, s->a,
                      (tg_matmul){.K = wide ? s->cols : s->rows,
                                  .a = s->x,
                                  .a_row = wide ? s->cols : 1,
                                  .a_col = wide ? 1 : s->cols,
                                  .b = s->x,
                                  .b_row = wide ? 1 : s->cols,
                                  .b_col = wide ? s->cols : 1});
}

/* out = p x, or out = p x + q out */
struct combining {
    float *out;
    const float *x;
    float p, q;
};

static void scale_elements(void *context, size_t begin, size_t end)
{
    const struct combining *c = context;

    for (size_t i = begin; i < end; i++)
        c->out[i] = c->p * c->x[i];
}

static void combine_elements(void *context, size_t begin, size_t end)
{
    const struct combining *c = context;

    for (size_t i = begin; i < end; i++)
        c->out[i] = c->p * c->x[i] + c->q * c->out[i];
}

/* b = c1 a + c2 a a */
static void polynomial(const struct slot *s, float c1, float c2)
{
    symmetric_product(
        s, s->b,
        (tg_matmul){.K = s->n, .a = s->a, .a_row = s->n, .a_col = 1, .b = s->a, .b_row = s->n, .b_col = 1});
    tg_threads_run(s->n * s->n, TG_THREADS_ELEMENTS, combine_elements,
                   &(struct combining){s->b, s->a, c1, c2});
}

/* y = c0 x + b x, or c0 x + x b */
static void multiply(const struct slot *s, float c0)
{
    const bool wide = s->rows <= s->cols;

    tg_threads_run(s->rows * s->cols, TG_THREADS_ELEMENTS, scale_elements,
                   &(struct combining){s->y, s->x, c0, 0});
    tg_matmul_run(&(tg_matmul){.M = s->rows,
                               .N = s->cols,
                               .K = s->n,
                               .a = wide ? s->b : s->x,
                               .a_row = s->n,
                               .a_col = 1,
                               .b = wide ? s->x : s->b,
                               .b_row = s->cols,
                               .b_col = 1,
                               .c = s->y,
                               .ldc = s->cols,
                               .accumulate = true},
                  s->scratch);
}

/* Make u's columns, or rows, orthonormal: s->x. */
static void orthogonalise(struct slot *s, const float *u, size_t ld)
{
    static const float c[] = {3.4445f, -4.7750f, 2.0315f};

    normalise(s, u, ld);
    for (size_t i = 0; i < TG_MUON_ROUNDS; i++) {
        float *const before = s->x;

        gram(s);
        polynomial(s, c[1], c[2]);
        multiply(s, c[0]);
        s->x = s->y;
        s->y = before;
    }
}

/* ---- the update */

/* w = w - lr (factor x + decay w) */
struct stepping {
    float *w;
    const float *x;
    size_t cols, ld;
    float lr, factor, decay;
};

static void step_rows(void *context, size_t begin, size_t end)
{
    const struct stepping *s = context;

    for (size_t r = begin; r < end; r++) {
        float *w = s->w + r * s->ld;

        for (size_t c = 0; c < s->cols; c++)
            w[c] -= s->lr * (s->factor * s->x[r * s->cols + c] + s->decay * w[c]);
    }
}

struct update {
    const tg_muon *muon;
    const tg_matmul_scratch *scratch;
    const tg_adamw_state *state;
    const tg_muon_step *step;
    const size_t *part;
};

static void update_part(const struct update *u, const tg_muon_part *p, float *work,
                        const tg_matmul_scratch *scratch)
{
    struct slot s = slot_of(p, work, scratch);

    orthogonalise(&s, u->state->v.floats + p->offset, p->ld);
    tg_threads_run(p->rows, tg_threads_grain(p->cols, 1), step_rows,
                   &(struct stepping){.w = u->state->params.floats + p->offset,
                                      .x = s.x,
                                      .cols = p->cols,
                                      .ld = p->ld,
                                      .lr = (float)u->step->learning_rate,
                                      .factor = (float)(0.2 * sqrt((double)tg_size_max(p->rows, p->cols))),
                                      .decay = (float)u->step->weight_decay});
}

/* Parts, one after the other in one thread, with its share of the scratch. */
static void update_parts(void *context, size_t begin, size_t end)
{
    const struct update *u = context;
    const tg_muon *muon = u->muon;
    const size_t self = tg_threads_self();
    const tg_matmul_scratch scratch = {.packed = (char *)u->scratch->packed + self * tg_matmul_work(1),
                                       .threads = 1,
                                       .precision = u->scratch->precision};

    for (size_t i = begin; i < end; i++)
        update_part(u, &muon->part[u->part[i]], muon->work + self * muon->floats, &scratch);
}

void tg_muon_update(const tg_muon *muon, const tg_matmul_scratch *scratch, const tg_adamw_state *state,
                    const tg_muon_step *step, const size_t *part, size_t n)
{
    const struct update u = {muon, scratch, state, step, part};

    if (muon->slots > 1) {
        tg_threads_run_on(muon->slots, n, 1, update_parts, (void *)&u);
        return;
    }
    for (size_t i = 0; i < n; i++)
        update_part(&u, &muon->part[part[i]], muon->work, scratch);
}
