#include "model/mwp.h"

#include <errno.h>
#include <string.h>

/* Reals that are equal but for rounding: MWP and CWP are often cut off at the same N. */
#define SAME 1e-9

static double min(double a, double b)
{
	return a < b ? a : b;
}

static double max(double a, double b)
{
	return a > b ? a : b;
}

static bool at_least(double a, double b)
{
	return a >= b - SAME * b;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t div_up(uint32_t a, uint32_t b)
{
	return a / b + (a % b ? 1 : 0);
}

void cot_model_warp_of(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k,
		       struct cot_model_warp *ret)
{
	double uncoal_latency = gpu->mem_latency + (k->transactions - 1) * gpu->uncoal_delay;

	memset(ret, 0, sizeof(*ret));
	ret->n_mem = k->uncoal + k->coal;
	ret->comp_cycles = gpu->issue * (k->comp + ret->n_mem);
	ret->mem_cycles = uncoal_latency * k->uncoal + gpu->mem_latency * k->coal;
	ret->syncs = k->syncs;
	if (ret->n_mem <= 0)
		return;
	ret->mem_latency = ret->mem_cycles / ret->n_mem;
	ret->departure =
		(gpu->uncoal_delay * k->transactions * k->uncoal + gpu->coal_delay * k->coal) /
		ret->n_mem;
	ret->bw_gbps = gpu->clock_ghz * k->load_bytes / ret->mem_latency;
}

uint32_t cot_model_warps_per_block(const struct cot_model_kernel *k)
{
	return div_up(k->threads_per_block, COT_MODEL_WARP);
}

uint32_t cot_model_occupancy(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k)
{
	uint32_t n = min_u32(gpu->blocks_per_sm, COT_MODEL_SLOTS_MAX);

	if (k->threads_per_block)
		n = min_u32(n, gpu->threads_per_sm / k->threads_per_block);
	if (k->regs_per_block)
		n = min_u32(n, gpu->regs_per_sm / k->regs_per_block);
	if (k->shmem_per_block)
		n = min_u32(n, gpu->shmem_per_sm / k->shmem_per_block);
	return n;
}

void cot_model_mix_of(const struct cot_model_warp *warps, const uint32_t *warps_per_block,
		      const double *n_blocks, uint32_t n, struct cot_model_mix *ret)
{
	struct cot_model_mix mix = {0};
	struct cot_model_warp *mean = &mix.mean;
	double w, accesses;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!(n_blocks[i] > 0))
			continue;
		w = n_blocks[i] * warps_per_block[i];
		accesses = w * warps[i].n_mem;
		mix.n_blocks += n_blocks[i];
		mix.n_warps += w;
		mean->n_mem += accesses;
		mean->comp_cycles += w * warps[i].comp_cycles;
		mean->mem_cycles += w * warps[i].mem_cycles;
		mean->mem_latency += accesses * warps[i].mem_latency;
		mean->departure += accesses * warps[i].departure;
		mean->bw_gbps += w * warps[i].bw_gbps;
		mean->syncs += w * warps[i].syncs;
	}
	if (mean->n_mem > 0) {
		mean->mem_latency /= mean->n_mem;
		mean->departure /= mean->n_mem;
	}
	if (mix.n_warps > 0) {
		mean->n_mem /= mix.n_warps;
		mean->comp_cycles /= mix.n_warps;
		mean->mem_cycles /= mix.n_warps;
		mean->bw_gbps /= mix.n_warps;
		mean->syncs /= mix.n_warps;
	}
	*ret = mix;
}

double cot_model_mwp_peak(const struct cot_model_gpu *gpu, double sum_gbps)
{
	return sum_gbps > 0 ? gpu->dram_gbps / sum_gbps : COT_MODEL_NO_PEAK;
}

/* Without delay between accesses the SM can have one of each warp under way. */
static double mwp_of(const struct cot_model_mix *mix, double mwp_peak)
{
	double mwp = mix->n_warps;

	if (mix->mean.departure > 0)
		mwp = min(mwp, mix->mean.mem_latency / mix->mean.departure);
	return max(1, min(mwp, mwp_peak));
}

void cot_model_sm_time(const struct cot_model_mix *mix, double mwp_peak,
		       struct cot_model_sm_time *ret)
{
	const struct cot_model_warp *w = &mix->mean;
	double n = mix->n_warps, per_access, memory_bound, issue_bound;

	memset(ret, 0, sizeof(*ret));
	if (w->n_mem <= 0) {
		ret->mwp = ret->cwp = 1;
		ret->cycles = w->comp_cycles * n;
		return;
	}
	per_access = w->comp_cycles / w->n_mem;
	ret->mwp = mwp_of(mix, mwp_peak);
	ret->cwp = min((w->mem_cycles + w->comp_cycles) / w->comp_cycles, n);
	memory_bound = w->mem_cycles * n / ret->mwp + per_access * (ret->mwp - 1);
	issue_bound = w->mem_latency + w->comp_cycles * n;
	if (at_least(ret->mwp, n) && at_least(ret->cwp, n)) {
		ret->equation = 4;
		ret->cycles = w->mem_cycles + w->comp_cycles + per_access * (ret->mwp - 1);
	} else if ((at_least(ret->cwp, ret->mwp) || w->comp_cycles > w->mem_cycles) &&
		   memory_bound >= w->comp_cycles * n) {
		/* Printed without the last condition. With much computation (5) then falls below
		 * the time that it takes to issue the instructions of all warps. */
		ret->equation = 5;
		ret->cycles = memory_bound;
	} else {
		ret->equation = 6;
		ret->cycles = issue_bound;
	}
	ret->sync_cycles = w->departure * (ret->mwp - 1) * w->syncs * mix->n_blocks;
}

/* Where the blocks of a kernel go that has the GPU, or SMs of it, to itself. */
static int spread(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k,
		  struct cot_model_time *t)
{
	uint32_t most = cot_model_occupancy(gpu, k);

	if (!most)
		return -EINVAL;
	memset(t, 0, sizeof(*t));
	t->active_sms = min_u32(k->n_blocks, gpu->n_sms);
	t->blocks_per_sm = min_u32(most, div_up(k->n_blocks, gpu->n_sms));
	t->n_warps = (double)t->blocks_per_sm * cot_model_warps_per_block(k);
	/* The paper divides reals. A block runs whole, so the last round counts in full. */
	t->n_rep = (double)div_up(div_up(k->n_blocks, t->blocks_per_sm), t->active_sms);
	t->transfer_s = cot_model_transfer_s(gpu, k);
	return 0;
}

static void time_of(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k,
		    const struct cot_model_warp *warp, double mwp_peak, struct cot_model_time *t)
{
	uint32_t warps = cot_model_warps_per_block(k);
	double blocks = t->blocks_per_sm;
	struct cot_model_mix mix;

	cot_model_mix_of(warp, &warps, &blocks, 1, &mix);
	cot_model_sm_time(&mix, mwp_peak, &t->sm);
	t->mwp_peak = mwp_peak;
	t->cycles = (t->sm.cycles + t->sm.sync_cycles) * t->n_rep;
	t->seconds = t->cycles / (gpu->clock_ghz * 1e9);
}

int cot_model_time_alone(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k,
			 struct cot_model_time *ret)
{
	struct cot_model_warp warp;
	int rc = spread(gpu, k, ret);

	if (rc)
		return rc;
	cot_model_warp_of(gpu, k, &warp);
	time_of(gpu, k, &warp, cot_model_mwp_peak(gpu, warp.bw_gbps * ret->active_sms), ret);
	return 0;
}

int cot_model_time_beside(const struct cot_model_gpu *gpu, const struct cot_model_kernel *kernels,
			  uint32_t n, struct cot_model_time *ret)
{
	struct cot_model_warp warps[COT_MODEL_SET_MAX];
	double sum = 0, peak;
	uint32_t i, sms = 0;
	int rc;

	if (!n || n > COT_MODEL_SET_MAX)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		rc = spread(gpu, &kernels[i], &ret[i]);
		if (rc)
			return rc;
		if (ret[i].active_sms > gpu->n_sms - sms)
			return -ENOSPC;
		sms += ret[i].active_sms;
		cot_model_warp_of(gpu, &kernels[i], &warps[i]);
		sum += warps[i].bw_gbps * ret[i].active_sms;
	}
	peak = cot_model_mwp_peak(gpu, sum);
	for (i = 0; i < n; i++)
		time_of(gpu, &kernels[i], &warps[i], peak, &ret[i]);
	return 0;
}

double cot_model_transfer_s(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k)
{
	return k->transfer_bytes / (gpu->pcie_gbps * 1e9);
}
