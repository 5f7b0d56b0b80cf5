/*
 * limits: lower ones, which inputs of the fuzzers' lengths (tests/fuzz/targets) exceed.  Their build includes
 * this before everything else.
 */
#ifndef TG_TESTS_FUZZ_LIMITS_H
#define TG_TESTS_FUZZ_LIMITS_H

#define TG_NAMES_MAX 100
#define FILES_MAX 16
#define TG_BPE_TOKEN_MAX ((size_t)512)
#define TG_NAME_MAP_MAX ((size_t)1024)
#define TG_VOCAB_FILE_MAX ((size_t)8000)
#define TG_HISTORY_MAX 32

#endif
