/* Where variables are: the module's, those of functions, parameters, shared memory. */
#include "emu/exec/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define MAX_DATA      (1ull << 30) /* bytes of all variables */
#define DATA_ALIGN    256u
#define DYNAMIC_ALIGN 16u

static size_t slot_of(const struct cot_exec_list *table, const void *key)
{
	const struct cot_exec_place *places = table->items;
	size_t k = (size_t)cot_mix64((uint64_t)(uintptr_t)key) & (table->n - 1);

	while (places[k].key && places[k].key != key)
		k = (k + 1) & (table->n - 1);
	return k;
}

struct cot_exec_place *cot_exec_place_find(const struct cot_exec_lower *l, const void *key)
{
	struct cot_exec_place *places = l->places.items;
	size_t k;

	if (!l->places.n)
		return NULL;
	k = slot_of(&l->places, key);
	return places[k].key ? &places[k] : NULL;
}

struct cot_exec_place *cot_exec_place_add(struct cot_exec_lower *l, const void *key)
{
	struct cot_exec_place *places = l->places.items, *found = cot_exec_place_find(l, key);
	struct cot_exec_list grown = {.size = sizeof(*places)};
	size_t n = l->places.n, i;

	if (found)
		return found;
	if (l->n_places * 2 >= n) {
		if (!cot_exec_list_add(&grown, n ? n * 2 : 256))
			return NULL;
		for (i = 0; i < n; i++)
			if (places[i].key)
				((struct cot_exec_place *)
					 grown.items)[slot_of(&grown, places[i].key)] = places[i];
		free(places);
		l->places = grown;
		places = grown.items;
	}
	found = &places[slot_of(&l->places, key)];
	found->key = key;
	l->n_places++;
	return found;
}

bool cot_exec_place_of(struct cot_exec_lower *l, const struct cot_ptx_var *var,
		       struct cot_exec_address *ret_address)
{
	const struct cot_exec_place *p = cot_exec_place_find(l, var);

	if (!p || !p->placed)
		return cot_exec_refuse(l, "the variable %s has no place in this GPU's memory",
				       var->name);
	*ret_address = p->at;
	if (p->at.space == MEM_GLOBAL)
		ret_address->at += (uint64_t)(uintptr_t)l->module->data;
	return true;
}

static uint64_t align_up(uint64_t at, uint64_t align)
{
	return (at + align - 1) / align * align;
}

static int put(struct cot_exec_lower *l, const struct cot_ptx_var *var, enum cot_exec_space space,
	       bool frame, uint64_t at)
{
	struct cot_exec_place *p = cot_exec_place_add(l, var);

	if (!p)
		return -ENOMEM;
	p->at = (struct cot_exec_address){space, frame, at};
	p->placed = true;
	return 0;
}

/* ---- the module's data ---- */

/* A variable that is only declared means the definition of that name. */
static const struct cot_ptx_var *definition(const struct cot_exec_lower *l,
					    const struct cot_ptx_var *v)
{
	const struct cot_ptx_var *other;

	if (v->linkage != COT_PTX_LINK_EXTERN || v->has_init)
		return v;
	other = cot_ptx_find_var(l->ptx, v->name);
	return other && other->linkage != COT_PTX_LINK_EXTERN ? other : NULL;
}

static int place_data(struct cot_exec_lower *l, const struct cot_ptx_var *v, uint64_t *at)
{
	uint64_t bytes = cot_ptx_var_bytes(v);

	if (definition(l, v) != v)
		return 0;
	*at = align_up(*at, cot_ptx_var_align(v));
	if (put(l, v, MEM_GLOBAL, false, *at))
		return -ENOMEM;
	if (bytes > MAX_DATA - *at)
		return -E2BIG;
	*at += bytes;
	return 0;
}

/* All variables in data: those of the module and those that functions declare. */
static int for_each_data(struct cot_exec_lower *l, uint8_t space,
			 int (*fn)(struct cot_exec_lower *, const struct cot_ptx_var *, uint64_t *),
			 uint64_t *at)
{
	const struct cot_ptx_item *item;
	const struct cot_ptx_stmt *s;
	int error = 0;

	for (item = l->ptx->first; item && !error; item = item->next) {
		if (item->kind == COT_PTX_ITEM_VAR && item->var->space == space)
			error = fn(l, item->var, at);
		if (item->kind != COT_PTX_ITEM_FUNC || item->func->opaque)
			continue;
		for (s = item->func->first; s && !error; s = s->next)
			if (s->kind == COT_PTX_STMT_VAR && s->var->space == space)
				error = fn(l, s->var, at);
	}
	return error;
}

static int alias_extern(struct cot_exec_lower *l, const struct cot_ptx_var *v, uint64_t *at)
{
	const struct cot_ptx_var *other = definition(l, v);
	const struct cot_exec_place *p;

	(void)at;
	if (other == v || !other)
		return 0;
	p = cot_exec_place_find(l, other);
	return p && p->placed ? put(l, v, MEM_GLOBAL, false, p->at.at) : 0;
}

int cot_exec_place_module(struct cot_exec_lower *l, struct cot_error *err)
{
	struct cot_exec_module *m = l->module;
	uint64_t at = 0;
	int error;

	error = for_each_data(l, COT_PTX_SPACE_CONST, place_data, &at);
	m->const_bytes = at;
	at = align_up(at, DATA_ALIGN);
	if (!error)
		error = for_each_data(l, COT_PTX_SPACE_GLOBAL, place_data, &at);
	m->data_bytes = at;
	if (!error)
		error = for_each_data(l, COT_PTX_SPACE_CONST, alias_extern, &at);
	if (!error)
		error = for_each_data(l, COT_PTX_SPACE_GLOBAL, alias_extern, &at);
	if (error)
		return cot_error_set(err, error,
				     "the variables of the module need too much memory");
	/* Untouched pages cost nothing this way; with aligned_alloc() they would. */
	m->data_memory = calloc(1, at + 1 + DATA_ALIGN);
	if (!m->data_memory)
		return cot_error_set(err, -ENOMEM, "no memory for the variables of the module");
	m->data = m->data_memory + DATA_ALIGN - (uintptr_t)m->data_memory % DATA_ALIGN;
	return 0;
}

/* ---- initial values ---- */

static uint64_t generic_address(struct cot_exec_lower *l, const struct cot_ptx_init *init)
{
	const struct cot_exec_place *p;

	if (init->func) {
		p = cot_exec_place_find(l, init->func->decl_of ? init->func->decl_of : init->func);
		return p ? WINDOW_FUNCTION + (uint64_t)p->index * FUNCTION_STEP : 0;
	}
	p = cot_exec_place_find(l, init->var);
	if (!p || !p->placed)
		return 0;
	if (p->at.space == MEM_SHARED)
		return p->at.at + (init->generic ? WINDOW_SHARED : 0);
	return p->at.at + (uint64_t)(uintptr_t)l->module->data;
}

static int init_var(struct cot_exec_lower *l, const struct cot_ptx_var *v, uint64_t *at)
{
	const struct cot_exec_place *p = cot_exec_place_find(l, v);
	unsigned size = cot_ptx_type_bytes(v->type);
	uint64_t total = cot_ptx_var_bytes(v);
	uint32_t i;

	(void)at;
	if (!p || !p->placed || definition(l, v) != v)
		return 0;
	for (i = 0; i < v->n_inits; i++) {
		const struct cot_ptx_init *init = &v->inits[i];
		uint64_t value = (uint64_t)init->imm;

		if (init->kind == COT_PTX_INIT_ADDR) {
			value += generic_address(l, init);
			if (init->mask_shift != 255)
				value = value >> init->mask_shift & 0xff;
		}
		if (((uint64_t)i + 1) * size <= total && size <= sizeof(value))
			memcpy(l->module->data + p->at.at + (uint64_t)i * size, &value, size);
	}
	return 0;
}

int cot_exec_init_data(struct cot_exec_lower *l, struct cot_error *err)
{
	uint64_t at = 0;
	int error = for_each_data(l, COT_PTX_SPACE_CONST, init_var, &at);

	if (!error)
		error = for_each_data(l, COT_PTX_SPACE_GLOBAL, init_var, &at);
	return error ? cot_error_set(err, error, "the variables of the module") : 0;
}

/* ---- what functions name ---- */

struct collector {
	struct cot_exec_lower *l;
	struct cot_exec_refs *refs;
	bool failed;
};

static void collect(void *arg, struct cot_ptx_operand *o)
{
	struct collector *c = arg;
	const struct cot_ptx_var **var;
	uint32_t *function;

	if (o->kind == COT_PTX_OPND_FUNC) {
		function = cot_exec_list_add(&c->refs->functions, 1);
		c->failed |= !function;
		if (function)
			*function = cot_exec_function_index(c->l, o->func);
	} else if (o->kind == COT_PTX_OPND_VAR && o->var->space == COT_PTX_SPACE_SHARED) {
		var = cot_exec_list_add(&c->refs->vars, 1);
		c->failed |= !var;
		if (var)
			*var = o->var;
	}
}

int cot_exec_find_refs(struct cot_exec_lower *l, struct cot_exec_refs *refs)
{
	struct collector c = {l, refs, false};
	uint32_t n = (uint32_t)l->functions.n, i;
	struct cot_ptx_stmt *s;

	memset(refs, 0, sizeof(*refs));
	refs->functions.size = sizeof(uint32_t);
	refs->vars.size = sizeof(struct cot_ptx_var *);
	refs->first_function = calloc(n + 1, sizeof(*refs->first_function));
	refs->first_var = calloc(n + 1, sizeof(*refs->first_var));
	if (!refs->first_function || !refs->first_var)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		refs->first_function[i] = (uint32_t)refs->functions.n;
		refs->first_var[i] = (uint32_t)refs->vars.n;
		for (s = l->sources[i]->opaque ? NULL : l->sources[i]->first; s; s = s->next)
			if (s->kind == COT_PTX_STMT_INSN)
				cot_ptx_for_each_operand(&s->insn, collect, &c);
	}
	refs->first_function[n] = (uint32_t)refs->functions.n;
	refs->first_var[n] = (uint32_t)refs->vars.n;
	return c.failed ? -ENOMEM : 0;
}

void cot_exec_free_refs(struct cot_exec_refs *refs)
{
	free(refs->functions.items);
	free(refs->vars.items);
	free(refs->first_function);
	free(refs->first_var);
}

/* ---- shared memory ---- */

/* A variable that a kernel uses, itself or in what it calls. */
struct use {
	const struct cot_ptx_var *var;
	uint32_t kernel;
};

struct uses {
	struct cot_exec_lower *l;
	const struct cot_exec_refs *refs;
	struct cot_exec_list list; /* struct use */
	uint32_t *seen;		   /* of each function: the last kernel that reached it, plus 1 */
	uint32_t *stack;
};

static int use_vars(struct uses *u, uint32_t function, uint32_t kernel)
{
	const struct cot_ptx_var **vars = u->refs->vars.items;
	uint32_t i;

	for (i = u->refs->first_var[function]; i < u->refs->first_var[function + 1]; i++) {
		struct cot_exec_place *p = cot_exec_place_add(u->l, vars[i]);
		struct use *use;

		if (!p)
			return -ENOMEM;
		if (p->last_kernel == kernel + 1)
			continue;
		p->last_kernel = kernel + 1;
		use = cot_exec_list_add(&u->list, 1);
		if (!use)
			return -ENOMEM;
		*use = (struct use){vars[i], kernel};
	}
	return 0;
}

/* All variables that the kernel reaches. */
static int use_kernel(struct uses *u, uint32_t kernel)
{
	const uint32_t *functions = u->refs->functions.items;
	uint32_t depth = 0, i;

	u->seen[kernel] = kernel + 1;
	u->stack[depth++] = kernel;
	while (depth) {
		uint32_t f = u->stack[--depth];

		if (use_vars(u, f, kernel))
			return -ENOMEM;
		for (i = u->refs->first_function[f]; i < u->refs->first_function[f + 1]; i++) {
			if (functions[i] == NOWHERE || u->seen[functions[i]] == kernel + 1)
				continue;
			u->seen[functions[i]] = kernel + 1;
			u->stack[depth++] = functions[i];
		}
	}
	return 0;
}

static bool is_dynamic(const struct cot_ptx_var *v)
{
	return v->unsized || (v->linkage == COT_PTX_LINK_EXTERN && !cot_ptx_var_bytes(v));
}

static int by_var(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	/* In the order of the PTX, not of addresses in this process. */
	if (x->var->line != y->var->line)
		return x->var->line < y->var->line ? -1 : 1;
	if (x->var != y->var)
		return strcmp(x->var->name, y->var->name);
	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

/*
 * A variable has one place, the same for all kernels that use it: behind what any of them has so
 * far. Those that no kernel shares do not add up.
 */
static int place_uses(struct uses *u, bool dynamic)
{
	struct cot_exec_function *functions = u->l->functions.items;
	const struct use *uses = u->list.items;
	size_t i, k, n = u->list.n;

	for (i = 0; i < n; i = k) {
		const struct cot_ptx_var *v = uses[i].var;
		uint64_t at = 0, align = cot_ptx_var_align(v);

		for (k = i; k < n && uses[k].var == v; k++)
			if (functions[uses[k].kernel].info.shared_bytes > at)
				at = functions[uses[k].kernel].info.shared_bytes;
		if (is_dynamic(v) != dynamic)
			continue;
		if (dynamic && align < DYNAMIC_ALIGN)
			align = DYNAMIC_ALIGN;
		at = align_up(at, align);
		if (put(u->l, v, MEM_SHARED, false, at))
			return -ENOMEM;
		at += dynamic ? 0 : cot_ptx_var_bytes(v);
		if (at > UINT32_MAX / 2)
			return -E2BIG;
		for (k = i; k < n && uses[k].var == v; k++)
			functions[uses[k].kernel].info.shared_bytes = (uint32_t)at;
	}
	return 0;
}

int cot_exec_place_shared(struct cot_exec_lower *l, const struct cot_exec_refs *refs)
{
	struct cot_exec_function *functions = l->functions.items;
	uint32_t n = (uint32_t)l->functions.n, i;
	struct uses u = {.l = l, .refs = refs, .list = {.size = sizeof(struct use)}};
	int error = 0;

	u.seen = calloc(n + 1, sizeof(*u.seen));
	u.stack = calloc(n + 1, sizeof(*u.stack));
	if (!u.seen || !u.stack)
		error = -ENOMEM;
	for (i = 0; i < n && !error; i++)
		if (functions[i].entry)
			error = use_kernel(&u, i);
	if (!error && u.list.n)
		qsort(u.list.items, u.list.n, sizeof(struct use), by_var);
	if (!error)
		error = place_uses(&u, false);
	if (!error)
		error = place_uses(&u, true);
	free(u.seen);
	free(u.stack);
	free(u.list.items);
	return error;
}

/* ---- functions ---- */

static int place_args(struct cot_exec_lower *l)
{
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < l->func->n_params; i++) {
		at = align_up(at, cot_ptx_var_align(l->func->params[i]));
		if (put(l, l->func->params[i], MEM_ARGS, false, at))
			return -ENOMEM;
		at += cot_ptx_var_bytes(l->func->params[i]);
	}
	return 0;
}

static int place_local(struct cot_exec_lower *l, const struct cot_ptx_var *v)
{
	uint64_t at = align_up(l->local_bytes, cot_ptx_var_align(v)), bytes = cot_ptx_var_bytes(v);

	if (bytes > MAX_LOCAL_BYTES || at > MAX_LOCAL_BYTES - bytes) {
		cot_exec_refuse(l, "more than %u bytes of local memory", MAX_LOCAL_BYTES);
		return 0;
	}
	l->local_bytes = (uint32_t)(at + bytes);
	return put(l, v, MEM_LOCAL, true, at);
}

int cot_exec_place_function(struct cot_exec_lower *l)
{
	const struct cot_ptx_stmt *s;
	int error = 0;
	uint32_t i;

	if (l->func->entry)
		error = place_args(l);
	for (i = 0; i < l->func->n_params && !l->func->entry && !error; i++)
		error = place_local(l, l->func->params[i]);
	for (i = 0; i < l->func->n_rets && !error; i++)
		error = place_local(l, l->func->rets[i]);
	for (s = l->func->first; s && !error; s = s->next)
		if (s->kind == COT_PTX_STMT_VAR &&
		    (s->var->space == COT_PTX_SPACE_LOCAL || s->var->space == COT_PTX_SPACE_PARAM))
			error = place_local(l, s->var);
	/* The next frame begins at an address that suits every type. */
	l->local_bytes = (uint32_t)align_up(l->local_bytes, 16);
	return error;
}

uint32_t cot_exec_function_index(struct cot_exec_lower *l, const struct cot_ptx_func *func)
{
	const struct cot_exec_place *p;

	p = cot_exec_place_find(l, func->decl_of ? func->decl_of : func);
	return p ? p->index : NOWHERE;
}
