/* cli: whether an output may replace the file that is there. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cli/model.h"
#include "cmd/cli/private.h"
#include "formats/archive.h"
#include "formats/format.h"
#include "formats/path.h"
#include "lib/info/log.h"
#include "lib/vocab/foreign.h"

bool cli_force;

/* The kind of a file, by its first bytes. */
typedef struct file_kind {
    cli_content content; /* only an output of the same content replaces it; CLI_OUT_KINDS: none does */
    char text[96];       /* "tokens", for messages */
} file_kind;

TG_PRINTF(3, 4) static void is(file_kind *f, cli_content content, const char *format, ...)
{
    va_list ap;

    f->content = content;
    va_start(ap, format);
    vsnprintf(f->text, sizeof f->text, format, ap);
    va_end(ap);
}

/* ---- archives */

/* Read the text of "kind", with which tg's archives begin; "": it begins with another array. */
static tg_status read_kind(char kind[24], int fd, tg_err *err)
{
    tg_archive_reader *r;
    tg_archive_event event;
    tg_array a;
    tg_status status = tg_archive_open(&r, fd, err);

    kind[0] = '\0';
    if (status)
        return status;
    if (!(status = tg_archive_next(r, &a, &event, err)) && event == TG_ARCHIVE_ARRAY &&
        strcmp(a.name, "kind") == 0)
        status = tg_archive_get_text(r, &a, kind, 24, err);
    tg_archive_close(r);
    return status;
}

static tg_status find_model(file_kind *f, const char *path, tg_err *err)
{
    size_t step;
    const tg_status status = cli_model_step(path, &step, err);

    if (step == 0)
        is(f, CLI_OUT_MODEL, "a model");
    else
        is(f, CLI_OUT_RUN, "a model that was trained for %s step%s", cli_count(step), cli_plural(step));
    return status;
}

static void find_archive_kind(file_kind *f, const char *kind)
{
    static const struct {
        const char *kind, *text;
        cli_content content;
    } kinds[] = {{"tokens", "tokens", CLI_OUT_TOKENS},
                 {"tokenizer", "a vocabulary", CLI_OUT_VOCABULARY},
                 {"adapter", "a trained adapter", CLI_OUT_RUN},
                 {"attention", "a dump of attention", CLI_OUT_DUMP},
                 {"logits", "logits", CLI_OUT_LOGITS},
                 {"vectors", "vectors of the residual stream", CLI_OUT_VECTORS},
                 {"lens", "predictions after each layer", CLI_OUT_LENS},
                 {"attribution", "the parts of a logit", CLI_OUT_LENS},
                 {"patch", "effects of patches", CLI_OUT_PATCH},
                 {"edges", "effects of paths", CLI_OUT_PATCH},
                 {"ablation", "effects of ablations", CLI_OUT_PATCH},
                 {"circuit", "what heads do by their weights", CLI_OUT_CIRCUIT}};

    is(f, CLI_OUT_KINDS, "an archive of arrays");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            is(f, kinds[i].content, "%s", kinds[i].text);
}

/* The archive at a path, or another zip file. */
static tg_status find_archive(file_kind *f, const char *path, tg_err *err)
{
    char kind[24];
    int fd;
    tg_status status = cli_open_input(&fd, path, err);

    if (status)
        return status;
    status = read_kind(kind, fd, err);
    cli_close_input(fd);
    if (!status && strcmp(kind, "model") == 0)
        return find_model(f, path, err);
    if (!status)
        find_archive_kind(f, kind);
    else if (status == TG_EDATA)
        is(f, CLI_OUT_KINDS, "a zip file that is no archive of tg's, or a damaged one");
    return status == TG_EDATA ? TG_OK : status;
}

/* ---- text */

static bool begins(const unsigned char *first, size_t n, const char *with)
{
    return n >= strlen(with) && memcmp(first, with, strlen(with)) == 0;
}

static bool holds(const unsigned char *first, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (begins(first + i, n - i, text))
            return true;
    return false;
}

/* As tg-bpe and others write it. */
static bool is_vocabulary(const unsigned char *first, size_t n)
{
    const unsigned char *line = memchr(first, '\n', n);
    const tg_file_text file = {"", first, n},
                       rest = {"", line ? line + 1 : first, line ? n - (size_t)(line + 1 - first) : 0};

    return (begins(first, n, "{") && holds(first, n, "\"version\"") && holds(first, n, "\"truncation\"")) ||
           (tg_tiktoken_recognize(&file) && tg_tiktoken_recognize(&rest)); /* one line may be by chance */
}

static void find_text(file_kind *f, const unsigned char *first, size_t n)
{
    static const char page[] = /* how cmd/tg-attn-view/page/page.html begins */
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
        "form-action 'none'; script-src 'sha256-";

    if (begins(first, n, TG_LOG_TITLES))
        is(f, CLI_OUT_KINDS, "the log of a run");
    else if (begins(first, n, page))
        is(f, CLI_OUT_PAGE, "a page of tg-attn-view");
    else if (begins(first, n, "<!DOCTYPE html") || begins(first, n, "<html"))
        is(f, CLI_OUT_KINDS, "an HTML page that tg-attn-view has not made");
    else if (begins(first, n, "<svg "))
        is(f, CLI_OUT_SVG, "an SVG picture");
    else if (is_vocabulary(first, n))
        is(f, CLI_OUT_VOCABULARY, "a vocabulary");
    else
        is(f, CLI_OUT_TEXT, "plain text");
}

/* ---- parts of a model of several files */

const char *const cli_weights[] = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                   "pytorch_model.bin.index.json", NULL};
const char *const cli_around[] = {
    "config.json", "tokenizer.json", "tokenizer.model",       "vocab.json",          "encoder.json",
    "merges.txt",  "vocab.bpe",      "tokenizer_config.json", "chat_template.jinja", NULL};
static const char *const unread[] = {"special_tokens_map.json",      "added_tokens.json",
                                     "generation_config.json",       "model.safetensors.index.json",
                                     "pytorch_model.bin.index.json", NULL};

/* A text by one of these names, in a directory with weights, is a part of them. */
static tg_status find_part(file_kind *f, const char *path, tg_err *err)
{
    const char *name = NULL;
    char *directory;
    tg_status status;

    if (!cli_is_one_of(tg_path_name(path), cli_around) && !cli_is_one_of(tg_path_name(path), unread))
        return TG_OK;
    if (!(directory = tg_path_sibling(path, ".")))
        return tg_fail_memory(err, strlen(path), "a path");
    status = tg_path_find(&name, directory, cli_weights, err);
    free(directory);
    if (name)
        is(f, CLI_OUT_KINDS, "a part of a model, with %s in the same directory", name);
    return status;
}

/* ---- locks */

tg_status cli_in_use(const char *path, long holder, const char *work, tg_err *err)
{
    return holder > 0 ? tg_fail(err, TG_EIO, "%s: process %ld is %s it", path, holder, work)
                      : tg_fail(err, TG_EIO, "%s: another process is %s it", path, work);
}

static tg_status check_unlocked(const char *path, tg_err *err)
{
    bool held;
    long holder;
    const tg_status status = tg_lock_examine(path, &held, &holder, err);

    if (status) /* without a target there is no lock, and the output itself will say why */
        return status == TG_ENOMEM ? status : TG_OK;
    return held ? cli_in_use(path, holder, "training", err) : TG_OK;
}

/* ---- any file */

static void find_other(file_kind *f, tg_format format, const unsigned char *first, size_t n)
{
    const char *text = tg_format_text(format);

    if (tg_model_file_begins(first, n))
        is(f, CLI_OUT_WEIGHTS, "another project's model");
    else if (format == TG_FORMAT_LLMC_TOKENS)
        is(f, CLI_OUT_LLMC_TOKENS, "%s", text);
    else if (format == TG_FORMAT_LLMC_TOKENIZER)
        is(f, CLI_OUT_VOCABULARY, "%s", text);
    else if (text)
        is(f, CLI_OUT_KINDS, "%.*s", (int)strcspn(text, ";"), text); /* without the remedy */
    else if (begins(first, n, "\x89PNG\r\n\x1A\n"))
        is(f, CLI_OUT_PNG, "a PNG picture");
    else
        is(f, CLI_OUT_IDS, "a file of an unknown kind");
}

/* *f: what the regular file at a path is, if it has content. */
static tg_status find(file_kind *f, const char *path, tg_err *err)
{
    unsigned char first[TG_FORMAT_BYTES];
    size_t n;
    tg_format format;
    tg_status status = tg_path_peek(path, first, sizeof first, &n, err);

    if (status)
        return status;
    format = tg_format_recognize(first, n);
    if (format == TG_FORMAT_ZIP)
        return find_archive(f, path, err);
    if (format != TG_FORMAT_TEXT) {
        find_other(f, format, first, n);
        return TG_OK;
    }
    find_text(f, first, n);
    return find_part(f, path, err);
}

/* Whether an output of this content replaces a file with that one. */
static bool replaces(cli_content content, cli_content old)
{
    return (content == old && old != CLI_OUT_WEIGHTS) || (content == CLI_OUT_RUN && old == CLI_OUT_MODEL) ||
           (content == CLI_OUT_VOCABULARY_TEXT && old == CLI_OUT_VOCABULARY);
}

tg_status cli_output_may_replace(const char *path, cli_content content, tg_err *err)
{
    struct stat st;
    file_kind f = {0};
    bool exists;
    tg_status status;

    if (!path || cli_is_dash(path))
        return TG_OK;
    if ((status = tg_path_examine(path, &st, &exists, err)) || (exists && !S_ISREG(st.st_mode)))
        return status;
    /* not even with --force: the run's next save would undo it */
    if (content != CLI_OUT_RUN && (status = check_unlocked(path, err)))
        return status;
    if (cli_force || st.st_size == 0)
        return TG_OK;
    if ((status = find(&f, path, err)) || replaces(content, f.content))
        return status;
    return tg_fail(err, TG_EUSAGE, "%s: %s; --force replaces it", path, f.text);
}
