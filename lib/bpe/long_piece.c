#include "lib/bpe/long_piece.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

/* This many bytes at a block's end usually suffice to show what the end depends on. */
#define BACK (TG_LONG_PIECE_BLOCK / 16)

/* A part of a piece, and the means to encode it. */
struct part {
    const tg_bpe *b;
    tg_merger *merger;
    const unsigned char *text;
    uint64_t offset;
};

/* The encoding of text [at..at + n). */
static tg_status encode(const struct part *p, int32_t *ids, size_t at, size_t n, size_t *n_ids, tg_err *err)
{
    const tg_status status = tg_bpe_bytes(p->b, ids, p->text + at, n, p->offset + at, err);

    return status ? status : tg_merge(p->merger, ids, p->text + at, n, n_ids, err);
}

static void free_memory(tg_long_piece *l)
{
    free(l->ids);
    free(l->part);
    free(l->ends);
    free(l->text);
    l->capacity = l->n_final = 0;
}

static tg_status reserve(tg_long_piece *l, tg_err *err)
{
    const size_t each = sizeof *l->ids + sizeof *l->part + sizeof *l->ends + 1;

    if (l->block <= l->capacity)
        return TG_OK;
    free_memory(l);
    l->ids = malloc(tg_size_mul_sat(l->block, sizeof *l->ids));
    l->part = malloc(tg_size_mul_sat(l->block, sizeof *l->part));
    l->ends = malloc(tg_size_mul_sat(l->block, sizeof *l->ends));
    l->text = malloc(l->block);
    if (!l->ids || !l->part || !l->ends || !l->text)
        return tg_fail_memory(err, tg_size_mul_sat(l->block, each), "a block of a piece");
    l->capacity = l->block;
    return TG_OK;
}

/* Find the places i < n of text [n] where a token that continues after n may begin, from the last to
 * the first; returns their number. */
static size_t find_ends(const tg_bpe *b, size_t *ends, const unsigned char *text, size_t n)
{
    const size_t first = n - tg_size_min(n, b->longest - 1);
    tg_prefix_string s = {0};
    size_t count = 0;

    for (size_t i = n; i-- > first;)
        if (tg_prefix_filter_extend(&b->prefixes, &s, text[i]))
            ends[count++] = i;
    return count;
}

/* Whether each encoding of text [at + start..at + end) begins with `id`. */
static tg_status check_ends(tg_long_piece *l, const struct part *p, size_t at, size_t start, size_t n_ends,
                            int32_t id, bool *all, tg_err *err)
{
    tg_status status = TG_OK;

    *all = true;
    /* unreached: a status: encode_block() has encoded the same bytes */
    for (size_t i = 0; !status && *all && i < n_ends; i++) {
        size_t n;

        status = encode(p, l->part, at + start, l->ends[i] - start, &n, err);
        *all = l->part[0] == id;
    }
    return status;
}

/* Encode the block at text `at`, and find out which of its tokens are final. */
static tg_status encode_block(tg_long_piece *l, const struct part *p, size_t at, tg_err *err)
{
    const size_t block = l->block, n_ends = find_ends(p->b, l->ends, p->text + at, block);
    const size_t latest = n_ends > 0 ? l->ends[n_ends - 1] : block;
    size_t j, start = block, length;
    bool all = false;
    tg_status status = encode(p, l->ids, at, block, &j, err);

    for (size_t back = tg_size_max(BACK, 1); !status && !all && j > 1 && back <= block / 2; back *= 2) {
        while (j > 0 && (start + back > block || start >= latest)) {
            (void)tg_bpe_token(p->b, (uint32_t)l->ids[--j], &length);
            start -= length;
        }
        if (j > 0)
            status = check_ends(l, p, at, start, n_ends, l->ids[j], &all, err);
    }
    /* unreached: as above */
    l->n_final = all && !status ? j : 0;
    l->step = start;
    memcpy(l->text, p->text + at, block);
    return status;
}

tg_status tg_long_piece_encode(tg_long_piece *l, const tg_bpe *b, tg_merger *merger,
                               const unsigned char *text, size_t n, bool complete, uint64_t offset,
                               size_t *used, tg_id_queue *queue, tg_err *err)
{
    const struct part p = {b, merger, text, offset};
    size_t n_ids;
    tg_status status = TG_OK;

    *used = 0;
    if (l->block == 0) {
        l->block = b->blocks ? TG_LONG_PIECE_BLOCK : SIZE_MAX;
        l->n_final = 0;
    }
    while (n - *used > l->block && (complete || queue->n < TG_LONG_PIECE_IDS)) {
        const bool repeats = l->n_final > 0 && memcmp(text + *used, l->text, l->block) == 0;

        if ((status = reserve(l, err)) || (!repeats && (status = encode_block(l, &p, *used, err))))
            return status;
        memcpy(queue->ids + queue->n, l->ids, l->n_final * sizeof *l->ids);
        queue->n += l->n_final;
        if (l->n_final > 0)
            *used += l->step;
        else
            l->block = tg_size_mul_sat(l->block, 2);
    }
    if (!complete)
        return TG_OK;
    l->block = 0;
    if ((status = encode(&p, queue->ids + queue->n, *used, n - *used, &n_ids, err)))
        return status;
    queue->n += n_ids;
    *used = n;
    return TG_OK;
}

void tg_long_piece_free(tg_long_piece *l)
{
    free_memory(l);
    *l = (tg_long_piece){0};
}
