#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model.h"

#define DIGITS 10

_Static_assert(COT_KERNELS_MAX <= COT_MODEL_SET_MAX, "a file may have more than a set takes");
_Static_assert(COT_KERNELS_COPIES_MAX <= COT_MODEL_COPIES_MAX, "more copies than a plan takes");
_Static_assert(COT_KERNELS_LAYOUT_MAX <= COT_MODEL_SMS_MAX, "more entries than a layout takes");

static void set_gpu(const struct cot_kernels_gpu *from, struct cot_model_gpu *to)
{
	*to = (struct cot_model_gpu){
		.n_sms = from->sms,
		.threads_per_sm = from->threads_per_sm,
		.blocks_per_sm = from->blocks_per_sm,
		.regs_per_sm = from->regs_per_sm,
		.shmem_per_sm = from->shmem_per_sm,
		.clock_ghz = from->clock_mhz / 1e3,
		.dram_gbps = from->dram_gbps,
		.mem_latency = from->mem_latency,
		.uncoal_delay = from->uncoalesced_delay,
		.coal_delay = from->coalesced_delay,
		.issue = from->issue,
		.pcie_gbps = from->pcie_gbps,
		.memory_bytes = from->memory_bytes,
	};
}

static void set_kernel(const struct cot_kernels_entry *from, struct cot_model_kernel *to)
{
	*to = (struct cot_model_kernel){
		.n_blocks = from->blocks,
		.threads_per_block = from->threads_per_block,
		.regs_per_block = from->regs_per_block,
		.shmem_per_block = from->shmem_per_block,
		.comp = from->comp,
		.uncoal = from->uncoalesced,
		.coal = from->coalesced,
		.syncs = from->syncs,
		.transactions = from->transactions,
		.load_bytes = from->load_bytes,
		.transfer_bytes = from->h2d_bytes + from->d2h_bytes,
		.memory_bytes = from->memory_bytes,
		.cpu_s = from->cpu_s,
		.cpu_w = from->cpu_w,
	};
}

void cot_model_input_init(struct cot_model_input *in)
{
	const struct cot_kernels_power *power = &in->file.power;
	uint32_t i;

	set_gpu(&in->file.gpu, &in->machine.gpu);
	in->machine.power = (struct cot_model_power){
		.idle_w = power->idle_w,
		.memory_w = power->memory_w,
		.instruction_w = power->instruction_w,
		.lambda_w = power->lambda_w,
		.thermal_gain = power->thermal_gain,
		.tau_s = power->thermal_tau_s,
	};
	for (i = 0; i < in->file.n; i++) {
		set_kernel(&in->file.kernels[i], &in->kernels[i]);
		in->pending[i] = in->file.kernels[i].count;
	}
}

json_t *cot_model_number(double x)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.*g", DIGITS, x);
	return json_real(strtod(text, NULL));
}

int cot_model_write_json(json_t *object, FILE *out, struct cot_error *err)
{
	int rc;

	if (!object)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
	json_decref(object);
	if (rc)
		return cot_error_set(err, -EIO, "cannot write the JSON");
	(void)fputc('\n', out);
	return 0;
}

const char *cot_model_set_name(const struct cot_kernels *file, const uint32_t *copies, char *buf,
			       size_t size)
{
	size_t n = 0;
	uint32_t i;

	buf[0] = '\0';
	for (i = 0; i < file->n && n < size; i++) {
		if (!copies[i])
			continue;
		if (n)
			n += (size_t)snprintf(buf + n, size - n, " + ");
		if (n < size && copies[i] > 1)
			n += (size_t)snprintf(buf + n, size - n, "%u ", copies[i]);
		if (n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s", file->kernels[i].name);
	}
	return buf;
}
