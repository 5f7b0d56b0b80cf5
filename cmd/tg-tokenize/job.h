/*
 * job: what the parts of tg-tokenize share: its input, its tokenizer, and where ids go.
 *
 * Ids come from text (encode.c), from token archives or from decimal ids (decode.c); one function
 * takes them (output.c).
 */
#ifndef TG_CMD_TOKENIZE_JOB_H
#define TG_CMD_TOKENIZE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"
#include "formats/source.h"
#include "lib/split/split.h"
#include "lib/text/chars.h"
#include "lib/text/chat.h"
#include "lib/text/decoder.h"
#include "lib/text/encoder.h"
#include "lib/text/parallel.h"
#include "lib/text/tokenizer.h"
#include "lib/tg/tokens.h"
#include "lib/tokens/tokens_write.h"
#include "lib/vocab/vocab_file.h"

/* ---- options.c: the command line, in a form easy to use */

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

/* What is in the FILEs. */
typedef enum tokenize_examples {
    EXAMPLES_NONE,  /* text */
    EXAMPLES_PAIRS, /* JSON lines: prompts with completions, */
    EXAMPLES_CHAT   /* conversations */
} tokenize_examples;

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
    bool bos, eot;                 /* begin, end each document with the token for that */
    bool no_bos;                   /* examples: do not, whatever the model says */
    tokenize_examples examples;
    bool cut;                  /* of which some may be longer than the model's context */
    tg_chat_template template; /* TG_CHAT_TEMPLATES: none is named */
    bool null;                 /* documents end with a NUL byte, or */
    const char *separator;     /* with this line; NULL: with their file */
    size_t threads;
    const char *output; /* NULL: standard output */
    cli_files files;
} tokenize_options;

/* Parse the command line.  CLI_USAGE after a message. */
TG_MUST_CHECK int parse_options(int argc, char **argv, tokenize_options *o);

/* The file that -t or -m names; NULL: the tokenizer is built in. */
const char *tokenizer_file(const tokenize_options *o);

/* ---- the job */

/* Text not yet written. */
typedef struct text_out {
    char *bytes; /* [capacity], n of them used; owned */
    size_t n, capacity;
} text_out;

typedef struct tokenize_progress {
    double begun, shown;
    uint64_t bytes; /* of input read so far */
    uint64_t of;    /* size of the input; 0: unknown */
} tokenize_progress;

typedef struct tokenize_job tokenize_job;

/* Takes n ids of tokenizer `tok`.  Its errors name the output. */
typedef tg_status take_ids(tokenize_job *job, const tg_tokenizer *tok, const int32_t *ids, size_t n,
                           tg_err *err);

struct tokenize_job {
    const tokenize_options *o;
    const tg_tokenizer *tok; /* for text; archives must have it too, if the user chose it */
    int32_t bos, eot;        /* begins, ends each document; -1: none is added */
    size_t context;          /* examples with -m: tokens that the model sees at most; 0: unknown */
    int32_t model_bos;       /* examples with -m: what the model names for that; -1: nothing */
    bool adds_bos;           /* likewise: it says that each text begins with it */
    size_t file;             /* the FILE that is being read */
    unsigned char *gathered; /* [GATHERED] text; NULL: not needed yet; owned */
    int *spool;              /* [files.n] descriptor of a copy, if a FILE can be read only once, or -1;
                              * NULL: none */
    tg_chars *chars;         /* while they are collected, before text is encoded; otherwise NULL */
    tokenize_progress progress;

    /* text to ids */
    tg_parallel *encoder; /* NULL: not needed, or not yet made */
    bool take_failed;     /* the error is the output's, not the input's */
    uint64_t read;        /* bytes of text taken from all FILEs */

    /* examples to ids */
    tg_chat chat;     /* of conversations */
    tg_encoder *one;  /* of other examples; NULL until there is text */
    bool in_document; /* the document has ids, */
    bool in_text;     /* and some of them are of text, which begins after a token that begins a document */
    uint64_t documents, given, predicted; /* lines; ids; those of them that are predicted */

    /* ids to output */
    cli_output out;
    take_ids *take;
    tg_tokens_writer *w; /* NULL until there are ids */
    bool has_mask;       /* the ids that are taken have a mask: */
    int mask;            /* theirs (lib/tg/tokens.h) */
    text_out text;
    bool on_terminal; /* the output is text, and goes to a terminal */
    cli_shown shown;
    uint64_t at;                   /* offset in the text of the next token's first byte */
    bool added;                    /* the ids were added: they have no bytes in the text */
    tg_decoder decoder;            /* of the text of a FILE's ids */
    bool from_archive;             /* the ids come from an archive: no text but theirs is known */
    uint64_t tokens, bytes;        /* WORK_COUNT: tokens, and bytes of their text */
    uint32_t text_crc, tokens_crc; /* WORK_OFFSETS: of the text, and of its tokens' texts */
};

/* ---- input.c */

/* What to do with a FILE; it may take over the source.  Its errors name the file at fault, input or
 * output. */
typedef tg_status visitor(tokenize_job *job, tg_source *source, const char *name, tg_err *err);

TG_MUST_CHECK tg_status visit_files(tokenize_job *job, visitor *visit, tg_err *err);

/* Make a temporary file for each FILE that can be read only once.  This precedes cli_confine(): the sandbox
 * then need not allow the directory. */
TG_MUST_CHECK tg_status open_spools(tokenize_job *job, tg_err *err);

/* Read all FILEs once, and make the tokenizer of their characters.  A FILE that cannot be read again is
 * copied to its temporary file, which visit_files() reads instead. */
TG_MUST_CHECK tg_status collect_characters(tokenize_job *job, tg_err *err);

/* Count `read` more bytes of input; in a long run on a terminal, show how much has been read. */
void show_progress(tokenize_job *job, size_t read);

/*
 * The next part of a text: *text points to *n bytes, 0 at its end, which read_part_end() releases.  Text
 * that arrives slowly is returned at once; text that is already available, in parts large enough for
 * threads to share.  Errors do not name the file.
 */
TG_MUST_CHECK tg_status read_part(tokenize_job *job, tg_source *source, const unsigned char **text, size_t *n,
                                  tg_err *err);
void read_part_end(tokenize_job *job, tg_source *source, size_t n);

void input_free(tokenize_job *job);

/* ---- encode.c: text to ids */

/* Encode all FILEs, as one text or by documents, and give the ids to job->take. */
TG_MUST_CHECK tg_status encode_files(tokenize_job *job, tg_err *err);

/* The same for FILEs that may be token archives; each other FILE is a separate text. */
TG_MUST_CHECK tg_status list_files(tokenize_job *job, tg_err *err);

/* ---- examples.c: lines of JSON to ids */

/* Encode all FILEs, each line a document, and give the ids with their mask to job->take. */
TG_MUST_CHECK tg_status encode_examples(tokenize_job *job, tg_err *err);

/* ---- decode.c: archives and decimal ids */

/* Give the ids of a token archive to job->take. */
TG_MUST_CHECK tg_status read_archive(tokenize_job *job, tg_source *source, const char *name, tg_err *err);

TG_MUST_CHECK tg_status decode_files(tokenize_job *job, tg_err *err);

/* ---- output.c: ids to archives, lines, text and numbers */

/* Choose job->take. */
void choose_output(tokenize_job *job);

/* Write text whose bytes are the ids. */
TG_MUST_CHECK tg_status write_bytes(tokenize_job *job, const void *text, size_t n, tg_err *err);

/* Write the pending lines and text. */
TG_MUST_CHECK tg_status flush_output(tokenize_job *job, tg_err *err);

/* After all ids: end the archive, or print the number. */
TG_MUST_CHECK tg_status finish_output(tokenize_job *job, tg_err *err);

void output_free(tokenize_job *job);

#endif
