/*
 * attn_dump: what the parts of tg-attn-dump share: its options, the subject (the
 * example, the arrays, or the model and its text), and the ways to show it, each in a
 * file of its own.
 */
#ifndef TG_CMD_ATTN_DUMP_H
#define TG_CMD_ATTN_DUMP_H

#include "cmd/cli/cli.h"
#include "cmd/cli/model.h"
#include "lib/attn/columns.h"
#include "lib/attn/layers.h"
#include "lib/attn/qkv.h"
#include "lib/attn/stage.h"
#include "lib/attn/trace.h"

#define ATTN_NONE SIZE_MAX /* an option that was not given */
#define ATTN_LABEL_SIZE 64 /* a token's text as shown, quotes and NUL included */
#define ATTN_ATT_WIDEST 8  /* show the weighted sum of heads up to this wide, */
#define ATTN_ATT_IN_LINE 4 /* so many numbers in a line, */
#define ATTN_ATT_ROOM 512  /* in so many bytes for all of them */

/* --trace and what belongs to it; NULL, ATTN_NONE and false: not given. */
typedef struct attn_trace_options {
    const char *element, *channel, *target;
    size_t through, target_id;
    bool backward;
    /* read from the texts by attn_trace_parse() */
    tg_attn_index at; /* h is ATTN_NONE when b,i,j were given */
    size_t att_channel, out_channel; /* ATTN_NONE: the same column */
} attn_trace_options;

typedef struct attn_options {
    const char *model, *text, *qkv;
    size_t example, heads, format, threads;
    tg_attn_pick pick;
    /* reading heads */
    bool summary;
    const char *ablate;
    /* stages, formats */
    size_t stage, layout, mask; /* tg_attn_stage, _layout, _mask; stage TG_ATTN_EVERY: none alone */
    const char *output; /* an archive; NULL: lines */
    const char *check;  /* an archive to compute again */
    double tolerance;
    const int64_t *ids; /* [n_ids] the text, from that archive; NULL: from the user */
    size_t n_ids;
    attn_trace_options trace;
} attn_options;

/* Read the command line, and what is set up before it; CLI_USAGE after a message.
 * (options.c) */
TG_MUST_CHECK int attn_parse(int argc, char **argv, attn_options *o);

typedef struct attn_subject {
    tg_attn_layers layers;          /* to be walked once */
    const char *path;               /* the file it came from, for messages; NULL: from none */
    char title[128];                /* what it is, in a line, */
    const char *remark;             /* and another line or NULL */
    char (*label)[ATTN_LABEL_SIZE]; /* [T] the tokens as shown, or NULL: there are none */
    size_t label_width;
    /* owned, as far as there */
    float *numbers; /* of an example that a formula gives */
    bool has_model;
    cli_model model;
    tg_prompt prompt;
    tg_attn_qkv qkv;
} attn_subject;

/* Read what the options name.  All errors name the file; after one there is nothing to
 * close. */
TG_MUST_CHECK tg_status attn_subject_open(attn_subject *s, const attn_options *o, tg_err *err);
void attn_subject_close(attn_subject *s);

/* Its parts, for what has no subject: the model, read with the heads that were asked for,
 * to be closed; and the error that there is no text for it. */
TG_MUST_CHECK tg_status attn_open_model(cli_model *m, const attn_options *o, tg_err *err);
TG_MUST_CHECK tg_status attn_no_text(tg_err *err);

/* The shape of what is shown, in its layout; the pointers are NULL. */
tg_attn_view attn_shape(const attn_subject *s);
tg_attn_labels attn_labels(const attn_subject *s);

/* A line for each element: the numbers and where they lie.  (rows.c) */
TG_MUST_CHECK tg_status attn_show_rows(attn_subject *s, const attn_options *o, tg_err *err);

/* A line for each head.  (summary.c) */
TG_MUST_CHECK tg_status attn_show_summary(attn_subject *s, const attn_options *o, tg_err *err);

/* What the loss of a model on a text, however long, becomes without some heads; the text
 * is not kept, so that this has no subject.  (ablate.c) */
TG_MUST_CHECK tg_status attn_show_ablation(const attn_options *o, tg_err *err);

/* Whether an --ablate that is given and what stands beside it make sense; CLI_USAGE after a message. */
int attn_ablate_check(const attn_options *o);

/* Parts of a header: what is shown; the columns' titles. */
void attn_print_title(const attn_subject *s);
void attn_print_titles(const tg_attn_columns *columns);

/* "1,2,3"; "[B,T,C] = [1,2,3]".  (places.c) */
void attn_print_list(const size_t *numbers, size_t n);
void attn_print_shape(const tg_attn_shape *shape);

/* The shape of q, k, v and att, and that of scores and probs: with one head [B,T,C] and
 * [B,T,T]. */
void attn_vectors_shape(tg_attn_shape *shape, const tg_attn_view *view);
void attn_squares_shape(tg_attn_shape *shape, const tg_attn_view *view);

/* The formula of an offset in letters, and again with the sizes' numbers, and with those of
 * the indices when `at` is there, in which each must have a number then:
 * "(b*T + i)*T + j", what is to stand between, "(b*3 + i)*3 + j". */
void attn_print_indices(const tg_attn_shape *shape, const char *between, const tg_attn_index *at);

/* The same of a vector of q or k, without its channel, at position 'i' or 'j':
 * "((b*T + i)*H + h)*D = ((b*3 + i)*2 + h)*2". */
void attn_print_base(const tg_attn_view *view, char position, const tg_attn_index *at);

/* The same for one stage that is not scores or probabilities.  (stage.c) */
TG_MUST_CHECK tg_status attn_show_stage(attn_subject *s, const attn_options *o, tg_err *err);
TG_MUST_CHECK tg_status attn_check_stage(const attn_subject *s, const attn_options *o, tg_err *err);

/* All of it, or one stage, as an archive.  (archive.c) */
TG_MUST_CHECK tg_status attn_write_archive(attn_subject *s, const attn_options *o, tg_err *err);

/* The tokens' texts without their quotes, NUL-padded to *width each, which is freed by the
 * caller; NULL when there are no tokens. */
TG_MUST_CHECK tg_status attn_pack_text(char **text, size_t *width, const attn_subject *s, tg_err *err);

/* Compute such an archive again, and compare; opens its own subject.  (check.c) */
TG_MUST_CHECK tg_status attn_check_archive(const attn_options *o, tg_err *err);

/* One score as a derivation.  Parsing, for when there is a --trace, looks at the texts and at what
 * fits together; returns CLI_OK, or CLI_USAGE after an error has been reported.  (trace.c) */
TG_MUST_CHECK int attn_trace_parse(attn_options *o);
TG_MUST_CHECK tg_status attn_show_trace(attn_subject *s, const attn_options *o, tg_err *err);

#endif
