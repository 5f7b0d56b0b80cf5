#include "lib/text/long_piece.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

/* A part of a piece, and what encodes it. */
struct part {
    const tg_bpe *b;
    tg_merger *merger;
    const unsigned char *text;
    size_t n;
    bool complete;
    uint64_t offset;
};

static tg_status encode(const struct part *p, int32_t *ids, size_t at, size_t n, size_t *n_ids, tg_err *err)
{
    const tg_status status = tg_bpe_bytes(p->b, ids, p->text + at, n, p->offset + at, err);

    return status ? status : tg_merge(p->merger, ids, p->text + at, n, n_ids, err);
}

static tg_status append(tg_id_queue *queue, const int32_t *ids, size_t n, tg_err *err)
{
    const tg_status status = tg_id_queue_reserve(queue, n, err);

    if (status)
        return status;
    memcpy(queue->ids + queue->n, ids, n * sizeof *ids);
    queue->n += n;
    return TG_OK;
}

/* Merge a whole piece. */
static tg_status encode_whole(const struct part *p, size_t *used, tg_id_queue *queue, tg_err *err)
{
    size_t n_ids;
    tg_status status;

    if ((status = tg_id_queue_reserve(queue, p->n, err)) ||
        (status = encode(p, queue->ids + queue->n, 0, p->n, &n_ids, err)))
        return status;
    queue->n += n_ids;
    *used = p->n;
    return TG_OK;
}

/* Memory for the encodings of blocks of this size. */
static tg_status reserve(tg_long_piece *l, size_t block, tg_err *err)
{
    if (block <= l->capacity)
        return TG_OK;
    free(l->ids[0]);
    free(l->ids[1]);
    l->capacity = 0;
    l->ids[0] = malloc(tg_size_mul_sat(block, sizeof *l->ids[0]));
    l->ids[1] = malloc(tg_size_mul_sat(block, sizeof *l->ids[1]));
    if (!l->ids[0] || !l->ids[1])
        return tg_fail_memory(err, tg_size_mul_sat(block, 2 * sizeof *l->ids[0]), "a block of a piece");
    l->capacity = block;
    return TG_OK;
}

/* The first block, or a larger one in its place. */
static tg_status begin_block(tg_long_piece *l, const struct part *p, size_t at, tg_err *err)
{
    tg_status status;

    l->block = l->block == 0 ? TG_LONG_PIECE_BLOCK : tg_size_mul_sat(l->block, 2);
    if ((status = reserve(l, tg_size_min(l->block, tg_size_max(p->n, TG_LONG_PIECE_BLOCK)), err)))
        return status;
    l->width = tg_size_min(l->block, p->n - at);
    return encode(p, l->ids[0], at, l->width, &l->n_ids, err);
}

/*
 * Encode the next block from the last token of the current one, which is text `at`, that has at least
 * `back` bytes after its start; join them if possible.  *final: the tokens before the join, 0: none.
 */
static tg_status try_join(tg_long_piece *l, const struct part *p, size_t at, size_t back, size_t *final,
                          size_t *start, size_t *width, size_t *n_ids, tg_err *err)
{
    size_t j = l->n_ids, length;
    tg_status status = TG_OK;

    *final = 0;
    *start = l->width;
    while (j > 0 && *start + back > l->width) {
        (void)tg_bpe_token(p->b, (uint32_t)l->ids[0][--j], &length);
        *start -= length;
    }
    if (j == 0)
        return TG_OK;
    *width = tg_size_min(l->block, p->n - at - *start);
    if (*width == l->width && memcmp(p->text + at, p->text + at + *start, *width) == 0) {
        memcpy(l->ids[1], l->ids[0], l->n_ids * sizeof *l->ids[0]); /* it repeats itself */
        *n_ids = l->n_ids;
    } else {
        status = encode(p, l->ids[1], at + *start, *width, n_ids, err);
    }
    if (!status && l->ids[0][j] == l->ids[1][0])
        *final = j;
    return status;
}

/* Encode the next block and join it to the current one; *used grows by what becomes final, or not
 * at all. */
static tg_status next_block(tg_long_piece *l, const struct part *p, size_t *used, tg_id_queue *queue,
                            tg_err *err)
{
    size_t final = 0, start, width, n_ids;
    int32_t *ids;
    tg_status status = TG_OK;

    for (size_t share = 8; share >= 2 && final == 0; share /= 2) {
        status = try_join(l, p, *used, tg_size_max(l->width / share, 1), &final, &start, &width, &n_ids, err);
        if (status)
            return status;
    }
    if (final == 0)
        return TG_OK;
    if ((status = append(queue, l->ids[0], final, err)))
        return status;
    ids = l->ids[0];
    l->ids[0] = l->ids[1];
    l->ids[1] = ids;
    l->n_ids = n_ids;
    l->width = width;
    *used += start;
    return TG_OK;
}

tg_status tg_long_piece_encode(tg_long_piece *l, const tg_bpe *b, tg_merger *merger,
                               const unsigned char *text, size_t n, bool complete, uint64_t offset,
                               size_t *used, tg_id_queue *queue, tg_err *err)
{
    const struct part p = {b, merger, text, n, complete, offset};
    bool larger = true; /* the first block, or one of twice its size, is needed */
    tg_status status = TG_OK;

    *used = 0;
    if (!b->proper)
        return complete ? encode_whole(&p, used, queue, err) : TG_OK;
    while (complete || queue->n < TG_LONG_PIECE_IDS) {
        const size_t rest = n - *used, before = *used;

        larger = l->width == 0;
        if (larger && !complete && rest < tg_size_max(2 * l->block, TG_LONG_PIECE_BLOCK))
            return TG_OK;
        if (larger && (status = begin_block(l, &p, *used, err)))
            return status;
        if (complete && l->width == rest) {
            status = append(queue, l->ids[0], l->n_ids, err);
            *used = n;
            l->block = l->width = 0;
            return status;
        }
        if (!complete && rest < l->width + l->block)
            return TG_OK;
        if ((status = next_block(l, &p, used, queue, err)))
            return status;
        if (*used == before)
            l->width = 0;
    }
    return TG_OK;
}

void tg_long_piece_free(tg_long_piece *l)
{
    free(l->ids[0]);
    free(l->ids[1]);
    *l = (tg_long_piece){0};
}
