#include "cmd/lines/tokens.h"

#include "lib/eval/eval.h"

void token_lines_free(token_lines *l)
{
    record_free(&l->record);
    *l = (token_lines){0};
}

/* The first values: which token it is. */
static tg_status put_token(token_lines *l, const token_place *p, tg_err *err)
{
    record *r = &l->record;

    if (l->number)
        record_size(r, l->number, 0, p->number);
    record_size(r, "t", 0, p->t);
    record_size(r, "id", 0, (uint64_t)p->id);
    record_size(r, "from", 0, p->from);
    record_size(r, "to", 0, p->from + tg_eval_token_bytes(r->tok, p->before, p->id));
    return record_token(r, "text", 0, p->id, err);
}

static tg_status put_said(token_lines *l, const token_said *said, tg_err *err)
{
    record *r = &l->record;
    tg_status status = TG_OK;

    record_real(r, "logprob", 0, said->score.log_prob);
    record_size(r, "rank", 0, said->score.rank);
    record_real(r, "entropy", 0, said->score.entropy);
    for (size_t k = 1; k <= l->top && !status; k++) {
        const int32_t id = said->top[k - 1];

        record_size(r, "id", k, (uint64_t)id);
        if (!(status = record_token(r, "text", k, id, err)))
            record_real(r, "logprob", k, tg_score_log_prob(&said->score, said->logits[id]));
    }
    return status;
}

static void put_nothing_said(token_lines *l)
{
    static const char *const names[] = {"logprob", "rank", "entropy"}, *const of_top[] = {"id", "text",
                                                                                          "logprob"};
    record *r = &l->record;

    for (size_t c = 0; c < 3; c++)
        record_missing(r, names[c], 0);
    for (size_t k = 1; k <= l->top; k++)
        for (size_t c = 0; c < 3; c++)
            record_missing(r, of_top[c], k);
}

static tg_status put_line(token_lines *l, const token_place *place, const token_said *said, tg_err *err)
{
    tg_status status;

    if ((status = put_token(l, place, err)))
        return status;
    if (said)
        status = put_said(l, said, err);
    else
        put_nothing_said(l);
    record_end(&l->record);
    return status;
}

void token_lines_titles(token_lines *l)
{
    const token_place none = {.before = -1};

    if (l->json)
        return;
    l->record.what = RECORD_TITLES;
    (void)put_line(l, &none, NULL, NULL);
}

tg_status token_lines_print(token_lines *l, const token_place *place, const token_said *said, tg_err *err)
{
    l->record.what = l->json ? RECORD_JSON : RECORD_TSV;
    return put_line(l, place, said, err);
}
