/* Modules: from PTX text to functions that are ready to run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/exec/places.h"

#define MAX_REGISTERS	255u
#define MIN_REGISTERS	16u
#define OWN_REGISTERS	6u /* for addresses and the like, that PTX does not name */
#define RECURSION_SLACK 4u /* frames that a recursive kernel begins with */

/* ---- the list of functions ---- */

static uint32_t builtin_of(const char *name)
{
	static const struct {
		const char *name;
		uint32_t builtin;
	} table[] = {
		{"vprintf", BUILTIN_VPRINTF},
		{"__assertfail", BUILTIN_ASSERT},
		{"malloc", BUILTIN_MALLOC},
		{"free", BUILTIN_FREE},
	};
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(table); i++)
		if (!strcmp(table[i].name, name))
			return table[i].builtin;
	return BUILTIN_NONE;
}

static int add_function(struct cot_exec_lower *l, struct cot_ptx_func *func)
{
	struct cot_exec_place *p;
	struct cot_exec_function *f;

	/* Of a function that is only declared the first declaration counts. */
	if (func->decl_of)
		return 0;
	p = cot_exec_place_add(l, func);
	f = cot_exec_list_add(&l->functions, 1);
	if (!p || !f)
		return -ENOMEM;
	p->index = (uint32_t)l->functions.n - 1;
	f->pc = NOWHERE;
	f->entry = func->entry;
	f->info.name = strdup(func->name);
	if (!f->info.name)
		return -ENOMEM;
	if (!func->has_body && !func->opaque)
		f->builtin = builtin_of(func->name);
	return 0;
}

static int add_alias(struct cot_exec_lower *l, const struct cot_ptx_item *item)
{
	struct cot_exec_place *name, *what;
	uint32_t index;

	what = cot_exec_place_find(l, item->alias[1]);
	if (!what)
		return 0;
	index = what->index;
	name = cot_exec_place_add(l, item->alias[0]);
	if (!name)
		return -ENOMEM;
	name->index = index;
	return 0;
}

static int list_functions(struct cot_exec_lower *l)
{
	struct cot_ptx_item *item;
	uint32_t n = 0;
	int error = 0;

	for (item = l->ptx->first; item && !error; item = item->next)
		if (item->kind == COT_PTX_ITEM_FUNC)
			error = add_function(l, item->func);
	for (item = l->ptx->first; item && !error; item = item->next)
		if (item->kind == COT_PTX_ITEM_ALIAS)
			error = add_alias(l, item);
	l->sources = calloc(l->functions.n + 1, sizeof(struct cot_ptx_func *));
	if (!l->sources)
		return -ENOMEM;
	for (item = l->ptx->first; item; item = item->next)
		if (item->kind == COT_PTX_ITEM_FUNC && !item->func->decl_of)
			l->sources[n++] = item->func;
	return error;
}

/* ---- one function ---- */

static void read_directives(struct cot_exec_function_info *info, const struct cot_ptx_func *func)
{
	uint32_t i, k;

	info->max_threads = COT_EXEC_MAX_THREADS;
	for (i = 0; i < func->n_directives; i++) {
		const struct cot_ptx_directive *d = &func->directives[i];
		uint64_t product = 1;

		for (k = 0; k < d->n && k < 3; k++)
			product *= d->values[k];
		if (d->kind == COT_PTX_DIR_MINNCTAPERSM)
			info->min_blocks_per_sm = d->values[0];
		if (d->kind == COT_PTX_DIR_MAXNREG && d->values[0] < info->n_registers)
			info->n_registers = d->values[0];
		if (d->kind != COT_PTX_DIR_MAXNTID && d->kind != COT_PTX_DIR_REQNTID)
			continue;
		if (product < info->max_threads)
			info->max_threads = (uint32_t)product;
		for (k = 0; k < 3 && d->kind == COT_PTX_DIR_REQNTID; k++)
			info->required_block[k] = k < d->n ? d->values[k] : 1;
	}
}

static int set_params(struct cot_exec_lower *l, struct cot_exec_function *f)
{
	struct cot_exec_param *params = calloc(l->func->n_params + 1, sizeof(*params));
	uint32_t i;

	f->info.params = params;
	if (!params)
		return -ENOMEM;
	f->info.n_params = l->func->n_params;
	for (i = 0; i < l->func->n_params; i++) {
		const struct cot_exec_place *p = cot_exec_place_find(l, l->func->params[i]);

		params[i].offset = (uint32_t)p->at.at;
		params[i].size = (uint32_t)cot_ptx_var_bytes(l->func->params[i]);
		params[i].align = cot_ptx_var_align(l->func->params[i]);
		f->info.args_size = params[i].offset + params[i].size;
	}
	return 0;
}

static struct cot_exec_formal *formals(struct cot_exec_lower *l, struct cot_ptx_var *const *vars,
				       uint32_t n)
{
	struct cot_exec_formal *list = calloc(n + 1, sizeof(*list));
	uint32_t i;

	for (i = 0; list && i < n; i++) {
		const struct cot_exec_place *p = cot_exec_place_find(l, vars[i]);

		list[i].row = NOWHERE;
		list[i].offset = p ? (uint32_t)p->at.at : 0;
		list[i].bytes = (uint32_t)cot_ptx_var_bytes(vars[i]);
	}
	return list;
}

static int set_formals(struct cot_exec_lower *l, struct cot_exec_function *f)
{
	f->n_params = l->func->n_params;
	f->n_rets = l->func->n_rets;
	f->params = formals(l, l->func->params, f->n_params);
	f->rets = formals(l, l->func->rets, f->n_rets);
	return f->params && f->rets ? 0 : -ENOMEM;
}

static uint32_t count_registers(const struct cot_exec_lower *l)
{
	uint32_t live = cot_exec_live_registers(l) + OWN_REGISTERS;

	return live > MAX_REGISTERS ? MAX_REGISTERS : live < MIN_REGISTERS ? MIN_REGISTERS : live;
}

static int begin_function(struct cot_exec_lower *l)
{
	uint32_t i;

	l->regs = malloc((l->func->n_regs + 1) * sizeof(*l->regs));
	l->label_pcs = calloc(l->func->n_labels + 1, sizeof(*l->label_pcs));
	if (!l->regs || !l->label_pcs)
		return -ENOMEM;
	for (i = 0; i < l->func->n_regs; i++)
		l->regs[i] = NOWHERE;
	l->stmt = NULL;
	l->insn = NULL;
	l->reg_bytes = l->local_bytes = l->pred_at = 0;
	l->uses_clusters = false;
	l->refusal = NULL;
	return cot_exec_place_function(l);
}

static void end_function(struct cot_exec_lower *l, uint32_t first_pc)
{
	struct cot_exec_function *f =
		&((struct cot_exec_function *)l->functions.items)[l->function];

	if (l->refusal) {
		f->refused = l->refusal;
		l->refusal = NULL;
		l->code.n = l->lines.n = first_pc;
		l->fixes.n = 0;
	} else {
		cot_exec_fix_labels(l);
		f->pc = first_pc;
	}
	f->reg_bytes = (l->reg_bytes + 63) & ~63u;
	f->local_bytes = f->info.local_bytes = l->local_bytes;
	f->info.n_registers = count_registers(l);
	f->info.n_instructions = (uint32_t)l->code.n - first_pc;
	f->info.uses_clusters = l->uses_clusters;
	read_directives(&f->info, l->func);
}

static int lower_function(struct cot_exec_lower *l, uint32_t index)
{
	struct cot_exec_function *f = &((struct cot_exec_function *)l->functions.items)[index];
	uint32_t first_pc = (uint32_t)l->code.n;
	char undefined[COT_ERROR_MAX];
	int error;

	l->func = l->sources[index];
	snprintf(undefined, sizeof(undefined), "the function %.200s is called and not defined",
		 l->func->name);
	l->function = index;
	f->info.max_threads = COT_EXEC_MAX_THREADS;
	if (l->func->opaque) {
		f->refused = strdup(l->func->reason ? l->func->reason : "not understood");
		return f->refused ? 0 : -ENOMEM;
	}
	if (!l->func->has_body && !f->builtin) {
		f->refused = strdup(undefined);
		return f->refused ? 0 : -ENOMEM;
	}
	error = begin_function(l);
	if (!error && f->entry)
		error = set_params(l, f);
	if (!error)
		error = set_formals(l, f);
	if (!error && l->func->has_body && !l->refusal)
		cot_exec_lower_body(l);
	if (!error && l->error)
		error = -ENOMEM;
	if (!error)
		end_function(l, first_pc);
	free(l->regs);
	free(l->label_pcs);
	l->regs = NULL;
	l->label_pcs = NULL;
	return error;
}

/* ---- what follows from calls ---- */

/* Frames with everything that is called; NOWHERE: not known yet; a cycle counts some frames. */
struct depth {
	struct cot_exec_function *functions;
	const struct cot_exec_refs *refs;
	uint8_t *state; /* 0: new, 1: being worked on, 2: done */
};

static void deepen(struct depth *d, uint32_t f, uint32_t level)
{
	struct cot_exec_function *function = &d->functions[f];
	const uint32_t *called = d->refs->functions.items;
	uint32_t regs = 0, local = 0, i;

	if (d->state[f])
		return;
	d->state[f] = 1;
	for (i = d->refs->first_function[f]; i < d->refs->first_function[f + 1]; i++) {
		struct cot_exec_function *other;

		if (called[i] == NOWHERE || level >= MAX_FRAMES)
			continue;
		deepen(d, called[i], level + 1);
		other = &d->functions[called[i]];
		if (d->state[called[i]] == 1) {
			other->deep_reg_bytes = other->reg_bytes * RECURSION_SLACK;
			other->deep_local_bytes = other->local_bytes * RECURSION_SLACK;
		}
		regs = other->deep_reg_bytes > regs ? other->deep_reg_bytes : regs;
		local = other->deep_local_bytes > local ? other->deep_local_bytes : local;
		if (other->refused && !function->refused)
			function->refused = strdup(other->refused);
		if (other->info.n_registers > function->info.n_registers)
			function->info.n_registers = other->info.n_registers;
		function->info.uses_clusters |= other->info.uses_clusters;
	}
	function->deep_reg_bytes = function->reg_bytes + regs;
	function->deep_local_bytes = function->local_bytes + local;
	d->state[f] = 2;
}

static int deepen_all(struct cot_exec_lower *l, const struct cot_exec_refs *refs)
{
	struct depth d = {l->functions.items, refs, calloc(l->functions.n + 1, 1)};
	uint32_t i;

	if (!d.state)
		return -ENOMEM;
	for (i = 0; i < l->functions.n; i++)
		deepen(&d, i, 0);
	free(d.state);
	return 0;
}

/* ---- the module ---- */

static int lower_all(struct cot_exec_lower *l, struct cot_error *err)
{
	struct cot_exec_refs refs = {0};
	uint32_t i;
	int error = list_functions(l);

	if (!error)
		error = cot_exec_place_module(l, err);
	if (!error)
		error = cot_exec_find_refs(l, &refs);
	if (!error)
		error = cot_exec_place_shared(l, &refs);
	for (i = 0; i < l->functions.n && !error; i++)
		error = lower_function(l, i);
	if (!error)
		error = cot_exec_init_data(l, err);
	if (!error)
		error = deepen_all(l, &refs);
	cot_exec_free_refs(&refs);
	return error;
}

static void *steal(struct cot_exec_list *list)
{
	void *items = list->items;

	list->items = NULL;
	return items;
}

static int set_variables(struct cot_exec_lower *l)
{
	struct cot_exec_module *m = l->module;
	const struct cot_ptx_item *item;
	uint32_t n = 0;

	for (item = l->ptx->first; item; item = item->next)
		n += item->kind == COT_PTX_ITEM_VAR;
	m->variables = calloc(n + 1, sizeof(*m->variables));
	if (!m->variables)
		return -ENOMEM;
	for (item = l->ptx->first; item; item = item->next) {
		struct cot_exec_variable *v = &m->variables[m->n_variables];
		const struct cot_exec_place *p;

		if (item->kind != COT_PTX_ITEM_VAR)
			continue;
		p = cot_exec_place_find(l, item->var);
		if (!p || !p->placed || p->at.space != MEM_GLOBAL)
			continue;
		v->name = strdup(item->var->name);
		if (!v->name)
			return -ENOMEM;
		v->address = (uint64_t)(uintptr_t)m->data + p->at.at;
		v->bytes = cot_ptx_var_bytes(item->var);
		v->constant = item->var->space == COT_PTX_SPACE_CONST;
		m->n_variables++;
	}
	return 0;
}

/* Hands the lists over to the module. */
static int finish(struct cot_exec_lower *l)
{
	struct cot_exec_module *m = l->module;
	uint32_t i;

	m->n_code = (uint32_t)l->code.n;
	m->code = steal(&l->code);
	m->lines = steal(&l->lines);
	m->calls = steal(&l->calls);
	m->actuals = steal(&l->actuals);
	m->tables = steal(&l->tables);
	m->lists = steal(&l->lists);
	m->consts = aligned_alloc(64, (l->consts.n + 64) & ~(size_t)63);
	m->kernels = calloc(m->n_functions + 1, sizeof(*m->kernels));
	if (!m->consts || !m->kernels)
		return -ENOMEM;
	if (l->consts.n)
		memcpy(m->consts, l->consts.items, l->consts.n);
	for (i = 0; i < m->n_functions; i++) {
		m->functions[i].module = m;
		if (m->functions[i].entry)
			m->kernels[m->n_kernels++] = i;
	}
	return set_variables(l);
}

static void free_lists(struct cot_exec_lower *l)
{
	struct cot_exec_list *lists[] = {&l->code,    &l->lines,  &l->consts, &l->calls,
					 &l->actuals, &l->tables, &l->lists,  &l->const_keys,
					 &l->fixes,   &l->places};
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(lists); i++)
		free(lists[i]->items);
	free(l->sources);
	free(l->refusal);
}

static int lower_module(struct cot_exec_module *m, struct cot_ptx_module *ptx,
			struct cot_error *err)
{
	struct cot_exec_lower l = {
		.ptx = ptx,
		.module = m,
		.code = {.size = sizeof(struct cot_exec_insn)},
		.lines = {.size = sizeof(uint32_t)},
		.consts = {.size = 1},
		.calls = {.size = sizeof(struct cot_exec_call)},
		.actuals = {.size = sizeof(struct cot_exec_formal)},
		.tables = {.size = sizeof(uint32_t)},
		.lists = {.size = sizeof(cot_exec_ref)},
		.const_keys = {.size = 24},
		.fixes = {.size = sizeof(struct cot_exec_fix)},
		.functions = {.size = sizeof(struct cot_exec_function)},
		.places = {.size = sizeof(struct cot_exec_place)},
	};
	int error;

	if (err)
		err->text[0] = '\0';
	error = lower_all(&l, err);
	/* Also on failure: they are freed with the module. */
	m->n_functions = (uint32_t)l.functions.n;
	m->functions = l.functions.items;
	if (!error)
		error = finish(&l);
	free_lists(&l);
	if (error && err && !err->text[0])
		cot_error_set(err, error, "no memory for the module");
	return error;
}

static int check_target(const struct cot_ptx_module *ptx, const char *name, uint32_t target,
			struct cot_error *err)
{
	if (ptx->sm > target)
		return cot_error_set(err, -ENOTSUP, "%s: PTX for sm_%u; this GPU is sm_%u", name,
				     ptx->sm, target);
	if (ptx->address_size == 32)
		return cot_error_set(err, -ENOTSUP,
				     "%s: PTX with addresses of 32 bits; expected 64", name);
	return 0;
}

int cot_exec_module_load(struct cot_exec_ranges *m, const char *text, size_t length,
			 const char *name, uint32_t target, struct cot_exec_module **ret_module,
			 struct cot_error *err)
{
	struct cot_exec_module *module;
	struct cot_ptx_module *ptx;
	int error;

	name = name ? name : "PTX";
	target = target ? target : COT_EXEC_DEFAULT_TARGET;
	error = cot_ptx_parse(text, length, name, &ptx, err);
	if (error)
		return error;
	module = calloc(1, sizeof(*module));
	error = module ? check_target(ptx, name, target, err) : -ENOMEM;
	if (!error) {
		module->target = target;
		module->memory = m;
		error = lower_module(module, ptx, err);
	}
	if (!error) {
		error = cot_exec_ranges_add(m, (uint64_t)(uintptr_t)module->data,
					    module->data_bytes + 1, true);
		module->data_added = !error;
		if (error)
			cot_error_set(err, error, "no place for the variables of the module");
	}
	cot_ptx_destroy(ptx);
	if (error) {
		cot_exec_module_unload(module);
		return error;
	}
	*ret_module = module;
	return 0;
}

void cot_exec_module_unload(struct cot_exec_module *m)
{
	uint32_t i;

	if (!m)
		return;
	if (m->data_added)
		cot_exec_ranges_remove(m->memory, (uint64_t)(uintptr_t)m->data);
	for (i = 0; i < m->n_functions; i++) {
		free((char *)m->functions[i].info.name);
		free((struct cot_exec_param *)m->functions[i].info.params);
		free(m->functions[i].refused);
		free(m->functions[i].params);
		free(m->functions[i].rets);
	}
	for (i = 0; i < m->n_variables; i++)
		free((char *)m->variables[i].name);
	free(m->functions);
	free(m->variables);
	free(m->kernels);
	free(m->code);
	free(m->lines);
	free(m->consts);
	free(m->calls);
	free(m->actuals);
	free(m->tables);
	free(m->lists);
	free(m->data_memory);
	free(m);
}
