/*
 * peft: adapters in the directories of Hugging Face's PEFT: adapter_config.json and
 * adapter_model.safetensors.
 *
 * Tensors are "base_model.model.NAME.lora_A.weight" [R,in] and "lora_B" [out,R], of any type; the values of A
 * and B are this library's.  Of the config the rank, alpha and use_rslora are read; the targets are those of
 * which there are tensors.  (peft_write.c, a tg_model_writer, writes these files.)
 *
 * Source: github.com/huggingface/peft, docs/source/developer_guides/checkpoint.md.
 */
#ifndef TG_MODELS_PEFT_H
#define TG_MODELS_PEFT_H

#include "lib/base/status.h"
#include "lib/gpt/adapter.h"
#include "lib/models/model_file.h"

#define TG_PEFT_CONFIG "adapter_config.json"
#define TG_PEFT_TENSORS "adapter_model.safetensors"

/* Read rank, alpha and how they make a scale from a config; TG_EDATA: as below.  The targets stay. */
TG_MUST_CHECK tg_status tg_peft_read_config(tg_adapter_shape *shape, const tg_loaded *file, tg_err *err);

/*
 * Read the directory, for the model in `base`.  TG_EDATA: it is no LoRA, or one that this library does not
 * compute (DoRA, biases, whole modules, layers or ranks of their own); a tensor that is missing, is of no
 * matrix of the model's blocks, has another shape, or is not finite.  The message names the file.  TG_EIO,
 * TG_ENOMEM.  After a failure *a needs no free.
 */
TG_MUST_CHECK tg_status tg_peft_read(tg_adapter *a, const char *directory, const tg_model_file *base,
                                     tg_err *err);

#endif
