/*
 * train_options: the command line of tg-train.
 */
#ifndef TG_CMD_TRAIN_OPTIONS_H
#define TG_CMD_TRAIN_OPTIONS_H

#include "cmd/cli/cli.h"
#include "cmd/cli/text.h"
#include "lib/base/status.h"
#include "lib/gpt/adapter.h"
#include "lib/train/settings.h"

#define TRAIN_COMMAND_SIZE 1024
#define TRAIN_PATH_SIZE 4096
#define TRAIN_SNAPSHOT_SIZE (TRAIN_PATH_SIZE + 32) /* DIRECTORY/000050.npz */

typedef struct train_options {
    const char *model, *output, *log;
    const char *val; /* a separate token archive to validate on; NULL: a part of the text */
    bool keep_best, no_lock, recompute;
    char best[TRAIN_PATH_SIZE];            /* with keep_best: the file of the best model */
    const char *probe_text, *probe_dir;    /* NULL: not given */
    cli_text probe;                        /* with probe_text: what it names */
    char snapshots[TRAIN_PATH_SIZE];       /* likewise: their directory */
    tg_settings asked;                     /* valid only where `given` */
    bool given[TG_SETTINGS];               /* by tg_setting_id */
    char name[TG_SETTINGS][CLI_NAME_SIZE]; /* of the options, "min-lr", by tg_setting_id */
    const char *freeze;                    /* the parameters that stay as they are; NULL: none */
    const char *adapter;                   /* one to begin with; NULL: not given */
    tg_adapter_shape lora;                 /* rank 0: not given; targets are in: */
    const char *lora_targets;              /* NULL: all */
    double lora_alpha;                     /* 0: not given */
    size_t eval_every, eval_tokens, save_every, probe_every, threads;
    bool probe_every_given;
    double minutes;   /* 0: not given */
    size_t available; /* bytes of memory, before anything is read (lib/base/memory.h) */
    char **files;     /* [n_files] of tokens */
    size_t n_files;
    char again[TRAIN_COMMAND_SIZE]; /* the command as it was given */
} train_options;

/* Whether an adapter is trained, and the model stays as it is. */
static inline bool train_wants_adapter(const train_options *o)
{
    return o->lora.rank > 0 || o->adapter;
}

/* The file that the model is saved to. */
const char *train_target(const train_options *o);

/* Parse the command line.  CLI_USAGE after a message. */
TG_MUST_CHECK int train_options_parse(int argc, char **argv, train_options *o);

/* The command that extends a complete run, which keeps its other settings, to another number of steps. */
void train_command_of_steps(char command[TRAIN_COMMAND_SIZE], const train_options *o, size_t steps);

#endif
