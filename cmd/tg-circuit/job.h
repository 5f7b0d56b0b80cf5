/*
 * job: the options of tg-circuit, and what it prints from a model's weights.
 */
#ifndef TG_CMD_CIRCUIT_JOB_H
#define TG_CMD_CIRCUIT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/model.h"
#include "cmd/lines/table.h"
#include "lib/attn/attn.h"
#include "lib/circuit/circuit_write.h"

#define NOT_GIVEN SIZE_MAX

typedef struct circuit_options {
    const char *model, *output; /* NULL: not given */
    tg_attn_filter filter;      /* layer and head */
    bool compose, tokens, no_header;
    const char *token; /* NULL: not given */
    size_t token_id;   /* NOT_GIVEN */
    size_t top, directions;
    bool top_given, directions_given, format_given;
    size_t threads;
    table_format format;
} circuit_options;

/* CLI_USAGE after a message. */
TG_MUST_CHECK int circuit_parse(int argc, char **argv, circuit_options *o);

/* A line per head, or an archive; per pair of heads, or an archive; per token and direction. */
TG_MUST_CHECK tg_status circuit_print_heads(const cli_model *m, const circuit_options *o, tg_err *err);
TG_MUST_CHECK tg_status circuit_print_pairs(const cli_model *m, const circuit_options *o, tg_err *err);
TG_MUST_CHECK tg_status circuit_print_tokens(const cli_model *m, const circuit_options *o, tg_err *err);

/* Which layers and heads an archive has. */
static inline tg_circuit_kept circuit_kept(const circuit_options *o, const tg_config *c)
{
    return (tg_circuit_kept){c->n_layer, c->n_head, o->filter.layer, o->filter.head};
}

/* The first line of a header: the model and its shape. */
void circuit_print_model(const tg_config *config);

#endif
