#include "elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define NAME_MAX_BYTES 65536u

static int wrong(struct cot_error *err, const char *what, unsigned long long found,
		 unsigned long long most)
{
	return cot_error_set(err, -EBADMSG, "ELF: %s is %llu, expected at most %llu", what, found,
			     most);
}

bool cot_elf_is(const void *bytes, size_t n)
{
	return n >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG);
}

/* The string at an offset of a table of strings, or NULL. */
static const char *string_at(const struct cot_elf_section *strings, uint64_t at)
{
	const char *text = (const char *)strings->bytes;
	size_t left;

	if (!text || at >= strings->n_bytes)
		return NULL;
	left = strings->n_bytes - at;
	return memchr(text + at, '\0', left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES) ? text + at
										      : NULL;
}

static int read_section(const struct cot_elf *e, uint32_t i, Elf64_Shdr *ret,
			struct cot_elf_section *ret_section, struct cot_error *err)
{
	struct cot_elf_section s = {.bytes = NULL};

	memcpy(ret, e->bytes + e->sections_at + (size_t)i * sizeof(*ret), sizeof(*ret));
	s = (struct cot_elf_section){.name = "", .type = ret->sh_type, .link = ret->sh_link};
	if (ret->sh_type != SHT_NOBITS && ret->sh_type != SHT_NULL && ret->sh_size) {
		if (ret->sh_offset > e->n_bytes || ret->sh_size > e->n_bytes - ret->sh_offset)
			return wrong(err, "the end of a section", ret->sh_offset + ret->sh_size,
				     e->n_bytes);
		s.bytes = e->bytes + ret->sh_offset;
		s.n_bytes = ret->sh_size;
	}
	*ret_section = s;
	return 0;
}

int cot_elf_section(const struct cot_elf *e, uint32_t i, struct cot_elf_section *ret_section,
		    struct cot_error *err)
{
	struct cot_elf_section s = {.bytes = NULL};
	Elf64_Shdr header = {0};
	int rc;

	if (i >= e->n_sections)
		return wrong(err, "the number of a section", i,
			     e->n_sections ? e->n_sections - 1 : 0);
	rc = read_section(e, i, &header, &s, err);
	if (rc)
		return rc;
	s.name = string_at(&e->names, header.sh_name);
	if (!s.name)
		return wrong(err, "where a section's name stands", header.sh_name,
			     e->names.n_bytes);
	*ret_section = s;
	return 0;
}

/* Where there are too many for the header, the first section says how many there are. */
static int open_sections(struct cot_elf *e, const Elf64_Ehdr *header, struct cot_error *err)
{
	Elf64_Shdr first, names = {0};
	uint64_t n = header->e_shnum, strings = header->e_shstrndx;
	size_t room;

	if (!header->e_shoff)
		return 0;
	if (header->e_shentsize != sizeof(first))
		return wrong(err, "the size of a section's header", header->e_shentsize,
			     sizeof(first));
	if (header->e_shoff > e->n_bytes || e->n_bytes - header->e_shoff < sizeof(first))
		return wrong(err, "where the sections stand", header->e_shoff, e->n_bytes);
	room = (e->n_bytes - header->e_shoff) / sizeof(first);
	memcpy(&first, e->bytes + header->e_shoff, sizeof(first));
	if (!n)
		n = first.sh_size;
	if (strings == SHN_XINDEX)
		strings = first.sh_link;
	if (n > room || n > UINT32_MAX)
		return wrong(err, "the number of sections", n, room);
	if (strings >= n)
		return wrong(err, "the section with the names", strings, n);
	e->sections_at = header->e_shoff;
	e->n_sections = (uint32_t)n;
	return read_section(e, (uint32_t)strings, &names, &e->names, err);
}

int cot_elf_open(struct cot_elf *ret_elf, const void *bytes, size_t n, struct cot_error *err)
{
	struct cot_elf e = {.bytes = bytes, .n_bytes = n};
	Elf64_Ehdr header;
	int rc;

	if (!cot_elf_is(bytes, n) || n < sizeof(header))
		return cot_error_set(err, -EBADMSG,
				     "not an ELF file: expected a header of %zu bytes",
				     sizeof(header));
	memcpy(&header, bytes, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return cot_error_set(err, -EBADMSG,
				     "ELF: expected one of 64 bits, lowest byte first");
	e.machine = header.e_machine;
	e.type = header.e_type;
	rc = open_sections(&e, &header, err);
	if (!rc)
		*ret_elf = e;
	return rc;
}

int cot_elf_find(const struct cot_elf *e, const char *name, uint32_t type,
		 struct cot_elf_section *ret_section, struct cot_error *err)
{
	struct cot_elf_section s = {.bytes = NULL};
	uint32_t i;
	int rc;

	for (i = 0; i < e->n_sections; i++) {
		rc = cot_elf_section(e, i, &s, err);
		if (rc)
			return rc;
		if (name ? !strcmp(s.name, name) : s.type == type) {
			*ret_section = s;
			return 0;
		}
	}
	return -ENOENT;
}

int cot_elf_symbol(const struct cot_elf *e, const struct cot_elf_section *table, size_t i,
		   struct cot_elf_symbol *ret_symbol, struct cot_error *err)
{
	struct cot_elf_section strings = {.bytes = NULL};
	const char *name;
	Elf64_Sym symbol;
	int rc;

	if (i >= table->n_bytes / sizeof(symbol))
		return -ENOENT;
	rc = cot_elf_section(e, table->link, &strings, err);
	if (rc)
		return rc;
	memcpy(&symbol, table->bytes + i * sizeof(symbol), sizeof(symbol));
	name = string_at(&strings, symbol.st_name);
	if (!name)
		return wrong(err, "where a symbol's name stands", symbol.st_name, strings.n_bytes);
	*ret_symbol = (struct cot_elf_symbol){
		.name = name,
		.type = ELF64_ST_TYPE(symbol.st_info),
		.other = symbol.st_other,
		.section = symbol.st_shndx,
	};
	return 0;
}

int cot_elf_wish(const struct cot_elf *e, const struct cot_elf_section *dynamic, size_t i,
		 struct cot_elf_wish *ret_wish, struct cot_error *err)
{
	struct cot_elf_section strings = {.bytes = NULL};
	struct cot_elf_wish wish = {.name = NULL};
	Elf64_Dyn entry;
	int rc;

	if (i >= dynamic->n_bytes / sizeof(entry))
		return -ENOENT;
	memcpy(&entry, dynamic->bytes + i * sizeof(entry), sizeof(entry));
	if (entry.d_tag == DT_NULL)
		return -ENOENT;
	wish.tag = entry.d_tag;
	wish.value = entry.d_un.d_val;
	if (wish.tag == DT_NEEDED || wish.tag == DT_RUNPATH || wish.tag == DT_RPATH) {
		rc = cot_elf_section(e, dynamic->link, &strings, err);
		if (rc)
			return rc;
		wish.name = string_at(&strings, wish.value);
		if (!wish.name)
			return wrong(err, "where a library's name stands", wish.value,
				     strings.n_bytes);
	}
	*ret_wish = wish;
	return 0;
}
