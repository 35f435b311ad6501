/*
 * Faults on purpose: an operation is done over and over, and the n-th call that can fail does so,
 * for n = 1, 2, 3 ... until the operation passes without a fault; once with this call alone, and
 * once with all calls from it on. After each time nothing may have crashed, hung or been lost, what
 * was told must be right, and the same operation without faults must succeed.
 *
 * One thread. A fault in the harness itself ends it.
 */
#ifndef COT_TESTS_HARNESS_H
#define COT_TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "proto/proto.h"

/* Nothing here takes so long, unless it hangs. */
#define LONG_MS 20000u

#define NAME_TEXT 32u

struct op {
	const char *name;
	const char *program; /* whose calls fail */
	const char *object;  /* whose code calls; NULL: any */
	unsigned stride;     /* of n, where not all are tried; 0: only with all, or by name */
	void (*begin)(void); /* may be NULL, as end() */
	/* Does it with the faults armed, disarms, and looks at everything. */
	void (*act)(void);
	void (*end)(void);
};

extern const struct op daemon_ops[], pool_ops[], program_ops[];
extern const unsigned n_daemon_ops, n_pool_ops, n_program_ops;

/* ---- the test's own ---- */

const char *work_path(const char *name); /* a name in the test's folder; valid for some calls */
const char *env_path(const char *name);	 /* an environment variable that must be there */
void write_text(const char *path, const char *text);
char *read_text(const char *path); /* free() it; "" when there is none */
uint64_t now_ms(void);
/* The daemon's, with this policy: for users, and pools that end soon. */
void write_config(const char *policy);
/* Something is not as it should be; says with which fault. */
void problem(const char *fmt, ...) COT_PRINTF(1, 2);
/* Tries again and again; false when `ms` have gone by. */
bool until(bool (*holds)(const void *arg), const void *arg, unsigned ms);

/* ---- faults ---- */

void disarm(void);
void rearm(void); /* as it was, counting anew */
bool is_onward(void);

/* ---- processes ---- */

enum ended { ENDED_EXIT, ENDED_SIGNAL, ENDED_HUNG };

struct result {
	enum ended how;
	int status;
	char *out, *err; /* what it said; free_result() */
};

/* With the faults preloaded. `argv` ends with NULL; files for its output, NULL: none. */
pid_t spawn(const char *const argv[], const char *out, const char *err);
bool has_ended(pid_t pid);
/* Killed, and ENDED_HUNG, when it takes longer. */
enum ended wait_end(pid_t pid, unsigned ms, int *ret_status);
struct result run(const char *const argv[], unsigned ms);
/* As run(), but where all calls fail they do so for a while only: what waits goes on then. */
struct result run_through(const char *const argv[], unsigned ms);
/* Takes `r`, of a program that says how much of what it computed was wrong. Whatever failed in
 * ours, it gets what it would have got without. */
void expect_right(struct result r);
/* Starts a batch program of this name that goes on until end_right(), with its output in a file of
 * this name in the test's folder. One that stands alone is another user's, where we may do that. */
pid_t start_loop(const char *name, bool alone);
/* Whether it has done a step since its output was emptied. */
bool has_stepped(const char *name);
/* Ends it: it says then how much of what it computed was wrong. */
void end_right(pid_t pid, const char *out);
void free_result(struct result *r);
/* Processes of the test that are still there, and the last of them. May be NULL. */
unsigned n_left(char ret_name[NAME_TEXT]);
bool none_left(unsigned ms);

/* ---- the daemon ---- */

enum served { SERVES, GAVE_UP, HUNG };

extern pid_t daemon_pid; /* 0: none of ours */

/* GAVE_UP: its status has been looked at, and whether it said why. */
enum served daemon_start(void);
void daemon_must_start(void);
void daemon_stop(void);
void daemon_kill(void);
/* It lives; else it must have said why, and a new one is started. */
void daemon_check(void);
/* Of a daemon that somebody else has started. 0: none answers. */
pid_t daemon_of_others(void);
/* That one, and whatever it started. */
void end_others(void);

/* 0, or -errno and its sentence in *ret_text; free() it. */
int ask(enum cot_proto_query what, char **ret_text);
int command(const struct cot_msg_command *m, char **ret_text);
int explain(const char *name, char **ret_text);
/* Is there a program of this name whose member has this value? Asks without faults. */
bool has_program(const char *name, const char *key, int64_t value);
/* What `ps` says of it; the faults stay armed. json_decref() it. NULL: there is none. */
struct json_t *program_of_ps(const char *name);
/* Is there one of this name in this pool? */
bool is_in_pool(const char *name, const char *pool);
bool policy_is(const char *name);
/* Pools that are up, or on the way; one that failed is tried again when somebody needs it. */
unsigned n_pools(void);
bool has_failed_pool(void);
/* A program that plays a library, under the name `target`, is there without faults. */
void need_target(void);
void end_target(void);
/* The file is there, whole, and JSON; or was never written. */
void check_state(void);

#endif
