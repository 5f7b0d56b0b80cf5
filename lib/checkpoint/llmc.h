/* llmc: models in llm.c's files.  Only for the files llmc*.c. */
#ifndef TG_CHECKPOINT_LLMC_H
#define TG_CHECKPOINT_LLMC_H

#include "lib/base/status.h"
#include "lib/checkpoint/model_format.h"

#define TG_LLMC_EPSILON 1e-5 /* LayerNorm's, of every model of llm.c */

/* The format's check(), and the write() of its only part (lib/checkpoint/model_format.h). */
TG_MUST_CHECK tg_status tg_llmc_check(const tg_model_file *f, const tg_write_options *o, tg_notes *notes,
                                      tg_err *err);
TG_MUST_CHECK tg_status tg_llmc_write_model(int fd, const tg_model_file *f, const tg_write_options *o,
                                            tg_err *err);

#endif
