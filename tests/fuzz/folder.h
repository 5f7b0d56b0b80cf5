/*
 * folder: directories with the files of an input.  There are two, in memory if the system has a place for
 * that; they are removed when the program ends.
 */
#ifndef TG_TESTS_FUZZ_FOLDER_H
#define TG_TESTS_FUZZ_FOLDER_H

#include <stddef.h>

enum { FOLDER_INPUT, FOLDER_WRITTEN, FOLDERS };

/* The path of an entry, which need not exist; of the folder itself for "".  Valid until the third next call.
 */
const char *folder_path(int folder, const char *name);

/* Create a file, open for writing. */
int folder_create(int folder, const char *name);

/* Make other entries: a directory, and a link to a device. */
void folder_make_directory(int folder, const char *name);
void folder_make_device(int folder, const char *name);

/* Remove an entry, if it exists. */
void folder_remove(int folder, const char *name);

#endif
