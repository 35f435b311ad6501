#include "http/page.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* For the headers of a request and of the answer. */
#define BUFFER_BYTES 4096u

struct visit {
	int fd; /* -1: free */
	uint64_t since_ns;
};

struct cot_http {
	struct MHD_Daemon *mhd;
	const struct cot_http_page *page;
	struct MHD_Response *fresh; /* the page as it was at `made_ns`; NULL: not made yet */
	uint64_t made_ns, now_ns;
	unsigned n_visits;
	struct visit visits[COT_HTTP_VISITS];
};

/* ---- answers ---- */

/* Each connection is for one request, so that a collector that keeps its connection takes no place.
 */
static struct MHD_Response *response(char *text, enum MHD_ResponseMemoryMode mode, const char *type)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), text, mode);

	if (!r) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return NULL;
	}
	if (MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
	    MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES &&
	    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff") == MHD_YES)
		return r;
	MHD_destroy_response(r);
	return NULL;
}

static void forget(struct cot_http *h)
{
	if (h->fresh)
		MHD_destroy_response(h->fresh); /* lasts until nobody reads it any more */
	h->fresh = NULL;
}

static bool refresh(struct cot_http *h)
{
	char *text;

	if (h->fresh && h->now_ns - h->made_ns < COT_HTTP_FRESH_NS)
		return true;
	forget(h);
	text = h->page->make(h->page->arg);
	if (!text)
		return false;
	h->fresh = response(text, MHD_RESPMEM_MUST_FREE, h->page->content_type);
	h->made_ns = h->now_ns;
	return h->fresh != NULL;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *text)
{
	struct MHD_Response *r =
		response((char *)text, MHD_RESPMEM_PERSISTENT, "text/plain; charset=utf-8");
	enum MHD_Result result = MHD_NO;

	if (r && (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
		  MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES))
		result = MHD_queue_response(c, status, r);
	if (r)
		MHD_destroy_response(r);
	return result;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **ret_state)
{
	struct cot_http *h = arg;

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)ret_state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "Expected GET.\n");
	if (strcmp(url, h->page->path) != 0)
		return say(c, MHD_HTTP_NOT_FOUND, "Not here. Metrics are at /metrics.\n");
	if (!refresh(h))
		return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, "Out of memory.\n");
	return MHD_queue_response(c, MHD_HTTP_OK, h->fresh);
}

/* ---- visits ---- */

static void come_or_go(void *arg, struct MHD_Connection *c, void **socket_context,
		       enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct cot_http *h = arg;
	struct visit *v = *socket_context;
	unsigned i;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED && v) {
		v->fd = -1;
		h->n_visits--;
	}
	if (code != MHD_CONNECTION_NOTIFY_STARTED)
		return;
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	for (i = 0; i < COT_HTTP_VISITS && info; i++) {
		v = &h->visits[i];
		if (v->fd >= 0)
			continue;
		*v = (struct visit){.fd = info->connect_fd, .since_ns = h->now_ns};
		*socket_context = v;
		h->n_visits++;
		return;
	}
}

/* Who sends or reads too slowly: libmicrohttpd sees the end of the connection, and frees it. */
static void end_long_visits(struct cot_http *h)
{
	struct visit *v;

	for (v = h->visits; v < h->visits + COT_HTTP_VISITS; v++) {
		if (v->fd < 0 || h->now_ns - v->since_ns < COT_HTTP_VISIT_NS)
			continue;
		(void)shutdown(v->fd, SHUT_RDWR);
		v->since_ns = h->now_ns; /* not again at once */
	}
}

/* ---- life ---- */

int cot_http_open(int listener, const struct cot_http_page *page, struct cot_http **ret_http)
{
	struct cot_http *h = calloc(1, sizeof(*h));
	unsigned i;

	if (!h)
		return -ENOMEM;
	h->page = page;
	for (i = 0; i < COT_HTTP_VISITS; i++)
		h->visits[i].fd = -1;
	h->mhd = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, h, MHD_OPTION_LISTEN_SOCKET,
				  listener, MHD_OPTION_CONNECTION_LIMIT, COT_HTTP_VISITS,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)BUFFER_BYTES,
				  MHD_OPTION_CONNECTION_TIMEOUT,
				  (unsigned)(COT_HTTP_VISIT_NS / 1000000000u),
				  MHD_OPTION_NOTIFY_CONNECTION, come_or_go, h, MHD_OPTION_END);
	if (!h->mhd) {
		free(h);
		return -EIO;
	}
	*ret_http = h;
	return 0;
}

void cot_http_close(struct cot_http *http)
{
	if (!http)
		return;
	MHD_stop_daemon(http->mhd);
	forget(http);
	free(http);
}

int cot_http_fd(const struct cot_http *http)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->mhd, MHD_DAEMON_INFO_EPOLL_FD);

	return info ? info->epoll_fd : -1;
}

void cot_http_run(struct cot_http *http, uint64_t now_ns)
{
	unsigned before;

	http->now_ns = now_ns;
	end_long_visits(http);
	do { /* where there was no place for more, it listens again in the next round only */
		before = http->n_visits;
		(void)MHD_run(http->mhd);
	} while (http->n_visits < before);
}

uint64_t cot_http_due_ns(const struct cot_http *http, uint64_t now_ns)
{
	MHD_UNSIGNED_LONG_LONG ms;
	uint64_t due_ns = UINT64_MAX;
	const struct visit *v;

	for (v = http->visits; v < http->visits + COT_HTTP_VISITS; v++)
		if (v->fd >= 0 && v->since_ns + COT_HTTP_VISIT_NS < due_ns)
			due_ns = v->since_ns + COT_HTTP_VISIT_NS;
	if (MHD_get_timeout(http->mhd, &ms) == MHD_YES && now_ns + ms * 1000000u < due_ns)
		due_ns = now_ns + ms * 1000000u;
	return due_ns;
}
