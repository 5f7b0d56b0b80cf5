#include "cmd/cli/tokenizer.h"

#include <string.h>
#include <sys/stat.h>

#include "cmd/cli/model.h"
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
    return cli_tokenizer_of(tok, name, split, err);
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

tg_status cli_tokenizer_of(const tg_tokenizer **tok, const char *path, const tg_split *split, tg_err *err)
{
    tg_model_file f;
    tg_status status;

    if (is_directory(path) || !cli_model_is_foreign(path))
        return tg_vocab_file_open(tok, path, split, err);
    *tok = NULL;
    if (split)
        return tg_fail(err, TG_EUSAGE, "%s: a rule for splitting is only for .tiktoken files", path);
    if ((status = tg_model_file_open(&f, path, NULL, err)))
        return status;
    if (f.tokenizer)
        *tok = tg_tokenizer_share(f.tokenizer);
    else
        status = tg_fail(err, TG_EDATA, "%s: %s without a tokenizer", path, tg_model_file_kind(&f));
    tg_model_file_close(&f);
    return status;
}
