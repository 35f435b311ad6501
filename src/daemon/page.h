/*
 * The page that the daemon shares with one library (proto/proto.h), and the ring behind it.
 *
 * Who punches holes into a memfd holds up whoever touches it meanwhile, for as long as it is kept
 * from a processor. So what another user's library can write is not touched before it has
 * F_SEAL_FUTURE_WRITE: that forbids holes and new mappings, and leaves those that there are. The
 * library sets it once it has mapped the page. One that does not, of an earlier release or hostile,
 * is not frozen, since its lease is not renewed, and its requests are not measured.
 */
#ifndef COT_DAEMON_PAGE_H
#define COT_DAEMON_PAGE_H

#include <stdbool.h>

struct conn;
struct cot_page;
struct cot_ring;

/* Makes c->page, with a ring if the library's requests are measured. Returns the descriptor to hand
 * over, then for cot_page_handed_over(), or -errno. */
int cot_page_make(struct conn *c, bool measures);
void cot_page_handed_over(struct conn *c, int fd);

/* NULL: there is none, or it may not be touched yet. */
struct cot_page *cot_page_of(struct conn *c);
struct cot_ring *cot_page_ring(struct conn *c);

void cot_page_drop(struct conn *c);

#endif
