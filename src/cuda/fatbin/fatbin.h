/*
 * Reads fat binaries: the container in which CUDA's compiler puts the code for several GPUs into a
 * program. It holds PTX texts and machine code (ELF); either may be compressed, by LZ4 or zstd.
 * The format is not published; the layout here was found by looking at files.
 *
 *   header   u32 magic 0xBA55ED50, u16 version 1, u16 size of this header, u64 bytes that follow
 *   entry    u16 kind, u16 version, u32 size of this header, u64 stored bytes (padded to 8),
 *            u32 exact compressed bytes or 0, u32 options, u16 minor, u16 major, u32 architecture,
 *            u32, u32 name, u64 flags, u64, u64 raw bytes; then the stored bytes; and so on
 *
 * Bounded by the size given; needs no alignment; no state, safe from any thread.
 */
#ifndef COT_CUDA_FATBIN_FATBIN_H
#define COT_CUDA_FATBIN_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COT_FATBIN_MAGIC	 0xBA55ED50u
#define COT_FATBIN_WRAPPER_MAGIC 0x466243B1u
#define COT_FATBIN_HEADER_BYTES	 16u

#define COT_FATBIN_MAX_ENTRIES 4096u
#define COT_FATBIN_MAX_TEXT    (256u << 20) /* bytes of one text, raw */

enum cot_fatbin_kind { COT_FATBIN_PTX = 1, COT_FATBIN_ELF = 2 };

enum cot_fatbin_packing { COT_FATBIN_RAW, COT_FATBIN_LZ4, COT_FATBIN_ZSTD, COT_FATBIN_UNKNOWN };

struct cot_fatbin_entry {
	uint32_t kind;
	uint32_t arch; /* compute capability, such as 90 */
	bool specific; /* only for exactly this one: sm_90a */
	bool family;   /* only for this one and its family: sm_100f */
	enum cot_fatbin_packing packing;
	const unsigned char *bytes; /* stored; not owned */
	size_t n_bytes;
	uint64_t raw_bytes; /* of a packed entry */
};

struct cot_fatbin {
	const unsigned char *bytes; /* not owned */
	size_t n, at;
	unsigned n_entries;
};

/* All bytes of a fat binary, from the first 16 of it; 0 if it is none. */
size_t cot_fatbin_size(const void *header);

/* -EBADMSG and one sentence. The bytes must stay as long as the reader is used. */
int cot_fatbin_open(struct cot_fatbin *f, const void *bytes, size_t n, struct cot_error *err);
/* The next entry; -ENOENT after the last, -EBADMSG. */
int cot_fatbin_next(struct cot_fatbin *f, struct cot_fatbin_entry *ret_entry,
		    struct cot_error *err);

/* The raw bytes of an entry, malloc'ed. -EBADMSG, -E2BIG, -ENOMEM. */
int cot_fatbin_unpack(const struct cot_fatbin_entry *entry, void **ret_bytes, size_t *ret_n,
		      struct cot_error *err);

/*
 * The raw text of a PTX entry, without the zeros at its end but with one zero after it; malloc'ed.
 * -EBADMSG, -E2BIG, -ENOMEM.
 */
int cot_fatbin_text(const struct cot_fatbin_entry *entry, char **ret_text, size_t *ret_length,
		    struct cot_error *err);

/*
 * The PTX that a GPU of this compute capability would be given: the newest that is not newer than
 * the GPU, or with `newer` the oldest of the newer ones when there is no other. -ENOENT and a
 * sentence with what there is instead.
 */
int cot_fatbin_choose(const void *bytes, size_t n, uint32_t target, bool newer,
		      struct cot_fatbin_entry *ret_entry, struct cot_error *err);

/* The newest machine code that this GPU runs: of the same generation, and not newer. 0: none. */
uint32_t cot_fatbin_newest_code(const void *bytes, size_t n, uint32_t target);

#endif
