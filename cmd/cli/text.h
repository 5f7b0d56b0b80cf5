/*
 * cli_text: the text that a tool gives to a model.
 */
#ifndef TG_CMD_CLI_TEXT_H
#define TG_CMD_CLI_TEXT_H

#include "cmd/cli/model.h"
#include "lib/heads/probe.h"
#include "lib/text/chat.h"
#include "lib/tokens/stream.h"

/* What the options name; NULL: not given. */
typedef struct cli_text {
    const char *text;       /* the TEXT of -p */
    const char *ids;        /* the IDS of --ids: decimal numbers, with white space or commas between them */
    const char *ids_option; /* what messages call it; NULL: --ids */
    bool has_probe;         /* --probe, which only some tools have */
    size_t probe;           /* tg_probe, if so */
    bool bos, no_bos;       /* --bos, --no-bos */
} cli_text;

#define CLI_BOS_OPTIONS(t)                                                                                   \
    CLI_FLAG_OPTION(0, "bos", &(t)->bos,                                                                     \
                    "put the token that begins a text, such as <s>, before it (default: where the model "    \
                    "says so, except before --ids)"),                                                        \
        CLI_FLAG_OPTION(0, "no-bos", &(t)->no_bos, "put no such token there")

/* The template of --chat; `value` is TG_CHAT_TEMPLATES if none is given. */
#define CLI_TEMPLATE_OPTION(value, is_given)                                                                 \
    CLI_ENUM_OPTION(0, "template", value, TG_CHAT_NAMES,                                                     \
                    "how --chat writes a conversation (default: what the model was tuned on, the "           \
                    "model's own, or the first whose tokens the tokenizer has; plain must be named)",        \
                    .given = is_given)

/* Like tg_chat_open(), but if no template is given, the one on which the model was trained comes first, then
 * that of the file at path (tg_chat_template_of()).  Says so if another one is given than it was trained on.
 * trained: 0: not known.  path: of the tokenizer or the model, which errors name; NULL: it has no file. */
TG_MUST_CHECK tg_status cli_chat_open(tg_chat *chat, tg_chat_template kind, tg_chat_note trained,
                                      const char *path, const tg_tokenizer *tok, tg_chat_take *take,
                                      void *context, tg_err *err);

/* What --help says about IDS. */
#define CLI_IDS_HELP "the same as token ids: decimal numbers with spaces, commas or newlines between them"

bool cli_text_given(const cli_text *t);

/* Check what can be checked without a model.  CLI_USAGE, after a message: two options exclude each other, IDS
 * names no id, or a word in it is no number. */
TG_MUST_CHECK int cli_text_check(const cli_text *t);

/* Note that this token begins `what`: "the text". */
void cli_note_bos(const tg_tokenizer *tok, int32_t id, const char *what);

/* The token to put before a text; -1: none.  The model's own setting does not apply to ids, nor as_is; where
 * it does, a note says so.  TG_EUSAGE: --bos, but the model has no such token. */
TG_MUST_CHECK tg_status cli_text_bos(int32_t *bos, const cli_text *t, const cli_model *m, bool as_is,
                                     tg_err *err);

/* The same without the note, for a tool that may add the token to none of its texts; *by_model: it is the
 * model's own setting. */
TG_MUST_CHECK tg_status cli_text_find_bos(int32_t *bos, bool *by_model, const cli_text *t, const cli_model *m,
                                          bool as_is, tg_err *err);

/*
 * Read the prompt: what the options name; if they name nothing, standard input, unless the model came
 * from there or it has no data; otherwise none, and p->n is 0, as for empty text.  Then put a token before
 * it, if cli_text_bos() names one: ids are taken as they are.  The caller frees it. TG_EUSAGE: the model
 * lacks one of the ids; the message names it.  There is no such probe for the model, or a probe and standard
 * input are both given.
 */
TG_MUST_CHECK tg_status cli_text_prompt(const cli_text *t, tg_tokens_prompt *p, const cli_model *m,
                                        tg_err *err);

/* The prompt that the options name, for a tool that takes something else from standard input: with the token
 * before it that the model says, about which it is silent.  Fails like cli_text_prompt(). */
TG_MUST_CHECK tg_status cli_text_option(const cli_text *t, tg_tokens_prompt *p, const tg_model *model,
                                        tg_err *err);

/* Whether cli_text_or_probe() and cli_text_stream() would take the model's probe: nobody gave a text. */
bool cli_text_is_probe(const cli_text *t, const cli_model *m);

/* Like cli_text_prompt(), but if there is no prompt, use the model's probe, as it is.  TG_EUSAGE: it has
 * none. TG_EDATA: standard input is empty. */
TG_MUST_CHECK tg_status cli_text_or_probe(const cli_text *t, tg_tokens_prompt *p, const cli_model *m,
                                          tg_err *err);

/* Check that a prompt has tokens and fits the model's context.  TG_EDATA, with how much of it fits. */
TG_MUST_CHECK tg_status cli_text_check_length(const tg_tokens_prompt *p, const tg_model *model, tg_err *err);

/* The id of the token whose text an option gives, "--target": as after other text.  TG_EUSAGE: it is not one
 * token, or the model has no texts; the message names the option. */
TG_MUST_CHECK tg_status cli_text_token(int32_t *id, const tg_model *model, const char *option,
                                       const char *text, tg_err *err);

/* The id of that token's text with a space before it; -1: it is not one token, or the text begins with white
 * space. */
int32_t cli_text_spaced(const tg_model *model, int32_t id);

/* Note that a space may be missing before a token that an option names, of probability p, if the one with it
 * is much more probable.  where: "after the prompt".  Returns whether it is said. */
bool cli_text_note_space(const tg_model *model, int32_t id, double p, int32_t spaced, double p_spaced,
                         const char *where);

/* Both, by the logits [V] at that place. */
bool cli_text_check_space(const tg_model *model, int32_t id, const float *logits, const char *where);

/* The text that cli_text_or_probe() would read, without a token before it, as a stream of any length.  The
 * caller closes it. */
typedef struct cli_stream {
    const char *name;        /* for messages: "standard input" or "the text" */
    tg_tokens_prompt prompt; /* of -p TEXT and --ids IDS */
    tg_tokens_stream stream;
} cli_stream;
TG_MUST_CHECK tg_status cli_text_stream(const cli_text *t, cli_stream *s, const cli_model *m, tg_err *err);
void cli_stream_close(cli_stream *s); /* accepts a zeroed one */

#endif
