/* view: the labels of tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/view.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/view/label.h"

#define SHOWN 1024 /* bytes of a token's text, of which a label has fewer */

void view_field(tg_sink *out, const char *label, size_t columns, const char *more)
{
    const bool cut = tg_label_width(label) > columns;
    size_t used;

    tg_sink_put(out, label, tg_label_fit(label, columns - (cut && columns > 0), &used));
    if (cut && columns > 0) {
        tg_sink_put(out, more, strlen(more));
        used++;
    }
    for (; used < columns; used++)
        tg_sink_put(out, " ", 1);
}

void view_make_label(char label[VIEW_LABEL], const char *text, size_t n)
{
    char shown[SHOWN], visible[3 * SHOWN];

    cli_escape(shown, sizeof shown, (const unsigned char *)text, n);
    (void)tg_label_show(visible, sizeof visible, shown, strlen(shown));
    tg_label_copy(label, VIEW_LABEL, VIEW_LABEL, visible);
}

/* Whether a label tells its id: it shows the byte of this number, or the number itself. */
static bool tells(const char *label, long long id)
{
    const unsigned char byte = (unsigned char)id;
    char want[32];

    if (id == byte) {
        (void)tg_label_show_token(want, sizeof want, &byte, 1);
        if (strcmp(label, want) == 0)
            return true;
    }
    snprintf(want, sizeof want, "%lld", id);
    return strcmp(label, want) == 0;
}

/* ---- characters that several tokens share, as those of a vocabulary of bytes do */

/* Where the bytes of the tokens are. */
struct bytes {
    unsigned char *data;
    size_t *first; /* [T + 1], of each token in data */
};

static tg_status find_bytes(struct bytes *b, const tg_dump *dump, tg_err *err)
{
    const size_t T = dump->T, size = T * dump->text_size;

    b->data = malloc(size + 1); /* all may be empty */
    b->first = malloc((T + 1) * sizeof *b->first);
    if (!b->data || !b->first)
        return tg_fail_memory(err, size + (T + 1) * sizeof *b->first, "the tokens' bytes");
    b->first[0] = 0;
    for (size_t t = 0; t < T; t++) {
        const char *text = dump->text + t * dump->text_size;

        b->first[t + 1] =
            b->first[t] + tg_label_bytes(b->data + b->first[t], text, strnlen(text, dump->text_size));
    }
    return TG_OK;
}

/* The end of the tokens that characters tie to token t. */
static size_t end_of_tied(const struct bytes *b, size_t T, size_t t)
{
    const size_t n = b->first[T];
    size_t end = t + 1;

    for (size_t at = b->first[t], length; at < b->first[end]; at += length) {
        uint32_t code;

        length = tg_size_max(tg_utf8_decode(&code, b->data + at, n - at), 1);
        while (at + length > b->first[end])
            end++;
    }
    return end;
}

/* Label the first token of each character with it, and leave the others' labels blank. */
static tg_status gather_characters(view *v, tg_err *err)
{
    const size_t T = v->dump->T;
    struct bytes b = {0};
    tg_status status = find_bytes(&b, v->dump, err);

    for (size_t t = 0, end; !status && t < T; t = end) {
        char visible[3 * SHOWN];

        end = end_of_tied(&b, T, t);
        if (end == t + 1)
            continue;
        (void)tg_label_show_token(visible, sizeof visible, b.data + b.first[t], b.first[end] - b.first[t]);
        tg_label_copy(v->label[t], VIEW_LABEL, VIEW_LABEL, visible);
        for (size_t other = t + 1; other < end; other++)
            v->label[other][0] = '\0';
    }
    free(b.data);
    free(b.first);
    return status;
}

tg_status view_make_labels(view *v, tg_err *err)
{
    const tg_dump *dump = v->dump;
    size_t widest = strlen("id");
    bool told = true;

    if (!dump->text)
        return TG_OK;
    if (!(v->label = calloc(dump->T, sizeof *v->label)))
        return tg_fail_memory(err, dump->T * sizeof *v->label, "the tokens' texts");
    for (size_t t = 0; t < dump->T; t++) {
        const char *text = dump->text + t * dump->text_size;

        view_make_label(v->label[t], text, strnlen(text, dump->text_size));
        if (!dump->ids)
            continue;
        told = told && tells(v->label[t], (long long)dump->ids[t]);
        widest = tg_size_max(widest, (size_t)snprintf(NULL, 0, "%lld", (long long)dump->ids[t]));
    }
    v->id_width = told ? 0 : widest;
    return v->page ? TG_OK : gather_characters(v, err); /* a page shows the bytes as well */
}
