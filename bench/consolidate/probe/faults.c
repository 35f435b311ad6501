/* What becomes of A when B's context has an error, and when B is killed while A's stream waits. */
#include <string.h>

#include "probe.h"

enum { LONG_NS = 300000000 };

/* A has a kernel of 0.3 s while B writes to an address of nobody. */
bool probe_fault(struct side *s)
{
	pointer nobody = 0x10;
	void *arguments[] = {&nobody};
	result r;

	if (!probe_share(s) || !probe_meet(s))
		return false;
	if (s->who == B) {
		probe_pause_us(50000);
		r = s->cuda.cuLaunchKernel(s->wrong, 1, 1, 1, 1, 1, 1, 0, s->stream, arguments,
					   NULL);
		if (!r)
			r = s->cuda.cuStreamSynchronize(s->stream);
		probe_say(s, "\"its_own_error\": \"%s\"", probe_name(s, r));
		return probe_meet(s);
	}
	if (!probe_mark(s, s->memory, 1, LONG_NS) || !probe_meet(s))
		return false;
	r = s->cuda.cuStreamSynchronize(s->stream);
	probe_say(s, "\"its_kernel\": \"%s\"", probe_name(s, r));
	s->shared->right = r == 0;
	r = s->cuda.cuMemsetD32_v2(s->memory, 1, 16);
	if (!r)
		r = s->cuda.cuStreamSynchronize(NULL);
	probe_say(s, "\"afterwards\": \"%s\"", probe_name(s, r));
	s->shared->right &= r == 0;
	return true;
}

/* A's stream waits for an event that B records behind a kernel of 1 s; B is killed after 0.1 s. */
bool probe_killed(struct side *s)
{
	double begin_us, now_us = 0;
	result r = NOT_READY;

	if (!probe_share(s) || !probe_share_events(s) || !probe_meet(s))
		return false;
	if (s->who == B) {
		if (!probe_mark(s, s->memory, 1, 1000000000) ||
		    !CALL(s, cuEventRecord, (s->mine, s->stream)) || !probe_meet(s))
			return false;
		for (;;)
			probe_pause_us(1000000); /* until it is killed */
	}
	if (!probe_meet(s) || !CALL(s, cuStreamWaitEvent, (s->stream, s->other, 0)) ||
	    !probe_fill(s, s->memory + 4096, 256, 1, 1))
		return false;
	probe_pause_us(100000);
	s->shared->kill_b = 1;
	for (begin_us = probe_now_us(); r == NOT_READY && now_us < 3e6; probe_pause_us(500)) {
		r = s->cuda.cuStreamQuery(s->stream);
		now_us = probe_now_us() - begin_us;
	}
	probe_say(s, "\"its_stream\": \"%s\", \"after_ms\": %.1f", probe_name(s, r), now_us * 1e-3);
	s->shared->right = r == 0;
	if (r == NOT_READY)
		return true;
	r = s->cuda.cuMemsetD32_v2(s->memory, 1, 16);
	if (!r)
		r = s->cuda.cuStreamSynchronize(NULL);
	probe_say(s, "\"afterwards\": \"%s\"", probe_name(s, r));
	s->shared->right &= r == 0;
	return true;
}
