#include "daemon/rules.h"

#include <stddef.h>

#include "base/words.h"
#include "text/text.h"

#define WORD_MAX 63

#define OF_RULE(key, member, ...) COT_FIELD(key, struct cot_rule, member, __VA_ARGS__)

const struct cot_field cot_rule_fields[] = {
	OF_RULE("program", program, COT_TEXT),
	OF_RULE("kernel", kernel, COT_TEXT, .required = true),
	COT_FIELD_CHECKED("quota", COT_TEXT_TO(WORD_MAX)),
	COT_FIELD_CHECKED("reserve", COT_TEXT_TO(WORD_MAX)),
	{0},
};

static int read_rule(const struct cot_yaml *doc, uint32_t entry, struct cot_rule *rule,
		     struct cot_error *err)
{
	const char *quota = cot_yaml_text(doc, cot_yaml_get(doc, entry, "quota"));
	const char *reserve = cot_yaml_text(doc, cot_yaml_get(doc, entry, "reserve"));
	const char *key = quota ? "quota" : "reserve", *text = quota ? quota : reserve;
	char quote[COT_QUOTE_MAX];
	struct cot_share share;

	*rule = (struct cot_rule){.method = quota ? COT_PROTO_WORK_QUOTA : COT_PROTO_WORK_RESERVE};
	cot_yaml_fill(doc, entry, cot_rule_fields, rule);
	if (!text || (quota && reserve))
		return cot_yaml_fail(doc, entry, err,
				     "a rule says one thing; expected either quota or reserve");
	if (!cot_share_read(text, &share))
		return cot_yaml_fail_key(doc, entry, key, err,
					 "%s is '%s'; expected a share such as 50%% or 66sm", key,
					 cot_text_quote(text, quote));
	rule->share = cot_share_pack(share);
	return 0;
}

int cot_rules_read(const struct cot_yaml *doc, uint32_t node, struct cot_rules *ret_rules,
		   struct cot_error *err)
{
	uint32_t entry;
	int rc = 0;

	ret_rules->n = 0;
	for (entry = cot_yaml_first(doc, node); !rc && entry != COT_YAML_NONE;
	     entry = cot_yaml_next(doc, entry))
		rc = read_rule(doc, entry, &ret_rules->rules[ret_rules->n++], err);
	return rc;
}

/* Goes back to the last "*" only: at most as many steps as both lengths multiplied. */
static bool matches(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool is_for(const struct cot_rule *r, const char *program)
{
	return !r->program[0] || matches(r->program, program);
}

const struct cot_rule *cot_rules_find(const struct cot_rules *r, const char *program,
				      const char *kernel)
{
	uint32_t i;

	for (i = 0; i < r->n; i++)
		if (is_for(&r->rules[i], program) && matches(r->rules[i].kernel, kernel))
			return &r->rules[i];
	return NULL;
}

bool cot_rules_any(const struct cot_rules *r, const char *program)
{
	uint32_t i;

	for (i = 0; i < r->n; i++)
		if (is_for(&r->rules[i], program))
			return true;
	return false;
}
