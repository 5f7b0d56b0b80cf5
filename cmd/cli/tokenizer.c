#include "cmd/cli/tokenizer.h"

#include <string.h>

#include "cmd/cli/model.h"
#include "formats/path.h"
#include "lib/tokens/tokenizer_read.h"

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
                       "tokenizer \"char\" is built from a text: give a FILE that has one, as from "
                       "tg-tokenize -t char text > FILE");
    return cli_tokenizer_of(tok, name, split, err);
}

/* A directory has files of a vocabulary, whether or not it is a model's. */
static tg_status has_model(const char *path, bool *model, tg_err *err)
{
    struct stat st;
    bool exists;
    const tg_status status = tg_path_examine(path, &st, &exists, err);

    *model = false;
    return status || S_ISDIR(st.st_mode) ? status : cli_model_is_foreign(path, model, err);
}

tg_status cli_tokenizer_of(const tg_tokenizer **tok, const char *path, const tg_split *split, tg_err *err)
{
    tg_model_file f;
    bool model;
    tg_status status = has_model(path, &model, err);

    *tok = NULL;
    if (status)
        return status;
    if (!model)
        return tg_vocab_file_open(tok, path, split, err);
    if (split)
        return tg_fail(err, TG_EUSAGE, "%s: a rule for splitting is only for .tiktoken files", path);
    if ((status = tg_model_file_open(&f, path, NULL, err)))
        return status;
    if (f.tokenizer)
        *tok = tg_tokenizer_ref(f.tokenizer);
    else
        status = tg_fail(err, TG_EDATA, "%s: %s without a tokenizer", path, tg_model_file_kind(&f));
    tg_model_file_close(&f);
    return status;
}

cli_content cli_vocab_content(tg_vocab_format format)
{
    const bool text = format == TG_VOCAB_TOKENIZER_JSON || format == TG_VOCAB_TIKTOKEN;

    return text ? CLI_OUT_VOCABULARY_TEXT : CLI_OUT_VOCABULARY;
}
