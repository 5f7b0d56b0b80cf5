#include "cmd/tg-sample/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "lib/base/grow.h"
#include "lib/base/utf8.h"

/* ---- bytes to standard output */

/* Write the bytes that waited.  On a terminal, control characters and bytes that are no part of a character
 * are escaped: they could move the cursor, or worse. */
static void put_character(sample_output *out)
{
    char shown[CLI_SHOWN_MAX];
    size_t n;

    if (out->waiting.n == 0)
        return;
    out->last = out->waiting.character[out->waiting.n - 1];
    if (out->terminal) {
        n = cli_show_end(&out->waiting, shown);
        fwrite(shown, 1, n, stdout);
    } else {
        fwrite(out->waiting.character, 1, out->waiting.n, stdout);
    }
    out->waiting.n = 0;
}

/* Bytes that may be the beginning of a character wait for its end. */
static void take_byte(sample_output *out, unsigned char byte)
{
    cli_shown *w = &out->waiting;
    char shown[CLI_SHOWN_MAX];
    size_t n;

    if (out->terminal) {
        out->last = byte;
        n = cli_show_byte(w, shown, byte);
        fwrite(shown, 1, n, stdout);
        return;
    }
    if (!tg_utf8_continues(byte))
        put_character(out);
    w->character[w->n++] = byte;
    if (!tg_utf8_is_cut(w->character, w->n))
        put_character(out);
}

static void write_bytes(sample_output *out, const unsigned char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        take_byte(out, text[i]);
}

/* End the text: its last line, if that is open and shall not stay so, or a NUL; then the separator.  A
 * character that the end cuts is left out, or shown on a terminal. */
static void end_text(sample_output *out)
{
    if (out->terminal)
        put_character(out);
    out->waiting.n = 0;
    if (out->ending == SAMPLE_NUL)
        putchar('\0');
    else if (out->last != '\n' && (out->terminal || out->ending == SAMPLE_LINE))
        putchar('\n');
    if (out->ending != SAMPLE_NUL && out->current + 1 < out->count)
        fputs("---\n", stdout);
    out->last = '\n';
    out->current++;
    out->begun = false;
}

/* ---- texts */

static tg_status append(sample_text *t, const void *bytes, size_t n, tg_err *err)
{
    const tg_status status = tg_grow(&t->bytes, &t->capacity, t->n + n, 1, "the texts in memory", err);

    if (status)
        return status;
    if (n > 0)
        memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    return TG_OK;
}

static tg_status release(sample_text *t, size_t n, tg_err *err)
{
    tg_status status = append(t, t->held, n, err);

    if (status)
        return status;
    t->n_held -= n;
    memmove(t->held, t->held + n, t->n_held);
    return TG_OK;
}

/* Append bytes once they cannot be part of `stop`, and hold them until then. */
static tg_status add_until_stop(const sample_output *out, sample_text *t, const unsigned char *text, size_t n,
                                tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && !t->done && i < n; i++) {
        t->held[t->n_held++] = text[i];
        while (!status && memcmp(t->held, out->stop, t->n_held) != 0)
            status = release(t, 1, err);
        t->done = t->n_held == out->stop_length;
    }
    return status;
}

tg_status sample_output_begin(sample_output *out, const tg_tokenizer *tok, size_t count, const char *stop,
                              sample_ending ending, tg_err *err)
{
    *out = (sample_output){
        .terminal = isatty(STDOUT_FILENO), .ending = ending, .stop = stop, .count = count, .last = '\n'};
    out->text = calloc(count, sizeof *out->text);
    if (!out->text) {
        out->count = 0;
        return tg_fail_memory(err, count * sizeof *out->text, "the texts");
    }
    out->prompt.decoder.tok = tok;
    for (size_t i = 0; i < count; i++)
        out->text[i].decoder.tok = tok;
    if (!stop)
        return TG_OK;
    out->stop_length = strlen(stop);
    for (size_t i = 0; i < count; i++) {
        if (!(out->text[i].held = malloc(out->stop_length)))
            return tg_fail_memory(err, out->stop_length, "the bytes of --stop");
    }
    return TG_OK;
}

static tg_status add_bytes(const sample_output *out, sample_text *t, const unsigned char *bytes, size_t n,
                           tg_err *err)
{
    if (t->done)
        return TG_OK;
    return out->stop && t != &out->prompt ? add_until_stop(out, t, bytes, n, err) : append(t, bytes, n, err);
}

tg_status sample_output_add(sample_output *out, size_t i, int32_t id, tg_err *err)
{
    static const unsigned char space[] = " ";
    sample_text *t = i == SAMPLE_PROMPT ? &out->prompt : &out->text[i];
    size_t n;
    const unsigned char *bytes = tg_decoder_next(&t->decoder, id, &n);
    const tg_status status = add_bytes(out, t, bytes, n, err);

    /* without text, the token is its number */
    return status || tg_tokenizer_has_text(t->decoder.tok) ? status : add_bytes(out, t, space, 1, err);
}

void sample_output_follow(sample_output *out, int32_t id)
{
    for (size_t i = 0; i < out->count; i++) {
        out->text[i].decoder.begun = true;
        out->text[i].decoder.last = id;
    }
}

/* Write the waiting bytes of the current text. */
static void write_waiting(sample_output *out)
{
    sample_text *t = &out->text[out->current];

    if (!out->begun)
        write_bytes(out, out->prompt.bytes, out->prompt.n);
    out->begun = true;
    write_bytes(out, t->bytes, t->n);
    t->n = 0;
}

tg_status sample_output_flush(sample_output *out, tg_err *err)
{
    if (out->silent) {
        for (size_t i = 0; i < out->count; i++)
            out->text[i].n = 0;
        return TG_OK;
    }
    write_waiting(out);
    while (out->text[out->current].done && out->current + 1 < out->count) {
        end_text(out);
        write_waiting(out);
    }
    return sample_output_flush_lines(err);
}

tg_status sample_output_flush_lines(tg_err *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TG_OK;
    (void)tg_fail_sys(err, "cannot write");
    return tg_err_in(err, "standard output");
}

bool sample_output_all_done(const sample_output *out)
{
    for (size_t i = 0; i < out->count; i++) {
        if (!out->text[i].done)
            return false;
    }
    return true;
}

void sample_output_end(sample_output *out)
{
    while (!out->silent && out->current < out->count) {
        const sample_text *t = &out->text[out->current];

        write_waiting(out);
        if (!t->done) /* the held bytes are text after all */
            write_bytes(out, t->held, t->n_held);
        end_text(out);
    }
}

void sample_output_free(sample_output *out)
{
    if (out->terminal)
        put_character(out);
    if (out->terminal && out->last != '\n')
        putchar('\n');
    for (size_t i = 0; i < out->count; i++) {
        free(out->text[i].bytes);
        free(out->text[i].held);
    }
    free(out->prompt.bytes);
    free(out->text);
    *out = (sample_output){0};
}
