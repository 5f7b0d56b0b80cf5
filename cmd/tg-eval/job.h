/*
 * job: the task of tg-eval, and its output as the rows of a text arrive.
 */
#ifndef TG_CMD_EVAL_JOB_H
#define TG_CMD_EVAL_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/text.h"
#include "cmd/lines/tokens.h"
#include "cmd/team/team.h"
#include "lib/eval/eval.h"
#include "lib/eval/logits.h"

typedef enum eval_format { EVAL_TEXT, EVAL_TSV, EVAL_JSONL } eval_format;
#define EVAL_FORMATS "text|tsv|jsonl"

typedef struct eval_options {
    const char *model, *output, *choices; /* NULL: not given */
    cli_text text;
    char **file; /* [files] operands */
    size_t files;
    size_t context, stride; /* 0: not given */
    size_t top, threads;
    bool eot, per_token, logits, no_header;
    eval_format format;
    bool format_given;
} eval_options;

/* CLI_USAGE after a message. */
TG_MUST_CHECK int eval_parse(int argc, char **argv, eval_options *o);

typedef struct eval_job {
    const eval_options *o;
    const tg_team *team;
    cli_model m;
    tg_eval eval;
    double begun, shown;      /* times of the progress line */
    tg_logits_writer *logits; /* of --logits */
    bool is_probe;            /* the text is the model's own */
    bool said_masked;         /* that such a token, which is asked for, is not put before masked documents */
    bool says_bos;            /* a note says that the model begins texts with a token, once one does */
    bool output_failed;       /* writing failed: the error is not about a text */
    uint64_t tokens, at;      /* of --per-token: tokens and bytes of text before the next token */
    bool first;               /* the next row is the first of a text */
    token_lines lines;        /* likewise */
} eval_job;

/* --per-token: begin, with the titles, unless that is JSON; print the tokens of n >= 1 rows of a text. */
void eval_print_titles(eval_job *job);
TG_MUST_CHECK tg_status eval_print_tokens(eval_job *job, const tg_eval_row *rows, size_t n, tg_err *err);

/* --choices: read the file, and print how probable the continuations are. */
TG_MUST_CHECK tg_status eval_choices(eval_job *job, tg_err *err);

/* Show the progress of a long run, if it is time. */
void eval_show_progress(eval_job *job);

/* Print the result: as lines, as tab-separated values, as a JSON object, or, if standard output has other
 * data, as one line on standard error. */
void eval_print_result(const eval_job *job);

#endif
