#include "lib/text/token_texts.h"

#include <stdlib.h>

tg_status tg_token_texts_put(tg_archive_writer *w, const char *name, size_t dims, const size_t *shape,
                             const tg_tokenizer *tok, tg_token_text_of text_of, const int64_t *ids, size_t n,
                             tg_err *err)
{
    char *text;
    tg_status status;

    if (!tg_tokenizer_has_text(tok))
        return TG_OK;
    if (!(text = calloc(n > 0 ? n : 1, TG_TOKEN_TEXT_SIZE)))
        return tg_fail_memory(err, n * TG_TOKEN_TEXT_SIZE, "the tokens' texts");
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= 0)
            (void)text_of(tok, text + i * TG_TOKEN_TEXT_SIZE, TG_TOKEN_TEXT_SIZE, (int32_t)ids[i]);
    status = tg_archive_put(w, name, (tg_dtype){'S', TG_TOKEN_TEXT_SIZE}, dims, shape, text, err);
    free(text);
    return status;
}

tg_status tg_token_id_put(tg_archive_writer *w, const char *id_name, const char *text_name,
                          const tg_tokenizer *tok, tg_token_text_of text_of, int64_t id, tg_err *err)
{
    const tg_status status = tg_archive_put_i64(w, id_name, id, err);

    return status || id < 0 ? status : tg_token_texts_put(w, text_name, 0, NULL, tok, text_of, &id, 1, err);
}

tg_status tg_token_ids_put(tg_archive_writer *w, const char *ids_name, const char *text_name,
                           const tg_tokenizer *tok, tg_token_text_of text_of, const int32_t *ids, size_t T,
                           tg_err *err)
{
    int64_t *wide = malloc(T * sizeof *wide);
    tg_status status;

    if (!wide)
        return tg_fail_memory(err, T * sizeof *wide, "the tokens");
    for (size_t t = 0; t < T; t++)
        wide[t] = ids[t];
    if (!(status = tg_archive_put(w, ids_name, TG_I64, 1, &T, wide, err)))
        status = tg_token_texts_put(w, text_name, 1, &T, tok, text_of, wide, T, err);
    free(wide);
    return status;
}
