/* How late deadlines come, and whose fault it is: the daemon's, that of other programs on this
 * machine, or the host's. */
#ifndef COT_DAEMON_LATENESS_H
#define COT_DAEMON_LATENESS_H

#include <stdint.h>

/* A deadline that is met so much after its time is late. */
#define COT_LATE_NS 20000000ull

/*
 * Of deadlines that were met after their time. `own` is what the daemon was at work meanwhile: on a
 * processor, or blocked in a call. The rest is not its fault: it waited for a processor that others
 * of this machine had, or it was to run and nobody ran it: the host had the processor, or the
 * daemon was stopped.
 */
struct cot_lateness {
	uint64_t worst_ns, worst_own_ns;
	uint64_t n_late, last_ns; /* by COT_LATE_NS of our own; and when that was last */
	/* Late, but not by our own; by the larger part of the rest. */
	uint64_t n_waited, last_waited_ns;
	uint64_t n_stolen, last_stolen_ns;
};

/* One deadline. The parts may be more than the whole: they are measured from somewhat earlier. */
struct cot_delay {
	uint64_t late_ns, work_ns, waited_ns;
};

void cot_lateness_count(struct cot_lateness *l, const struct cot_delay *d, uint64_t now_ns);

/* The time since this thread was woken. */
struct cot_spell {
	uint64_t began_ns, cpu_ns;
	long n_blocked; /* how often it has blocked since it began to live */
};

/* What is to be known of the thread now, compared with a spell's begin. */
void cot_spell_begin(struct cot_spell *s);
/*
 * For how long it was at work since then. If it did not block, that is its time on a processor,
 * which leaves out what the host stole in the midst of it where the kernel knows that (paravirtual
 * time accounting). If it did, all but `waited_ns`, what it waited for a processor.
 */
uint64_t cot_spell_work_ns(const struct cot_spell *s, uint64_t waited_ns);
/* The same of two moments. */
uint64_t cot_spell_between_ns(const struct cot_spell *begin, const struct cot_spell *end,
			      uint64_t waited_ns);

#endif
