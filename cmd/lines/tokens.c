#include "cmd/lines/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cli/cli.h"
#include "lib/base/grow.h"
#include "lib/eval/eval.h"
#include "lib/view/label.h"

#define SHOWN_PER_BYTE 4 /* "\x00" */

/* The columns: those of a token, then for --top those of each of K tokens. */
enum { T, ID, FROM, TO, TEXT, LOGPROB, RANK, ENTROPY, COLUMNS };
static const char *const titles[COLUMNS] = {"t", "id", "from", "to", "text", "logprob", "rank", "entropy"};
enum { TOP_ID, TOP_TEXT, TOP_LOGPROB, TOP_COLUMNS };
static const char *const of_top[TOP_COLUMNS] = {"id", "text", "logprob"};

void token_lines_free(token_lines *l)
{
    free(l->shown);
    *l = (token_lines){0};
}

void token_lines_titles(const token_lines *l)
{
    if (l->json)
        return;
    if (l->number)
        printf("%s\t", l->number);
    for (size_t c = 0; c < COLUMNS; c++)
        printf("%s%s", c > 0 ? "\t" : "", titles[c]);
    for (size_t k = 1; k <= l->top; k++)
        for (size_t c = 0; c < TOP_COLUMNS; c++)
            printf("\t%s_%zu", of_top[c], k);
    putchar('\n');
}

/* Begin column c: of the token, with k = 0, or of the k-th of the most probable ones. */
static void begin_column(const token_lines *l, size_t c, size_t k)
{
    const bool first = c == 0 && k == 0 && !l->number;

    if (!l->json)
        fputs(first ? "" : "\t", stdout);
    else if (k == 0)
        printf("%s\"%s\":", first ? "{" : ",", titles[c]);
    else
        printf(",\"%s_%zu\":", of_top[c], k);
}

static void print_number(const token_lines *l, uint64_t number)
{
    if (l->number && l->json)
        printf("{\"%s\":", l->number);
    if (l->number)
        printf("%" PRIu64, number);
}

static void print_count(const token_lines *l, size_t c, size_t k, uint64_t n)
{
    begin_column(l, c, k);
    printf("%" PRIu64, n);
}

static void print_real(const token_lines *l, size_t c, size_t k, double x)
{
    begin_column(l, c, k);
    if (l->json)
        cli_put_json_number(x);
    else
        printf("%.9g", x);
}

static void print_unknown(const token_lines *l, size_t c, size_t k)
{
    begin_column(l, c, k);
    fputs(l->json ? "null" : "", stdout);
}

/* Print a token's text, however long it is. */
static tg_status print_text(token_lines *l, size_t c, size_t k, int32_t id, tg_err *err)
{
    size_t n;
    const unsigned char *text = tg_tokenizer_token(l->tok, id, &n);
    const tg_status status =
        tg_grow(&l->shown, &l->shown_size, SHOWN_PER_BYTE * n + 1, 1, "a token's text", err);

    if (status)
        return status;
    (void)tg_label_show_token(l->shown, l->shown_size, text, n);
    begin_column(l, c, k);
    if (l->json)
        cli_put_json(l->shown);
    else
        cli_put_field(l->shown);
    return TG_OK;
}

/* The first columns: which token it is. */
static tg_status print_token(token_lines *l, const token_place *p, tg_err *err)
{
    print_number(l, p->number);
    print_count(l, T, 0, p->t);
    print_count(l, ID, 0, (uint64_t)p->id);
    print_count(l, FROM, 0, p->from);
    print_count(l, TO, 0, p->from + tg_eval_token_bytes(l->tok, p->before, p->id));
    return print_text(l, TEXT, 0, p->id, err);
}

static tg_status print_said(token_lines *l, const token_said *said, tg_err *err)
{
    tg_status status = TG_OK;

    print_real(l, LOGPROB, 0, said->score.log_prob);
    print_count(l, RANK, 0, said->score.rank);
    print_real(l, ENTROPY, 0, said->score.entropy);
    for (size_t k = 1; k <= l->top && !status; k++) {
        const int32_t id = said->top[k - 1];

        print_count(l, TOP_ID, k, (uint64_t)id);
        if (!(status = print_text(l, TOP_TEXT, k, id, err)))
            print_real(l, TOP_LOGPROB, k, tg_score_log_prob(&said->score, said->logits[id]));
    }
    return status;
}

static void print_nothing_said(const token_lines *l)
{
    for (size_t c = LOGPROB; c < COLUMNS; c++)
        print_unknown(l, c, 0);
    for (size_t k = 1; k <= l->top; k++)
        for (size_t c = 0; c < TOP_COLUMNS; c++)
            print_unknown(l, c, k);
}

tg_status token_lines_print(token_lines *l, const token_place *place, const token_said *said, tg_err *err)
{
    tg_status status = print_token(l, place, err);

    if (status)
        return status;
    if (said)
        status = print_said(l, said, err);
    else
        print_nothing_said(l);
    puts(l->json ? "}" : "");
    return status;
}
