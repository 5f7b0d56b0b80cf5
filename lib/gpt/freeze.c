#include "lib/gpt/freeze.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD 128 /* bytes of a word of the list, with the NUL */
#define LAYERS "layers:"

/* ---- words */

/* "N" or "N-M" as first and last block. */
static bool read_range(const char *text, size_t *first, size_t *last)
{
    char end;
    const int n = sscanf(text, "%5zu-%5zu%c", first, last, &end);

    if (n == 2)
        return *first <= *last;
    *last = *first;
    return n == 1 && text[strspn(text, "0123456789")] == '\0';
}

static tg_status find_layers(unsigned char *frozen, const tg_params *table, const char *word, tg_err *err)
{
    size_t first, last;

    if (!read_range(word + strlen(LAYERS), &first, &last) || last >= table->blocks)
        return tg_fail(err, TG_EUSAGE, "\"%s\" is no range of the model's layers, " LAYERS "0-%zu", word,
                       table->blocks - 1);
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];

        if (p->in_block && p->layer >= first && p->layer <= last)
            frozen[i] = 1;
    }
    return TG_OK;
}

static tg_status find_word(unsigned char *frozen, const tg_params *table, const char *word, tg_err *err)
{
    const bool tables = strcmp(word, "embedding") == 0;
    bool any = false;

    if (strncmp(word, LAYERS, strlen(LAYERS)) == 0)
        return find_layers(frozen, table, word, err);
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];

        if (tables ? p->use == TG_USE_TABLE : fnmatch(word, p->name, 0) == 0)
            frozen[i] = any = true;
    }
    if (any)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE,
                   "\"%s\" names no parameter; there are embedding, " LAYERS
                   "0-%zu, and patterns of names as %s",
                   word, table->blocks - 1, table->entry[table->n / 2].name);
}

tg_status tg_freeze_find(unsigned char *frozen, const tg_params *table, const char *list, tg_err *err)
{
    size_t left = 0;
    tg_status status = TG_OK;

    memset(frozen, 0, table->n);
    for (const char *at = list; !status; at++) {
        const size_t n = strcspn(at, ",");
        char word[WORD];

        snprintf(word, sizeof word, "%.*s", (int)n, at);
        status = n < sizeof word ? find_word(frozen, table, word, err)
                                 : tg_fail(err, TG_EUSAGE, "\"%s...\" is too long for a name", word);
        at += n;
        if (!*at)
            break;
    }
    for (size_t i = 0; i < table->n; i++)
        left += !frozen[i];
    return status || left > 0 ? status : tg_fail(err, TG_EUSAGE, "nothing is left to be trained");
}

/* ---- a model */

static void place_params(tg_arena *arena, void *context)
{
    tg_model *m = context;

    m->params = tg_arena_take(arena, m->table.floats, sizeof *m->params);
}

/* Copy the values that there are to their new places. */
static tg_status move(tg_model *m, tg_err *err)
{
    tg_arena before = m->memory;
    tg_status status;

    m->memory = (tg_arena){0};
    status = tg_arena_build(&m->memory, place_params, m, err);
    for (size_t i = 0; !status && i < m->table.n; i++) {
        const tg_param *p = &m->table.entry[i];

        if (!m->weight[i])
            continue;
        memcpy(m->params + p->offset, m->weight[i], p->count * sizeof(float));
        m->weight[i] = m->params + p->offset;
    }
    tg_arena_free(&before);
    return status;
}

tg_status tg_model_freeze(tg_model *m, const unsigned char *frozen, tg_err *err)
{
    tg_status status;

    tg_params_free(&m->trained);
    status = tg_params_split(&m->trained, &m->table, frozen, err);
    return status || !m->params ? status : move(m, err);
}
