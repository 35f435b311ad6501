#include "kernels/host/inside.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/rng.h"

#define PERIOD	   ((size_t)1048573) /* a prime */
#define LARGE_PAGE ((uintptr_t)2 << 20)
#define N_THREADS  4u

void cot_bench_use_large_pages(void *data, size_t size_bytes)
{
	uintptr_t begin = ((uintptr_t)data + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	uintptr_t end = ((uintptr_t)data + size_bytes) & ~(LARGE_PAGE - 1);

	if (data && begin < end)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

void *cot_bench_buffer(struct cot_bench_instance *in, const char *name, size_t n, size_t size,
		       bool is_output)
{
	struct cot_bench_buffer *buffer;

	if (in->n_buffers == COT_BENCH_MAX_BUFFERS)
		return NULL;
	buffer = &in->buffers[in->n_buffers];
	buffer->data = calloc(n, size);
	if (!buffer->data)
		return NULL;
	cot_bench_use_large_pages(buffer->data, n * size);
	buffer->name = name;
	buffer->size_bytes = n * size;
	buffer->is_output = is_output;
	in->n_buffers++;
	return buffer->data;
}

int cot_bench_steps(struct cot_bench_instance *in, uint32_t n)
{
	in->steps = calloc(n, sizeof(in->steps[0]));
	return in->steps ? 0 : -ENOMEM;
}

struct cot_bench_step *cot_bench_step(struct cot_bench_instance *in, const char *entry, uint32_t gx,
				      uint32_t gy, uint32_t bx, uint32_t by)
{
	struct cot_bench_step *step = &in->steps[in->n_steps++];

	*step = (struct cot_bench_step){
		.entry = entry,
		.grid = {gx, gy, 1},
		.block = {bx, by, 1},
	};
	return step;
}

struct cot_bench_arg *cot_bench_arg_bytes(struct cot_bench_step *step, const void *bytes,
					  uint32_t size)
{
	struct cot_bench_arg *arg = &step->args[step->n_args++];

	arg->size_bytes = size;
	arg->buffer = COT_BENCH_NO_BUFFER;
	memcpy(arg->bytes, bytes, size);
	return arg;
}

void cot_bench_arg_buffer(struct cot_bench_step *step, uint32_t buffer)
{
	static const uint64_t nothing;

	cot_bench_arg_bytes(step, &nothing, sizeof(nothing))->buffer = buffer;
}

void cot_bench_arg_i32(struct cot_bench_step *step, int32_t value)
{
	cot_bench_arg_bytes(step, &value, sizeof(value));
}

void cot_bench_arg_u32(struct cot_bench_step *step, uint32_t value)
{
	cot_bench_arg_bytes(step, &value, sizeof(value));
}

void cot_bench_arg_f32(struct cot_bench_step *step, float value)
{
	cot_bench_arg_bytes(step, &value, sizeof(value));
}

/* ---- contents ---- */

/* Bytes from `begin` on, as the first `period` of them. */
struct piece {
	char *bytes;
	size_t period, begin, end;
};

static void *fill_piece(void *arg)
{
	const struct piece *p = arg;
	size_t at;

	for (at = p->begin; at < p->end; at += p->period)
		memcpy(p->bytes + at, p->bytes, p->end - at < p->period ? p->end - at : p->period);
	return NULL;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Copies the first values until the array is full; gigabytes, by several threads. */
static void repeat(void *values, size_t period, size_t n, size_t size)
{
	size_t n_periods = (n + period - 1) / period, each = n_periods / N_THREADS + 1;
	struct piece pieces[N_THREADS];
	pthread_t threads[N_THREADS];
	bool started[N_THREADS];
	unsigned i;

	for (i = 0; i < N_THREADS; i++) {
		size_t begin = i ? i * each : 1;

		pieces[i] = (struct piece){
			.bytes = values,
			.period = period * size,
			.begin = least(begin * period, n) * size,
			.end = least((i + 1) * each * period, n) * size,
		};
		started[i] = n_periods > 4 * N_THREADS &&
			     !pthread_create(&threads[i], NULL, fill_piece, &pieces[i]);
		if (!started[i])
			fill_piece(&pieces[i]);
	}
	for (i = 0; i < N_THREADS; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
}

void cot_bench_fill_f32(float *values, size_t n, uint64_t seed, float low, float high)
{
	struct cot_rng rng = {seed};
	size_t i, period = n < PERIOD ? n : PERIOD;

	for (i = 0; i < period; i++) {
		float unit = (float)(cot_rng_next(&rng) >> 40) * (1.0f / 16777216.0f);

		values[i] = low + unit * (high - low);
	}
	if (period < n)
		repeat(values, period, n, sizeof(values[0]));
}

void cot_bench_fill_u32(uint32_t *values, size_t n, uint64_t seed, uint32_t end)
{
	struct cot_rng rng = {seed};
	size_t i, period = n < PERIOD ? n : PERIOD;

	for (i = 0; i < period; i++)
		values[i] = (uint32_t)cot_rng_below(&rng, end);
	if (period < n)
		repeat(values, period, n, sizeof(values[0]));
}

size_t cot_bench_n_samples(size_t n, size_t limit)
{
	return n < limit ? n : limit;
}

size_t cot_bench_sample(size_t i, size_t n, size_t limit)
{
	if (n <= limit)
		return i;
	return i ? (size_t)(cot_mix64(i) % n) : n - 1;
}

/* As bits: 0.0 is not -0.0, and a NaN is itself. */
static uint64_t bits_of(const void *value, size_t size)
{
	uint64_t bits = 0;

	memcpy(&bits, value, size);
	return bits;
}

static bool differs(struct cot_bench_verdict *v, bool same)
{
	v->n_checked++;
	if (same)
		return false;
	return v->n_wrong++ == 0;
}

void cot_bench_same_f32(struct cot_bench_verdict *v, const char *what, size_t i, float got,
			float want)
{
	if (differs(v, bits_of(&got, sizeof(got)) == bits_of(&want, sizeof(want))))
		snprintf(v->text, sizeof(v->text), "%s[%zu] is %.9g (expected %.9g)", what, i,
			 (double)got, (double)want);
}

void cot_bench_same_f64(struct cot_bench_verdict *v, const char *what, size_t i, double got,
			double want)
{
	if (differs(v, bits_of(&got, sizeof(got)) == bits_of(&want, sizeof(want))))
		snprintf(v->text, sizeof(v->text), "%s[%zu] is %.17g (expected %.17g)", what, i,
			 got, want);
}

void cot_bench_same_u64(struct cot_bench_verdict *v, const char *what, size_t i, uint64_t got,
			uint64_t want)
{
	if (differs(v, got == want))
		snprintf(v->text, sizeof(v->text), "%s[%zu] is %" PRIu64 " (expected %" PRIu64 ")",
			 what, i, got, want);
}
