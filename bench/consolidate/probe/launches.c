/*
 * How long a launch by the other process takes. A's stream has a kernel, then one that B launches
 * for it on A's memory, then one of A again. Each way is timed until A's stream is done, and until
 * A's calls are done.
 *
 *   local     A launches all three
 *   events    A records; B waits in its stream, launches and records; A waits in its stream. A must
 *             not wait for B's event before B has recorded it, so it spins for B's answer
 *   asleep    the same, but B sleeps in read() and A in read() for the answer
 *   values    A's stream writes a number and waits for one in memory of both, and so does B's: no
 *             answer is needed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

enum { ROUNDS = 300, N = 4096, LOCAL = 0, EVENTS, ASLEEP, VALUES, N_WAYS };
static const char *const way_names[N_WAYS] = {"local", "events", "asleep", "values"};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static pointer begun(const struct side *s)
{
	return s->memory + CHUNK_BYTES / 2;
}

static pointer ended(const struct side *s)
{
	return begun(s) + 256;
}

static bool tell(struct side *s, bool asleep, _Atomic uint32_t *value, uint32_t i)
{
	char byte = 1;

	*value = i;
	return !asleep || write(s->socket, &byte, 1) == 1 || probe_fail(s, "write failed");
}

static bool hear(struct side *s, bool asleep, _Atomic uint32_t *value, uint32_t i)
{
	char byte;

	if (!asleep)
		return probe_until(s, value, i);
	return read(s->socket, &byte, 1) == 1 || probe_fail(s, "read failed");
}

/* The part of A between its own two kernels. */
static bool ask_for_launch(struct side *s, int way, uint32_t i)
{
	struct shared *sh = s->shared;

	switch (way) {
	case LOCAL:
		return probe_fill(s, s->memory, N, 5, 2);
	case VALUES:
		return CALL(s, cuStreamWriteValue32_v2, (s->stream, begun(s), i, 0)) &&
		       tell(s, false, &sh->request, i) &&
		       CALL(s, cuStreamWaitValue32_v2, (s->stream, ended(s), i, WAIT_AT_LEAST));
	default:
		return CALL(s, cuEventRecord, (s->mine, s->stream)) &&
		       tell(s, way == ASLEEP, &sh->request, i) &&
		       hear(s, way == ASLEEP, &sh->reply, i) &&
		       CALL(s, cuStreamWaitEvent, (s->stream, s->other, 0));
	}
}

static bool serve(struct side *s, int way, uint32_t i)
{
	struct shared *sh = s->shared;

	if (!hear(s, way == ASLEEP, &sh->request, i))
		return false;
	if (way == VALUES)
		return CALL(s, cuStreamWaitValue32_v2, (s->stream, begun(s), i, WAIT_AT_LEAST)) &&
		       probe_fill(s, s->memory, N, 5, 2) &&
		       CALL(s, cuStreamWriteValue32_v2, (s->stream, ended(s), i, 0));
	return CALL(s, cuStreamWaitEvent, (s->stream, s->other, 0)) &&
	       probe_fill(s, s->memory, N, 5, 2) && CALL(s, cuEventRecord, (s->mine, s->stream)) &&
	       tell(s, way == ASLEEP, &sh->reply, i);
}

static bool words_right(struct side *s, uint32_t *n_wrong)
{
	static uint32_t read[N];

	if (!CALL(s, cuMemcpyDtoH_v2, (read, s->memory, sizeof(read))))
		return false;
	for (uint32_t i = 0; i < N; i++)
		*n_wrong += read[i] != (((7u * 3 + 1 + i) * 5 + 2 + i) * 7 + 3 + i);
	return true;
}

static bool one_way(struct side *s, int way, bool *right)
{
	double total_us[ROUNDS], host_us[ROUNDS], begin_us;
	uint32_t n_wrong = 0, base = (uint32_t)way * 1000;

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		if (s->who == B) {
			if (way != LOCAL && !serve(s, way, base + i))
				return false;
			continue;
		}
		if (!CALL(s, cuMemsetD32_v2, (s->memory, 7, N)) ||
		    !CALL(s, cuStreamSynchronize, (NULL)))
			return false;
		begin_us = probe_now_us();
		if (!probe_fill(s, s->memory, N, 3, 1) || !ask_for_launch(s, way, base + i) ||
		    !probe_fill(s, s->memory, N, 7, 3))
			return false;
		host_us[i - 1] = probe_now_us() - begin_us;
		if (!CALL(s, cuStreamSynchronize, (s->stream)))
			return false;
		total_us[i - 1] = probe_now_us() - begin_us;
		if (!words_right(s, &n_wrong))
			return false;
	}
	if (s->who == A) {
		qsort(total_us, ROUNDS, sizeof(*total_us), by_value);
		qsort(host_us, ROUNDS, sizeof(*host_us), by_value);
		probe_say(s,
			  "\"%s\": {\"total_us\": {\"p50\": %.1f, \"p90\": %.1f}, \"calls_us\": "
			  "{\"p50\": %.1f, \"p90\": %.1f}, \"words_wrong\": %u}",
			  way_names[way], total_us[ROUNDS / 2], total_us[ROUNDS * 9 / 10],
			  host_us[ROUNDS / 2], host_us[ROUNDS * 9 / 10], n_wrong);
		*right &= n_wrong == 0;
	}
	return probe_meet(s);
}

bool probe_launches(struct side *s)
{
	bool right = true;

	if (!probe_share(s) || !probe_share_events(s) ||
	    !CALL(s, cuMemsetD32_v2, (begun(s), 0, 128)) || !CALL(s, cuStreamSynchronize, (NULL)) ||
	    !probe_meet(s))
		return false;
	for (int way = 0; way < N_WAYS; way++)
		if (!one_way(s, way, &right))
			return false;
	if (s->who == A) {
		probe_say(s, "\"rounds\": %d, \"words\": %d", ROUNDS, N);
		s->shared->right = right && s->same_address;
	}
	return true;
}
