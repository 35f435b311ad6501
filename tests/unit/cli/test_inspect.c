/* Programs made by hand: which kernels `cotenant inspect` finds in them, as what, and why they are
 * no workers. */
#include <errno.h>
#include <stdlib.h>

#include "cli/inspect.h"
#include "support/elf_box.h"
#include "support/fatbin_box.h"
#include "test.h"

#define PTX(target, name, body)                                                                  \
	".version 7.0\n.target sm_" target "\n.address_size 64\n.visible .entry " name "()\n{\n" \
	"	.reg .b32 %r<3>;\n" body "	ret;\n}\n"

#define COOPERATIVE "	mov.u32 %r1, %envreg2;\n"

/* Machine code: the names of two kernels and of a function. */
static size_t machine_code(struct elf_box *b)
{
	static const char strings[] = "\0plain\0helper\0gone";
	const unsigned func = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	const Elf64_Sym symbols[] = {
		{.st_name = 1, .st_info = (unsigned char)func, .st_other = 0x10, .st_shndx = 1},
		{.st_name = 7, .st_info = (unsigned char)func, .st_shndx = 1},
		{.st_name = 14,
		 .st_info = (unsigned char)func,
		 .st_other = 0x10,
		 .st_shndx = SHN_UNDEF},
	};
	unsigned names;

	elf_begin(b, 190);
	names = elf_add(b, ".strtab", SHT_STRTAB, 0, strings, sizeof(strings));
	elf_add(b, ".symtab", SHT_SYMTAB, names, symbols, sizeof(symbols));
	elf_end(b);
	return b->n;
}

static void add_code(struct box *b, unsigned arch)
{
	static struct elf_box code;
	size_t n = machine_code(&code);

	add(b, COT_FATBIN_ELF, arch, 1, ENTRY_BYTES, code.bytes, n, 0);
}

/* A program with these fat binaries, one after the other. */
static void make_program(struct elf_box *program, const struct box *first, const struct box *second)
{
	static unsigned char section[1 << 16];
	size_t at = (first->n + 7) / 8 * 8;

	memset(section, 0, sizeof(section));
	memcpy(section, first->bytes, first->n);
	if (second) {
		memcpy(section + at, second->bytes, second->n);
		at += second->n;
	}
	elf_begin(program, EM_X86_64);
	elf_add(program, ".nv_fatbin", SHT_PROGBITS, 0, section, at);
	elf_end(program);
}

static void inspect(struct cot_inspection *in, const struct elf_box *program, uint32_t target)
{
	struct cot_error err;

	*in = (struct cot_inspection){.arena = cot_arena_create(1 << 20), .target = target};
	assert_non_null(in->arena);
	assert_int_equal(cot_inspect_bytes(in, program->bytes, program->n, true, &err), 0);
}

static uint64_t bit(const struct cot_inspection *in, bool ptx, uint32_t arch)
{
	unsigned i;

	for (i = 0; i < in->n_codes; i++)
		if (in->codes[i].ptx == ptx && in->codes[i].arch == arch)
			return UINT64_C(1) << i;
	fail_msg("no code for %u", arch);
	return 0;
}

static void each_kernel_is_found_once_with_all_its_codes(void **state)
{
	static struct elf_box program;
	static struct box first, second;
	struct cot_inspection in;

	(void)state;
	begin(&first);
	add_text(&first, 75, PTX("75", "plain", ""));
	add_code(&first, 75);
	add_code(&first, 80);
	begin(&second);
	add_text(&second, 90, PTX("90", "cooperates", COOPERATIVE));
	add_text(&second, 75, PTX("75", "cooperates", ""));
	make_program(&program, &first, &second);

	inspect(&in, &program, 90);
	assert_int_equal(in.n_fatbins, 2);
	assert_int_equal(in.n_unreadable, 0);
	assert_int_equal(in.n_kernels, 2);
	assert_string_equal(in.kernels[0].name, "cooperates");
	assert_int_equal(in.kernels[0].codes, bit(&in, true, 90) | bit(&in, true, 75));
	assert_true(in.kernels[0].examined);
	assert_int_equal(in.kernels[0].reasons[COT_PASS_WORKERS], COT_REASON_COOPERATIVE);
	assert_non_null(strstr(in.kernels[0].why, "grid-wide synchronisation"));
	assert_string_equal(in.kernels[1].name, "plain");
	assert_int_equal(in.kernels[1].codes,
			 bit(&in, true, 75) | bit(&in, false, 75) | bit(&in, false, 80));
	assert_null(in.kernels[1].why);
	assert_int_equal(cot_inspect_n_workers(&in), 1);
	cot_arena_destroy(in.arena);

	/* An older GPU is given the other PTX of the second. */
	inspect(&in, &program, 80);
	assert_null(in.kernels[0].why);
	/* Its machine code is for that GPU and newer than the PTX. */
	assert_false(in.kernels[1].examined);
	assert_non_null(strstr(in.kernels[1].why, "newer"));
	cot_arena_destroy(in.arena);

	/* For a still older one there is nothing. */
	inspect(&in, &program, 70);
	assert_int_equal(cot_inspect_n_workers(&in), 0);
	assert_non_null(strstr(in.kernels[0].why, "no PTX"));
	cot_arena_destroy(in.arena);
}

static void what_is_unreadable_is_counted_and_the_rest_found(void **state)
{
	static struct elf_box program;
	static struct box b;
	struct cot_inspection in;

	(void)state;
	begin(&b);
	add_text(&b, 75, "this is no PTX");
	add_code(&b, 90);
	add(&b, COT_FATBIN_ELF, 80, 1, ENTRY_BYTES, "no ELF", 6, 0);
	make_program(&program, &b, NULL);
	inspect(&in, &program, 90);
	assert_int_equal(in.n_unreadable, 2);
	assert_non_null(strstr(in.unreadable.text, "PTX"));
	assert_int_equal(in.n_kernels, 1);
	assert_string_equal(in.kernels[0].name, "plain");
	cot_arena_destroy(in.arena);
}

static void other_files_are_refused(void **state)
{
	struct cot_inspection in = {.arena = cot_arena_create(1 << 20)};
	static struct elf_box code;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_inspect_bytes(&in, ".version 7.0\n", 13, true, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "cotenant ptx"));
	machine_code(&code);
	assert_int_equal(cot_inspect_bytes(&in, code.bytes, code.n, true, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "expected a program"));
	assert_int_equal(cot_inspect_bytes(&in, "", 0, true, &err), -EBADMSG);
	cot_arena_destroy(in.arena);
}

static void names_have_no_control_characters(void **state)
{
	struct cot_arena *a = cot_arena_create(4096);

	(void)state;
	assert_string_equal(cot_inspect_name(a, "a\033[2Jb\xc3\xa4"), "a?[2Jb??");
	assert_string_equal(cot_demangle("plain"), "plain");
	cot_arena_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kernel_is_found_once_with_all_its_codes),
		cmocka_unit_test(what_is_unreadable_is_counted_and_the_rest_found),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(names_have_no_control_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
