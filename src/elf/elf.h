/*
 * Reads ELF files of 64 bits, lowest byte first: sections, symbols, and which libraries a program
 * asks for. Those of the GPU's machine code are such files too. Bounded by the size given; needs no
 * alignment; owns nothing; no state, safe from any thread.
 */
#ifndef COT_ELF_ELF_H
#define COT_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COT_ELF_MACHINE_CUDA 190u

struct cot_elf_section {
	const char *name;
	uint32_t type, link;
	const unsigned char *bytes; /* not owned; NULL where the file has none */
	size_t n_bytes;
};

struct cot_elf {
	const unsigned char *bytes; /* not owned */
	size_t n_bytes;
	uint16_t machine, type; /* EM_... and ET_... of <elf.h> */
	uint32_t n_sections;	/* 0 where they were stripped */
	/* of the file */
	size_t sections_at;
	struct cot_elf_section names;
};

struct cot_elf_symbol {
	const char *name;
	unsigned type;	/* STT_FUNC and others of <elf.h> */
	unsigned other; /* the machine's own bits among them */
	uint16_t section;
};

/* Whether the bytes begin like one. */
bool cot_elf_is(const void *bytes, size_t n);

/* -EBADMSG and one sentence. The bytes must stay as long as the reader is used. */
int cot_elf_open(struct cot_elf *ret_elf, const void *bytes, size_t n, struct cot_error *err);
/* Section i < n_sections. -EBADMSG. */
int cot_elf_section(const struct cot_elf *e, uint32_t i, struct cot_elf_section *ret_section,
		    struct cot_error *err);
/* The first of this name, or where `name` is NULL of this type. -ENOENT, without a sentence;
 * -EBADMSG. */
int cot_elf_find(const struct cot_elf *e, const char *name, uint32_t type,
		 struct cot_elf_section *ret_section, struct cot_error *err);

/* Symbol i of a table of symbols (SHT_SYMTAB). -ENOENT after the last; -EBADMSG. */
int cot_elf_symbol(const struct cot_elf *e, const struct cot_elf_section *table, size_t i,
		   struct cot_elf_symbol *ret_symbol, struct cot_error *err);

/* What a program asks of the dynamic linker. */
struct cot_elf_wish {
	int64_t tag; /* DT_... */
	uint64_t value;
	const char *name; /* of DT_NEEDED, DT_RUNPATH and DT_RPATH; else NULL */
};

/* Entry i of the section of type SHT_DYNAMIC. -ENOENT after the last; -EBADMSG. */
int cot_elf_wish(const struct cot_elf *e, const struct cot_elf_section *dynamic, size_t i,
		 struct cot_elf_wish *ret_wish, struct cot_error *err);

#endif
