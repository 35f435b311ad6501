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

/* ---- static ---- */

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

/* ---- runtime ---- */

static bool same(const struct cot_model_kernel *a, const struct cot_model_kernel *b)
{
	uint32_t i;

	for (i = 0; i < COT_MODEL_EXTRA_MAX; i++)
		if (a->extra[i] != b->extra[i])
			return false;
	return a->n_blocks == b->n_blocks && a->threads_per_block == b->threads_per_block &&
	       a->regs_per_block == b->regs_per_block && a->shmem_per_block == b->shmem_per_block &&
	       a->comp == b->comp && a->uncoal == b->uncoal && a->coal == b->coal &&
	       a->syncs == b->syncs && a->transactions == b->transactions &&
	       a->load_bytes == b->load_bytes && a->transfer_bytes == b->transfer_bytes &&
	       a->memory_bytes == b->memory_bytes && a->launches == b->launches &&
	       a->call_s == b->call_s && a->alone_s == b->alone_s && a->alone_j == b->alone_j;
}

bool cot_model_template_matches(const struct cot_model_template *t,
				const struct cot_model_kernel *kernels, uint32_t n)
{
	bool taken[COT_MODEL_MIXED_MAX] = {false};
	uint32_t i, j;

	if (n != t->n || n > COT_MODEL_MIXED_MAX)
		return false;
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++)
			if (!taken[j] && same(&t->kernels[i], &kernels[j]))
				break;
		if (j == n)
			return false;
		taken[j] = true;
	}
	return true;
}

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

int cot_model_arrived(const struct cot_model_machine *m, const struct cot_model_template *templates,
		      uint32_t n_templates, const struct cot_model_kernel *kernels, uint32_t n,
		      double free_bytes, enum cot_model_where *ret_where)
{
	double bytes = 0, energy_j;
	bool together = false;
	uint32_t i;
	int rc;

	if (n < 2 || n > COT_MODEL_MIXED_MAX)
		return -EINVAL;
	for (i = 0; i < n; i++)
		bytes += kernels[i].memory_bytes;
	for (i = 0; i < n_templates && !together; i++)
		together = templates[i].consolidate && bytes <= free_bytes &&
			   cot_model_template_matches(&templates[i], kernels, n);
	for (i = 0; i < n; i++) {
		rc = cot_model_alone(m, &kernels[i], &ret_where[i], &energy_j);
		if (rc)
			return rc;
		if (together)
			ret_where[i] = COT_MODEL_TOGETHER;
	}
	return 0;
}
