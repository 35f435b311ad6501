/* ELF files made by hand: what is in them, and that every cut and every wrong number is refused or
 * read in bounds. */
#include <errno.h>
#include <stdlib.h>

#include "elf/elf.h"
#include "support/elf_box.h"
#include "test.h"

static const char strings[] = "\0kernel\0function\0libfirst.so\0$ORIGIN/lib";

static void make(struct elf_box *b)
{
	const Elf64_Sym symbols[] = {
		{.st_name = 0},
		{.st_name = 1,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_other = 0x10,
		 .st_shndx = 3},
		{.st_name = 8, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 3},
	};
	const Elf64_Dyn dynamic[] = {
		{.d_tag = DT_NEEDED, .d_un.d_val = 17},	 {.d_tag = DT_FLAGS, .d_un.d_val = 1 << 30},
		{.d_tag = DT_RUNPATH, .d_un.d_val = 29}, {.d_tag = DT_NULL},
		{.d_tag = DT_NEEDED, .d_un.d_val = 17},
	};
	unsigned names;

	elf_begin(b, EM_X86_64);
	names = elf_add(b, ".strtab", SHT_STRTAB, 0, strings, sizeof(strings));
	elf_add(b, ".symtab", SHT_SYMTAB, names, symbols, sizeof(symbols));
	elf_add(b, ".dynamic", SHT_DYNAMIC, names, dynamic, sizeof(dynamic));
	elf_add(b, ".bss", SHT_NOBITS, 0, NULL, 0);
	b->sections[4].sh_size = 1 << 30;
	elf_end(b);
}

static void sections_symbols_and_libraries_are_found(void **state)
{
	static struct elf_box b;
	struct cot_elf_symbol symbol;
	struct cot_elf_section s;
	struct cot_error err;
	struct cot_elf e;
	struct cot_elf_wish wish;

	(void)state;
	make(&b);
	assert_int_equal(cot_elf_open(&e, b.bytes, b.n, &err), 0);
	assert_int_equal(e.n_sections, 6);
	assert_int_equal(e.machine, EM_X86_64);
	assert_int_equal(cot_elf_find(&e, ".bss", 0, &s, &err), 0);
	assert_null(s.bytes);
	assert_int_equal(cot_elf_find(&e, ".data", 0, &s, &err), -ENOENT);
	assert_int_equal(cot_elf_section(&e, 6, &s, &err), -EBADMSG);

	assert_int_equal(cot_elf_find(&e, NULL, SHT_SYMTAB, &s, &err), 0);
	assert_int_equal(cot_elf_symbol(&e, &s, 1, &symbol, &err), 0);
	assert_string_equal(symbol.name, "kernel");
	assert_int_equal(symbol.other, 0x10);
	assert_int_equal(symbol.type, STT_FUNC);
	assert_int_equal(cot_elf_symbol(&e, &s, 2, &symbol, &err), 0);
	assert_string_equal(symbol.name, "function");
	assert_int_equal(symbol.other, 0);
	assert_int_equal(cot_elf_symbol(&e, &s, 3, &symbol, &err), -ENOENT);

	assert_int_equal(cot_elf_find(&e, NULL, SHT_DYNAMIC, &s, &err), 0);
	assert_int_equal(cot_elf_wish(&e, &s, 0, &wish, &err), 0);
	assert_int_equal(wish.tag, DT_NEEDED);
	assert_string_equal(wish.name, "libfirst.so");
	assert_int_equal(cot_elf_wish(&e, &s, 1, &wish, &err), 0);
	assert_null(wish.name);
	assert_int_equal(cot_elf_wish(&e, &s, 2, &wish, &err), 0);
	assert_string_equal(wish.name, "$ORIGIN/lib");
	assert_int_equal(cot_elf_wish(&e, &s, 3, &wish, &err), -ENOENT);
}

/* More than 65279 sections: the first one's header says how many, and which has the names. */
static void the_first_section_says_what_the_header_cannot(void **state)
{
	static struct elf_box b;
	struct cot_elf_section s;
	struct cot_error err;
	struct cot_elf e;
	Elf64_Shdr first;
	Elf64_Ehdr h;

	(void)state;
	make(&b);
	memcpy(&h, b.bytes, sizeof(h));
	memcpy(&first, b.bytes + h.e_shoff, sizeof(first));
	first.sh_size = h.e_shnum;
	first.sh_link = h.e_shstrndx;
	h.e_shnum = 0;
	h.e_shstrndx = SHN_XINDEX;
	memcpy(b.bytes, &h, sizeof(h));
	memcpy(b.bytes + h.e_shoff, &first, sizeof(first));
	assert_int_equal(cot_elf_open(&e, b.bytes, b.n, &err), 0);
	assert_int_equal(e.n_sections, 6);
	assert_int_equal(cot_elf_find(&e, ".dynamic", 0, &s, &err), 0);
}

static void a_file_without_sections_has_none(void **state)
{
	struct cot_error err;
	struct cot_elf e;
	Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				    EV_CURRENT}};

	(void)state;
	assert_int_equal(cot_elf_open(&e, &h, sizeof(h), &err), 0);
	assert_int_equal(e.n_sections, 0);
	h.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(cot_elf_open(&e, &h, sizeof(h), &err), -EBADMSG);
	assert_non_null(strstr(err.text, "64 bits"));
	assert_int_equal(cot_elf_open(&e, &h, sizeof(h) - 1, &err), -EBADMSG);
	assert_int_equal(cot_elf_open(&e, "PTX", 3, &err), -EBADMSG);
}

/* Everything that can be asked of a file, which need not be right. */
static void ask_all(const void *bytes, size_t n)
{
	struct cot_elf_symbol symbol;
	struct cot_elf_section s;
	struct cot_error err;
	struct cot_elf e;
	struct cot_elf_wish wish;
	uint32_t i;
	size_t k;

	if (cot_elf_open(&e, bytes, n, &err))
		return;
	for (i = 0; i < e.n_sections; i++) {
		if (cot_elf_section(&e, i, &s, &err))
			continue;
		for (k = 0; !cot_elf_symbol(&e, &s, k, &symbol, &err); k++)
			assert_non_null(symbol.name);
		for (k = 0; !cot_elf_wish(&e, &s, k, &wish, &err); k++)
			;
	}
}

/* A copy of exactly that size: the sanitizer sees every step beyond it. */
static void ask_copy(const unsigned char *bytes, size_t n)
{
	unsigned char *copy = malloc(n ? n : 1);

	assert_non_null(copy);
	if (n)
		memcpy(copy, bytes, n);
	ask_all(copy, n);
	free(copy);
}

static void cuts_and_wrong_bytes_are_read_in_bounds(void **state)
{
	static struct elf_box b;
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
	unsigned char before;
	size_t i, k;

	(void)state;
	make(&b);
	for (i = 0; i < b.n; i++)
		ask_copy(b.bytes, i);
	for (i = 0; i < b.n; i++) {
		before = b.bytes[i];
		for (k = 0; k < sizeof(values); k++) {
			b.bytes[i] = values[k];
			ask_copy(b.bytes, b.n);
		}
		b.bytes[i] = before;
	}
}

static void a_wrong_number_is_told(void **state)
{
	static struct elf_box b;
	struct cot_elf_section s;
	struct cot_error err;
	struct cot_elf e;

	(void)state;
	make(&b);
	b.n = sizeof(Elf64_Ehdr);
	assert_int_equal(cot_elf_open(&e, b.bytes, b.n, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "where the sections stand"));

	make(&b);
	assert_int_equal(cot_elf_open(&e, b.bytes, b.n, &err), 0);
	/* One byte more than there are. */
	((Elf64_Shdr *)(void *)(b.bytes + e.sections_at))[2].sh_size =
		b.n - b.sections[2].sh_offset + 1;
	assert_int_equal(cot_elf_section(&e, 2, &s, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "the end of a section"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_symbols_and_libraries_are_found),
		cmocka_unit_test(the_first_section_says_what_the_header_cannot),
		cmocka_unit_test(a_file_without_sections_has_none),
		cmocka_unit_test(cuts_and_wrong_bytes_are_read_in_bounds),
		cmocka_unit_test(a_wrong_number_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
