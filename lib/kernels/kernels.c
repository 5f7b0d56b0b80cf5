/* The choice of the kernels of numbers, and calls of them: see kernels.h. */
#include "lib/kernels/kernels.h"

#include <assert.h>

#include "lib/kernels/isas.h"
#include "lib/kernels/text_kernels.h"

#define X(isa) extern const tg_kernels tg_kernels_##isa;
TG_ISAS
#undef X

#define X(isa) &tg_kernels_##isa,
static const tg_kernels *const tables[] = {TG_ISAS};
#undef X

size_t tg_kernels_list(const tg_kernels *list[TG_ISAS_MAX])
{
    size_t isas[TG_ISAS_MAX];
    const size_t n = tg_isas_list(isas);

    for (size_t i = 0; i < n; i++)
        list[i] = tables[isas[i]];
    return n;
}

/* ---- the choice */

static const tg_kernels *_Atomic in_use;

const tg_kernels *tg_kernels_get(void)
{
    const tg_kernels *list[TG_ISAS_MAX], *k = in_use;
    tg_err err;

    if (!k) {
        (void)tg_kernels_list(list);
        k = tg_kernels_check(list[0], &err) == TG_EDATA ? &tg_kernels_portable : list[0];
        in_use = k;
    }
    return k;
}

tg_status tg_kernels_choose(const char *isa, tg_err *err)
{
    const tg_kernels *k;
    size_t found;
    tg_status text, status = tg_isas_find(&found, isa, err);

    if (status || (status = tg_kernels_check(tables[found], err)) == TG_ENOMEM)
        return status;
    k = status ? &tg_kernels_portable : tables[found];
    text = tg_text_kernels_choose(k->isa, status ? NULL : err);
    in_use = text ? &tg_kernels_portable : k;
    return status ? status : text;
}

/* ---- calls of the table in use */

bool tg_matmul_has_bf16(void)
{
    return tg_kernels_get()->has_bf16;
}

bool tg_matmul_prefers_bf16(void)
{
    return tg_matmul_has_bf16() && !tg_isas_is_slow(tg_kernels_get()->isa);
}

size_t tg_matmul_part(size_t K, tg_precision precision)
{
    const tg_kernels *k = tg_kernels_get();

    return (precision == TG_PRECISION_BF16 ? k->matmul_bf16_part : k->matmul_part)(K);
}

void tg_matmul_run(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    const tg_kernels *k = tg_kernels_get();

    assert(op->c_type != TG_TYPE_BF16 || (op->K <= tg_matmul_depth() && !op->accumulate && !op->add));
    (scratch->precision == TG_PRECISION_BF16 ? k->matmul_bf16 : k->matmul)(op, scratch);
}

void tg_packed_matrix_pack(const tg_packed_matrix *w, const float *b, size_t b_row, size_t b_col)
{
    tg_kernels_get()->packed_matrix_pack(w, b, b_row, b_col);
}

void tg_packed_matrix_run(const tg_matmul *op, const tg_packed_matrix *w)
{
    assert(op->K == w->K && op->N == w->N && op->a_col == 1);
    tg_kernels_get()->packed_matrix_run(op, w);
}

const char *tg_kernels_name(void)
{
    return tg_kernels_get()->isa;
}
