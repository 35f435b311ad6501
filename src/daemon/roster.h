/*
 * Who is there: the tables of programs and pools, whose numbers are out of one row, since the core
 * knows both by them; and what programs and pools have in common.
 */
#ifndef COT_DAEMON_ROSTER_H
#define COT_DAEMON_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/energy.h"
#include "daemon/keeper.h"
#include "daemon/outlive.h"
#include "daemon/pool.h"
#include "daemon/state.h"
#include "daemon/tenant.h"

#define COT_ROSTER_NAME_MAX 96

struct basis;
struct conns;

struct roster {
	struct basis *basis;
	struct conns *conns; /* the libraries of programs and pools are among them */
	uint32_t next_id;
	struct state_file state;
	/* programs */
	struct tenant tenants[MAX_TENANTS];
	struct outlive outlive;
	struct cot_timer stops; /* while orders are late: looks whether programs are stopped */
	struct cot_timer idle;	/* since the last program has ended */
	struct cot_timer looks; /* at requests, while any are measured */
	struct cot_timer rates; /* how fast programs get on, while any have a shim and do */
	uint32_t exit_idle_ms;	/* 0 = never */
	struct energy energy;
	/* pools */
	struct pool pools[MAX_POOLS];
	void (*pool_settled)(struct pool *p); /* it came up or failed */
	struct keeper keeper;
	bool no_multiuser; /* the MPS control program does not know it */
	bool mps_failed;   /* rotation takes over until a pool comes up */
};

/* Those that are there. */
#define for_each_tenant(t, roster)                                                  \
	for ((t) = (roster)->tenants; (t) < (roster)->tenants + MAX_TENANTS; (t)++) \
		if (!(t)->id) {                                                     \
		} else

#define for_each_pool(p, roster)                                              \
	for ((p) = (roster)->pools; (p) < (roster)->pools + MAX_POOLS; (p)++) \
		if (!(p)->id) {                                               \
		} else

/* NULL: there is none of that number. */
struct tenant *cot_roster_tenant(struct roster *r, uint64_t id);
struct pool *cot_roster_pool(struct roster *r, uint64_t id);
/* What the user calls a program or pool. */
const char *cot_roster_name(struct roster *r, uint32_t id, char text[COT_ROSTER_NAME_MAX]);
/* A number that no program and no pool has. */
uint32_t cot_roster_new_id(struct roster *r);
/* A number that was given out before: new ones come after it. */
void cot_roster_old_id(struct roster *r, uint32_t id);

#endif
