#include "daemon/access.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/tenant.h"

#define MAX_GROUPS 256

static bool is_admin(const struct conn *c)
{
	return c->uid == 0 || c->uid == geteuid();
}

static bool has_group(const struct cot_allow *allow, gid_t gid)
{
	uint32_t i;

	for (i = 0; i < allow->n_gids; i++)
		if (allow->gids[i] == gid)
			return true;
	return false;
}

static bool allowed(const struct conn *c, const struct cot_allow *allow)
{
	gid_t groups[MAX_GROUPS];
	socklen_t size = sizeof(groups);
	uint32_t i;

	if (allow->everybody || is_admin(c))
		return true;
	for (i = 0; i < allow->n_uids; i++)
		if (allow->uids[i] == c->uid)
			return true;
	if (has_group(allow, c->gid))
		return true;
	/* The peer's own list of groups, from the kernel: this asks no name service. */
	if (!allow->n_gids ||
	    getsockopt(c->source.fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (i = 0; i < size / sizeof(groups[0]); i++)
		if (has_group(allow, groups[i]))
			return true;
	return false;
}

int cot_access_claim(const struct conn *c, enum cot_class cls, uint32_t weight,
		     struct cot_error *err)
{
	const struct cot_config *config = &c->basis->config;
	bool latency = cls == COT_CLASS_LATENCY;

	if (!allowed(c, latency ? &config->latency : &config->batch))
		return cot_error_set(err, -EPERM,
				     "user %u may not run %s programs; the list 'allow.%s' in the "
				     "daemon's configuration says who may",
				     (unsigned)c->uid, cot_class_words[cls], cot_class_words[cls]);
	if (weight > config->max_weight && !is_admin(c))
		return cot_error_set(err, -EPERM,
				     "the weight %u is over the limit of %u that the daemon's "
				     "configuration sets",
				     weight, config->max_weight);
	return 0;
}

int cot_access_crowded(const struct conn *c, int rc, struct cot_error *err)
{
	if (rc == -EDQUOT)
		return cot_error_set(err, -EAGAIN,
				     "user %u has too many programs; each other user must have as "
				     "many places left",
				     (unsigned)c->uid);
	if (rc == -ENOSPC)
		return cot_error_set(err, -EAGAIN, "too many programs (%u at most)", MAX_TENANTS);
	return cot_error_set(err, -EAGAIN, "the process cannot be watched now: %s", strerror(-rc));
}

int cot_access_start(struct conn *c, struct cot_error *err)
{
	if (cot_account_take(&c->basis->account, c->uid, COT_RATE_STARTS, cot_now_ns()))
		return 0;
	return cot_error_set(err, -EAGAIN, "user %u starts programs too fast", (unsigned)c->uid);
}

int cot_access_reserve(enum cot_class cls, struct cot_error *err)
{
	if (cls == COT_CLASS_LATENCY)
		return 0;
	return cot_error_set(
		err, -EINVAL,
		"only a latency program may have a reservation; a batch program may have a quota");
}

int cot_access_target(enum cot_target_kind kind, enum cot_class cls, struct cot_error *err)
{
	return cot_target_suits(kind, cls) ? 0 : cot_error_set(err, -EINVAL, COT_TARGET_UNSUITED);
}

int cot_access_change(const struct conn *c, const struct tenant *t, struct cot_error *err)
{
	if (is_admin(c) || c->uid == t->uid)
		return 0;
	return cot_error_set(err, -EPERM, "the program '%s' belongs to another user", t->name);
}

int cot_access_admin(const struct conn *c, const char *what, struct cot_error *err)
{
	if (is_admin(c))
		return 0;
	return cot_error_set(err, -EPERM, "only root and the user of the daemon may change %s",
			     what);
}
