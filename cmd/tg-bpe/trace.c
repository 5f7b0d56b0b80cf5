#include "cmd/tg-bpe/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

#define SHOWN_SIZE 256    /* bytes of a token's text in a trace, at most */
#define SHOWN_COLUMNS 64  /* the same in columns, where people read it */
#define PIECE_TOKENS 256  /* tokens of a piece in a trace, at most, */
#define PIECE_COLUMNS 108 /* and columns: with its count it fits into 120 */

/* "es", quoted. */
typedef struct shown {
    char s[SHOWN_SIZE + 2];
} shown;

static shown show(const tg_vocab_learner *v, uint32_t id, size_t columns, const char *quote)
{
    size_t n;
    const unsigned char *text = tg_vocab_learner_token(v, id, &n);
    char visible[6 * SHOWN_SIZE], cut[SHOWN_SIZE];
    shown out;

    (void)tg_label_show_token(visible, sizeof visible, text, n);
    tg_label_copy(cut, sizeof cut, columns, visible);
    snprintf(out.s, sizeof out.s, "%s%s%s", quote, cut, quote);
    return out;
}

/* In a line for people, and in a table. */
static shown quoted(const tg_vocab_learner *v, uint32_t id)
{
    return show(v, id, SHOWN_COLUMNS, "\"");
}

/* ---- pieces */

static void print_piece(const tg_vocab_learner *v, size_t i)
{
    uint32_t ids[PIECE_TOKENS];
    uint64_t count;
    const size_t n = tg_vocab_learner_piece(v, i, &count, ids, PIECE_TOKENS);
    size_t columns = 0, t = 0;

    printf("%9llu ", (unsigned long long)count);
    for (; t < tg_size_min(n, PIECE_TOKENS); t++) {
        const shown token = quoted(v, ids[t]);

        columns += 1 + tg_label_width(token.s);
        if (t > 0 && columns > PIECE_COLUMNS)
            break;
        printf(" %s", token.s);
    }
    printf(n > t ? " ...\n" : "\n");
}

static void print_pieces(const trace *t, const tg_vocab_learner *v)
{
    const size_t n = tg_vocab_learner_pieces(v), rows = tg_size_min(n, t->rows);

    if (rows == 0)
        return;
    printf("#   count  piece\n");
    for (size_t i = 0; i < rows; i++)
        print_piece(v, i);
    if (n > rows)
        printf("# and %s more piece%s\n", cli_count(n - rows), cli_plural(n - rows));
}

/* ---- pairs */

static void print_pairs(const trace *t, tg_vocab_learner *v)
{
    const size_t n = tg_vocab_learner_pairs(v, t->pairs, t->rows + 1), rows = tg_size_min(n, t->rows);

    if (rows == 0)
        return;
    printf("#   count  left right  pair\n");
    for (size_t i = 0; i < rows; i++) {
        const tg_vocab_pair *p = &t->pairs[i];

        printf("%9llu %5u %5u  %s", (unsigned long long)p->count, p->left, p->right, quoted(v, p->left).s);
        printf(" %s\n", quoted(v, p->right).s);
    }
    if (n > rows)
        printf("# other pairs at most %llu time%s\n", (unsigned long long)t->pairs[rows].count,
               cli_plural(t->pairs[rows].count));
}

/* ---- steps */

tg_status trace_begin(trace *t, trace_format format, bool titles, size_t rows, tg_err *err)
{
    *t = (trace){.format = format, .titles = titles, .rows = rows};
    t->pairs = calloc(rows + 1, sizeof *t->pairs);
    return t->pairs ? TG_OK : tg_fail_memory(err, (rows + 1) * sizeof *t->pairs, "the pairs that are shown");
}

void trace_free(trace *t)
{
    free(t->pairs);
    *t = (trace){0};
}

/* ---- a line per step: tab-separated values, or a JSON object */

static void begin_column(const trace *t, const char *name)
{
    const bool first = strcmp(name, "step") == 0;

    if (t->format == TRACE_JSONL)
        printf("%s\"%s\":", first ? "{" : ",", name);
    else
        fputs(first ? "" : "\t", stdout);
}

static void put_count(const trace *t, const char *name, uint64_t n)
{
    begin_column(t, name);
    printf("%" PRIu64, n);
}

static void put_text(const trace *t, const char *name, const tg_vocab_learner *v, uint32_t id)
{
    const shown text = show(v, id, SIZE_MAX, "");

    begin_column(t, name);
    if (t->format == TRACE_JSONL)
        cli_put_json(text.s);
    else
        cli_put_field(text.s);
}

/* ---- the trace */

void trace_start(const trace *t, const tg_vocab_learner *v, const tg_learn_totals *totals)
{
    if (t->format == TRACE_TSV && t->titles)
        printf("step\tleft\tright\tcount\tid\tleft_text\tright_text\ttext\n");
    if (t->format != TRACE_TEXT)
        return;
    printf("# %s byte%s, %s piece%s, %s distinct\n", cli_count(totals->bytes), cli_plural(totals->bytes),
           cli_count(totals->pieces), cli_plural(totals->pieces), cli_count(totals->distinct));
    print_pieces(t, v);
}

void trace_before(trace *t, tg_vocab_learner *v, const tg_vocab_pair *best)
{
    t->step++;
    if (t->format != TRACE_TEXT) {
        put_count(t, "step", t->step);
        put_count(t, "left", best->left);
        put_count(t, "right", best->right);
        put_count(t, "count", best->count);
        put_count(t, "id", tg_vocab_learner_size(v));
        put_text(t, "left_text", v, best->left);
        put_text(t, "right_text", v, best->right);
        return;
    }
    printf("\n# step %zu\n", t->step);
    print_pairs(t, v);
    printf("%s ", quoted(v, best->left).s);
    printf("%s occurs %s times: ", quoted(v, best->right).s, cli_count(best->count));
}

void trace_after(const trace *t, const tg_vocab_learner *v)
{
    const uint32_t id = (uint32_t)tg_vocab_learner_size(v) - 1;

    if (t->format != TRACE_TEXT) {
        put_text(t, "text", v, id);
        puts(t->format == TRACE_JSONL ? "}" : "");
        return;
    }
    printf("id %u is %s\n", id, quoted(v, id).s);
    print_pieces(t, v);
}

void trace_end(trace *t, tg_vocab_learner *v, bool complete, size_t min_count)
{
    if (t->format != TRACE_TEXT)
        return;
    printf("\n# the end: ");
    if (complete) {
        printf("the vocabulary is complete\n");
        return;
    }
    printf("no pair occurs %zu time%s\n", min_count, cli_plural(min_count));
    print_pairs(t, v);
}
