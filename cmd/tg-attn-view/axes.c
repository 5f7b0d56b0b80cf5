/* view: the tokens along the sides of a map in a terminal. */
#include <stdio.h>
#include <string.h>

#include "cmd/tg-attn-view/ansi.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

#define LABEL_MAX 14   /* columns of a query's token */
#define RANGE_MIN 8    /* columns of the tokens of a line that stands for several: fewer say nothing, */
#define RANGE_MAX 40   /* and more distract */
#define KEY_LINES 8    /* max lines of the keys' tokens above a map, */
#define TICKS_DENSE 10 /* cells in a row: of no more, each has its number if that fits */
#define DENSE_LINES 4  /* and where the tokens touch: longer ones could not be read */

void ansi_repeat(struct ansi *a, const char *text, size_t n)
{
    while (n-- > 0)
        tg_sink_put(a->out, text, strlen(text));
}

/* ---- tokens */

const char *ansi_visible(const struct ansi *a, const char *label, char out[ANSI_TOKEN])
{
    char ascii[ANSI_TOKEN];
    const char *from = label;
    size_t used = 0;

    if (!a->utf8) {
        (void)tg_label_show_ascii(ascii, sizeof ascii, from, strlen(from));
        from = ascii;
    }
    for (; *from != '\0' && used + 3 < ANSI_TOKEN; from++) {
        const char *piece = *from == ' ' ? a->blank : (const char[]){*from, '\0'};

        memcpy(out + used, piece, strlen(piece));
        used += strlen(piece);
    }
    out[used] = '\0';
    return out;
}

const char *ansi_token(const struct ansi *a, size_t t, char out[ANSI_TOKEN])
{
    return ansi_visible(a, a->v->label[t], out);
}

static size_t token_width(const struct ansi *a, size_t t)
{
    char buffer[ANSI_TOKEN];

    return tg_label_width(ansi_token(a, t, buffer));
}

size_t ansi_widest_tokens(const struct ansi *a, size_t n, size_t max)
{
    size_t widest = 0;

    for (size_t first = 0; a->v->label && first < a->v->dump->T && widest < max; first += n) {
        size_t columns = n - 1;

        for (size_t t = first; t < tg_size_min(first + n, a->v->dump->T); t++)
            columns += token_width(a, t);
        widest = tg_size_max(widest, columns);
    }
    return tg_size_min(widest, max);
}

/* ---- queries */

size_t ansi_queries(const ansi_layout *l)
{
    return l->n * (l->halves ? 2 : 1);
}

ansi_margin ansi_margin_for(const struct ansi *a, const ansi_layout *l)
{
    const size_t digits = tg_decimal_digits(a->v->dump->T - 1);
    ansi_margin m = {.digits = digits};

    if (l->n == 1)
        m.text = ansi_widest_tokens(a, ansi_queries(l), LABEL_MAX);
    m.columns = l->n > 1 ? 2 * digits + 2 : digits + 1 + (m.text > 0 ? m.text + 1 : 0);
    m.columns = tg_size_max(m.columns, strlen("key") + 1);
    return m;
}

void ansi_widen_margin(ansi_margin *m, const struct ansi *a, const ansi_layout *l)
{
    const size_t used = m->columns + l->side * l->columns, room = a->width - tg_size_min(a->width, used);
    const size_t id = m->text > 0 && ansi_queries(l) == 1 ? a->v->id_width : 0;

    if (id > 0 && id < room) {
        m->id = id;
        m->columns += id + 1;
    } else if (l->n > 1 && a->v->id_width > 0 && room > RANGE_MIN) {
        m->text = tg_size_min(room - 1, RANGE_MAX);
        m->columns += m->text + 1;
    }
}

/* Write the tokens first .. end - 1 to `text` [size], as far as they fit, with `between` between them. */
static void join_tokens(const struct ansi *a, size_t first, size_t end, const char *between, char *text,
                        size_t size)
{
    char buffer[ANSI_TOKEN];
    size_t used = 0;

    *text = '\0';
    for (size_t t = first; t < end && used + 1 < size; t++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", t > first ? between : "",
                                 ansi_token(a, t, buffer));
}

void ansi_put_query(struct ansi *a, const ansi_margin *m, const ansi_layout *l, size_t first)
{
    const size_t T = a->v->dump->T, end = tg_size_min(first + ansi_queries(l), T);
    char text[4 * ANSI_TOKEN], position[64];
    size_t used = l->n > 1 ? 2 * m->digits + 1 : m->digits;

    snprintf(position, sizeof position, l->n > 1 ? "%*zu-%zu" : "%*zu", (int)m->digits, first, end - 1);
    view_field(a->out, position, used, a->more);
    if (m->text > 0) {
        join_tokens(a, first, end, l->n > 1 ? "" : " ", text, sizeof text);
        tg_sink_put(a->out, " ", 1);
        view_field(a->out, text, m->text, a->more);
        used += 1 + m->text;
    }
    if (m->id > 0) {
        tg_sink_print(a->out, " %*lld", (int)m->id, (long long)a->v->dump->ids[first]);
        used += 1 + m->id;
    }
    ansi_repeat(a, " ", m->columns - used);
}

/* ---- keys */

/* The lines of a token that is written upright. */
static size_t token_height(const char *text)
{
    size_t lines = 0, columns;

    for (size_t n; lines < KEY_LINES && (n = tg_label_next_letter(text, &columns)) > 0; text += n)
        lines++;
    return lines;
}

/* Print line number `line` of a token, upright. */
static void put_letter(struct ansi *a, const char *at, size_t line, size_t cell, bool last)
{
    char letter[64] = "";
    size_t columns, length = 0;

    for (size_t n = 0; n <= line; n++) {
        at += length;
        length = tg_label_next_letter(at, &columns);
    }
    snprintf(letter, sizeof letter, "%.*s", (int)length, at);
    view_field(a->out, last && at[length] != '\0' ? a->more : letter, cell, cell < 2 ? "+" : a->more);
}

/* Print what precedes a line of the keys: "key" before the first, "id" before the last. */
static void put_key_margin(struct ansi *a, const ansi_margin *m, bool first, bool last)
{
    const size_t id = last && m->id > 0 ? m->id + 1 : 0;

    view_field(a->out, first ? "key" : "", m->columns - id, a->more);
    if (id > 0)
        tg_sink_print(a->out, "%*s ", (int)m->id, "id");
}

/* Print the keys' tokens upright, one letter per line, ending just above the map. */
static void put_upright(struct ansi *a, const ansi_margin *m, size_t cell)
{
    const size_t T = a->v->dump->T;
    size_t lines = 0;
    char buffer[ANSI_TOKEN];

    for (size_t t = 0; t < T; t++)
        lines = tg_size_max(lines, token_height(ansi_token(a, t, buffer)));
    for (size_t line = 0; line < lines; line++) {
        put_key_margin(a, m, line == 0, line == lines - 1);
        for (size_t t = 0; t < T; t++) {
            const char *text = ansi_token(a, t, buffer);
            const size_t above = lines - token_height(text);

            if (line < above)
                ansi_repeat(a, " ", cell);
            else
                put_letter(a, text, line - above, cell, line == lines - 1);
        }
        ansi_end_line(a);
    }
}

void ansi_put_ticks(struct ansi *a, const ansi_layout *l)
{
    char number[24];
    const size_t gap = l->side > TICKS_DENSE ? 4 : 1;
    const size_t step = tg_ceil_div(tg_decimal_digits(a->v->dump->T) + gap, l->columns);

    for (size_t j = 0; j < l->side; j += step) {
        const size_t width = l->columns * tg_size_min(step, l->side - j);

        snprintf(number, sizeof number, "%zu", j * l->n);
        view_field(a->out, strlen(number) <= width ? number : "", width, "");
    }
}

/* Whether all letters of a token fit into a cell. */
static bool fits_upright(const char *label, size_t cell)
{
    size_t columns = 0;

    for (size_t n; (n = tg_label_next_letter(label, &columns)) > 0 && columns <= cell; label += n)
        ;
    return columns <= cell;
}

/* Whether a token has several numbers in its label, as parts of characters have: nobody reads them
 * downwards. */
static bool has_numbers(const char *label)
{
    size_t numbers = 0, columns;

    for (size_t n; (n = tg_label_next(label, &columns)) > 0; label += n)
        numbers += *label == '\\' && n > 2;
    return numbers > 1;
}

static bool reads_upright(const struct ansi *a, const ansi_layout *l)
{
    const size_t most = l->columns > 1 ? KEY_LINES : DENSE_LINES;

    if (l->n > 1 || !a->v->label || ansi_widest_tokens(a, 1, KEY_LINES) > most)
        return false;
    for (size_t t = 0; t < a->v->dump->T; t++) {
        if (has_numbers(a->v->label[t]) || !fits_upright(a->v->label[t], l->columns))
            return false;
    }
    return true;
}

void ansi_put_keys(struct ansi *a, const ansi_margin *m, const ansi_layout *l)
{
    if (reads_upright(a, l)) {
        put_upright(a, m, l->columns);
    } else {
        put_key_margin(a, m, true, true);
        ansi_put_ticks(a, l);
        ansi_end_line(a);
    }
}
