/*
 * What each user takes of the daemon. Places and bytes are charged and released; the daemon's time,
 * changes and lines of the log have a rate for each user. No clock, no sockets: times are
 * arguments.
 *
 * A charge passes if as much would be left for every user that has some and for one more (as in
 * dbus-broker): the first user gets at most half, and a newcomer always finds a part of what is
 * left. `reserve` of each kind is only for root and the daemon's own user, whom only the total
 * limits.
 */
#ifndef COT_DAEMON_ACCOUNT_H
#define COT_DAEMON_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum cot_account_kind {
	COT_ACCOUNT_CONNS,
	COT_ACCOUNT_PROGRAMS,
	COT_ACCOUNT_WORKS,
	COT_ACCOUNT_QUERIES,
	COT_ACCOUNT_BYTES, /* of answers that the peer has not read yet */
	COT_ACCOUNT_KINDS,
};

enum cot_account_rate {
	COT_RATE_TIME,	  /* ns of the daemon's processor */
	COT_RATE_CHANGES, /* set, freeze, thaw */
	COT_RATE_STARTS,  /* programs that come */
	COT_RATE_LINES,	  /* of the log, about mistakes */
	COT_ACCOUNT_RATES,
};

struct cot_account_limit {
	uint64_t all, reserve;
};

/* `burst` at once, and one more every `interval_ns`. */
struct cot_account_pace {
	uint64_t interval_ns, burst;
};

/* A user who has something, or had lately. It stays where it is as long as something is charged to
 * it. */
struct cot_user {
	bool known;
	uid_t uid;
	uint64_t used[COT_ACCOUNT_KINDS];
	/* When all that was spent will have been paid back; not after now: the full burst is there.
	 */
	uint64_t paid_ns[COT_ACCOUNT_RATES];
	uint64_t n_refused; /* charges and spendings */
};

/* At most one user per connection and program has something charged, so there is always room. */
#define COT_ACCOUNT_USERS 640u

struct cot_account {
	uid_t own; /* the daemon's user */
	struct cot_account_limit limits[COT_ACCOUNT_KINDS];
	struct cot_account_pace paces[COT_ACCOUNT_RATES];
	uint64_t used[COT_ACCOUNT_KINDS];
	unsigned n_users[COT_ACCOUNT_KINDS]; /* those with some, root and the own user left out */
	struct cot_user users[COT_ACCOUNT_USERS];
};

/* With the limits that docs/security.md lists. */
void cot_account_init(struct cot_account *a, uid_t own);
/* Root, and the daemon's own user. */
bool cot_account_is_privileged(const struct cot_account *a, uid_t uid);

/* -EDQUOT: that user's part is used up. -ENOSPC: all is, but for the reserve. */
int cot_account_charge(struct cot_account *a, uid_t uid, enum cot_account_kind kind, uint64_t n);
/* Of what the user had when the daemon before this one ended: only the total limits it. */
int cot_account_restore(struct cot_account *a, uid_t uid, enum cot_account_kind kind, uint64_t n);
/* What was charged before. */
void cot_account_release(struct cot_account *a, uid_t uid, enum cot_account_kind kind, uint64_t n);
uint64_t cot_account_used(const struct cot_account *a, uid_t uid, enum cot_account_kind kind);

/* Counts what has happened, whatever was left. Not of the privileged. */
void cot_account_spend(struct cot_account *a, uid_t uid, enum cot_account_rate rate, uint64_t n,
		       uint64_t now_ns);
/* How long until the user may spend again; 0: now. */
uint64_t cot_account_wait_ns(const struct cot_account *a, uid_t uid, enum cot_account_rate rate,
			     uint64_t now_ns);
/* Spends one if that may be. */
bool cot_account_take(struct cot_account *a, uid_t uid, enum cot_account_rate rate,
		      uint64_t now_ns);

#endif
