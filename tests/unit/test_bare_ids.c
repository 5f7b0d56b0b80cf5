/* The kind "ids": no text goes in, ids come out as numbers, archives carry it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/text/bare_ids.h"
#include "lib/text/encoder.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens.h"
#include "lib/tokens/tokens_write.h"
#include "tests/unit/check.h"

static const tg_tokenizer *create(size_t n)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_bare_ids_create(&tok, n, &err), &err);
    CHECK_EQ(tg_tokenizer_vocab_size(tok), n);
    CHECK(strcmp(tg_tokenizer_kind_name(tok), "ids") == 0);
    CHECK(!tg_tokenizer_has_text(tok) && !tg_tokenizer_ids_are_bytes(tok));
    return tok;
}

static void a_token_is_its_number(void)
{
    const size_t sizes[] = {1, 9, 10, 11, 1000, 50257, TG_BARE_IDS_MAX};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const tg_tokenizer *tok = create(sizes[i]);
        char want[32];
        size_t wrong = 0, n;

        for (size_t id = 0; id < sizes[i]; id++) {
            const unsigned char *text = tg_tokenizer_token(tok, (int32_t)id, &n);

            wrong += (size_t)snprintf(want, sizeof want, "%zu", id) != n || memcmp(text, want, n) != 0;
        }
        CHECK_EQ(wrong, 0);
        (void)tg_tokenizer_token(tok, (int32_t)sizes[i], &n);
        CHECK_EQ(n, 0);
        tg_tokenizer_free(tok);
    }
}

static void text_is_refused(void)
{
    const tg_tokenizer *tok = create(12);
    const unsigned char text[] = "7";
    tg_text rest = {text, 0};
    tg_encoder *e;
    int32_t ids[4];
    size_t n = 9;
    tg_err err = {0};

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    CHECK_OK(tg_encoder_encode(e, &rest, ids, 4, &n, &err), &err);
    CHECK_EQ(n, 0);
    CHECK_OK(tg_encoder_finish(e, ids, 4, &n, &err), &err);
    CHECK_EQ(n, 0);
    rest.n = 1;
    CHECK_EQ(tg_encoder_encode(e, &rest, ids, 4, &n, &err), TG_EDATA);
    CHECK_HAS(err.message, "only ids 0 to 11: give token ids (--ids), not text");
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
}

static void its_size_is_its_identity(void)
{
    const tg_tokenizer *a = create(300), *b = create(300), *c = create(301), *bytes, *other = create(256);
    tg_err err = {0};

    CHECK_OK(tg_tokenizer_same(a, b, &err), &err);
    CHECK_EQ(tg_tokenizer_same(a, c, &err), TG_EDATA);
    CHECK_HAS(err.message, "the tokens are of tokenizer \"ids\" with 301 ids, expected \"ids\" with 300 ids");
    CHECK_OK(tg_tokenizer_create(&bytes, "bytes", &err), &err);
    CHECK(tg_tokenizer_has_text(bytes));
    CHECK_EQ(tg_tokenizer_same(other, bytes, &err), TG_EDATA);
    tg_tokenizer_free(a);
    tg_tokenizer_free(b);
    tg_tokenizer_free(c);
    tg_tokenizer_free(other);
    tg_tokenizer_free(bytes);
}

static void sizes_are_checked(void)
{
    const size_t bad[] = {0, TG_BARE_IDS_MAX + 1, SIZE_MAX};

    for (size_t i = 0; i < 3; i++) {
        const tg_tokenizer *tok = create(1);
        tg_err err = {0};

        tg_tokenizer_free(tok);
        CHECK_EQ(tg_bare_ids_create(&tok, bad[i], &err), TG_EDATA);
        CHECK(tok == NULL);
        CHECK_HAS(err.message, "expected 1 to 4194304");
    }
}

static void archives(void)
{
    const int32_t ids[] = {0, 7, 299, 256, 12};
    const tg_tokenizer *tok = create(300);
    FILE *f = tmpfile();
    tg_tokens_writer *w;
    tg_tokens tokens = {0};
    tg_source source;
    int32_t back[5] = {0};
    tg_err err = {0};

    CHECK(f != NULL);
    CHECK_OK(tg_tokens_create(&w, fileno(f), tok, &err), &err);
    CHECK_OK(tg_tokens_write(w, ids, 5, &err), &err);
    CHECK_OK(tg_tokens_finish(w, &err), &err);
    tg_tokens_abandon(w);
    CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
    CHECK_OK(tg_source_open(&source, fileno(f), &err), &err);
    CHECK_OK(tg_tokens_load_source(&tokens, &source, 100, &err), &err);
    CHECK_OK(tg_tokenizer_same(tok, tokens.tokenizer, &err), &err);
    CHECK_EQ(tokens.count, 5);
    CHECK_EQ(tokens.width, 2);
    tg_tokens_get(&tokens, back, 0, 5);
    CHECK(memcmp(back, ids, sizeof ids) == 0);
    tg_tokens_free(&tokens);
    fclose(f);
    tg_tokenizer_free(tok);
}

int main(void)
{
    RUN(a_token_is_its_number);
    RUN(text_is_refused);
    RUN(its_size_is_its_identity);
    RUN(sizes_are_checked);
    RUN(archives);
    return check_done();
}
