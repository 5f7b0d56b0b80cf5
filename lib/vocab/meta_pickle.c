/* nanoGPT's meta.pkl: the characters of a text, each with its id. */
#include "formats/pickle.h"
#include "lib/base/utf8.h"
#include "lib/text/chars.h"
#include "lib/vocab/foreign.h"

/* "itos" is {0: '\n', 1: ' ', ...}.  nanoGPT sorts the characters, as this library does, so the ids
 * ascend with the code points; ids in another order cannot be kept. */
static tg_status take_chars(tg_chars *chars, const tg_pickle *p, const tg_pickle_value *itos, tg_err *err)
{
    uint32_t last = 0;

    for (size_t i = 0; i < itos->n; i += 2) {
        const tg_pickle_value *const id = tg_pickle_item(p, itos, i), *const text =
                                                                          tg_pickle_item(p, itos, i + 1);
        uint32_t code = 0;

        if (id->kind != TG_PICKLE_INT || id->of.integer != (int64_t)(i / 2))
            return tg_fail(err, TG_EDATA, "itos: entry %zu is not id %zu", i / 2, i / 2);
        if (text->kind != TG_PICKLE_TEXT || text->n == 0 ||
            tg_utf8_decode(&code, text->of.text, text->n) != text->n)
            return tg_fail(err, TG_EDATA, "itos: id %zu is not one character", i / 2);
        if (i > 0 && code <= last)
            return tg_fail(err, TG_EDATA,
                           "itos: id %zu, U+%04X, is not after U+%04X: expected ascending characters", i / 2,
                           (unsigned)code, (unsigned)last);
        tg_chars_add(chars, text->of.text, text->n);
        last = code;
    }
    return TG_OK;
}

static tg_status make_tokenizer(const tg_tokenizer **tok, const tg_pickle *p, tg_err *err)
{
    const tg_pickle_value *const itos = tg_pickle_find(p, p->root, "itos");
    tg_chars *chars;
    tg_status status;

    if (!itos || itos->kind != TG_PICKLE_DICT)
        return tg_fail(err, TG_EDATA, "a pickle without a dict \"itos\": not nanoGPT's meta.pkl");
    if (!(status = tg_chars_create(&chars, err)) && !(status = take_chars(chars, p, itos, err)))
        status = tg_chars_finish(chars, tok, err);
    tg_chars_free(chars);
    return status;
}

tg_status tg_meta_pickle_read(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err)
{
    tg_pickle p;
    tg_status status = tg_pickle_read(&p, file->text, file->n, err);

    *tok = NULL;
    if (!status)
        status = make_tokenizer(tok, &p, err);
    tg_pickle_free(&p);
    return status ? tg_err_in(err, file->name) : TG_OK;
}
