#include "lib/vocab/vocab_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/archive.h"
#include "formats/format.h"
#include "formats/path.h"
#include "formats/source.h"
#include "lib/base/choice.h"
#include "lib/bpe/bpe.h"
#include "lib/spm/spm.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/vocab/foreign.h"

#define VERSION 1

/* ---- archives */

/* Read the tokenizer's arrays, which are consecutive; *event is what follows them. */
static tg_status take_arrays(tg_tokenizer_draft *draft, tg_archive_reader *r, tg_array *a,
                             tg_archive_event *event, tg_err *err)
{
    bool taken = false, any = false;
    tg_status status = TG_OK;

    while (!status && !(status = tg_archive_next(r, a, event, err)) && *event == TG_ARCHIVE_ARRAY) {
        status = tg_tokenizer_take(draft, r, a, &taken, err);
        if (any && !taken)
            break;
        any |= taken;
    }
    return status;
}

/* An archive of kind "tokenizer" has nothing else, and nothing follows it. */
static tg_status check_end(tg_archive_reader *r, tg_array *a, tg_archive_event event, tg_err *err)
{
    tg_status status;

    if (event == TG_ARCHIVE_ARRAY)
        return tg_fail(err, TG_EDATA, "%s does not belong in an archive of kind \"tokenizer\"", a->name);
    if ((status = tg_archive_next(r, a, &event, err)))
        return status;
    return event == TG_ARCHIVE_EOF ? TG_OK
                                   : tg_fail(err, TG_EDATA, "another archive follows the tokenizer's");
}

static tg_status take_tokenizer(const tg_tokenizer **tok, tg_archive_reader *r, tg_err *err)
{
    tg_tokenizer_draft draft = {0};
    tg_archive_event event;
    tg_array a;
    char kind[32];
    bool alone;
    tg_status status;

    if ((status = tg_archive_next(r, &a, &event, err)))
        return status;
    /* unreached: another event: an archive begins with an array */
    if (event != TG_ARCHIVE_ARRAY || strcmp(a.name, "kind") != 0)
        return tg_fail(err, TG_EDATA, "not an archive of tg: \"kind\" is missing");
    if ((status = tg_archive_get_text(r, &a, kind, sizeof kind, err)))
        return status;
    alone = strcmp(kind, "tokenizer") == 0;
    if (!alone && strcmp(kind, "tokens") != 0 && strcmp(kind, "model") != 0)
        return tg_fail(err, TG_EDATA,
                       "the archive has kind \"%s\", expected \"tokenizer\", \"tokens\" or \"model\"", kind);
    if ((status = tg_archive_next(r, &a, &event, err)))
        return status;
    if (event != TG_ARCHIVE_ARRAY)
        return tg_fail(err, TG_EDATA, "archive ends after \"kind\": \"version\" is missing");
    if ((status = tg_archive_expect_version(r, &a, VERSION, err)) ||
        (status = take_arrays(&draft, r, &a, &event, err)) ||
        (alone && (status = check_end(r, &a, event, err))))
        goto done;
    status = tg_tokenizer_complete(tok, &draft, err);

done:
    tg_tokenizer_draft_free(&draft);
    return status;
}

/* Takes ownership of the source. */
static tg_status read_archive(const tg_tokenizer **tok, tg_source *source, tg_err *err)
{
    tg_archive_reader *r;
    tg_status status = tg_archive_open_source(&r, source, err);

    if (!status)
        status = take_tokenizer(tok, r, err);
    tg_archive_close(r);
    return status;
}

/* ---- files in the same directory */

tg_status tg_vocab_find_beside(char **found, const char *path, const char *const *names, bool directory,
                               tg_err *err)
{
    const char *name = NULL;
    bool exists;
    char *in = directory ? tg_path_in(path, "") : tg_path_sibling(path, "");
    tg_status status = in ? tg_path_find(&name, in, names, err) : tg_fail_memory(err, strlen(path), "a path");

    *found = NULL;
    if (!status && name && !(*found = tg_path_in(in, name)))
        status = tg_fail_memory(err, strlen(path), "a path");
    if (!status && *found && (status = tg_path_examine_found(*found, &exists, err))) {
        free(*found);
        *found = NULL;
    }
    free(in);
    return status;
}

/* ---- other projects' files */

static bool is_json(const tg_file_text *file)
{
    size_t i = 0;

    while (i < file->n && strchr(" \t\r\n", file->text[i]) && file->text[i] != '\0')
        i++;
    return i < file->n && file->text[i] == '{';
}

/* Read all of an opened source into `file`, whose name is set. */
static tg_status read_all(tg_file_text *file, tg_source *source, tg_err *err)
{
    if (tg_source_all(source, TG_VOCAB_FILE_MAX, err))
        return tg_err_in(err, file->name);
    file->text = source->next;
    file->n = source->ready;
    return TG_OK;
}

/* GPT-2's files: `file`, which is the vocabulary or the merges, and the other one in its directory. */
static tg_status read_pair(const tg_tokenizer **tok, const tg_file_text *file, bool is_vocab, tg_err *err)
{
    static const char *const merges[] = {"merges.txt", "vocab.bpe", NULL};
    static const char *const vocabs[] = {"vocab.json", "encoder.json", NULL};
    tg_file_text other = {0};
    tg_source source = {.fd = -1};
    char *path;
    int fd = -1;
    tg_status status = tg_vocab_find_beside(&path, file->name, is_vocab ? merges : vocabs, false, err);

    if (status)
        return status;
    if (!path && is_vocab) {
        status = tg_fail(err, TG_EDATA,
                         "%s: a vocabulary needs merges.txt or vocab.bpe in the same directory", file->name);
    } else if (!path) {
        status = tg_gpt2_files_read(tok, file, NULL, err);
    } else if ((fd = tg_path_open(path)) < 0) {
        status = tg_fail_sys(err, "%s", path);
    } else {
        other.name = path;
        if (!(status = tg_source_open(&source, fd, err)) && !(status = read_all(&other, &source, err)))
            status = tg_gpt2_files_read(tok, is_vocab ? &other : file, is_vocab ? file : &other, err);
    }
    tg_source_close(&source);
    if (fd >= 0)
        close(fd);
    free(path);
    return status;
}

/* A tokenizer.json, or one of GPT-2's files. */
static tg_status read_text(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err)
{
    bool whole = false;
    tg_status status;

    if (!is_json(file))
        return read_pair(tok, file, false, err);
    if ((status = tg_tokenizer_json_recognize(file, &whole, err)))
        return status;
    return whole ? tg_tokenizer_json_read(tok, file, err) : read_pair(tok, file, true, err);
}

/* ---- any file */

typedef tg_status binary_reader(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err);

/* The reader of a file that begins with first [n] and is neither an archive nor text: llm.c's tokenizer, a
 * pickle, which may be meta.pkl, SentencePiece's, or llama2.c's; NULL: another. */
static binary_reader *find_reader(tg_format format, const unsigned char *first, size_t n)
{
    if (format == TG_FORMAT_LLMC_TOKENIZER)
        return tg_llmc_vocab_read;
    if (format == TG_FORMAT_PICKLE || format == TG_FORMAT_PICKLE_2)
        return tg_meta_pickle_read;
    if (format != TG_FORMAT_UNKNOWN)
        return NULL;
    return tg_spm_model_recognize(first, n)       ? tg_spm_model_read
           : tg_llama2c_vocab_recognize(first, n) ? tg_llama2c_vocab_read
                                                  : NULL;
}

/* Read all of a file that is no archive, if it may be a tokenizer; *reader is NULL for a text. */
static tg_status load(tg_file_text *file, binary_reader **reader, tg_source *source, tg_err *err)
{
    tg_format format;

    /* unreached: a read that fails after one that was short */
    if (tg_source_peek(source, TG_FORMAT_BYTES, err))
        return tg_err_in(err, file->name);
    if (source->ready == 0)
        return tg_fail(err, TG_EDATA, "%s: the file is empty, expected a tokenizer", file->name);
    format = tg_format_recognize(source->next, source->ready);
    *reader = find_reader(format, source->next, source->ready);
    if (format != TG_FORMAT_TEXT && !*reader)
        return tg_fail(err, TG_EDATA, "%s: %s%s", file->name,
                       tg_format_text(format) ? "expected a tokenizer, this is " : "not a tokenizer",
                       tg_format_text(format) ? tg_format_text(format) : "");
    return read_all(file, source, err);
}

static tg_status read_source(const tg_tokenizer **tok, const char *name, tg_source *source,
                             const tg_split *split, tg_err *err)
{
    tg_file_text file = {.name = name};
    binary_reader *reader = NULL;
    bool archive, tiktoken;
    tg_status status;

    if (tg_archive_sniff(source, &archive, err))
        return tg_err_in(err, name);
    if (!archive && (status = load(&file, &reader, source, err)))
        return status;
    tiktoken = !archive && !reader && !is_json(&file) && tg_tiktoken_recognize(&file);
    if (split && !tiktoken)
        return tg_fail(err, TG_EUSAGE,
                       "%s: a rule for splitting is only for .tiktoken files, and this is another file",
                       name);
    if (!split && tiktoken)
        return tg_fail(err, TG_EUSAGE, "%s: a .tiktoken file needs a rule for splitting", name);
    if (archive)
        return read_archive(tok, source, err) ? tg_err_in(err, name) : TG_OK;
    if (tiktoken)
        return tg_tiktoken_read(tok, &file, *split, err);
    return reader ? reader(tok, &file, err) : read_text(tok, &file, err);
}

static tg_status read_file(const tg_tokenizer **tok, const char *path, const tg_split *split, tg_err *err)
{
    tg_source source;
    const int fd = tg_path_open(path);
    tg_status status;

    if (fd < 0)
        return tg_fail_sys(err, "%s", path);
    if (tg_source_open(&source, fd, err)) {
        status = tg_err_in(err, path);
    } else {
        status = read_source(tok, path, &source, split, err);
        tg_source_close(&source);
    }
    close(fd);
    return status;
}

tg_status tg_vocab_file_open(const tg_tokenizer **tok, const char *path, const tg_split *split, tg_err *err)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer.model", "vocab.json", "encoder.json",
                                        NULL};
    struct stat st;
    char *inside;
    bool exists;
    tg_status status;

    *tok = NULL;
    if ((status = tg_path_examine(path, &st, &exists, err)))
        return status;
    if (!S_ISDIR(st.st_mode))
        return read_file(tok, path, split, err);
    if ((status = tg_vocab_find_beside(&inside, path, names, true, err)))
        return status;
    if (!inside)
        return tg_fail(err, TG_EDATA, "%s: a directory without tokenizer.json, tokenizer.model or vocab.json",
                       path);
    status = read_file(tok, inside, split, err);
    free(inside);
    return status;
}

/* ---- writing */

static tg_status write_archive(int fd, const tg_tokenizer *tok, tg_err *err)
{
    tg_archive_writer *w;
    tg_status status;

    if ((status = tg_archive_create(&w, fd, err)))
        return status;
    if (!(status = tg_archive_put_text(w, "kind", "tokenizer", err)) &&
        /* unreached: fails: there is room in the buffer */
        !(status = tg_archive_put_i64(w, "version", VERSION, err)))
        status = tg_tokenizer_put(tok, w, err);
    return tg_archive_end(w, status, err);
}

static tg_status write_foreign(int fd, const tg_tokenizer *tok, tg_vocab_format format, size_t first,
                               tg_err *err)
{
    uint32_t ends[256];
    unsigned char tokens[256];
    const tg_bpe_vocab bytes = {.split = TG_SPLIT_NONE, .n = 256, .ends = ends, .tokens = tokens};
    const tg_bpe_vocab *vocab = tg_tokenizer_ids_are_bytes(tok) ? &bytes : tg_bpe_vocab_of(tok);
    char name[TG_CHOICE_SIZE];

    if (format == TG_VOCAB_TOKENIZER_JSON && tg_spm_vocab_of(tok))
        return tg_spm_json_write(fd, tok, first, err);
    if (!vocab)
        return tg_fail(err, TG_EUSAGE, "a tokenizer of kind \"%s\" cannot be written as %s",
                       tg_tokenizer_kind_name(tok), tg_choice_name(name, TG_VOCAB_FORMATS, format));
    for (uint32_t i = 0; i < 256; i++) {
        tokens[i] = (unsigned char)i;
        ends[i] = i + 1;
    }
    return format == TG_VOCAB_TIKTOKEN ? tg_tiktoken_write(fd, vocab, err)
                                       : tg_tokenizer_json_write(fd, vocab, first, err);
}

tg_status tg_vocab_file_write(int fd, const tg_tokenizer *tok, tg_vocab_format format, tg_err *err)
{
    if (format == TG_VOCAB_NPZ)
        return write_archive(fd, tok, err);
    if (format == TG_VOCAB_LLMC)
        return tg_llmc_vocab_write(fd, tok, err);
    return write_foreign(fd, tok, format, SIZE_MAX, err);
}

tg_status tg_vocab_file_write_json(int fd, const tg_tokenizer *tok, size_t first, tg_err *err)
{
    return write_foreign(fd, tok, TG_VOCAB_TOKENIZER_JSON, first, err);
}

tg_status tg_tokenizer_open(const tg_tokenizer **tok, const char *path, const char *split, tg_err *err)
{
    tg_split rule = TG_SPLIT_NONE;

    *tok = NULL;
    if (split && !tg_split_find(&rule, split))
        return tg_fail(err, TG_EUSAGE, "no rule for splitting is called \"%s\": expected " TG_SPLIT_NAMES,
                       split);
    return tg_vocab_file_open(tok, path, split ? &rule : NULL, err);
}
