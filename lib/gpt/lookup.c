/* Finding a parameter in the table (params.h), and its weights in a model (model.h).  A family's page needs
 * this, and the table and the model are built with the family. */
#include <string.h>

#include "lib/gpt/model.h"
#include "lib/gpt/params.h"

size_t tg_params_index(const tg_params *table, tg_param_kind kind, size_t layer)
{
    size_t first = table->first[kind];

    return first == table->n ? table->n : first + layer * table->per_layer;
}

const tg_param *tg_params_find(const tg_params *table, const char *name)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->entry[i].name, name) == 0)
            return &table->entry[i];
    return NULL;
}

const float *tg_model_weight(const tg_model *m, tg_param_kind kind, size_t layer)
{
    size_t i = tg_params_index(&m->table, kind, layer);

    return i == m->table.n ? NULL : m->weight[i];
}
