/*
 * beside: archives of a dump's text, which a page shows beside its attention: what each layer predicts, what
 * makes a logit, what patching changes.  A page of patches alone has no dump, and they may be of any texts.
 */
#ifndef TG_CMD_VIEW_BESIDE_H
#define TG_CMD_VIEW_BESIDE_H

#include "formats/archive.h"
#include "formats/sink.h"
#include "lib/base/status.h"
#include "lib/dump/dump_read.h"
#include "lib/results/results.h"

#define BESIDE_KINDS TG_RESULTS_CIRCUIT /* the kinds before it: those of a text */

typedef struct view_beside_patch {
    const char *name; /* of its file, which the caller keeps */
    tg_results results;
} view_beside_patch;

typedef struct view_beside {
    bool has[TG_RESULTS_PATCH]; /* of the kinds before patches one each */
    tg_results of[TG_RESULTS_PATCH];
    view_beside_patch *patch; /* [patches] */
    size_t patches;
} view_beside;

/* Read the rest of an archive of that kind, as tg_results_read() does, and check that it is of the dump's
 * text and model; for patches the dump may be NULL.  TG_EDATA: it is not, or there is one of this kind
 * already; TG_ENOMEM; and as tg_results_read(). */
TG_MUST_CHECK tg_status beside_read(view_beside *b, tg_results_kind kind, const char *name,
                                    tg_archive_reader *reader, const tg_dump *dump, tg_err *err);
void beside_free(view_beside *b); /* a zeroed one is fine */

/* The greatest number of layers, and of tokens, of patches. */
size_t beside_layers(const view_beside *b);
size_t beside_tokens(const view_beside *b);

/* Write their numbers: members of a JSON object that begin with a comma, and an element for each large array.
 * tokens: patches have their own. */
void beside_put_facts(tg_sink *out, const view_beside *b, bool tokens);
void beside_put_arrays(tg_sink *out, const view_beside *b);

#endif
