/* Kernels in a program: its fat binaries, and in these the PTX and the machine code. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect.h"
#include "cli/ptx.h"
#include "cuda/fatbin/fatbin.h"
#include "elf/elf.h"

#define CUDA_ENTRY 0x10u /* of a symbol's other bits: a kernel, no function */

static int no_memory(struct cot_error *err)
{
	return cot_error_set(err, -ENOMEM, "out of memory, or more kernels than are looked at");
}

const char *cot_inspect_name(struct cot_arena *a, const char *text)
{
	char *copy = cot_arena_strndup(a, text, strlen(text));
	char *c;

	for (c = copy; c && *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return copy;
}

/* Something inside is wrong: the rest still counts. */
static int note_unreadable(struct cot_inspection *in, int rc, const struct cot_error *err)
{
	if (rc == -ENOMEM)
		return rc;
	if (!in->n_unreadable++)
		in->unreadable = *err;
	return 0;
}

uint64_t cot_inspect_code_bit(struct cot_inspection *in, struct cot_inspect_code c)
{
	unsigned i;

	for (i = 0; i < in->n_codes; i++)
		if (in->codes[i].arch == c.arch && in->codes[i].ptx == c.ptx &&
		    in->codes[i].suffix == c.suffix)
			return UINT64_C(1) << i;
	if (in->n_codes == COT_INSPECT_CODES)
		return 0;
	in->codes[in->n_codes] = c;
	return UINT64_C(1) << in->n_codes++;
}

static uint64_t code_bit(struct cot_inspection *in, const struct cot_fatbin_entry *e)
{
	struct cot_inspect_code c = {.arch = e->arch, .ptx = e->kind == COT_FATBIN_PTX};

	c.suffix = e->specific ? 'a' : e->family ? 'f' : '\0';
	return cot_inspect_code_bit(in, c);
}

static struct cot_inspect_kernel *add_kernel(struct cot_inspection *in, const char *name,
					     uint64_t code)
{
	struct cot_inspect_kernel *k;
	size_t room = in->room ? 2 * in->room : 64;

	if (in->n_kernels == COT_INSPECT_KERNELS)
		return NULL;
	if (in->n_kernels == in->room) {
		k = cot_arena_grow(in->arena, in->kernels, in->room, room, sizeof(*k));
		if (!k)
			return NULL;
		in->kernels = k;
		in->room = room;
	}
	k = &in->kernels[in->n_kernels];
	k->name = cot_inspect_name(in->arena, name);
	if (!k->name)
		return NULL;
	k->codes = code;
	in->n_kernels++;
	return k;
}

/* ---- machine code ---- */

static int add_symbols(struct cot_inspection *in, const struct cot_elf *elf, uint64_t code,
		       const char *why, struct cot_error *err)
{
	struct cot_elf_section table = {.bytes = NULL};
	struct cot_elf_symbol symbol = {.name = NULL};
	struct cot_inspect_kernel *k;
	size_t i;
	int rc = cot_elf_find(elf, NULL, SHT_SYMTAB, &table, err);

	for (i = 0; !rc; i++) {
		rc = cot_elf_symbol(elf, &table, i, &symbol, err);
		if (rc || symbol.type != STT_FUNC || !(symbol.other & CUDA_ENTRY) ||
		    symbol.section == SHN_UNDEF)
			continue;
		k = add_kernel(in, symbol.name, code);
		if (!k)
			return no_memory(err);
		k->why = why;
	}
	return rc == -ENOENT ? 0 : rc;
}

static int read_machine_code(struct cot_inspection *in, const struct cot_fatbin_entry *e,
			     uint64_t code, const char *why, struct cot_error *err)
{
	struct cot_elf elf = {.bytes = NULL};
	void *bytes = NULL;
	size_t n = 0;
	int rc = cot_fatbin_unpack(e, &bytes, &n, err);

	if (rc)
		return rc;
	rc = cot_elf_open(&elf, bytes, n, err);
	if (!rc)
		rc = add_symbols(in, &elf, code, why, err);
	free(bytes);
	return rc;
}

/* ---- PTX ---- */

static int examine(struct cot_inspection *in, struct cot_inspect_kernel *k,
		   const struct cot_ptx_func *func)
{
	struct cot_refusal refusals[COT_N_PASSES];
	unsigned i;

	if (cot_cli_ptx_check(func, refusals, &k->needs_rows))
		return -ENOMEM;
	k->examined = true;
	for (i = 0; i < COT_N_PASSES; i++)
		k->reasons[i] = refusals[i].reason;
	if (k->reasons[COT_PASS_WORKERS] == COT_REASON_NONE)
		return 0;
	k->why = cot_arena_strndup(in->arena, refusals[COT_PASS_WORKERS].text,
				   strlen(refusals[COT_PASS_WORKERS].text));
	return k->why ? 0 : -ENOMEM;
}

/* `why` not NULL: kernels in it are not rewritten, for this reason. */
static int add_module(struct cot_inspection *in, const struct cot_ptx_module *module, uint64_t code,
		      const char *why, struct cot_error *err)
{
	const struct cot_ptx_item *item;
	struct cot_inspect_kernel *k;

	for (item = module->first; item; item = item->next) {
		if (!cot_cli_ptx_is_kernel(item))
			continue;
		k = add_kernel(in, item->func->name, code);
		if (!k || (!why && examine(in, k, item->func)))
			return no_memory(err);
		if (why)
			k->why = why;
	}
	return 0;
}

static int read_ptx(struct cot_inspection *in, const struct cot_fatbin_entry *e, uint64_t code,
		    const char *why, struct cot_error *err)
{
	struct cot_ptx_module *module = NULL;
	size_t length = 0;
	char *text = NULL;
	int rc = cot_fatbin_text(e, &text, &length, err);

	if (rc)
		return rc;
	if (!why && length > COT_PTX_REWRITE_MAX)
		why = "its PTX is too long to be rewritten";
	rc = cot_ptx_parse(text, length, "PTX", &module, err);
	free(text);
	if (rc)
		return rc;
	rc = add_module(in, module, code, why, err);
	cot_ptx_destroy(module);
	return rc;
}

/* ---- fat binaries ---- */

/* Which PTX cotenant takes, as the shim does; NULL and why it takes none. */
static const unsigned char *chosen_ptx(const struct cot_inspection *in, const void *bytes, size_t n,
				       const char **ret_why)
{
	struct cot_fatbin_entry e;

	*ret_why = "there is no PTX of it for this GPU";
	if (cot_fatbin_choose(bytes, n, in->target, false, &e, NULL))
		return NULL;
	*ret_why = "its machine code is newer than its PTX";
	return cot_fatbin_newest_code(bytes, n, in->target) > e.arch ? NULL : e.bytes;
}

static int read_entry(struct cot_inspection *in, const struct cot_fatbin_entry *e,
		      const unsigned char *chosen, const char *why, struct cot_error *err)
{
	uint64_t code = code_bit(in, e);
	int rc;

	if (e->kind == COT_FATBIN_PTX)
		rc = read_ptx(in, e, code, e->bytes == chosen ? NULL : why, err);
	else
		rc = read_machine_code(in, e, code, why, err);
	return rc ? note_unreadable(in, rc, err) : 0;
}

static int read_fatbin(struct cot_inspection *in, const void *bytes, size_t n, bool deep,
		       struct cot_error *err)
{
	const unsigned char *chosen = NULL;
	struct cot_fatbin_entry e = {.kind = 0};
	const char *why = NULL;
	struct cot_fatbin f;
	int rc = cot_fatbin_open(&f, bytes, n, err);

	if (rc)
		return rc;
	in->n_fatbins++;
	if (deep)
		chosen = chosen_ptx(in, bytes, n, &why);
	while (!rc) {
		rc = cot_fatbin_next(&f, &e, err);
		if (rc || (e.kind != COT_FATBIN_PTX && e.kind != COT_FATBIN_ELF))
			continue;
		if (deep)
			rc = read_entry(in, &e, chosen, why, err);
		else
			(void)code_bit(in, &e);
	}
	return rc == -ENOENT ? 0 : rc;
}

/* One after the other, each at a multiple of 8 bytes. */
static int read_fatbins(struct cot_inspection *in, const struct cot_elf_section *s, bool deep,
			struct cot_error *err)
{
	size_t at = 0, size;
	int rc = 0;

	while (!rc && s->n_bytes - at >= COT_FATBIN_HEADER_BYTES) {
		size = cot_fatbin_size(s->bytes + at);
		if (!size) {
			at += 8; /* padding */
			continue;
		}
		if (in->n_fatbins == COT_INSPECT_FATBINS)
			return cot_error_set(err, -E2BIG, "more than %u fat binaries",
					     COT_INSPECT_FATBINS);
		rc = read_fatbin(in, s->bytes + at, s->n_bytes - at, deep, err);
		if (rc)
			return note_unreadable(in, rc, err);
		if (size > s->n_bytes - at)
			break;
		at += (size + 7) & ~(size_t)7;
		if (at > s->n_bytes)
			break;
	}
	return rc;
}

static int read_program(struct cot_inspection *in, const struct cot_elf *elf, bool deep,
			struct cot_error *err)
{
	struct cot_elf_section s;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < elf->n_sections && !rc; i++) {
		rc = cot_elf_section(elf, i, &s, err);
		if (!rc && s.bytes &&
		    (!strcmp(s.name, ".nv_fatbin") || !strcmp(s.name, "__nv_relfatbin")))
			rc = read_fatbins(in, &s, deep, err);
	}
	return rc;
}

/* ---- each kernel once ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct cot_inspect_kernel *)a)->name,
		      ((const struct cot_inspect_kernel *)b)->name);
}

/* What was examined says more than what was not. */
static void merge(struct cot_inspect_kernel *into, const struct cot_inspect_kernel *from)
{
	uint64_t codes = into->codes | from->codes;

	if (from->examined && !into->examined)
		*into = *from;
	into->codes = codes;
}

static void merge_all(struct cot_inspection *in)
{
	size_t i, n = 0;

	if (!in->n_kernels)
		return;
	qsort(in->kernels, in->n_kernels, sizeof(in->kernels[0]), by_name);
	for (i = 1; i < in->n_kernels; i++) {
		if (!strcmp(in->kernels[n].name, in->kernels[i].name))
			merge(&in->kernels[n], &in->kernels[i]);
		else
			in->kernels[++n] = in->kernels[i];
	}
	in->n_kernels = n + 1;
}

int cot_inspect_bytes(struct cot_inspection *in, const void *bytes, size_t n, bool deep,
		      struct cot_error *err)
{
	struct cot_elf elf;
	int rc;

	if (n >= COT_FATBIN_HEADER_BYTES && cot_fatbin_size(bytes)) {
		rc = read_fatbin(in, bytes, n, deep, err);
	} else if (cot_elf_is(bytes, n)) {
		rc = cot_elf_open(&elf, bytes, n, err);
		if (!rc && elf.machine == COT_ELF_MACHINE_CUDA)
			rc = cot_error_set(err, -EBADMSG,
					   "machine code of a GPU alone: expected a program");
		if (!rc)
			rc = read_program(in, &elf, deep, err);
	} else {
		rc = cot_error_set(
			err, -EBADMSG,
			"neither a program nor a fat binary; for PTX, `cotenant ptx FILE --list`");
	}
	if (!rc)
		merge_all(in);
	return rc;
}

size_t cot_inspect_n_workers(const struct cot_inspection *in)
{
	size_t i, n = 0;

	for (i = 0; i < in->n_kernels; i++)
		n += in->kernels[i].examined && !in->kernels[i].why;
	return n;
}
