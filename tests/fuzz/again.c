#include "tests/fuzz/again.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/input.h"

#define WRITTEN_MAX ((size_t)1 << 22) /* bytes that are enough for what is written of an input */

bool again(const tg_tokenizer *tok, tg_vocab_format format,
           tg_status (*read)(const tg_tokenizer **tok, const uint8_t *data, size_t size))
{
    const int fd = input_file(NULL, 0);
    const tg_status status = tg_vocab_file_write(fd, tok, format, NULL);
    static uint8_t written[WRITTEN_MAX];
    uint8_t *text = NULL;
    const tg_tokenizer *back;
    size_t n;

    must(status == TG_OK || status == TG_EUSAGE);
    if (!status) {
        n = input_take(fd, written, WRITTEN_MAX);
        must(n < WRITTEN_MAX && (text = malloc(n)) != NULL);
        memcpy(text, written, n);
        must(read(&back, text, n) == TG_OK);
        must(tg_tokenizer_same(tok, back, NULL) == TG_OK);
        tg_tokenizer_free(back);
        free(text);
    }
    return !status;
}
