#include "cmd/cli/tokenizer.h"

#include <string.h>

#include "lib/vocab/vocab_file.h"

tg_status cli_tokenizer_open(const tg_tokenizer **tok, const char *name, const tg_split *split, tg_err *err)
{
    const bool built_in = !name || strcmp(name, "bytes") == 0;

    *tok = NULL;
    if (built_in && split)
        return tg_fail(err, TG_EUSAGE, "--pattern goes with a .tiktoken file, not with bytes");
    if (built_in)
        return tg_tokenizer_create(tok, name, err);
    if (strcmp(name, "char") == 0)
        return tg_fail(err, TG_EUSAGE,
                       "tokenizer \"char\" is made from a text: give a FILE that has one, as from "
                       "tg-tokenize -t char text > FILE");
    return tg_vocab_file_open(tok, name, split, err);
}
