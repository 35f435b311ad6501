/* cuGetExportTable: what the MPS server and the CUDA runtime ask for. */
#include <string.h>

#include "emu/driver/export.h"
#include "emu/driver/inside.h"

/* ---- for the MPS server ---- */

static CUresult mps_create(CUdevice device, unsigned n_channels, uint32_t *ret_tokens,
			   struct cot_emu_context **ret_context)
{
	CUresult result = cot_emu_context_make(device, n_channels, ret_context);
	unsigned i;

	for (i = 0; !result && i < n_channels; i++)
		ret_tokens[i] = cot_emu_channel_token((*ret_context)->channels[i]);
	return result;
}

static bool mps_faulted(struct cot_emu_context *c)
{
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	const struct cot_emu_group *g;
	bool faulted;

	if (!m)
		return true;
	g = cot_emu_model_group(m, cot_emu_model_group_of(m, c->channels[0]));
	faulted = !g || g->faulted;
	cot_emu_gpu_commit(gpu, false);
	return faulted;
}

static void mps_bury(void)
{
	cot_emu_gpu_bury(cot_emu_machine());
}

static const struct cot_emu_export_mps export_mps = {
	.size = sizeof(export_mps),
	.create = mps_create,
	.destroy = cot_emu_context_free,
	.faulted = mps_faulted,
	.bury = mps_bury,
};

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	static const CUuuid mps_id = COT_EMU_EXPORT_MPS_ID;

	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (memcmp(id, &mps_id, sizeof(mps_id)) != 0)
		return cot_emu_runtime_table(table, id);
	*table = &export_mps;
	return CUDA_SUCCESS;
}
