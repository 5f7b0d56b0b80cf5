/*
 * hf_directory: the directory of a test that reads or writes files as Hugging Face's.
 */
#ifndef TG_TESTS_HF_DIRECTORY_H
#define TG_TESTS_HF_DIRECTORY_H

#include <stdbool.h>

extern char hf_directory[64];

/* Make it. */
bool hf_begin(void);

/* The path of a file in it, valid until the next call. */
const char *hf_in_directory(const char *name);

/* Remove it, with a checkpoint in it; the exit status of the test. */
int hf_done(void);

#endif
