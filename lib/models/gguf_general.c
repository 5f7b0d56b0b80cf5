#include "lib/models/gguf_general.h"

#include <string.h>

#include "lib/models/gguf_keys.h"

#define BEGIN "general."

/* A text's bytes follow their number. */
#define NUMBER sizeof(uint64_t)

/* Whether a value is a text for people: not of the file's own form, which the writer knows. */
static bool is_kept(const tg_gguf_value *v)
{
    return v->type == TG_GGUF_TEXT && !v->array && v->bytes >= NUMBER && v->key.n < TG_GGUF_KEY_MAX &&
           v->key.n > strlen(BEGIN) && memcmp(v->key.p, BEGIN, strlen(BEGIN)) == 0 &&
           !tg_span_is(v->key, "general.architecture") && !tg_span_is(v->key, "general.file_type") &&
           !tg_span_is(v->key, "general.quantization_version") && !tg_span_is(v->key, "general.alignment");
}

tg_status tg_gguf_general_keep(tg_model_file *f, const tg_gguf *g, tg_err *err)
{
    for (size_t i = 0; i < g->n_values; i++) {
        const tg_gguf_value *v = &g->value[i];

        if (!is_kept(v))
            continue;
        if (f->n_general == TG_GENERAL_MAX)
            return tg_notes_add(&f->notes, err, "of its texts general.*, the first %d are kept",
                                TG_GENERAL_MAX);
        f->general[f->n_general++] = (tg_general){v->key, {(const char *)v->at + NUMBER, v->bytes - NUMBER}};
    }
    return TG_OK;
}

void tg_gguf_general_put(tg_gguf_writer *w, const tg_model_file *f)
{
    char key[TG_GGUF_KEY_MAX];

    for (size_t i = 0; i < f->n_general; i++) {
        const tg_general *v = &f->general[i];

        memcpy(key, v->key.p, v->key.n);
        key[v->key.n] = '\0';
        tg_gguf_put_text(w, key, v->text.p, v->text.n);
    }
}
