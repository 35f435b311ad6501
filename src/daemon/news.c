/*
 * What the host tells, as lines of the log: freezes and thaws that fail, and a policy that goes
 * wrong.
 */
#include "daemon/news.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/host.h"
#include "daemon/log.h"
#include "daemon/pool.h"
#include "daemon/tenant.h"

/* ---- names ---- */

const char *cot_news_entity(struct daemon *d, uint32_t id, char text[COT_NEWS_NAME_MAX])
{
	const struct pool *p = cot_pool_find(d, id);
	const struct tenant *t = cot_tenant_find(d, id);

	if (p)
		(void)snprintf(text, COT_NEWS_NAME_MAX, "pool:%s:%u", p->name, p->gpu);
	else if (t)
		(void)snprintf(text, COT_NEWS_NAME_MAX, "'%s' (id %u)", t->name, id);
	else
		(void)snprintf(text, COT_NEWS_NAME_MAX, "id %u", id);
	return text;
}

const char *cot_news_reason(int status)
{
	switch (status) {
	case -ETIMEDOUT:
		return "its library did not answer in time";
	case -EPIPE:
	case -ENOBUFS:
		return "the order could not be sent to its library";
	case -EAGAIN:
		return "it sets up channels";
	default:
		return strerror(-status);
	}
}

const char *cot_news_fault(enum cot_fault fault)
{
	switch (fault) {
	case COT_FAULT_INIT:
		return "it could not start";
	case COT_FAULT_STALL:
		return "work waited and none ran";
	case COT_FAULT_STARVED:
		return "a program was kept off the GPU for too long";
	case COT_FAULT_WRONG:
		return "it asked for something impossible";
	case COT_FAULT_STORM:
		return "it gave too many orders";
	default:
		return "nothing";
	}
}

/* ---- what the host tells ---- */

static void tell_stuck(struct daemon *d, const struct cot_host_news *n)
{
	const struct cot_entity *e = cot_sched_entity(cot_host_sched(d->host), n->entity);
	char name[COT_NEWS_NAME_MAX];

	cot_news_entity(d, n->entity, name);
	if (n->action == COT_ACTION_FREEZE)
		log_warn("%s could not be frozen: %s; it is %s", name, cot_news_reason(n->status),
			 e && e->held ? "held, and the daemon repeats the order" : "thawed");
	else
		log_warn(
			"%s could not be thawed: %s; it may hang, and the daemon repeats the order",
			name, cot_news_reason(n->status));
}

static void tell_freed(struct daemon *d, const struct cot_host_news *n)
{
	char name[COT_NEWS_NAME_MAX];

	log_warn("%s could be %s again, after %.1f s and %lu failures",
		 cot_news_entity(d, n->entity, name),
		 n->action == COT_ACTION_FREEZE ? "frozen" : "thawed", (double)n->for_ns / 1e9,
		 (unsigned long)n->n);
}

static void tell_policy(struct daemon *d, bool fell)
{
	const struct cot_sched *s = cot_host_sched(d->host);
	const char *wanted = cot_sched_wanted_policy(s)->name;
	char name[COT_NEWS_NAME_MAX] = "";
	struct cot_sched_fallback f;

	cot_sched_fallback(s, &f);
	if (!fell) {
		log_warn("the policy '%s' is used again", wanted);
		return;
	}
	if (f.entity)
		cot_news_entity(d, f.entity, name);
	log_error("the policy '%s' failed (%s: %s%s%s); '%s' took over", wanted,
		  cot_fault_name(f.fault), cot_news_fault(f.fault), *name ? ": " : "", name,
		  cot_sched_policy(s)->ops->name);
}

void cot_news_tell(void *arg, const struct cot_host_news *news)
{
	struct daemon *d = arg;

	switch (news->kind) {
	case COT_HOST_STUCK:
		tell_stuck(d, news);
		break;
	case COT_HOST_FREED:
		tell_freed(d, news);
		break;
	case COT_HOST_FELL_BACK:
	case COT_HOST_RECOVERED:
		tell_policy(d, news->kind == COT_HOST_FELL_BACK);
		break;
	}
}
