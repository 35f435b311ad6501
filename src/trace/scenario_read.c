#include "trace/scenario_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "text/number.h"
#include "text/text.h"
#include "trace/gpu.h"
#include "trace/kernel_work.h"
#include "trace/scenario_raw.h"
#include "trace/trace_load.h"

#define SCHEMA_NAME	  "cotenant.scenario/1"
#define DEFAULT_SCHEDULER "fcfs"
#define DEFAULT_SEED	  1
#define DEFAULT_QUANTUM	  (2000 * COT_PS_PER_US) /* of time slicing on real GPUs: about 2 ms */
#define DEFAULT_RUNS	  3
#define PATH_MAX_LEN	  128

/* What cot_scenario_destroy() gets is the first member. */
struct owner {
	struct cot_scenario sc;
	struct cot_program_store programs[COT_MAX_APPS];
};

struct reader {
	const char *name;
	const struct cot_yaml *doc;
	const struct cot_raw_scenario *raw;
	const struct cot_scenario_options *opt;
	struct owner *owner;
	struct cot_error *err;
};

/* Any name will do when there is no list. */
static bool is_among(const char *const *names, unsigned n_names, const char *name)
{
	unsigned i;

	for (i = 0; i < n_names; i++)
		if (!strcmp(names[i], name))
			return true;
	return !names;
}

static bool known_scheduler(const struct cot_scenario_options *opt, const char *name)
{
	return is_among(opt->schedulers, opt->n_schedulers, name);
}

static void list_names(const char *const *names, unsigned n_names, char *buf, size_t size)
{
	size_t n = 0;
	unsigned i;

	buf[0] = '\0';
	for (i = 0; i < n_names && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? ", " : "", names[i]);
}

static int read_scheduler(struct reader *r)
{
	const char *name = r->raw->scheduler ? r->raw->scheduler : DEFAULT_SCHEDULER;
	char list[256], quote[COT_QUOTE_MAX];

	list_names(r->opt->schedulers, r->opt->n_schedulers, list, sizeof(list));
	if (r->raw->scheduler && !known_scheduler(r->opt, name))
		return cot_yaml_fail(r->doc, "scheduler", r->err,
				     "unknown scheduler '%s'; expected one of %s",
				     cot_text_quote(name, quote), list);
	if (r->opt->scheduler)
		name = r->opt->scheduler;
	if (!known_scheduler(r->opt, name) || strlen(name) >= COT_NAME_MAX)
		return cot_error_set(r->err, -EINVAL, "unknown scheduler '%s'; expected one of %s",
				     cot_text_quote(name, quote), list);
	(void)snprintf(r->owner->sc.scheduler, COT_NAME_MAX, "%s", name);
	return 0;
}

/* A policy works on contexts, which only time slicing has. */
static int read_policy(struct reader *r)
{
	const char *name = r->raw->policy;
	char list[256], quote[COT_QUOTE_MAX];

	if (!name)
		return 0;
	list_names(r->opt->policies, r->opt->n_policies, list, sizeof(list));
	if (!is_among(r->opt->policies, r->opt->n_policies, name))
		return cot_yaml_fail(r->doc, "policy", r->err,
				     "unknown policy '%s'; expected one of %s",
				     cot_text_quote(name, quote), list);
	if (strcmp(r->owner->sc.scheduler, "timeslice") != 0)
		return cot_yaml_fail(r->doc, "policy", r->err,
				     "a policy needs the scheduler timeslice, not '%s'",
				     r->owner->sc.scheduler);
	(void)snprintf(r->owner->sc.policy, COT_NAME_MAX, "%s", name);
	return 0;
}

static int read_preempt(struct reader *r)
{
	const char *word = r->opt->preempt;
	char quote[COT_QUOTE_MAX];

	r->owner->sc.preempt = r->raw->preempt;
	if (!word)
		return 0;
	if (strcmp(word, "switch") != 0 && strcmp(word, "drain") != 0)
		return cot_error_set(r->err, -EINVAL,
				     "unknown way to preempt '%s'; expected one of switch, drain",
				     cot_text_quote(word, quote));
	r->owner->sc.preempt = *word == 's' ? COT_PREEMPT_SWITCH : COT_PREEMPT_DRAIN;
	return 0;
}

static int read_stop(struct reader *r)
{
	const struct cot_raw_stop *stop = r->raw->stop;
	struct cot_scenario *sc = &r->owner->sc;

	if (!stop) {
		sc->stop_runs = DEFAULT_RUNS;
		return 0;
	}
	if (!stop->runs && !stop->at_us)
		return cot_yaml_fail(r->doc, "stop", r->err,
				     "stop is an empty map; expected runs, at_us or both");
	if (stop->runs)
		sc->stop_runs = *stop->runs;
	if (stop->at_us)
		sc->stop_ps = cot_ps_from_us(*stop->at_us);
	return 0;
}

static void read_workers(struct reader *r)
{
	const struct cot_raw_workers *raw = r->raw->workers;
	struct cot_workers *w = &r->owner->sc.workers;

	w->grant_ps = COT_WORKERS_GRANT_US * COT_PS_PER_US;
	w->evict_ps = COT_WORKERS_EVICT_US * COT_PS_PER_US;
	if (!raw)
		return;
	if (raw->grant_us)
		w->grant_ps = cot_ps_from_us(*raw->grant_us);
	if (raw->evict_us)
		w->evict_ps = cot_ps_from_us(*raw->evict_us);
	if (raw->overhead_percent)
		w->overhead = *raw->overhead_percent / 100.0;
}

static int read_head(struct reader *r)
{
	const struct cot_raw_scenario *raw = r->raw;
	struct cot_scenario *sc = &r->owner->sc;
	char quote[COT_QUOTE_MAX];
	int rc;

	if (strcmp(raw->schema, SCHEMA_NAME) != 0)
		return cot_yaml_fail(r->doc, "schema", r->err,
				     "schema is '%s'; expected " SCHEMA_NAME,
				     cot_text_quote(raw->schema, quote));
	rc = cot_scenario_gpu(r->doc, raw->gpu, &sc->gpu, r->err);
	if (!rc)
		rc = read_scheduler(r);
	if (!rc)
		rc = read_policy(r);
	if (!rc)
		rc = read_preempt(r);
	if (!rc)
		rc = read_stop(r);
	if (rc)
		return rc;
	read_workers(r);
	sc->transfers = raw->transfers;
	/* JSON's integers end there. */
	if (raw->seed && *raw->seed > INT64_MAX)
		return cot_yaml_fail(r->doc, "seed", r->err,
				     "seed is '%" PRIu64
				     "'; expected a whole number from 0 to %" PRId64,
				     *raw->seed, INT64_MAX);
	sc->seed = raw->seed ? *raw->seed : DEFAULT_SEED;
	if (r->opt->seed)
		sc->seed = *r->opt->seed;
	sc->block_jitter_cv = raw->block_jitter_cv;
	sc->epoch_cycles = raw->epoch_cycles ? *raw->epoch_cycles : COT_EPOCH_CYCLES_DEFAULT;
	sc->rate_noise = raw->rate_noise ? *raw->rate_noise : 0.0;
	sc->qos_batch_sms = raw->qos_batch_sms ? *raw->qos_batch_sms : 1;
	sc->qos_threshold = raw->qos_threshold ? *raw->qos_threshold : COT_QOS_THRESHOLD_DEFAULT;
	sc->quantum_ps = raw->quantum_us ? cot_ps_from_us(*raw->quantum_us) : DEFAULT_QUANTUM;
	return 0;
}

static int fail_fit(const struct cot_yaml *doc, const char *path, const struct cot_gpu *gpu,
		    const struct cot_kernel *k, uint32_t threads, struct cot_error *err)
{
	return cot_yaml_fail(
		doc, path, err,
		"a block needs %u registers, %u bytes of shared memory and %u threads; "
		"expected at most %u, %u and %u, which is what an SM has",
		k->regs_per_block, k->shmem_per_block, threads, gpu->regs_per_sm,
		gpu->shmem_config_bytes[gpu->n_shmem_configs - 1], gpu->threads_per_sm);
}

/* How many blocks an SM holds: what the file says, or what fits. */
static int resolve_occupancy(const struct cot_program_source *src, const struct cot_raw_kernel *raw,
			     const char *path, struct cot_kernel *k, struct cot_error *err)
{
	const struct cot_gpu *gpu = src->arg;
	uint32_t threads =
		raw->threads_per_block ? *raw->threads_per_block : k->work.warps * COT_WARP_THREADS;
	char field[PATH_MAX_LEN];
	uint32_t fits;

	fits = cot_gpu_occupancy(gpu, k->regs_per_block, k->shmem_per_block, threads);
	if (!fits)
		return fail_fit(src->doc, path, gpu, k, threads, err);
	k->blocks_per_sm = raw->blocks_per_sm ? *raw->blocks_per_sm : fits;
	if (k->blocks_per_sm <= fits)
		return 0;
	(void)snprintf(field, sizeof(field), "%s.blocks_per_sm", path);
	return cot_yaml_fail(src->doc, field, err,
			     "blocks_per_sm is %u; expected at most %u, which is what fits an SM",
			     k->blocks_per_sm, fits);
}

static int resolve_kernel(const struct cot_program_source *src, const struct cot_raw_kernel *raw,
			  const char *path, struct cot_kernel *ret_kernel, struct cot_error *err)
{
	const struct cot_gpu *gpu = src->arg;
	struct cot_kernel k = {.n_blocks = *raw->blocks};
	bool by_work = cot_kernel_work_given(raw);
	uint64_t waves;
	int rc = 0;

	if (by_work)
		rc = cot_kernel_work_read(src->doc, raw, path, &k.work, err);
	else if (!raw->block_us == !raw->kernel_us)
		rc = cot_yaml_fail(src->doc, path, err,
				   "the kernel has %s block_us %s kernel_us; expected one of them",
				   raw->block_us ? "both" : "neither",
				   raw->block_us ? "and" : "nor");
	if (rc)
		return rc;
	(void)snprintf(k.name, sizeof(k.name), "%s", raw->name);
	k.regs_per_block = raw->regs_per_block ? *raw->regs_per_block : 0;
	k.shmem_per_block = raw->shmem_per_block ? *raw->shmem_per_block : 0;
	k.ctx_bytes_per_block = 4 * k.regs_per_block + k.shmem_per_block;
	rc = resolve_occupancy(src, raw, path, &k, err);
	if (rc)
		return rc;
	if (by_work) {
		k.block_ps = cot_gpu_work_ps(gpu, k.work.insts);
	} else if (raw->block_us) {
		k.block_ps = cot_ps_from_us(*raw->block_us);
	} else {
		waves = cot_div_up(k.n_blocks, (uint64_t)gpu->n_sms * k.blocks_per_sm);
		k.block_ps = (cot_ps_from_us(*raw->kernel_us) + waves / 2) / waves;
	}
	if (!k.block_ps)
		return cot_yaml_fail(src->doc, path, err,
				     "a block takes less than 0.000001 us; expected at least that");
	*ret_kernel = k;
	return 0;
}

/*
 * A mistake inside a trace file has its place there; everything else about a trace is placed where
 * the scenario names it.
 */
static int read_trace(struct reader *r, uint32_t i, const char *path)
{
	const char *name = r->raw->apps[i].trace;
	char field[PATH_MAX_LEN], list[512], quote[COT_QUOTE_MAX];
	struct cot_error inner = {""};
	bool is_file;
	int rc;

	(void)snprintf(field, sizeof(field), "%s.trace", path);
	if (!cot_trace_known(name, &is_file, list, sizeof(list)))
		return cot_yaml_fail(r->doc, field, r->err, "no trace '%s'; expected %s",
				     cot_text_quote(name, quote), list);
	rc = cot_trace_load(name, r->name, (enum cot_block_time)r->raw->block_time,
			    &r->owner->sc.gpu, &r->owner->programs[i], &inner);
	if (!rc)
		return 0;
	if (rc == -ENOMEM || (rc == -EINVAL && is_file))
		return cot_error_set(r->err, rc, "%s", inner.text);
	return cot_yaml_fail(r->doc, field, r->err, "the trace '%s' cannot be used: %s",
			     cot_text_quote(name, quote), inner.text);
}

static int read_program(struct reader *r, uint32_t i, const char *path)
{
	const struct cot_raw_app *raw = &r->raw->apps[i];
	const struct cot_program_source src = {
		.doc = r->doc,
		.kernel = resolve_kernel,
		.arg = &r->owner->sc.gpu,
	};
	char field[PATH_MAX_LEN];
	int rc;

	if (!raw->program == !raw->trace)
		return cot_yaml_fail(r->doc, path, r->err,
				     "the app has %s program %s trace; expected one of them",
				     raw->program ? "both" : "neither",
				     raw->program ? "and" : "nor");
	if (raw->trace) {
		rc = read_trace(r, i, path);
	} else {
		(void)snprintf(field, sizeof(field), "%s.program", path);
		rc = cot_program_build(&src, field, raw->program, raw->program_count,
				       &r->owner->programs[i], r->err);
	}
	if (!rc)
		r->owner->sc.apps[i].program = cot_program_store_view(&r->owner->programs[i]);
	return rc;
}

/* The number of a context is that of the first app in it. */
static uint32_t read_context(const struct reader *r, uint32_t i)
{
	uint32_t j;

	for (j = 0; r->raw->apps[i].context && j < i; j++)
		if (r->raw->apps[j].context &&
		    !strcmp(r->raw->apps[j].context, r->raw->apps[i].context))
			return j;
	return i;
}

static int check_name(const struct reader *r, uint32_t i, const char *path)
{
	const char *name = r->raw->apps[i].name;
	char field[PATH_MAX_LEN];
	uint32_t j;

	(void)snprintf(field, sizeof(field), "%s.name", path);
	for (j = 0; j < i; j++)
		if (!strcmp(r->raw->apps[j].name, name))
			return cot_yaml_fail(
				r->doc, field, r->err,
				"two apps are named '%s'; expected a name of its own for "
				"each",
				name);
	return 0;
}

/* A promise is about instructions, so the app must have kernels that count them. */
static int read_qos(struct reader *r, uint32_t i, const char *path)
{
	const struct cot_raw_qos *raw = r->raw->apps[i].qos;
	struct cot_app *app = &r->owner->sc.apps[i];
	bool counted = false;
	char field[PATH_MAX_LEN], quote[COT_QUOTE_MAX];
	uint32_t k;

	if (!raw)
		return 0;
	(void)snprintf(field, sizeof(field), "%s.qos", path);
	if (!raw->ipc == !raw->percent)
		return cot_yaml_fail(r->doc, field, r->err,
				     "qos has %s ipc %s percent; expected one of them",
				     raw->ipc ? "both" : "neither", raw->ipc ? "and" : "nor");
	for (k = 0; k < app->program.n_kernels; k++)
		if (!raw->kernel || !strcmp(raw->kernel, app->program.kernels[k].name))
			counted |= app->program.kernels[k].work.insts > 0;
	if (!counted && raw->kernel)
		return cot_yaml_fail(r->doc, field, r->err,
				     "the app launches no kernel '%s' with instructions; expected "
				     "the name of one that has insts_per_warp or insts_per_block",
				     cot_text_quote(raw->kernel, quote));
	if (!counted)
		return cot_yaml_fail(r->doc, field, r->err,
				     "no kernel of the app has instructions; expected one with "
				     "insts_per_warp or insts_per_block");
	if (raw->kernel)
		(void)snprintf(app->qos.kernel, sizeof(app->qos.kernel), "%s", raw->kernel);
	app->qos.ipc = raw->ipc ? *raw->ipc : 0.0;
	app->qos.percent = raw->percent ? *raw->percent : 0.0;
	return 0;
}

static int read_share(struct reader *r, const char *path, const char *key, const char *text,
		      struct cot_app_share *share)
{
	char field[PATH_MAX_LEN], quote[COT_QUOTE_MAX];

	if (!text)
		return 0;
	(void)snprintf(field, sizeof(field), "%s.%s", path, key);
	if (!r->owner->sc.policy[0])
		return cot_yaml_fail(r->doc, field, r->err,
				     "%s is for a software policy; expected a policy such as "
				     "smguard",
				     key);
	if (!cot_number_share(text, COT_MAX_SMS, &share->sms, &share->pct))
		return cot_yaml_fail(r->doc, field, r->err,
				     "%s is '%s'; expected a part of the GPU such as 50%% or 66sm",
				     key, cot_text_quote(text, quote));
	return 0;
}

static int read_shares(struct reader *r, uint32_t i, const char *path)
{
	const struct cot_raw_app *raw = &r->raw->apps[i];
	struct cot_app *app = &r->owner->sc.apps[i];
	char field[PATH_MAX_LEN];
	int rc = read_share(r, path, "quota", raw->quota, &app->quota);

	if (!rc)
		rc = read_share(r, path, "reserve", raw->reserve, &app->reserve);
	if (rc)
		return rc;
	if (raw->reserve && app->cls != COT_APP_LATENCY) {
		(void)snprintf(field, sizeof(field), "%s.reserve", path);
		return cot_yaml_fail(r->doc, field, r->err,
				     "a reserve is for apps of class latency; a batch app may have "
				     "a quota");
	}
	app->rewrite = raw->rewrite != 0;
	if (!app->rewrite || r->owner->sc.policy[0])
		return 0;
	(void)snprintf(field, sizeof(field), "%s.rewrite", path);
	return cot_yaml_fail(r->doc, field, r->err,
			     "rewrite is for a software policy; expected a policy such as smguard");
}

static int read_app(struct reader *r, uint32_t i)
{
	const struct cot_raw_app *raw = &r->raw->apps[i];
	struct cot_app *app = &r->owner->sc.apps[i];
	char path[PATH_MAX_LEN];
	int rc;

	(void)snprintf(path, sizeof(path), "apps[%u]", i);
	rc = check_name(r, i, path);
	if (rc)
		return rc;
	(void)snprintf(app->name, sizeof(app->name), "%s", raw->name);
	app->priority = raw->priority ? *raw->priority : 0;
	app->tokens = raw->tokens ? (int32_t)*raw->tokens : COT_TOKENS_EQUAL;
	app->context = read_context(r, i);
	app->cls = raw->cls;
	app->weight = raw->weight ? *raw->weight : COT_APP_WEIGHT_DEFAULT;
	app->block_hint_us = raw->block_hint_us ? *raw->block_hint_us : 0;
	app->solo = raw->solo != 0;
	app->start_ps = raw->start_us ? cot_ps_from_us(*raw->start_us) : 0;
	rc = read_shares(r, i, path);
	if (!rc)
		rc = read_program(r, i, path);
	return rc ? rc : read_qos(r, i, path);
}

/* Simulated time is bounded, so that no sum of times leaves 64 bits. */
static int check_length(struct reader *r)
{
	const struct cot_scenario *sc = &r->owner->sc;
	double runs = sc->stop_runs ? sc->stop_runs : 1, total_us = 0;
	char path[PATH_MAX_LEN];
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++) {
		total_us += runs * cot_program_solo_us(&sc->apps[i].program, &sc->gpu);
		(void)snprintf(path, sizeof(path), "apps[%u]", i);
		if (total_us > COT_TIME_US_MAX)
			return cot_yaml_fail(
				r->doc, path, r->err,
				"the apps' runs take more than %.0f us one after another; "
				"expected less",
				COT_TIME_US_MAX);
	}
	return 0;
}

static int read_all(struct reader *r)
{
	uint32_t i;
	int rc;

	rc = read_head(r);
	if (rc)
		return rc;
	r->owner->sc.n_apps = r->raw->apps_count;
	for (i = 0; !rc && i < r->raw->apps_count; i++)
		rc = read_app(r, i);
	return rc ? rc : check_length(r);
}

int cot_scenario_parse(const char *name, const void *bytes, size_t size,
		       const struct cot_scenario_options *opt, struct cot_scenario **ret,
		       struct cot_error *err)
{
	static const struct cot_scenario_options no_options;
	struct reader r = {.name = name, .opt = opt ? opt : &no_options, .err = err};
	struct cot_yaml *doc;
	int rc;

	rc = cot_yaml_load(name, bytes, size, &cot_scenario_format, &doc, err);
	if (rc)
		return rc;
	r.doc = doc;
	r.raw = cot_yaml_data(doc);
	r.owner = calloc(1, sizeof(*r.owner));
	rc = r.owner ? read_all(&r) : cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	cot_yaml_destroy(doc);
	if (rc) {
		cot_scenario_destroy(r.owner ? &r.owner->sc : NULL);
		return rc;
	}
	*ret = &r.owner->sc;
	return 0;
}

int cot_scenario_read(const char *path, const struct cot_scenario_options *opt,
		      struct cot_scenario **ret, struct cot_error *err)
{
	const char *name = strcmp(path, "-") != 0 ? path : "stdin";
	size_t size;
	char *bytes;
	int rc;

	rc = cot_text_read(path, &bytes, &size, err);
	if (rc)
		return rc;
	rc = cot_scenario_parse(name, bytes, size, opt, ret, err);
	free(bytes);
	return rc;
}

void cot_scenario_destroy(struct cot_scenario *sc)
{
	struct owner *owner = (struct owner *)sc;
	uint32_t i;

	if (!sc)
		return;
	for (i = 0; i < COT_MAX_APPS; i++)
		cot_program_store_finish(&owner->programs[i]);
	free(owner);
}
