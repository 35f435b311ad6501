/* The loader for PTX: functions that really run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/driver/function.h"
#include "emu/driver/grid.h"
#include "emu/driver/inside.h"
#include "emu/driver/range.h"
#include "emu/exec/exec.h"

/* A GPU of before 2015 takes no code for later ones; the quirk any-ptx lets it through. */
#define TARGET_WORD ".target"

static bool accepts(const void *image)
{
	(void)image;
	return true;
}

/* The number in the first ".target sm_NN"; 0 if there is none. */
static uint32_t target_of(const char *text)
{
	const char *at = strstr(text, TARGET_WORD);
	unsigned long number;

	if (!at)
		return 0;
	at += strlen(TARGET_WORD);
	at += strspn(at, " \t");
	if (strncmp(at, "sm_", 3) != 0)
		return 0;
	number = strtoul(at + 3, NULL, 10);
	return number < 1000 ? (uint32_t)number : 0;
}

/* If the GPU is older than the text's target, the interpreter gets the text's target. */
static CUresult choose_target(const char *text, uint32_t *ret_target, struct cot_error *err)
{
	uint32_t wanted = target_of(text), here = cot_emu_device_target();

	*ret_target = here;
	if (wanted <= here)
		return CUDA_SUCCESS;
	*ret_target = wanted;
	if (cot_emu_config_quirk("any-ptx"))
		return CUDA_SUCCESS;
	(void)cot_error_set(err, 0,
			    "the PTX is for sm_%u; expected sm_%u or older, or "
			    "COTENANT_EMU_QUIRKS=any-ptx, which takes it all the same",
			    wanted, here);
	return CUDA_ERROR_INVALID_PTX;
}

static CUresult result_of(int rc)
{
	switch (-rc) {
	case 0:
		return CUDA_SUCCESS;
	case ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case ENOTSUP:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_PTX;
	}
}

static const struct cot_emu_function_ops ops = {.execute = cot_emu_grid_execute};

/*
 * The interpreter's number of registers is an estimate. A compiler would keep it so low that the
 * largest block which the function allows fits on an SM.
 */
static uint32_t registers_of(const struct cot_exec_function_info *info)
{
	uint32_t most = cot_exec_sm_limits(cot_emu_device_target()).registers / info->max_threads;

	most -= most % 8;
	return info->n_registers < most ? info->n_registers : most;
}

/* The parameters of all functions, in one block behind the functions' own array. */
static bool describe(struct cot_emu_module *m, const struct cot_exec_module *x, uint32_t target)
{
	uint32_t n = cot_exec_module_n_functions(x), i, k, total = 0;
	struct cot_emu_param *params;

	for (i = 0; i < n; i++)
		total += cot_exec_function_info(cot_exec_module_function(x, i))->n_params;
	m->functions = calloc(1, n * sizeof(*m->functions) + total * sizeof(*params) + 1);
	if (!m->functions)
		return false;
	params = (struct cot_emu_param *)(m->functions + n);
	for (i = 0; i < n; i++) {
		const struct cot_exec_function *f = cot_exec_module_function(x, i);
		const struct cot_exec_function_info *info = cot_exec_function_info(f);
		struct cot_emu_function *to = &m->functions[i];

		to->tag = COT_EMU_FUNCTION_TAG;
		to->name = info->name;
		to->ops = &ops;
		to->params = params;
		to->n_params = info->n_params;
		to->args_size = info->args_size;
		to->target = target;
		to->max_threads = info->max_threads;
		to->n_registers = registers_of(info);
		to->shared_bytes = info->shared_bytes;
		to->local_bytes = info->local_bytes;
		memcpy(to->required_block, info->required_block, sizeof(to->required_block));
		to->uses_clusters = info->uses_clusters;
		to->module = m;
		to->code = f;
		for (k = 0; k < info->n_params; k++, params++)
			*params = (struct cot_emu_param){info->params[k].offset,
							 info->params[k].size};
	}
	m->n_functions = n;
	return true;
}

/* Variables are memory that copies may name. */
static int enter_variables(struct cot_emu_context *c, const struct cot_exec_module *x)
{
	struct cot_exec_variable v;
	uint32_t i;
	int rc = 0;

	for (i = 0; !rc && i < cot_exec_module_n_variables(x); i++) {
		struct cot_emu_range r = {
			.kind = COT_EMU_RANGE_VARIABLE, .context = c, .device = c->device};

		rc = cot_exec_module_variable(x, i, &v);
		r.start = v.address;
		r.bytes = v.bytes;
		if (!rc && v.bytes)
			rc = cot_emu_range_add(&r);
	}
	return rc;
}

static void forget_variables(const struct cot_exec_module *x)
{
	struct cot_exec_variable v;
	struct cot_emu_range r;
	uint32_t i;

	for (i = 0; i < cot_exec_module_n_variables(x); i++)
		if (!cot_exec_module_variable(x, i, &v))
			(void)cot_emu_range_remove(v.address, COT_EMU_RANGE_VARIABLE, &r);
}

static void unload(struct cot_emu_module *m)
{
	forget_variables(m->owned);
	cot_exec_module_unload(m->owned);
}

static CUresult load(const struct cot_emu_code *code, struct cot_emu_module *m,
		     struct cot_error *err)
{
	struct cot_exec_ranges *memory = cot_emu_range_memory();
	struct cot_exec_module *x;
	uint32_t target;
	CUresult result = choose_target(code->text, &target, err);
	int rc;

	if (result)
		return result;
	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = cot_exec_module_load(memory, code->text, code->length, NULL, target, &x, err);
	if (rc)
		return result_of(rc);
	rc = enter_variables(m->context, x);
	if (!rc && !describe(m, x, target_of(code->text)))
		rc = -ENOMEM;
	if (rc) {
		forget_variables(x);
		cot_exec_module_unload(x);
		return result_of(rc);
	}
	m->owned = x;
	return CUDA_SUCCESS;
}

static bool find_global(struct cot_emu_module *m, const char *name,
			struct cot_emu_global *ret_global)
{
	struct cot_exec_variable v;

	if (cot_exec_module_find_variable(m->owned, name, &v))
		return false;
	*ret_global = (struct cot_emu_global){.address = v.address, .bytes = v.bytes};
	return true;
}

const struct cot_emu_loader cot_emu_ptx_loader = {
	.name = "PTX",
	.accepts = accepts,
	.load = load,
	.unload = unload,
	.global = find_global,
};
