/*
 * What a context allocates: a client, its device and subdevice, a compute group with its channels
 * and three copy groups. In this order, with the classes, and with the default slices that were
 * read on an H200: 2048 us for the compute group, set by the driver after the allocation, and the
 * resource manager's own 1024 us for the others.
 */
#include <string.h>

#include "cuda/abi/rm.h"
#include "emu/driver/inside.h"

#define DRIVER_SLICE_US 2048u

static bool alloc(struct cot_emu_context *c, uint32_t parent, uint32_t *handle, uint32_t class_,
		  void *params, uint32_t params_size)
{
	*handle = 0;
	return cot_emu_node_alloc(c->rm_client, parent, handle, class_, params, params_size) ==
	       COT_NV_OK;
}

static bool control(struct cot_emu_context *c, uint32_t object, uint32_t cmd, void *params,
		    uint32_t size)
{
	return cot_emu_node_control(c->rm_client, object, cmd, params, size) == COT_NV_OK;
}

static bool schedule(struct cot_emu_context *c, uint32_t group)
{
	struct cot_nv_schedule s = {.enable = 1};

	return control(c, group, COT_NV_GROUP_SCHEDULE, &s, sizeof(s));
}

struct cot_emu_channel_id cot_emu_channel_of_token(uint32_t token)
{
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	struct cot_emu_channel_id id = {0, 0};

	if (m) {
		id = cot_emu_model_token_channel(m, token);
		cot_emu_gpu_commit(gpu, false);
	}
	return id;
}

static bool make_channel(struct cot_emu_context *c, struct cot_emu_channel_id *ret_channel)
{
	uint32_t channel, engine, token = 0;

	if (!alloc(c, c->rm_group, &channel, COT_NV_CLASS_HOPPER_CHANNEL, NULL, 0) ||
	    !alloc(c, channel, &engine, COT_NV_CLASS_HOPPER_COMPUTE, NULL, 0) ||
	    !control(c, channel, COT_NV_CHANNEL_GET_TOKEN, &token, sizeof(token)))
		return false;
	*ret_channel = cot_emu_channel_of_token(token);
	return ret_channel->serial != 0;
}

static bool make_compute(struct cot_emu_context *c)
{
	struct cot_nv_group_params p = {.engine_type = COT_NV_ENGINE_GRAPHICS_0};
	uint64_t slice_us = DRIVER_SLICE_US;
	uint32_t share, i;

	if (!alloc(c, c->rm_device, &c->rm_group, COT_NV_CLASS_GROUP, &p, sizeof(p)) ||
	    !alloc(c, c->rm_group, &share, COT_NV_CLASS_CONTEXT_SHARE, NULL, 0))
		return false;
	for (i = 0; i < c->n_channels; i++)
		if (!make_channel(c, &c->channels[i]))
			return false;
	/* The driver's own slice comes after the allocation, and overwrites an earlier one. */
	control(c, c->rm_group, COT_NV_GROUP_SET_SLICE, &slice_us, sizeof(slice_us));
	return schedule(c, c->rm_group);
}

static bool make_copy(struct cot_emu_context *c, uint32_t engine)
{
	struct cot_nv_group_params p = {.engine_type = COT_NV_ENGINE_COPY_0 + engine};
	uint32_t group, channel, copy;

	return alloc(c, c->rm_device, &group, COT_NV_CLASS_GROUP, &p, sizeof(p)) &&
	       alloc(c, group, &channel, COT_NV_CLASS_HOPPER_CHANNEL, NULL, 0) &&
	       alloc(c, channel, &copy, COT_NV_CLASS_HOPPER_COPY, NULL, 0) && schedule(c, group);
}

CUresult cot_emu_hardware_create(struct cot_emu_context *c)
{
	struct cot_nv_device_params p = {.device_id = (uint32_t)cot_emu_visible(c->device)};
	uint32_t i;

	if (cot_emu_node_alloc(0, 0, &c->rm_client, COT_NV_CLASS_ROOT_CLIENT, NULL, 0) != COT_NV_OK)
		return CUDA_ERROR_UNKNOWN;
	if (!alloc(c, c->rm_client, &c->rm_device, COT_NV_CLASS_DEVICE, &p, sizeof(p)) ||
	    !alloc(c, c->rm_device, &c->rm_subdevice, COT_NV_CLASS_SUBDEVICE, NULL, 0))
		goto err_client;
	/* A client of an MPS server runs in the server's group and has none of its own. */
	if (c->pool >= 0)
		return CUDA_SUCCESS;
	if (!make_compute(c))
		goto err_client;
	for (i = 0; i < COT_EMU_COPY_GROUPS; i++)
		if (!make_copy(c, i))
			goto err_client;
	return CUDA_SUCCESS;
err_client:
	cot_emu_hardware_destroy(c);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void cot_emu_hardware_destroy(struct cot_emu_context *c)
{
	if (c->rm_client)
		cot_emu_node_free(c->rm_client, 0, c->rm_client);
	c->rm_client = 0;
}
