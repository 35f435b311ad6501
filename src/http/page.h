/*
 * One page over HTTP, for collectors of metrics: GET of one path gives a text that is made when it
 * is asked for. By libmicrohttpd, without threads: whoever has an event loop watches a descriptor
 * and calls cot_http_run().
 *
 * What visitors can take is bounded: COT_HTTP_VISITS connections, each for COT_HTTP_VISIT_NS and
 * one request, with a few KB of buffers; the text is made every COT_HTTP_FRESH_NS at most. More
 * connections wait in the kernel. Nothing here waits.
 */
#ifndef COT_HTTP_PAGE_H
#define COT_HTTP_PAGE_H

#include <stdint.h>

#define COT_HTTP_VISITS	  16u
#define COT_HTTP_VISIT_NS 5000000000ull
#define COT_HTTP_FRESH_NS 200000000ull

struct cot_http;

struct cot_http_page {
	const char *path, *content_type;
	/* The text, allocated by malloc(). NULL: not now. */
	char *(*make)(void *arg);
	void *arg;
};

/* Serves on a socket that listens and does not block, and takes it over. `page` must stay. 0,
 * -ENOSYS: built without libmicrohttpd; -EIO. On failure the socket is the caller's. */
int cot_http_open(int listener, const struct cot_http_page *page, struct cot_http **ret_http);
/* Ends all connections. NULL is fine. */
void cot_http_close(struct cot_http *http);

/* Readable when there is something to do. */
int cot_http_fd(const struct cot_http *http);
/* Does what can be done now. */
void cot_http_run(struct cot_http *http, uint64_t now_ns);
/* When to run at the latest, even if the descriptor is not readable. UINT64_MAX: never. */
uint64_t cot_http_due_ns(const struct cot_http *http, uint64_t now_ns);

#endif
