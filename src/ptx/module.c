#include <errno.h>
#include <string.h>

#include "ptx/parse.h"

static struct cot_ptx_module *create(void)
{
	struct cot_arena *arena = cot_arena_create(COT_PTX_MEMORY_MAX);
	struct cot_ptx_module *module = arena ? cot_arena_alloc(arena, sizeof(*module)) : NULL;

	if (!module) {
		cot_arena_destroy(arena);
		return NULL;
	}
	module->arena = arena;
	module->names = cot_ptx_names_create(arena);
	module->words = cot_ptx_words_create(arena);
	module->next_scope = 1;
	if (!module->names || !module->words) {
		cot_arena_destroy(arena);
		return NULL;
	}
	return module;
}

void cot_ptx_destroy(struct cot_ptx_module *module)
{
	if (module)
		cot_arena_destroy(module->arena);
}

static int parse_version(struct cot_ptx_parser *p)
{
	struct cot_ptx_str text;
	uint32_t part[2] = {0, 0};
	unsigned i = 0;
	size_t k;
	int r;

	if (!cot_ptx_is_dot(p, "version"))
		return cot_ptx_wrong(p, ".version at the start of a PTX text");
	r = cot_ptx_next(p);
	if (r)
		return r;
	text = p->tok.text;
	if (p->tok.kind != COT_PTX_TOK_F64 || text.length > 6)
		return cot_ptx_wrong(p, "a version such as 8.0");
	for (k = 0; k < text.length; k++) {
		if (text.at[k] == '.')
			i++;
		else if (text.at[k] >= '0' && text.at[k] <= '9')
			part[i] = part[i] * 10 + (uint32_t)(text.at[k] - '0');
		else
			return cot_ptx_wrong(p, "a version such as 8.0");
	}
	p->module->version_major = part[0];
	p->module->version_minor = part[1];
	return cot_ptx_next(p);
}

/* sm_90 or sm_90a: 90. */
static unsigned sm_of(struct cot_ptx_str word)
{
	unsigned n = 0;
	size_t i;

	if (word.length < 4 || memcmp(word.at, "sm_", 3))
		return 0;
	for (i = 3; i < word.length && word.at[i] >= '0' && word.at[i] <= '9' && n < 1000; i++)
		n = n * 10 + (unsigned)(word.at[i] - '0');
	return n;
}

#define TARGET_MAX 256 /* bytes of what .target says */

static int parse_target(struct cot_ptx_parser *p)
{
	char words[TARGET_MAX];
	size_t n = 0;
	bool more = true;
	int r;

	if (!cot_ptx_is_dot(p, "target"))
		return cot_ptx_wrong(p, ".target after .version");
	r = cot_ptx_next(p);
	while (!r && more) {
		struct cot_ptx_str word = p->tok.text;

		if (p->tok.kind != COT_PTX_TOK_NAME || word.length + 3 > sizeof(words) - n)
			return cot_ptx_wrong(p, "a target such as sm_90");
		if (!p->module->sm)
			p->module->sm = sm_of(word);
		if (n) {
			memcpy(words + n, ", ", 2);
			n += 2;
		}
		memcpy(words + n, word.at, word.length);
		n += word.length;
		r = cot_ptx_next(p);
		if (!r)
			r = cot_ptx_accept(p, ',', &more);
	}
	p->module->target = cot_arena_strndup(p->module->arena, words, n);
	if (!r && !p->module->target)
		r = cot_ptx_no_memory(p);
	return r;
}

static int parse_head(struct cot_ptx_parser *p)
{
	int r = parse_version(p);

	if (!r)
		r = parse_target(p);
	if (r || !cot_ptx_is_dot(p, "address_size"))
		return r;
	r = cot_ptx_next(p);
	if (r)
		return r;
	if (p->tok.kind != COT_PTX_TOK_INT || (p->tok.value != 32 && p->tok.value != 64))
		return cot_ptx_wrong(p, "32 or 64");
	p->module->address_size = (unsigned)p->tok.value;
	return cot_ptx_next(p);
}

static void settle_operand(void *arg, struct cot_ptx_operand *operand)
{
	(void)arg;
	if (operand->kind == COT_PTX_OPND_FUNC && operand->func->decl_of)
		operand->func = operand->func->decl_of;
}

static void settle_func(struct cot_ptx_func *func)
{
	struct cot_ptx_stmt *s;
	uint32_t i;

	for (s = func->first; s; s = s->next) {
		if (s->kind == COT_PTX_STMT_INSN)
			cot_ptx_for_each_operand(&s->insn, settle_operand, NULL);
		else if (s->kind == COT_PTX_STMT_CALLTARGETS)
			for (i = 0; i < s->targets->n; i++)
				settle_operand(NULL, &s->targets->items[i]);
	}
}

void cot_ptx_settle_calls(struct cot_ptx_module *module)
{
	struct cot_ptx_item *item;
	uint32_t i;

	for (item = module->first; item; item = item->next) {
		if (item->kind == COT_PTX_ITEM_FUNC)
			settle_func(item->func);
		for (i = 0; item->kind == COT_PTX_ITEM_VAR && i < item->var->n_inits; i++) {
			struct cot_ptx_init *init = &item->var->inits[i];

			if (init->func && init->func->decl_of)
				init->func = init->func->decl_of;
		}
		for (i = 0; item->kind == COT_PTX_ITEM_ALIAS && i < 2; i++)
			if (item->alias[i]->decl_of)
				item->alias[i] = item->alias[i]->decl_of;
	}
}

int cot_ptx_parse(const char *text, size_t size, const char *name,
		  struct cot_ptx_module **ret_module, struct cot_error *err)
{
	struct cot_ptx_module *module;
	struct cot_ptx_item *first = NULL;
	struct cot_ptx_parser p;
	struct cot_error own;
	int r;

	if (size > COT_PTX_SOURCE_MAX)
		return cot_error_set(err, -E2BIG, "%s: larger than %u MiB", name,
				     COT_PTX_SOURCE_MAX >> 20);
	module = create();
	if (!module)
		return cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	r = cot_ptx_parser_init(&p, module, text, size, name, err ? err : &own);
	if (!r)
		r = parse_head(&p);
	if (!r)
		r = cot_ptx_parse_items(&p, NULL, &first);
	if (r) {
		cot_ptx_destroy(module);
		return r;
	}
	cot_ptx_settle_calls(module);
	*ret_module = module;
	return 0;
}
