/*
 * What is known of the apps of a scenario before it is played (docs/laius.md): a folder with a file
 * APP.yaml for each. For policies that predict; others do not look.
 */
#ifndef COT_CLI_KNOWLEDGE_H
#define COT_CLI_KNOWLEDGE_H

#include "base/error.h"
#include "knowledge/knowledge.h"
#include "trace/scenario.h"

struct cot_cli_knowledge {
	uint32_t n; /* apps; 0: nothing was read or learned */
	struct cot_knowledge *apps[COT_MAX_APPS];
};

/* Plays each app alone on all sizes of parts, and writes what is known then. The folder is made if
 * it is not there. -EINTR when interrupted. */
int cot_cli_knowledge_learn(const struct cot_scenario *sc, const char *folder,
			    struct cot_cli_knowledge *ret, struct cot_error *err);
/* Of an app without a file nothing is known. */
int cot_cli_knowledge_read(const struct cot_scenario *sc, const char *folder,
			   struct cot_cli_knowledge *ret, struct cot_error *err);
void cot_cli_knowledge_finish(struct cot_cli_knowledge *k);

#endif
