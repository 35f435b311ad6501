/*
 * What is known of programs from profiling them, as the configuration says (docs/laius.md): read
 * when that is read, and told to the policy core.
 */
#ifndef COT_DAEMON_KNOWN_H
#define COT_DAEMON_KNOWN_H

#include "daemon/config.h"
#include "daemon/host_query.h"
#include "knowledge/knowledge.h"

struct known {
	uint32_t n;
	struct known_program {
		char name[COT_PROTO_NAME_MAX];
		struct cot_knowledge *knowledge;
	} programs[COT_CONFIG_KNOWN_MAX];
};

/* All files or none: 0, or -errno with a sentence. */
int cot_known_read(const struct cot_config *config, struct known *ret_known, struct cot_error *err);
void cot_known_clear(struct known *known);

/* Of a program of this name and class; NULL: nothing. */
const struct cot_knowledge *cot_known_find(const struct known *known, const char *name,
					   enum cot_class cls);
/* Tells the core what is predicted of the tenant; without knowledge, that nothing is. */
void cot_known_tell(const struct cot_knowledge *k, struct cot_host *host, uint32_t tenant,
		    uint64_t now_ns);
/* Of a query with an input of that size; `k` may be NULL. */
struct cot_host_plan cot_known_plan(const struct cot_knowledge *k, uint64_t size);

#endif
