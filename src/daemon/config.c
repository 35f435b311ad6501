#include "daemon/config.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/paths.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/text.h"
#include "text/yaml.h"

#define DEFAULT_MPS_PROGRAM "nvidia-cuda-mps-control"
#define DEFAULT_LINGER_S    60u
#define WORD_MAX	    63

#define TO(key, member, ...) COT_FIELD(key, struct cot_config, member, __VA_ARGS__)
#define US(min, max)	     COT_WHOLE(min, max), .in = COT_UNIT_US
#define US_TO_NS(min, max)   US(min, max), .unit = COT_NS_PER_US
#define MS(min, max)	     COT_WHOLE(min, max), .in = COT_UNIT_MS, .unit = COT_NS_PER_MS
#define SLICE		     US(COT_SLICE_US_MIN, COT_SLICE_US_MAX)

static const struct cot_field slices_fields[] = {
	TO("latency", numbers.latency_slice_us, SLICE),
	TO("batch", numbers.batch_slice_us, SLICE),
	TO("equal", numbers.equal_slice_us, SLICE),
	{0},
};

static const struct cot_field rotation_fields[] = {
	TO("turn", numbers.turn_ns, MS(1, 10000)),
	TO("cycle", numbers.cycle_ns, MS(1, 60000)),
	{0},
};

static const struct cot_field_word aim_words[] = {
	{"energy", COT_AIM_ENERGY},
	{"time", COT_AIM_TIME},
	{0},
};

static const struct cot_field gangs_fields[] = {
	TO("gather_us", numbers.gather_ns, US_TO_NS(0, 1000000)),
	TO("aim", numbers.aim, COT_WORD(aim_words)),
	TO("min_gain_permille", numbers.min_gain_permille, COT_WHOLE(0, 999)),
	TO("base_w", numbers.base_w, COT_WHOLE(1, COT_POWER_W_MAX)),
	TO("limit_w", numbers.limit_w, COT_WHOLE(1, COT_POWER_W_MAX)),
	{0},
};

static const struct cot_field mps_fields[] = {
	TO("use", use_mps, COT_BOOL, .alone = true),
	TO("multiuser", multiuser, COT_BOOL),
	TO("program", mps_program, COT_TEXT),
	TO("linger_s", linger_s, COT_WHOLE(0, 86400), .in = COT_UNIT_S),
	{0},
};

static const struct cot_field memory_fields[] = {
	TO("gpu_mib", gpu_memory_mib, COT_WHOLE(0, COT_MEMORY_MIB_MAX), .in = COT_UNIT_MIB),
	TO("oversubscribe", memory_oversubscribe, COT_BOOL),
	{0},
};

static const struct cot_field allow_fields[] = {
	COT_FIELD_CHECKED("latency", COT_TEXT_TO(WORD_MAX), .list = COT_CONFIG_NAMES_MAX),
	COT_FIELD_CHECKED("batch", COT_TEXT_TO(WORD_MAX), .list = COT_CONFIG_NAMES_MAX),
	TO("max_weight", max_weight, COT_WHOLE(COT_WEIGHT_MIN, COT_WEIGHT_MAX)),
	TO("other_users", other_users, COT_BOOL, .alone = true),
	{0},
};

static const struct cot_field_word class_words[] = {
	{"latency", COT_CLASS_LATENCY},
	{"batch", COT_CLASS_BATCH},
	{0},
};

#define OF_TARGET(key, member, ...) COT_FIELD(key, struct cot_config_target, member, __VA_ARGS__)

static const struct cot_field target_fields[] = {
	OF_TARGET("name", name, COT_TEXT),
	OF_TARGET("class", cls, COT_WORD(class_words)),
	COT_FIELD_CHECKED("p99", COT_TEXT_TO(WORD_MAX)),
	COT_FIELD_CHECKED("slowdown", COT_TEXT_TO(WORD_MAX)),
	COT_FIELD_CHECKED("rate", COT_TEXT_TO(WORD_MAX)),
	{0},
};

#define OF_KNOWN(key, member) \
	COT_FIELD(key, struct cot_config_known, member, COT_TEXT, .required = true)

static const struct cot_field known_fields[] = {
	OF_KNOWN("name", name),
	OF_KNOWN("file", file),
	{0},
};

static const struct cot_field metrics_fields[] = {
	COT_FIELD_CHECKED("listen", COT_TEXT_TO(COT_PATH_TEXT_MAX - 1), .alone = true),
	{0},
};

static const struct cot_field_word schema_words[] = {{COT_CONFIG_SCHEMA, 0}, {0}};

static const struct cot_field config_fields[] = {
	COT_FIELD_CHECKED("schema", COT_WORD(schema_words), .required = true),
	COT_FIELD_CHECKED("policy", COT_TEXT_TO(WORD_MAX)),
	COT_FIELD_CHECKED("slices_us", COT_MAP(slices_fields)),
	COT_FIELD_CHECKED("rotation_ms", COT_MAP(rotation_fields)),
	TO("linger_ms", numbers.linger_ns, MS(0, 3600000)),
	TO("drain_block_us", numbers.drain_block_us, US(0, 1000000)),
	TO("reserve_permille", numbers.reserve_permille, COT_WHOLE(0, 1000)),
	TO("latency_permille", numbers.latency_permille, COT_WHOLE(0, 1000)),
	TO("pace_us", numbers.pace_us, US(0, COT_PACE_US_MAX)),
	TO("dram_gb_per_s", numbers.dram_bytes_per_s, COT_WHOLE(0, 100000), .in = COT_UNIT_GB_S,
	   .unit = 1000000000u),
	TO("bandwidth_permille", numbers.bandwidth_permille, COT_WHOLE(0, 1000)),
	TO("adapt_task_us", numbers.adapt_task_us, US(0, 10000000)),
	TO("grow_after_us", numbers.grow_after_ns, US_TO_NS(0, 60000000)),
	COT_FIELD_CHECKED("memory", COT_MAP(memory_fields)),
	TO("need_permille", need_permille, COT_WHOLE(0, 1000)),
	COT_FIELD_CHECKED("gangs", COT_MAP(gangs_fields)),
	COT_FIELD_CHECKED("mps", COT_MAP(mps_fields)),
	COT_FIELD_CHECKED("allow", COT_MAP(allow_fields)),
	COT_FIELD_CHECKED("metrics", COT_MAP(metrics_fields)),
	COT_FIELD_CHECKED("targets", COT_MAP(target_fields), .list = COT_CONFIG_TARGETS_MAX),
	COT_FIELD_CHECKED("kernels", COT_MAP(cot_rule_fields), .list = COT_RULES_MAX),
	COT_FIELD_CHECKED("knowledge", COT_MAP(known_fields), .list = COT_CONFIG_KNOWN_MAX),
	{0},
};

void cot_config_default(struct cot_config *config)
{
	const char *program = getenv("COTENANT_MPS_CONTROL");
	char runtime[COT_PATH_TEXT_MAX];
	bool system = cot_paths_runtime(runtime, NULL) == 0 && cot_paths_is_system(runtime);

	*config = (struct cot_config){
		.policy = cot_policy_find("pools"),
		.use_mps = true,
		.linger_s = DEFAULT_LINGER_S,
		.max_weight = COT_WEIGHT_MAX,
		.other_users = system,
		.multiuser = system,
		.latency = {.everybody = true},
		.batch = {.everybody = true},
	};
	cot_policy_config_init(&config->numbers);
	(void)snprintf(config->mps_program, sizeof(config->mps_program), "%s",
		       program && *program ? program : DEFAULT_MPS_PROGRAM);
}

struct reader {
	const struct cot_yaml *doc;
	struct cot_config *config;
	struct cot_error *err;
};

static int read_policy(struct reader *r)
{
	const char *name = cot_yaml_text(r->doc, cot_yaml_get(r->doc, COT_YAML_ROOT, "policy"));
	char names[256] = "", quote[COT_QUOTE_MAX], hint[COT_NEAREST_HINT_MAX];
	struct cot_nearest near = {.word = name};
	unsigned i;

	if (!name)
		return 0;
	r->config->policy = cot_policy_find(name);
	r->config->named = r->config->policy;
	if (r->config->policy)
		return 0;
	for (i = 0; i < cot_n_policies; i++) {
		cot_text_add_word(names, sizeof(names), cot_policies[i]->name);
		cot_nearest_try(&near, cot_policies[i]->name);
	}
	return cot_yaml_fail_key(r->doc, COT_YAML_ROOT, "policy", r->err,
				 "unknown policy '%s'%s; expected one of %s",
				 cot_text_quote(name, quote), cot_nearest_hint(&near, hint), names);
}

/* "*", "none", "user", a number, or "@group". */
static int read_name(struct reader *r, uint32_t node, struct cot_allow *allow)
{
	const char *name = cot_yaml_text(r->doc, node);
	char quote[COT_QUOTE_MAX];
	const struct passwd *user;
	const struct group *group;
	uint64_t number;

	if (!strcmp(name, "*")) {
		allow->everybody = true;
		return 0;
	}
	if (!strcmp(name, "none"))
		return 0;
	if (cot_number_u64(name, &number) && number < UINT32_MAX) {
		allow->uids[allow->n_uids++] = (uid_t)number;
		return 0;
	}
	if (name[0] == '@') {
		group = getgrnam(name + 1);
		if (!group)
			return cot_yaml_fail(r->doc, node, r->err, "there is no group '%s'",
					     cot_text_quote(name + 1, quote));
		allow->gids[allow->n_gids++] = group->gr_gid;
		return 0;
	}
	user = getpwnam(name);
	if (!user)
		return cot_yaml_fail(r->doc, node, r->err,
				     "there is no user '%s'; a group is written as @NAME, all "
				     "users as \"*\", no user as none",
				     cot_text_quote(name, quote));
	allow->uids[allow->n_uids++] = user->pw_uid;
	return 0;
}

static int read_names(struct reader *r, const char *key, struct cot_allow *allow)
{
	uint32_t list = cot_yaml_get(r->doc, cot_yaml_get(r->doc, COT_YAML_ROOT, "allow"), key);
	uint32_t node;
	int rc = 0;

	if (list != COT_YAML_NONE)
		*allow = (struct cot_allow){0};
	for (node = cot_yaml_first(r->doc, list); !rc && node != COT_YAML_NONE;
	     node = cot_yaml_next(r->doc, node))
		rc = read_name(r, node, allow);
	return rc;
}

/* The keys are called as the kinds. */
static int read_amount(struct reader *r, uint32_t entry, struct cot_config_target *t)
{
	enum cot_target_kind kind;
	char quote[COT_QUOTE_MAX];

	for (kind = COT_TARGET_P99; kind <= COT_TARGET_RATE; kind++) {
		const char *key = cot_target_words[kind];
		uint32_t node = cot_yaml_get(r->doc, entry, key);
		const char *text = cot_yaml_text(r->doc, node);

		if (!text)
			continue;
		if (t->target.kind)
			return cot_yaml_fail(
				r->doc, node, r->err,
				"a program has one target; expected %s or %s, not both",
				cot_target_words[t->target.kind], key);
		if (!t->any_class && !cot_target_suits(kind, t->cls))
			return cot_yaml_fail(r->doc, node, r->err, COT_TARGET_UNSUITED);
		if (!cot_target_read(kind, text, &t->target))
			return cot_yaml_fail(r->doc, node, r->err, "%s is '%s'; expected %s", key,
					     cot_text_quote(text, quote), cot_target_example(kind));
	}
	return 0;
}

static int read_target(struct reader *r, uint32_t entry, struct cot_config_target *t)
{
	int rc;

	*t = (struct cot_config_target){0};
	cot_yaml_fill(r->doc, entry, target_fields, t);
	t->any_class = cot_yaml_get(r->doc, entry, "class") == COT_YAML_NONE;
	if (t->any_class && !t->name[0])
		return cot_yaml_fail(
			r->doc, entry, r->err,
			"a target of nobody; expected the name or the class of programs");
	rc = read_amount(r, entry, t);
	if (!rc && !t->target.kind)
		rc = cot_yaml_fail(r->doc, entry, r->err,
				   "no target; expected one of p99, slowdown and rate");
	return rc;
}

static int read_targets(struct reader *r)
{
	uint32_t list = cot_yaml_get(r->doc, COT_YAML_ROOT, "targets"), node;
	struct cot_config *config = r->config;
	int rc = 0;

	for (node = cot_yaml_first(r->doc, list); !rc && node != COT_YAML_NONE;
	     node = cot_yaml_next(r->doc, node))
		rc = read_target(r, node, &config->targets[config->n_targets++]);
	return rc;
}

static int read_known(struct reader *r)
{
	uint32_t list = cot_yaml_get(r->doc, COT_YAML_ROOT, "knowledge"), node;
	struct cot_config *config = r->config;

	for (node = cot_yaml_first(r->doc, list); node != COT_YAML_NONE;
	     node = cot_yaml_next(r->doc, node)) {
		struct cot_config_known *k = &config->known[config->n_known++];

		*k = (struct cot_config_known){.name = ""};
		cot_yaml_fill(r->doc, node, known_fields, k);
		if (k->file[0] != '/')
			return cot_yaml_fail_key(r->doc, node, "file", r->err,
						 "expected a path that begins with /");
	}
	return 0;
}

static bool is_for(const struct cot_config_target *t, const char *name, enum cot_class cls)
{
	return (!t->name[0] || !strcmp(t->name, name)) && (t->any_class || t->cls == cls) &&
	       cot_target_suits(t->target.kind, cls);
}

struct cot_target cot_config_target(const struct cot_config *config, const char *name,
				    enum cot_class cls)
{
	uint32_t i;

	for (i = 0; i < config->n_targets; i++)
		if (is_for(&config->targets[i], name, cls))
			return config->targets[i].target;
	return (struct cot_target){0};
}

static int read_metrics(struct reader *r)
{
	uint32_t node =
		cot_yaml_get(r->doc, cot_yaml_get(r->doc, COT_YAML_ROOT, "metrics"), "listen");
	const char *text = cot_yaml_text(r->doc, node);
	char quote[COT_QUOTE_MAX];

	if (!text || cot_listen_read(text, &r->config->metrics))
		return 0;
	return cot_yaml_fail(r->doc, node, r->err,
			     "metrics are served to this machine alone, not on '%s'; "
			     "expected " COT_LISTEN_EXAMPLE,
			     cot_text_quote(text, quote));
}

static int check_rotation(struct reader *r)
{
	const struct cot_policy_config *numbers = &r->config->numbers;

	if (numbers->cycle_ns >= numbers->turn_ns)
		return 0;
	return cot_yaml_fail_key(r->doc, COT_YAML_ROOT, "rotation_ms", r->err,
				 "a cycle is shorter than a turn; expected cycle to be at "
				 "least %u ms",
				 (unsigned)(numbers->turn_ns / COT_NS_PER_MS));
}

static int read_config(struct reader *r)
{
	struct cot_config *config = r->config;
	uint32_t mps = cot_yaml_get(r->doc, COT_YAML_ROOT, "mps");
	int rc;

	cot_yaml_fill(r->doc, COT_YAML_ROOT, config_fields, config);
	if (cot_yaml_get(r->doc, mps, "multiuser") == COT_YAML_NONE)
		config->multiuser = config->other_users;
	rc = read_policy(r);
	rc = rc ? rc : check_rotation(r);
	rc = rc ? rc : read_names(r, "latency", &config->latency);
	rc = rc ? rc : read_names(r, "batch", &config->batch);
	rc = rc ? rc : read_known(r);
	rc = rc ? rc : read_metrics(r);
	rc = rc ? rc
		: cot_rules_read(r->doc, cot_yaml_get(r->doc, COT_YAML_ROOT, "kernels"),
				 &config->kernels, r->err);
	return rc ? rc : read_targets(r);
}

int cot_config_parse(const char *name, const void *bytes, size_t size,
		     struct cot_config *ret_config, struct cot_error *err)
{
	struct cot_config config;
	struct cot_yaml *doc;
	struct reader r = {.config = &config, .err = err};
	int rc;

	rc = cot_yaml_load(name, bytes, size, config_fields, &doc, err);
	if (rc < 0)
		return rc;
	cot_config_default(&config);
	r.doc = doc;
	rc = read_config(&r);
	cot_yaml_destroy(doc);
	if (!rc)
		*ret_config = config;
	return rc;
}

int cot_config_read(const char *path, struct cot_config *ret_config, struct cot_error *err)
{
	char *bytes;
	size_t size;
	int rc;

	rc = cot_text_read(path, &bytes, &size, err);
	if (rc < 0)
		return rc;
	rc = cot_config_parse(path, bytes, size, ret_config, err);
	free(bytes);
	return rc;
}

unsigned cot_config_folder_mode(const struct cot_config *config)
{
	return config->other_users ? 0755 : 0700;
}
