/*
 * extras_make: compute what a dump has besides its stages (dump_extras.h), to write it or to compare it.
 */
#ifndef TG_DUMP_EXTRAS_MAKE_H
#define TG_DUMP_EXTRAS_MAKE_H

#include "lib/dump/dump_extras.h"
#include "lib/dump/dump_write.h"

/* What takes an array: one of the layer, or of the text.  A failure ends the making. */
typedef struct tg_extras_made {
    size_t layer;
    tg_dump_extra extra;
    tg_dtype type;
    size_t dims, shape[3], count;
    const void *data;
} tg_extras_made;
typedef tg_status (*tg_extras_take)(void *context, const tg_extras_made *made, tg_err *err);

/* Compute those of a layer that the settings ask for, the frequencies with all stages, before the next one is
 * run.  TG_EDATA: a number is not finite.  TG_ENOMEM; and what `take` returns. */
TG_MUST_CHECK tg_status tg_extras_make_layer(const tg_attn_layers *layers, const tg_attn_layer *layer,
                                             const tg_dump_settings *dump, tg_extras_take take, void *context,
                                             tg_err *err);

/* Run the rest of the model, and compute what it predicts after each token.  Errors likewise. */
TG_MUST_CHECK tg_status tg_extras_make_next(tg_attn_layers *layers, const tg_dump_settings *dump,
                                            tg_extras_take take, void *context, tg_err *err);

#endif
