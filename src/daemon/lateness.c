#include "daemon/lateness.h"

#include <sys/resource.h>
#include <time.h>

static uint64_t less(uint64_t ns, uint64_t by_ns)
{
	return ns > by_ns ? ns - by_ns : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void cot_lateness_count(struct cot_lateness *l, const struct cot_delay *d, uint64_t now_ns)
{
	uint64_t own_ns = smaller(d->late_ns, d->work_ns), rest_ns = d->late_ns - own_ns;

	if (d->late_ns > l->worst_ns)
		l->worst_ns = d->late_ns;
	if (own_ns > l->worst_own_ns)
		l->worst_own_ns = own_ns;
	if (d->late_ns < COT_LATE_NS)
		return;
	if (own_ns >= COT_LATE_NS) {
		l->n_late++;
		l->last_ns = now_ns;
	} else if (d->waited_ns >= less(rest_ns, d->waited_ns)) {
		l->n_waited++;
		l->last_waited_ns = now_ns;
	} else {
		l->n_stolen++;
		l->last_stolen_ns = now_ns;
	}
}

static uint64_t read_clock_ns(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void cot_spell_begin(struct cot_spell *s)
{
	struct rusage used = {0};

	(void)getrusage(RUSAGE_THREAD, &used);
	*s = (struct cot_spell){.began_ns = read_clock_ns(CLOCK_MONOTONIC),
				.cpu_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID),
				.n_blocked = used.ru_nvcsw};
}

uint64_t cot_spell_between_ns(const struct cot_spell *begin, const struct cot_spell *end,
			      uint64_t waited_ns)
{
	uint64_t wall_ns = less(end->began_ns, begin->began_ns);

	if (end->n_blocked != begin->n_blocked)
		return less(wall_ns, waited_ns);
	return smaller(wall_ns, less(end->cpu_ns, begin->cpu_ns));
}

uint64_t cot_spell_work_ns(const struct cot_spell *s, uint64_t waited_ns)
{
	struct cot_spell now;

	cot_spell_begin(&now);
	return cot_spell_between_ns(s, &now, waited_ns);
}
