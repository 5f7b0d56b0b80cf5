/* nfc_text [BYTES]: standard input in normal form, given in parts of so many bytes: for
 * tests/judges. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/unicode/normalize.h"

int main(int argc, char **argv)
{
    const size_t part = argc > 1 ? strtoull(argv[1], NULL, 10) : 1 << 16;
    unsigned char *text = malloc(part);
    const unsigned char *out;
    tg_nfc *nfc;
    size_t n, out_n;
    tg_err err;
    bool last;

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
