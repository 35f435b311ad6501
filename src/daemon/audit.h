/* Which user has changed what: see audit.c. */
#ifndef COT_DAEMON_AUDIT_H
#define COT_DAEMON_AUDIT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/words.h"

struct cot_host;
struct tenant;

/* A line about a change and the user who made it. */
void cot_audit_say(uid_t uid, pid_t pid, const char *fmt, ...) COT_PRINTF(3, 4);

/* What a user may change of a program or pool. */
struct cot_audit_look {
	enum cot_class cls;
	uint32_t weight, block_us;
	uint16_t quota, reserve, sms;
	struct cot_target target;
	uint32_t pace_us;
	uint32_t slice_us;  /* the user's own; 0 = the policy's */
	enum cot_mode mode; /* likewise */
};

/* `t` is NULL for a pool. */
void cot_audit_look(const struct cot_host *host, const struct tenant *t, uint32_t entity,
		    struct cot_audit_look *ret_look);
/* "weight 100 -> 50, slice auto -> 300 us": of the fields (COT_SET_...) that were named. */
void cot_audit_changes(const struct cot_audit_look *from, const struct cot_audit_look *to,
		       unsigned fields, char *ret_text, size_t size);

/* The user's name in the text of a passwd file, which is cut up; NULL. */
const char *cot_audit_name_in(char *text, uid_t uid);
#endif
