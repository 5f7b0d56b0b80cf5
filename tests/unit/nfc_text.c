/* nfc_text [BYTES]: standard input in normal form, given in parts of so many bytes.
 * nfc_text assigned: the version of Unicode that utf8proc has, and a line for each character of it.
 * For tests/judges. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "lib/unicode/normalize.h"

static void print_assigned(void)
{
    printf("%s\n", utf8proc_unicode_version());
    for (utf8proc_int32_t code = 0; code <= 0x10FFFF; code++)
        if (utf8proc_category(code) != UTF8PROC_CATEGORY_CN)
            printf("%d\n", (int)code);
}

int main(int argc, char **argv)
{
    const size_t part = argc > 1 ? strtoull(argv[1], NULL, 10) : 1 << 16;
    unsigned char *text = malloc(part);
    const unsigned char *out;
    tg_nfc *nfc;
    size_t n, out_n;
    tg_err err;
    bool last;

    if (argc > 1 && strcmp(argv[1], "assigned") == 0) {
        print_assigned();
        free(text);
        return 0;
    }
    if (!text || tg_nfc_create(&nfc, &err))
        return 3;
    do {
        n = fread(text, 1, part, stdin);
        last = n < part;
        if (tg_nfc_next(nfc, &out, &out_n, text, n, last, &err))
            return 1;
        fwrite(out, 1, out_n, stdout);
    } while (!last);
    tg_nfc_free(nfc);
    free(text);
    return 0;
}
