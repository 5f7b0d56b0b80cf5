#define _XOPEN_SOURCE 700 /* pwrite */
#include "lib/models/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/archive.h"
#include "formats/format.h"
#include "formats/llmc.h"
#include "formats/path.h"
#include "formats/sink.h"
#include "lib/base/size.h"
#include "lib/text/bare_ids.h"
#include "lib/text/ids.h"
#include "lib/tokens/tokens_read.h"
#include "lib/tokens/tokens_write.h"

#define CHUNK ((size_t)1 << 16) /* ids read at once: TG_SOURCE_PEEK bytes */
#define CHUNK_MAX ((size_t)1 << 20)

/* ---- which files are tokens */

static tg_format format_of(const tg_source *source)
{
    return tg_format_recognize(source->next, source->ready);
}

/* Whether an archive is one of tokens; takes the source over.  A damaged one is none. */
static tg_status is_token_archive(tg_source *source, bool *is, tg_err *err)
{
    tg_archive_reader *r;
    tg_archive_event event;
    tg_array a;
    tg_status status;

    if ((status = tg_archive_open_source(&r, source, err)))
        return status;
    /* unreached: another event: an archive begins with an array */
    if (!(status = tg_archive_next(r, &a, &event, err)) && event == TG_ARCHIVE_ARRAY &&
        !(status = tg_archive_expect_kind(r, &a, "tokens", err)))
        *is = true;
    tg_archive_close(r);
    return status == TG_EDATA ? TG_OK : status;
}

static tg_status recognize(int fd, bool *is, tg_err *err)
{
    tg_source source;
    tg_status status = tg_source_open(&source, fd, err);

    if (status)
        return status;
    if (!(status = tg_source_peek(&source, TG_FORMAT_BYTES, err))) {
        if (format_of(&source) == TG_FORMAT_ZIP)
            return is_token_archive(&source, is, err);
        *is = format_of(&source) == TG_FORMAT_LLMC_TOKENS;
    }
    tg_source_close(&source);
    return status;
}

tg_status tg_token_file_recognize(const char *path, bool *is, tg_err *err)
{
    struct stat st;
    bool exists;
    int fd;
    tg_status status = tg_path_examine(path, &st, &exists, err);

    *is = false;
    if (status || !S_ISREG(st.st_mode)) /* what is read from a pipe would be missing later */
        return status;
    if ((fd = tg_path_open(path)) < 0)
        return tg_fail_sys(err, "%s", path);
    status = recognize(fd, is, err);
    close(fd);
    return status ? tg_err_in(err, path) : TG_OK;
}

/* ---- reading */

/* Ids, wherever they come from. */
struct input {
    tg_source source;
    tg_token_format format;
    tg_tokens_reader *archive; /* of an archive, which owns the source */
    uint64_t left, at;         /* of llm.c's: ids; ids read */
    bool failed;               /* the last attempt to read it */
};

static tg_status begin_llmc(struct input *in, tg_err *err)
{
    size_t count;
    tg_status status = tg_source_need(&in->source, TG_LLMC_HEADER, "a header", err);

    if (status || (status = tg_llmc_tokens_count(&count, in->source.next, err)))
        return status;
    in->left = count;
    tg_source_skip(&in->source, TG_LLMC_HEADER);
    return TG_OK;
}

/* Move the descriptor by `by` bytes and continue there, with read() instead of a mapping, so that bytes that
 * have been checked cannot change before they are written.  s->at stays. */
static tg_status read_from(tg_source *s, off_t by, tg_err *err)
{
    const int fd = s->fd;
    const uint64_t at = s->at;
    tg_status status;

    if (lseek(fd, by, SEEK_CUR) < 0)
        return tg_fail_sys(err, "cannot reread");
    tg_source_close(s);
    if ((status = tg_source_open_unmapped(s, fd, err)))
        return status;
    s->at = at;
    return TG_OK;
}

/* Takes ownership of the source; *in can be closed after a failure. */
static tg_status open_input(struct input *in, tg_source *source, bool raw, tg_err *err)
{
    bool archive = false;
    tg_status status;

    *in = (struct input){.source = *source, .format = TG_TOKENS_UINT16};
    if (in->source.map && (status = read_from(&in->source, (off_t)source->at, err)))
        return status;
    if (raw)
        return TG_OK;
    if ((status = tg_source_peek(&in->source, TG_FORMAT_BYTES, err)))
        return status;
    if (format_of(&in->source) == TG_FORMAT_LLMC_TOKENS) {
        in->format = TG_TOKENS_LLMC;
        return begin_llmc(in, err);
    }
    if ((status = tg_archive_sniff(&in->source, &archive, err)))
        return status;
    if (!archive)
        return tg_fail(err, TG_EDATA,
                       "not a file of tokens that can be recognized (16-bit numbers alone: --from"
                       " uint16)");
    in->format = TG_TOKENS_NPZ;
    *source = in->source;
    in->source = (tg_source){.fd = -1};
    return tg_tokens_open_source(&in->archive, source, err);
}

/* Ids of 16 bits, directly in the source: *n of them, until the next call. */
static tg_status next_16(struct input *in, const void **ids, size_t *n, tg_err *err)
{
    tg_source *const s = &in->source;
    const size_t want = in->format == TG_TOKENS_LLMC && in->left < CHUNK ? (size_t)in->left : CHUNK;
    tg_status status;

    if ((status = tg_source_peek(s, tg_size_max(2 * want, 1), err)))
        return status;
    *n = tg_size_min(s->ready / 2, want);
    *ids = s->next;
    if (in->format == TG_TOKENS_LLMC && *n < want)
        return tg_fail(err, TG_EDATA, "truncated: %llu ids, its header says %llu",
                       (unsigned long long)(in->at + *n), (unsigned long long)(in->at + in->left));
    if (*n == 0 && s->ready > 0)
        return tg_fail(err, TG_EDATA, "%zu bytes follow the last id", s->ready);
    in->left -= in->format == TG_TOKENS_LLMC ? *n : 0;
    tg_source_skip(s, 2 * *n);
    return TG_OK;
}

/* The next ids, *n of *width bytes each; *n = 0 at the end. */
static tg_status next_ids(struct input *in, const void **ids, size_t *n, size_t *width, tg_err *err)
{
    tg_status status;

    *width = 2;
    if (in->format != TG_TOKENS_NPZ)
        status = next_16(in, ids, n, err);
    else if (!(status = tg_tokens_next(in->archive, ids, n, err)) && *n > 0)
        *width = tg_ids_width(tg_tokenizer_vocab_size(tg_tokens_tokenizer(in->archive)));
    if (!status && in->format == TG_TOKENS_NPZ && *n > 0 && tg_tokens_mask(in->archive))
        status = tg_fail(
            err, TG_EUSAGE,
            "these tokens have a loss mask, which would be lost; tg-train and tg-eval read them as they are");
    in->at += status ? 0 : *n;
    in->failed = status != TG_OK;
    return status;
}

/* ---- writing */

struct output {
    int fd;
    tg_token_format format;
    off_t begin;                   /* of an llm.c file in fd */
    tg_tokens_writer *archive;     /* NULL until there are ids */
    const tg_tokenizer *tokenizer; /* of the archive; a reference */
    size_t vocab_size;             /* of that, or what 16 bits hold */
    unsigned char *ids;            /* [4 * CHUNK_MAX] in the width that is written */
    uint64_t count;
};

/* Leave room for the header, which says how many ids follow. */
static tg_status begin_header(struct output *out, tg_err *err)
{
    static const unsigned char zeros[TG_LLMC_HEADER];
    const int flags = fcntl(out->fd, F_GETFL);

    out->begin = lseek(out->fd, 0, SEEK_CUR);
    if (out->begin < 0 && errno != ESPIPE)
        return tg_fail_sys(err, "cannot tell where the header begins");
    if (out->begin < 0 || (flags & O_APPEND)) /* -1 has all flags */
        return tg_fail(err, TG_EUSAGE,
                       "an llm.c file begins with the number of ids: it cannot be written to a pipe, nor "
                       "appended");
    return tg_write_all(out->fd, zeros, sizeof zeros, err);
}

static tg_status end_header(const struct output *out, tg_err *err)
{
    unsigned char header[TG_LLMC_HEADER];
    tg_status status = tg_llmc_tokens_header(header, (size_t)out->count, err);

    /* unreached: a status: 2^31 ids, in 4 GiB */
    if (status)
        return status;
    for (size_t done = 0; done < sizeof header;) {
        const ssize_t n = pwrite(out->fd, header + done, sizeof header - done, out->begin + (off_t)done);

        if (n == 0)
            errno = ENOSPC;
        if (n <= 0 && errno != EINTR)
            return tg_fail_sys(err, "cannot write the header");
        done += n > 0 ? (size_t)n : 0;
    }
    return TG_OK;
}

/* ---- the tokenizer of an archive */

/* One more than the highest of the ids that are left; at least 1.  Afterwards they are still to be read. */
static tg_status ids_needed(size_t *needed, struct input *in, tg_err *err)
{
    const uint64_t at = in->source.at;
    struct input pass = *in;
    struct stat st;
    const void *ids;
    size_t n;
    tg_status status = TG_OK;

    *needed = 1;
    if (fstat(in->source.fd, &st) != 0)
        status = tg_fail_sys(err, "cannot be examined");
    else if (!S_ISREG(st.st_mode)) /* only a file can be read twice */
        status =
            tg_fail(err, TG_EUSAGE, "how many ids there are is not known from a pipe: give --vocab-size");
    for (; !status && !(status = next_16(&pass, &ids, &n, err)) && n > 0; pass.at += n)
        for (size_t i = 0; i < n; i++)
            *needed = tg_size_max(*needed, (size_t)tg_ids_load((const unsigned char *)ids + 2 * i, 2) + 1);
    in->source = pass.source;
    in->source.at = at;
    if (!status)
        status = read_from(&in->source, -(off_t)(pass.source.at - at + pass.source.ready), err);
    in->failed = status != TG_OK;
    return status;
}

static tg_status begin_archive(struct output *out, struct input *in, const tg_token_ask *ask, tg_err *err)
{
    const tg_tokenizer *const theirs = in->archive ? tg_tokens_tokenizer(in->archive) : NULL;
    size_t n = ask->vocab_size;
    tg_status status = TG_OK;

    if (theirs && ask->tokenizer && (status = tg_tokenizer_same(ask->tokenizer, theirs, err)))
        return status;
    if (theirs || ask->tokenizer) {
        out->tokenizer = tg_tokenizer_ref(theirs ? theirs : ask->tokenizer);
    } else {
        if (n == 0 && (status = ids_needed(&n, in, err)))
            return status;
        status = tg_bare_ids_create(&out->tokenizer, n, err);
    }
    if (status)
        return status;
    out->vocab_size = tg_tokenizer_vocab_size(out->tokenizer);
    return tg_tokens_create(&out->archive, out->fd, out->tokenizer, err);
}

/* ---- copying */

static tg_status check_ids(const struct output *out, const void *ids, size_t n, size_t width, tg_err *err)
{
    const size_t good = tg_ids_check_packed(ids, width, n, out->vocab_size);
    unsigned long id;

    if (good == n)
        return TG_OK;
    id = tg_ids_load((const unsigned char *)ids + good * width, width);
    if (out->format == TG_TOKENS_NPZ)
        return tg_fail(err, TG_EDATA, "id %lu at position %llu: the vocabulary has %zu ids", id,
                       (unsigned long long)(out->count + good), out->vocab_size);
    return tg_fail(err, TG_EUSAGE, "id %lu at position %llu does not fit in 16 bits", id,
                   (unsigned long long)(out->count + good));
}

static tg_status put_ids(struct output *out, const void *ids, size_t n, size_t width, tg_err *err)
{
    const size_t to = out->format == TG_TOKENS_NPZ ? tg_ids_width(out->vocab_size) : 2;
    tg_status status = check_ids(out, ids, n, width, err);

    if (status)
        return status;
    out->count += n;
    if (to != width) {
        tg_ids_convert(out->ids, to, ids, width, n);
        ids = out->ids;
    }
    return out->format == TG_TOKENS_NPZ ? tg_tokens_write_packed(out->archive, ids, n, err)
                                        : tg_write_all(out->fd, ids, n * to, err);
}

static tg_status copy(struct output *out, struct input *in, const tg_token_ask *ask, tg_err *err)
{
    const void *ids = NULL;
    size_t n = 0, width = 2;
    tg_status status = TG_OK;

    /* an archive gives its tokenizer with its first ids, other files not at all */
    if (out->format == TG_TOKENS_NPZ && !in->archive)
        status = begin_archive(out, in, ask, err);
    while (!status && !(status = next_ids(in, &ids, &n, &width, err))) {
        if (out->format == TG_TOKENS_NPZ && !out->archive)
            status = begin_archive(out, in, ask, err);
        if (n == 0)
            break;
        if (!status)
            status = put_ids(out, ids, n, width, err);
    }
    if (!status && out->format == TG_TOKENS_NPZ)
        status = tg_tokens_finish(out->archive, err);
    else if (!status && out->format == TG_TOKENS_LLMC)
        status = end_header(out, err);
    return status;
}

tg_status tg_token_file_convert(int fd, tg_token_format to, tg_source *source, bool raw,
                                const tg_token_ask *ask, tg_token_copy *copied, tg_err *err)
{
    struct input in;
    struct output out = {.fd = fd, .format = to, .vocab_size = TG_LLMC_IDS_MAX};
    tg_status status = open_input(&in, source, raw, err);

    in.failed = status != TG_OK;
    if (!status && !(out.ids = malloc(4 * CHUNK_MAX)))
        status = tg_fail_memory(err, 4 * CHUNK_MAX, "a chunk of tokens");
    if (!status && to == TG_TOKENS_LLMC)
        status = begin_header(&out, err);
    if (!status)
        status = copy(&out, &in, ask, err);
    *copied = (tg_token_copy){out.count, in.failed || status == TG_EDATA};
    tg_tokens_abandon(out.archive);
    tg_tokenizer_free(out.tokenizer);
    free(out.ids);
    tg_tokens_close(in.archive);
    tg_source_close(&in.source);
    return status;
}
