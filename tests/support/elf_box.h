/*
 * ELF files made by hand: elf_begin(), elf_add() for each section, elf_end(). The first section is
 * the empty one, the last one has the names.
 */
#ifndef COT_TESTS_ELF_BOX_H
#define COT_TESTS_ELF_BOX_H

#include <elf.h>
#include <string.h>

#define ELF_BOX_SECTIONS 16

struct elf_box {
	unsigned char bytes[1 << 17];
	size_t n;
	Elf64_Shdr sections[ELF_BOX_SECTIONS];
	unsigned n_sections;
	char names[1024];
	size_t n_names;
};

static inline void elf_begin(struct elf_box *b, unsigned machine)
{
	Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				    EV_CURRENT},
			.e_type = ET_EXEC,
			.e_machine = (Elf64_Half)machine,
			.e_ehsize = sizeof(h)};

	memset(b, 0, sizeof(*b));
	memcpy(b->bytes, &h, sizeof(h));
	b->n = sizeof(h);
	b->n_sections = 1;
	b->n_names = 1;
}

/* Its number. */
static inline unsigned elf_add(struct elf_box *b, const char *name, unsigned type, unsigned link,
			       const void *bytes, size_t n)
{
	b->n = (b->n + 7) & ~(size_t)7;
	b->sections[b->n_sections] = (Elf64_Shdr){.sh_name = (Elf64_Word)b->n_names,
						  .sh_type = type,
						  .sh_link = link,
						  .sh_offset = b->n,
						  .sh_size = n};
	memcpy(b->names + b->n_names, name, strlen(name) + 1);
	b->n_names += strlen(name) + 1;
	if (n)
		memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
	return b->n_sections++;
}

static inline void elf_end(struct elf_box *b)
{
	size_t n_names = b->n_names + sizeof(".shstrtab");
	unsigned names;
	Elf64_Ehdr h;

	names = elf_add(b, ".shstrtab", SHT_STRTAB, 0, b->names, n_names);
	memcpy(b->bytes + b->sections[names].sh_offset, b->names, n_names);
	b->n = (b->n + 7) & ~(size_t)7;
	memcpy(&h, b->bytes, sizeof(h));
	h.e_shoff = b->n;
	h.e_shentsize = sizeof(Elf64_Shdr);
	h.e_shnum = (Elf64_Half)b->n_sections;
	h.e_shstrndx = (Elf64_Half)names;
	memcpy(b->bytes, &h, sizeof(h));
	memcpy(b->bytes + b->n, b->sections, b->n_sections * sizeof(Elf64_Shdr));
	b->n += b->n_sections * sizeof(Elf64_Shdr);
}

#endif
