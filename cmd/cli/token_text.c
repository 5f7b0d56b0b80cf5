#include "cmd/cli/token_text.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/view/label.h"

#define SHOWN_SIZE (6 * CLI_TOKEN_TEXT_SIZE) /* of which more is never shown */

size_t cli_token_text(char *out, size_t size, size_t width, const tg_tokenizer *tok, int32_t id)
{
    size_t n;
    const unsigned char *text = tg_tokenizer_token(tok, id, &n);
    char shown[SHOWN_SIZE];

    (void)tg_label_show_token(shown, sizeof shown, text, n);
    tg_label_copy(out, size, width, shown);
    return strlen(out);
}

size_t cli_token_text_of(const void *context, char *out, size_t size, int32_t id)
{
    char text[CLI_TOKEN_TEXT_SIZE];
    const size_t n = cli_token_text(text, size + 1, SIZE_MAX, context, id);

    memcpy(out, text, n);
    return n;
}

tg_status cli_token_texts(char **text, size_t *size, const tg_tokenizer *tok, const int32_t *ids, size_t n,
                          tg_err *err)
{
    char one[CLI_TOKEN_TEXT_SIZE];

    *size = 1;
    for (size_t t = 0; t < n; t++)
        *size = tg_size_max(*size, cli_token_text(one, sizeof one, SIZE_MAX, tok, ids[t]));
    if (!(*text = calloc(n > 0 ? n : 1, *size)))
        return tg_fail_memory(err, n * *size, "the tokens' texts");
    for (size_t t = 0; t < n; t++) {
        const size_t bytes = cli_token_text(one, sizeof one, SIZE_MAX, tok, ids[t]);

        memcpy(*text + t * *size, one, bytes);
    }
    return TG_OK;
}
