#include "cmd/tg-sample/logprobs.h"

#include <stdlib.h>

#include "lib/base/size.h"
#include "lib/eval/eval.h"

/* The prompt's bytes and its last token. */
static logprobs_text after_prompt(const tg_tokens_prompt *prompt, const tg_tokenizer *tok)
{
    logprobs_text text = {.before = -1};

    for (size_t t = prompt->begun; t < prompt->n; t++) {
        text.at += tg_eval_token_bytes(tok, text.before, prompt->ids[t]);
        text.before = prompt->ids[t];
    }
    return text;
}

tg_status logprobs_begin(sample_logprobs *p, const sample_options *o, const tg_model *model,
                         const tg_tokens_prompt *prompt, tg_err *err)
{
    const logprobs_text text = after_prompt(prompt, model->tokenizer);
    const size_t ids = tg_tokenizer_vocab_size(model->tokenizer);

    if (o->top_given && o->top > ids)
        return tg_fail(err, TG_EUSAGE, "--top %zu exceeds the model's %zu ids", o->top, ids);
    p->lines = (token_lines){.record = {.tok = model->tokenizer},
                             .json = o->format == SAMPLE_JSONL,
                             .number = o->count > 1 ? "sample" : NULL,
                             .top = tg_size_min(o->top, ids)};
    p->ids = ids;
    p->t = prompt->n - prompt->begun;
    if (!(p->text = calloc(o->count, sizeof *p->text)) ||
        !(p->top = calloc(p->lines.top + 1, sizeof *p->top)))
        return tg_fail_memory(err, o->count * sizeof *p->text + p->lines.top * sizeof *p->top, "the lines");
    for (size_t s = 0; s < o->count; s++)
        p->text[s] = text;
    if (!o->no_header)
        token_lines_titles(&p->lines);
    return TG_OK;
}

void logprobs_free(sample_logprobs *p)
{
    free(p->text);
    free(p->top);
    token_lines_free(&p->lines);
    *p = (sample_logprobs){0};
}

tg_status logprobs_print(sample_logprobs *p, const tg_generator *g, size_t s, tg_err *err)
{
    const size_t V = g->infer.model->config.vocab_size;
    const float *logits = g->logits + s * V;
    logprobs_text *text = &p->text[s];
    const int32_t id = g->ids[s];
    const token_said said = {tg_score_row(logits, V, p->ids, id), p->top, logits};
    const token_place place = {.number = s, .t = p->t, .from = text->at, .before = text->before, .id = id};

    if (p->lines.top > 0)
        tg_top_ids(p->top, p->lines.top, logits, p->ids);
    text->at += tg_eval_token_bytes(p->lines.record.tok, text->before, id);
    text->before = id;
    return token_lines_print(&p->lines, &place, &said, err);
}

void logprobs_next(sample_logprobs *p)
{
    p->t++;
}
