/* The configuration of cotenantd: a YAML file, cotenantd.conf(5), or the defaults. The daemon owns
 * it, and reads it at the start and on SIGHUP. */
#ifndef COT_DAEMON_CONFIG_H
#define COT_DAEMON_CONFIG_H

#include <cotenant/policy.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/listen.h"
#include "daemon/paths.h"
#include "daemon/rules.h"
#include "proto/proto.h"

#define COT_CONFIG_SCHEMA      "cotenantd/1"
#define COT_CONFIG_NAMES_MAX   64u
#define COT_CONFIG_TARGETS_MAX 64u
#define COT_CONFIG_KNOWN_MAX   32u

/* Users and groups that may do something. `everybody` overrides the lists. */
struct cot_allow {
	bool everybody;
	uint32_t n_uids, n_gids;
	uid_t uids[COT_CONFIG_NAMES_MAX];
	gid_t gids[COT_CONFIG_NAMES_MAX];
};

/* The target of programs of this name, this class, or both, that were started without one. */
struct cot_config_target {
	char name[COT_PROTO_NAME_MAX]; /* empty: any */
	bool any_class;
	enum cot_class cls;
	struct cot_target target;
};

/* Where it stands what is known of programs of this name: known.h. */
struct cot_config_known {
	char name[COT_PROTO_NAME_MAX];
	char file[COT_PATH_TEXT_MAX];
};

struct cot_config {
	const struct cot_policy_ops *policy; /* that is meant to be at work: choose.h */
	const struct cot_policy_ops *named;  /* by the file; NULL: it names none */
	struct cot_policy_config numbers;
	bool use_mps;
	char mps_program[COT_PATH_TEXT_MAX];
	bool multiuser;	     /* one MPS server for programs of several users, where it can be */
	uint32_t linger_s;   /* a pool without tenants is stopped after this long */
	uint32_t max_weight; /* that a user may give to a program */
	bool other_users;    /* may connect at all */
	struct cot_allow latency, batch;
	struct cot_listen metrics; /* where they are served */
	uint32_t n_targets;
	struct cot_config_target targets[COT_CONFIG_TARGETS_MAX];
	uint32_t n_known;
	struct cot_config_known known[COT_CONFIG_KNOWN_MAX];
	struct cot_rules kernels;
	uint32_t gpu_memory_mib;   /* that each GPU has; 0: as programs with a bound say */
	bool memory_oversubscribe; /* more may be promised */
	uint32_t need_permille;	   /* of what is known of kernels; 0: it is not looked at */
};

void cot_config_default(struct cot_config *config);
/* Keys that the file leaves out keep their defaults. 0, -ENOENT, -EINVAL with a sentence. */
int cot_config_read(const char *path, struct cot_config *ret_config, struct cot_error *err);
int cot_config_parse(const char *name, const void *bytes, size_t size,
		     struct cot_config *ret_config, struct cot_error *err);
/* The first that is for such a program, or none. */
struct cot_target cot_config_target(const struct cot_config *config, const char *name,
				    enum cot_class cls);
/* Of the folders above the socket and of the pools. */
unsigned cot_config_folder_mode(const struct cot_config *config);

#endif
