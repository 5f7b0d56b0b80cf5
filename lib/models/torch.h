/*
 * torch: models in PyTorch's files: nanoGPT's ckpt.pt, minGPT's model.pt, Hugging Face's pytorch_model.bin.
 * Only for the files torch*.c and the formats that borrow their parts.
 */
#ifndef TG_MODELS_TORCH_H
#define TG_MODELS_TORCH_H

#include "formats/torch_file.h"
#include "lib/base/status.h"
#include "lib/models/model_format.h"

/* Open a file in memory, whose storages are read once for their checksums, and then taken out of it.  Errors
 * as tg_torch_open(). */
TG_MUST_CHECK tg_status tg_torch_open_loaded(tg_torch *t, tg_loaded *file, tg_err *err);

/* The dict of tensors: under a name that training programs use, or the whole. */
const tg_pickle_value *tg_torch_find_state(const tg_torch *t);

/*
 * List the tensors of a file that is a state dict, or has one under "model", "state_dict" or
 * "model_state_dict".  TG_EDATA as tg_torch_open() and tg_torch_list(); transposed tensors are refused.
 * TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_torch_read_tensors(tg_loaded *file, tg_err *err);

#endif
