/*
 * adapter_file: adapters (lib/gpt/adapter.h) in files: this project's own archive, and PEFT's directories.
 *
 * Archive: kind = "adapter", version = 1, adapter/..., chat_template, the run's state (train/..., written by
 * lib/train), the tensors in the order of the adapter's table, optimizer state (opt/m/NAME, opt/v/NAME;
 * opt/a/NAME).
 */
#ifndef TG_MODELS_ADAPTER_FILE_H
#define TG_MODELS_ADAPTER_FILE_H

#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"
#include "lib/gpt/adapter.h"
#include "lib/models/adapter_base.h"
#include "lib/models/model_file.h"

#define TG_ADAPTER_VERSION 1

/*
 * Handles an array that is not the adapter's own (train/..., opt/...), with the reader at its start; *taken =
 * false rejects it.  The adapter's table is complete at this point, its tensors may not be.
 */
typedef tg_status (*tg_adapter_extra)(void *context, tg_archive_reader *r, const tg_array *a, bool *taken,
                                      tg_err *err);

/*
 * Read an adapter's archive from fd, for the model in `base`.  extra may be NULL: train/... and opt/... are
 * then skipped.  TG_EDATA: another kind of archive, an adapter of another model, an unknown array, a missing
 * or misshapen tensor, a value that is not finite; TG_EIO, TG_ENOMEM.  After a failure *a needs no free.
 */
TG_MUST_CHECK tg_status tg_adapter_read(tg_adapter *a, int fd, const tg_model_file *base,
                                        tg_adapter_extra extra, void *context, tg_err *err);

/* Write the archive's header (kind, version, adapter/...); its tensors.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_adapter_put_header(const tg_adapter *a, const tg_params *model,
                                              const tg_adapter_base *base, tg_archive_writer *w, tg_err *err);
TG_MUST_CHECK tg_status tg_adapter_put_tensors(const tg_adapter *a, tg_archive_writer *w, tg_err *err);

/*
 * Open the adapter at path: an archive, or a directory with adapter_config.json and
 * adapter_model.safetensors. Fails like tg_adapter_read(); TG_EDATA also: what PEFT's config asks for that
 * this library does not compute.  The message names the file.  After a failure *a needs no free.
 */
TG_MUST_CHECK tg_status tg_adapter_open(tg_adapter *a, const char *path, const tg_model_file *base,
                                        tg_err *err);

#endif
