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

#include "formats/format.h"
#include "lib/models/model_file.h"

/* How a format is read. */
typedef struct tg_model_format {
    const char *text; /* "a Hugging Face checkpoint" */

    /* What is of this format: directories, or files that begin so.  recognize: instead of the other two. */
    bool directory;
    tg_format format;
    tg_format_member member; /* the first of a zip file */
    bool (*recognize)(const void *first, size_t n);

    /*
     * open: read the file f->file[0], or the directory at path: set what the files say of f->config
     * (tg_model_file_set_size() and the like), set the tokenizer if there is one, fill the lists of tensors,
     * and call tg_model_file_match().  The caller closes f after a failure, and adds path to the message.
     * path is NULL for a stream, which is one file.
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
    const char *what; /* that would be then, in messages; if `instead` is not NULL */
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

/* Load a whole file into f; *loaded stays valid as long as f.  source: taken over, also after a failure, and
 * path is its name; NULL: of the path.  TG_EIO, TG_ENOMEM, with the path. */
TG_MUST_CHECK tg_status tg_model_file_add(tg_model_file *f, const char *path, tg_source *source,
                                          tg_loaded **loaded, tg_err *err);
void tg_loaded_free(tg_loaded *file); /* tg_model_file_close() does this */

/* Load a file that is found in a directory and was not named, of at most `max` bytes, likewise.  *loaded is
 * NULL if it is not needed, and does not exist.  TG_EDATA: it is longer, or no regular file. */
TG_MUST_CHECK tg_status tg_model_file_add_found(tg_model_file *f, tg_loaded **loaded, const char *directory,
                                                const char *name, bool needed, size_t max, tg_err *err);

/* Hand the source over to a reader that closes it; the bytes stay where they are until then. */
tg_source tg_loaded_take_source(tg_loaded *file);

/* Memory for n bytes, aligned for any type, which is freed together with the file.  NULL: there is none. */
void *tg_loaded_alloc(tg_loaded *file, size_t n);

/* Take the whole pages among the bytes at [n] out of memory, if they are in a mapped file; the system reads
 * them again when they are used again. */
void tg_loaded_forget(const tg_loaded *file, const void *bytes, size_t n);

/* Lend the tensors of f, which it takes over, also after a failure, to a model of f's config that has been
 * begun and has none.  Fails like tg_model_file_lend(); *m must still be freed. */
TG_MUST_CHECK tg_status tg_model_file_lend_to(tg_model *m, tg_model_file *f, tg_err *err);

/* Set what the files say of f->config: a size; the activation and LayerNorm's epsilon; whether the head is
 * tied. */
void tg_model_file_set_size(tg_model_file *f, tg_config_id id, size_t size);
void tg_model_file_set_norm(tg_model_file *f, tg_activation activation, double epsilon);
void tg_model_file_set_tied(tg_model_file *f, bool tied);

/* A name in a format's table. */
typedef struct tg_name {
    const char
        *pattern; /* "h.N.ln_1.weight": N, between characters that are no letters or digits, is the layer */
    int kind;     /* tg_param_kind, or one of those below 0 */
    int part;     /* of TG_QKV_W or TG_QKV_B */
    size_t layer; /* of a name without N */
    bool transposed; /* [out,in] whatever the layout says */
} tg_name;

enum {
    TG_NAME_GATE_UP_W = -3, /* a gated MLP's TG_GATE_W and TG_UP_W in one */
    TG_NAME_GATE_UP_B,
    TG_NAME_IGNORED /* no parameter, as a mask */
};
enum { TG_NAME_WHOLE, TG_NAME_Q, TG_NAME_K, TG_NAME_V, TG_NAME_PARTS };

/* How a format stores the matrices of the four linear layers. */
typedef enum tg_layout {
    TG_LAYOUT_IN_OUT,  /* as this library */
    TG_LAYOUT_OUT_IN,  /* transposed */
    TG_LAYOUT_BY_SHAPE /* either; the first matrix that is not square decides */
} tg_layout;

/* What a format calls the tensors of a family (lib/gpt/family.h). */
typedef struct tg_names {
    const char *family; /* "gpt2" */
    const char *what;   /* "GPT-2", for "x is not a tensor of WHAT" */
    const tg_name *row;
    size_t n;
    tg_layout layout;
    bool prefixes; /* names may begin with "transformer.", "_orig_mod.", "module.", "model." */
    bool padded;   /* wte.weight may have more rows than the vocab_size that is known; these are not read */
    bool pairs;    /* of each head of q and k, the two rows that are rotated together follow each other */
    bool swapped;  /* of each head of q and k, the rows of the second half come first */
    bool by_head;  /* in a tensor of q, k and v they are head by head: q, k, v of head 0, of head 1, ... */
} tg_names;

extern const tg_names tg_names_gpt2;     /* Hugging Face's, [in,out] */
extern const tg_names tg_names_nanogpt;  /* the same names, [out,in] */
extern const tg_names tg_names_by_shape; /* either */
extern const tg_names tg_names_gguf;     /* llama.cpp's, [out,in] */

/* Its names in families with a gated MLP: Llama's, and with another `family` its relatives'; where the gate
 * and what it gates are in one tensor; and in GPT-NeoX. */
extern const tg_names tg_names_gguf_gated, tg_names_gguf_phi3, tg_names_gguf_neox;

/* Hugging Face's of a family after GPT-2, where they are not the parameters' own; NULL: they all are. */
const tg_names *tg_names_hf(const char *family);

/*
 * Several parameters of a block that some files have in one tensor, one after another: q, k and v; the gate
 * of an MLP and what it gates.
 */
typedef struct tg_joint {
    int kind;              /* in a table of names */
    tg_param_kind part[3]; /* [n] */
    size_t n;
} tg_joint;

/* The one of that kind; NULL: there is none. */
const tg_joint *tg_joint_of(int kind);

/* The one with that part, if `names` (or NULL) has a name for it; NULL: there is none. */
const tg_joint *tg_names_joint(const tg_names *names, tg_param_kind part);

/* The row for a tensor's name, and its layer; NULL: there is none. */
const tg_name *tg_names_find(const tg_names *names, const char *name, size_t *layer);

/* ---- names from a file */

/*
 * A map of names: a text file that says which tensors are which parameters.
 *
 *     # THEIRS             OURS                    [transposed]
 *     blocks.N.attn.W_qkv  h.N.attn.c_attn.weight  transposed
 *     blocks.N.attn.mask   -
 *
 * THEIRS is a tensor's name in the file, OURS a parameter's (lib/gpt/params.h), or h.N.attn.q_proj.weight and
 * the like for a third of c_attn; "-": the tensor is none.  N, between characters that are no letters or
 * digits, is the layer; both names have it, or neither.  "transposed": stored as [out,in].
 */
typedef struct tg_name_map {
    tg_names names;
    tg_name *row; /* [names.n]; owned, like text */
    char *text;
} tg_name_map;

#ifndef TG_NAME_MAP_MAX                   /* tests/fuzz/limits.h */
#define TG_NAME_MAP_MAX ((size_t)1 << 20) /* bytes of the file */
#endif

/* Read the file.  TG_EDATA, with path and line; TG_EIO, TG_ENOMEM.  After a failure *map needs no free. */
TG_MUST_CHECK tg_status tg_name_map_read(tg_name_map *map, const char *path, tg_err *err);
void tg_name_map_free(tg_name_map *map);

/* ---- tensors and parameters */

/*
 * Find the parameters among the tensors of f's files: complete f->config (what config_known does not have
 * follows from the tensors: sizes, which biases and gains exist, whether the head is tied), build f->table
 * and f->values.  A head that the config ties, and that is stored with other values, is kept, with a note.
 * TG_EDATA: a tensor that is none of the names' (a note, if ask->lossy), a missing one, a wrong shape;
 * TG_EUSAGE: the number of heads is neither known nor asked for, or what is asked for and what is known
 * differ; TG_ENOMEM.
 * In a family after GPT-2 the config is known as a whole, except perhaps whether the head is tied.  A tensor
 * has its name in `names`, if these are the family's, or the parameter's own (lib/models/match_table.c).
 * TG_EUSAGE: a map is asked for.
 */
TG_MUST_CHECK tg_status tg_model_file_match(tg_model_file *f, const tg_names *names, const tg_model_ask *ask,
                                            tg_err *err);

/* ---- for write() */

/* Whether a parameter is the matrix of a linear layer, which some formats store transposed. */
static inline bool tg_is_linear(const tg_param *p)
{
    return p->use == TG_USE_MATRIX && p->kind != TG_HEAD_W;
}

/* Whether a kind is of what is rotated. */
static inline bool tg_is_rotated(tg_param_kind kind)
{
    return kind >= TG_Q_W && kind <= TG_K_B;
}

/* The tensor's name, into name [size]; the table has the kind and the part. */
void tg_names_put(char *name, size_t size, const tg_names *names, int kind, int part, size_t layer);

/* What a message calls an activation: "gelu (exact)". */
const char *tg_activation_text(tg_activation activation);

/* Refuse a model of another family than the names'.  TG_EUSAGE. */
TG_MUST_CHECK tg_status tg_names_check_family(const tg_names *names, const tg_config *config,
                                              const char *format, tg_err *err);

/* Whether all values of table entry i are `value`; false also if the config leaves the kind out (i =
 * table.n). */
TG_MUST_CHECK tg_status tg_model_file_is_constant(bool *is, const tg_model_file *f, size_t i, float value,
                                                  tg_err *err);

#endif
