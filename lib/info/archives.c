/* Archives of arrays: this project's, and NumPy's. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/info/parts.h"
#include "lib/tokens/tokenizer_read.h"

#define STEP ((size_t)1 << 16)  /* bytes of an array at a time; a multiple of every element's size */
#define TEXT_MAX ((size_t)1023) /* bytes of a text that is shown */

/* What is read from one archive. */
struct reading {
    tg_info *info;
    tg_archive_reader *r;
    const tg_info_want *want;
    tg_tokenizer_draft tokenizer;
    bool has_tokenizer;
    unsigned char frozen[TG_NAMES_MAX]; /* whether each of a model's tensors stays as it is */
    size_t tensors;                     /* of these so far */
};

/* ---- settings */

/* An integer of `size` bytes, little-endian. */
static uint64_t bits_of(const unsigned char *p, size_t size)
{
    uint64_t bits = 0;

    for (size_t i = size; i-- > 0;)
        bits = bits << 8 | p[i];
    return bits;
}

/* A floating-point number as JSON has it; NaN and infinity are not numbers there. */
static tg_info_type real_text(char text[TG_DECIMAL_SIZE], const tg_array *a, const unsigned char *bytes)
{
    const tg_stored s = {.array = *a, .at = bytes, .stored = a->bytes};
    double x = 0;
    float single;

    if (a->dtype.size == sizeof x)
        memcpy(&x, bytes, sizeof x);
    else if (!tg_stored_load(&single, &s, 0, 1, NULL))
        x = (double)single;
    *tg_decimal_general(text, a->dtype.size == sizeof x ? 15 : 9, x) = '\0';
    return isfinite(x) ? TG_INFO_NUMBER : TG_INFO_TEXT;
}

/* The text of a scalar; bytes has a NUL after them. */
static tg_info_type scalar_text(char *text, size_t size, const tg_array *a, const unsigned char *bytes)
{
    const uint64_t bits = bits_of(bytes, tg_size_min(a->dtype.size, 8));
    const size_t unused = 64 - 8 * tg_size_min(a->dtype.size, 8);

    switch (a->dtype.kind) {
    case 'u':
    case 'b':
        snprintf(text, size, "%" PRIu64, bits);
        return TG_INFO_NUMBER;
    case 'i':
        snprintf(text, size, "%" PRId64, (int64_t)(bits << unused) >> unused);
        return TG_INFO_NUMBER;
    case 'f':
        return real_text(text, a, bytes);
    default:
        snprintf(text, size, "%.*s", (int)size - 1, (const char *)bytes);
        return TG_INFO_TEXT;
    }
}

/* Take a scalar's value, without reading it a second time. */
static tg_status take_scalar(struct reading *rd, const tg_array *a, unsigned char bytes[TEXT_MAX + 1],
                             tg_err *err)
{
    char text[TEXT_MAX + 1];
    tg_info_type type;
    const tg_status status = tg_archive_read(rd->r, bytes, a->bytes, err);

    if (status)
        return status;
    bytes[a->bytes] = '\0';
    type = scalar_text(text, sizeof text, a, bytes);
    return tg_info_add_value(rd->info, a->name, type, text, err);
}

/* ---- numbers */

/* The statistics of an array that is not mapped. */
static tg_status read_stats(struct reading *rd, tg_info_tensor *t, const tg_array *a, tg_err *err)
{
    unsigned char *bytes = malloc(STEP);
    tg_status status = bytes ? TG_OK : tg_fail_memory(err, STEP, "numbers");

    for (size_t at = 0, n; !status && at < a->bytes; at += n) {
        tg_stored part = {.array = *a, .at = bytes};

        n = tg_size_min(STEP, a->bytes - at);
        part.array.count = n / a->dtype.size;
        part.array.bytes = part.stored = n;
        if (!(status = tg_archive_read(rd->r, bytes, n, err)))
            status = tg_info_add_stats(t, &part, err);
    }
    free(bytes);
    return status;
}

/* ---- arrays */

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* What an array says about the whole. */
static void count(struct reading *rd, const tg_array *a)
{
    tg_info *info = rd->info;

    if (begins(a->name, "tokens/"))
        info->tokens += a->count;
    if ((strcmp(info->kind, "model") != 0 && strcmp(info->kind, "adapter") != 0) || a->dtype.kind != 'f' ||
        strchr(a->name, '/'))
        return;
    info->parameters += a->count;
    if (rd->tensors < TG_NAMES_MAX && rd->frozen[rd->tensors++] == 1)
        info->frozen += a->count;
}

/* ---- the losses that a model keeps (lib/train/history.h) */

#define HISTORY "train/history/"
#define HISTORY_MAX ((size_t)1 << 20)

/* The integers, in their own place. */
static void to_reals(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t whole;

        memcpy(&whole, &x[i], sizeof whole);
        x[i] = (double)whole;
    }
}

static tg_status take_history(struct reading *rd, tg_info_tensor *t, const tg_array *a, tg_err *err)
{
    tg_info_history *h = &rd->info->history;
    const bool steps = strcmp(a->name, HISTORY "step") == 0;
    double **x = steps ? &h->step : &h->loss;
    tg_status status;

    if (a->ndim != 1 || a->count < 1 || a->count > HISTORY_MAX || (h->n > 0 && a->count != h->n) ||
        !tg_dtype_equal(a->dtype, steps ? TG_I64 : TG_F64))
        return tg_fail(err, TG_EDATA, "%s: expected as many losses (f8) as steps (i8)", a->name);
    if (!(*x = malloc(a->bytes)))
        return tg_fail_memory(err, a->bytes, "the training history");
    h->n = a->count;
    if ((status = tg_archive_read(rd->r, *x, a->bytes, err)))
        return status;
    if (steps)
        to_reals(*x, h->n);
    else if (rd->want->stats || rd->want->check)
        status = tg_info_add_stats(
            t, &(tg_stored){.array = *a, .at = (const unsigned char *)*x, .stored = a->bytes}, err);
    return status;
}

/* ---- any array */

static tg_status take_array(struct reading *rd, const tg_array *a, tg_err *err)
{
    const tg_stored s = {.array = *a, .at = a->data, .stored = a->bytes};
    unsigned char bytes[TEXT_MAX + 1];
    tg_info *info = rd->info;
    tg_info_tensor *t;
    bool taken;
    tg_status status = tg_info_add_tensor(info, &s, &t, err);

    if (status)
        return status;
    t->placed = a->data && info->map;
    if (t->placed)
        t->offset = (uint64_t)((const unsigned char *)a->data - info->map);
    count(rd, a);
    if (begins(a->name, "tokenizer/")) { /* its scalars are values as well */
        rd->has_tokenizer = true;
        return tg_tokenizer_take(&rd->tokenizer, rd->r, a, &taken, err);
    }
    if (a->ndim == 0 && a->bytes <= TEXT_MAX) {
        if ((status = take_scalar(rd, a, bytes, err)))
            return status;
        if (strcmp(a->name, "kind") == 0)
            snprintf(info->kind, sizeof info->kind, "%.23s", (const char *)bytes);
        return TG_OK;
    }
    if (strcmp(info->kind, "model") == 0 &&
        (strcmp(a->name, HISTORY "step") == 0 || strcmp(a->name, HISTORY "loss") == 0))
        return take_history(rd, t, a, err);
    if (strcmp(a->name, "train/frozen") == 0 && a->dtype.size == 1 && a->bytes <= sizeof rd->frozen)
        return tg_archive_read(rd->r, rd->frozen, a->bytes, err);
    if (a->dtype.kind != 'f' || !(rd->want->stats || rd->want->check))
        return TG_OK;
    return a->data ? tg_info_add_stats(t, &s, err) : read_stats(rd, t, a, err);
}

/* ---- archives */

static tg_status read_first(struct reading *rd, tg_err *err)
{
    const tg_info_history *h = &rd->info->history;
    tg_archive_event event;
    tg_array a;
    tg_status status;

    while (!(status = tg_archive_next(rd->r, &a, &event, err)) && event == TG_ARCHIVE_ARRAY)
        if ((status = take_array(rd, &a, err)))
            break;
    if (status)
        return status;
    if (!h->step != !h->loss)
        return tg_fail(err, TG_EDATA, "of the training history, %s is missing",
                       h->step ? HISTORY "loss" : HISTORY "step");
    rd->info->archives = 1;
    return rd->has_tokenizer ? tg_tokenizer_complete(&rd->info->tokenizer, &rd->tokenizer, err) : TG_OK;
}

/* Those after the first: only their number, and that of their tokens. */
static tg_status read_others(struct reading *rd, tg_err *err)
{
    tg_archive_event event;
    tg_array a;
    tg_status status;

    while (!(status = tg_archive_next(rd->r, &a, &event, err)) && event != TG_ARCHIVE_EOF) {
        if (event == TG_ARCHIVE_END)
            rd->info->archives++;
        else if (begins(a.name, "tokens/"))
            rd->info->tokens += a.count;
    }
    return status;
}

tg_status tg_info_read_archives(tg_info *info, tg_source *source, const tg_info_want *want, tg_err *err)
{
    struct reading rd = {.info = info, .want = want};
    tg_status status;

    info->map = source->map;
    if ((status = tg_archive_open_source(&rd.r, source, err)))
        return status;
    if (!(status = read_first(&rd, err)))
        status = read_others(&rd, err);
    tg_tokenizer_draft_free(&rd.tokenizer);
    tg_archive_close(rd.r);
    info->map = NULL;
    info->format = info->kind[0] ? "an archive of tg" : "an archive of arrays (.npz)";
    if (!info->kind[0])
        strcpy(info->kind, "arrays");
    return status;
}
