/* Lines of JSON to ids: conversations, and prompts with their completions, of which only what is answered is
 * predicted. */
#include <string.h>

#include "cmd/cli/text.h"
#include "cmd/tg-tokenize/job.h"
#include "formats/json.h"
#include "formats/lines.h"

/* ---- pieces to ids */

/* Give ids to the output, with their place in the mask. */
static tg_status give(void *context, const int32_t *ids, size_t n, bool predicted, tg_err *err)
{
    tokenize_job *job = context;
    const bool begins = !job->in_document && n > 0;
    tg_status status = TG_OK;

    job->mask = TG_MASK_FIRST;
    if (begins)
        status = job->take(job, job->tok, ids, 1, err);
    job->in_document = job->in_document || begins;
    job->given += n;
    job->predicted += predicted ? n - begins : 0;
    job->mask = predicted ? TG_MASK_PREDICTED : TG_MASK_READ;
    if (!status && n > begins)
        status = job->take(job, job->tok, ids + begins, n - begins, err);
    job->take_failed = status != TG_OK;
    return status;
}

static tg_status take_answer(void *context, const int32_t *ids, size_t n, tg_err *err)
{
    return give(context, ids, n, true, err);
}

static tg_status take_other(void *context, const int32_t *ids, size_t n, tg_err *err)
{
    return give(context, ids, n, false, err);
}

/* A text of its own, which continues the document's, if that has any. */
static tg_status put_text(tokenize_job *job, tg_span text, bool predicted, tg_err *err)
{
    tg_status status;

    if (!job->one && (status = tg_encoder_create(&job->one, job->tok, err)))
        return status;
    if (job->in_text)
        tg_encoder_continue(job->one);
    job->in_text = true;
    job->bytes += text.n;
    return tg_encoder_whole(job->one, text.p, text.n, predicted ? take_answer : take_other, job, err);
}

static tg_status put_token(tokenize_job *job, int32_t id, bool predicted, tg_err *err)
{
    return id < 0 ? TG_OK : give(job, &id, 1, predicted, err);
}

/* ---- what a line must have */

#define PAIR_FORM "{\"prompt\": \"...\", \"completion\": \"...\"}"
#define CHAT_FORM "{\"messages\": [{\"role\": \"user\", \"content\": \"...\"}, ...]}"

/* Fail if a member of the object at that offset that tg_json_members() has not found is there, but null. */
static tg_status refuse_null(tg_json *j, size_t object, const char *name, const char *kind)
{
    return tg_json_has(j, object, name) ? tg_json_fail(j, "\"%s\" is null, expected %s", name, kind)
                                        : j->status;
}

/* ---- a prompt and its completion */

enum { PROMPT, COMPLETION, PAIR };

static tg_status put_pair(tokenize_job *job, tg_json *j, tg_err *err)
{
    static const char *const names[] = {[PROMPT] = "prompt", [COMPLETION] = "completion"};
    size_t at[PAIR];
    tg_span text;
    tg_status status;

    tg_json_members(j, names, PAIR, at);
    tg_json_end(j);
    for (size_t i = 0; i < PAIR; i++)
        if (!j->status && at[i] == 0 && !refuse_null(j, 0, names[i], "a string"))
            return tg_json_fail(j, "no \"%s\", expected " PAIR_FORM, names[i]);
    if (j->status)
        return j->status;
    if ((status = put_token(job, job->bos, false, err)))
        return status;
    for (size_t i = 0; i < PAIR; i++) {
        (void)tg_json_go(j, at[i]);
        if (tg_json_peek(j) == TG_JSON_ARRAY)
            return tg_json_fail(j, "\"%s\" is an array, expected a string; --chat reads " CHAT_FORM,
                                names[i]);
        text = tg_json_get_text(j);
        if (!j->status && i == COMPLETION && text.n == 0)
            return tg_json_fail(j, "the completion is empty");
        if (j->status || (status = put_text(job, text, i == COMPLETION, err)))
            return j->status ? j->status : status;
    }
    return put_token(job, tg_tokenizer_end_of_text(job->tok), true, err);
}

/* ---- a conversation */

/* The role of message number i. */
static tg_status get_role(tg_json *j, size_t i, tg_chat_role *role)
{
    static const char *const names[] = {
        [TG_CHAT_SYSTEM] = "system", [TG_CHAT_USER] = "user", [TG_CHAT_ASSISTANT] = "assistant"};
    const tg_span name = tg_json_get_text(j);
    char shown[TG_SHOWN_MAX];

    if (j->status)
        return j->status;
    for (*role = 0; *role < TG_CHAT_ROLES && !tg_span_is(name, names[*role]);)
        ++*role;
    if (*role == TG_CHAT_ROLES)
        return tg_json_fail(j, "role \"%s\", expected system, user or assistant", tg_shown(shown, name));
    if (*role == TG_CHAT_SYSTEM && i > 0)
        return tg_json_fail(j, "role system, expected user or assistant after the first message");
    return TG_OK;
}

static tg_status put_message(tg_chat *chat, tg_json *j, size_t i, tg_err *err)
{
    enum { ROLE, CONTENT, MEMBERS };
    static const char *const names[] = {[ROLE] = "role", [CONTENT] = "content"};
    const size_t object = j->at;
    size_t at[MEMBERS], end;
    tg_chat_role role;
    tg_span content;

    tg_json_members(j, names, MEMBERS, at);
    for (size_t k = 0; k < MEMBERS; k++)
        if (!j->status && at[k] == 0 && !refuse_null(j, object, names[k], "a string"))
            return tg_json_fail(j, "a message without \"%s\"", names[k]);
    end = tg_json_go(j, at[ROLE]);
    if (get_role(j, i, &role))
        return j->status;
    (void)tg_json_go(j, at[CONTENT]);
    content = tg_json_get_text(j);
    if (!j->status && role == TG_CHAT_ASSISTANT && tg_chat_is_empty(chat, content.p, content.n))
        return tg_json_fail(j, content.n == 0 ? "an empty answer"
                                              : "an answer of white space, which the template drops");
    if (j->status)
        return j->status;
    (void)tg_json_go(j, end);
    return tg_chat_message(chat, role, content.p, content.n, err);
}

static tg_status put_chat(tokenize_job *job, tg_json *j, tg_err *err)
{
    static const char *const names[] = {"messages"};
    const uint64_t predicted = job->predicted;
    size_t at;
    tg_status status = TG_OK;

    tg_chat_begin(&job->chat);
    tg_json_members(j, names, 1, &at);
    tg_json_end(j);
    if (!j->status && at == 0 && !refuse_null(j, 0, names[0], "an array"))
        return tg_json_fail(j, "no \"messages\", expected " CHAT_FORM);
    (void)tg_json_go(j, at);
    tg_json_enter(j, TG_JSON_ARRAY);
    for (size_t i = 0; !status && tg_json_element(j); i++)
        status = put_message(&job->chat, j, i, err);
    if (!status)
        status = j->status ? j->status : tg_chat_end(&job->chat, err);
    if (!status && job->predicted == predicted)
        return tg_json_fail(j, "no answer: no message is an assistant's");
    return status;
}

/* ---- lines */

/* tg-train takes a token more than the model sees: the last one is only predicted. */
static tg_status check_length(const tokenize_job *job, uint64_t n, size_t number, tg_err *err)
{
    const size_t context = job->context;

    if (job->o->cut || context == 0 || n <= context + 1)
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "line %zu: the document has %llu tokens, expected at most %zu, for the model's context of "
                   "%zu; --cut permits more, and tg-train cuts such a document into windows",
                   number, (unsigned long long)n, context + 1, context);
}

static tg_status put_line(tokenize_job *job, const char *line, size_t n, size_t number, tg_err *err)
{
    const uint64_t given = job->given;
    tg_json j;
    tg_status status, closed;

    job->in_document = job->in_text = false;
    job->documents++;
    tg_json_open(&j, line, n, err);
    j.line = number;
    status = job->o->examples == EXAMPLES_CHAT ? put_chat(job, &j, err) : put_pair(job, &j, err);
    if (status && !j.status && !job->take_failed)
        (void)tg_json_err_in(&j);
    closed = tg_json_close(&j);
    status = status ? status : closed;
    return status ? status : check_length(job, job->given - given, number, err);
}

static tg_status encode_lines(tokenize_job *job, tg_source *source, const char *name, tg_err *err)
{
    tg_lines lines = {.source = source};
    bool any = true;
    tg_status status = TG_OK;

    while (!status && any) {
        if ((status = tg_lines_next(&lines, &any, err)) || !any)
            break;
        if (strspn(lines.text, " \t\r") < lines.n)
            status = put_line(job, lines.text, lines.n, lines.number, err);
        show_progress(job, lines.n + 1);
    }
    tg_lines_free(&lines);
    if (!status)
        status = flush_output(job, err);
    return status && !job->take_failed ? tg_err_in(err, name) : status;
}

static tg_status open_chat(tokenize_job *job, tg_err *err)
{
    const tg_status status =
        cli_chat_open(&job->chat, job->o->template, 0, tokenizer_file(job->o), job->tok, give, job, err);

    if (status)
        return status;
    if (!tg_chat_begin_with(&job->chat, job->bos))
        job->bos = -1; /* the template says what begins a conversation */
    return TG_OK;
}

tg_status encode_examples(tokenize_job *job, tg_err *err)
{
    const tokenize_options *o = job->o;
    tg_status status = TG_OK;

    job->has_mask = true;
    if (o->examples == EXAMPLES_CHAT && (status = open_chat(job, err)))
        return status;
    if (job->bos >= 0 && !o->bos)
        cli_note_bos(job->tok, job->bos, "each document");
    if ((status = visit_files(job, encode_lines, err)))
        return status;
    if (job->documents == 0)
        return tg_fail(err, TG_EDATA, "%s: no lines, expected JSON objects", cli_files_name(&job->o->files));
    if (job->o->work == WORK_ARCHIVE)
        cli_note("%s document%s, %s token%s, %s of them predicted", cli_count(job->documents),
                 cli_plural(job->documents), cli_count(job->given), cli_plural(job->given),
                 cli_count(job->predicted));
    return TG_OK;
}
