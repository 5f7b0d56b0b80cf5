#include "lib/text/chat.h"

#include <string.h>

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
    bool joins_system; /* the system's message begins the user's */
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
                       .joins_system = true},
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

/* The first one whose opening token the tokenizer has, or TG_CHAT_TEMPLATES. */
static tg_chat_template find_template(const tg_tokenizer *tok)
{
    size_t i = 0;

    while (i < TG_CHAT_TEMPLATES && token(tok, forms[i].open) < 0)
        i++;
    return (tg_chat_template)i;
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

tg_status tg_chat_begin(tg_chat *chat, tg_chat_template kind, const tg_tokenizer *tok, tg_err *err)
{
    const struct form *f;
    tg_status status;

    if (kind == TG_CHAT_TEMPLATES && (kind = find_template(tok)) == TG_CHAT_TEMPLATES)
        return tg_fail(err, TG_EUSAGE,
                       "the tokenizer has no tokens of chatml, llama3 or gemma: give --template plain");
    f = &forms[kind];
    *chat = (tg_chat){.kind = kind,
                      .bos = f->has_bos ? tg_tokenizer_start_of_text(tok) : -1,
                      .eot = f->has_eot ? tg_tokenizer_end_of_text(tok) : -1};
    if ((status = find_token(&chat->open, f, f->open, tok, err)) ||
        (status = find_token(&chat->header_end, f, f->header_end, tok, err)))
        return status;
    return find_token(&chat->close, f, f->close, tok, err);
}

/* ---- pieces */

struct list {
    tg_chat_piece *piece;
    size_t n;
    bool is_answer;
};

static void add_token(struct list *list, int32_t id)
{
    if (id >= 0)
        list->piece[list->n++] = (tg_chat_piece){.id = id, .is_answer = list->is_answer};
}

static void add_text(struct list *list, const char *text, size_t n)
{
    if (n > 0)
        list->piece[list->n++] =
            (tg_chat_piece){.id = -1, .text = text, .n = n, .is_answer = list->is_answer};
}

static void add_word(struct list *list, const char *word)
{
    add_text(list, word, strlen(word));
}

static void add_header(tg_chat *chat, struct list *list, tg_chat_role role)
{
    const struct form *f = &forms[chat->kind];

    if (!chat->begun)
        add_token(list, chat->bos);
    chat->begun = true;
    if (chat->in_turn && role == TG_CHAT_USER)
        return;
    if (chat->in_turn) { /* nobody has asked: the system's message is all of the user's */
        add_token(list, chat->close);
        add_word(list, f->after);
    }
    add_token(list, chat->open);
    add_word(list, f->role[role]);
    add_token(list, chat->header_end);
    add_word(list, f->after_role);
}

/* What comes after the content. */
static void add_end(const tg_chat *chat, struct list *list)
{
    add_token(list, chat->close);
    list->is_answer = list->is_answer && chat->close < 0; /* then the text ends the answer */
    add_word(list, forms[chat->kind].after);
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

size_t tg_chat_message(tg_chat *chat, tg_chat_piece piece[TG_CHAT_PIECES], tg_chat_role role,
                       const char *content, size_t n)
{
    const struct form *f = &forms[chat->kind];
    struct list list = {.piece = piece};

    add_header(chat, &list, role);
    list.is_answer = role == TG_CHAT_ASSISTANT;
    if (f->trims)
        trim(&content, &n);
    add_text(&list, content, n);
    chat->in_turn = f->joins_system && role == TG_CHAT_SYSTEM;
    if (chat->in_turn) {
        add_word(&list, "\n\n");
        return list.n;
    }
    add_end(chat, &list);
    return list.n;
}

size_t tg_chat_end(tg_chat *chat, tg_chat_piece piece[TG_CHAT_PIECES])
{
    struct list list = {.piece = piece, .is_answer = true};

    add_token(&list, chat->eot);
    return list.n;
}

size_t tg_chat_ask(tg_chat *chat, tg_chat_piece piece[TG_CHAT_PIECES])
{
    struct list list = {.piece = piece};

    add_header(chat, &list, TG_CHAT_ASSISTANT);
    chat->in_turn = false;
    return list.n;
}

size_t tg_chat_answered(const tg_chat *chat, tg_chat_piece piece[TG_CHAT_PIECES])
{
    struct list list = {.piece = piece, .is_answer = true};

    add_end(chat, &list);
    return list.n;
}

const char *tg_chat_stop(const tg_chat *chat)
{
    return chat->close < 0 ? forms[chat->kind].after : NULL;
}
