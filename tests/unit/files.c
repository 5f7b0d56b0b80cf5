#include "tests/unit/files.h"

#include <unistd.h>

#include "lib/text/tokenizer.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens_write.h"
#include "tests/unit/check.h"

FILE *file_of(const void *data, size_t n)
{
    FILE *f = tmpfile();

    CHECK(f != NULL && fwrite(data, 1, n, f) == n && fflush(f) == 0 && lseek(fileno(f), 0, SEEK_SET) == 0);
    return f;
}

FILE *tokens_of(const void *text, size_t n, size_t copies)
{
    const tg_tokenizer *tok;
    tg_tokens_writer *w;
    tg_err err = {0};
    FILE *f = tmpfile();

    CHECK(f != NULL);
    CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
    while (copies-- > 0) {
        CHECK_OK(tg_tokens_create(&w, fileno(f), tok, &err), &err);
        CHECK_OK(tg_tokens_write_packed(w, text, n, &err), &err);
        CHECK_OK(tg_tokens_finish(w, &err), &err);
        tg_tokens_abandon(w);
    }
    tg_tokenizer_free(tok);
    CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
    return f;
}
