/*
 * normalize: Unicode normalisation form C (UAX #15) of a text that arrives in parts, with the tables of
 * utf8proc: characters newer than its version of Unicode pass unchanged.
 *
 * Bytes that are not part of a valid UTF-8 character pass unchanged.
 */
#ifndef TG_UNICODE_NORMALIZE_H
#define TG_UNICODE_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

typedef struct tg_nfc tg_nfc;

/* TG_ENOMEM; *nfc is NULL after a failure. */
TG_MUST_CHECK tg_status tg_nfc_create(tg_nfc **nfc, tg_err *err);

/*
 * Normalise a part of a text: *out points to *out_n bytes that no further text can change, valid
 * until the next call; if nothing had to change, it points into text itself.  last: the text ends
 * here, and the next call begins another.  TG_ENOMEM: a character has more combining marks than
 * memory can hold; then only tg_nfc_free() is legal.
 */
TG_MUST_CHECK tg_status tg_nfc_next(tg_nfc *nfc, const unsigned char **out, size_t *out_n,
                                    const unsigned char *text, size_t n, bool last, tg_err *err);

/* NULL is fine. */
void tg_nfc_free(tg_nfc *nfc);

#endif
