#include "lib/gpt/freeze.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD 128 /* bytes of a word of the list, with the NUL */
#define LAYERS "layers:"

/* ---- words */

/* The number in digits at *at, which moves on; SIZE_MAX: there is none, or a huge one. */
static size_t read_number(const char **at)
{
    const size_t n = strspn(*at, "0123456789");
    const char *digits = *at;

    *at += n;
    return n > 0 && n < 10 ? strtoul(digits, NULL, 10) : SIZE_MAX;
}

/* "N" or "N-M" as first and last block. */
static bool read_range(const char *text, size_t *first, size_t *last)
{
    *first = *last = read_number(&text);
    if (*text == '-') {
        text++;
        *last = read_number(&text);
    }
    return *text == '\0' && *first <= *last;
}

static tg_status find_layers(unsigned char *frozen, const tg_params *table, const char *word, tg_err *err)
{
    size_t first, last;

    if (!read_range(word + strlen(LAYERS), &first, &last) || last >= table->blocks)
        return tg_fail(err, TG_EUSAGE, "\"%s\": expected a range of the model's layers, 0 to %zu", word,
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
                   "\"%s\" names no parameter: expected embedding, " LAYERS
                   "0-%zu, or a pattern of whole names, as *.mlp.*",
                   word, table->blocks - 1);
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

/* Move the values that there are to their new places. */
static tg_status move(tg_model *m, tg_err *err)
{
    tg_arena before = m->memory;
    tg_status status = TG_OK;

    m->memory = (tg_arena){0};
    m->params = NULL;
    for (size_t i = 0; !status && i < m->table.n; i++) {
        const tg_param *p = &m->table.entry[i];
        float *const from = (float *)m->weight[i]; /* the model's own */
        float *to;

        if (!from || (status = tg_model_place(m, p, &to, err)))
            continue;
        memcpy(to, from, p->count * sizeof *to);
        tg_arena_release(&before, from, p->count * sizeof *to);
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
