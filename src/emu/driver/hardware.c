/*
 * What a context allocates: a client, its device and subdevice, a compute group with its channels
 * and three copy groups. In this order, with the classes, and with the default slices that were
 * read on an H200: 2048 us for the compute group, set by the driver after the allocation, and the
 * resource manager's own 1024 us for the others.
 */
#include <string.h>

#include "emu/driver/driver.h"
#include "emu/rm/abi.h"

#define DRIVER_SLICE_US 2048u

static bool alloc(struct cot_emu_context *c, uint32_t parent, uint32_t *handle, uint32_t class_id,
		  void *params, uint32_t params_size)
{
	*handle = 0;
	return cot_emu_node_alloc(c->rm_client, parent, handle, class_id, params, params_size) ==
	       NV_OK;
}

static bool control(struct cot_emu_context *c, uint32_t object, uint32_t cmd, void *params,
		    uint32_t size)
{
	return cot_emu_node_control(c->rm_client, object, cmd, params, size) == NV_OK;
}

static bool schedule(struct cot_emu_context *c, uint32_t group)
{
	struct cot_rm_schedule s = {.enable = 1};

	return control(c, group, NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, &s, sizeof(s));
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

	if (!alloc(c, c->rm_group, &channel, HOPPER_CHANNEL_GPFIFO_A, NULL, 0) ||
	    !alloc(c, channel, &engine, HOPPER_COMPUTE_A, NULL, 0) ||
	    !control(c, channel, NVC36F_CTRL_CMD_GET_WORK_SUBMIT_TOKEN, &token, sizeof(token)))
		return false;
	*ret_channel = cot_emu_channel_of_token(token);
	return ret_channel->serial != 0;
}

static bool make_compute(struct cot_emu_context *c)
{
	struct cot_rm_group_params p = {.engine_type = NV2080_ENGINE_TYPE_GR0};
	uint64_t slice_us = DRIVER_SLICE_US;
	uint32_t share, i;

	if (!alloc(c, c->rm_device, &c->rm_group, KEPLER_CHANNEL_GROUP_A, &p, sizeof(p)) ||
	    !alloc(c, c->rm_group, &share, FERMI_CONTEXT_SHARE_A, NULL, 0))
		return false;
	for (i = 0; i < c->n_channels; i++)
		if (!make_channel(c, &c->channels[i]))
			return false;
	/* The driver's own slice comes after the allocation, and overwrites an earlier one. */
	control(c, c->rm_group, NVA06C_CTRL_CMD_SET_TIMESLICE, &slice_us, sizeof(slice_us));
	return schedule(c, c->rm_group);
}

static bool make_copy(struct cot_emu_context *c, uint32_t engine)
{
	struct cot_rm_group_params p = {.engine_type = NV2080_ENGINE_TYPE_COPY0 + engine};
	uint32_t group, channel, copy;

	return alloc(c, c->rm_device, &group, KEPLER_CHANNEL_GROUP_A, &p, sizeof(p)) &&
	       alloc(c, group, &channel, HOPPER_CHANNEL_GPFIFO_A, NULL, 0) &&
	       alloc(c, channel, &copy, HOPPER_DMA_COPY_A, NULL, 0) && schedule(c, group);
}

CUresult cot_emu_hardware_create(struct cot_emu_context *c)
{
	struct cot_rm_device_params p = {.device_id = (uint32_t)cot_emu_visible(c->device)};
	uint32_t i;

	if (cot_emu_node_alloc(0, 0, &c->rm_client, NV01_ROOT_CLIENT, NULL, 0) != NV_OK)
		return CUDA_ERROR_UNKNOWN;
	if (!alloc(c, c->rm_client, &c->rm_device, NV01_DEVICE_0, &p, sizeof(p)) ||
	    !alloc(c, c->rm_device, &c->rm_subdevice, NV20_SUBDEVICE_0, NULL, 0))
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
