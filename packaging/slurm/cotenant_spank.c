/*
 * A SPANK plugin: srun, sbatch and salloc get --cotenant-class, --cotenant-p99 and
 * --cotenant-quota, and the tasks of such jobs start under `cotenant run`. To be named `optional`
 * in plugstack.conf, with task=PATH where cotenant-slurm-task is not in /usr/lib/cotenant, and
 * shards=N, so many as each GPU has, where a task is to have its part of the SMs only. It has to be
 * built for each release of Slurm. Nothing is kept between two calls but what the options
 * said, and nothing is left on a node: a program's entry in the daemon ends with its last process.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>

SPANK_PLUGIN(cotenant, 1);

#define VALUE_MAX 32
#define TASK	  "/usr/lib/cotenant/cotenant-slurm-task"

enum { CLASS, P99, QUOTA, N_OPTIONS };

static char values[N_OPTIONS][VALUE_MAX];
static const char *const variables[N_OPTIONS] = {"COTENANT_SLURM_CLASS", "COTENANT_SLURM_P99",
						 "COTENANT_SLURM_QUOTA"};
static const char *task = TASK, *shards_of; /* NULL: they are weights */

/* Numbers with a unit: what they mean `cotenant run` says. */
static int is_quantity(const char *text)
{
	size_t n = strspn(text, "0123456789.abcdefghijklmnopqrstuvwxyz%");

	return n > 0 && n < VALUE_MAX && !text[n];
}

static int take(int which, const char *text, int remote)
{
	int ok = text && (which == CLASS ? !strcmp(text, "latency") || !strcmp(text, "batch")
					 : is_quantity(text));

	(void)remote;
	if (!ok) {
		slurm_error("cotenant: '%s' is not understood; expected %s", text ? text : "",
			    which == CLASS ? "latency or batch"
			    : which == P99 ? "a time such as 5ms"
					   : "a share such as 50% or 66sm");
		return -1;
	}
	(void)snprintf(values[which], VALUE_MAX, "%s", text);
	return 0;
}

static struct spank_option options[N_OPTIONS] = {
	{"cotenant-class", "CLASS", "Share the GPU by cotenant, as latency or batch", 1, CLASS,
	 take},
	{"cotenant-p99", "TIME", "99 % of the requests take at most so long (class latency)", 1,
	 P99, take},
	{"cotenant-quota", "SHARE", "At most so much of the GPU's SMs, as in 50% or 66sm", 1, QUOTA,
	 take},
};

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "task=/", 6))
			task = argv[i] + 5;
		else if (!strncmp(argv[i], "shards=", 7) && strspn(argv[i] + 7, "0123456789") > 0)
			shards_of = argv[i] + 7;
		else
			slurm_error("cotenant: plugstack.conf has '%s'; expected task=/PATH or "
				    "shards=N",
				    argv[i]);
	if (spank_context() == S_CTX_SLURMD || spank_context() == S_CTX_JOB_SCRIPT)
		return 0;
	for (i = 0; i < N_OPTIONS; i++)
		if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
			slurm_error("cotenant: --%s cannot be offered", options[i].name);
	return 0;
}

/* Names of programs: job, step and task, as sacct writes them. */
static void name_of(spank_t spank, char *name, size_t size)
{
	uint32_t job = 0, step = 0, id = 0;

	(void)spank_get_item(spank, S_JOB_ID, &job);
	(void)spank_get_item(spank, S_JOB_STEPID, &step);
	(void)spank_get_item(spank, S_TASK_GLOBAL_ID, &id);
	if (step == SLURM_BATCH_SCRIPT)
		(void)snprintf(name, size, "slurm-%u.batch", job);
	else
		(void)snprintf(name, size, "slurm-%u.%u.%u", job, step, id);
}

/*
 * In the process that becomes the task, as its user. Slurm 22.05 offers no way to put words before
 * a command; so the first word becomes our script, which finds the command in a variable. Whatever
 * fails here leaves the task as it was.
 */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	char name[64], shards[16] = "";
	char **words = NULL;
	int i, n = 0;

	(void)argc;
	(void)argv;
	if (!values[CLASS][0] && !values[P99][0] && !values[QUOTA][0])
		return 0;
	if (spank_get_item(spank, S_JOB_ARGV, &n, &words) != ESPANK_SUCCESS || n < 1 || !words[0]) {
		slurm_error("cotenant: the task's command is not known; it runs without control");
		return 0;
	}
	name_of(spank, name, sizeof(name));
	if (spank_setenv(spank, "COTENANT_SLURM_COMMAND", words[0], 1) != ESPANK_SUCCESS ||
	    spank_setenv(spank, "COTENANT_NAME", name, 1) != ESPANK_SUCCESS)
		return 0;
	for (i = 0; i < N_OPTIONS; i++)
		if (values[i][0])
			(void)spank_setenv(spank, variables[i], values[i], 1);
	/* Shards of a GPU are shares. */
	if (spank_getenv(spank, "SLURM_SHARDS_ON_NODE", shards, sizeof(shards)) == ESPANK_SUCCESS)
		(void)spank_setenv(spank, "COTENANT_SLURM_SHARDS", shards, 1);
	if (shards_of)
		(void)spank_setenv(spank, "COTENANT_SLURM_SHARDS_OF", shards_of, 1);
	words[0] = (char *)(uintptr_t)task;
	return 0;
}
