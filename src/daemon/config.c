#include "daemon/config.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "text/text.h"
#include "text/yaml.h"

#define OPT_PTR (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define WORD	64

#define DEFAULT_MPS_PROGRAM "nvidia-cuda-mps-control"
#define DEFAULT_LINGER_S    60u

struct raw_slices {
	uint32_t *latency, *batch, *equal;
};

struct raw_rotation {
	uint32_t *turn, *cycle;
};

struct raw_mps {
	bool *use, *multiuser;
	char *program;
	uint32_t *linger;
};

struct raw_allow {
	char **latency, **batch;
	uint32_t latency_count, batch_count;
	uint32_t *max_weight;
	bool *other_users;
};

struct raw_config {
	char *schema, *policy;
	struct raw_slices *slices_us;
	struct raw_rotation *rotation_ms;
	uint32_t *linger_ms, *drain_block_us;
	uint32_t *reserve_permille, *adapt_task_us, *grow_after_us;
	struct raw_mps *mps;
	struct raw_allow *allow;
};

static const cyaml_schema_field_t slices_fields[] = {
	CYAML_FIELD_UINT_PTR("latency", OPT_PTR, struct raw_slices, latency),
	CYAML_FIELD_UINT_PTR("batch", OPT_PTR, struct raw_slices, batch),
	CYAML_FIELD_UINT_PTR("equal", OPT_PTR, struct raw_slices, equal), CYAML_FIELD_END};

static const cyaml_schema_field_t rotation_fields[] = {
	CYAML_FIELD_UINT_PTR("turn", OPT_PTR, struct raw_rotation, turn),
	CYAML_FIELD_UINT_PTR("cycle", OPT_PTR, struct raw_rotation, cycle), CYAML_FIELD_END};

static const cyaml_schema_field_t mps_fields[] = {
	CYAML_FIELD_BOOL_PTR("use", OPT_PTR, struct raw_mps, use),
	CYAML_FIELD_BOOL_PTR("multiuser", OPT_PTR, struct raw_mps, multiuser),
	CYAML_FIELD_STRING_PTR("program", OPT_PTR, struct raw_mps, program, 1,
			       COT_PATH_TEXT_MAX - 1),
	CYAML_FIELD_UINT_PTR("linger_s", OPT_PTR, struct raw_mps, linger), CYAML_FIELD_END};

static const cyaml_schema_value_t name_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, WORD - 1),
};

static const cyaml_schema_field_t allow_fields[] = {
	CYAML_FIELD_SEQUENCE("latency", OPT_PTR, struct raw_allow, latency, &name_schema, 1,
			     COT_CONFIG_NAMES_MAX),
	CYAML_FIELD_SEQUENCE("batch", OPT_PTR, struct raw_allow, batch, &name_schema, 1,
			     COT_CONFIG_NAMES_MAX),
	CYAML_FIELD_UINT_PTR("max_weight", OPT_PTR, struct raw_allow, max_weight),
	CYAML_FIELD_BOOL_PTR("other_users", OPT_PTR, struct raw_allow, other_users),
	CYAML_FIELD_END};

static const cyaml_schema_field_t config_fields[] = {
	CYAML_FIELD_STRING_PTR("schema", CYAML_FLAG_POINTER, struct raw_config, schema, 1,
			       WORD - 1),
	CYAML_FIELD_STRING_PTR("policy", OPT_PTR, struct raw_config, policy, 1, WORD - 1),
	CYAML_FIELD_MAPPING_PTR("slices_us", OPT_PTR, struct raw_config, slices_us, slices_fields),
	CYAML_FIELD_MAPPING_PTR("rotation_ms", OPT_PTR, struct raw_config, rotation_ms,
				rotation_fields),
	CYAML_FIELD_UINT_PTR("linger_ms", OPT_PTR, struct raw_config, linger_ms),
	CYAML_FIELD_UINT_PTR("drain_block_us", OPT_PTR, struct raw_config, drain_block_us),
	CYAML_FIELD_UINT_PTR("reserve_permille", OPT_PTR, struct raw_config, reserve_permille),
	CYAML_FIELD_UINT_PTR("adapt_task_us", OPT_PTR, struct raw_config, adapt_task_us),
	CYAML_FIELD_UINT_PTR("grow_after_us", OPT_PTR, struct raw_config, grow_after_us),
	CYAML_FIELD_MAPPING_PTR("mps", OPT_PTR, struct raw_config, mps, mps_fields),
	CYAML_FIELD_MAPPING_PTR("allow", OPT_PTR, struct raw_config, allow, allow_fields),
	CYAML_FIELD_END};

static const cyaml_schema_value_t config_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_config, config_fields),
};

/* A key may stand in two places: the wider range is checked here, the rest by the reader. */
static const struct cot_yaml_range ranges[] = {
	{"latency", COT_SLICE_US_MIN, COT_SLICE_US_MAX},
	{"batch", COT_SLICE_US_MIN, COT_SLICE_US_MAX},
	{"equal", COT_SLICE_US_MIN, COT_SLICE_US_MAX},
	{"turn", 1, 10000},
	{"cycle", 1, 60000},
	{"linger_ms", 0, 3600000},
	{"linger_s", 0, 86400},
	{"drain_block_us", 0, 1000000},
	{"reserve_permille", 0, 1000},
	{"adapt_task_us", 0, 10000000},
	{"grow_after_us", 0, 60000000},
	{"max_weight", COT_WEIGHT_MIN, COT_WEIGHT_MAX},
	{NULL, 0, 0},
};

static const struct cot_yaml_format format = {.schema = &config_schema, .ranges = {ranges, NULL}};

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

static int read_policy(struct reader *r, const char *name)
{
	char names[256] = "", quote[COT_QUOTE_MAX];
	size_t used = 0;
	unsigned i;

	r->config->policy = cot_policy_find(name);
	if (r->config->policy)
		return 0;
	for (i = 0; i < cot_n_policies && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 cot_policies[i]->name);
	return cot_yaml_fail(r->doc, "policy", r->err, "unknown policy '%s'; expected one of %s",
			     cot_text_quote(name, quote), names);
}

/* "*", "none", "user", a number, or "@group". */
static int read_name(struct reader *r, const char *path, const char *name, struct cot_allow *allow)
{
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
			return cot_yaml_fail(r->doc, path, r->err, "there is no group '%s'",
					     cot_text_quote(name + 1, quote));
		allow->gids[allow->n_gids++] = group->gr_gid;
		return 0;
	}
	user = getpwnam(name);
	if (!user)
		return cot_yaml_fail(r->doc, path, r->err,
				     "there is no user '%s'; a group is written as @NAME, "
				     "everybody as \"*\", "
				     "nobody as none",
				     cot_text_quote(name, quote));
	allow->uids[allow->n_uids++] = user->pw_uid;
	return 0;
}

static int read_names(struct reader *r, const char *key, char *const *names, uint32_t n,
		      struct cot_allow *allow)
{
	char path[64];
	uint32_t i;
	int rc;

	if (!names)
		return 0;
	*allow = (struct cot_allow){0};
	for (i = 0; i < n && i < COT_CONFIG_NAMES_MAX; i++) {
		(void)snprintf(path, sizeof(path), "allow.%s[%u]", key, i);
		rc = read_name(r, path, names[i], allow);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void read_slices(struct cot_policy_config *numbers, const struct raw_slices *raw)
{
	if (!raw)
		return;
	if (raw->latency)
		numbers->latency_slice_us = *raw->latency;
	if (raw->batch)
		numbers->batch_slice_us = *raw->batch;
	if (raw->equal)
		numbers->equal_slice_us = *raw->equal;
}

static void read_mps(struct cot_config *config, const struct raw_mps *raw)
{
	if (!raw)
		return;
	if (raw->use)
		config->use_mps = *raw->use;
	if (raw->linger)
		config->linger_s = *raw->linger;
	if (raw->program)
		(void)snprintf(config->mps_program, sizeof(config->mps_program), "%s",
			       raw->program);
}

static int read_rotation(struct reader *r, const struct raw_rotation *raw)
{
	struct cot_policy_config *numbers = &r->config->numbers;

	if (!raw)
		return 0;
	if (raw->turn)
		numbers->turn_ns = *raw->turn * COT_NS_PER_MS;
	if (raw->cycle)
		numbers->cycle_ns = *raw->cycle * COT_NS_PER_MS;
	if (numbers->cycle_ns < numbers->turn_ns)
		return cot_yaml_fail(r->doc, "rotation_ms", r->err,
				     "a cycle is shorter than a turn; expected cycle to be at "
				     "least %u ms",
				     (unsigned)(numbers->turn_ns / COT_NS_PER_MS));
	return 0;
}

static void read_works(struct cot_policy_config *numbers, const struct raw_config *raw)
{
	if (raw->reserve_permille)
		numbers->reserve_permille = *raw->reserve_permille;
	if (raw->adapt_task_us)
		numbers->adapt_task_us = *raw->adapt_task_us;
	if (raw->grow_after_us)
		numbers->grow_after_ns = *raw->grow_after_us * COT_NS_PER_US;
}

static int read_config(struct reader *r)
{
	const struct raw_config *raw = cot_yaml_data(r->doc);
	char quote[COT_QUOTE_MAX];
	int rc = 0;

	if (strcmp(raw->schema, COT_CONFIG_SCHEMA) != 0)
		return cot_yaml_fail(r->doc, "schema", r->err, "the schema is '%s'; expected %s",
				     cot_text_quote(raw->schema, quote), COT_CONFIG_SCHEMA);
	if (raw->policy)
		rc = read_policy(r, raw->policy);
	if (rc < 0)
		return rc;
	read_slices(&r->config->numbers, raw->slices_us);
	rc = read_rotation(r, raw->rotation_ms);
	if (rc < 0)
		return rc;
	if (raw->linger_ms)
		r->config->numbers.linger_ns = *raw->linger_ms * COT_NS_PER_MS;
	if (raw->drain_block_us)
		r->config->numbers.drain_block_us = *raw->drain_block_us;
	read_works(&r->config->numbers, raw);
	read_mps(r->config, raw->mps);
	if (raw->allow && raw->allow->other_users)
		r->config->other_users = *raw->allow->other_users;
	r->config->multiuser =
		raw->mps && raw->mps->multiuser ? *raw->mps->multiuser : r->config->other_users;
	if (!raw->allow)
		return 0;
	if (raw->allow->max_weight)
		r->config->max_weight = *raw->allow->max_weight;
	rc = read_names(r, "latency", raw->allow->latency, raw->allow->latency_count,
			&r->config->latency);
	if (!rc)
		rc = read_names(r, "batch", raw->allow->batch, raw->allow->batch_count,
				&r->config->batch);
	return rc;
}

int cot_config_parse(const char *name, const void *bytes, size_t size,
		     struct cot_config *ret_config, struct cot_error *err)
{
	struct cot_config config;
	struct cot_yaml *doc;
	struct reader r = {.config = &config, .err = err};
	int rc;

	rc = cot_yaml_load(name, bytes, size, &format, &doc, err);
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
