/*
 * cotenant run: registers a program with the daemon and becomes it.
 *
 * The program is exec'ed, so its exit status, signals and process id are its own; 125, 126 and 127
 * as in env(1). Without a daemon or library the program runs unchanged, after one line on stderr,
 * unless COTENANT_REQUIRED=1.
 */
#include <argp.h>
#include <cotenant/policy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/rng.h"
#include "base/words.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/emulate.h"
#include "cli/loadable.h"
#include "cli/policy_name.h"
#include "cli/run_backend.h"
#include "cli/run_cpu.h"
#include "cli/uncontrolled.h"
#include "daemon/gpus.h"
#include "daemon/paths.h"
#include "emu/gpu/devices.h"
#include "text/nearest.h"
#include "text/number.h"

enum { STATUS_FAILED = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

/* An MPS server may take some seconds to come up. */
#define REGISTER_MS 30000
/* So many may end while we ask them. */
#define DAEMONS_MAX 4u

struct arguments {
	const char *class, *name, *gpu, *weight, *block, *quota, *reserve, *sms, *pace, *memory;
	const char *policy;			  /* NULL: as it is */
	const char *targets[COT_TARGET_RATE + 1]; /* by kind */
	bool solo, required, rewrite, merge, no_store, measure, oversubscribe;
	bool gpu_of_cuda; /* `gpu` is what CUDA_VISIBLE_DEVICES says */
	struct cot_run_backend backend;
	struct cot_run_cpu cpu;
	struct cot_emulate emulate; /* device NULL: on a real GPU */
	int first;		    /* index of the program in argv */
};

enum {
	KEY_CLASS = 256,
	KEY_WEIGHT,
	KEY_GPU,
	KEY_BLOCK,
	KEY_QUOTA,
	KEY_RESERVE,
	KEY_SMS,
	KEY_REWRITE,
	KEY_MERGE,
	KEY_NO_STORE,
	KEY_BACKEND,
	KEY_PACE,
	KEY_MEMORY,
	KEY_OVERSUBSCRIBE,
	KEY_P99,
	KEY_SLOWDOWN,
	KEY_RATE,
	KEY_MEASURE,
	KEY_POLICY,
	KEY_CPU,
	KEY_CPU_KERNELS,
	KEY_CPU_BY,
	KEY_SOLO,
	KEY_REQUIRED,
	KEY_EMULATE,
	KEY_SEED,
	KEY_CHECK,
};

static const struct argp_option options[] = {
	{"class", KEY_CLASS, "CLASS", 0, "latency, or batch (the default)", 0},
	{"name", 'n', "NAME", 0, "Its name in cotenant ps; default: the program's", 0},
	{"weight", KEY_WEIGHT, "N", 0, "Its share among batch programs: 1 to 10000, default 100",
	 0},
	{"gpu", KEY_GPU, "GPU", 0, "A number, a UUID, a list of them, or all; default: the first",
	 0},
	{"block", KEY_BLOCK, "TIME", 0,
	 "How long its thread blocks last at most, as in 100us or 2ms (a number alone: us), if you know",
	 0},
	{"quota", KEY_QUOTA, "SHARE", 0,
	 "How much of a GPU its kernels may have together, as in 50% or 66sm", 0},
	{"reserve", KEY_RESERVE, "SHARE", 0,
	 "How much of a GPU each kernel of a latency program gets at least", 0},
	{"sms", KEY_SMS, "SHARE", 0,
	 "Run on a part of the GPU's SMs, as in 64 or 50%; cotenant set changes it", 0},
	{"pace", KEY_PACE, "TIME", 0,
	 "On a part: launch only so much ahead of the GPU, as in 500us (a number alone: us), so that a change acts soon",
	 0},
	{"memory", KEY_MEMORY, "SIZE", 0,
	 "The most that it may have of each GPU's memory, as in 40GiB, which is promised to it", 0},
	{"memory-oversubscribe", KEY_OVERSUBSCRIBE, NULL, 0,
	 "Promise it although programs have been promised more than is left", 0},
	{"rewrite", KEY_REWRITE, NULL, 0,
	 "Rewrite its kernels, so that they can run on part of the SMs; --quota and "
	 "--reserve do so too",
	 0},
	{"merge", KEY_MERGE, NULL, 0,
	 "Make one launch of launches in different streams that could run at the same time", 0},
	{"merge-anew", KEY_NO_STORE, NULL, 0,
	 "Rewrite for --merge anew, and keep nothing on disk (else in ~/.cache/cotenant/templates)",
	 0},
	{"backend", KEY_BACKEND, "NAME", 0,
	 "Make one launch of launches of all programs with this backend, which is started if need be; "
	 "they have their memory in common",
	 0},
	{"cpu", KEY_CPU, "LIBRARY", 0,
	 "Run launches on the CPU that take less there, with these CPU versions of kernels: "
	 "kernels, interpreter, or a path; more with commas",
	 0},
	{"cpu-kernels", KEY_CPU_KERNELS, "FILE", 0,
	 "The kernels as the models take them, which say what takes less; default: all", 0},
	{"cpu-by", KEY_CPU_BY, "AIM", 0, "What is to be less: energy (the default) or time", 0},
	{"p99", KEY_P99, "TIME", 0,
	 "Its target: 99 % of its requests take at most so long, as in 5ms", 0},
	{"slowdown", KEY_SLOWDOWN, "FACTOR", 0,
	 "The same, as a multiple of what they take alone on the GPU, as in 1.5x", 0},
	{"rate", KEY_RATE, "SHARE", 0,
	 "Its target: it gets on at least at this share of its rate alone, as in 80%", 0},
	{"measure", KEY_MEASURE, NULL, 0,
	 "Measure its requests, for cotenant stats; a target does so too", 0},
	{"policy", KEY_POLICY, "NAME", 0,
	 "The daemon goes over to this policy before, as by cotenant policy NAME", 0},
	{"solo", KEY_SOLO, NULL, 0, "Stay outside the pools", 0},
	{"required", KEY_REQUIRED, NULL, 0, "Fail where the program would run unchanged", 0},
	{"emulate", KEY_EMULATE, "DEVICE", 0,
	 "Run on an emulated GPU: " COT_EMU_DEVICE_WORDS(", or "), 0},
	{"emulate-seed", KEY_SEED, "N", 0, "Run its kernels in an order that N decides", 0},
	{"emulate-check", KEY_CHECK, "CHECKS", 0, "Look for mistakes in kernels: races, aligned",
	 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_CLASS:
		a->class = arg;
		return 0;
	case KEY_POLICY:
		a->policy = arg;
		return 0;
	case 'n':
		a->name = arg;
		return 0;
	case KEY_WEIGHT:
		a->weight = arg;
		return 0;
	case KEY_GPU:
		a->gpu = arg;
		return 0;
	case KEY_BLOCK:
		a->block = arg;
		return 0;
	case KEY_QUOTA:
		a->quota = arg;
		return 0;
	case KEY_RESERVE:
		a->reserve = arg;
		return 0;
	case KEY_SMS:
		a->sms = arg;
		return 0;
	case KEY_PACE:
		a->pace = arg;
		return 0;
	case KEY_MEMORY:
		a->memory = arg;
		return 0;
	case KEY_OVERSUBSCRIBE:
		a->oversubscribe = true;
		return 0;
	case KEY_REWRITE:
		a->rewrite = true;
		return 0;
	case KEY_MERGE:
		a->merge = true;
		return 0;
	case KEY_NO_STORE:
		a->no_store = true;
		return 0;
	case KEY_BACKEND:
		a->backend.name = arg;
		return 0;
	case KEY_P99:
	case KEY_SLOWDOWN:
	case KEY_RATE:
		a->targets[COT_TARGET_P99 + (key - KEY_P99)] = arg;
		return 0;
	case KEY_MEASURE:
		a->measure = true;
		return 0;
	case KEY_CPU:
		a->cpu.libraries = arg;
		return 0;
	case KEY_CPU_KERNELS:
		a->cpu.kernels = arg;
		return 0;
	case KEY_CPU_BY:
		a->cpu.aim = arg;
		return 0;
	case KEY_SOLO:
		a->solo = true;
		return 0;
	case KEY_REQUIRED:
		a->required = true;
		return 0;
	case KEY_EMULATE:
		a->emulate.device = arg;
		return 0;
	case KEY_SEED:
		a->emulate.seed = arg;
		return 0;
	case KEY_CHECK:
		a->emulate.checks = arg;
		return 0;
	case ARGP_KEY_ARG:
		a->first = state->next - 1;
		state->next = state->argc; /* the rest is the program's */
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no program given; as in: cotenant run -- python3 train.py");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool is_yes(const char *name)
{
	const char *value = variable(name);

	return value && strcmp(value, "0") != 0;
}

static bool has_target(const struct arguments *a)
{
	return a->targets[COT_TARGET_P99] || a->targets[COT_TARGET_SLOWDOWN] ||
	       a->targets[COT_TARGET_RATE];
}

/* By kind, as the daemon calls them, too. */
static const char *const target_variables[] = {NULL, "COTENANT_P99", "COTENANT_SLOWDOWN",
					       "COTENANT_RATE"};

/* Where no option says one. A program that a latency program starts as a batch program does not
 * inherit its p99. */
static void read_target_variables(struct arguments *a)
{
	bool batch = a->class && !strcmp(a->class, cot_class_words[COT_CLASS_BATCH]);
	enum cot_target_kind kind;

	if (has_target(a))
		return;
	for (kind = COT_TARGET_P99; kind <= COT_TARGET_RATE; kind++)
		if (cot_target_suits(kind, batch ? COT_CLASS_BATCH : COT_CLASS_LATENCY))
			a->targets[kind] = variable(target_variables[kind]);
}

static void read_environment(struct arguments *a)
{
	read_target_variables(a);
	if (!a->class)
		a->class = variable("COTENANT_CLASS");
	if (!a->name)
		a->name = variable("COTENANT_NAME");
	if (!a->weight)
		a->weight = variable("COTENANT_WEIGHT");
	if (!a->block)
		a->block = variable("COTENANT_BLOCK_US");
	if (!a->quota)
		a->quota = variable("COTENANT_QUOTA");
	if (!a->reserve)
		a->reserve = variable("COTENANT_RESERVE");
	if (!a->sms)
		a->sms = variable("COTENANT_SMS");
	if (!a->pace)
		a->pace = variable("COTENANT_PACE_US");
	if (!a->memory)
		a->memory = variable("COTENANT_MEMORY_MIB");
	a->rewrite |= is_yes("COTENANT_SHIM") || a->quota || a->reserve || a->cpu.libraries;
	a->merge |= is_yes("COTENANT_MERGE");
	if (!a->gpu)
		a->gpu = variable("COTENANT_GPU");
	/* CUDA_VISIBLE_DEVICES chooses the program's GPUs. */
	if (!a->gpu) {
		a->gpu = variable("CUDA_VISIBLE_DEVICES");
		a->gpu_of_cuda = a->gpu != NULL;
	}
	a->measure |= is_yes("COTENANT_REQUESTS");
	a->solo |= is_yes("COTENANT_SOLO");
	a->required |= is_yes("COTENANT_REQUIRED");
}

/* The last part of the program's path. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int fill_in_share(const char *what, const char *text, uint16_t *ret_share,
			 struct cot_error *err)
{
	if (text && !cot_cli_share(text, ret_share))
		return cot_error_set(err, -EINVAL,
				     "the %s is '%s'; expected a part of a GPU such as 50%% or "
				     "66sm",
				     what, text);
	return 0;
}

static int fill_in_shares(const struct arguments *a, struct cot_msg_register *m,
			  struct cot_error *err)
{
	int rc = fill_in_share("quota", a->quota, &m->quota, err);

	if (!rc)
		rc = fill_in_share("reserve", a->reserve, &m->reserve, err);
	if (!rc && a->sms && !cot_cli_sms(a->sms, &m->sms))
		rc = cot_error_set(err, -EINVAL,
				   "the share of SMs is '%s'; expected 1 to %u SMs, or 1%% to "
				   "100%%, as in 64 or 50%%",
				   a->sms, COT_SMS_MAX);
	if (!rc && a->pace && !cot_cli_pace(a->pace, &m->pace_us))
		rc = cot_error_set(err, -EINVAL,
				   "the pace is '%s'; expected a time such as 500us, up to %u us",
				   a->pace, COT_PACE_US_MAX);
	if (!rc && a->backend.name && (a->rewrite || m->sms))
		rc = cot_error_set(
			err, -EINVAL,
			"--backend launches on the whole GPU, and --rewrite, --quota, "
			"--reserve, --sms and --cpu on a part or elsewhere; expected one "
			"or the other");
	if (!rc && a->merge && a->rewrite)
		rc = cot_error_set(err, -EINVAL,
				   "--merge makes launches larger, and --rewrite, --quota, "
				   "--reserve and --cpu divide them; expected one or the other");
	if (!rc && m->reserve && m->class_ != COT_CLASS_LATENCY)
		rc = cot_error_set(err, -EINVAL,
				   "only a latency program may have a reservation; a batch program "
				   "may have a quota");
	return rc;
}

static int fill_in_memory(const struct arguments *a, struct cot_msg_register *m,
			  struct cot_error *err)
{
	uint64_t mib = 0;

	if (a->memory && !cot_quantity_whole(a->memory, COT_UNIT_MIB, 1, COT_MEMORY_MIB_MAX, &mib))
		return cot_error_set(err, -EINVAL,
				     "the memory is '%s'; expected a whole number of MiB, as in "
				     "512MiB or 40GiB",
				     a->memory);
	m->memory_mib = (uint32_t)mib;
	return 0;
}

static int fill_in_target(const struct arguments *a, struct cot_msg_register *m,
			  struct cot_error *err)
{
	enum cot_target_kind kind, other = COT_TARGET_NONE;
	struct cot_target target = {0};
	int rc = 0;

	for (kind = COT_TARGET_P99; kind <= COT_TARGET_RATE && !rc; kind++) {
		if (!a->targets[kind])
			continue;
		if (other)
			return cot_error_set(err, -EINVAL,
					     "a program has one target; expected --%s or --%s, not "
					     "both",
					     cot_target_words[other], cot_target_words[kind]);
		other = kind;
		rc = cot_cli_target(kind, a->targets[kind], &target, err);
	}
	/* Who has such a target is a latency program. */
	if (!a->class && target.kind && target.kind != COT_TARGET_RATE)
		m->class_ = COT_CLASS_LATENCY;
	if (!rc && !cot_target_suits(target.kind, (enum cot_class)m->class_))
		rc = cot_error_set(err, -EINVAL, COT_TARGET_UNSUITED);
	m->target = cot_proto_pack_target(target);
	m->flags = (a->measure ? COT_REGISTER_MEASURE : 0) |
		   (a->oversubscribe ? COT_REGISTER_OVERSUBSCRIBE : 0);
	return rc;
}

/* The same for the same program with the same arguments; not 0. */
static uint32_t hash_command(char *const argv[])
{
	uint64_t hash = 0;

	for (; *argv; argv++)
		hash = cot_hash64(cot_hash_text(hash, *argv), 0);
	return (uint32_t)hash ? (uint32_t)hash : 1;
}

static int fill_in(const struct arguments *a, char *const argv[], struct cot_msg_register *m,
		   struct cot_error *err)
{
	const char *program = argv[0];
	const char *name = a->name && *a->name ? a->name : base_name(program);
	const char *gpu = a->gpu ? a->gpu : "";
	uint64_t weight = COT_WEIGHT_DEFAULT, block_us = 0;
	enum cot_class cls = COT_CLASS_BATCH;
	char hint[COT_NEAREST_HINT_MAX];

	*m = (struct cot_msg_register){
		.solo = a->solo, .pid = (uint32_t)getpid(), .command = hash_command(argv)};
	if (a->class && !cot_class_read(a->class, &cls))
		return cot_error_set(err, -EINVAL, "the class is '%s'%s; expected latency or batch",
				     a->class, cot_nearest_of(a->class, cot_class_words, 2, hint));
	if (a->weight &&
	    (!cot_number_u64(a->weight, &weight) || !weight || weight > COT_WEIGHT_MAX))
		return cot_error_set(err, -EINVAL,
				     "the weight is '%s'; expected a whole number from 1 to %u",
				     a->weight, COT_WEIGHT_MAX);
	m->class_ = (uint8_t)cls;
	m->weight = (uint16_t)weight;
	if (a->block && !cot_quantity_whole(a->block, COT_UNIT_US, 0, COT_BLOCK_US_MAX, &block_us))
		return cot_error_set(err, -EINVAL,
				     "the longest block is '%s'; expected a time such as 100us or "
				     "2ms, up to %u us",
				     a->block, COT_BLOCK_US_MAX);
	m->block_us = (uint32_t)block_us;
	if (fill_in_target(a, m, err) < 0 || fill_in_shares(a, m, err) < 0 ||
	    fill_in_memory(a, m, err) < 0)
		return -EINVAL;
	if (strlen(gpu) >= sizeof(m->gpu))
		return cot_error_set(err, -EINVAL, "the list of GPUs is too long");
	(void)snprintf(m->gpu, sizeof(m->gpu), "%s", gpu);
	(void)snprintf(m->name, sizeof(m->name), "%s", name); /* cut where it is too long */
	return 0;
}

/* Sets what the daemon says; the note is for the user. `own_gpu`: CUDA_VISIBLE_DEVICES stays. */
static int take_environment(const struct cot_msg_registered *m, bool own_gpu)
{
	const char *entry = m->env, *end = (const char *)m + m->h.length;
	unsigned kind;

	for (kind = COT_TARGET_P99; kind <= COT_TARGET_RATE; kind++)
		(void)unsetenv(target_variables[kind]); /* another program's */
	for (; entry < end; entry += strlen(entry) + 1) {
		const char *equals = strchr(entry, '=');
		char key[64];

		if (!equals || equals == entry || (size_t)(equals - entry) >= sizeof(key))
			continue;
		(void)snprintf(key, sizeof(key), "%.*s", (int)(equals - entry), entry);
		if (own_gpu && !strcmp(key, "CUDA_VISIBLE_DEVICES"))
			continue;
		if (!strcmp(key, "COTENANT_NOTE"))
			cot_cli_complain("%s", equals + 1);
		else if (setenv(key, equals + 1, 1) < 0)
			return -errno;
	}
	return 0;
}

static bool has_variable(const struct cot_msg_registered *m, const char *name)
{
	const char *entry = m->env, *end = (const char *)m + m->h.length;
	size_t n = strlen(name);

	for (; entry < end; entry += strlen(entry) + 1)
		if (!strncmp(entry, name, n) && entry[n] == '=')
			return true;
	return false;
}

/* Whether the daemon says that the program can be put on a part of the GPU: also without a share of
 * its own, where the policy deals out parts; or that it is measured. */
static bool needs_shim(const struct cot_msg_registered *m)
{
	return has_variable(m, "COTENANT_PARTS") || has_variable(m, "COTENANT_REQUESTS");
}

/* Is it one of the list's entries? */
static bool is_listed(const char *list, const char *path)
{
	size_t n;

	for (; *list; list += n + !!list[n]) {
		n = strcspn(list, " :");
		if (n == strlen(path) && !strncmp(list, path, n))
			return true;
	}
	return false;
}

/* Before what the variable says already, unless it is in there. */
static int put_first(const char *name, const char *path, struct cot_error *err)
{
	const char *others = variable(name);
	char *value = NULL;
	int rc;

	if (strpbrk(path, " :"))
		return cot_error_set(err, -EINVAL,
				     "the library's path '%s' has a space or a colon, which the "
				     "dynamic linker takes for the end of it",
				     path);
	if (others && is_listed(others, path))
		return 0;
	if (asprintf(&value, "%s%s%s", path, others ? ":" : "", others ? others : "") < 0)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = setenv(name, value, 1) < 0 ? -errno : 0;
	free(value);
	return rc;
}

static int preload(struct cot_error *err)
{
	char library[COT_PATH_TEXT_MAX];
	int rc = cot_paths_library(library, err);

	return rc < 0 ? rc : put_first("LD_PRELOAD", library, err);
}

/* The shim has the driver's name, so that programs that look for the driver find it: preloaded for
 * programs that have it linked or look it up by name, first in the path for the others. */
static int preload_shim(const struct arguments *a, struct cot_error *err)
{
	char shim[COT_PATH_TEXT_MAX];
	int rc = cot_paths_shim(shim, err);

	if (!rc)
		rc = put_first("LD_PRELOAD", shim, err);
	if (rc < 0)
		return rc;
	*strrchr(shim, '/') = '\0';
	rc = put_first("LD_LIBRARY_PATH", shim, err);
	if (!rc && a->rewrite && setenv("COTENANT_SHIM", "1", 1) < 0)
		rc = -errno;
	if (!rc && a->merge && !is_yes("COTENANT_MERGE") && setenv("COTENANT_MERGE", "1", 1) < 0)
		rc = -errno;
	if (!rc && a->no_store && setenv("COTENANT_MERGE_STORE", "0", 1) < 0)
		rc = -errno;
	return rc;
}

static bool has_gpu(void)
{
	struct cot_gpus gpus;

	cot_gpus_find(&gpus);
	return gpus.found;
}

/* A daemon is started only where it has something to do. */
static int open_client(struct cot_client *client, struct cot_error *err)
{
	bool start = has_gpu();
	int rc = cot_client_open(client, start, err);

	if ((rc == -ENOENT || rc == -ECONNREFUSED) && !start && !variable("COTENANT_SOCKET"))
		rc = cot_error_set(err, rc,
				   "there is no NVIDIA GPU here; --emulate h200 gives a program an "
				   "emulated one");
	return rc;
}

static int ask_once(struct cot_client *client, struct cot_msg_register *m, struct cot_error *err)
{
	int rc = open_client(client, err);

	if (!rc)
		rc = cot_client_send(client, COT_MSG_REGISTER, m, sizeof(*m), err);
	if (!rc)
		rc = cot_client_receive(client, REGISTER_MS, err);
	if (rc >= 0 && rc != COT_MSG_REGISTERED)
		rc = cot_error_set(err, -EBADMSG, "cotenantd gave an unexpected answer");
	if (rc < 0)
		cot_client_close(client);
	return rc;
}

/* Asks for a place: of the next daemon, if this one ends meanwhile. COT_MSG_REGISTERED, or -errno.
 */
static int ask(struct cot_client *client, struct cot_msg_register *m, struct cot_error *err)
{
	unsigned i;
	int rc;

	for (i = 0; i < DAEMONS_MAX; i++) {
		rc = ask_once(client, m, err);
		if (rc != -EPIPE && rc != -ECONNRESET)
			break;
	}
	return rc;
}

/* Without the libraries do not ask for a place. */
static int find_libraries(bool shim, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX];
	int rc = cot_paths_library(path, err);

	return !rc && shim ? cot_paths_shim(path, err) : rc;
}

/* For all programs, and until somebody chooses another one. */
static int choose_policy(const char *name, struct cot_error *err)
{
	struct cot_msg_command command;
	struct cot_client client;
	char *text = NULL;
	int rc = cot_policy_name_check(name, err);

	rc = rc ? rc : open_client(&client, err);
	if (rc)
		return rc;
	cot_policy_name_command(name, &command);
	rc = cot_client_command(&client, &command, &text, err);
	cot_client_close(&client);
	free(text);
	return rc < 0 ? rc : 0;
}

static int enlist(const struct arguments *a, char *const argv[], struct cot_error *err)
{
	struct cot_client client;
	struct cot_msg_register m;
	bool own_gpu = false;
	int rc = fill_in(a, argv, &m, err);

	if (!rc)
		rc = find_libraries(a->rewrite || a->merge || a->backend.name || a->sms ||
					    a->pace || a->memory || a->measure || has_target(a),
				    err);
	if (!rc && a->policy)
		rc = choose_policy(a->policy, err);
	if (!rc)
		rc = ask(&client, &m, err);
	if (rc == -EACCES && a->gpu_of_cuda) {
		/* Parts of GPUs, or numbers of a container: CUDA understands what we do not. */
		m.gpu[0] = '\0';
		m.solo = 1;
		own_gpu = true;
		rc = ask(&client, &m, err);
	}
	if (rc < 0)
		return rc;
	if (m.memory_mib && !has_variable((const void *)client.packet, "COTENANT_MEMORY_MIB")) {
		cot_client_close(&client);
		return cot_error_set(err, -EINVAL,
				     "this daemon is older and knows no bound of memory; install "
				     "the same version of both");
	}
	rc = preload(err);
	if (!rc &&
	    (a->rewrite || a->merge || a->backend.name || needs_shim((const void *)client.packet)))
		rc = preload_shim(a, err);
	if (!rc)
		rc = take_environment((const struct cot_msg_registered *)client.packet, own_gpu);
	if (!rc)
		rc = cot_run_backend_start(&a->backend, err);
	cot_client_close(&client);
	return rc;
}

/* 0, or -ENOEXEC with a sentence. Such a program may be a launcher of others. */
static int check_loadable(const char *program, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX];
	const char *why = NULL;

	if (cot_paths_program(program, path))
		why = cot_loadable_obstacle(path);
	if (!why)
		return 0;
	return cot_error_set(err, -ENOEXEC,
			     "'%.200s' is %s, so no library can be loaded into it: only programs "
			     "that it starts are under control",
			     program, why);
}

/* A mistake of the user, or a no of the daemon, is not overlooked. */
static bool is_final(int rc)
{
	return rc == -EINVAL || rc == -EACCES || rc == -EPERM;
}

/* What `ps` and `doctor` are to show of it: cli/uncontrolled.h. */
static void leave_mark(const struct arguments *a, const char *program, const char *reason)
{
	(void)setenv(COT_UNCONTROLLED_MARK, reason, 1);
	(void)setenv("COTENANT_NAME", a->name && *a->name ? a->name : base_name(program), 1);
	(void)setenv("COTENANT_CLASS", a->class ? a->class : "batch", 1);
}

/* False: do not run it. Otherwise it is under control, or the user has been warned and it is
 * marked. */
static bool take_control(const struct arguments *a, char *const argv[])
{
	const char *program = argv[0];
	struct cot_error err = {{0}};
	int rc = enlist(a, argv, &err);

	(void)unsetenv(COT_UNCONTROLLED_MARK);
	if (!rc)
		rc = check_loadable(program, &err);
	if (!rc)
		return true;
	if (a->required || is_final(rc)) {
		cot_cli_complain("%s", err.text);
		return false;
	}
	if (rc == -ENOEXEC)
		cot_cli_complain("%s", err.text);
	else
		cot_cli_complain("%s; running '%s' without control", err.text, program);
	leave_mark(a, program, err.text);
	return true;
}

/*
 * On a machine of its own there is no program to share with, so we ask for a daemon only if an
 * option is about it.
 */
static int emulate(const struct arguments *a, bool *ret_controlled, struct cot_error *err)
{
	*ret_controlled = true;
	if (!a->emulate.device)
		return a->emulate.seed || a->emulate.checks
			       ? cot_error_set(err, -EINVAL,
					       "--emulate-seed and --emulate-check need --emulate")
			       : 0;
	*ret_controlled = a->class || a->weight || a->rewrite || a->merge || a->backend.name ||
			  a->measure || has_target(a) || (a->gpu && !a->gpu_of_cuda) || a->policy ||
			  a->solo || a->required || cot_emulate_is_shared();
	return cot_emulate_set_up(&a->emulate, *ret_controlled, err);
}

int cot_cmd_run(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[--] PROGRAM [ARGUMENT...]",
		.doc = "Run a program under cotenant's control."
		       "\vWithout a daemon the program runs unchanged. See cotenant-run(1).",
		.children = cot_cli_argp_children,
	};
	char path[COT_PATH_TEXT_MAX];
	struct arguments a = {0};
	struct cot_error err = {{0}};
	bool controlled;
	int rc;

	argp_err_exit_status = STATUS_FAILED;
	if (cot_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, &a))
		return STATUS_FAILED;
	read_environment(&a);
	if (cot_run_cpu_set_up(&a.cpu, &err) < 0 || emulate(&a, &controlled, &err) < 0 ||
	    cot_run_backend_prepare(&a.backend, &err) < 0) {
		cot_cli_complain("%s", err.text);
		return STATUS_FAILED;
	}
	/* For one that cannot be run no daemon is bothered. */
	if (controlled && !is_yes("COTENANT_DISABLE") && cot_paths_program(argv[a.first], path) &&
	    !take_control(&a, argv + a.first))
		return STATUS_FAILED;
	(void)execvp(argv[a.first], argv + a.first);
	rc = errno;
	cot_cli_complain("cannot run '%s': %s", argv[a.first], strerror(rc));
	return rc == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}
