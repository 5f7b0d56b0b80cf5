#include "tests/unit/read_tokenizer.h"

#include <unistd.h>

#include "formats/archive.h"
#include "lib/tokens/tokenizer_read.h"
#include "tests/unit/check.h"

tg_status read_tokenizer(const tg_tokenizer **tok, FILE *f, tg_err *err)
{
    tg_tokenizer_draft draft = {0};
    tg_archive_reader *r;
    tg_archive_event event;
    tg_array a;
    bool taken = true;
    tg_status status = TG_OK;

    *tok = NULL;
    CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
    CHECK_OK(tg_archive_open(&r, fileno(f), err), err);
    while (!status && !(status = tg_archive_next(r, &a, &event, err)) && event == TG_ARCHIVE_ARRAY) {
        status = tg_tokenizer_take(&draft, r, &a, &taken, err);
        CHECK(taken);
    }
    if (!status)
        status = tg_tokenizer_complete(tok, &draft, err);
    tg_tokenizer_draft_free(&draft);
    tg_archive_close(r);
    return status;
}
