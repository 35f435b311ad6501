/*
 * The requests of a process, on their way to the daemon: a ring behind the page that the two share
 * (proto.h), only for a program that is measured. The process writes entry after entry, from any
 * thread, without waiting; the daemon looks now and then. What it has not seen when the ring comes
 * round is lost, and counted.
 *
 * The reader believes nothing: whatever the bytes are, it reads at most COT_RING_ENTRIES entries at
 * a time, and gives out requests whose times are possible. Pure, no allocation.
 */
#ifndef COT_PROTO_RING_H
#define COT_PROTO_RING_H

#include <stdint.h>

#include "base/words.h"
#include "proto/proto.h"

#define COT_RING_ENTRIES 1024u
#define COT_RING_OFFSET	 4096u /* in the mapping, of whole pages */

/* Times are CLOCK_MONOTONIC. */
struct cot_ring_request {
	uint64_t arrival_ns; /* 0: not known */
	uint64_t begin_ns, end_ns;
	uint64_t is_burst; /* 0: the program has marked it; 1: it was seen from outside */
};

struct cot_ring_entry {
	_Atomic uint64_t number; /* of the request, from 1 on; 0: it is being written */
	_Atomic uint64_t arrival_ns, begin_ns, end_ns, is_burst;
};

struct cot_ring {
	_Atomic uint64_t head;	    /* requests that were written, or are just being written */
	_Atomic uint64_t n_dropped; /* ends of requests that had not begun, or had no place */
	_Atomic uint64_t
		n_unclear; /* how often requests that were not marked ran into each other */
	struct cot_ring_entry entries[COT_RING_ENTRIES];
};

/* Of the mapping; the `page_size` of a WELCOME with a ring. */
#define COT_RING_MAPPING (COT_RING_OFFSET + (uint32_t)sizeof(struct cot_ring))

_Static_assert(sizeof(struct cot_page) <= COT_RING_OFFSET, "the page comes first");
_Static_assert(COT_RING_MAPPING <= 65536, "libraries take no larger one");

void cot_ring_put(struct cot_ring *ring, const struct cot_ring_request *r);

/* The reader's; all 0 at first. */
struct cot_ring_reader {
	uint64_t next;	     /* how many it has seen, or given up */
	uint64_t waits_for;  /* the entry that was being written at the last look; 0: none */
	uint64_t n_lost;     /* written over before they were read, or never finished */
	uint64_t n_rejected; /* impossible times */
};

/* How far a look goes; take the time after it, so that no request ends in the future. */
uint64_t cot_ring_head(const struct cot_ring *ring);
/* The next requests before `head`, `max` at most: how many they are. */
unsigned cot_ring_read(struct cot_ring *ring, struct cot_ring_reader *reader, uint64_t head,
		       uint64_t now_ns, struct cot_ring_request *ret_requests, unsigned max);

#endif
