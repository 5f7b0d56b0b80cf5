/* Archives, read by the readers of their kinds, which check what is in the arrays. */
#include <string.h>
#include <unistd.h>

#include "lib/dump/dump_read.h"
#include "lib/info/parts.h"
#include "lib/models/model_archive.h"
#include "lib/tokens/tokens_read.h"
#include "lib/vocab/vocab_file.h"

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

tg_status tg_info_check_archive(const tg_info *info, int fd, const char *path, tg_err *err)
{
    const tg_tokenizer *tok;
    tg_model m;
    tg_dump dump;
    tg_status status = TG_OK;

    if (lseek(fd, 0, SEEK_SET) != 0)
        return tg_fail_sys(err, "cannot read it again");
    if (strcmp(info->kind, "model") == 0) {
        if (!(status = tg_model_read(&m, fd, false, NULL, NULL, err)))
            tg_model_free(&m);
    } else if (strcmp(info->kind, "tokens") == 0) {
        status = check_tokens(fd, err);
    } else if (strcmp(info->kind, "attention") == 0) {
        if (!(status = tg_dump_read(&dump, fd, (tg_dump_want){TG_ATTN_ALL, TG_DUMP_EVERY}, err)))
            tg_dump_free(&dump);
    } else if (strcmp(info->kind, "tokenizer") == 0) {
        if (strcmp(path, "-") != 0 && !(status = tg_vocab_file_open(&tok, path, NULL, err)))
            tg_tokenizer_free(tok);
    } else {
        for (size_t i = 0; !status && i < info->n; i++)
            status = tg_info_check_finite(&info->tensor[i], err);
    }
    return status;
}
