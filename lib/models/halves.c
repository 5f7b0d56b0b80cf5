#include "lib/models/halves.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/base/convert.h"
#include "lib/base/finite.h"
#include "lib/models/model_format.h"

struct memory {
    const tg_params *table;
    tg_bf16 *halves;
    tg_stored *stored; /* [table->n] where each parameter is */
};

static void place(tg_arena *arena, void *context)
{
    struct memory *memory = context;

    memory->halves = tg_arena_take(arena, memory->table->floats, sizeof *memory->halves);
    memory->stored = tg_arena_take(arena, memory->table->n, sizeof *memory->stored);
}

/* Round entry i; the model's own values of it leave memory. */
static tg_status round_entry(const struct memory *memory, const tg_model *m, size_t i, tg_err *err)
{
    const tg_param *p = &m->table.entry[i];
    const float *from = m->weight[i];
    tg_bf16 *to = memory->halves + p->offset;

    if (!tg_round_to_bf16(to, from, p->count)) {
        const size_t bad = tg_find_not_finite16(to, p->count);

        return tg_fail(err, TG_EDATA, "%s[%zu] is %g: bf16 has no such finite number", p->name, bad,
                       (double)from[bad]);
    }
    if (m->params && from == m->params + p->offset)
        tg_arena_release(&m->memory, m->params + p->offset, p->count * sizeof *from);
    memory->stored[i].array = (tg_array){.dtype = TG_BF16, .ndim = p->ndim, .count = p->count};
    for (size_t d = 0; d < p->ndim; d++)
        memory->stored[i].array.shape[d] = p->shape[d];
    memory->stored[i].array.data = memory->stored[i].at = (const unsigned char *)to;
    memory->stored[i].stored = p->count * sizeof *to;
    return TG_OK;
}

/* A file that has the parameters in this memory. */
static tg_status describe(tg_model_file *f, const struct memory *memory, const tg_model *m, tg_err *err)
{
    tg_status status;

    *f = (tg_model_file){.config = m->config, .tokenizer = tg_tokenizer_ref(m->tokenizer)};
    if ((status = tg_params_build(&f->table, &m->config, err)))
        return status;
    if (!(f->values = calloc(f->table.n, sizeof *f->values)))
        return tg_fail_memory(err, f->table.n * sizeof *f->values, "the table of weights");
    for (size_t i = 0; i < f->table.n; i++)
        f->values[i] = (tg_values){.piece = {&memory->stored[i]}, .n = 1};
    return TG_OK;
}

/* The values that the model had so far, and where they came from. */
static void forget_values(tg_model *m)
{
    tg_arena_free(&m->memory);
    m->params = NULL;
    for (size_t i = 0; i < m->table.n; i++)
        m->weight[i] = NULL;
    if (m->source)
        m->close_source(m->source);
    m->source = NULL;
}

tg_status tg_model_to_halves(tg_model *m, tg_err *err)
{
    struct memory memory = {.table = &m->table};
    tg_arena arena = {0};
    tg_model_file f;
    tg_status status = tg_arena_build(&arena, place, &memory, err);

    assert(!m->lender);

    for (size_t i = 0; !status && i < m->table.n; i++)
        status = round_entry(&memory, m, i, err);
    if (!status && (status = describe(&f, &memory, m, err)))
        tg_model_file_close(&f);
    if (status) {
        tg_arena_free(&arena);
        return status;
    }
    forget_values(m);
    m->memory = arena;
    m->halves = memory.halves;
    return tg_model_file_lend_to(m, &f, err);
}
