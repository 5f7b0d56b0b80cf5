/*
 * model_file: a model in the files of any project: its config, its tokenizer, and each tensor of the
 * parameter table, read when it is asked for: converted to float32, transposed, joined.
 *
 *     tg_model_file_open(&f, path, &ask, &err)
 *     for each entry i of f.table: tg_model_file_get(&values, &buffer, &f, i, false, &err)
 *     tg_model_file_close(&f)
 *
 * Tensors stay in the mapped files until they are read, so memory is that of the tensor being read.
 * To add a format, write a tg_model_format (lib/models/model_format.h).
 */
#ifndef TG_MODELS_MODEL_FILE_H
#define TG_MODELS_MODEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/source.h"
#include "formats/span.h"
#include "formats/tensor_list.h"
#include "lib/base/status.h"
#include "lib/gpt/adapter.h"
#include "lib/gpt/config.h"
#include "lib/gpt/model.h"
#include "lib/gpt/params.h"
#include "lib/text/tokenizer.h"

struct tg_model_writer;

/* Notes of a reader or writer, a line each: gaps filled, defaults assumed, tensors dropped. */
typedef struct tg_notes {
    char **line; /* [n]; owned */
    size_t n;
} tg_notes;

/* Append a line, cut at TG_ERR_MAX bytes.  After TG_NOTES_MAX lines further ones are dropped.  TG_ENOMEM. */
#define TG_NOTES_MAX 64
TG_MUST_CHECK tg_status tg_notes_add(tg_notes *notes, tg_err *err, const char *format, ...) TG_PRINTF(3, 4);
void tg_notes_free(tg_notes *notes); /* a zeroed one is fine */

/* A file in memory, and its tensors. */
typedef struct tg_loaded {
    char *path;
    int fd;
    tg_source source;           /* of bytes; closed, once a reader of its own has taken it over */
    const unsigned char *bytes; /* [n] the whole file */
    size_t n;
    bool mapped; /* otherwise it has been read */
    tg_tensor_list list;
    struct tg_kept *kept; /* memory of tensors that are not in bytes; owned */
} tg_loaded;

/* Where the rows of a parameter, or the elements of a vector, are among those of its tensor: head by head. */
typedef struct tg_row_order {
    size_t head;   /* rows of a head, which lie together; 0: all rows lie as the parameter counts them */
    size_t first;  /* the row where head 0 begins */
    size_t stride; /* rows from there to the beginning of the next head */
    bool pairs;    /* of each head, rows j and j + head/2 are at 2j and 2j + 1 */
    bool swapped;  /* of each head, the second half comes first */
} tg_row_order;

/* Where the values of a parameter come from. */
typedef struct tg_values {
    const tg_stored *piece[3]; /* each as long as the parameter, or a third of that */
    size_t n;           /* 1; 3: q, k and v, which are joined along the output; 0: all values are `fill` */
    bool transposed;    /* a piece is [columns,rows], as parameter [rows,columns] counts them */
    tg_row_order order; /* of a single piece that is not transposed */
    float fill;
} tg_values;

/* tokenizer_config.json and generation_config.json. */
enum { TG_HF_TOKENIZER_SETTINGS, TG_HF_GENERATION_SETTINGS, TG_HF_SETTINGS };

/* A text of a GGUF file about its model (lib/models/gguf_general.h). */
typedef struct tg_general {
    tg_span key, text; /* "general.license", "apache-2.0" */
} tg_general;
#define TG_GENERAL_MAX 32

typedef struct tg_model_file {
    const char *kind; /* what the format is called in messages: "a Hugging Face checkpoint" */
    tg_config config;
    uint64_t config_known; /* bit i: the files give tg_config_id i (tg_model_file_set_size() and the like) */
    bool text_only; /* the files have a model of images besides; names of the text's may have a prefix */
    const tg_tokenizer *tokenizer; /* a reference; NULL: the files have none */
    tg_params table;               /* of config */
    tg_values *values;             /* [table.n] */
    tg_loaded **file;              /* [n_files]; tensors are in their lists */
    size_t n_files, file_capacity;
    tg_notes notes;
    tg_adapter **adapter; /* [n_adapters] that change the values; owned */
    size_t n_adapters, adapter_capacity;
    tg_model own; /* of our own archive; values point to its weights */

    /* What only programs for conversations need, for the writers of these formats; p NULL: nothing. */
    tg_span chat_template;            /* the template's text (lib/models/hf_settings.h), */
    bool chat_settings;               /* which is in the settings of the tokenizer, */
    tg_span settings[TG_HF_SETTINGS]; /* files of a Hugging Face checkpoint */

    tg_general general[TG_GENERAL_MAX]; /* [n_general] */
    size_t n_general;
} tg_model_file;

/* The user's options for the files. */
typedef struct tg_model_ask {
    size_t heads;           /* for files that do not give them; 0: not given */
    const char *activation; /* likewise, one of TG_ACTIVATIONS; NULL: not given, gelu_new is assumed */
    const char *map;        /* a file that names the tensors (lib/models/model_format.h); NULL: none */
    bool fuse_qkv;          /* join three separate matrices q, k, v */
    bool vocabulary;        /* only the tokenizer is wanted: of a GGUF file, whatever model it is of */
    bool chat_template;     /* for a writer: also the template of conversations, */
    bool hf_settings;       /* and the settings of a Hugging Face checkpoint */
    bool lossy;             /* leave out what the model cannot hold, and say so in the notes */
} tg_model_ask;

/*
 * Open a file or a directory.  Its kind is recognized by the first bytes, and by the names of the files in a
 * directory. ask may be NULL. TG_EDATA: unknown, damaged, or a model that this library cannot compute; the
 * message names the file and what is asked of it.  TG_EUSAGE: the number of heads is missing, or contradicts
 * the file's.  TG_EIO, TG_ENOMEM. After a failure *f needs no close.
 */
TG_MUST_CHECK tg_status tg_model_file_open(tg_model_file *f, const char *path, const tg_model_ask *ask,
                                           tg_err *err);
void tg_model_file_close(tg_model_file *f); /* a zeroed one is fine */

/*
 * The same of a source, at its beginning, which f takes over, also after a failure.  It may be a pipe: all of
 * it is then in memory.  Other files are not looked for.  Messages call it by `name`.
 */
TG_MUST_CHECK tg_status tg_model_file_open_source(tg_model_file *f, tg_source *source, const char *name,
                                                  const tg_model_ask *ask, tg_err *err);

/* Give the model a tokenizer, a reference of which it takes, unless it has one, which must be the same.
 * TG_EDATA: it is another, or the model has too few rows for it. */
TG_MUST_CHECK tg_status tg_model_file_set_tokenizer(tg_model_file *f, const tg_tokenizer *tok, tg_err *err);

/*
 * Add an adapter, a zeroed one, which f owns, and which the caller makes for f's table: from then on all that
 * reads values gets those with its change.  Several add up.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_model_file_adapt(tg_model_file *f, tg_adapter **adapter, tg_err *err);

/* The template of the conversations that the first adapter which notes one was trained on, or else the model.
 */
tg_chat_note tg_model_file_chat(const tg_model_file *f);

/* Whether an adapter changes table entry i. */
bool tg_model_file_is_changed(const tg_model_file *f, size_t i);

/* Whether a stream that begins with `first` [n] is a model, of this project or of another; TG_FORMAT_BYTES
 * (formats/format.h) suffice.  An archive of ours whose first array is compressed is taken for none; what
 * begins with seven numbers of a model is taken for one of llama2.c's, of whatever size. */
bool tg_model_file_begins(const unsigned char *first, size_t n);

/*
 * Whether a path is another project's model, or at least not one of this project's archives: a directory, or
 * a regular file that begins like a file of models.  What does not exist is none.  TG_EIO: it cannot be read;
 * the message names it.
 */
TG_MUST_CHECK tg_status tg_model_file_is_foreign(const char *path, bool *foreign, tg_err *err);

/*
 * Read table entry i into out, as float32, [rows,columns] or, if transposed, [columns,rows].
 * TG_EDATA: a value is not finite, with its name and place, or rounds to infinity.
 * Uses all threads.
 */
TG_MUST_CHECK tg_status tg_model_file_read(float *out, const tg_model_file *f, size_t i, bool transposed,
                                           tg_err *err);

/* Its values where they lie in the file, if they lie there as the library wants them (float32, joined, not
 * transposed, on a multiple of 4 bytes); otherwise NULL.  They have not been checked. */
const float *tg_model_file_direct(const tg_model_file *f, size_t i);
const tg_bf16 *tg_model_file_direct16(const tg_model_file *f, size_t i); /* the same of bf16 */

/* Whether single rows of a matrix can be read, and row r of it, like tg_model_file_read(). */
bool tg_model_file_has_rows(const tg_model_file *f, size_t i);
TG_MUST_CHECK tg_status tg_model_file_read_row(float *out, const tg_model_file *f, size_t i, size_t r,
                                               tg_err *err);

/* Rows first .. first + n - 1 likewise, but not checked.  Uses all threads. */
void tg_model_file_load_rows(float *out, const tg_model_file *f, size_t i, size_t first, size_t n);

/* Values of table entry i, checked: in place if they can be, otherwise read into the buffer, which grows.
 * They are valid until the buffer is used again.  Otherwise like tg_model_file_read(). */
typedef struct tg_float_buffer {
    float *x; /* [capacity]; free() */
    size_t capacity;
} tg_float_buffer;
TG_MUST_CHECK tg_status tg_model_file_get(const float **values, tg_float_buffer *buffer,
                                          const tg_model_file *f, size_t i, bool transposed, tg_err *err);

/* Table entry i is not needed for now: take its pages of mapped files out of memory. */
void tg_model_file_release(const tg_model_file *f, size_t i);

/*
 * Make a model of f, which the model takes over; *f is then zeroed, also after a failure.  Tensors stay where
 * they are mapped if they can be used there, unless `flat`.  A model without a tokenizer gets one of kind
 * "ids". TG_EDATA: as tg_model_file_read().  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_model_file_to_model(tg_model *m, tg_model_file *f, bool flat, tg_err *err);

/* The bytes of the copies of f's tensors that it makes, unless `flat`. */
uint64_t tg_model_file_copied(const tg_model_file *f);

/*
 * The same of a model whose matrices are read, converted and checked when they are used: those of no more
 * than a layer are in memory, the output head if it is used, and of the token embedding the rows that are
 * looked up.  A program calls tg_model_check_lent() after each pass, before it uses the results.  TG_EDATA: a
 * value of a vector is not finite.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_model_file_lend(tg_model *m, tg_model_file *f, tg_err *err);

/* ---- writing */

typedef enum tg_write_type {
    TG_WRITE_F32,
    TG_WRITE_F16,
    TG_WRITE_BF16,
    TG_WRITE_Q8_0,
    TG_WRITE_TYPES
} tg_write_type;
#define TG_WRITE_TYPE_NAMES "f32|f16|bf16|q8_0"

typedef struct tg_write_options {
    tg_write_type type; /* of matrices; some formats keep vectors in float32 */
    bool lossy;         /* leave out what the format cannot hold, and say so in the notes */
    bool split_qkv;     /* write q, k and v separately */
    const char *base;   /* of an adapter: what its model is called; NULL: as the user named its directory */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* bytes as float32; NULL: none */
    void *context;
} tg_write_options;

/* The formats that models are written in, "npz|hf|...", into text [size], which is returned; the writer of a
 * name, or NULL. */
const char *tg_model_writer_names(char *text, size_t size);
const struct tg_model_writer *tg_model_writer_named(const char *name);

#endif
