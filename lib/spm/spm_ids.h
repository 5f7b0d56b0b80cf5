/*
 * spm_ids: from symbols to ids, in a queue: characters that are no piece become bytes or the unknown piece,
 * and unused pieces are divided.
 */
#ifndef TG_SPM_SPM_IDS_H
#define TG_SPM_SPM_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/bpe/id_queue.h"
#include "lib/spm/spm_state.h"

typedef struct tg_spm_ids {
    const tg_spm *spm;
    tg_id_queue queue; /* until they are taken */
    bool unknown;      /* the last id is the unknown piece, which stands for a run */
    bool any_unknown;  /* some character since the caller cleared this was unknown */
    uint32_t *stack;   /* [longest + 1] parts of an unused piece; NULL: there are none; owned */
} tg_spm_ids;

/* The ids of text [n] are at most this many: a space may become the bytes of U+2581. */
#define TG_SPM_IDS_OF(n) (TG_SPM_SPACE_BYTES * (n))

/* TG_ENOMEM; *p can be freed either way. */
TG_MUST_CHECK tg_status tg_spm_ids_create(tg_spm_ids *p, const tg_spm *spm, tg_err *err);

/* A zeroed one is fine. */
void tg_spm_ids_free(tg_spm_ids *p);

/* Append an id, or the ids of a symbol with text [n]; the queue has room.  TG_EDATA: the vocabulary has no
 * id for a character. */
void tg_spm_ids_put(tg_spm_ids *p, int32_t id);
TG_MUST_CHECK tg_status tg_spm_ids_put_symbol(tg_spm_ids *p, uint32_t symbol, const unsigned char *text,
                                              size_t n, tg_err *err);

#endif
