/*
 * options: the command line of tg-sample.
 */
#ifndef TG_CMD_SAMPLE_OPTIONS_H
#define TG_CMD_SAMPLE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/cli/text.h"
#include "lib/gpt/sample.h"
#include "lib/text/chat.h"

typedef enum sample_format { SAMPLE_TSV, SAMPLE_JSONL } sample_format; /* of lines */
#define SAMPLE_FORMATS "tsv|jsonl"

typedef struct sample_options {
    const char *model, *stop, *attention, *add, *ablate; /* NULL: not given */
    cli_text text;
    bool no_prompt, no_newline, zero, logprobs, no_header;
    bool n_given, top_given, format_given;
    bool chat, template_given;
    tg_chat_template template; /* of chat */
    const char *system;        /* likewise, its first message; NULL: none */
    size_t n, count, type, threads, top;
    sample_format format;
    tg_sampling sampling;
} sample_options;

/* CLI_USAGE after a message. */
TG_MUST_CHECK int sample_parse(int argc, char **argv, sample_options *o);

/* Whether lines of attention are printed instead of the text, or the text is dumped into a file. */
bool sample_prints_attention(const sample_options *o);
bool sample_writes_attention(const sample_options *o);

#endif
