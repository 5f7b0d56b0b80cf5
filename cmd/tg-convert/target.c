/* The target of a conversion, and what it must not replace. */
#include "cmd/cli/cli.h"
#include "cmd/tg-convert/convert.h"
#include "lib/models/model_format.h"

tg_status convert_check_output(const convert_options *o, const char *path, tg_err *err)
{
    /* Float32 holds what the model has in memory, so a directory may be converted onto itself. */
    const bool onto_itself =
        o->format && o->format->part[0].name && o->write.type == TG_WRITE_F32 && !o->write.lossy;
    tg_status status =
        (onto_itself ? cli_check_output_differs : cli_check_output_differs_model)(path, o->source, err);

    if (!status && o->tokenizer)
        status = cli_check_output_differs_model(path, o->tokenizer, err);
    if (!status && o->ask.map)
        status = cli_check_output_differs(path, o->ask.map, err);
    return status;
}
