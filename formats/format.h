/*
 * format: recognizing a file's format by its first bytes.
 */
#ifndef TG_FORMATS_FORMAT_H
#define TG_FORMATS_FORMAT_H

#include <stddef.h>

typedef enum tg_format {
    TG_FORMAT_UNKNOWN,
    TG_FORMAT_ZIP, /* with a member: tg_format_zip() */
    TG_FORMAT_ZIP_EMPTY,
    TG_FORMAT_ZIP_SPLIT,
    TG_FORMAT_NPY,
    TG_FORMAT_SAFETENSORS,
    TG_FORMAT_GGUF,
    TG_FORMAT_LLMC_MODEL,
    TG_FORMAT_LLMC_TOKENS,
    TG_FORMAT_LLMC_TOKENIZER,
    TG_FORMAT_LLAMA2C_MODEL, /* from version 1 on; of version 0: formats/llama2c.h */
    TG_FORMAT_PICKLE,
    TG_FORMAT_PICKLE_2, /* protocol 2, which old PyTorch files begin with */
    TG_FORMAT_HDF5,
    TG_FORMAT_GZIP,
    TG_FORMAT_BZIP2,
    TG_FORMAT_XZ,
    TG_FORMAT_ZSTD,
    TG_FORMAT_ELF,
    TG_FORMAT_TEXT, /* in any encoding that extends ASCII, without unusual control bytes */
    TG_FORMATS
} tg_format;

/* Bytes that suffice to recognize any of them; 9 suffice for all except text. */
#define TG_FORMAT_BYTES 512

/* The format of an input that begins with first [n], of which at most TG_FORMAT_BYTES are
 * examined.  Empty input is unknown. */
tg_format tg_format_recognize(const void *first, size_t n);

/* What a zip file is, by the name of its first member. */
typedef enum tg_format_member {
    TG_MEMBER_NONE,   /* no zip file, or too short */
    TG_MEMBER_KIND,   /* "kind.npy", with which this project's archives begin */
    TG_MEMBER_ARRAY,  /* another .npy array */
    TG_MEMBER_PICKLE, /* PyTorch's, NAME/data.pkl */
    TG_MEMBER_ODD,    /* a name that is shorter than all of these, or longer than the first bytes */
    TG_MEMBER_OTHER
} tg_format_member;
tg_format_member tg_format_zip(const void *first, size_t n);

/* The format in words that complete "this is ...": its name, then a remedy if there is a
 * simple one ("gzip data; decompress it first").  NULL: unknown. */
const char *tg_format_text(tg_format format);

#endif
