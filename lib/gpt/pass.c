#include "lib/gpt/pass.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/object.h"
#include "lib/gpt/adapter.h"
#include "lib/gpt/family.h"
#include "lib/gpt/head.h"
#include "lib/nn/crossentropy.h"
#include "lib/nn/elementwise.h"

void tg_pass_place(tg_arena *arena, tg_pass *pass, const tg_model *model, const tg_pass_size *size)
{
    const tg_config *c = &model->config;
    const size_t B = size->B, T = size->T;
    const bool is_copied = size->gradients && c->final_logit_softcapping > 0; /* lib/nn/crossentropy.h */
    const tg_binding bound = {.model = model};
    const tg_acts_size acts = {
        .B = B,
        .T = T,
        .logits = tg_head_logits(B * T, c->vocab_size) * (is_copied ? 2 : 1),
        .kind = !size->gradients  ? TG_ACTS_IN_PLACE
                : size->recompute ? TG_ACTS_X_KEPT
                                  : TG_ACTS_KEPT,
        .between = size->precision == TG_PRECISION_BF16 ? TG_TYPE_BF16 : TG_TYPE_FLOAT,
    };

    *pass = (tg_pass){0};
    tg_acts_place(arena, &pass->acts, &bound, &acts);
    pass->losses = tg_arena_take_rows(arena, B, T, sizeof *pass->losses);
    if (size->gradients && model->adapter)
        pass->low_rank_work = tg_arena_take_rows(arena, B * T, model->adapter->shape.rank, sizeof(float));
    tg_matmul_place(arena, &pass->matmul);
    pass->matmul.precision = size->precision;
}

/* Not done in tg_pass_place(), because the pass may have been copied since. */
static void bind(tg_pass *p, float *grads)
{
    p->acts.bound.grads = grads;
    p->acts.bound.overwrite = true;
    p->acts.bound.low_rank_work = p->low_rank_work;
    p->acts.bound.scratch = &p->matmul;
}

void tg_pass_begin_rows(tg_pass *p)
{
    bind(p, NULL);
}

void tg_pass_begin(tg_pass *p, const int32_t *ids)
{
    bind(p, NULL);
    tg_acts_page(&p->acts)->embed(&p->acts, ids);
}

bool tg_pass_layers(tg_pass *p, size_t from, size_t to, const tg_tap *tap)
{
    return tg_layers_forward(&p->acts, from, to, tap);
}

static double mean_loss(tg_pass *p, const int32_t *targets, float loss_scale)
{
    const size_t N = p->acts.B * p->acts.T;

    tg_head_losses(&p->acts, p->losses, targets, loss_scale / (float)N);
    return tg_mean(p->losses, N);
}

double tg_pass_loss(tg_pass *p, const int32_t *targets)
{
    return mean_loss(p, targets, 1.0f);
}

size_t tg_pass_logits_rows(const tg_pass *p)
{
    const size_t V = p->acts.bound.model->config.vocab_size;

    return tg_head_logits(p->acts.B * p->acts.T, V) / V;
}

const float *tg_pass_logits(tg_pass *p, tg_matrix x, size_t rows)
{
    const size_t V = p->acts.bound.model->config.vocab_size;

    tg_head_forward(&p->acts, tg_matrix_of(p->acts.logits, TG_TYPE_FLOAT, V), x, rows);
    return p->acts.logits;
}

/* ---- a whole run, watched */

#define BACKWARD 2 /* products of a backward step for each of its forward step */

/* The multiplications for each token of an operation of a block and of the head, about: those of their
 * matrices.  All rows of the table of activations count the same: it is for a progress line. */
static double work_of_row(const tg_pass *p)
{
    const tg_params *table = &p->acts.bound.model->table;

    return (double)(table->block_begin[1] - table->block_begin[0]) / (double)p->acts.family->n_acts;
}

static double work_of_head(const tg_pass *p)
{
    return (double)p->acts.C * (double)p->acts.bound.model->config.vocab_size;
}

static void begin_work(tg_pass *p, bool gradients)
{
    p->done = 0;
    p->all =
        (1 + gradients * BACKWARD) * ((double)tg_layers_end(&p->acts) * work_of_row(p) + work_of_head(p));
    p->abandoned = !tg_watch_report(p->watch, 0);
}

/* So much has been done.  False: the run is abandoned. */
static bool did(tg_pass *p, double work)
{
    p->done = work;
    p->abandoned = !tg_watch_report(p->watch, p->done / p->all);
    return !p->abandoned;
}

/* Where a pass's parts begin. */
static double after_forward(const tg_pass *p)
{
    return (double)tg_layers_end(&p->acts) * work_of_row(p);
}

static double after_loss(const tg_pass *p, bool gradients)
{
    return after_forward(p) + (1 + gradients * BACKWARD) * work_of_head(p);
}

static bool did_forward(void *context, tg_acts *a, size_t layer, size_t row)
{
    tg_pass *p = context;

    return did(p, (double)(tg_place(a, layer, row) + 1) * work_of_row(p));
}

/* From ids to a->x. */
static void forward(tg_pass *p, const int32_t *ids)
{
    tg_acts_page(&p->acts)->embed(&p->acts, ids);
    (void)tg_pass_layers(p, 0, tg_layers_end(&p->acts), &(tg_tap){did_forward, p});
}

/* The gradients of block l and of what follows it in the table are final. */
static void notify_final(const tg_pass *p, size_t l)
{
    const tg_params *table = tg_model_trained(p->acts.bound.model);

    if (p->final_from)
        p->final_from(p->final_context, table->block_begin[l]);
}

static bool did_backward(void *context, tg_acts *a, size_t layer, size_t row)
{
    tg_pass *p = context;
    const size_t left = tg_place(a, layer, row);

    while (p->final_layer > layer + 1)
        notify_final(p, --p->final_layer);
    return did(p, after_loss(p, true) + BACKWARD * (double)(tg_layers_end(a) - left) * work_of_row(p));
}

/* The first block that backward reaches: what is before it has no gradient. */
static size_t first_block(const tg_pass *p)
{
    const tg_params *table = tg_model_trained(p->acts.bound.model);
    size_t l = 0;

    while (l < table->blocks && table->block_begin[l + 1] == 0)
        l++;
    return l;
}

static void backward(tg_pass *p, const int32_t *ids)
{
    const size_t first = first_block(p), end = tg_layers_end(&p->acts);

    tg_head_losses_backward(&p->acts);
    notify_final(p, p->final_layer = p->acts.L);
    if (!tg_layers_backward(&p->acts, tg_place(&p->acts, first, 0), end, &(tg_tap){did_backward, p}))
        return;
    notify_final(p, first);
    if (first == 0)
        tg_acts_page(&p->acts)->embed_backward(&p->acts, ids);
    if (p->final_from)
        p->final_from(p->final_context, 0);
    (void)did(p, p->all);
}

/* Whether the gradient is a sum to which a layer adds, not the result of a linear layer's product: the head's
 * product comes before an embedding that is also the head. */
static bool is_added_to(const tg_config *config, const tg_param *t)
{
    return t->use == TG_USE_NORM || (t->use == TG_USE_TABLE && t->kind != tg_head_kind(config));
}

/* Zero what backward adds to, and what is between the tensors. */
static void begin_grads(const tg_model *model, float *grads)
{
    const tg_params *table = tg_model_trained(model);

    for (size_t i = 0; i < table->n; i++) {
        const tg_param *t = &table->entry[i];
        const size_t end = t->offset + t->count;
        const size_t next = i + 1 < table->n ? table->entry[i + 1].offset : table->floats;

        if (is_added_to(&model->config, t))
            tg_zero(grads + t->offset, t->count);
        tg_zero(grads + end, next - end);
    }
}

double tg_pass_run(tg_pass *p, const int32_t *ids, const int32_t *targets, float *grads, float loss_scale)
{
    double loss = 0;

    assert(!grads || p->acts.kind != TG_ACTS_IN_PLACE);
    bind(p, grads);
    if (grads)
        begin_grads(p->acts.bound.model, grads);
    begin_work(p, grads != NULL);
    if (!p->abandoned)
        forward(p, ids);
    if (!p->abandoned) {
        loss = mean_loss(p, targets, loss_scale);
        (void)did(p, after_loss(p, grads != NULL));
    }
    if (!p->abandoned && grads)
        backward(p, ids);
    return p->abandoned ? nan("") : loss;
}

/* ---- for programs (lib/tg/pass.h) */

/* A pass with its memory. */
typedef struct allocated {
    tg_pass pass; /* the first member: what programs see */
    tg_arena arena;
    const tg_model *model;
    const tg_pass_size *size;
} allocated;

static void place(tg_arena *arena, void *context)
{
    allocated *a = context;

    tg_pass_place(arena, &a->pass, a->model, a->size);
}

tg_status tg_pass_new(tg_pass **p, const tg_model *model, const tg_pass_size *size, tg_err *err)
{
    allocated *a = tg_object_new(sizeof *a, "a pass", err);
    tg_status status = TG_ENOMEM;

    if (a) {
        *a = (allocated){.model = model, .size = size};
        status = tg_object_begun(&a, tg_arena_build(&a->arena, place, a, err));
    }
    *p = a ? &a->pass : NULL;
    return status;
}

void tg_pass_destroy(tg_pass *p)
{
    if (p)
        tg_arena_free(&((allocated *)p)->arena);
    free(p);
}

const float *tg_pass_losses(const tg_pass *p)
{
    return p->losses;
}

double tg_pass_run_tapped(tg_pass *p, const int32_t *ids, const int32_t *targets, const tg_tap *tap)
{
    tg_pass_begin(p, ids);
    return tg_pass_layers(p, 0, tg_layers_end(&p->acts), tap) ? tg_pass_loss(p, targets) : (double)NAN;
}

const float *tg_pass_logits_of(tg_pass *p, float *x, size_t ld, size_t rows)
{
    tg_matrix m = tg_matrix_of(x, TG_TYPE_FLOAT, p->acts.C);

    m.ld = ld;
    return tg_pass_logits(p, m, rows);
}
