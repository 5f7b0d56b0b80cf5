/*
 * cli_model: the model that a tool works on.
 */
#ifndef TG_CMD_CLI_MODEL_H
#define TG_CMD_CLI_MODEL_H

#include "lib/gpt/model.h"

typedef struct cli_model {
    tg_model model;
    const char *path; /* "-": standard input */
    int fd;           /* stays open as long as the model, which is mapped from it */
} cli_model;

/* Read the model from `given`, the FILE of -m, or NULL.  If the file does not exist, the message ends
 * with `remedy`.  Errors name the file and leave nothing to close. */
TG_MUST_CHECK tg_status cli_model_open(cli_model *m, const char *given, const char *remedy, tg_err *err);
void cli_model_close(cli_model *m);

#endif
