#include "model/launch.h"

#include <errno.h>

#include "model/number.h"

/* A kernel that seems to take less than that was lost in what launches cost. */
#define LEAST_S	 1e-7
#define HALVINGS 40u

static const struct cot_model_options alone = {.concurrent = true};

static double max(double a, double b)
{
	return a > b ? a : b;
}

static double min(double a, double b)
{
	return a < b ? a : b;
}

static uint32_t launches_of(const struct cot_model_kernel *k)
{
	return k->launches ? k->launches : 1;
}

static double call_of(const struct cot_model_launch *l, const struct cot_model_kernel *k)
{
	return k->call_s > 0 ? k->call_s : l->call_s;
}

bool cot_model_has_launch(const struct cot_model_launch *l)
{
	return l->call_s > 0 || l->end_s > 0 || l->end_beside_s > 0 || l->instance_s > 0 ||
	       l->end_stream_s > 0 || l->gap_s > 0 || l->block_s > 0;
}

/*
 * The launches of a kernel take the same time each. So either the thread is always ahead, or the
 * GPU waits for each of them.
 */
void cot_model_stream_add(struct cot_model_stream *s, const struct cot_model_launch *l,
			  const struct cot_model_kernel *k, double gpu_s)
{
	double first_s = s->called_s + call_of(l, k);
	double last_s = s->called_s + call_of(l, k) * launches_of(k);
	double free_s = s->ended_s > 0 ? s->ended_s + l->gap_s : 0;

	s->ended_s = max(max(free_s, first_s) + gpu_s, last_s + gpu_s / launches_of(k));
	s->called_s = last_s;
}

double cot_model_gpu_s(const struct cot_model_launch *l, const struct cot_model_kernel *k)
{
	double call_s = call_of(l, k), ahead_s = k->alone_s - l->end_s - call_s;
	uint32_t n = launches_of(k);

	/* The GPU waited for each launch. */
	if (ahead_s < call_s * n)
		ahead_s = (k->alone_s - l->end_s - call_s * n) * n;
	return max(ahead_s, LEAST_S);
}

/* Of a block by the equations, while its kernel has the GPU to itself. */
static double alone_cycles(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k)
{
	struct cot_model_time t;

	return cot_model_time_alone(gpu, k, &t) ? 0 : t.sm.cycles + t.sm.sync_cycles;
}

/*
 * Where all SMs are full from its first block to its last, h follows from one of them. Where some
 * are not, the equations give a block less there, so h is less: by bisection.
 */
static int find_hidden(const struct cot_model_gpu *gpu, struct cot_model_kernel *k, double gpu_s)
{
	double low = 0, high = alone_cycles(gpu, k) * cot_model_sqrt(k->factor * k->factor - 1);
	struct cot_model_set set;
	unsigned i;

	for (i = 0; i < HALVINGS; i++) {
		int rc;

		k->hidden = (low + high) / 2;
		rc = cot_model_set_time(gpu, k, 1, &alone, &set);
		if (rc)
			return rc;
		if (set.seconds < gpu_s)
			low = k->hidden;
		else
			high = k->hidden;
	}
	return 0;
}

int cot_model_calibrate(const struct cot_model_gpu *gpu, struct cot_model_kernel *k)
{
	double gpu_s = cot_model_gpu_s(&gpu->launch, k);
	struct cot_model_set set;
	int rc;

	k->factor = 1;
	k->hidden = 0;
	if (!(k->alone_s > 0))
		return 0;
	rc = cot_model_set_time(gpu, k, 1, &alone, &set);
	if (rc)
		return rc;
	k->factor = gpu_s / set.seconds;
	return k->factor > 1 ? find_hidden(gpu, k, gpu_s) : 0;
}

/* Instances that are launched one after the other, each in a stream of its own. */
struct streams {
	double called_s, ended_s; /* none slowed by another */
	double call_s;		  /* the longest of a launch */
	uint32_t n, most;	  /* instances; launches of the one with most */
	uint32_t kinds;		  /* different kernels */
	double blocks;
	const struct cot_model_kernel *last;
};

static int launch_all(const struct cot_model_gpu *gpu, const struct cot_model_options *options,
		      const struct cot_model_kernel *k, uint32_t copies, struct streams *s)
{
	double call_s = call_of(&gpu->launch, k);
	struct cot_model_set set;
	uint32_t i, n = launches_of(k);
	int rc = cot_model_set_time(gpu, k, 1, options, &set);

	for (i = 0; i < copies && !rc; i++) {
		s->called_s += call_s * n;
		s->ended_s = max(s->ended_s, s->called_s + set.seconds / n);
	}
	s->call_s = max(s->call_s, call_s);
	s->most = n > s->most ? n : s->most;
	s->n += copies;
	s->kinds++;
	s->blocks += (double)k->n_blocks * copies;
	s->last = k;
	return rc;
}

static double merged_s(const struct cot_model_launch *l, const struct streams *s, double exec_s)
{
	double call_s = s->call_s + l->instance_s * s->n;

	if (s->kinds == 1)
		exec_s += l->blocks_most_s > 0 ? min(l->block_s * s->blocks, l->blocks_most_s)
					       : l->block_s * s->blocks;
	return call_s + max(exec_s, call_s * (s->most - 1)) + l->end_s;
}

int cot_model_launch_s(const struct cot_model_gpu *gpu, const struct cot_model_options *options,
		       const struct cot_model_kernel *kernels, const uint32_t *copies, uint32_t n,
		       double exec_s, double *ret_s)
{
	const struct cot_model_launch *l = &gpu->launch;
	struct cot_model_stream one = {.called_s = 0};
	struct streams s = {.n = 0};
	double all_s;
	uint32_t i;
	int rc = 0;

	*ret_s = 0;
	if (!cot_model_has_launch(l))
		return 0;
	for (i = 0; i < n && !rc; i++)
		if (!copies || copies[i])
			rc = launch_all(gpu, options, &kernels[i], copies ? copies[i] : 1, &s);
	if (rc)
		return rc;
	if (s.n == 1) {
		cot_model_stream_add(&one, l, s.last, exec_s);
		all_s = one.ended_s + l->end_s;
	} else if (options->concurrent) {
		all_s = max(s.ended_s, s.call_s + exec_s) + l->end_beside_s +
			l->end_stream_s * (s.n - 1);
	} else {
		all_s = merged_s(l, &s, exec_s);
	}
	*ret_s = max(all_s - exec_s, 0);
	return 0;
}
