/*
 * beside: archives of a dump's text, which a page shows beside its attention: what each layer predicts, what
 * makes a logit, what patching changes, what heads and MLPs are needed for.  A page without a dump has a
 * lens, patches and ablations, which may be of any texts.
 */
#ifndef TG_CMD_VIEW_BESIDE_H
#define TG_CMD_VIEW_BESIDE_H

#include "formats/archive.h"
#include "formats/sink.h"
#include "lib/base/status.h"
#include "lib/dump/dump_read.h"
#include "lib/results/results.h"

typedef struct view_beside_one {
    const char *name; /* of its file, which the caller keeps */
    tg_results results;
} view_beside_one;

typedef struct view_beside_list {
    view_beside_one *one; /* [n] */
    size_t n;
} view_beside_list;

typedef struct view_beside {
    const char *first;          /* the name of the archive that was read first; NULL: there is none */
    bool has[TG_RESULTS_PATCH]; /* of the kinds before patches one each */
    view_beside_one of[TG_RESULTS_PATCH];
    view_beside_list patches, ablations;
} view_beside;

/* Whether a page can have an archive of that kind, after a dump or without one. */
bool beside_takes(tg_results_kind kind, bool dump);

/* Read the rest of an archive of a kind that beside_takes(), as tg_results_read() does, and check that it is
 * of the dump's text and model, if the dump is not NULL.  TG_EDATA: it is not, or there is one of this kind
 * already, or an ablation has no head or MLP by itself; TG_ENOMEM; and as tg_results_read(). */
TG_MUST_CHECK tg_status beside_read(view_beside *b, tg_results_kind kind, const char *name,
                                    tg_archive_reader *reader, const tg_dump *dump, tg_err *err);
void beside_free(view_beside *b); /* a zeroed one is fine */

/* The greatest number of layers, and of tokens, of all of them. */
size_t beside_layers(const view_beside *b);
size_t beside_tokens(const view_beside *b);

/* Write their numbers: members of a JSON object that begin with a comma, and an element for each large array.
 * tokens: they have their own. */
void beside_put_facts(tg_sink *out, const view_beside *b, bool tokens);
void beside_put_arrays(tg_sink *out, const view_beside *b);

#endif
