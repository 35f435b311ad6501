/* Finding things in a module that is ready to run. */
#include <errno.h>
#include <string.h>

#include "emu/exec/inside.h"

uint32_t cot_exec_module_n_functions(const struct cot_exec_module *m)
{
	return m->n_kernels;
}

const struct cot_exec_function *cot_exec_module_function(const struct cot_exec_module *m,
							 uint32_t index)
{
	return index < m->n_kernels ? &m->functions[m->kernels[index]] : NULL;
}

const struct cot_exec_function *cot_exec_module_find(const struct cot_exec_module *m,
						     const char *name)
{
	uint32_t i;

	for (i = 0; i < m->n_kernels; i++)
		if (!strcmp(m->functions[m->kernels[i]].info.name, name))
			return &m->functions[m->kernels[i]];
	return NULL;
}

const struct cot_exec_function_info *cot_exec_function_info(const struct cot_exec_function *f)
{
	return &f->info;
}

int cot_exec_function_refused(const struct cot_exec_function *f, struct cot_error *err)
{
	return f->refused ? cot_error_set(err, -ENOTSUP, "%s", f->refused) : 0;
}

uint32_t cot_exec_module_n_variables(const struct cot_exec_module *m)
{
	return m->n_variables;
}

int cot_exec_module_variable(const struct cot_exec_module *m, uint32_t index,
			     struct cot_exec_variable *ret_variable)
{
	if (index >= m->n_variables)
		return -ENOENT;
	*ret_variable = m->variables[index];
	return 0;
}

int cot_exec_module_find_variable(const struct cot_exec_module *m, const char *name,
				  struct cot_exec_variable *ret_variable)
{
	uint32_t i;

	for (i = 0; i < m->n_variables; i++)
		if (!strcmp(m->variables[i].name, name))
			return cot_exec_module_variable(m, i, ret_variable);
	return -ENOENT;
}
