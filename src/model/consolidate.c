#include "model/consolidate.h"

#include <errno.h>
#include <string.h>

#include "model/launch.h"

/* ---- costs ---- */

/* Copies of a kernel are one kernel with as many times the blocks. */
static int gather(const struct cot_model_kernel *kernels, const uint32_t *copies, uint32_t n,
		  struct cot_model_kernel *ret, uint32_t *ret_n)
{
	uint32_t i, times, used = 0;

	for (i = 0; i < n; i++) {
		times = copies ? copies[i] : 1;
		if (!times)
			continue;
		if (used == COT_MODEL_SET_MAX || kernels[i].n_blocks > UINT32_MAX / times)
			return -EINVAL;
		ret[used] = kernels[i];
		ret[used].n_blocks *= times;
		ret[used].transfer_bytes *= times;
		ret[used].memory_bytes *= times;
		used++;
	}
	*ret_n = used;
	return used ? 0 : -EINVAL;
}

/*
 * What instances take beyond idle power, where each was measured alone: the same work takes the
 * same joules, whatever runs beside it. < 0: one was not measured.
 */
static double measured_j(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
			 const uint32_t *copies, uint32_t n)
{
	const struct cot_model_launch *l = &m->gpu.launch;
	double work_j = 0, of_one, blocks = 0;
	uint32_t i, times, total = 0;

	for (i = 0; i < n; i++) {
		times = copies ? copies[i] : 1;
		if (!times)
			continue;
		if (!(kernels[i].alone_j > 0) || !(kernels[i].alone_s > 0))
			return -1;
		of_one = kernels[i].alone_j - m->power.idle_w * kernels[i].alone_s;
		work_j += of_one > 0 ? of_one * times : 0;
		blocks += (double)kernels[i].n_blocks * times;
		total += times;
	}
	return work_j + (total > 1 && !m->options.concurrent ? l->block_j * blocks : 0);
}

int cot_model_cost_of(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
		      const uint32_t *copies, uint32_t n, struct cot_model_cost *ret)
{
	struct cot_model_kernel set[COT_MODEL_SET_MAX];
	struct cot_model_events one, all = {0};
	struct cot_model_set time;
	uint32_t i, n_kinds = n;
	double launch_s, work_j = measured_j(m, kernels, copies, n);
	int rc;

	rc = gather(kernels, copies, n, set, &n);
	if (!rc)
		rc = cot_model_set_time(&m->gpu, set, n, &m->options, &time);
	if (!rc)
		rc = cot_model_launch_s(&m->gpu, &m->options, kernels, copies, n_kinds,
					time.seconds, &launch_s);
	if (rc)
		return rc;
	for (i = 0; i < n; i++) {
		cot_model_events_of(&set[i], &one);
		cot_model_events_add(&all, &one);
	}
	cot_model_draw_of(&m->gpu, &m->power, &all, time.cycles, &ret->draw);
	ret->exec_s = time.seconds;
	ret->transfer_s = time.transfer_s;
	ret->launch_s = launch_s;
	ret->seconds = time.seconds + time.transfer_s + launch_s;
	ret->thermal_w = cot_model_thermal_w(&m->power, ret->draw.dynamic_w, time.seconds);
	ret->power_w = m->power.idle_w + ret->thermal_w + ret->draw.dynamic_w;
	ret->energy_j = cot_model_energy_j(&m->power, ret->draw.dynamic_w, time.seconds) +
			m->power.idle_w * (time.transfer_s + launch_s);
	if (work_j >= 0) {
		ret->energy_j = m->power.idle_w * ret->seconds + work_j;
		ret->power_w = m->power.idle_w + work_j / time.seconds;
	}
	return 0;
}

/* ---- together ---- */

/* Where a kernel takes less energy, which is gpu_j on the GPU. */
static enum cot_model_where cheaper(const struct cot_model_kernel *k, double gpu_j, double *ret_j)
{
	double cpu_j = k->cpu_s * k->cpu_w;
	bool on_cpu = cpu_j > 0 && cpu_j < gpu_j;

	*ret_j = on_cpu ? cpu_j : gpu_j;
	return on_cpu ? COT_MODEL_CPU : COT_MODEL_GPU;
}

/*
 * Launches behind one another in a stream cost less than launches whose end is waited for each: the
 * thread makes the next while the last runs.
 */
struct queue {
	struct cot_model_stream stream;
	double waited_s; /* what the launches cost if each is waited for */
	double exec_s;
};

static void queue_add(struct queue *q, const struct cot_model_gpu *gpu,
		      const struct cot_model_kernel *k, const struct cot_model_cost *cost,
		      uint32_t times)
{
	uint32_t i;

	for (i = 0; i < times; i++)
		cot_model_stream_add(&q->stream, &gpu->launch, k, cost->exec_s);
	q->waited_s += cost->launch_s * times;
	q->exec_s += cost->exec_s * times;
}

static void take_off_waits(const struct cot_model_machine *m, const struct queue *q,
			   bool all_on_gpu, struct cot_model_verdict *v)
{
	double saved_s = q->waited_s - (q->stream.ended_s + m->gpu.launch.end_s - q->exec_s);

	v->apart_s -= saved_s;
	v->apart_j -= saved_s * m->power.idle_w;
	if (all_on_gpu)
		v->least_j -= saved_s * m->power.idle_w;
}

static int apart(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
		 const uint32_t *copies, uint32_t n, struct cot_model_verdict *v, double *ret_bytes)
{
	struct queue queue = {.exec_s = 0};
	struct cot_model_cost cost;
	uint32_t i, times, total = 0;
	bool all_on_gpu = true;
	double least_j;
	int rc;

	*ret_bytes = 0;
	for (i = 0; i < n; i++) {
		times = copies ? copies[i] : 1;
		if (!times)
			continue;
		rc = cot_model_cost_of(m, &kernels[i], NULL, 1, &cost);
		if (rc)
			return rc;
		total += times;
		v->apart_s += cost.seconds * times;
		v->apart_j += cost.energy_j * times;
		all_on_gpu &= cheaper(&kernels[i], cost.energy_j, &least_j) == COT_MODEL_GPU;
		v->least_j += least_j * times;
		*ret_bytes += kernels[i].memory_bytes * times;
		if (cot_model_has_launch(&m->gpu.launch))
			queue_add(&queue, &m->gpu, &kernels[i], &cost, times);
	}
	if (cot_model_has_launch(&m->gpu.launch))
		take_off_waits(m, &queue, all_on_gpu, v);
	return total < 2 ? -EINVAL : 0;
}

int cot_model_judge(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
		    const uint32_t *copies, uint32_t n, struct cot_model_verdict *ret)
{
	double bytes;
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = apart(m, kernels, copies, n, ret, &bytes);
	if (rc)
		return rc;
	/* Each fits alone; together they may not. */
	if (cot_model_cost_of(m, kernels, copies, n, &ret->together)) {
		memset(&ret->together, 0, sizeof(ret->together));
		return 0;
	}
	ret->fits = bytes <= m->gpu.memory_bytes;
	ret->energy_ok = ret->together.energy_j < ret->apart_j;
	ret->time_ok = ret->together.seconds < ret->apart_s;
	ret->consolidate = ret->fits && ret->energy_ok && ret->time_ok &&
			   ret->together.energy_j < (1 - m->min_gain) * ret->least_j;
	return 0;
}

/* ---- alone ---- */

int cot_model_alone(const struct cot_model_machine *m, const struct cot_model_kernel *k,
		    enum cot_model_where *ret_where, double *ret_energy_j)
{
	struct cot_model_cost gpu;
	int rc = cot_model_cost_of(m, k, NULL, 1, &gpu);

	if (rc)
		return rc;
	*ret_where = cheaper(k, gpu.energy_j, ret_energy_j);
	return 0;
}

int cot_model_cpu_up_to(const struct cot_model_machine *m, const struct cot_model_kernel *k,
			enum cot_model_aim aim, uint32_t most, uint32_t *ret_blocks)
{
	struct cot_model_kernel sized = *k;
	struct cot_model_cost gpu;
	uint32_t n;
	double part, energy_j;
	int rc;

	for (n = 1; n <= most; n++) {
		part = (double)n / k->n_blocks;
		sized.n_blocks = n;
		sized.transfer_bytes = k->transfer_bytes * part;
		sized.memory_bytes = k->memory_bytes * part;
		sized.cpu_s = k->cpu_s * part;
		rc = cot_model_cost_of(m, &sized, NULL, 1, &gpu);
		if (rc)
			return rc;
		if (aim == COT_MODEL_TIME
			    ? sized.cpu_s <= 0 || sized.cpu_s >= gpu.seconds
			    : cheaper(&sized, gpu.energy_j, &energy_j) != COT_MODEL_CPU)
			break;
	}
	*ret_blocks = n - 1;
	return 0;
}
