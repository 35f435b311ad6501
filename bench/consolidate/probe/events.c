/* Events that two processes have: whether the order is right, and how late the second begins. */
#include <stdio.h>
#include <stdlib.h>

#include "probe.h"

enum { ROUNDS = 50, WORK_NS = 200000 };

bool probe_share_events(struct side *s)
{
	struct shared *sh = s->shared;

	return CALL(s, cuEventCreate, (&s->mine, EVENT_ORDER_ONLY | EVENT_INTERPROCESS)) &&
	       CALL(s, cuIpcGetEventHandle, (&sh->events[s->who], s->mine)) && probe_meet(s) &&
	       CALL(s, cuIpcOpenEventHandle, (&s->other, sh->events[!s->who]));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A works 0.2 ms, marks and records; B waits for the event in its stream and looks. */
static bool one_round(struct side *s, uint32_t i, pointer mark, pointer look)
{
	void *arguments[] = {&mark, &look};

	if (s->who == A)
		return probe_mark(s, mark, i, WORK_NS) &&
		       CALL(s, cuEventRecord, (s->mine, s->stream)) && probe_meet(s) &&
		       probe_meet(s);
	return probe_meet(s) && CALL(s, cuStreamWaitEvent, (s->stream, s->other, 0)) &&
	       CALL(s, cuLaunchKernel,
		    (s->look, 1, 1, 1, 1, 1, 1, 0, s->stream, arguments, NULL)) &&
	       CALL(s, cuStreamSynchronize, (s->stream)) && probe_meet(s);
}

bool probe_events(struct side *s)
{
	double late_us[ROUNDS];
	uint32_t n_wrong = 0;
	pointer mark, look;
	struct {
		uint32_t value, unused;
		uint64_t ns;
	} seen[2];

	if (!probe_share(s) || !probe_share_events(s) || !probe_meet(s))
		return false;
	mark = s->memory;
	look = mark + sizeof(seen[0]);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		if (!one_round(s, i, mark, look))
			return false;
		if (s->who == B)
			continue;
		if (!CALL(s, cuMemcpyDtoH_v2, (seen, mark, sizeof(seen))))
			return false;
		n_wrong += seen[1].value != i || seen[1].ns < seen[0].ns;
		late_us[i - 1] = ((double)seen[1].ns - (double)seen[0].ns) * 1e-3;
	}
	if (s->who == B)
		return true;
	qsort(late_us, ROUNDS, sizeof(*late_us), by_value);
	probe_say(s,
		  "\"rounds\": %d, \"wrong_order\": %u, \"begins_after_us\": {\"p50\": %.1f, "
		  "\"p90\": %.1f, \"max\": %.1f}",
		  ROUNDS, n_wrong, late_us[ROUNDS / 2], late_us[ROUNDS * 9 / 10],
		  late_us[ROUNDS - 1]);
	s->shared->right = n_wrong == 0;
	return true;
}
