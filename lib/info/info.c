#include "lib/info/info.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/archive.h"
#include "formats/format.h"
#include "formats/path.h"
#include "lib/base/choice.h"
#include "lib/base/size.h"
#include "lib/dump/dump_read.h"
#include "lib/results/results.h"
#include "lib/info/parts.h"
#include "lib/models/model_archive.h"
#include "lib/tokens/tokens_read.h"
#include "lib/vocab/vocab_file.h"

/* Whether the file begins like an archive of arrays; PyTorch's are also zip files. */
static tg_status begins_archive(tg_source *source, bool *archive, tg_err *err)
{
    tg_format_member member;
    tg_status status = tg_archive_sniff(source, archive, err);

    if (status || !*archive || (status = tg_source_peek(source, TG_FORMAT_BYTES, err)))
        return status;
    member = tg_format_zip(source->next, tg_size_min(source->ready, TG_FORMAT_BYTES));
    *archive = member != TG_MEMBER_PICKLE && member != TG_MEMBER_OTHER;
    return TG_OK;
}

static tg_status check_tokens(int fd, tg_err *err)
{
    tg_tokens_reader *r;
    tg_source source;
    const void *ids;
    size_t n = 1;
    tg_status status = tg_source_open(&source, fd, err);

    if (status || (status = tg_tokens_open_source(&r, &source, err)))
        return status;
    while (!status && n > 0)
        status = tg_tokens_next(r, &ids, &n, err);
    tg_tokens_close(r);
    return status;
}

/* Read the archive at the beginning of fd, a regular file, with the reader of its kind, which checks what is
 * in the arrays. */
static tg_status check_archive(const tg_info *info, int fd, const char *path, tg_err *err)
{
    const tg_tokenizer *tok;
    tg_model m;
    tg_dump dump;
    tg_results results;
    size_t number;
    tg_status status = TG_OK;

    if (lseek(fd, 0, SEEK_SET) != 0)
        return tg_fail_sys(err, "cannot read it again");
    if (strcmp(info->kind, "model") == 0) {
        if (!(status = tg_model_read(&m, fd, false, NULL, NULL, err)))
            tg_model_free(&m);
    } else if (strcmp(info->kind, "tokens") == 0) {
        status = check_tokens(fd, err);
    } else if (strcmp(info->kind, "attention") == 0) {
        if (!(status = tg_dump_read(&dump, fd, (tg_dump_want){TG_ATTN_ALL, TG_DUMP_EVERY, true}, err)))
            tg_dump_free(&dump);
    } else if (strcmp(info->kind, "tokenizer") == 0) {
        if (strcmp(path, "-") != 0 && !(status = tg_vocab_file_open(&tok, path, NULL, err)))
            tg_tokenizer_free(tok);
    } else if (tg_choice_find(&number, TG_RESULTS_KIND_NAMES, info->kind)) {
        if (!(status = tg_results_read_any(&results, fd, err)))
            tg_results_free(&results);
    } else {
        for (size_t i = 0; !status && i < info->n; i++)
            status = tg_info_check_finite(&info->tensor[i], err);
    }
    return status;
}

/* Read the archives in a source, which this closes. */
static tg_status read_archive(tg_info *info, tg_source *source, const char *path, const tg_info_want *want,
                              tg_err *err)
{
    struct stat st;
    const int fd = source->fd;
    const bool known = fstat(fd, &st) == 0, regular = known && S_ISREG(st.st_mode);
    tg_status status = known ? tg_info_add_file(info, path, regular ? (uint64_t)st.st_size : 0, err)
                             : tg_fail_sys(err, "cannot be examined");

    if (!status && want->check && !regular)
        status = tg_fail(err, TG_EUSAGE, "a pipe cannot be checked, because that takes two passes");
    if (status) {
        tg_source_close(source);
        return status;
    }
    if ((status = tg_info_read_archives(info, source, want, err)) || !want->check)
        return status;
    return check_archive(info, fd, path, err);
}

static tg_status read_fd(tg_info *info, int fd, const char *path, const tg_info_want *want, bool *archive,
                         tg_err *err)
{
    tg_source source;
    tg_status status = tg_source_open(&source, fd, err);

    if (status)
        return status;
    if (!(status = begins_archive(&source, archive, err)) && *archive)
        return read_archive(info, &source, path, want, err);
    tg_source_close(&source);
    return status;
}

static tg_status read_path(tg_info *info, const char *path, const tg_info_want *want, tg_err *err)
{
    const bool dash = strcmp(path, "-") == 0;
    const int fd = dash ? STDIN_FILENO : tg_path_open(path);
    const char *name = dash ? "standard input" : path;
    struct stat st;
    bool archive = false;
    tg_status status = TG_OK;

    if (fd < 0 || fstat(fd, &st) != 0)
        status = tg_fail_sys(err, "%s", name);
    else if (!S_ISDIR(st.st_mode) && (status = read_fd(info, fd, path, want, &archive, err)))
        status = tg_err_in(err, name);
    if (fd >= 0 && !dash)
        close(fd);
    if (status || archive)
        return status;
    if (dash)
        return tg_fail(err, TG_EDATA, "standard input is no archive of arrays (.npz); name other files");
    return tg_info_read_foreign(info, path, want, err);
}

tg_status tg_info_open(tg_info *info, const char *path, const tg_info_want *want, tg_err *err)
{
    tg_status status;

    *info = (tg_info){0};
    if (!(info->path = strdup(path)))
        return tg_fail_memory(err, strlen(path), "a path");
    if ((status = read_path(info, path, want, err)))
        tg_info_close(info);
    return status;
}

void tg_info_close(tg_info *info)
{
    for (size_t i = 0; i < info->n_values; i++) {
        free(info->value[i].name);
        free(info->value[i].text);
    }
    for (size_t i = 0; i < info->n_files; i++)
        free(info->file[i]);
    free(info->value);
    free(info->tensor);
    free(info->file);
    free(info->path);
    free(info->history.step);
    free(info->history.loss);
    free(info->history.val_loss);
    tg_notes_free(&info->notes);
    tg_tokenizer_free(info->tokenizer);
    *info = (tg_info){0};
}
