/*
 * The requests that a program marks: from any of its threads, with an id for those that overlap. No
 * locks, no allocation, no waiting. Until the daemon is there, and after it is lost, the last ones
 * are kept and handed over later.
 */
#ifndef COT_GUEST_MARKS_H
#define COT_GUEST_MARKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A request without a known arrival has 0. One that is open with this id begins anew. Some hundreds
 * may be open at a time; the end of one that had no place, or has not begun, is counted.
 */
void cot_marks_begin(uint64_t id, uint64_t arrival_ns, uint64_t now_ns);
void cot_marks_end(uint64_t id, uint64_t now_ns);

/*
 * One that was seen from outside (shim/burst.h), and how often it was unclear where one ends. They
 * are left out from the first mark on: the program knows better.
 */
void cot_marks_seen(uint64_t begin_ns, uint64_t end_ns);
void cot_marks_unclear(uint64_t n);

/*
 * Who is told of each mark, after it was taken: the shim, while the daemon wants to hear of
 * requests while they run. Shared by the two libraries: members come at the end.
 */
struct cot_request_watch {
	void (*begin)(uint64_t id, uint64_t arrival_ns, uint64_t now_ns);
	void (*size)(uint64_t id, uint64_t size);
	void (*end)(uint64_t id, uint64_t now_ns);
};

/* Whether there ever was a mark. */
bool cot_marks_any(void);

/* The daemon has given a page of this size: from now on into its ring, if there is one. 0 or
 * -errno: they are kept, as before. */
int cot_marks_attach(int fd, uint32_t page_size);
/* The daemon is lost. */
void cot_marks_detach(void);
/* In the child of a fork: nothing of the parent's is its own. */
void cot_marks_forget(void);

#endif
