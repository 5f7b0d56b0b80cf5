/* lib/tokens/stream: texts of bytes, whole and in pieces, from memory and from descriptors.  With other
 * tokenizers: tests/unit/test_tokenizer.c. */
#define _GNU_SOURCE /* memfd_create */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tokens/chunk.h"
#include "lib/tokens/stream.h"
#include "lib/tokens/tokenizer_read.h"
#include "tests/unit/check.h"
#include "tests/unit/deflated.h"
#include "tests/unit/files.h"

#define TEXT_SIZE 300000
static unsigned char text[TEXT_SIZE];
static int32_t text_ids[TEXT_SIZE];
static const tg_tokenizer *bytes;

static void make_text(void)
{
    tg_err err = {0};

    for (size_t i = 0; i < TEXT_SIZE; i++)
        text_ids[i] = text[i] = (unsigned char)(i * i % 251);
    CHECK_OK(tg_tokenizer_create(&bytes, "bytes", &err), &err);
}

/* ---- streams */

/* An open stream, read in pieces of `max`, repeats the text for `n` ids. */
static void drain(tg_tokens_stream *s, size_t max, size_t n)
{
    int32_t *ids = malloc(max * sizeof *ids);
    size_t got = 1, seen = 0;
    tg_err err = {0};

    while (got > 0) {
        bool same = true;

        CHECK_OK(tg_tokens_stream_next(s, ids, max, &got, &err), &err);
        for (size_t i = 0; i < got; i++)
            same = same && ids[i] == text[(seen + i) % TEXT_SIZE];
        CHECK(same);
        seen += got;
        CHECK(got == max || seen == n);
    }
    CHECK_EQ(seen, n);
    CHECK_EQ(s->count, n);
    CHECK_OK(tg_tokens_stream_next(s, ids, max, &got, &err), &err); /* stays at the end */
    CHECK_EQ(got, 0);
    tg_tokens_stream_close(s);
    free(ids);
}

static void streams_in_pieces(void)
{
    static const size_t pieces[] = {1024, 99991, 1 << 20};
    tg_err err = {0};
    tg_tokens_stream s;

    for (size_t i = 0; i < 3; i++) {
        FILE *plain = file_of(text, TEXT_SIZE), *tokens = tokens_of(text, TEXT_SIZE, 5);

        CHECK_OK(tg_tokens_stream_open(&s, bytes, fileno(plain), &err), &err);
        drain(&s, pieces[i], TEXT_SIZE);
        CHECK_OK(tg_tokens_stream_open(&s, bytes, fileno(tokens), &err), &err);
        drain(&s, pieces[i], (size_t)5 * TEXT_SIZE);
        tg_tokens_stream_open_ids(&s, bytes, text_ids, TEXT_SIZE);
        drain(&s, pieces[i], TEXT_SIZE);
        fclose(plain);
        fclose(tokens);
    }
}

static void stream_of_nothing(void)
{
    FILE *f = file_of("", 0);
    tg_err err = {0};
    tg_tokens_stream s;

    CHECK_OK(tg_tokens_stream_open(&s, bytes, fileno(f), &err), &err);
    drain(&s, 7, 0);
    tg_tokens_stream_open_ids(&s, bytes, NULL, 0);
    drain(&s, 7, 0);
    fclose(f);
}

static void ids_are_checked(void)
{
    const int32_t ids[] = {1, 2, 255, 256};
    int32_t got[4];
    size_t n;
    tg_err err = {0};
    tg_tokens_prompt p;
    tg_tokens_stream s;

    tg_tokens_stream_open_ids(&s, bytes, ids, 4);
    CHECK_OK(tg_tokens_stream_next(&s, got, 3, &n, &err), &err);
    CHECK_EQ(tg_tokens_stream_next(&s, got, 3, &n, &err), TG_EDATA);
    CHECK_HAS(err.message, "token 3 is 256: the model's vocabulary has 256 ids");
    tg_tokens_stream_close(&s);
    err = (tg_err){0};
    CHECK_EQ(tg_tokens_prompt_ids(&p, bytes, ids, 4, &err), TG_EDATA);
    CHECK_HAS(err.message, "token 3 is 256: the model's vocabulary has 256 ids");
    CHECK(p.ids == NULL);
}

/* A terminal's input goes on after its end has been read. */
static void the_end_is_read_once(void)
{
    int ends[2];
    tg_err err = {0};
    tg_tokens_prompt p;
    tg_tokens_stream s;

    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    for (size_t i = 0; i < 2; i++)
        CHECK(send(ends[1], text, 5, 0) == 5 && send(ends[1], text, 0, 0) == 0 &&
              send(ends[1], "after", 5, 0) == 5);
    close(ends[1]);
    CHECK_OK(tg_tokens_stream_open(&s, bytes, ends[0], &err), &err);
    drain(&s, 100, 5);
    CHECK_EQ(recv(ends[0], (char[9]){0}, 9, 0), 5);
    CHECK_OK(tg_tokens_prompt_read(&p, bytes, ends[0], &err), &err);
    CHECK_EQ(p.n, 5);
    CHECK_EQ(recv(ends[0], (char[9]){0}, 9, 0), 5);
    tg_tokens_prompt_free(&p);
    close(ends[0]);
}

/* ---- prompts */

/* It is the text, again and again; free it. */
static void expect(tg_tokens_prompt *p, size_t n)
{
    size_t i = 0;

    CHECK_EQ(p->n, n);
    while (i < p->n && p->ids[i] == text[i % TEXT_SIZE])
        i++;
    CHECK_EQ(i, n);
    tg_tokens_prompt_free(p);
}

static void prompts(void)
{
    static const size_t sizes[] = {0, 1, 63, 64, 255, 256, 257, 512, TEXT_SIZE};
    tg_err err = {0};
    tg_tokens_prompt p;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t n = sizes[i];
        FILE *plain = file_of(text, n);

        CHECK_OK(tg_tokens_prompt_text(&p, bytes, text, n, &err), &err);
        expect(&p, n);
        CHECK_OK(tg_tokens_prompt_ids(&p, bytes, text_ids, n, &err), &err);
        expect(&p, n);
        CHECK_OK(tg_tokens_prompt_read(&p, bytes, fileno(plain), &err), &err);
        expect(&p, n);
        fclose(plain);
    }
    for (size_t copies = 1; copies <= 3; copies++) {
        FILE *tokens = tokens_of(text, TEXT_SIZE, copies);

        CHECK_OK(tg_tokens_prompt_read(&p, bytes, fileno(tokens), &err), &err);
        expect(&p, copies * TEXT_SIZE);
        fclose(tokens);
    }
}

/* An archive on a memfd, and what has been put into it. */
static tg_archive_writer *begin_archive(int fd, const char *kind)
{
    tg_archive_writer *w;
    tg_err err = {0};

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_OK(tg_archive_put_text(w, "kind", kind, &err), &err);
    CHECK_OK(tg_archive_put_i64(w, "version", TG_TOKENS_VERSION, &err), &err);
    return w;
}

static void end_archive(tg_archive_writer *w, int fd)
{
    tg_err err = {0};

    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
}

static void refused(int fd, const char *why)
{
    tg_tokens_prompt p;
    tg_err err = {0};

    CHECK_EQ(tg_tokens_prompt_read(&p, bytes, fd, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
    CHECK(p.ids == NULL);
    close(fd);
}

static void other_archives_are_refused(void)
{
    const int fd = memfd_create("dump", 0);

    end_archive(begin_archive(fd, "dump"), fd);
    refused(fd, "dump");
}

/* Tokens in an archive can be a thousandth of their size: the limit also counts them. */
static void prompts_have_an_end(void)
{
    const size_t chunk = TG_TOKENS_CHUNK_MAX;
    unsigned char *zeros = calloc(chunk, 1);
    const int fd = memfd_create("tokens", 0), plain = memfd_create("text", 0);
    tg_archive_writer *w = begin_archive(fd, "tokens");
    tg_err err = {0};

    CHECK_OK(tg_tokenizer_put(bytes, w, &err), &err);
    for (size_t i = 0; i <= TG_TOKENS_PROMPT_MAX / chunk; i++) {
        char name[TG_CHUNK_NAME_SIZE];

        snprintf(name, sizeof name, TG_CHUNK_NAME, i);
        CHECK_OK(tg_archive_put(w, name, TG_U8, 1, &chunk, zeros, &err), &err);
    }
    end_archive(w, fd);
    deflate_archive(fd);
    refused(fd, "more than 67108864 tokens");
    CHECK(ftruncate(plain, (off_t)TG_TOKENS_PROMPT_MAX + 1) == 0);
    refused(plain, "more than 67108864 bytes of text");
    free(zeros);
}

int main(void)
{
    make_text();
    RUN(streams_in_pieces);
    RUN(stream_of_nothing);
    RUN(ids_are_checked);
    RUN(the_end_is_read_once);
    RUN(prompts);
    RUN(other_archives_are_refused);
    RUN(prompts_have_an_end);
    tg_tokenizer_free(bytes);
    return check_done();
}
