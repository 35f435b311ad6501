#include "bench/contention/mix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/contention/meter.h"

#define LANES	    32u
#define THREADS_MAX 1024u
#define SMS_MAX	    1024u
#define WARPS_MAX   64u			 /* of an SM */
#define SLACK	    ((uint64_t)64 << 10) /* behind the data */

/* As in kernels.cu. */
struct settings {
	uint64_t data, size, start, open, close;
	uint32_t zero, unused;
};

struct record {
	uint64_t first, open, close, chunks, cycles;
	uint32_t sm, sink;
};

/* ---- setting up ---- */

static int fill(struct cot_mix_runner *r, uint64_t data, struct cot_error *err)
{
	const struct cot_cuda *cuda = r->partitions->cuda;
	uint64_t n = (r->data_bytes + SLACK) / 4;
	CUfunction function;
	void *args[] = {&data, &n};
	int rc;

	rc = COT_CUDA_CALL(cuda, err, cuModuleGetFunction, &function, r->module, "fill");
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuLaunchKernel, function, 4 * (unsigned)cuda->n_sms,
				   1, 1, 256, 1, 1, 0, r->partitions->whole.streams[0], args, NULL);
	return rc;
}

static int find_functions(struct cot_mix_runner *r, struct cot_error *err)
{
	const struct cot_cuda *cuda = r->partitions->cuda;
	unsigned i;
	int rc;

	rc = COT_CUDA_CALL(cuda, err, cuModuleGetFunction, &r->what_time, r->module, "what_time");
	for (i = 0; i < cot_n_families && !rc; i++)
		rc = cot_cuda_check(cuda,
				    cuda->api.cuModuleGetFunction(&r->functions[i], r->module,
								  cot_families[i].entry),
				    cot_families[i].entry, err);
	return rc;
}

/* The GPU's time; the other words say how good its clock is. */
static int ask_time(struct cot_mix_runner *r, uint64_t ret_words[3], struct cot_error *err)
{
	const struct cot_cuda *cuda = r->partitions->cuda;
	CUstream stream = r->partitions->whole.streams[0];
	void *args[] = {&r->time};
	int rc;

	rc = COT_CUDA_CALL(cuda, err, cuLaunchKernel, r->what_time, 1, 1, 1, 1, 1, 1, 0, stream,
			   args, NULL);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(stream), "asking the time",
				    err);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuMemcpyDtoH_v2, ret_words, r->time,
				   3 * sizeof(ret_words[0]));
	return rc;
}

static int allocate(struct cot_mix_runner *r, struct cot_error *err)
{
	const struct cot_cuda *cuda = r->partitions->cuda;
	uint32_t i;
	int rc;

	r->records_bytes = (size_t)cuda->n_sms * WARPS_MAX * sizeof(struct record);
	r->host = malloc(r->records_bytes);
	if (!r->host)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = COT_CUDA_CALL(cuda, err, cuMemAlloc_v2, &r->time, 64);
	for (i = 0; i < COT_MIX_PARTS && !rc; i++) {
		rc = COT_CUDA_CALL(cuda, err, cuMemAlloc_v2, &r->records[i], r->records_bytes);
		if (!rc)
			rc = COT_CUDA_CALL(cuda, err, cuMemAlloc_v2, &r->data[i],
					   r->data_bytes + SLACK);
		if (!rc)
			rc = fill(r, r->data[i], err);
	}
	return rc;
}

int cot_mix_runner_init(struct cot_mix_runner *r, struct cot_partitions *partitions,
			const char *ptx, uint64_t data_bytes, uint64_t l2_bytes,
			struct cot_error *err)
{
	uint64_t words[3];
	int rc;

	*r = (struct cot_mix_runner){
		.partitions = partitions, .data_bytes = data_bytes, .l2_bytes = l2_bytes};
	rc = cot_partitions_use_primary(partitions, err);
	if (!rc)
		rc = cot_cuda_load(partitions->cuda, ptx, &r->module, err);
	if (!rc)
		rc = find_functions(r, err);
	if (!rc)
		rc = allocate(r, err);
	if (!rc)
		rc = ask_time(r, words, err);
	if (rc) {
		cot_mix_runner_finish(r);
		return rc;
	}
	r->timer_step_ns = words[1];
	r->timer_cycles = (double)words[2] / 1000.0;
	return 0;
}

void cot_mix_runner_finish(struct cot_mix_runner *r)
{
	const struct cot_cuda *cuda;
	struct cot_error ignored;
	uint32_t i;

	if (!r->partitions)
		return;
	cuda = r->partitions->cuda;
	cot_partitions_use_primary(r->partitions, &ignored);
	for (i = 0; i < COT_MIX_PARTS; i++) {
		if (r->data[i])
			cuda->api.cuMemFree_v2(r->data[i]);
		if (r->records[i])
			cuda->api.cuMemFree_v2(r->records[i]);
	}
	if (r->time)
		cuda->api.cuMemFree_v2(r->time);
	if (r->module)
		cuda->api.cuModuleUnload(r->module);
	free(r->host);
	*r = (struct cot_mix_runner){0};
}

/* ---- running ---- */

/* The streams that the parts run on. */
static int find_places(struct cot_mix_runner *r, const struct cot_mix *mix, CUstream *ret_streams,
		       struct cot_error *err)
{
	const struct cot_partition_split *split;
	int rc;

	if ((mix->n == 1 || mix->shared) &&
	    (r->anywhere || mix->parts[0].sms == r->partitions->whole.n_sms)) {
		ret_streams[0] = r->partitions->whole.streams[0];
		ret_streams[1] = r->partitions->whole.streams[1];
		return 0;
	}
	rc = cot_partitions_split(r->partitions,
				  mix->on_rest ? r->partitions->whole.n_sms - mix->parts[0].sms
					       : mix->parts[0].sms,
				  &split, err);
	if (rc)
		return rc;
	if (mix->on_rest && split->rest.n_sms != mix->parts[0].sms)
		return cot_error_set(err, -ENOTSUP, "%u SMs are left of the GPU; expected %u",
				     split->rest.n_sms, mix->parts[0].sms);
	if (mix->n > 1 && !mix->shared && split->rest.n_sms != mix->parts[1].sms)
		return cot_error_set(err, -ENOTSUP, "%u SMs are left of the GPU; expected %u",
				     split->rest.n_sms, mix->parts[1].sms);
	ret_streams[0] = mix->on_rest ? split->rest.streams[0] : split->first.streams[0];
	ret_streams[1] = mix->shared ? split->first.streams[1] : split->rest.streams[0];
	return 0;
}

/* A record that was not written must not look like one of the last run. */
static int forget(struct cot_mix_runner *r, const struct cot_mix *mix, struct cot_error *err)
{
	const struct cot_cuda *cuda = r->partitions->cuda;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < mix->n && !rc; i++)
		rc = COT_CUDA_CALL(cuda, err, cuMemsetD32Async, r->records[i], 0,
				   r->records_bytes / 4, r->partitions->whole.streams[0]);
	return rc;
}

/* Single accesses fill little of the cache before the window opens. */
static uint64_t bytes_of(const struct cot_mix_runner *r, const struct cot_mix_part *part)
{
	if (part->memory != COT_MIX_L2)
		return r->data_bytes;
	return part->family->loads_ahead == 1 ? r->l2_bytes / 64 : r->l2_bytes;
}

static int launch(struct cot_mix_runner *r, const struct cot_mix_part *part, uint32_t i,
		  CUstream stream, struct settings *settings, struct cot_error *err)
{
	const struct cot_cuda *cuda = r->partitions->cuda;
	uint32_t threads = part->warps * LANES, per_sm = 1;
	void *args[] = {settings, &r->records[i]};

	while (threads > THREADS_MAX) {
		threads /= 2;
		per_sm *= 2;
	}
	settings->data = r->data[i];
	settings->size = bytes_of(r, part);
	return COT_CUDA_CALL(cuda, err, cuLaunchKernel, r->functions[part->family - cot_families],
			     per_sm * part->sms, 1, 1, threads, 1, 1, 0, stream, args, NULL);
}

static void count(const struct record *records, uint32_t n, uint64_t open,
		  struct cot_mix_result *ret)
{
	double rates[SMS_MAX] = {0}, rate, mhz = 0.0;
	uint32_t warps[SMS_MAX] = {0}, i;

	*ret = (struct cot_mix_result){.n_warps = n};
	for (i = 0; i < n; i++) {
		const struct record *w = &records[i];
		double ns = (double)(w->close - w->open);

		if (!w->first || w->first > open) {
			ret->n_late++;
			continue;
		}
		warps[w->sm % SMS_MAX]++;
		if (!w->open || w->close <= w->open) {
			ret->n_starved++;
			continue;
		}
		rate = (double)w->chunks / ns * 1e9;
		mhz += (double)w->cycles / ns * 1e3;
		ret->chunks_per_s += rate;
		if (w->cycles)
			ret->chunks_per_cycle += (double)w->chunks / (double)w->cycles;
		rates[w->sm % SMS_MAX] += rate;
	}
	if (n > ret->n_late + ret->n_starved)
		ret->mhz = mhz / (n - ret->n_late - ret->n_starved);
	for (i = 0; i < SMS_MAX; i++) {
		if (!warps[i])
			continue;
		if (!ret->n_sms || warps[i] < ret->warps_least)
			ret->warps_least = warps[i];
		if (!ret->n_sms || rates[i] < ret->sm_least)
			ret->sm_least = rates[i];
		if (warps[i] > ret->warps_most)
			ret->warps_most = warps[i];
		if (rates[i] > ret->sm_most)
			ret->sm_most = rates[i];
		ret->n_sms++;
	}
}

static int collect(struct cot_mix_runner *r, const struct cot_mix *mix, uint64_t open,
		   struct cot_mix_result *ret_results, struct cot_error *err)
{
	const struct cot_cuda *cuda = r->partitions->cuda;
	uint32_t i, n;
	int rc = 0;

	for (i = 0; i < mix->n && !rc; i++) {
		n = mix->parts[i].warps * mix->parts[i].sms;
		rc = COT_CUDA_CALL(cuda, err, cuMemcpyDtoH_v2, r->host, r->records[i],
				   (size_t)n * sizeof(struct record));
		if (!rc)
			count(r->host, n, open, &ret_results[i]);
	}
	return rc;
}

int cot_mix_run(struct cot_mix_runner *r, const struct cot_mix *mix,
		const struct cot_mix_times *times, cot_mix_during during, void *arg,
		struct cot_mix_result *ret_results, struct cot_error *err)
{
	const struct cot_cuda *cuda = r->partitions->cuda;
	CUstream streams[COT_MIX_PARTS];
	struct settings settings = {0};
	uint64_t words[3];
	double asked_s;
	uint32_t i;
	int rc, waited;

	rc = find_places(r, mix, streams, err);
	if (!rc)
		rc = forget(r, mix, err);
	if (!rc)
		rc = ask_time(r, words, err);
	if (rc)
		return rc;
	asked_s = cot_meter_now_s();
	settings.start = words[0] + times->lead_ns;
	settings.open = settings.start + times->settle_ns;
	settings.close = settings.open + times->window_ns;
	for (i = 0; i < mix->n && !rc; i++)
		rc = launch(r, &mix->parts[i], i, streams[i], &settings, err);
	if (!rc && during)
		during(arg, asked_s + 1e-9 * (double)(times->lead_ns + times->settle_ns),
		       asked_s + 1e-9 * (double)(times->lead_ns + times->settle_ns +
						 times->window_ns));
	/* Whatever was launched has to end before memory is used again. */
	for (i = 0; i < mix->n; i++) {
		waited = cuda->api.cuStreamSynchronize(streams[i]);
		if (!rc)
			rc = cot_cuda_check(cuda, waited, mix->parts[i].family->entry, err);
	}
	return rc ? rc : collect(r, mix, settings.open, ret_results, err);
}
