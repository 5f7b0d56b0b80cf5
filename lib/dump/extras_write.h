/*
 * extras_write: write what a dump has beside its stages (dump_extras.h).
 */
#ifndef TG_DUMP_EXTRAS_WRITE_H
#define TG_DUMP_EXTRAS_WRITE_H

#include "formats/archive.h"
#include "lib/dump/dump_write.h"

TG_MUST_CHECK tg_status tg_extras_put_target(tg_archive_writer *w, int32_t target, tg_err *err);

/* Those of a layer, before the next one is run.  TG_EDATA: a number is not finite.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_extras_put_layer(tg_archive_writer *w, const tg_attn_layers *layers,
                                            const tg_attn_layer *layer, const tg_dump_settings *dump,
                                            tg_err *err);

/* Run the rest of the model, and write what it predicts after each token.  Errors likewise. */
TG_MUST_CHECK tg_status tg_extras_put_next(tg_archive_writer *w, tg_attn_layers *layers,
                                           const tg_dump_settings *dump, tg_err *err);

#endif
