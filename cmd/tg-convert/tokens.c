/* Tokens, between this project's archives, llm.c's files and bare numbers. */
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-convert/convert.h"
#include "formats/source.h"
#include "lib/models/model_format.h"

/* Takes over the source. */
static tg_status convert(const convert_options *o, tg_source *source, const tg_tokenizer *tok, tg_err *err)
{
    static const cli_content contents[TG_TOKEN_FORMATS] = {CLI_OUT_TOKENS, CLI_OUT_LLMC_TOKENS, CLI_OUT_IDS};
    const tg_token_ask ask = {tok, o->vocab_size};
    const char *target;
    cli_output out;
    tg_token_copy copied;
    tg_status status;

    if ((status = convert_check_output(o, o->target, err)) ||
        (status = cli_output_begin(&out, o->target, contents[o->tokens], err))) {
        tg_source_close(source);
        return status;
    }
    target = out.name;
    if (tg_token_file_convert(out.fd, o->tokens, source, o->from == 0, &ask, &copied, err))
        status = tg_err_in(err, copied.source_failed ? cli_input_name(o->source) : target);
    else if (!(status = cli_output_commit(&out, err)))
        cli_note("%s: %s token%s%s", target, cli_count(copied.count), cli_plural(copied.count),
                 o->tokens == TG_TOKENS_NPZ ? "" : "; this format does not name the tokenizer");
    cli_output_abort(&out);
    return status;
}

static tg_status convert_file(const convert_options *o, const tg_tokenizer *tok, tg_err *err)
{
    tg_source source;
    int fd;
    tg_status status = cli_open_input(&fd, o->source, err);

    if (!status && (status = tg_source_open(&source, fd, err)))
        status = tg_err_in(err, o->source);
    if (!status)
        status = convert(o, &source, tok, err);
    cli_close_input(fd);
    return status;
}

tg_status convert_tokens(const convert_options *o, tg_source *input, const tg_tokenizer *tok, tg_err *err)
{
    if (cli_adapters.n > 0)
        return tg_fail(err, TG_EUSAGE, "%s: not a model, which --adapter is for", cli_input_name(o->source));
    if (!o->format || strcmp(o->format->name, "npz") == 0)
        return input ? convert(o, input, tok, err) : convert_file(o, tok, err);
    if (input)
        tg_source_close(input);
    return tg_fail(err, TG_EUSAGE, "%s: tokens, no model: expected --to npz, llmc-tokens or uint16",
                   cli_input_name(o->source));
}
