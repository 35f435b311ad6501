/* Starts a program to be profiled, and measures it on parts of the GPU. */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/common.h"
#include "cli/profile.h"
#include "cli/show.h"

#define POLL_NS	     100000000
#define STOP_POLLS   50 /* before a program that does not end is killed */
#define START_S	     30
#define SETTLE_S     1.0  /* launches that were under way when the part changed */
#define RATES	     3	  /* launches a second, of which the one in the middle counts */
#define LEAST_BUSY   0.05 /* of the time: of less a request's traffic cannot be told */
#define MARGIN	     1.1  /* windows move in steps of a tenth */
#define SHARE_SMS(n) ((uint16_t)((n) | COT_SHARE_SMS))

static double now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void cot_profile_pause(void)
{
	const struct timespec t = {0, POLL_NS};

	(void)nanosleep(&t, NULL);
}

/* ---- the program ---- */

static int become(const struct cot_profile *p, const struct cot_profile_run *run,
		  char *const argv[])
{
	const char *cls = cot_class_words[p->cls];
	const char *own[] = {"cotenant", "run", "--required", "--measure", "--sms", "100%",
			     "--class",	 cls,	"--name",     run->name,   "--",    NULL};
	size_t n = 0, k = 0;
	char **all;

	while (argv[k])
		k++;
	all = calloc(k + sizeof(own) / sizeof(*own), sizeof(*all));
	if (!all)
		return 125;
	for (; own[n]; n++)
		all[n] = (char *)(uintptr_t)own[n];
	memcpy(all + n, argv, k * sizeof(*all));
	cot_profile_kernels_name(run);
	/* It ends with us, even if we are killed. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	(void)setpgid(0, 0);
	(void)execv("/proc/self/exe", all);
	return 126;
}

int cot_profile_start(const struct cot_profile *p, char *const argv[], struct cot_profile_run *ret,
		      struct cot_error *err)
{
	pid_t pid;

	(void)snprintf(ret->name, sizeof(ret->name), "profile-%ld", (long)getpid());
	cot_profile_kernels_open(ret);
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		return cot_error_set(err, -errno, "cannot start a process: %s", strerror(errno));
	if (!pid)
		_exit(become(p, ret, argv));
	(void)setpgid(pid, pid); /* whoever comes first */
	ret->pid = pid;
	return 0;
}

void cot_profile_stop(struct cot_profile_run *run)
{
	unsigned i;

	cot_traffic_close(run->traffic);
	run->traffic = NULL;
	cot_profile_kernels_close(run);
	if (run->pid <= 0)
		return;
	(void)kill(-run->pid, SIGTERM);
	for (i = 0; i < STOP_POLLS && !waitpid(run->pid, NULL, WNOHANG); i++)
		cot_profile_pause();
	(void)kill(-run->pid, SIGKILL);
	(void)waitpid(run->pid, NULL, 0); /* fails if it was waited for */
	run->pid = 0;
}

/* Interrupted, or the program has ended. */
static int check_running(const struct cot_profile_run *run, struct cot_error *err)
{
	siginfo_t info = {0};

	if (cot_cli_interrupted())
		return cot_error_set(err, -EINTR, "interrupted; nothing was written");
	if (waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
		return 0;
	return cot_error_set(err, -ECHILD,
			     "the program ended by itself (%s %d); expected one that goes on until "
			     "it is told to end",
			     info.si_code == CLD_EXITED ? "status" : "signal", info.si_status);
}

/* ---- what the daemon knows of it ---- */

/* Its entry in the answer; NULL: not there. The caller owns the answer. */
static int ask(const struct cot_profile_run *run, json_t **ret_answer, const json_t **ret_tenant,
	       struct cot_error *err)
{
	json_t *answer, *o;
	size_t i;
	int rc = check_running(run, err);

	rc = rc ? rc : cot_show_query(COT_QUERY_STATS, &answer, err);
	if (rc)
		return rc;
	*ret_answer = answer;
	*ret_tenant = NULL;
	json_array_foreach (json_object_get(answer, "tenants"), i, o)
		if (!strcmp(cot_show_text(o, "name"), run->name))
			*ret_tenant = o;
	return 0;
}

static int command(const struct cot_profile_run *run, uint32_t sms, struct cot_error *err)
{
	struct cot_msg_command c = {
		.what = COT_COMMAND_SET, .fields = COT_SET_SMS, .sms = SHARE_SMS(sms)};
	struct cot_client client;
	char *text = NULL;
	int rc = cot_client_open(&client, false, err);

	(void)snprintf(c.name, sizeof(c.name), "%s", run->name);
	if (rc)
		return rc;
	rc = cot_client_command(&client, &c, &text, err);
	cot_client_close(&client);
	free(text);
	return rc < 0 ? rc : 0;
}

static uint32_t add_size(uint32_t *sms, uint32_t n, long long size)
{
	if (size <= 0 || n == COT_KNOWN_QUOTAS_MAX || (n && sms[n - 1] >= size))
		return n;
	sms[n] = (uint32_t)size;
	return n + 1;
}

/* All that the program can have: batch programs have theirs from SM 0 on in whole units, latency
 * programs from the last SM on, where what is left over belongs to the last unit. */
static uint32_t list_sizes(const struct cot_profile *p, const json_t *part, uint32_t *sms)
{
	long long unit = cot_show_number(part, "unit"), units = cot_show_number(part, "units");
	long long all = cot_show_number(part, "gpu_sms"), i;
	long long last = p->cls == COT_CLASS_LATENCY ? all - units * unit : 0;
	uint32_t n = 0;

	for (i = last > 0 ? 0 : 1; i <= units && last + i * unit < all; i++)
		n = add_size(sms, n, last + i * unit);
	return add_size(sms, n, all);
}

/* Of those only the sizes that the user wants: the next larger one for each. */
static uint32_t choose_sizes(const struct cot_profile *p, uint32_t n, uint32_t *sms)
{
	uint32_t i, k, chosen = 0;

	for (i = 0, k = 0; i < n; i++) {
		if (k == p->n_sms || (p->sms[k] > sms[i] && i + 1 < n))
			continue;
		while (k < p->n_sms && p->sms[k] <= sms[i])
			k++;
		sms[chosen++] = sms[i];
	}
	return chosen;
}

static bool take_sizes(const struct cot_profile *p, const json_t *tenant, uint32_t *ret_n,
		       uint32_t *sms)
{
	const json_t *part = json_object_get(tenant, "part");

	if (!cot_show_bool(part, "can_be_placed"))
		return false;
	*ret_n = list_sizes(p, part, sms);
	if (p->n_sms)
		*ret_n = choose_sizes(p, *ret_n, sms);
	return *ret_n > 0;
}

static void warn_of_others(const json_t *answer)
{
	size_t n = json_array_size(json_object_get(answer, "tenants"));

	if (n > 1)
		cot_cli_complain("%zu other program%s on this machine's GPUs: where they share one "
				 "with it, its times are too long",
				 n - 1, n > 2 ? "s are" : " is");
}

/* The program's `cotenant run` may be about to start the daemon. */
static bool not_yet(int rc)
{
	return rc == -ENOENT || rc == -ECONNREFUSED;
}

/* "": not known. */
static const char *uuid_of(const json_t *answer, json_int_t index)
{
	json_t *gpu;
	size_t i;

	json_array_foreach (json_object_get(answer, "gpus"), i, gpu)
		if (json_integer_value(json_object_get(gpu, "index")) == index &&
		    json_is_string(json_object_get(gpu, "uuid")))
			return json_string_value(json_object_get(gpu, "uuid"));
	return "";
}

/* Of the first of its GPUs. */
static void open_traffic(const json_t *answer, const json_t *tenant, struct cot_profile_run *run)
{
	const json_t *gpus = json_object_get(tenant, "gpus");
	json_int_t index = json_integer_value(json_array_get(gpus, 0));

	if (!run->traffic)
		run->traffic =
			cot_traffic_open(uuid_of(answer, index), (uint32_t)index, run->why_not);
}

static int look_at_sizes(const struct cot_profile *p, struct cot_profile_run *run, bool *ret_known,
			 uint32_t *ret_n, uint32_t *ret_sms, char *ret_gpu, struct cot_error *err)
{
	const json_t *tenant;
	json_t *answer;
	int rc = ask(run, &answer, &tenant, err);

	if (rc)
		return rc;
	*ret_known = tenant && take_sizes(p, tenant, ret_n, ret_sms);
	if (*ret_known) {
		warn_of_others(answer);
		open_traffic(answer, tenant, run);
		(void)snprintf(ret_gpu, COT_KNOWN_NAME_MAX, "%lld SMs",
			       cot_show_number(json_object_get(tenant, "part"), "gpu_sms"));
	}
	json_decref(answer);
	return 0;
}

int cot_profile_sizes(const struct cot_profile *p, struct cot_profile_run *run, uint32_t *ret_n,
		      uint32_t ret_sms[COT_KNOWN_QUOTAS_MAX], char ret_gpu[COT_KNOWN_NAME_MAX],
		      struct cot_error *err)
{
	double end_s = now_s() + START_S;
	bool known = false;
	int rc;

	for (;;) {
		rc = look_at_sizes(p, run, &known, ret_n, ret_sms, ret_gpu, err);
		if (known || (rc && !not_yet(rc)))
			return rc;
		if (now_s() > end_s)
			return rc ? rc
				  : cot_error_set(err, -ETIMEDOUT,
						  "the program cannot be put on a part of the GPU; "
						  "'cotenant doctor' says why");
		cot_profile_pause();
	}
}

/* ---- a figure ---- */

static uint64_t ns_of(const json_t *o, const char *key)
{
	double ns = cot_show_real(o, key) * 1e6;

	return ns < 1 ? 1 : ns < (double)COT_KNOWN_NS_MAX ? (uint64_t)ns : COT_KNOWN_NS_MAX;
}

/* Of all since it began. The daemon hears of launches a little later than of requests. */
static double launches_per_request(const json_t *tenant)
{
	const json_t *l = json_object_get(tenant, "launches");
	long long requests = cot_show_number(json_object_get(tenant, "requests"), "count");
	long long launches = cot_show_number(l, "workers") + cot_show_number(l, "on_part") +
			     cot_show_number(l, "elsewhere");

	return requests > 0 ? (double)launches / (double)requests : 0;
}

/* The shortest window that lies wholly behind the change and has enough requests; at last the
 * longest one that has any. */
static bool take_requests(const struct cot_profile *p, const json_t *tenant, double since_s,
			  bool last, struct cot_profile_figure *ret)
{
	const json_t *list = json_object_get(json_object_get(tenant, "requests"), "windows");
	const json_t *times;
	json_t *w;
	size_t i;

	json_array_foreach (list, i, w) {
		times = json_object_get(w, "service");
		if (!json_is_object(times) || cot_show_real(w, "seconds") * MARGIN > since_s)
			continue;
		ret->n = (uint64_t)cot_show_number(times, "n");
		ret->p50_ns = ns_of(times, "p50_ms");
		ret->p99_ns = ns_of(times, "p99_ms");
		ret->launches_per_request = launches_per_request(tenant);
		if (ret->n >= p->n_requests)
			return true;
	}
	return last && ret->n;
}

static bool has_part(const json_t *tenant, uint32_t sms)
{
	const json_t *part = json_object_get(tenant, "part");

	return json_is_object(part) && cot_show_number(part, "sms") == (long long)sms;
}

static int wait_for_part(const struct cot_profile_run *run, uint32_t sms, struct cot_error *err)
{
	double end_s = now_s() + START_S;
	const json_t *tenant;
	json_t *answer;
	bool has;
	int rc;

	for (;;) {
		rc = ask(run, &answer, &tenant, err);
		if (rc)
			return rc;
		has = tenant && has_part(tenant, sms);
		json_decref(answer);
		if (has)
			return 0;
		if (now_s() > end_s)
			return cot_error_set(
				err, -ETIMEDOUT,
				"the program is not put on %u SMs, as asked; expected a "
				"policy that leaves parts to the user, such as pools or "
				"parts, in cotenantd's configuration",
				sms);
		cot_profile_pause();
	}
}

static int too_few(const struct cot_profile *p, uint32_t sms, struct cot_error *err)
{
	return cot_error_set(
		err, -ETIMEDOUT, "%s ended within %u s on %u SMs; %s",
		p->cls == COT_CLASS_LATENCY ? "no request" : "no kernel", p->patience_s, sms,
		p->cls == COT_CLASS_LATENCY
			? "is the program asked for something? cotenant-profile(1) says what a "
			  "request is"
			: "does the program use the GPU all the time?");
}

static int measure_requests(const struct cot_profile *p, const struct cot_profile_run *run,
			    uint32_t sms, struct cot_profile_figure *ret, struct cot_error *err)
{
	double begin_s = now_s(), since_s;
	const json_t *tenant;
	json_t *answer;
	bool taken;
	int rc;

	for (;;) {
		rc = ask(run, &answer, &tenant, err);
		if (rc)
			return rc;
		since_s = now_s() - begin_s;
		taken = tenant && take_requests(p, tenant, since_s, since_s > p->patience_s, ret);
		json_decref(answer);
		if (taken)
			return 0;
		if (since_s > p->patience_s)
			return too_few(p, sms, err);
		cot_profile_pause();
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What a batch program does again and again is a launch. The daemon has a new rate once a second.
 */
static int measure_rate(const struct cot_profile *p, const struct cot_profile_run *run,
			uint32_t sms, struct cot_profile_figure *ret, struct cot_error *err)
{
	double rates[RATES], begin_s = now_s(), next_s = begin_s + 2, now = 0;
	const json_t *tenant;
	json_t *answer;
	unsigned n = 0;
	int rc;

	while (n < RATES) {
		rc = ask(run, &answer, &tenant, err);
		if (rc)
			return rc;
		now = now_s();
		rates[n] = tenant ? cot_show_real(tenant, "launches_per_second") : 0;
		json_decref(answer);
		if (now >= next_s && rates[n] > 0) {
			n++;
			next_s = now + 1;
		}
		if (now - begin_s > p->patience_s)
			return too_few(p, sms, err);
		cot_profile_pause();
	}
	qsort(rates, RATES, sizeof(*rates), compare);
	ret->n = (uint64_t)rates[RATES / 2];
	ret->p50_ns = ret->p99_ns = (uint64_t)(1e9 / rates[RATES / 2]) + 1;
	return 0;
}

/* ---- what it moves ---- */

/* So many of its requests have ended. */
static int count_requests(const struct cot_profile_run *run, long long *ret_n,
			  struct cot_error *err)
{
	const json_t *tenant;
	json_t *answer;
	int rc = ask(run, &answer, &tenant, err);

	if (rc)
		return rc;
	*ret_n = cot_show_number(json_object_get(tenant, "requests"), "count");
	json_decref(answer);
	return 0;
}

/* What a call for the traffic said; false: there is no figure. */
static bool worked(int rc, struct cot_profile_run *run)
{
	if (rc)
		(void)snprintf(run->why_not, sizeof(run->why_not), "NVML gave no figure");
	return !rc;
}

/* A request moves what the GPU moved, in the part of the time in which one ran. */
static void take_traffic(const struct cot_profile *p, struct cot_profile_run *run,
			 double requests_per_s, struct cot_profile_figure *f)
{
	double bytes_per_s, busy = requests_per_s * (double)f->p50_ns * 1e-9;

	if (!worked(cot_traffic_end(run->traffic, &bytes_per_s), run))
		return;
	if (p->cls == COT_CLASS_LATENCY)
		bytes_per_s /= busy > LEAST_BUSY && busy < 1 ? busy : 1;
	f->bytes_per_s = (uint64_t)bytes_per_s;
}

static int measure(const struct cot_profile *p, struct cot_profile_run *run, uint32_t sms,
		   struct cot_profile_figure *ret, struct cot_error *err)
{
	bool latency = p->cls == COT_CLASS_LATENCY;
	long long before = 0, after = 0;
	double begin_s = now_s();
	int rc = latency ? count_requests(run, &before, err) : 0;
	bool traffic = !rc && run->traffic && worked(cot_traffic_begin(run->traffic), run);

	rc = rc	       ? rc
	     : latency ? measure_requests(p, run, sms, ret, err)
		       : measure_rate(p, run, sms, ret, err);
	rc = rc ? rc : latency ? count_requests(run, &after, err) : 0;
	if (!rc && traffic)
		take_traffic(p, run, (double)(after - before) / (now_s() - begin_s), ret);
	return rc;
}

int cot_profile_measure(const struct cot_profile *p, struct cot_profile_run *run, uint32_t sms,
			struct cot_profile_figure *ret, struct cot_error *err)
{
	double until_s;
	int rc = command(run, sms, err);

	*ret = (struct cot_profile_figure){0};
	rc = rc ? rc : wait_for_part(run, sms, err);
	for (until_s = now_s() + SETTLE_S; !rc && now_s() < until_s; cot_profile_pause())
		rc = check_running(run, err);
	return rc ? rc : measure(p, run, sms, ret, err);
}
