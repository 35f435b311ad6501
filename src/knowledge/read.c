/* Reads cotenant.knowledge/1. Every list of a quota each has as many entries as `sms`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "knowledge/knowledge.h"
#include "text/text.h"
#include "text/yaml.h"

#define TO(key, member, ...)	 COT_FIELD(key, struct cot_knowledge, member, __VA_ARGS__)
#define INPUT(key, member, ...)	 COT_FIELD(key, struct written_input, member, __VA_ARGS__)
#define KERNEL(key, member, ...) COT_FIELD(key, struct cot_known_kernel, member, __VA_ARGS__)
#define EACH			 .list = COT_KNOWN_QUOTAS_MAX
#define TIMES			 COT_WHOLE(1, COT_KNOWN_NS_MAX), EACH
#define BYTES			 COT_WHOLE(0, COT_KNOWN_BYTES_MAX), EACH
#define IPC			 COT_WHOLE(0, COT_KNOWN_IPC_MAX), EACH
#define WATTS			 COT_WHOLE(0, COT_POWER_W_MAX)

struct written_input {
	uint64_t size, requests, out_ns;
	uint64_t time_ns[COT_KNOWN_QUOTAS_MAX];
	uint64_t bytes_per_s[COT_KNOWN_QUOTAS_MAX];
	uint32_t n_launches;
	uint16_t tasks[COT_KNOWN_TASKS_MAX];
};

static const struct cot_field_word classes[] = {
	{"latency", COT_CLASS_LATENCY},
	{"batch", COT_CLASS_BATCH},
	{0},
};

static const struct cot_field input_fields[] = {
	INPUT("size", size, COT_WHOLE(0, COT_KNOWN_SIZE_MAX), .required = true),
	INPUT("requests", requests, COT_WHOLE(0, COT_KNOWN_SIZE_MAX)),
	INPUT("out_ns", out_ns, COT_WHOLE(0, COT_KNOWN_NS_MAX)),
	INPUT("time_ns", time_ns, TIMES, .required = true),
	INPUT("bytes_per_s", bytes_per_s, BYTES),
	INPUT("launches", n_launches, COT_WHOLE(0, COT_KNOWN_TASKS_MAX)),
	INPUT("tasks", tasks, COT_WHOLE(0, COT_KNOWN_KERNELS_MAX - 1), .list = COT_KNOWN_TASKS_MAX),
	{0},
};

static const struct cot_field kernel_fields[] = {
	KERNEL("name", name, COT_TEXT, .required = true),
	KERNEL("time_ns", rates.time_ns, TIMES, .required = true),
	KERNEL("bytes_per_s", rates.bytes_per_s, BYTES),
	KERNEL("ipc_milli", rates.ipc_milli, IPC),
	{0},
};

static const struct cot_field repeats_fields[] = {
	TO("time_ns", repeats.time_ns, TIMES, .required = true),
	TO("bytes_per_s", repeats.bytes_per_s, BYTES),
	TO("ipc_milli", repeats.ipc_milli, IPC),
	TO("kernel_ns", kernel_ns, COT_WHOLE(0, COT_KNOWN_NS_MAX), EACH),
	TO("power_w", cost.power_w, WATTS),
	TO("cpu_w", cost.cpu_w, WATTS),
	TO("cpu_time_ns", cost.cpu_ns, COT_WHOLE(0, COT_KNOWN_NS_MAX)),
	{0},
};

static const struct cot_field_word schema_words[] = {{"cotenant.knowledge/1", 0}, {0}};

static const struct cot_field fields[] = {
	COT_FIELD_CHECKED("schema", COT_WORD(schema_words), .required = true),
	TO("program", program, COT_TEXT, .required = true),
	TO("class", cls, COT_WORD(classes), .required = true),
	TO("gpu", gpu, COT_TEXT, .required = true),
	TO("sms", sms, COT_WHOLE(1, COT_KNOWN_SMS_MAX), EACH, .required = true),
	TO("spread_milli", spread_milli, COT_WHOLE(1000, 1000000), .otherwise = 1000),
	COT_FIELD_CHECKED("inputs", COT_MAP(input_fields), .list = COT_KNOWN_INPUTS_MAX),
	COT_FIELD_CHECKED("kernels", COT_MAP(kernel_fields), .list = COT_KNOWN_KERNELS_MAX),
	COT_FIELD_CHECKED("repeats", COT_MAP(repeats_fields)),
	{0},
};

struct reader {
	const struct cot_yaml *doc;
	struct cot_knowledge *k;
	struct written_input input;
	struct cot_error *err;
};

static uint32_t get(const struct reader *r, uint32_t map, const char *key)
{
	return cot_yaml_get(r->doc, map, key);
}

static int check_quotas(struct reader *r)
{
	uint32_t i;

	r->k->n_quotas = cot_yaml_count(r->doc, get(r, COT_YAML_ROOT, "sms"));
	for (i = 1; i < r->k->n_quotas; i++)
		if (r->k->sms[i] <= r->k->sms[i - 1])
			return cot_yaml_fail_key(r->doc, COT_YAML_ROOT, "sms", r->err,
						 "%u SMs after %u; expected sizes of parts, the "
						 "smallest first",
						 r->k->sms[i], r->k->sms[i - 1]);
	return 0;
}

static int check_each(struct reader *r, uint32_t map)
{
	static const char *const keys[] = {"time_ns", "bytes_per_s", "ipc_milli", "kernel_ns"};
	uint32_t i, list, n;

	for (i = 0; i < COT_ARRAY_LEN(keys); i++) {
		list = get(r, map, keys[i]);
		n = cot_yaml_count(r->doc, list);
		if (list != COT_YAML_NONE && n != r->k->n_quotas)
			return cot_yaml_fail(r->doc, list, r->err,
					     "%s has %u numbers; expected %u, one for each of sms",
					     keys[i], n, r->k->n_quotas);
	}
	return 0;
}

static int full(struct reader *r, uint32_t node, int rc)
{
	if (rc == -ENOMEM)
		return cot_error_set(r->err, -ENOMEM, "out of memory");
	return cot_yaml_fail(r->doc, node, r->err,
			     "more than %u tasks; expected no more in all inputs together",
			     COT_KNOWN_ALL_TASKS);
}

static int read_kernels(struct reader *r)
{
	uint32_t node = cot_yaml_first(r->doc, get(r, COT_YAML_ROOT, "kernels"));
	struct cot_known_kernel *kernel;
	int rc = 0;

	for (; !rc && node != COT_YAML_NONE; node = cot_yaml_next(r->doc, node)) {
		rc = check_each(r, node);
		if (rc)
			return rc;
		rc = cot_knowledge_add_kernel(r->k, "", &kernel);
		if (rc)
			return full(r, node, rc);
		cot_yaml_fill(r->doc, node, kernel_fields, kernel);
	}
	return rc;
}

static int read_tasks(struct reader *r, uint32_t node, struct cot_known_input *in)
{
	uint32_t list = get(r, node, "tasks"), n = cot_yaml_count(r->doc, list), i;
	int rc;

	for (i = 0; i < n; i++)
		if (r->input.tasks[i] >= r->k->n_kernels)
			return cot_yaml_fail(
				r->doc, list, r->err,
				"task %u is kernel %u; expected the number of a kernel, "
				"from 0 on, of which there are %u",
				i + 1, r->input.tasks[i], r->k->n_kernels);
	rc = cot_knowledge_set_tasks(r->k, in, r->input.tasks, n);
	return rc ? full(r, list, rc) : 0;
}

static int read_input(struct reader *r, uint32_t node)
{
	struct cot_known_input *in;
	int rc = check_each(r, node);

	if (rc)
		return rc;
	memset(&r->input, 0, sizeof(r->input));
	cot_yaml_fill(r->doc, node, input_fields, &r->input);
	rc = cot_knowledge_add_input(r->k, r->input.size, &in);
	if (rc == -EEXIST)
		return cot_yaml_fail_key(r->doc, node, "size", r->err,
					 "two inputs have this size; expected one");
	if (rc)
		return full(r, node, rc);
	in->requests = r->input.requests;
	in->out_ns = r->input.out_ns;
	in->n_launches = r->input.n_launches;
	memcpy(in->time_ns, r->input.time_ns, sizeof(in->time_ns));
	memcpy(in->bytes_per_s, r->input.bytes_per_s, sizeof(in->bytes_per_s));
	return read_tasks(r, node, in);
}

/* A latency program has inputs, a batch program repeats something. */
static int check_class(struct reader *r)
{
	bool latency = r->k->cls == COT_CLASS_LATENCY;
	const char *wanted = latency ? "inputs" : "repeats",
		   *other = latency ? "repeats" : "inputs";
	uint32_t node = get(r, COT_YAML_ROOT, other);

	if (get(r, COT_YAML_ROOT, wanted) == COT_YAML_NONE)
		return cot_yaml_fail_key(r->doc, COT_YAML_ROOT, "class", r->err,
					 "a %s program without '%s'; expected what was measured",
					 latency ? "latency" : "batch", wanted);
	if (node != COT_YAML_NONE)
		return cot_yaml_fail(r->doc, node, r->err,
				     "'%s' of a %s program; expected '%s' only", other,
				     latency ? "latency" : "batch", wanted);
	return 0;
}

static int read_all(struct reader *r)
{
	uint32_t node;
	int rc;

	cot_yaml_fill(r->doc, COT_YAML_ROOT, fields, r->k);
	rc = check_quotas(r);
	rc = rc ? rc : check_class(r);
	rc = rc ? rc : read_kernels(r);
	for (node = cot_yaml_first(r->doc, get(r, COT_YAML_ROOT, "inputs"));
	     !rc && node != COT_YAML_NONE; node = cot_yaml_next(r->doc, node))
		rc = read_input(r, node);
	rc = rc ? rc : check_each(r, get(r, COT_YAML_ROOT, "repeats"));
	if (rc)
		return rc;
	rc = cot_knowledge_complete(r->k);
	return rc ? cot_error_set(r->err, rc, "out of memory") : 0;
}

int cot_knowledge_parse(const char *name, const void *bytes, size_t size,
			struct cot_knowledge **ret, struct cot_error *err)
{
	struct reader r = {.err = err};
	struct cot_yaml *doc;
	int rc;

	rc = cot_yaml_load(name, bytes, size, fields, &doc, err);
	if (rc)
		return rc;
	r.doc = doc;
	r.k = cot_knowledge_create();
	rc = r.k ? read_all(&r) : cot_error_set(err, -ENOMEM, "out of memory");
	cot_yaml_destroy(doc);
	if (rc)
		cot_knowledge_destroy(r.k);
	else
		*ret = r.k;
	return rc;
}

int cot_knowledge_read(const char *path, struct cot_knowledge **ret, struct cot_error *err)
{
	const char *name = strcmp(path, "-") != 0 ? path : "stdin";
	size_t size;
	char *bytes;
	int rc;

	rc = cot_text_read(path, &bytes, &size, err);
	if (rc)
		return rc;
	rc = cot_knowledge_parse(name, bytes, size, ret, err);
	free(bytes);
	return rc;
}
