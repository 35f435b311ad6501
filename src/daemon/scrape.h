/*
 * /metrics: serves what show.c says to collectors, where the configuration wants it (http/page.h).
 * It takes a tenth of the daemon's time at most, however many ask.
 */
#ifndef COT_DAEMON_SCRAPE_H
#define COT_DAEMON_SCRAPE_H

#include <stdbool.h>

#include "daemon/listen.h"
#include "daemon/loop.h"

struct conns;
struct cot_http;

struct scrape {
	struct conns *conns;
	struct cot_http *http; /* NULL: not served */
	struct cot_listen at;
	mode_t mode;
	struct cot_source source;
	struct cot_timer timer;
	bool resting; /* its part of the time is used up */
};

/* As the configuration says now. If that cannot be, the log says so: programs go on without it. */
void cot_scrape_set(struct scrape *s);
void cot_scrape_close(struct scrape *s);

#endif
