/*
 * options: the command line of tg-tokenize, in a form easy to use.
 */
#ifndef TG_CMD_TOKENIZE_OPTIONS_H
#define TG_CMD_TOKENIZE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/cli/cli.h"
#include "lib/split/split.h"
#include "lib/vocab/vocab_file.h"

/* What the tool does with its input. */
typedef enum tokenize_work {
    WORK_ARCHIVE, /* text to a token archive */
    WORK_IDS,     /* text or archives to decimal ids, */
    WORK_PIECES,  /* to the tokens' texts, */
    WORK_OFFSETS, /* or to both with offsets */
    WORK_COUNT,   /* text or archives to a number */
    WORK_DECODE,  /* archives to text */
    WORK_UNLIST,  /* decimal ids to text */
    WORK_CONVERT  /* the tokenizer to a file */
} tokenize_work;

/* The lines of --offsets. */
typedef enum tokenize_lines { LINES_TSV, LINES_JSONL } tokenize_lines;
#define TOKENIZE_LINES "tsv|jsonl"

typedef struct tokenize_options {
    tokenize_work work;
    tokenize_lines lines;          /* WORK_OFFSETS */
    bool no_header;                /* likewise: no line of titles */
    const char *tokenizer, *model; /* of -t and -m; NULL: not given */
    bool characters;               /* -t char */
    const tg_split *split;         /* &pattern, if that is given, or NULL */
    tg_split pattern;              /* of --pattern */
    tg_vocab_format format;        /* WORK_CONVERT */
    bool special;                  /* look for special tokens in the text */
    bool eot;                      /* end each document with the end-of-text token */
    bool null;                     /* documents end with a NUL byte, or */
    const char *separator;         /* with this line; NULL: with their file */
    size_t threads;
    const char *output; /* NULL: standard output */
    cli_files files;
} tokenize_options;

/* Parse the command line.  CLI_USAGE after a message. */
TG_MUST_CHECK int parse_options(int argc, char **argv, tokenize_options *o);

#endif
