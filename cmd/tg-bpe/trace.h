/*
 * trace: every step of learning, printed to standard output.
 *
 * As text: before each step the most frequent pairs and their counts, after it the updated pieces.
 * As TSV or JSON: one line per step.
 */
#ifndef TG_CMD_BPE_TRACE_H
#define TG_CMD_BPE_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"
#include "lib/learn/learn.h"
#include "lib/learn/vocab_learner.h"

typedef enum trace_format { TRACE_TEXT, TRACE_TSV, TRACE_JSONL } trace_format;
#define TRACE_FORMATS "text|tsv|jsonl"

typedef struct trace {
    trace_format format;
    bool titles;          /* TSV: print them */
    size_t rows;          /* maximum number of pairs, and of pieces, to show */
    size_t step;          /* the number of the last step */
    tg_vocab_pair *pairs; /* [rows + 1] */
} trace;

/* TG_ENOMEM: nothing to free. */
TG_MUST_CHECK tg_status trace_begin(trace *t, trace_format format, bool titles, size_t rows, tg_err *err);
void trace_free(trace *t); /* a zeroed one is fine */

/* At the start, print what was counted. */
void trace_start(const trace *t, const tg_vocab_learner *v, const tg_learn_totals *totals);

/* Before and after the merge of `best`. */
void trace_before(trace *t, tg_vocab_learner *v, const tg_vocab_pair *best);
void trace_after(const trace *t, const tg_vocab_learner *v);

/* At the end, print the remaining pairs and why no further step follows. */
void trace_end(trace *t, tg_vocab_learner *v, bool complete, size_t min_count);

#endif
