#include "daemon/account.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cotenant/policy.h"
#include "daemon/host.h"

#define MS 1000000ull
/* No user waits longer than this for what it spent at once. */
#define DEBT_MAX_NS (1000 * MS)

static const struct cot_account_limit default_limits[COT_ACCOUNT_KINDS] = {
	[COT_ACCOUNT_CONNS] = {COT_HOST_MAX_MEMBERS, 16},
	[COT_ACCOUNT_PROGRAMS] = {COT_SCHED_MAX_TENANTS, 16},
	[COT_ACCOUNT_WORKS] = {COT_SCHED_MAX_WORKS, 128},
	[COT_ACCOUNT_QUERIES] = {COT_SCHED_MAX_QUERIES, 16},
	[COT_ACCOUNT_BYTES] = {16u << 20, 4u << 20},
};

static const struct cot_account_pace default_paces[COT_ACCOUNT_RATES] = {
	[COT_RATE_TIME] = {2, 3 * MS}, /* half of a processor */
	[COT_RATE_CHANGES] = {100 * MS, 60},
	[COT_RATE_STARTS] = {50 * MS, 128},
	[COT_RATE_LINES] = {2500 * MS, 8},
};

void cot_account_init(struct cot_account *a, uid_t own)
{
	*a = (struct cot_account){.own = own};
	memcpy(a->limits, default_limits, sizeof(a->limits));
	memcpy(a->paces, default_paces, sizeof(a->paces));
}

bool cot_account_is_privileged(const struct cot_account *a, uid_t uid)
{
	return uid == 0 || uid == a->own;
}

static struct cot_user *find(const struct cot_account *a, uid_t uid)
{
	unsigned i;

	for (i = 0; i < COT_ACCOUNT_USERS; i++)
		if (a->users[i].known && a->users[i].uid == uid)
			return (struct cot_user *)&a->users[i];
	return NULL;
}

static bool has_some(const struct cot_user *u)
{
	unsigned i;

	for (i = 0; i < COT_ACCOUNT_KINDS; i++)
		if (u->used[i])
			return true;
	return false;
}

/* When nothing that it spent counts any longer. */
static uint64_t forgotten_ns(const struct cot_user *u)
{
	uint64_t last_ns = 0;
	unsigned i;

	for (i = 0; i < COT_ACCOUNT_RATES; i++)
		if (u->paid_ns[i] > last_ns)
			last_ns = u->paid_ns[i];
	return last_ns;
}

/* An unused place, else that of the user who has nothing and whose debts end first: a user who
 * comes with another connection each time keeps its debts. NULL if every user has something. */
static struct cot_user *find_or_make(struct cot_account *a, uid_t uid)
{
	struct cot_user *u = find(a, uid);
	unsigned i;

	if (u)
		return u;
	for (i = 0; i < COT_ACCOUNT_USERS; i++) {
		struct cot_user *other = &a->users[i];

		if (!other->known) {
			u = other;
			break;
		}
		if (!has_some(other) && (!u || forgotten_ns(other) < forgotten_ns(u)))
			u = other;
	}
	if (u)
		*u = (struct cot_user){.known = true, .uid = uid};
	return u;
}

/* ---- what is charged ---- */

/* After the charge as much as the user then has must be left for each user, and for one more. Is
 * called when `n` fits into what is left. */
static bool leaves_enough(const struct cot_account *a, const struct cot_user *u,
			  enum cot_account_kind kind, uint64_t n)
{
	uint64_t left = a->limits[kind].all - a->limits[kind].reserve - a->used[kind];
	uint64_t others = a->n_users[kind] - (u->used[kind] != 0);
	uint64_t want = u->used[kind] + n;

	/* want * (others + 2) - used <= left, and no overflow */
	return want <= (left + u->used[kind]) / (others + 2);
}

static int refuse(struct cot_user *u, int why)
{
	if (u)
		u->n_refused++;
	return why;
}

static int charge(struct cot_account *a, uid_t uid, enum cot_account_kind kind, uint64_t n,
		  bool had)
{
	bool privileged = cot_account_is_privileged(a, uid);
	uint64_t open = a->limits[kind].all - (privileged ? 0 : a->limits[kind].reserve);
	struct cot_user *u = find_or_make(a, uid);

	if (!u || n > open || a->used[kind] > open - n)
		return refuse(u, -ENOSPC);
	if (!privileged && !had && !leaves_enough(a, u, kind, n))
		return refuse(u, -EDQUOT);
	if (!u->used[kind] && n && !privileged)
		a->n_users[kind]++;
	u->used[kind] += n;
	a->used[kind] += n;
	return 0;
}

int cot_account_charge(struct cot_account *a, uid_t uid, enum cot_account_kind kind, uint64_t n)
{
	return charge(a, uid, kind, n, false);
}

int cot_account_restore(struct cot_account *a, uid_t uid, enum cot_account_kind kind, uint64_t n)
{
	return charge(a, uid, kind, n, true);
}

void cot_account_release(struct cot_account *a, uid_t uid, enum cot_account_kind kind, uint64_t n)
{
	struct cot_user *u = find(a, uid);

	if (!u || !n || n > u->used[kind])
		return;
	u->used[kind] -= n;
	a->used[kind] -= n;
	if (!u->used[kind] && !cot_account_is_privileged(a, uid))
		a->n_users[kind]--;
}

uint64_t cot_account_used(const struct cot_account *a, uid_t uid, enum cot_account_kind kind)
{
	const struct cot_user *u = find(a, uid);

	return u ? u->used[kind] : 0;
}

/* ---- what is spent ---- */

void cot_account_spend(struct cot_account *a, uid_t uid, enum cot_account_rate rate, uint64_t n,
		       uint64_t now_ns)
{
	const struct cot_account_pace *pace = &a->paces[rate];
	uint64_t most_ns = now_ns + pace->burst * pace->interval_ns + DEBT_MAX_NS;
	struct cot_user *u;

	if (!n || cot_account_is_privileged(a, uid))
		return;
	u = find_or_make(a, uid);
	if (!u)
		return;
	if (u->paid_ns[rate] < now_ns)
		u->paid_ns[rate] = now_ns;
	if (u->paid_ns[rate] >= most_ns || n > (most_ns - u->paid_ns[rate]) / pace->interval_ns)
		u->paid_ns[rate] = most_ns;
	else
		u->paid_ns[rate] += n * pace->interval_ns;
}

uint64_t cot_account_wait_ns(const struct cot_account *a, uid_t uid, enum cot_account_rate rate,
			     uint64_t now_ns)
{
	const struct cot_account_pace *pace = &a->paces[rate];
	uint64_t burst_ns = (pace->burst - 1) * pace->interval_ns;
	const struct cot_user *u = find(a, uid);

	if (!u || u->paid_ns[rate] <= now_ns || u->paid_ns[rate] - now_ns <= burst_ns)
		return 0;
	return u->paid_ns[rate] - now_ns - burst_ns;
}

bool cot_account_take(struct cot_account *a, uid_t uid, enum cot_account_rate rate, uint64_t now_ns)
{
	if (cot_account_wait_ns(a, uid, rate, now_ns)) {
		find(a, uid)->n_refused++;
		return false;
	}
	cot_account_spend(a, uid, rate, 1, now_ns);
	return true;
}
