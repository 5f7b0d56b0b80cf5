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

size_t tg_dump_extra_shape(size_t shape[3], tg_dump_extra extra, size_t B, size_t T, size_t Q, size_t C)
{
    const char *dims = rows[extra].dims;
    const size_t n = strlen(dims);

    for (size_t d = 0; d < n; d++)
        shape[d] = dims[d] == 'B' ? B : dims[d] == 'T' ? T : dims[d] == 'Q' ? Q : dims[d] == 'C' ? C : 0;
    return n;
}
