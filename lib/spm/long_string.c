#include "lib/spm/long_string.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* This many bytes at a block's end usually suffice to show what the end depends on. */
#define BACK (TG_SPM_BLOCK / 16)

/* A symbol of a long string, which only the tail can change. */
static tg_status put(tg_spm_long *l, tg_spm_ids *p, uint32_t symbol, const unsigned char *text, size_t n,
                     tg_err *err)
{
    if (p->spm->tail == TG_RANK_NONE)
        return tg_spm_ids_put_symbol(p, symbol, text, n, err);
    return tg_spm_tail_push(&l->tail, p, symbol, text, n, err);
}

/* Put the symbols of text [n] that were merged; l: NULL if no tail is left. */
static tg_status put_merged(tg_spm_long *l, tg_spm_ids *p, const tg_spm_merger *merger,
                            const unsigned char *text, size_t n, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0, next; !status && i < merger->n; i = next) {
        const tg_spm_node *node = &merger->nodes[i];
        size_t length;

        next = node->next;
        length = (next < merger->n ? merger->nodes[next].at : n) - node->at;
        status = l ? put(l, p, node->symbol, text + node->at, length, err)
                   : tg_spm_ids_put_symbol(p, node->symbol, text + node->at, length, err);
    }
    return status;
}

tg_status tg_spm_whole_encode(tg_spm_ids *p, tg_spm_merger *merger, const unsigned char *text, size_t n,
                              tg_err *err)
{
    const tg_status status = tg_spm_merge(merger, text, n, err);

    return status ? status : put_merged(NULL, p, merger, text, n, err);
}

static void free_memory(tg_spm_long *l)
{
    free(l->spans);
    free(l->ends);
    free(l->text);
    l->spans = NULL;
    l->ends = NULL;
    l->text = NULL;
    l->capacity = l->n_final = 0;
}

static tg_status reserve(tg_spm_long *l, tg_err *err)
{
    const size_t each = sizeof *l->spans + sizeof *l->ends + 1;

    if (l->block <= l->capacity)
        return TG_OK;
    free_memory(l);
    l->spans = malloc(tg_size_mul_sat(l->block, sizeof *l->spans));
    l->ends = malloc(tg_size_mul_sat(l->block, sizeof *l->ends));
    l->text = malloc(l->block);
    if (!l->spans || !l->ends || !l->text)
        return tg_fail_memory(err, tg_size_mul_sat(l->block, each), "a block of a string");
    l->capacity = l->block;
    return TG_OK;
}

/* Find the places i < n of text [n] where a piece that continues after n may begin, from the last to the
 * first; returns their number. */
static size_t find_ends(const tg_spm *s, size_t *ends, const unsigned char *text, size_t n)
{
    const size_t first = n - tg_size_min(n, s->longest - 1);
    tg_prefix_string string = {0};
    size_t count = 0;

    for (size_t i = n; i-- > first;)
        if (tg_prefix_filter_extend(&s->prefixes, &string, text[i]) && !tg_utf8_continues(text[i]))
            ends[count++] = i;
    return count;
}

/* Whether each merging of text [start..end) begins with `symbol`. */
static tg_status check_ends(const tg_spm_long *l, tg_spm_merger *merger, const unsigned char *text,
                            size_t start, size_t n_ends, uint32_t symbol, bool *all, tg_err *err)
{
    tg_status status = TG_OK;

    *all = true;
    for (size_t i = 0; !status && *all && i < n_ends; i++) {
        status = tg_spm_merge(merger, text + start, l->ends[i] - start, err);
        *all = !status && merger->nodes[0].symbol == symbol;
    }
    return status;
}

/* Keep the symbols that were merged; returns their number. */
static size_t keep_symbols(tg_spm_long *l, const tg_spm_merger *merger)
{
    size_t count = 0;

    for (size_t i = 0; i < merger->n; i = merger->nodes[i].next)
        l->spans[count++] = (tg_spm_span){merger->nodes[i].symbol, merger->nodes[i].at};
    return count;
}

/* Merge the block text [block], and find out which of its symbols are final. */
static tg_status merge_block(tg_spm_long *l, const tg_spm *s, tg_spm_merger *merger,
                             const unsigned char *text, size_t block, tg_err *err)
{
    const size_t n_ends = find_ends(s, l->ends, text, block);
    const size_t latest = n_ends > 0 ? l->ends[n_ends - 1] : block;
    size_t j, start = block;
    bool all = false;
    tg_status status = tg_spm_merge(merger, text, block, err);

    if (status)
        return status;
    j = keep_symbols(l, merger);
    for (size_t back = tg_size_max(BACK, 1); !status && !all && j > 1 && back <= block / 2; back *= 2) {
        while (j > 0 && (start + back > block || start >= latest))
            start = l->spans[--j].at;
        if (j > 0)
            status = check_ends(l, merger, text, start, n_ends, l->spans[j].symbol, &all, err);
    }
    l->n_final = all && !status ? j : 0;
    l->step = start;
    l->n_text = block;
    memcpy(l->text, text, block);
    return status;
}

/* Append the ids of the final symbols of text's first block. */
static tg_status put_final(tg_spm_long *l, tg_spm_ids *p, const unsigned char *text, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < l->n_final; i++) {
        const size_t at = l->spans[i].at, end = i + 1 < l->n_final ? l->spans[i + 1].at : l->step;

        status = put(l, p, l->spans[i].symbol, text + at, end - at, err);
    }
    return status;
}

/* The bytes of a block of text, which is longer: whole characters. */
static size_t block_of(const unsigned char *text, size_t block)
{
    while (block > 1 && tg_utf8_continues(text[block]))
        block--;
    return block;
}

/* Encode as many blocks as there are of text [n], which continues after them. */
static tg_status encode_blocks(tg_spm_long *l, tg_spm_ids *p, tg_spm_merger *merger,
                               const unsigned char *text, size_t n, size_t *used, tg_err *err)
{
    tg_status status = TG_OK;

    while (!status && n - *used > l->block) {
        const unsigned char *at = text + *used;
        const size_t block = block_of(at, l->block);
        const bool repeats = l->n_final > 0 && block == l->n_text && memcmp(at, l->text, block) == 0;

        if ((status = reserve(l, err)) ||
            (!repeats && (status = merge_block(l, p->spm, merger, at, block, err))) ||
            (status = put_final(l, p, at, err)))
            break;
        if (l->n_final > 0)
            *used += l->step;
        else
            l->block = tg_size_mul_sat(l->block, 2);
    }
    return status;
}

/* Encode the end of a string, text [n]. */
static tg_status encode_end(tg_spm_long *l, tg_spm_ids *p, tg_spm_merger *merger, const unsigned char *text,
                            size_t n, tg_err *err)
{
    tg_status status;

    l->block = 0;
    if ((status = tg_spm_merge(merger, text, n, err)) || (status = put_merged(l, p, merger, text, n, err)))
        return status;
    return p->spm->tail == TG_RANK_NONE ? TG_OK : tg_spm_tail_finish(&l->tail, p, err);
}

tg_status tg_spm_long_encode(tg_spm_long *l, tg_spm_ids *p, tg_spm_merger *merger, const unsigned char *text,
                             size_t n, bool complete, size_t *used, tg_err *err)
{
    tg_status status = tg_id_queue_reserve(&p->queue, TG_SPM_IDS_OF(n), err);

    *used = 0;
    if (status)
        return status;
    if (l->block == 0) {
        l->block = p->spm->blocks ? TG_SPM_BLOCK : SIZE_MAX;
        l->n_final = 0;
    }
    merger->limit = p->spm->tail;
    status = encode_blocks(l, p, merger, text, n, used, err);
    if (!status && complete) {
        status = encode_end(l, p, merger, text + *used, n - *used, err);
        *used = n;
    }
    merger->limit = TG_RANK_NONE;
    return status;
}

void tg_spm_long_free(tg_spm_long *l)
{
    free_memory(l);
    tg_spm_tail_free(&l->tail);
    *l = (tg_spm_long){0};
}
