/* llmc: models in llm.c's files.  Only for the files llmc*.c. */
#ifndef TG_MODELS_LLMC_H
#define TG_MODELS_LLMC_H

#define TG_LLMC_EPSILON 1e-5 /* LayerNorm's, of every model of llm.c */

#endif
