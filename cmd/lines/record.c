#include "cmd/lines/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cli/cli.h"
#include "lib/base/grow.h"
#include "lib/view/label.h"

#define SHOWN_PER_BYTE 4 /* "\x00" */

void record_free(record *r)
{
    free(r->shown);
    *r = (record){0};
}

static void print_name(const char *name, size_t k)
{
    fputs(name, stdout);
    if (k > 0)
        printf("_%zu", k);
}

/* Print what precedes a value, or the title itself.  Whether a value follows. */
static bool begin(record *r, const char *name, size_t k)
{
    if (r->what == RECORD_JSON)
        fputs(r->begun ? ",\"" : "{\"", stdout);
    else if (r->begun)
        putchar('\t');
    r->begun = true;
    if (r->what != RECORD_TSV)
        print_name(name, k);
    if (r->what == RECORD_JSON)
        fputs("\":", stdout);
    return r->what != RECORD_TITLES;
}

void record_size(record *r, const char *name, size_t k, uint64_t value)
{
    if (begin(r, name, k))
        printf("%" PRIu64, value);
}

void record_real(record *r, const char *name, size_t k, double value)
{
    if (!begin(r, name, k))
        return;
    if (r->what == RECORD_JSON)
        cli_put_json_number(value);
    else
        printf("%.9g", value);
}

void record_word(record *r, const char *name, const char *value)
{
    if (begin(r, name, 0))
        printf(r->what == RECORD_JSON ? "\"%s\"" : "%s", value);
}

void record_missing(record *r, const char *name, size_t k)
{
    if (begin(r, name, k))
        fputs(r->what == RECORD_JSON ? "null" : "", stdout);
}

tg_status record_token(record *r, const char *name, size_t k, int32_t id, tg_err *err)
{
    size_t n;
    const unsigned char *text;
    tg_status status;

    if (!begin(r, name, k))
        return TG_OK;
    text = tg_tokenizer_token(r->tok, id, &n);
    if ((status = tg_grow(&r->shown, &r->shown_size, SHOWN_PER_BYTE * n + 1, 1, "a token's text", err)))
        return status;
    (void)tg_label_show_token(r->shown, r->shown_size, text, n);
    if (r->what == RECORD_JSON)
        cli_put_json(r->shown);
    else
        cli_put_field(r->shown);
    return TG_OK;
}

void record_end(record *r)
{
    puts(r->what == RECORD_JSON ? "}" : "");
    r->begun = false;
}
