/*
 * torch_file: what torch.save() writes: a ZIP file with a pickle, PREFIX/data.pkl, and a member
 * PREFIX/data/KEY for each storage that the pickle's tensors use.
 *
 *     tg_torch_open(&t, file, n, &err)
 *     root = t.pickle.root
 *     tg_torch_list(&list, &t, root or a value in it, false, &err)
 *     tg_torch_close(&t)
 *
 * Nothing that the pickle names is called (formats/pickle.h).
 */
#ifndef TG_FORMATS_TORCH_FILE_H
#define TG_FORMATS_TORCH_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/pickle.h"
#include "formats/tensor_list.h"
#include "formats/zip_index.h"
#include "lib/base/status.h"

typedef struct tg_torch {
    const unsigned char *file;
    tg_zip_index members;
    tg_span prefix; /* with the slash */
    tg_pickle pickle;

    /* May be set between open and list: called when a storage has been read for its checksum. */
    void (*release)(void *context, const void *at, size_t n);
    void *context;
} tg_torch;

/* Whether a file that begins with first [n] is one, also an old one.  A few hundred bytes suffice. */
bool tg_torch_recognize(const void *first, size_t n);

/* Whether it is in the format of before version 1.6, which tg_torch_open() refuses with a word on that. */
bool tg_torch_is_old(const void *first, size_t n);

/* Read the directory and the pickle of file [n], which must outlive *t.  TG_EDATA: damaged; a format of
 * PyTorch that is not read; a pickle that is refused.  TG_ENOMEM.  *t can be closed either way. */
TG_MUST_CHECK tg_status tg_torch_open(tg_torch *t, const void *file, size_t n, tg_err *err);

/* A zeroed *t is fine. */
void tg_torch_close(tg_torch *t);

/*
 * List the tensors in `root` and check their storages' checksums.  A tensor's name is its path, its
 * keys joined by dots: "model.transformer.wte.weight", "optimizer.state.0.exp_avg".
 *
 *   list         zeroed before; arranged afterwards; its tensors are in the file's memory
 *   transposed   whether a tensor may be stored transposed; otherwise it is refused
 *
 * TG_EDATA: a tensor outside its storage, a storage that is missing or damaged, a tensor whose elements
 * are not adjacent (a slice, a repeated row), a name or a number of tensors beyond lib/tg/array.h.
 * TG_ENOMEM.  The list can be freed either way.
 */
TG_MUST_CHECK tg_status tg_torch_list(tg_tensor_list *list, tg_torch *t, const tg_pickle_value *root,
                                      bool transposed, tg_err *err);

#endif
