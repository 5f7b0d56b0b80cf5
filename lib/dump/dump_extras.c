#include "lib/dump/dump_extras.h"

#include <stdio.h>
#include <string.h>

#define ROW(constant, name, kind, size, dims) {name, dims, {kind, size}},

static const struct row {
    char name[16], dims[4];
    tg_dtype type;
} rows[TG_DUMP_EXTRA_COUNT] = {TG_DUMP_EXTRA_TABLE(ROW)};

const char *tg_dump_extra_name(tg_dump_extra extra)
{
    return rows[extra].name;
}

void tg_dump_extra_array_name(char name[TG_DUMP_NAME_SIZE], size_t layer, tg_dump_extra extra)
{
    if (extra < TG_DUMP_LAYER_EXTRAS)
        snprintf(name, TG_DUMP_NAME_SIZE, "h.%zu.%s", layer, tg_dump_extra_name(extra));
    else
        snprintf(name, TG_DUMP_NAME_SIZE, "%s", tg_dump_extra_name(extra));
}

tg_dtype tg_dump_extra_type(tg_dump_extra extra)
{
    return rows[extra].type;
}

bool tg_dump_extra_find(tg_dump_extra *extra, const char *name, bool of_layer)
{
    const size_t first = of_layer ? 0 : TG_DUMP_LAYER_EXTRAS;
    const size_t end = of_layer ? TG_DUMP_LAYER_EXTRAS : TG_DUMP_EXTRA_COUNT;

    for (size_t n = first; n < end; n++) {
        *extra = (tg_dump_extra)n;
        if (strcmp(rows[n].name, name) == 0)
            return true;
    }
    return false;
}

static size_t size_of(char dim, const tg_qkv_view *a)
{
    switch (dim) {
    case 'B':
        return a->B;
    case 'T':
        return a->T;
    case 'H':
        return a->H;
    case 'Q':
        return a->H * a->D;
    case 'C':
        return a->C;
    default:
        return 0;
    }
}

size_t tg_dump_extra_shape(size_t shape[3], tg_dump_extra extra, const tg_qkv_view *view)
{
    const char *dims = rows[extra].dims;
    const size_t n = strlen(dims);

    for (size_t d = 0; d < n; d++)
        shape[d] = size_of(dims[d], view);
    return n;
}
