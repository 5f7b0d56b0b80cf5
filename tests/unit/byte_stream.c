#include "tests/unit/byte_stream.h"

#include "lib/tokens/tokenizer_read.h"
#include "tests/unit/check.h"

tg_tokens byte_stream(void)
{
    static unsigned char text[BYTE_STREAM];
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_tokenizer_create(&tok, NULL, &err), &err);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)('a' + i * i % 23 % 26);
    return (tg_tokens){.tokenizer = tok, .count = sizeof text, .width = 1, .data = text};
}
