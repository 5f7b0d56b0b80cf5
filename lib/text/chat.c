#include "lib/text/chat.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/object.h"
#include "lib/text/ids.h"

/* How a template writes a message:  open role header_end after_role content close after. */
static const struct form {
    const char *name;
    const char *open, *header_end, *close; /* tokens; NULL: none */
    const char *after_role, *after;        /* text; "": none */
    const char *role[TG_CHAT_ROLES];
    bool has_bos;      /* a conversation begins with the token for that, if there is one */
    bool has_eot;      /* likewise, ends with */
    bool trims;        /* drops white space around content */
    bool joins_system; /* the system's message begins the user's, as it is */
    bool alternates;   /* refuses roles that do not, from the user's on */
} forms[TG_CHAT_TEMPLATES] = {
    [TG_CHAT_CHATML] = {.name = "chatml",
                        .open = "<|im_start|>",
                        .close = "<|im_end|>",
                        .after_role = "\n",
                        .after = "\n",
                        .role = {"system", "user", "assistant"}},
    [TG_CHAT_LLAMA3] = {.name = "llama3",
                        .open = "<|start_header_id|>",
                        .header_end = "<|end_header_id|>",
                        .close = "<|eot_id|>",
                        .after_role = "\n\n",
                        .after = "",
                        .role = {"system", "user", "assistant"},
                        .has_bos = true,
                        .trims = true},
    [TG_CHAT_GEMMA] = {.name = "gemma",
                       .open = "<start_of_turn>",
                       .close = "<end_of_turn>",
                       .after_role = "\n",
                       .after = "\n",
                       .role = {"user", "user", "model"},
                       .has_bos = true,
                       .trims = true,
                       .joins_system = true,
                       .alternates = true},
    [TG_CHAT_PLAIN] = {.name = "plain",
                       .after_role = ": ",
                       .after = "\n",
                       .role = {"system", "user", "assistant"},
                       .has_eot = true},
};

/* A special token: an added one is made by every text that contains it. */
static int32_t token(const tg_tokenizer *tok, const char *text)
{
    const int32_t id = text ? tg_tokenizer_special_id(tok, text, strlen(text)) : -1;
    const uint32_t *specials;
    const size_t n = tg_tokenizer_specials(tok, &specials);

    return id >= 0 && tg_ids_contain(specials, n, (size_t)id) ? id : -1;
}

/* Tokens of templates that are not written here, and whose these are; the first, besides ChatML's own. */
static const struct {
    const char *token, *of;
} others[] = {
    {"<|im_sep|>", "Phi 4"},
    {"<|header_start|>", "Llama 4"},
    {"<|start_of_role|>", "Granite"},
    {"<|START_OF_TURN_TOKEN|>", "Command R"},
    {"<|channel|>", "gpt-oss"},
    {"<|assistant_start|>", "nanochat"},
    {"<\uff5cAssistant\uff5c>", "DeepSeek"},
    {"<|assistant|>", "Phi 3, GLM 4 and others"},
    {"[INST]", "Mistral"},
};

/* The first template whose opening token the tokenizer has.  TG_EUSAGE: none, or another's. */
static tg_status find_template(tg_chat_template *kind, const tg_tokenizer *tok, tg_err *err)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (token(tok, others[i].token) >= 0)
            return tg_fail(err, TG_EUSAGE,
                           "the tokenizer's %s belongs to the template of %s, which is none of " TG_CHAT_NAMES
                           ": --template plain writes roles as text",
                           others[i].token, others[i].of);
    for (size_t i = 0; i < TG_CHAT_TEMPLATES; i++)
        if (token(tok, forms[i].open) >= 0) {
            *kind = (tg_chat_template)i;
            return TG_OK;
        }
    return tg_fail(err, TG_EUSAGE,
                   "the tokenizer has no tokens of chatml, llama3 or gemma: give --template plain");
}

/* Whether a text [n] has this word; NULL is none. */
static bool contains(const char *text, size_t n, const char *word)
{
    const size_t length = word ? strlen(word) : n + 1;

    for (size_t i = 0; i + length <= n; i++)
        if (memcmp(text + i, word, length) == 0)
            return true;
    return false;
}

tg_chat_template tg_chat_recognize(const char *text, size_t n)
{
    size_t found = TG_CHAT_TEMPLATES;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (contains(text, n, others[i].token))
            return TG_CHAT_TEMPLATES;
    for (size_t i = 0; i < TG_CHAT_TEMPLATES; i++)
        if (contains(text, n, forms[i].open) && contains(text, n, forms[i].close))
            found = i;
    return (tg_chat_template)found;
}

static tg_status find_token(int32_t *id, const struct form *f, const char *text, const tg_tokenizer *tok,
                            tg_err *err)
{
    *id = token(tok, text);
    if (*id >= 0 || !text)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "the tokenizer has no special token %s, which template %s needs", text,
                   f->name);
}

tg_status tg_chat_open(tg_chat *chat, tg_chat_template kind, const tg_tokenizer *tok, tg_chat_take *take,
                       void *context, tg_err *err)
{
    const struct form *f;
    tg_status status;

    if (kind == TG_CHAT_TEMPLATES && (status = find_template(&kind, tok, err)))
        return status;
    f = &forms[kind];
    *chat = (tg_chat){.kind = kind,
                      .tok = tok,
                      .take = take,
                      .context = context,
                      .bos = f->has_bos ? tg_tokenizer_start_of_text(tok) : -1,
                      .eot = f->has_eot ? tg_tokenizer_end_of_text(tok) : -1};
    if ((status = find_token(&chat->open, f, f->open, tok, err)) ||
        (status = find_token(&chat->header_end, f, f->header_end, tok, err)) ||
        (status = find_token(&chat->close, f, f->close, tok, err)))
        return status;
    return tg_encoder_create(&chat->encoder, tok, err);
}

void tg_chat_close(tg_chat *chat)
{
    tg_encoder_free(chat->encoder);
    free(chat->text);
    *chat = (tg_chat){0};
}

bool tg_chat_begin_with(tg_chat *chat, int32_t bos)
{
    const bool is_plain = !forms[chat->kind].open;

    if (is_plain)
        chat->bos = bos;
    return is_plain;
}

void tg_chat_begin(tg_chat *chat)
{
    chat->last = TG_CHAT_SYSTEM;
    chat->begun = chat->has_ids = chat->in_turn = false;
    chat->n = 0;
}

/* ---- text and tokens */

static tg_status take_text(void *context, const int32_t *ids, size_t n, tg_err *err)
{
    tg_chat *chat = context;

    chat->has_ids = true;
    return chat->take(chat->context, ids, n, chat->is_answer, err);
}

/* Encode the text that waits. */
static tg_status flush(tg_chat *chat, tg_err *err)
{
    const size_t n = chat->n;

    chat->n = 0;
    if (n == 0)
        return TG_OK;
    if (chat->has_ids)
        tg_encoder_continue(chat->encoder);
    return tg_encoder_whole(chat->encoder, chat->text, n, take_text, chat, err);
}

static tg_status add_text(tg_chat *chat, const char *text, size_t n, bool is_answer, tg_err *err)
{
    tg_status status = is_answer == chat->is_answer ? TG_OK : flush(chat, err);

    chat->is_answer = is_answer;
    if (status || n == 0 ||
        (status = tg_grow(&chat->text, &chat->capacity, chat->n + n, 1, "a message", err)))
        return status;
    memcpy(chat->text + chat->n, text, n);
    chat->n += n;
    return TG_OK;
}

static tg_status add_word(tg_chat *chat, const char *word, bool is_answer, tg_err *err)
{
    return add_text(chat, word, strlen(word), is_answer, err);
}

/* id: -1 for none. */
static tg_status add_token(tg_chat *chat, int32_t id, bool is_answer, tg_err *err)
{
    tg_status status;

    if (id < 0)
        return TG_OK;
    if ((status = flush(chat, err)))
        return status;
    chat->has_ids = true;
    return chat->take(chat->context, &id, 1, is_answer, err);
}

/* ---- messages */

/* What comes after the content; where no token ends an answer, the text does. */
static tg_status add_end(tg_chat *chat, bool is_answer, tg_err *err)
{
    const tg_status status = add_token(chat, chat->close, is_answer, err);

    return status ? status : add_word(chat, forms[chat->kind].after, is_answer && chat->close < 0, err);
}

/* The token that begins a conversation; what follows it begins a text. */
static tg_status add_bos(tg_chat *chat, tg_err *err)
{
    const tg_status status = add_token(chat, chat->bos, false, err);

    chat->has_ids = false;
    return status;
}

/* Whether this one may speak, as the models' own templates have it. */
static tg_status check_role(const tg_chat *chat, tg_chat_role role, tg_err *err)
{
    const char *const *names = forms[TG_CHAT_PLAIN].role;
    const tg_chat_role next = chat->last == TG_CHAT_USER ? TG_CHAT_ASSISTANT : TG_CHAT_USER;

    if (!forms[chat->kind].alternates || role == next || (role == TG_CHAT_SYSTEM && !chat->begun))
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "role %s, expected %s: in template %s, user and assistant alternate, and the user begins",
                   names[role], names[next], forms[chat->kind].name);
}

static tg_status add_header(tg_chat *chat, tg_chat_role role, tg_err *err)
{
    const struct form *f = &forms[chat->kind];
    const bool is_first = !chat->begun, in_turn = chat->in_turn;
    tg_status status = check_role(chat, role, err);

    if (status)
        return status;
    chat->last = role;
    chat->begun = true;
    chat->in_turn = f->joins_system && role == TG_CHAT_SYSTEM;
    if (in_turn && role == TG_CHAT_USER)
        return TG_OK;
    if ((is_first && (status = add_bos(chat, err))) || (status = add_token(chat, chat->open, false, err)) ||
        (status = add_word(chat, f->role[role], false, err)) ||
        (status = add_token(chat, chat->header_end, false, err)))
        return status;
    return add_word(chat, f->after_role, false, err);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Without the white space around it. */
static void trim(const char **text, size_t *n)
{
    while (*n > 0 && is_space((*text)[*n - 1]))
        --*n;
    while (*n > 0 && is_space(**text)) {
        ++*text;
        --*n;
    }
}

bool tg_chat_is_empty(const tg_chat *chat, const char *content, size_t n)
{
    if (forms[chat->kind].trims)
        trim(&content, &n);
    return n == 0;
}

tg_status tg_chat_message(tg_chat *chat, tg_chat_role role, const char *content, size_t n, tg_err *err)
{
    const bool is_answer = role == TG_CHAT_ASSISTANT;
    tg_status status = add_header(chat, role, err);

    if (forms[chat->kind].trims && !chat->in_turn)
        trim(&content, &n);
    if (status || (status = add_text(chat, content, n, is_answer, err)))
        return status;
    return chat->in_turn ? add_word(chat, "\n\n", false, err) : add_end(chat, is_answer, err);
}

tg_status tg_chat_end(tg_chat *chat, tg_err *err)
{
    const tg_status status = add_token(chat, chat->eot, true, err);

    return status ? status : flush(chat, err);
}

tg_status tg_chat_ask(tg_chat *chat, tg_err *err)
{
    const tg_status status = add_header(chat, TG_CHAT_ASSISTANT, err);

    return status ? status : flush(chat, err);
}

tg_status tg_chat_answered(tg_chat *chat, tg_err *err)
{
    const tg_status status = add_end(chat, true, err);

    return status ? status : flush(chat, err);
}

bool tg_chat_is_end(const tg_chat *chat, int32_t id)
{
    return id == chat->close || id == tg_tokenizer_end_of_text(chat->tok);
}

const char *tg_chat_stop(const tg_chat *chat)
{
    return chat->close < 0 ? forms[chat->kind].after : NULL;
}

/* ---- for programs (lib/tg/chat.h) */

tg_status tg_chat_new(tg_chat **chat, tg_chat_template kind, const tg_tokenizer *tok, tg_chat_take *take,
                      void *context, tg_err *err)
{
    *chat = tg_object_new(sizeof **chat, "a conversation", err);
    return *chat ? tg_object_begun(chat, tg_chat_open(*chat, kind, tok, take, context, err)) : TG_ENOMEM;
}

void tg_chat_destroy(tg_chat *chat)
{
    if (chat)
        tg_chat_close(chat);
    free(chat);
}
