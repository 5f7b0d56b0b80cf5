/* Lists of texts, of which a vocabulary in a GGUF file has two; and names of rows without a token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/models/gguf_vocab.h"
#include "lib/vocab/byte_map.h"

static const char padding[] = "[PAD";

const char *tg_gguf_padding(char text[TG_GGUF_PADDING_SIZE], size_t id)
{
    snprintf(text, TG_GGUF_PADDING_SIZE, "%s%zu]", padding, id);
    return text;
}

bool tg_gguf_is_padding(tg_span text)
{
    return text.n >= sizeof padding - 1 && memcmp(text.p, padding, sizeof padding - 1) == 0;
}

tg_status tg_gguf_texts_put(tg_gguf_texts *t, const void *text, size_t n, bool mapped, tg_err *err)
{
    const unsigned char *bytes = text;
    const tg_status status =
        tg_grow(&t->p, &t->capacity, t->used + TG_BYTE_MAP_MAX * n, 1, "a vocabulary", err);

    for (size_t i = 0; !status && i < n; i++) {
        t->p[t->used] = (char)bytes[i];
        t->used += mapped ? tg_byte_map_put(t->p + t->used, bytes[i]) : 1;
    }
    return status;
}

tg_status tg_gguf_texts_end(tg_gguf_texts *t, tg_err *err)
{
    const tg_status status =
        tg_grow(&t->ends, &t->ends_capacity, t->n + 1, sizeof *t->ends, "a vocabulary", err);

    if (!status)
        t->ends[t->n++] = t->used;
    return status;
}

tg_span tg_gguf_texts_at(const tg_gguf_texts *t, size_t i)
{
    const size_t begin = i > 0 ? t->ends[i - 1] : 0;

    return (tg_span){t->p + begin, t->ends[i] - begin};
}

void tg_gguf_texts_free(tg_gguf_texts *t)
{
    free(t->p);
    free(t->ends);
    *t = (tg_gguf_texts){0};
}
