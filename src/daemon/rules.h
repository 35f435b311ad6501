/*
 * Rules for kernels, from the configuration: how launches of some kernels share the GPU, by the
 * names of their program and of the kernel. Pure.
 */
#ifndef COT_DAEMON_RULES_H
#define COT_DAEMON_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "proto/proto.h"
#include "text/field.h"
#include "text/yaml.h"

#define COT_RULES_MAX 32u

/* In the patterns "*" is any number of characters and "?" is one. */
struct cot_rule {
	char program[COT_PROTO_NAME_MAX]; /* empty: any */
	char kernel[COT_PROTO_NAME_MAX];
	uint8_t method; /* enum cot_proto_method: QUOTA or RESERVE */
	uint16_t share; /* as in base/words.h */
};

struct cot_rules {
	uint32_t n;
	struct cot_rule rules[COT_RULES_MAX];
};

/* Of an entry of the list in the configuration. */
extern const struct cot_field cot_rule_fields[];
/* Reads the list `node`, already checked by the fields. 0 or -EINVAL with a sentence. */
int cot_rules_read(const struct cot_yaml *doc, uint32_t node, struct cot_rules *ret_rules,
		   struct cot_error *err);

/* The first rule for that kernel, or NULL. */
const struct cot_rule *cot_rules_find(const struct cot_rules *r, const char *program,
				      const char *kernel);
/* Whether there is one for any kernel of the program. */
bool cot_rules_any(const struct cot_rules *r, const char *program);

#endif
