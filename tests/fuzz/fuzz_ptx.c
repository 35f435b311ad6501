/*
 * The reader of PTX: whatever it takes can be printed, read again and printed the same, passes the
 * verifier, and can be copied and edited.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void count_reg(void *arg, uint32_t reg, bool written)
{
	(void)written;
	REQUIRE(reg < ((const struct cot_ptx_func *)arg)->n_regs);
}

/* What the interpreter and the passes do with a function. */
static void use(struct cot_ptx_module *module, struct cot_ptx_func *func)
{
	struct cot_ptx_func *copy;
	struct cot_ptx_stmt *s;
	struct cot_error err;
	char text[64];
	uint32_t reg;

	for (s = func->first; s; s = s->next) {
		cot_ptx_print_stmt(func, s, text, sizeof(text));
		REQUIRE(strlen(text) < sizeof(text));
		if (s->kind == COT_PTX_STMT_INSN)
			cot_ptx_for_each_reg(&s->insn, count_reg, func);
	}
	if (func->opaque || !func->has_body)
		return;
	if (cot_ptx_clone_func(func, "copy$of$it", &copy, &err))
		return;
	REQUIRE(!cot_ptx_verify(module, &err));
	REQUIRE(!cot_ptx_new_reg(copy, COT_PTX_B32, "x", &reg) || copy->n_regs == COT_PTX_REGS_MAX);
	(void)cot_ptx_insert_text(copy, cot_ptx_body_start(copy),
				  ".reg .pred %p; setp.eq.s32 %p, 1, 2; @%p bra out; out: ret;",
				  NULL, 0, NULL, NULL, &err);
	REQUIRE(!cot_ptx_verify(module, &err));
}

static void print_again(const char *text, size_t size)
{
	struct cot_ptx_module *module;
	struct cot_error err;
	char *again;
	size_t n;

	REQUIRE(!cot_ptx_parse(text, size, "printed", &module, &err));
	REQUIRE(!cot_ptx_print(module, &again, &n));
	REQUIRE(n == size && !memcmp(again, text, n));
	cot_ptx_destroy(module);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_ptx_module *module;
	struct cot_ptx_item *item;
	struct cot_error err;
	char *text;
	size_t n;

	err.text[0] = '\0';
	if (cot_ptx_parse((const char *)data, size, "fuzz", &module, &err)) {
		REQUIRE(err.text[0]);
		return 0;
	}
	REQUIRE(!cot_ptx_verify(module, &err));
	REQUIRE(!cot_ptx_print(module, &text, &n));
	print_again(text, n);
	free(text);
	for (item = module->first; item; item = item->next)
		if (item->kind == COT_PTX_ITEM_FUNC) {
			use(module, item->func);
			break;
		}
	REQUIRE(!cot_ptx_print(module, &text, &n));
	print_again(text, n);
	free(text);
	cot_ptx_destroy(module);
	return 0;
}
