/*
 * ref_spm: SentencePiece's byte pair encoding by its definition (lib/spm/spm.h), slow and simple, and small
 * vocabularies for tests.
 */
#ifndef TG_TESTS_REF_SPM_H
#define TG_TESTS_REF_SPM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/spm/spm.h"

#define REF_SPM_PIECES 512 /* at most, in a vocabulary */

/* A vocabulary that grows. */
typedef struct ref_spm {
    tg_spm_vocab view; /* of the arrays below */
    uint32_t ends[REF_SPM_PIECES];
    unsigned char tokens[64 * REF_SPM_PIECES];
    float scores[REF_SPM_PIECES];
    unsigned char types[REF_SPM_PIECES];
    uint32_t special[REF_SPM_PIECES];
} ref_spm;

/* Without any piece. */
void ref_spm_begin(ref_spm *v, tg_spm_prefix prefix);

/* Append a piece; returns its id.  Control pieces and the unknown one become special. */
uint32_t ref_spm_add(ref_spm *v, const char *text, tg_spm_type type, double score);

/* All bytes, in order. */
void ref_spm_add_bytes(ref_spm *v);

/* The piece that merges and has this text, or UINT32_MAX. */
uint32_t ref_spm_find(const ref_spm *v, const unsigned char *text, size_t n);

const tg_tokenizer *ref_spm_tokenizer(const ref_spm *v);

/* The definition; ids [3 * (n + 1)]; returns how many.  prefix: the text begins with one, if
 * its vocabulary has any.
 * -1: the vocabulary lacks a character. */
long ref_spm_text(const ref_spm *v, bool prefix, int32_t *ids, const unsigned char *text, size_t n);

#endif
