#include "emu/driver/launch.h"

#include <stdlib.h>
#include <string.h>

#include "emu/driver/function.h"
#include "emu/driver/green.h"
#include "emu/driver/inside.h"

/* Blocks that a cluster may have on every GPU; more only where the program asks for it. */
#define PORTABLE_CLUSTER 8u

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

/* What the function itself asks of a launch. */
static CUresult check_fit(const struct cot_emu_launch *l)
{
	const struct cot_emu_function *f = l->function;
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];

	if (threads > f->max_threads)
		return CUDA_ERROR_INVALID_VALUE;
	if (f->required_block[0] && memcmp(f->required_block, l->block, sizeof(l->block)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->shared_bytes > cot_emu_dynamic_shared(f))
		return CUDA_ERROR_INVALID_VALUE;
	return f->ops->execute && !cot_emu_occupancy(f, threads, l->shared_bytes)
		       ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
		       : CUDA_SUCCESS;
}

/* All blocks of a cooperative launch have to be there at once. */
static CUresult check_cooperative(const struct cot_emu_launch *l)
{
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];

	if (!l->function->ops->execute ||
	    !cot_emu_device_attribute(95)) /* CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH */
		return CUDA_ERROR_NOT_SUPPORTED;
	if (blocks > (uint64_t)l->n_sms * cot_emu_occupancy(l->function, threads, l->shared_bytes))
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

/* Blocks run as if each were a cluster of its own, which most kernels cannot tell. */
static CUresult check_cluster(const struct cot_emu_launch *l, struct cot_emu_place place)
{
	const struct cot_emu_function *f = l->function;
	uint64_t n = 1;
	unsigned i;

	for (i = 0; i < 3; i++) {
		if (l->cluster[i] && l->grid[i] % l->cluster[i])
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
		n *= l->cluster[i] ? l->cluster[i] : 1;
	}
	if (n == 1)
		return CUDA_SUCCESS;
	if (!cot_emu_device_attribute(120)) /* CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH */
		return CUDA_ERROR_NOT_SUPPORTED;
	if (n > PORTABLE_CLUSTER && !atomic_load(&f->non_portable_cluster))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (n > (place.green ? place.green->part.cluster : cot_emu_resource_cluster()))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	return f->uses_clusters ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult read_attribute(const CUlaunchAttribute *a, struct cot_emu_wishes *w)
{
	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		w->cooperative = a->value.cooperative != 0;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		w->cluster[0] = a->value.clusterDim.x;
		w->cluster[1] = a->value.clusterDim.y;
		w->cluster[2] = a->value.clusterDim.z;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		w->after = a->value.programmaticEvent.event;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		w->after = a->value.launchCompletionEvent.event;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return CUDA_ERROR_NOT_SUPPORTED;
	default: /* hints, which may be ignored */
		return (unsigned)a->id <= 64 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cot_emu_wishes_read(const CUlaunchConfig *config, struct cot_emu_wishes *w)
{
	CUresult result = CUDA_SUCCESS;
	unsigned i;

	if (config->numAttrs && !config->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; !result && i < config->numAttrs; i++)
		result = read_attribute(&config->attrs[i], w);
	return result;
}

CUresult cot_emu_task_launch(struct cot_emu_place place, const CUlaunchConfig *config,
			     CUfunction function, void **params, void **extra,
			     const struct cot_emu_wishes *w, struct cot_emu_task *ret_task)
{
	struct cot_emu_task t = {.kind = COT_EMU_TASK_LAUNCH};
	struct cot_emu_launch *l = &t.launch;
	struct cot_emu_function *f;
	CUresult result = cot_emu_function_get(function, place.context, &f);
	unsigned char *args;

	if (result)
		return result;
	*l = (struct cot_emu_launch){
		.function = f,
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.cluster = {w->cluster[0], w->cluster[1], w->cluster[2]},
		.shared_bytes = config->sharedMemBytes,
		.n_sms = cot_emu_n_sms(),
		.n_sms_all = cot_emu_gpu_config(cot_emu_machine())->params.n_sms,
		.cooperative = w->cooperative,
		.context = cot_emu_place_handle(place),
	};
	if (place.green) {
		l->n_sms = l->n_sms_all = place.green->part.n_sms;
		l->sms = place.green->part.sms;
	}
	if (!shape_valid(l))
		return CUDA_ERROR_INVALID_VALUE;
	result = check_fit(l);
	if (!result)
		result = check_cluster(l, place);
	if (!result && w->cooperative)
		result = check_cooperative(l);
	if (!result)
		result = pack_args(f, params, extra, &args);
	if (result)
		return result;
	t.owned = args;
	t.owned_bytes = f->args_size ? f->args_size : 1;
	l->args = args;
	*ret_task = t;
	return CUDA_SUCCESS;
}
