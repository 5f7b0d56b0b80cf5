#include "cmd/cli/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/size.h"
#include "lib/gpt/score.h"

/* ---- --ids */

#define BETWEEN " \t\r\n,"
#define SHOWN_SIZE 40 /* of a word in a message */

/* The next word of a list, [*n] bytes, past which *at is advanced; NULL: the list has ended. */
static const char *next_word(const char **at, size_t *n)
{
    const char *word = *at + strspn(*at, BETWEEN);

    *n = strcspn(word, BETWEEN);
    *at = word + *n;
    return *n > 0 ? word : NULL;
}

/* False: the word is no whole number.  A number above all ids becomes INT32_MAX. */
static bool parse_id(const char *word, size_t n, int32_t *id)
{
    int64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        if (word[i] < '0' || word[i] > '9')
            return false;
        value = 10 * value + (word[i] - '0');
        if (value > INT32_MAX)
            value = INT32_MAX;
    }
    *id = (int32_t)value;
    return true;
}

static const char *ids_option(const cli_text *t)
{
    return t->ids_option ? t->ids_option : "--ids";
}

static int check_ids(const cli_text *t)
{
    const char *list = t->ids, *word;
    char shown[SHOWN_SIZE];
    size_t n, count = 0;
    int32_t id;

    for (; (word = next_word(&list, &n)); count++) {
        if (parse_id(word, n, &id))
            continue;
        cli_escape(shown, sizeof shown, (const unsigned char *)word, n);
        return cli_usage("%s must be decimal token ids, got '%s'", ids_option(t), shown);
    }
    return count > 0 ? CLI_OK : cli_usage("%s must name at least one token id", ids_option(t));
}

/* Parse the checked list into ids, which has room for all. */
static tg_status parse_ids(int32_t *ids, size_t *count, const cli_text *t, const tg_model *model, tg_err *err)
{
    const size_t V = tg_tokenizer_vocab_size(model->tokenizer);
    const char *list = t->ids, *word;
    char shown[SHOWN_SIZE];
    size_t n;

    for (*count = 0; (word = next_word(&list, &n)); ++*count) {
        if (parse_id(word, n, &ids[*count]) && (size_t)ids[*count] < V)
            continue;
        cli_escape(shown, sizeof shown, (const unsigned char *)word, n);
        return tg_fail(err, TG_EUSAGE, "%s has %s: the model's vocabulary has ids 0 to %zu", ids_option(t),
                       shown, V - 1);
    }
    return TG_OK;
}

static tg_status prompt_ids(tg_tokens_prompt *p, const tg_model *model, const cli_text *t, tg_err *err)
{
    const size_t max = strlen(t->ids) / 2 + 1;
    int32_t *ids = calloc(max, sizeof *ids);
    size_t n;
    tg_status status;

    if (!ids)
        return tg_fail_memory(err, max * sizeof *ids, "token ids");
    if (!(status = parse_ids(ids, &n, t, model, err)))
        status = tg_tokens_prompt_ids(p, model->tokenizer, ids, n, err);
    free(ids);
    return status;
}

/* ---- the options */

bool cli_text_given(const cli_text *t)
{
    return t->text || t->ids || t->has_probe;
}

int cli_text_check(const cli_text *t)
{
    if (t->text && t->ids)
        return cli_usage("--prompt and --ids name different texts: give only one");
    if (t->has_probe && (t->text || t->ids))
        return cli_usage("--probe and --%s name different texts: give only one", t->ids ? "ids" : "prompt");
    if (t->bos && t->no_bos)
        return cli_usage("--bos and --no-bos cannot be combined");
    return t->ids ? check_ids(t) : CLI_OK;
}

/* ---- the token before a text */

void cli_note_bos(const tg_tokenizer *tok, int32_t id, const char *what)
{
    size_t n;
    const unsigned char *text = tg_tokenizer_token(tok, id, &n);
    char shown[SHOWN_SIZE];

    cli_escape(shown, sizeof shown, text, n);
    cli_note("%s (id %ld) begins %s; --no-bos leaves it out", shown, (long)id, what);
}

static tg_status no_bos(tg_err *err)
{
    return tg_fail(err, TG_EUSAGE, "--bos: the model's tokenizer has no token that begins a text");
}

tg_status cli_text_find_bos(int32_t *bos, bool *by_model, const cli_text *t, const cli_model *m, bool as_is,
                            tg_err *err)
{
    *by_model = m->model.config.add_bos && !as_is && !t->ids && !t->no_bos && !t->bos;
    *bos = t->bos || *by_model ? tg_model_bos(&m->model) : -1;
    return t->bos && *bos < 0 ? no_bos(err) : TG_OK;
}

tg_status cli_text_bos(int32_t *bos, const cli_text *t, const cli_model *m, bool as_is, tg_err *err)
{
    bool by_model;
    const tg_status status = cli_text_find_bos(bos, &by_model, t, m, as_is, err);

    if (!status && by_model)
        cli_note_bos(m->model.tokenizer, *bos, "the text");
    return status;
}

/* Put a token before a prompt, unless it is -1.  A probe still has to fit the context. */
static tg_status put_before(tg_tokens_prompt *p, int32_t bos, const cli_text *t, const tg_model *model,
                            tg_err *err)
{
    tg_status status = TG_OK;

    if (bos >= 0 && !(status = tg_tokens_prompt_begin(p, bos, err)) && t->has_probe)
        p->n = tg_size_min(p->n, model->config.n_ctx);
    if (status)
        tg_tokens_prompt_free(p);
    return status;
}

static tg_status begin_prompt(tg_tokens_prompt *p, const cli_text *t, const cli_model *m, bool as_is,
                              tg_err *err)
{
    int32_t bos;

    if (cli_text_bos(&bos, t, m, as_is, err)) {
        tg_tokens_prompt_free(p);
        return err->code;
    }
    return put_before(p, bos, t, &m->model, err);
}

/* ---- where the text comes from */

#define STDIN_NAME "standard input"

/* NOWHERE: it is not given, and the model has no probe. */
enum source { OPTION, STDIN, PROBE, NOWHERE };

static bool has_stdin(const cli_model *m)
{
    return !cli_is_dash(m->path) && cli_stdin_has_data();
}

static enum source find_source(const cli_text *t, const cli_model *m)
{
    if (cli_text_given(t))
        return OPTION;
    if (has_stdin(m))
        return STDIN;
    return m->model.probe_count > 0 ? PROBE : NOWHERE;
}

static tg_status make_prompt(const cli_text *t, tg_tokens_prompt *p, const tg_model *model, tg_err *err)
{
    if (t->has_probe)
        return tg_probe_make(p, model, (tg_probe)t->probe, err);
    return t->ids ? prompt_ids(p, model, t, err)
                  : tg_tokens_prompt_text(p, model->tokenizer, t->text, strlen(t->text), err);
}

static tg_status read_option(const cli_text *t, tg_tokens_prompt *p, const cli_model *m, tg_err *err)
{
    if (t->has_probe && has_stdin(m))
        return tg_fail(err, TG_EUSAGE, "--probe and standard input name different texts: give only one");
    return make_prompt(t, p, &m->model, err);
}

static tg_status no_text(const cli_model *m, tg_err *err)
{
    if (!tg_tokenizer_has_text(m->model.tokenizer))
        return tg_fail(err, TG_EUSAGE, "the model has no tokenizer: give token ids with --ids");
    return tg_fail(err, TG_EUSAGE,
                   "the model is not trained and holds no text: give one with -p TEXT or on "
                   "standard input");
}

static tg_status read_source(enum source source, const cli_text *t, tg_tokens_prompt *p, const cli_model *m,
                             tg_err *err)
{
    const tg_model *model = &m->model;

    *p = (tg_tokens_prompt){0};
    switch (source) {
    case OPTION:
        return read_option(t, p, m, err);
    case STDIN:
        return tg_tokens_prompt_read(p, model->tokenizer, STDIN_FILENO, err) ? tg_err_in(err, STDIN_NAME)
                                                                             : TG_OK;
    case PROBE:
        return tg_tokens_prompt_ids(p, model->tokenizer, model->probe, model->probe_count, err);
    case NOWHERE:
        break;
    }
    return no_text(m, err);
}

tg_status cli_text_prompt(const cli_text *t, tg_tokens_prompt *p, const cli_model *m, tg_err *err)
{
    const enum source source = find_source(t, m);
    tg_status status = TG_OK;

    *p = (tg_tokens_prompt){0};
    if (source == OPTION || source == STDIN)
        status = read_source(source, t, p, m, err);
    return status ? status : begin_prompt(p, t, m, false, err);
}

tg_status cli_text_option(const cli_text *t, tg_tokens_prompt *p, const tg_model *model, tg_err *err)
{
    const bool has_bos = t->bos || (model->config.add_bos && !t->ids && !t->no_bos);
    tg_status status;

    *p = (tg_tokens_prompt){0};
    if (t->bos && tg_model_bos(model) < 0)
        return no_bos(err);
    if ((status = make_prompt(t, p, model, err)))
        return status;
    return put_before(p, has_bos ? tg_model_bos(model) : -1, t, model, err);
}

bool cli_text_is_probe(const cli_text *t, const cli_model *m)
{
    return find_source(t, m) == PROBE;
}

tg_status cli_text_or_probe(const cli_text *t, tg_tokens_prompt *p, const cli_model *m, tg_err *err)
{
    const enum source source = find_source(t, m);
    const tg_status status = read_source(source, t, p, m, err);

    if (status)
        return status;
    if (source != STDIN || p->n > 0)
        return begin_prompt(p, t, m, source == PROBE, err);
    tg_tokens_prompt_free(p);
    return tg_fail(err, TG_EDATA, STDIN_NAME ": empty: expected text or tokens");
}

tg_status cli_text_stream(const cli_text *t, cli_stream *s, const cli_model *m, tg_err *err)
{
    const enum source source = find_source(t, m);
    const tg_tokenizer *tok = m->model.tokenizer;
    tg_status status;

    *s = (cli_stream){.name = source == STDIN ? STDIN_NAME : "the text"};
    if (source == STDIN)
        return tg_tokens_stream_open(&s->stream, tok, STDIN_FILENO, err) ? tg_err_in(err, s->name) : TG_OK;
    if (!(status = read_source(source, t, &s->prompt, m, err)))
        tg_tokens_stream_open_ids(&s->stream, tok, s->prompt.ids, s->prompt.n);
    return status;
}

void cli_stream_close(cli_stream *s)
{
    tg_tokens_stream_close(&s->stream);
    tg_tokens_prompt_free(&s->prompt);
}

tg_status cli_text_check_length(const tg_tokens_prompt *p, const tg_model *model, tg_err *err)
{
    const bool has_text = tg_tokenizer_has_text(model->tokenizer);
    const size_t n_ctx = model->config.n_ctx;
    size_t bytes = 0, n;

    if (p->n == 0)
        return tg_fail(err, TG_EDATA, "the text has no tokens");
    if (p->n <= n_ctx)
        return TG_OK;
    for (size_t t = 0; has_text && t < n_ctx; t++, bytes += n)
        (void)tg_tokens_prompt_token(p, model->tokenizer, t, &n);
    if (!has_text)
        return tg_fail(err, TG_EDATA,
                       "%zu token ids exceed the model's context of %zu: give fewer; " CLI_LONGER_CONTEXT,
                       p->n, n_ctx);
    return tg_fail(err, TG_EDATA,
                   "the text has %zu tokens, which exceeds the model's context of %zu: shorten it, as with "
                   "head -c %zu; " CLI_LONGER_CONTEXT,
                   p->n, n_ctx, bytes);
}

tg_status cli_text_token(int32_t *id, const tg_model *model, const char *option, const char *text,
                         tg_err *err)
{
    tg_tokens_prompt tokens = {0};
    char shown[SHOWN_SIZE];
    tg_status status = TG_OK;

    if (!tg_tokenizer_has_text(model->tokenizer))
        return tg_fail(err, TG_EUSAGE, "the model has no tokenizer: name the token by its id");
    if ((status = tg_tokens_prompt_continue(&tokens, model->tokenizer, text, strlen(text), err)))
        return status;
    cli_escape(shown, sizeof shown, (const unsigned char *)text, strlen(text));
    if (tokens.n == 1)
        *id = tokens.ids[0];
    else
        status = tg_fail(err, TG_EUSAGE, "%s must be one token, but '%s' is %zu", option, shown, tokens.n);
    tg_tokens_prompt_free(&tokens);
    return status;
}

/* ---- a space that is missing */

#define MUCH_MORE 100  /* times as probable, */
#define PROBABLE 0.001 /* and at least so probable */

int32_t cli_text_spaced(const tg_model *model, int32_t id)
{
    size_t n;
    const unsigned char *text = tg_tokenizer_token(model->tokenizer, id, &n);
    tg_tokens_prompt tokens = {0};
    char *spaced;
    int32_t found = -1;

    if (n == 0 || strchr(" \t\r\n", text[0]) || !(spaced = malloc(n + 1)))
        return -1;
    spaced[0] = ' ';
    memcpy(spaced + 1, text, n);
    if (!tg_tokens_prompt_continue(&tokens, model->tokenizer, spaced, n + 1, NULL) && tokens.n == 1)
        found = tokens.ids[0];
    tg_tokens_prompt_free(&tokens);
    free(spaced);
    return found;
}

bool cli_text_note_space(const tg_model *model, int32_t id, double p, int32_t spaced, double p_spaced,
                         const char *where)
{
    char shown[2][SHOWN_SIZE];
    const int32_t ids[2] = {id, spaced};

    if (p_spaced < PROBABLE || p_spaced < MUCH_MORE * p)
        return false;
    for (size_t i = 0; i < 2; i++) {
        size_t n;
        const unsigned char *text = tg_tokenizer_token(model->tokenizer, ids[i], &n);

        cli_escape(shown[i], sizeof shown[i], text, n);
    }
    cli_note("\"%s\" has probability %.2g %s, \"%s\" %.2g: a leading space may be missing", shown[0], p,
             where, shown[1], p_spaced);
    return true;
}

bool cli_text_check_space(const tg_model *model, int32_t id, const float *logits, const char *where)
{
    const size_t V = model->config.vocab_size;
    const int32_t spaced = cli_text_spaced(model, id);
    tg_score score;

    if (spaced < 0)
        return false;
    score = tg_score_row(logits, V, V, -1);
    return cli_text_note_space(model, id, exp(tg_score_log_prob(&score, logits[id])), spaced,
                               exp(tg_score_log_prob(&score, logits[spaced])), where);
}
