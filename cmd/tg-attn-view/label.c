/* view: the labels of tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/view.h"
#include "lib/base/size.h"
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

/* tg-attn-dump has made the texts visible, but another program may not. */
static void make_label(char label[VIEW_LABEL], const char *text, size_t n)
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

        make_label(v->label[t], text, strnlen(text, dump->text_size));
        if (!dump->ids)
            continue;
        told = told && tells(v->label[t], (long long)dump->ids[t]);
        widest = tg_size_max(widest, (size_t)snprintf(NULL, 0, "%lld", (long long)dump->ids[t]));
    }
    v->id_width = told ? 0 : widest;
    return TG_OK;
}
