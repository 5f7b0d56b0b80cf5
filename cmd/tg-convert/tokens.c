#include "cmd/tg-convert/tokens.h"

#include <inttypes.h>

#include "cmd/cli/cli.h"
#include "formats/source.h"

bool tokens_are_in(const char *source)
{
    return cli_is_dash(source) || tg_token_file_recognize(source);
}

static void say(const struct token_options *o, uint64_t count)
{
    const char *const without = o->to == TG_TOKENS_NPZ ? "" : "; the tokenizer is not in this format";

    cli_say("%s: %s token%s%s", o->target ? o->target : "standard output", cli_count(count),
            cli_plural(count), without);
}

static tg_status convert(const struct token_options *o, int fd, const cli_output *out, uint64_t *count,
                         tg_err *err)
{
    tg_source source;
    tg_status status = tg_source_open(&source, fd, err);

    if (!status)
        status = tg_token_file_convert(out->fd, o->to, &source, o->raw, &o->ask, count, err);
    if (!status)
        return TG_OK;
    return tg_err_in(err, status == TG_EDATA ? cli_input_name(o->source) : out->name);
}

tg_status tokens_convert(const struct token_options *o, tg_err *err)
{
    cli_output out = {0};
    uint64_t count = 0;
    int fd;
    tg_status status = cli_open_input(&fd, o->source, err);

    if (!status && !(status = cli_output_begin(&out, o->target, true, err)) &&
        !(status = convert(o, fd, &out, &count, err)) && !(status = cli_output_commit(&out, err)))
        say(o, count);
    cli_output_abort(&out);
    cli_close_input(fd);
    return status;
}
