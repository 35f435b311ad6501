/*
 * Events of a Chrome trace (JSON), for Perfetto and chrome://tracing, one after the other as they
 * are written ("Trace Event Format", Google). A process is a group of tracks, a thread a track:
 * their numbers are names only. Thread 0 is left to no one, as some viewers see the idle task
 * there. Texts are UTF-8. Not thread-safe.
 */
#ifndef COT_REPORT_EVENTS_H
#define COT_REPORT_EVENTS_H

#include <stdint.h>
#include <stdio.h>

struct cot_events {
	FILE *out;
	const char *separator;
};

void cot_events_begin(struct cot_events *e, FILE *out, const char *unit); /* "ns" or "ms" */
void cot_events_end(struct cot_events *e);

/* Up to its name, which the caller writes, and the rest with it. */
void cot_events_open(struct cot_events *e, const char *phase, unsigned pid, unsigned tid);
/* The same with the name; the phase is a complete event's: times come next. */
void cot_events_open_complete(struct cot_events *e, unsigned pid, unsigned tid, const char *name);
void cot_events_times(struct cot_events *e, uint64_t begin_ps, uint64_t end_ps);

/* How a process is called, and where it stands. `tid` is any of its tracks. */
void cot_events_process(struct cot_events *e, unsigned pid, unsigned tid, const char *name,
			unsigned place);
/* How a track is called, of two parts; tracks stand in the order of their numbers. */
void cot_events_track(struct cot_events *e, unsigned pid, unsigned tid, const char *name,
		      const char *suffix);

/* A point of a counter, which is a track of its own called by the two parts. */
void cot_events_counter(struct cot_events *e, unsigned pid, unsigned tid, uint64_t at_ps,
			const char *name, const char *suffix, double value);

#endif
