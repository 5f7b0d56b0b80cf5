#include "tests/damage/readings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/archive.h"
#include "formats/sha256.h"
#include "lib/attn/qkv.h"
#include "lib/dump/dump_read.h"
#include "lib/results/results.h"
#include "lib/info/info.h"
#include "lib/models/model_archive.h"
#include "lib/models/model_file.h"
#include "lib/text/ids.h"
#include "lib/tokens/tokens_read.h"
#include "lib/train/run.h"
#include "lib/vocab/vocab_file.h"

#define PATH_SIZE 32

/* The name of an open file, for readers that want one. */
static const char *path_of(char path[PATH_SIZE], int fd)
{
    snprintf(path, PATH_SIZE, "/dev/fd/%d", fd);
    return path;
}

static void add(uint32_t *digest, const void *p, size_t n)
{
    if (p && n > 0)
        *digest = (uint32_t)crc32_z(*digest, p, n);
}

static void add_size(uint32_t *digest, size_t n)
{
    add(digest, &n, sizeof n);
}

static void add_text(uint32_t *digest, const char *text)
{
    add(digest, text, strlen(text) + 1);
}

static void add_tokenizer(uint32_t *digest, const tg_tokenizer *tok)
{
    if (tok)
        add(digest, tg_tokenizer_identity(tok), TG_SHA256_SIZE);
}

/* ---- any archive */

static tg_status add_array(uint32_t *digest, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    unsigned char part[4096];

    add_text(digest, a->name);
    add(digest, (const char[]){a->dtype.kind}, 1);
    add_size(digest, a->dtype.size);
    add(digest, a->shape, a->ndim * sizeof *a->shape);
    for (size_t left = a->bytes, n; left > 0; left -= n) {
        tg_status status;

        n = left < sizeof part ? left : sizeof part;
        if ((status = tg_archive_read(r, part, n, err)))
            return status;
        add(digest, part, n);
    }
    return TG_OK;
}

static tg_status read_archive(int fd, uint32_t *digest, tg_err *err)
{
    tg_archive_reader *r;
    tg_array a;
    tg_archive_event event = TG_ARCHIVE_END;
    tg_status status = tg_archive_open(&r, fd, err);

    while (!status && event != TG_ARCHIVE_EOF) {
        status = tg_archive_next(r, &a, &event, err);
        if (!status)
            add_size(digest, (size_t)event);
        if (!status && event == TG_ARCHIVE_ARRAY)
            status = add_array(digest, r, &a, err);
    }
    tg_archive_close(r);
    return status;
}

/* ---- models: all that can be seen of one is written again */

static uint32_t digest_of_file(FILE *f)
{
    unsigned char part[4096];
    uint32_t digest = 0;

    rewind(f);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        add(&digest, part, n);
    return digest;
}

static tg_status read_run(int fd, uint32_t *digest, tg_err *err)
{
    tg_run run;
    tg_status status = tg_run_read(&run, fd, err);
    FILE *again;

    if (status)
        return status;
    if (!(again = tmpfile()))
        abort();
    if (!(status = tg_run_write(&run, fileno(again), err)))
        *digest = digest_of_file(again);
    fclose(again);
    tg_run_free(&run);
    return status;
}

static tg_status write_model(const tg_model *m, int fd, tg_err *err)
{
    tg_archive_writer *w;
    tg_status status = tg_archive_create(&w, fd, err);

    if (!status && !(status = tg_model_put_header(m, w, err)) &&
        !(status = tg_model_put_tensors(m, w, NULL, err)))
        status = tg_archive_finish(w, err);
    tg_archive_abandon(w);
    return status;
}

static tg_status read_model(int fd, uint32_t *digest, tg_err *err)
{
    tg_source source;
    tg_model_file f;
    tg_model m;
    FILE *again;
    tg_status status = tg_source_open(&source, fd, err);

    if (status || (status = tg_model_file_open_source(&f, &source, "it", NULL, err)) ||
        (status = tg_model_file_to_model(&m, &f, false, err)))
        return status;
    if (!(again = tmpfile()))
        abort();
    if (!(status = write_model(&m, fileno(again), err)))
        *digest = digest_of_file(again);
    fclose(again);
    tg_model_free(&m);
    return status;
}

/* ---- tokens, tokenizers */

static tg_status read_tokens(int fd, uint32_t *digest, tg_err *err)
{
    tg_source source;
    tg_tokens_reader *r = NULL;
    const void *ids;
    size_t n = 1;
    tg_status status = tg_source_open(&source, fd, err);

    if (!status)
        status = tg_tokens_open_source(&r, &source, err);
    while (!status && n > 0) {
        status = tg_tokens_next(r, &ids, &n, err);
        if (!status && n > 0)
            add(digest, ids, n * tg_ids_width(tg_tokenizer_vocab_size(tg_tokens_tokenizer(r))));
    }
    if (!status)
        add_tokenizer(digest, tg_tokens_tokenizer(r));
    tg_tokens_close(r);
    return status;
}

static tg_status read_tokenizer(int fd, uint32_t *digest, tg_err *err)
{
    char path[PATH_SIZE];
    const tg_tokenizer *tok;
    tg_status status = tg_vocab_file_open(&tok, path_of(path, fd), NULL, err);

    add_tokenizer(digest, tok);
    tg_tokenizer_free(tok);
    return status;
}

/* ---- attention */

static void add_stages(uint32_t *digest, const tg_dump *dump, const tg_dump_layer *layer)
{
    const tg_qkv_view view = tg_dump_shape(dump);

    add_size(digest, layer->number);
    for (tg_attn_stage stage = TG_ATTN_RESID; stage < TG_ATTN_STAGE_COUNT; stage++) {
        tg_attn_shape shape;

        tg_attn_stage_shape(&shape, stage, &view);
        add_size(digest, layer->data[stage] != NULL);
        add(digest, layer->data[stage], tg_attn_shape_count(&shape) * sizeof(float));
    }
}

static tg_status read_dump(int fd, uint32_t *digest, tg_err *err)
{
    const tg_dump_want all = {TG_ATTN_ALL, TG_DUMP_EVERY, true};
    tg_dump dump;
    tg_status status = tg_dump_read(&dump, fd, all, err);

    if (status)
        return status;
    add(digest, (size_t[]){dump.layout, dump.mask, dump.n_layer, dump.B, dump.T, dump.C, dump.H},
        7 * sizeof(size_t));
    for (size_t l = 0; l < dump.n; l++)
        add_stages(digest, &dump, &dump.layer[l]);
    add(digest, dump.ids, dump.T * sizeof *dump.ids);
    add(digest, dump.text, dump.T * dump.text_size);
    tg_dump_free(&dump);
    return TG_OK;
}

static tg_status read_qkv(int fd, uint32_t *digest, tg_err *err)
{
    tg_attn_qkv qkv;
    tg_status status = tg_attn_qkv_read(&qkv, fd, err);

    if (status)
        return status;
    add(digest, (size_t[]){qkv.view.B, qkv.view.T, qkv.view.C}, 3 * sizeof(size_t));
    for (size_t i = 0; i < 3; i++)
        add(digest, qkv.data[i], qkv.view.B * qkv.view.T * qkv.view.C * sizeof(float));
    tg_attn_qkv_free(&qkv);
    return TG_OK;
}

static void add_results(uint32_t *digest, const tg_results *r)
{
    for (size_t i = 0; i < TG_RESULTS_ARRAYS; i++) {
        const tg_results_array *a = &r->array[i];

        add(digest, a->shape, a->dims * sizeof *a->shape);
        if (a->real)
            add(digest, a->real, a->count * sizeof *a->real);
        if (a->whole)
            add(digest, a->whole, a->count * sizeof *a->whole);
        if (a->text)
            add(digest, a->text, a->count * a->size);
    }
}

static tg_status read_results(int fd, uint32_t *digest, tg_err *err)
{
    tg_results results;
    const tg_status status = tg_results_read_any(&results, fd, err);

    if (status)
        return status;
    add_results(digest, &results);
    tg_results_free(&results);
    return TG_OK;
}

/* ---- what tg-info shows */

static void add_info(uint32_t *digest, const tg_info *info)
{
    add_text(digest, info->kind);
    for (size_t i = 0; i < info->n_values; i++) {
        add_text(digest, info->value[i].name);
        add_text(digest, info->value[i].text);
    }
    for (size_t i = 0; i < info->n; i++) {
        const tg_info_tensor *t = &info->tensor[i];

        add_text(digest, t->name);
        add_text(digest, t->type);
        add(digest, t->shape, t->ndim * sizeof *t->shape);
        add(digest, &t->offset, sizeof t->offset);
        add(digest, &t->stats.sum, sizeof t->stats.sum);
        add(digest, &t->stats.squares, sizeof t->stats.squares);
    }
    add(digest, info->history.step, info->history.n * sizeof *info->history.step);
    add(digest, info->history.loss, info->history.n * sizeof *info->history.loss);
    add_tokenizer(digest, info->tokenizer);
    add(digest, (uint64_t[]){info->parameters, info->tokens, info->archives}, 3 * sizeof(uint64_t));
}

static tg_status read_info(int fd, uint32_t *digest, tg_err *err)
{
    const tg_info_want want = {.stats = true};
    char path[PATH_SIZE];
    tg_info info;
    tg_status status = tg_info_open(&info, path_of(path, fd), &want, err);

    if (!status)
        add_info(digest, &info);
    if (!status)
        tg_info_close(&info);
    return status;
}

/* ---- which there are */

const reading readings[] = {
    {"run", " model ", true, read_run},
    {"tokens", " tokens ", true, read_tokens},
    {"tokenizer", " tokenizer ", true, read_tokenizer},
    {"dump", " attention ", true, read_dump},
    {"qkv", " arrays ", true, read_qkv},
    {"results", " lens attribution patch circuit ", true, read_results},
    {"archive", " logits ", true, read_archive},
    {"archive", " model tokens tokenizer attention arrays lens attribution patch circuit ", false,
     read_archive},
    {"model", " model ", false, read_model},
    {"tokenizer", " model tokens ", false, read_tokenizer},
    {"info", " model tokens tokenizer attention logits arrays lens attribution patch circuit ", false,
     read_info},
};
const size_t n_readings = sizeof readings / sizeof readings[0];

bool reading_is_for(const reading *r, const char *kind)
{
    char word[40];

    snprintf(word, sizeof word, " %s ", kind);
    return strstr(r->kinds, word) != NULL;
}

void reading_kind(char kind[32], int fd)
{
    tg_archive_reader *r;
    tg_archive_event event;
    tg_array a;

    strcpy(kind, "arrays");
    if (!tg_archive_open(&r, fd, NULL) && !tg_archive_next(r, &a, &event, NULL) &&
        event == TG_ARCHIVE_ARRAY && strcmp(a.name, "kind") == 0 &&
        tg_archive_get_text(r, &a, kind, 32, NULL))
        strcpy(kind, "arrays");
    tg_archive_close(r);
}
