/*
 * beside: archives of a dump's text, which a page shows beside its attention: what each layer predicts, what
 * makes a logit, what patching changes.
 */
#ifndef TG_CMD_VIEW_BESIDE_H
#define TG_CMD_VIEW_BESIDE_H

#include "formats/archive.h"
#include "formats/sink.h"
#include "lib/base/status.h"
#include "lib/dump/dump_read.h"
#include "lib/results/results.h"

#define BESIDE_KINDS TG_RESULTS_CIRCUIT /* the kinds before it: those of a text */

typedef struct view_beside {
    bool has[BESIDE_KINDS];
    tg_results of[BESIDE_KINDS]; /* where it has */
} view_beside;

/* Read the rest of an archive of that kind, as tg_results_read() does, and check that it is of the dump's
 * text and model.  TG_EDATA: it is not, or there is one of this kind already; and as tg_results_read(). */
TG_MUST_CHECK tg_status beside_read(view_beside *b, tg_results_kind kind, tg_archive_reader *reader,
                                    const tg_dump *dump, tg_err *err);
void beside_free(view_beside *b); /* a zeroed one is fine */

/* Write their numbers: members of a JSON object that begin with a comma, and an element for each large array.
 */
void beside_put_facts(tg_sink *out, const view_beside *b);
void beside_put_arrays(tg_sink *out, const view_beside *b);

#endif
