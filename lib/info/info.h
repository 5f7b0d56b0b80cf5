/*
 * info: the contents of a file or directory, of this project or of others.
 *
 *     tg_info_open(&info, path, &want, &err)
 *     info.kind, info.value[], info.tensor[], ...
 *     tg_info_close(&info)
 *
 * Archives (.npz) are read as a whole, so that their checksums are verified.  Of other files only the
 * headers are read, unless `stats` or `check` asks for the numbers.
 * Memory: proportional to the number of arrays, at most TG_NAMES_MAX per file.
 */
#ifndef TG_INFO_INFO_H
#define TG_INFO_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/array.h"
#include "formats/source.h"
#include "lib/base/status.h"
#include "lib/models/model_file.h"
#include "lib/text/tokenizer.h"

/* A setting: a named number or text. */
typedef enum tg_info_type { TG_INFO_TEXT, TG_INFO_NUMBER, TG_INFO_OTHER } tg_info_type;

typedef struct tg_info_value {
    char *name;        /* "config/n_layer"; owned */
    char *text;        /* owned; of a number: in decimal, as JSON has it */
    tg_info_type type; /* OTHER: the text describes a value that is not shown */
} tg_info_value;

/* Minimum, maximum, mean and norm of numbers that arrive in parts. */
typedef struct tg_stats {
    uint64_t count;      /* of all numbers */
    uint64_t not_finite; /* of them NaN or infinite; the rest is about the others */
    float min, max;      /* of none: 0 */
    double sum, squares; /* in double precision, in order */
} tg_stats;

void tg_stats_add(tg_stats *s, const float *x, size_t n);
double tg_stats_mean(const tg_stats *s); /* NaN: there are no finite numbers */
double tg_stats_norm(const tg_stats *s); /* the square root of the sum of the squares */

/* An array; in other projects' files, a tensor. */
typedef struct tg_info_tensor {
    char name[TG_NAME_MAX + 1];
    char type[24]; /* "f32", "u16", "q8_0", "S5" */
    size_t ndim, shape[TG_DIMS_MAX];
    size_t count;    /* elements */
    uint64_t stored; /* bytes in the file; of a compressed array, without compression */
    size_t file;     /* index of info->file */
    bool placed;     /* offset is known: the file is mapped, and the array not compressed */
    uint64_t offset; /* of its first byte in the file */
    bool has_stats;  /* its numbers are floating-point, and were asked for */
    tg_stats stats;
} tg_info_tensor;

/* How a run of training went: what tg-train --log writes, or what a model keeps of it. */
typedef struct tg_info_history {
    double *step, *loss; /* [n] owned */
    double *val_loss; /* [n] NaN where it was not measured; owned; NULL: of a model, which does not keep it */
    size_t n, capacity;
} tg_info_history;

typedef struct tg_info {
    char *path;         /* as given; owned */
    const char *format; /* "an archive of tg", "a safetensors file" */
    char kind[24]; /* "model", "tokens", "tokenizer", "attention", "logits", "arrays", "tensors", "log" */
    char **file;   /* [n_files] paths; owned */
    size_t n_files;
    uint64_t bytes;       /* of all of them; 0: not known, as of a pipe */
    tg_info_value *value; /* [n_values] in the file's order; owned */
    size_t n_values, values_capacity;
    tg_info_tensor *tensor; /* [n] in the file's order; owned */
    size_t n, capacity;
    uint64_t parameters; /* of a model or an adapter: numbers that training changes; 0: it is neither */
    uint64_t frozen;     /* of these, those that its run leaves as they are */
    uint64_t tokens;     /* of a token stream */
    uint64_t archives;   /* in a row; values and arrays are those of the first */
    const tg_tokenizer *tokenizer; /* a reference; NULL: none */
    tg_info_history history;       /* of a log, or a trained model */
    tg_notes notes;                /* what readers of other projects' files say */
    /* what readers own */
    const unsigned char *map; /* the archive, if it is mapped */
} tg_info;

typedef struct tg_info_want {
    bool stats;
    bool check; /* refuse what is not as it should be */
} tg_info_want;

/*
 * Read the contents of the file or directory at path; "-" is standard input.
 * TG_EDATA: damaged, or nothing that this library reads.  If want->check is set, also: ids outside a
 * vocabulary, numbers that are not finite, and whatever the reader of this kind refuses.
 * TG_EUSAGE: want->check for a pipe.  TG_EIO, TG_ENOMEM.  Messages have the path.  After a failure *info
 * needs no close.
 */
TG_MUST_CHECK tg_status tg_info_open(tg_info *info, const char *path, const tg_info_want *want, tg_err *err);
void tg_info_close(tg_info *info); /* a zeroed one is fine */

/* The value of that name, or NULL. */
const tg_info_value *tg_info_find(const tg_info *info, const char *name);

/* Make a history one of ascending steps: a step replaces those before it that are as late or later, since the
 * run has gone back there.  Returns how many were replaced. */
size_t tg_info_history_latest(tg_info_history *h);

#endif
