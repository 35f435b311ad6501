/*
 * What the units of the daemon stand on: the event loop, the policy core's host, accounts, the
 * configuration, the GPUs, and where things are. There is one for all of them, and most need some
 * of it. It knows nothing of programs, pools and connections.
 */
#ifndef COT_DAEMON_BASIS_H
#define COT_DAEMON_BASIS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/account.h"
#include "daemon/config.h"
#include "daemon/gpus.h"
#include "daemon/host.h"
#include "daemon/known.h"
#include "daemon/loop.h"
#include "daemon/paths.h"
#include "daemon/spare.h"
#include "daemon/watch.h"

struct basis {
	struct cot_loop loop;
	struct watches watches;
	struct cot_spares spares;
	struct cot_host *host;
	struct cot_account account;
	struct cot_config config;
	const struct cot_policy_ops *by_user; /* chosen while we run, or NULL: choose.h */
	struct cot_gpus gpus;
	struct known known; /* of programs, as the configuration says */
	char config_path[COT_PATH_TEXT_MAX];
	char runtime[COT_PATH_TEXT_MAX], socket_path[COT_PATH_TEXT_MAX];
	char library[COT_PATH_TEXT_MAX]; /* empty when it was not found */
	uint64_t start_ns;
	int look_ms;	   /* how long a look at one process may hold the daemon up */
	int64_t started_s; /* as Unix time; 0 = not known */
	bool stopping;	   /* the daemon ends */
};

/* Makes all of it that does not need the others: not the host. 0, or -errno of the loop. */
int cot_basis_begin(struct basis *b);
void cot_basis_end(struct basis *b);

#endif
