/*
 * gguf_families: what GGUF files of the families after GPT-2 say of a model.  Only for GGUF's reader and
 * writer.
 */
#ifndef TG_MODELS_GGUF_FAMILIES_H
#define TG_MODELS_GGUF_FAMILIES_H

#include "formats/gguf.h"
#include "lib/models/model_format.h"

/*
 * Read the config of such a file into f->config, which then lacks only whether the head is tied, and set
 * *names to what it calls the tensors.  What is missing, or not supported, is g's failure.
 */
void tg_gguf_family_read(tg_model_file *f, tg_gguf *g, tg_names *names);

/*
 * The scaling of frequencies that the file's tensor rope_freqs.weight stands for, into c, whose rope_theta is
 * known: it has a divisor for each (lib/models/gguf_rope.c).  TG_EDATA: it is none of those that this library
 * computes.
 */
TG_MUST_CHECK tg_status tg_gguf_read_divisors(tg_config *c, const tg_stored *divisors, tg_err *err);

/* The divisor of frequency j by Llama 3's scaling, which the config has. */
double tg_gguf_divisor(const tg_config *c, size_t j);

#endif
