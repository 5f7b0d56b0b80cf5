/*
 * model_format: the interface of a format of models, for the files that implement one.
 *
 * To add a format, write a tg_model_format in a file of its own and list it in model_formats.c; to write it,
 * a tg_model_writer, listed in model_writers.c.  The lists are apart, so that tools that only read are linked
 * without writers.
 */
#ifndef TG_MODELS_MODEL_FORMAT_H
#define TG_MODELS_MODEL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/models/model_file.h"

/* How a format is read. */
typedef struct tg_model_format {
    const char *text; /* "a Hugging Face checkpoint" */

    /* recognize: whether a file begins like one of this format; file is NULL for a directory, of which
     * only one format says that it is its own. */
    bool (*recognize)(const tg_loaded *file);

    /*
     * open: read the file f->file[0], or the directory at path: set the members of f->config that the files
     * tell (sizes, tied, and either both or none of activation and layer_norm_epsilon) and their bits in
     * config_known, set the tokenizer if there is one, fill the lists of tensors, and
     * call tg_model_file_match().  The caller closes f after a failure, and adds path to the message.  path
     * is NULL for a stream, which is one file.
     */
    tg_status (*open)(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err);
} tg_model_format;

/* All formats, NULL at the end. */
extern const tg_model_format *const tg_model_formats[];

/* A file that a model is written to. */
typedef struct tg_model_part {
    const char *name; /* in the target directory; NULL: the target itself */
    /* Write it to fd.  Errors of the system are without the file's name. */
    tg_status (*write)(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err);
    /* Whether this model has such a part; NULL: always.  TG_EIO, TG_ENOMEM: that cannot be told. */
    tg_status (*wanted)(bool *wanted, const tg_model_file *f, tg_err *err);
    /* Files in the directory that a reader would take for this part where it is not written, ended by NULL;
     * NULL: none. */
    const char *const *instead;
} tg_model_part;

/* How a format is written. */
typedef struct tg_model_writer {
    const char *name; /* "hf": what --to calls it */

    /* check: refuse a model, or options, that the format cannot hold (TG_EUSAGE, naming what), or add what
     * will be left out to the notes if o->lossy.  Called before anything is written. */
    tg_status (*check)(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err);
    const tg_model_part *part; /* [n_parts] in the order in which they are written */
    size_t n_parts;
} tg_model_writer;

/* All that can be written, NULL at the end. */
extern const tg_model_writer *const tg_model_writers[];

/* ---- for open() */

/* Load a whole file into f; *loaded stays valid as long as f.  TG_EIO, TG_ENOMEM, with the path. */
TG_MUST_CHECK tg_status tg_model_file_load(tg_model_file *f, const char *path, tg_loaded **loaded,
                                           tg_err *err);

/* The same of a source, which is taken over, also after a failure; path is then its name.  NULL: of the path.
 */
TG_MUST_CHECK tg_status tg_model_file_add(tg_model_file *f, const char *path, tg_source *source,
                                          tg_loaded **loaded, tg_err *err);
void tg_loaded_free(tg_loaded *file); /* tg_model_file_close() does this */

/* Hand the source over to a reader that closes it; the bytes stay where they are until then. */
tg_source tg_loaded_take_source(tg_loaded *file);

/* Free `memory` together with the file; at once after a failure, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_loaded_keep(tg_loaded *file, void *memory, tg_err *err);

/* Take the whole pages among the bytes at [n] out of memory, if they are in a mapped file; the system reads
 * them again when they are used again. */
void tg_loaded_forget(const tg_loaded *file, const void *bytes, size_t n);

/* Mark a member of f->config as known from the files. */
static inline void tg_config_set_known(tg_model_file *f, tg_config_id id)
{
    f->config_known |= 1u << id;
}

/* A name in a format's table. */
typedef struct tg_name {
    const char
        *pattern; /* "h.N.ln_1.weight": N, between characters that are no letters or digits, is the layer */
    int kind;     /* tg_param_kind; TG_NAME_IGNORED: no parameter, as a mask */
    int part;     /* of TG_QKV_W or TG_QKV_B */
    size_t layer; /* of a name without N */
    bool transposed; /* [out,in] whatever the layout says */
} tg_name;

#define TG_NAME_IGNORED (-1)
enum { TG_NAME_WHOLE, TG_NAME_Q, TG_NAME_K, TG_NAME_V, TG_NAME_PARTS };

/* How a format stores the matrices of the four linear layers. */
typedef enum tg_layout {
    TG_LAYOUT_IN_OUT,  /* as this library */
    TG_LAYOUT_OUT_IN,  /* transposed */
    TG_LAYOUT_BY_SHAPE /* either; the first matrix that is not square tells */
} tg_layout;

typedef struct tg_names {
    const char *what; /* "GPT-2", for "x is not a tensor of WHAT" */
    const tg_name *row;
    size_t n;
    tg_layout layout;
    bool prefixes; /* names may begin with "transformer.", "_orig_mod.", "module.", "model." */
    bool padded;   /* wte.weight may have more rows than the vocab_size that is known; these are not read */
} tg_names;

extern const tg_names tg_names_gpt2;     /* Hugging Face's, [in,out] */
extern const tg_names tg_names_nanogpt;  /* the same names, [out,in] */
extern const tg_names tg_names_by_shape; /* either */

/* The row for a tensor's name, and its layer; NULL: there is none. */
const tg_name *tg_names_find(const tg_names *names, const char *name, size_t *layer);

/*
 * Find the parameters among the tensors of f's files: complete f->config (what config_known does not have
 * follows from the tensors: sizes, which biases and gains exist, whether the head is tied), build f->table
 * and f->values. A tied head that is also stored must have the same values. TG_EDATA: a tensor that is none
 * of the names' (a note, if ask->lossy), a missing one, a wrong shape; TG_EUSAGE: the number of heads is
 * neither known nor asked for, or they differ; TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_model_file_match(tg_model_file *f, const tg_names *names, const tg_model_ask *ask,
                                            tg_err *err);

/* ---- for write() */

/* Whether a parameter is the matrix of a linear layer, which some formats store transposed. */
static inline bool tg_is_linear(tg_param_kind kind)
{
    return kind == TG_QKV_W || kind == TG_ATT_PROJ_W || kind == TG_FC_W || kind == TG_FC_PROJ_W;
}

/* Make room for p's values.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_float_buffer_grow(tg_float_buffer *buffer, const tg_param *p, tg_err *err);

/* out [columns,rows] = in [rows,columns] transposed, with all threads. */
void tg_transpose(float *out, const float *in, size_t rows, size_t columns);

/*
 * Round x [n] to float16 or bfloat16, to nearest, ties to even.  TG_EDATA: x[i] is beyond the range of
 * float16 (bfloat16), with `name` and i.
 */
TG_MUST_CHECK tg_status tg_to_half(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err);
TG_MUST_CHECK tg_status tg_to_bf16(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err);

/* Whether all values of table entry i are `value`; false also if the config leaves the kind out (i =
 * table.n). */
TG_MUST_CHECK tg_status tg_model_file_is_constant(bool *is, const tg_model_file *f, size_t i, float value,
                                                  tg_err *err);

#endif
