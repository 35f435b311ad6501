#include "daemon/scrape.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/log.h"
#include "daemon/show.h"
#include "http/page.h"

/* After some time of work it rests for so many times as long; at most for REST_MAX_NS. */
#define REST	    9u
#define REST_MAX_NS (200 * COT_NS_PER_MS)

static char *make(void *arg)
{
	return cot_show_answer(arg, COT_QUERY_METRICS);
}

static void run(struct scrape *s)
{
	uint64_t now_ns = cot_now_ns(), begin_ns = cot_conn_clock_ns(), rest_ns;

	cot_http_run(s->http, now_ns);
	rest_ns = REST * (cot_conn_clock_ns() - begin_ns);
	if (rest_ns > REST_MAX_NS)
		rest_ns = REST_MAX_NS;
	if (!s->resting) /* nothing wakes the daemon for it meanwhile */
		(void)cot_loop_change(&s->conns->basis->loop, &s->source, 0);
	s->resting = true;
	cot_timer_set(&s->conns->basis->loop, &s->timer, cot_now_ns() + rest_ns);
}

static void ready(struct cot_source *source, uint32_t events)
{
	(void)events;
	run(COT_CONTAINER_OF(source, struct scrape, source));
}

/* The rest is over, or a connection has lasted long enough. */
static void fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct scrape *s = COT_CONTAINER_OF(timer, struct scrape, timer);
	uint64_t due_ns;

	if (s->resting)
		(void)cot_loop_change(&s->conns->basis->loop, &s->source, EPOLLIN);
	s->resting = false;
	due_ns = cot_http_due_ns(s->http, now_ns);
	if (due_ns <= now_ns)
		run(s);
	else if (due_ns != COT_NEVER)
		cot_timer_set(&s->conns->basis->loop, timer, due_ns);
}

static int serve(struct scrape *s, struct cot_error *err)
{
	static struct cot_http_page page = {.path = "/metrics",
					    .content_type =
						    "text/plain; version=0.0.4; charset=utf-8",
					    .make = make};
	int fd, rc = cot_listen_open(&s->at, s->mode, &fd, err);

	if (rc < 0)
		return rc;
	page.arg = s->conns;
	rc = cot_http_open(fd, &page, &s->http);
	if (rc < 0) {
		(void)close(fd);
		cot_listen_withdraw(&s->at);
		return cot_error_set(err, rc, "%s",
				     rc == -ENOSYS
					     ? "this cotenantd was built without libmicrohttpd"
					     : "libmicrohttpd does not start");
	}
	s->source = (struct cot_source){.fd = cot_http_fd(s->http), .ready = ready};
	s->timer.fire = fired;
	rc = cot_loop_add(&s->conns->basis->loop, &s->source, EPOLLIN);
	if (rc < 0)
		cot_scrape_close(s);
	return rc < 0 ? cot_error_set(err, rc, "%s", strerror(-rc)) : 0;
}

static bool is_same(const struct cot_listen *a, const struct cot_listen *b)
{
	return a->kind == b->kind && a->port == b->port && !strcmp(a->path, b->path);
}

void cot_scrape_set(struct scrape *s)
{
	const struct cot_config *config = &s->conns->basis->config;
	mode_t mode = config->other_users ? 0666 : 0600;
	struct cot_error err = {{0}};

	if (s->http && s->mode == mode && is_same(&s->at, &config->metrics))
		return;
	cot_scrape_close(s);
	s->at = config->metrics;
	s->mode = mode;
	if (s->at.kind == COT_LISTEN_NOT)
		return;
	if (serve(s, &err) < 0)
		log_error("no /metrics: %s", err.text);
	else if (s->at.kind == COT_LISTEN_UNIX)
		log_info("/metrics is on %s", s->at.path);
	else
		log_info("/metrics is on port %u of this machine", s->at.port);
}

void cot_scrape_close(struct scrape *s)
{
	if (!s->http)
		return;
	cot_timer_clear(&s->timer);
	cot_loop_remove(&s->conns->basis->loop, &s->source);
	cot_listen_withdraw(&s->at);
	cot_http_close(s->http);
	s->http = NULL;
	s->resting = false;
}
