/*
 * cli_model: the model and the text that a tool works on.
 */
#ifndef TG_CMD_CLI_MODEL_H
#define TG_CMD_CLI_MODEL_H

#include "lib/gpt/model.h"
#include "lib/gpt/prompt.h"
#include "lib/gpt/stream.h"

typedef struct cli_model {
    tg_model model;
    const char *path; /* "-": standard input */
    int fd;           /* stays open as long as the model, which is mapped from it */
} cli_model;

/* Read the model from `given`, the FILE of -m, or NULL.  If the file does not exist, the message ends
 * with `remedy`.  Errors name the file and leave nothing to close. */
TG_MUST_CHECK tg_status cli_model_open(cli_model *m, const char *given, const char *remedy, tg_err *err);
void cli_model_close(cli_model *m);

/* Read the prompt: `text`, the TEXT of -p; if that is NULL, standard input, unless the model came from
 * there or it has no data; otherwise none, and p->ids is NULL.  The caller frees it. */
TG_MUST_CHECK tg_status cli_model_prompt(const cli_model *m, tg_prompt *p, const char *text, tg_err *err);

/* Like cli_model_prompt(), but if there is no prompt, use the model's probe.  TG_EUSAGE: it has none. */
TG_MUST_CHECK tg_status cli_model_text(const cli_model *m, tg_prompt *p, const char *text, tg_err *err);

/* The text that cli_model_text() would read, as a stream of any length.  The caller closes it. */
typedef struct cli_stream {
    const char *name; /* for messages: "standard input" or "the text" */
    tg_prompt prompt; /* of -p TEXT */
    tg_stream stream;
} cli_stream;
TG_MUST_CHECK tg_status cli_model_stream(const cli_model *m, cli_stream *s, const char *text, tg_err *err);
void cli_stream_close(cli_stream *s); /* accepts a zeroed one */

#endif
