/* Where the ids of tg-tokenize go: archives, lines, text and numbers. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-tokenize/job.h"
#include "formats/crc.h"
#include "formats/json.h"
#include "formats/sink.h"
#include "lib/base/decimal.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

#define WAITING ((size_t)1 << 16) /* bytes of text that wait to be written; more for a longer token */

/* ---- text that waits */

static tg_status write_all(const tokenize_job *job, const void *data, size_t n, tg_err *err)
{
    return tg_write_all(job->out.fd, data, n, err) ? tg_err_in(err, job->out.name) : TG_OK;
}

/* Text must not control the terminal. */
static tg_status write_shown(tokenize_job *job, const unsigned char *text, size_t n, tg_err *err)
{
    char shown[4096];
    size_t used = 0;
    tg_status status = TG_OK;

    for (size_t i = 0; i < n && !status; i++) {
        used += cli_show_byte(&job->shown, shown + used, text[i]);
        if (used > sizeof shown - CLI_SHOWN_MAX) {
            status = write_all(job, shown, used, err);
            used = 0;
        }
    }
    return status ? status : write_all(job, shown, used, err);
}

static tg_status end_shown(tokenize_job *job, tg_err *err)
{
    char shown[CLI_SHOWN_MAX];

    return write_all(job, shown, cli_show_end(&job->shown, shown), err);
}

static tg_status write_out(tokenize_job *job, const void *data, size_t n, tg_err *err)
{
    return job->on_terminal ? write_shown(job, data, n, err) : write_all(job, data, n, err);
}

tg_status flush_output(tokenize_job *job, tg_err *err)
{
    const size_t n = job->text.n;

    job->text.n = 0;
    return n > 0 ? write_out(job, job->text.bytes, n, err) : TG_OK;
}

/* Make room for n more bytes. */
static tg_status reserve(tokenize_job *job, size_t n, tg_err *err)
{
    text_out *t = &job->text;
    tg_status status;

    if (n <= t->capacity - t->n)
        return TG_OK;
    status = flush_output(job, err);
    return status ? status : tg_grow(&t->bytes, &t->capacity, tg_size_max(n, WAITING), 1, "text", err);
}

static void put(text_out *t, const void *text, size_t n)
{
    memcpy(t->bytes + t->n, text, n);
    t->n += n;
}

static void put_number(text_out *t, uint64_t number, char end)
{
    t->n = (size_t)(tg_decimal_size(t->bytes + t->n, (size_t)number) - t->bytes);
    put(t, &end, 1);
}

#define PUT(t, literal) put(t, literal, sizeof(literal) - 1)

#define NUMBER 24        /* bytes of a number and what ends it */
#define SHOWN_PER_BYTE 4 /* "\x00" */
#define LINE 128         /* of --offsets without the token's text */

static void put_shown(text_out *t, const unsigned char *token, size_t n)
{
    t->n += tg_label_show_token(t->bytes + t->n, t->capacity - t->n, token, n);
}

/* The same as a value of tab-separated text; \x22 is as long as \x00. */
static void put_field(text_out *t, const unsigned char *token, size_t n)
{
    char *field = t->bytes + t->n;
    const size_t begin = t->n;

    put_shown(t, token, n);
    t->n = begin + tg_label_field(field, field, t->n - begin);
}

/* The same as a string of JSON, without quotes.  The visible text is put into the second half of the room:
 * escaped it is at most twice as long, so that what is written does not pass what is read. */
static void put_string(text_out *t, const unsigned char *token, size_t n)
{
    const size_t room = SHOWN_PER_BYTE * n;
    const char *shown = t->bytes + t->n + room;
    const size_t length = tg_label_show_token(t->bytes + t->n + room, room + 1, token, n);
    char escaped[TG_JSON_ESCAPE_MAX + 1];

    for (size_t i = 0; i < length; i++)
        put(t, escaped, tg_json_escape(escaped, (unsigned char)shown[i], ""));
}

/* ---- archives */

static tg_status begin_archive(tokenize_job *job, const tg_tokenizer *tok, tg_err *err)
{
    if (job->w)
        return TG_OK;
    if (tg_tokens_create(&job->w, job->out.fd, tok, err))
        return tg_err_in(err, job->out.name);
    if (job->has_mask && tg_tokens_begin_mask(job->w, err))
        return err->code;
    if (job->chat.tok && tg_tokens_note_chat(job->w, 1 + (tg_chat_note)job->chat.kind, err))
        return tg_err_in(err, job->out.name);
    return TG_OK;
}

static tg_status take_archive(tokenize_job *job, const tg_tokenizer *tok, const int32_t *ids, size_t n,
                              tg_err *err)
{
    const tg_status status = begin_archive(job, tok, err);

    if (status)
        return status;
    return tg_tokens_write_masked(job->w, ids, n, job->mask, err) ? tg_err_in(err, job->out.name) : TG_OK;
}

tg_status write_bytes(tokenize_job *job, const void *text, size_t n, tg_err *err)
{
    tg_status status;

    if (job->o->work == WORK_DECODE)
        return write_out(job, text, n, err);
    if ((status = begin_archive(job, job->tok, err)))
        return status;
    return tg_tokens_write_packed(job->w, text, n, err) ? tg_err_in(err, job->out.name) : TG_OK;
}

/* ---- lines */

static tg_status take_lines_of_ids(tokenize_job *job, const tg_tokenizer *tok, const int32_t *ids, size_t n,
                                   tg_err *err)
{
    tg_status status = TG_OK;

    (void)tok;
    for (size_t t = 0; t < n && !(status = reserve(job, NUMBER, err)); t++)
        put_number(&job->text, (uint64_t)ids[t], '\n');
    return status;
}

static tg_status take_pieces(tokenize_job *job, const tg_tokenizer *tok, const int32_t *ids, size_t n,
                             tg_err *err)
{
    static const char marks[TG_MASKS][3] = {
        [TG_MASK_READ] = "  ", [TG_MASK_PREDICTED] = "> ", [TG_MASK_FIRST] = "| "};

    for (size_t t = 0; t < n; t++) {
        size_t length;
        const unsigned char *token = tg_tokenizer_token(tok, ids[t], &length);
        const tg_status status = reserve(job, SHOWN_PER_BYTE * length + sizeof "| \"\"\n", err);

        if (status)
            return status;
        if (job->has_mask)
            put(&job->text, marks[job->mask], 2);
        put(&job->text, "\"", 1);
        put_shown(&job->text, token, length);
        put(&job->text, "\"\n", 2);
    }
    return TG_OK;
}

static tg_status put_titles(tokenize_job *job, tg_err *err)
{
    static const char titles[] = "id\tfrom\tto\ttext\n";
    tg_status status;

    if (job->tokens > 0 || job->o->lines == LINES_JSONL || job->o->no_header)
        return TG_OK;
    if (!(status = reserve(job, sizeof titles, err)))
        PUT(&job->text, titles);
    return status;
}

/* The line of a token whose text begins and ends at these offsets. */
static void put_line(text_out *t, tokenize_lines lines, int32_t id, uint64_t from, uint64_t to,
                     const unsigned char *token, size_t length)
{
    if (lines == LINES_TSV) {
        put_number(t, (uint64_t)id, '\t');
        put_number(t, from, '\t');
        put_number(t, to, '\t');
        put_field(t, token, length);
        PUT(t, "\n");
        return;
    }
    PUT(t, "{\"id\":");
    put_number(t, (uint64_t)id, ',');
    PUT(t, "\"from\":");
    put_number(t, from, ',');
    PUT(t, "\"to\":");
    put_number(t, to, ',');
    PUT(t, "\"text\":\"");
    put_string(t, token, length);
    PUT(t, "\"}\n");
}

static tg_status take_offsets(tokenize_job *job, const tg_tokenizer *tok, const int32_t *ids, size_t n,
                              tg_err *err)
{
    tg_status status = put_titles(job, err);

    job->decoder.tok = tok;
    for (size_t t = 0; t < n && !status; t++) {
        size_t length, width;
        const unsigned char *token = tg_tokenizer_token(tok, ids[t], &length);
        const unsigned char *decoded = tg_decoder_next(&job->decoder, ids[t], &width);

        width = job->added || !tg_tokenizer_has_text(tok) ? 0 : width;
        if ((status = reserve(job, LINE + 2 * SHOWN_PER_BYTE * length, err)))
            break;
        put_line(&job->text, job->o->lines, ids[t], job->at, job->at + width, token, length);
        if (!job->from_archive)
            job->tokens_crc = tg_crc32(job->tokens_crc, decoded, width);
        job->at += width;
    }
    job->tokens += n;
    return status;
}

/* ---- text */

static tg_status take_text(tokenize_job *job, const tg_tokenizer *tok, const int32_t *ids, size_t n,
                           tg_err *err)
{
    tg_status status = TG_OK;

    job->decoder.tok = tok;
    for (size_t t = 0; t < n && !status; t++) {
        size_t length;
        const unsigned char *token = tg_decoder_next(&job->decoder, ids[t], &length);

        if ((status = reserve(job, length + 1, err)))
            break;
        put(&job->text, token, length);
        if (!tg_tokenizer_has_text(tok)) /* the token is its number */
            put(&job->text, " ", 1);
    }
    return status;
}

/* ---- numbers */

static tg_status take_count(tokenize_job *job, const tg_tokenizer *tok, const int32_t *ids, size_t n,
                            tg_err *err)
{
    (void)err;
    job->tokens += n;
    job->decoder.tok = tok;
    for (size_t t = 0; t < n && job->from_archive && tg_tokenizer_has_text(tok); t++) {
        size_t length;

        (void)tg_decoder_next(&job->decoder, ids[t], &length);
        job->bytes += length;
    }
    return TG_OK;
}

/* Only the number of tokens, for scripts; the rest for people, unless every token is one byte. */
static void print_count(const tokenize_job *job)
{
    printf("%llu\n", (unsigned long long)job->tokens);
    if (job->tokens > 0 && job->bytes > 0 && job->bytes != job->tokens)
        cli_note("%s bytes, %.3f bytes per token", cli_count(job->bytes),
                 (double)job->bytes / (double)job->tokens);
}

/* ---- the end */

static tg_status finish_offsets(tokenize_job *job, tg_err *err)
{
    const tg_status status = put_titles(job, err);

    if (job->text_crc != job->tokens_crc)
        cli_say(
            "the tokens' texts differ from the text that was read: the offsets refer to the tokens' texts");
    return status ? status : flush_output(job, err);
}

tg_status finish_output(tokenize_job *job, tg_err *err)
{
    switch (job->o->work) {
    case WORK_ARCHIVE:
        return tg_tokens_finish(job->w, err) ? tg_err_in(err, job->out.name) : TG_OK;
    case WORK_OFFSETS:
        return finish_offsets(job, err);
    case WORK_COUNT:
        print_count(job);
        return TG_OK;
    case WORK_DECODE:
    case WORK_UNLIST:
        return flush_output(job, err) || end_shown(job, err) ? err->code : TG_OK;
    default:
        return flush_output(job, err);
    }
}

void choose_output(tokenize_job *job)
{
    static take_ids *const takes[] = {
        [WORK_ARCHIVE] = take_archive, [WORK_IDS] = take_lines_of_ids, [WORK_PIECES] = take_pieces,
        [WORK_OFFSETS] = take_offsets, [WORK_COUNT] = take_count,      [WORK_DECODE] = take_text,
        [WORK_UNLIST] = take_text,     [WORK_CONVERT] = NULL,
    };

    job->take = takes[job->o->work];
}

void output_free(tokenize_job *job)
{
    tg_tokens_abandon(job->w);
    free(job->text.bytes);
}
