/*
 * How long the requests of one program took, over the last 1 s, 10 s and minute. The daemon and the
 * simulator's host have one for each program whose requests they see, and tell its policy. Pure:
 * the time is an argument. Not thread-safe.
 *
 * There are two figures of a request, which are never mixed. The *response* counts from the
 * request's arrival: it contains the time in which the request waited in its program's own queue,
 * and a target is about it. The *service* counts from when the program began with it. Whoever does
 * not know when a request arrived does not know its response.
 *
 * A window is made of slots, a tenth of its horizon each; it has the current slot and the ten
 * before. So it looks back at least as far as its horizon, and up to a tenth further; at the end of
 * a slot exactly as far. Each slot counts its requests in log-linear buckets, 32 per power of two.
 * A percentile is the middle of a bucket: at most 1.6 % off for times from 0.5 us to 137 s (shorter
 * ones are at most 8 ns off, longer ones count as 137 s). Memory is about 250 KB, allocated by
 * cot_requests_create(); nothing grows.
 */
#ifndef COT_METRICS_REQUESTS_H
#define COT_METRICS_REQUESTS_H

#include <cotenant/words.h>
#include <stdbool.h>
#include <stddef.h>

struct cot_requests;

/* Both figures of one horizon. `response` has requests whose arrival is known only. */
struct cot_requests_window {
	enum cot_horizon horizon;
	struct cot_times response, service;
};

struct cot_requests *cot_requests_create(void); /* NULL when out of memory */
void cot_requests_destroy(struct cot_requests *r);
/* As it was at first, but for the target and the time. */
void cot_requests_clear(struct cot_requests *r);

/* For requests that end from now on. COT_NEVER, at first: there is none. */
void cot_requests_set_target(struct cot_requests *r, uint64_t target_ns);

/* A request ended at `now_ns`. response_ns is COT_NEVER if its arrival is not known. A time before
 * the last one counts as the last one, here and below. */
void cot_requests_add(struct cot_requests *r, uint64_t now_ns, uint64_t response_ns,
		      uint64_t service_ns);

/* The window as it is now. */
void cot_requests_read(struct cot_requests *r, uint64_t now_ns, enum cot_horizon horizon,
		       struct cot_requests_window *ret_window);

/*
 * For those who pass windows on: takes one that is due at `now_ns`, or returns false. A window is
 * due when a slot of it ends, at most once in half a slot: when nothing is late, that of 1 s is
 * every 0.1 s, that of a minute every 6 s. One without requests is due once; then
 * cot_requests_due_ns() is COT_NEVER until the next request ends.
 */
bool cot_requests_take(struct cot_requests *r, uint64_t now_ns,
		       struct cot_requests_window *ret_window);
uint64_t cot_requests_due_ns(const struct cot_requests *r);

#endif
