/*
 * tiny_blocks: the smallest blocks that the code allows, and the lowest limits, so that
 * small cases reach the edges of every block and the paths for large sizes.  The build
 * with tiny blocks (make VARIANT=tiny) includes this before everything else; its sums
 * are cut in other places than the normal build's, so bits differ.
 */
#ifndef TG_TESTS_TINY_BLOCKS_H
#define TG_TESTS_TINY_BLOCKS_H

/* lib/kernels/isa/blocks.h: two parts of k, two tiles of 32 rows, two panels of 48 columns */
#define PASS_WORDS ((size_t)16)
#define KC_WORDS ((size_t)32)
#define CHAIN_WORDS ((size_t)8)
#define A_FLOATS (KC_WORDS * 64)
#define B_FLOATS (KC_WORDS * 96)

/* lib/kernels: two vectors of AVX-512; products on several threads */
#define TG_ATTEND_BLOCK ((size_t)32)
#define TG_COLUMNS ((size_t)16)
#define PARALLEL_FROM 512

/* lib/kernels/isa/masks.c: without vectors where an instruction set has the smallest */
#define TG_MASKS_OF_WORDS

/* lib/base: of a strip of rows, one part of the sums */
#define TG_STRIP_FLOATS ((size_t)64)

/* lib/base: elements of a part that threads share */
#define TG_THREADS_ELEMENTS ((size_t)64)

/* lib/nn and lib/gpt: elements that a thread takes at a time */
#define TG_TINY_CHUNK ((size_t)64)
#define KEPT_MAX ((size_t)256)

/* lib/text: more than one archive, of 4,032 chunks, comes with 258,049 tokens */
#define TG_TOKENS_CHUNK ((size_t)64)

/* lib/bpe: all its methods meet in short texts; short pieces have up to two groups */
#define TG_MERGE_SHORT 20
#define TG_LONG_PIECE_BLOCK ((size_t)32)
#define TG_LONG_PIECE_IDS ((size_t)8)
#define TG_BPE_WINDOW ((size_t)8)
#define TG_PIECE_SETS_BITS 2
#define TG_PIECE_BATCH 3
#define TG_PARALLEL_BLOCK 64

/* learning: text of a thread, of a call to the splitter; the first table of pieces */
#define TG_LEARN_TEXT ((size_t)100)
#define TG_LEARN_WINDOW ((size_t)4)
#define TG_PIECE_SLOTS ((size_t)2)

/* lib/spm */
#define TG_SPM_SHORT 3
#define TG_SPM_BLOCK ((size_t)16)
#define TG_SPM_WINDOW ((size_t)64)
#define TG_SPM_FOLLOWING ((size_t)8)
#define TG_SPM_BATCH 3
#define TG_WIDE_BITS 2

#endif
