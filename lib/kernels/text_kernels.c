/* The choice of the kernels of text, and their test: see text_kernels.h. */
#include "lib/kernels/text_kernels.h"

#include <string.h>

#include "lib/kernels/isas.h"

#define X(isa) extern const tg_text_kernels tg_text_kernels_##isa;
TG_ISAS
#undef X

#define X(isa) &tg_text_kernels_##isa,
static const tg_text_kernels *const tables[] = {TG_ISAS};
#undef X

/* Every byte, and each in two places. */
tg_status tg_text_kernels_check(const tg_text_kernels *k, tg_err *err)
{
    const tg_text_kernels *reference = &tg_text_kernels_portable;
    unsigned char text[512];
    tg_masks masks[2][sizeof text / 64];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i < 256 ? i : i * 37);
    k->masks(masks[0], text, sizeof text / 64);
    reference->masks(masks[1], text, sizeof text / 64);
    return memcmp(masks[0], masks[1], sizeof masks[0]) == 0 ? TG_OK : tg_isas_fail(k->isa, err);
}

/* ---- the choice */

static const tg_text_kernels *_Atomic in_use;

/* After a check. */
static tg_status use(size_t isa, tg_err *err)
{
    const tg_status status = tg_text_kernels_check(tables[isa], err);

    in_use = status ? &tg_text_kernels_portable : tables[isa];
    return status;
}

const tg_text_kernels *tg_text_kernels_get(void)
{
    size_t list[TG_ISAS_MAX];

    if (!in_use) {
        (void)tg_isas_list(list);
        (void)use(list[0], NULL);
    }
    return in_use;
}

tg_status tg_text_kernels_choose(const char *isa, tg_err *err)
{
    size_t found;
    const tg_status status = tg_isas_find(&found, isa, err);

    return status ? status : use(found, err);
}
