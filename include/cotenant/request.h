/*
 * Marks the requests of a program, so that cotenant measures how long they take: docs/requests.md.
 * Header only, C11 or C++. A program that is not under cotenant's control, or was started without
 * `cotenant run --measure`, runs the same; then these functions do nothing.
 *
 *     cot_request_begin(id, arrival_ns);      the program begins with the request ...
 *     cot_request_size(id, size);             how much work it is, if that differs
 *     cot_request_end(id);                    ... and has its result
 *
 * `id` tells requests apart that are open at the same time; a program that has one at a time may
 * always say 0. `arrival_ns` is when the request came in, before it waited in the program's own
 * queue: by CLOCK_MONOTONIC, in nanoseconds; 0 = not known. `size` is of the request's input, in
 * whatever unit the program counts (a batch, tokens, bytes): say it after the begin and before the
 * first use of the GPU. Without it the bytes that the request copies to the GPU stand for it. From
 * any thread; begin and end may be called by different ones. Link with -ldl where the C library is
 * older than glibc 2.34.
 */
#ifndef COTENANT_REQUEST_H
#define COTENANT_REQUEST_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cot_request_calls {
	void (*begin)(uint64_t id, uint64_t arrival_ns);
	void (*end)(uint64_t id);
	void (*size)(uint64_t id, uint64_t size); /* NULL: of an older library */
	int looked;				  /* for them */
};

/* Looks once; that two threads do so at the same time does no harm. */
static inline const struct cot_request_calls *cot_request_find(void)
{
	static struct cot_request_calls calls;
	void *begin, *end, *size, *all;

	if (__atomic_load_n(&calls.looked, __ATOMIC_ACQUIRE))
		return &calls;
	all = dlopen(NULL, RTLD_LAZY);
	begin = all ? dlsym(all, "cotenant_request_begin") : NULL;
	end = all ? dlsym(all, "cotenant_request_end") : NULL;
	size = all ? dlsym(all, "cotenant_request_size") : NULL;
	if (begin && end) {
		memcpy(&calls.begin, &begin, sizeof(begin));
		memcpy(&calls.end, &end, sizeof(end));
		memcpy(&calls.size, &size, sizeof(size));
	}
	__atomic_store_n(&calls.looked, 1, __ATOMIC_RELEASE);
	return &calls;
}

static inline void cot_request_begin(uint64_t id, uint64_t arrival_ns)
{
	const struct cot_request_calls *calls = cot_request_find();

	if (calls->begin)
		calls->begin(id, arrival_ns);
}

static inline void cot_request_size(uint64_t id, uint64_t size)
{
	const struct cot_request_calls *calls = cot_request_find();

	if (calls->size)
		calls->size(id, size);
}

static inline void cot_request_end(uint64_t id)
{
	const struct cot_request_calls *calls = cot_request_find();

	if (calls->end)
		calls->end(id);
}

#endif
