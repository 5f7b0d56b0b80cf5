#include "cmd/tg-sample/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* ---- bytes to standard output */

static void show_character(sample_output *out)
{
    char shown[4 * sizeof out->character + 1];

    cli_escape(shown, sizeof shown, out->character, out->n_character);
    fputs(shown, stdout);
    out->n_character = 0;
}

/* A terminal gets no control characters, nor bytes that are none of valid UTF-8: they
 * could move its cursor or worse.  So it gets whole characters. */
static void show_byte(sample_output *out, unsigned char byte)
{
    if (!tg_utf8_continues(byte))
        show_character(out);
    if (byte == '\n' || byte == '\t') {
        putchar(byte);
        return;
    }
    out->character[out->n_character++] = byte;
    if (out->n_character >= tg_utf8_length(out->character[0]))
        show_character(out);
}

/* Everything but a terminal gets the bytes as they are. */
static void write_bytes(sample_output *out, const unsigned char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out->last = text[i];
        if (out->terminal)
            show_byte(out, text[i]);
        else
            putchar(text[i]);
    }
}

/* The line of a terminal ends; on others, only where another text follows. */
static void end_text(sample_output *out)
{
    show_character(out);
    if (out->zero)
        putchar('\0');
    else if (out->last != '\n' && (out->terminal || out->count > 1))
        putchar('\n');
    if (!out->zero && out->turn + 1 < out->count)
        fputs("---\n", stdout);
    out->last = '\n';
    out->turn++;
    out->begun = false;
}

/* ---- texts */

static tg_status append(sample_text *t, const unsigned char *bytes, size_t n, tg_err *err)
{
    size_t room = tg_size_max(t->room, 256);
    unsigned char *more;

    while (room - t->n < n)
        room *= 2;
    if (room > t->room) {
        if (!(more = realloc(t->bytes, room)))
            return tg_fail_memory(err, room, "the texts that wait");
        t->bytes = more;
        t->room = room;
    }
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

/* Append what of the text, and what was held back, cannot be part of `stop`. */
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

tg_status sample_output_begin(sample_output *out, size_t count, const char *stop, bool zero, tg_err *err)
{
    *out = (sample_output){
        .terminal = isatty(STDOUT_FILENO), .zero = zero, .stop = stop, .count = count, .last = '\n'};
    out->text = calloc(count, sizeof *out->text);
    if (!out->text) {
        out->count = 0;
        return tg_fail_memory(err, count * sizeof *out->text, "the texts");
    }
    if (!stop)
        return TG_OK;
    out->stop_length = strlen(stop);
    for (size_t i = 0; i < count; i++) {
        if (!(out->text[i].held = malloc(out->stop_length)))
            return tg_fail_memory(err, out->stop_length, "the text that is held back");
    }
    return TG_OK;
}

tg_status sample_output_prompt(sample_output *out, const unsigned char *text, size_t n, tg_err *err)
{
    return append(&out->prompt, text, n, err);
}

tg_status sample_output_add(sample_output *out, size_t i, const unsigned char *text, size_t n, tg_err *err)
{
    sample_text *t = &out->text[i];

    if (t->done)
        return TG_OK;
    return out->stop ? add_until_stop(out, t, text, n, err) : append(t, text, n, err);
}

/* What has come of the text whose turn it is. */
static void write_waiting(sample_output *out)
{
    sample_text *t = &out->text[out->turn];

    if (!out->begun)
        write_bytes(out, out->prompt.bytes, out->prompt.n);
    out->begun = true;
    write_bytes(out, t->bytes, t->n);
    t->n = 0;
}

tg_status sample_output_flush(sample_output *out, tg_err *err)
{
    write_waiting(out);
    while (out->text[out->turn].done && out->turn + 1 < out->count) {
        end_text(out);
        write_waiting(out);
    }
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
    while (out->turn < out->count) {
        const sample_text *t = &out->text[out->turn];

        write_waiting(out);
        if (!t->done) /* what was held back turned out to be text */
            write_bytes(out, t->held, t->n_held);
        end_text(out);
    }
}

void sample_output_free(sample_output *out)
{
    show_character(out);
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
