#include "daemon/news.h"

#include <errno.h>
#include <string.h>

#include "daemon/basis.h"
#include "daemon/log.h"
#include "daemon/roster.h"

/* ---- reasons ---- */

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

static void tell_stuck(struct roster *r, const struct cot_host_news *n)
{
	const struct cot_entity *e = cot_sched_entity(cot_host_sched(r->basis->host), n->entity);
	char name[COT_ROSTER_NAME_MAX];

	cot_roster_name(r, n->entity, name);
	if (n->action == COT_ACTION_FREEZE)
		log_warn("%s could not be frozen: %s; it is %s", name, cot_news_reason(n->status),
			 e && e->held ? "held, and the daemon repeats the order" : "thawed");
	else
		log_warn(
			"%s could not be thawed: %s; it may hang, and the daemon repeats the order",
			name, cot_news_reason(n->status));
}

static void tell_freed(struct roster *r, const struct cot_host_news *n)
{
	char name[COT_ROSTER_NAME_MAX];

	log_warn("%s could be %s again, after %.1f s and %lu failures",
		 cot_roster_name(r, n->entity, name),
		 n->action == COT_ACTION_FREEZE ? "frozen" : "thawed", (double)n->for_ns / 1e9,
		 (unsigned long)n->n);
}

static void tell_policy(struct roster *r, bool fell)
{
	const struct cot_sched *s = cot_host_sched(r->basis->host);
	const char *wanted = cot_sched_wanted_policy(s)->name;
	char name[COT_ROSTER_NAME_MAX] = "";
	struct cot_sched_fallback f;

	cot_sched_fallback(s, &f);
	if (!fell) {
		log_warn("the policy '%s' is used again", wanted);
		return;
	}
	if (f.entity)
		cot_roster_name(r, f.entity, name);
	log_error("the policy '%s' failed (%s: %s%s%s); '%s' took over", wanted,
		  cot_fault_name(f.fault), cot_news_fault(f.fault), *name ? ": " : "", name,
		  cot_sched_policy(s)->ops->name);
}

void cot_news_tell(struct roster *r, const struct cot_host_news *news)
{
	switch (news->kind) {
	case COT_HOST_STUCK:
		tell_stuck(r, news);
		break;
	case COT_HOST_FREED:
		tell_freed(r, news);
		break;
	case COT_HOST_FELL_BACK:
	case COT_HOST_RECOVERED:
		tell_policy(r, news->kind == COT_HOST_FELL_BACK);
		break;
	}
}
