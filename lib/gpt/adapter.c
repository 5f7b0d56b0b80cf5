#include "lib/gpt/adapter.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

#define WEIGHT ".weight"

double tg_adapter_scale(const tg_adapter_shape *shape)
{
    const double rank = (double)shape->rank;

    return shape->alpha / (shape->rank_stabilized ? sqrt(rank) : rank);
}

/* ---- the change */

static void apply(const tg_adapter *a, float *w, const tg_param *p, bool turned)
{
    const size_t i = tg_params_index(&a->table, p->kind, p->layer);
    const tg_param *pa = &a->table.entry[i], *pb = pa + 1;
    const float *A = a->params + pa->offset, *B = a->params + pb->offset;
    const size_t R = a->shape.rank, in = pa->shape[1], out = pb->shape[0];
    const float s = (float)(a->weight * tg_adapter_scale(&a->shape));
    const bool by_outputs = p->transposed != turned; /* w is [out,in] */

    for (size_t e = 0; e < out * R; e++)
        a->scaled[e] = s * B[e];
    tg_matmul_run(&(tg_matmul){.M = by_outputs ? out : in,
                               .N = by_outputs ? in : out,
                               .K = R,
                               .a = by_outputs ? a->scaled : A,
                               .a_row = by_outputs ? R : 1,
                               .a_col = by_outputs ? 1 : in,
                               .b = by_outputs ? A : a->scaled,
                               .b_row = by_outputs ? in : 1,
                               .b_col = by_outputs ? 1 : R,
                               .c = w,
                               .ldc = by_outputs ? in : out,
                               .accumulate = true},
                  &a->scratch);
}

/* ---- the table */

static bool is_target(const tg_param *p, uint64_t targets)
{
    return p->hidden && (targets >> p->kind & 1);
}

/* Append A or B of a matrix. */
static void append(tg_params *t, const tg_param *of, const char *suffix, size_t rows, size_t columns,
                   double std)
{
    tg_param p = {.kind = of->kind,
                  .use = TG_USE_MATRIX,
                  .layer = of->layer,
                  .in_block = true,
                  .ndim = 2,
                  .shape = {rows, columns},
                  .transposed = true,
                  .count = rows * columns,
                  .std = std,
                  .decay = true};
    const int stem = (int)(strlen(of->name) - strlen(WEIGHT));
    const int n = snprintf(p.name, sizeof p.name, "%.*s.%s" WEIGHT, stem, of->name, suffix);

    assert(n > 0 && (size_t)n < sizeof p.name);
    (void)n;
    (void)tg_params_append(t, &p);
}

static void fill_table(tg_adapter *a, const tg_params *model)
{
    tg_params *t = &a->table;
    const size_t R = a->shape.rank;

    for (size_t i = 0; i < model->n; i++) {
        const tg_param *p = &model->entry[i];
        const size_t in = p->shape[p->transposed], out = p->shape[!p->transposed];

        if (!is_target(p, a->shape.targets))
            continue;
        if (p->layer == 0)
            t->first[p->kind] = t->n;
        append(t, p, "lora_A", R, in, 1 / sqrt(3 * (double)in));
        append(t, p, "lora_B", out, R, 0);
        t->block_begin[p->layer + 1] = t->floats;
    }
    t->per_layer = t->n / t->blocks;
}

static tg_status build_table(tg_adapter *a, const tg_params *model, tg_err *err)
{
    tg_status status = tg_params_begin(&a->table, 2 * model->n, model->blocks, err);

    if (!status)
        fill_table(a, model);
    return status;
}

static void place(tg_arena *arena, void *context)
{
    tg_adapter *a = context;
    size_t largest = 0;

    for (size_t i = 0; i < a->table.n; i++)
        largest = tg_size_max(largest, a->table.entry[i].count);
    a->params = tg_arena_take(arena, a->table.floats, sizeof *a->params);
    a->scaled = tg_arena_take(arena, largest, sizeof *a->scaled);
    tg_matmul_place(arena, &a->scratch);
}

tg_status tg_adapter_create(tg_adapter *a, const tg_params *model, const tg_adapter_shape *shape, tg_err *err)
{
    tg_status status;

    *a = (tg_adapter){.shape = *shape, .weight = 1, .apply = apply};
    if (shape->rank < 1 || shape->rank > TG_ADAPTER_RANK_MAX)
        return tg_fail(err, TG_EUSAGE, "an adapter of rank %zu, expected 1 to %d", shape->rank,
                       TG_ADAPTER_RANK_MAX);
    if (!(shape->alpha >= 0 && shape->alpha <= TG_ADAPTER_ALPHA_MAX))
        return tg_fail(err, TG_EUSAGE, "an adapter of alpha %g, expected 0 to %g", shape->alpha,
                       TG_ADAPTER_ALPHA_MAX);
    if (shape->targets == 0 || (shape->targets & ~tg_adapter_all_targets(model)))
        return tg_fail(err, TG_EUSAGE, "an adapter of what is no matrix of the model's blocks");
    if ((status = build_table(a, model, err)) || (status = tg_arena_build(&a->memory, place, a, err)))
        tg_adapter_free(a);
    return status;
}

void tg_adapter_free(tg_adapter *a)
{
    tg_arena_free(&a->memory);
    tg_params_free(&a->table);
    *a = (tg_adapter){0};
}

void tg_adapter_init(tg_adapter *a, uint64_t seed)
{
    tg_params_init(&a->table, a->params, seed, NULL);
}

/* ---- names */

uint64_t tg_adapter_all_targets(const tg_params *model)
{
    uint64_t targets = 0;

    for (size_t i = 0; i < model->n; i++)
        if (model->entry[i].hidden)
            targets |= (uint64_t)1 << model->entry[i].kind;
    return targets;
}

/* The name of a matrix within its block, in `name`: of model.layers.0.self_attn.q_proj.weight,
 * self_attn.q_proj. */
static const char *name_in_block(char name[sizeof((tg_param *)0)->name], const tg_param *p)
{
    const char *at = p->name;
    size_t n;

    while (*at && !(at[0] == '.' && at[1] >= '0' && at[1] <= '9'))
        at++;
    at = *at ? strchr(at + 1, '.') : NULL;
    at = at ? at + 1 : p->name;
    n = strlen(at) - strlen(WEIGHT);
    memcpy(name, at, n);
    name[n] = '\0';
    return name;
}

/* Whether word [n] is the name, or its end. */
static bool is_named(const char *name, const char *word, size_t n)
{
    const size_t length = strlen(name);

    return n <= length && memcmp(name + length - n, word, n) == 0 &&
           (n == length || name[length - n - 1] == '.');
}

const char *tg_adapter_target_names(char list[TG_ADAPTER_TARGETS_SIZE], const tg_params *model,
                                    uint64_t targets)
{
    char name[sizeof((tg_param *)0)->name];
    size_t used = 0;

    *list = '\0';
    for (size_t i = 0; i < model->n && used < TG_ADAPTER_TARGETS_SIZE; i++) {
        const tg_param *p = &model->entry[i];

        if (p->layer == 0 && is_target(p, targets))
            used += (size_t)snprintf(list + used, TG_ADAPTER_TARGETS_SIZE - used, "%s%s", used ? "," : "",
                                     name_in_block(name, p));
    }
    return list;
}

/* The kinds that a word names. */
static uint64_t kinds_named(const tg_params *model, const char *word, size_t n)
{
    char name[sizeof((tg_param *)0)->name];
    uint64_t kinds = 0;

    for (size_t i = 0; i < model->n; i++) {
        const tg_param *p = &model->entry[i];

        if (p->layer == 0 && p->hidden && is_named(name_in_block(name, p), word, n))
            kinds |= (uint64_t)1 << p->kind;
    }
    return kinds;
}

tg_status tg_adapter_find_targets(uint64_t *targets, const tg_params *model, const char *list, tg_err *err)
{
    char names[TG_ADAPTER_TARGETS_SIZE];

    *targets = 0;
    for (const char *word = list;; word++) {
        const size_t n = strcspn(word, ",");
        const uint64_t kinds = n > 0 ? kinds_named(model, word, n) : 0;

        if (kinds == 0)
            return tg_fail(err, TG_EUSAGE, "the model's blocks have no matrix \"%.*s\", but %s", (int)n, word,
                           tg_adapter_target_names(names, model, tg_adapter_all_targets(model)));
        *targets |= kinds;
        word += n;
        if (!*word)
            return TG_OK;
    }
}
