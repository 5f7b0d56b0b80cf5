/*
 * cli_model: the model and the text that a tool is to work on.
 */
#ifndef TG_CMD_CLI_MODEL_H
#define TG_CMD_CLI_MODEL_H

#include "lib/gpt/model.h"
#include "lib/gpt/prompt.h"

typedef struct cli_model {
    tg_model model;
    const char *path; /* "-": standard input */
    int fd;           /* open as long as the model, which is mapped from it */
} cli_model;

/* Read the model that -m FILE (or NULL) means.  `remedy` is said when there is no such
 * file.  All errors name the file; after one there is nothing to close. */
TG_MUST_CHECK tg_status cli_model_open(cli_model *m, const char *given, const char *remedy, tg_err *err);
void cli_model_close(cli_model *m);

/* Whether standard input holds the text: something is there, and the model did not come from it. */
bool cli_model_has_input(const cli_model *m);

/* The text of -p TEXT (or NULL), else what standard input holds, unless the model came
 * from there; else there is none: p->ids is NULL.  To be freed. */
TG_MUST_CHECK tg_status cli_model_prompt(const cli_model *m, tg_prompt *p, const char *text, tg_err *err);

#endif
