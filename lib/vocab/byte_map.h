/*
 * byte_map: the characters that stand for bytes in GPT-2's files.  Bytes 21 to 7E, A1 to AC and AE to FF
 * (hexadecimal) are written as themselves, the other 68 bytes, in order, as U+0100, U+0101, ...
 *
 * Source: Radford et al. 2019, encoder.py, bytes_to_unicode().
 */
#ifndef TG_VOCAB_BYTE_MAP_H
#define TG_VOCAB_BYTE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#define TG_BYTE_MAP_MAX 2 /* bytes of a character, in UTF-8 */

/* Write the character of a byte; returns its length in bytes. */
size_t tg_byte_map_put(char out[TG_BYTE_MAP_MAX], unsigned char byte);

/*
 * Write the bytes that the characters of text [n] stand for into out [n]; *bytes is their number.
 * False, with out and *bytes unspecified: some character stands for no byte.
 */
bool tg_byte_map_read(unsigned char *out, size_t *bytes, const char *text, size_t n);

/* The byte with id i, 0 to 255, in GPT-2's own vocabulary: bytes written as themselves come first. */
unsigned char tg_byte_map_order(size_t i);

#endif
