/* Tokens, between this project's archives, llm.c's files and bare numbers. */
#include <inttypes.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-convert/convert.h"
#include "formats/source.h"
#include "lib/checkpoint/model_format.h"

bool convert_has_tokens(const convert_options *o)
{
    return cli_is_dash(o->source) || tg_token_file_recognize(o->source);
}

static const char *target_name(const convert_options *o)
{
    return o->target && !cli_is_dash(o->target) ? o->target : "standard output";
}

static tg_status convert(const convert_options *o, const tg_tokenizer *tok, int from, int to, uint64_t *count,
                         tg_err *err)
{
    const tg_token_ask ask = {tok, o->vocab_size};
    tg_source source;
    tg_status status = tg_source_open(&source, from, err);

    if (!status)
        status = tg_token_file_convert(to, o->tokens, &source, o->from == 0, &ask, count, err);
    if (status)
        return tg_err_in(err, status == TG_EDATA ? cli_input_name(o->source) : target_name(o));
    return TG_OK;
}

tg_status convert_tokens(const convert_options *o, const tg_tokenizer *tok, tg_err *err)
{
    cli_output out = {0};
    uint64_t count = 0;
    int fd;
    tg_status status;

    if (o->format && strcmp(o->format->name, "npz") != 0)
        return tg_fail(err, TG_EUSAGE, "%s: tokens, no model: expected --to npz, llmc-tokens or uint16",
                       cli_input_name(o->source));
    if (!(status = cli_open_input(&fd, o->source, err)) &&
        !(status = cli_output_begin(&out, o->target, true, err)) &&
        !(status = convert(o, tok, fd, out.fd, &count, err)) && !(status = cli_output_commit(&out, err)))
        cli_say("%s: %s token%s%s", target_name(o), cli_count(count), cli_plural(count),
                o->tokens == TG_TOKENS_NPZ ? "" : "; this format does not tell the tokenizer");
    cli_output_abort(&out);
    cli_close_input(fd);
    return status;
}
