/* Modules, functions and launches. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/driver.h"
#include "emu/driver/function.h"

static const struct cot_emu_loader *const loaders[] = {
	&cot_emu_builtin_loader,
};

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	struct cot_emu_context *c;
	struct cot_emu_module *m;
	CUresult result = cot_emu_current(&c);
	size_t i = 0;

	if (result)
		return result;
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	while (i < COT_ARRAY_LEN(loaders) && !loaders[i]->accepts(image))
		i++;
	if (i == COT_ARRAY_LEN(loaders))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->loader = loaders[i];
	m->context = c;
	result = m->loader->load(image, m);
	if (result) {
		free(m);
		return result;
	}
	pthread_mutex_lock(&c->lock);
	m->next = c->modules;
	c->modules = m;
	pthread_mutex_unlock(&c->lock);
	*module = (CUmodule)m;
	return CUDA_SUCCESS;
}

static void free_module(struct cot_emu_module *m)
{
	if (m->loader->unload)
		m->loader->unload(m);
	free(m);
}

void cot_emu_modules_free(struct cot_emu_context *c)
{
	struct cot_emu_module *m;

	while ((m = c->modules)) {
		c->modules = m->next;
		free_module(m);
	}
}

CUresult cuModuleUnload(CUmodule module)
{
	struct cot_emu_module *m = (struct cot_emu_module *)module, **at;
	CUresult result = cuCtxSynchronize();

	if (result)
		return result;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&m->context->lock);
	for (at = &m->context->modules; *at && *at != m; at = &(*at)->next)
		;
	if (*at)
		*at = m->next;
	pthread_mutex_unlock(&m->context->lock);
	free_module(m);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	const struct cot_emu_module *m = (const struct cot_emu_module *)module;
	CUresult result = cot_emu_ready();
	uint32_t i;

	if (result)
		return result;
	if (!function || !m || !name)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < m->n_functions; i++)
		if (!strcmp(m->functions[i].name, name)) {
			/* Functions are never written to; the handle's type has no const. */
			*function = (CUfunction)(uintptr_t)&m->functions[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

/* The packed arguments, from an array of pointers or from a buffer; owned by the caller. */
static CUresult pack_args(const struct cot_emu_function *f, void **params, void **extra,
			  unsigned char **ret_args)
{
	const void *buffer = NULL;
	size_t size = 0, i;
	unsigned char *args;

	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(const size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (f->args_size > COT_EMU_MAX_ARGS_SIZE)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (f->n_params && !params && (!buffer || size < f->args_size))
		return CUDA_ERROR_INVALID_VALUE;
	args = calloc(1, f->args_size ? f->args_size : 1);
	if (!args)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (buffer && !params)
		memcpy(args, buffer, f->args_size);
	for (i = 0; params && i < f->n_params; i++)
		memcpy(args + f->params[i].offset, params[i], f->params[i].size);
	*ret_args = args;
	return CUDA_SUCCESS;
}

static bool shape_valid(const struct cot_emu_launch *l)
{
	uint64_t threads = (uint64_t)l->block[0] * l->block[1];

	return l->grid[0] && l->grid[1] && l->grid[2] && l->grid[0] <= INT32_MAX &&
	       l->grid[1] <= 65535 && l->grid[2] <= 65535 && l->block[0] && l->block[1] &&
	       l->block[2] && l->block[0] <= COT_EMU_MAX_THREADS &&
	       l->block[1] <= COT_EMU_MAX_THREADS && l->block[2] <= 64 &&
	       threads * l->block[2] <= COT_EMU_MAX_THREADS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
			CUstream stream, void **params, void **extra)
{
	const struct cot_emu_function *f = (const struct cot_emu_function *)function;
	struct cot_emu_op op = {.kind = COT_EMU_OP_KERNEL};
	struct cot_emu_launch *l = &op.launch;
	struct cot_emu_work work;
	struct CUstream_st *s;
	unsigned char *args;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result)
		return result;
	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	*l = (struct cot_emu_launch){
		.function = f,
		.grid = {grid_x, grid_y, grid_z},
		.block = {block_x, block_y, block_z},
		.shared_bytes = shared_bytes,
		.n_sms = s->context->n_sms,
		.n_sms_gpu = cot_emu_gpu_config(cot_emu_machine())->params.n_sms,
	};
	if (!shape_valid(l))
		return CUDA_ERROR_INVALID_VALUE;
	result = pack_args(f, params, extra, &args);
	if (result)
		return result;
	op.owned = args;
	l->args = args;
	f->ops->cost(l, &work);
	return cot_emu_stream_launch(s, &op, &work);
}
