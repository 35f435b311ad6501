/*
 * What can be seen of the machine without running anything on the GPU.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/doctor.h"
#include "cli/emulate.h"
#include "cli/show.h"
#include "cli/uncontrolled.h"
#include "daemon/config.h"
#include "daemon/gpus.h"
#include "daemon/paths.h"

#define CONTROL_DEVICE "/dev/nvidiactl"
#define VERSION_FILE   "/proc/driver/nvidia/version"
/* What was longer ago is over. */
#define LATELY_S 600.0

/* ---- driver ---- */

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build ..." */
static bool driver_version(char *text, size_t size)
{
	char line[256], *word, *save = NULL;
	FILE *f = fopen(VERSION_FILE, "re");
	bool found = false;

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	(void)fclose(f);
	for (word = strtok_r(line, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save)) {
		if (word[0] >= '1' && word[0] <= '9' && strchr(word, '.') && !found) {
			(void)snprintf(text, size, "%s", word);
			found = true;
		}
	}
	return found;
}

static void check_driver(struct cot_findings *f)
{
	char version[64];
	struct cot_finding *finding;
	int fd;

	if (driver_version(version, sizeof(version)))
		(void)cot_doctor_add(f, "driver", COT_FINDING_OK, "NVIDIA kernel driver %s",
				     version);
	else if (cot_emulate_is_shared() && access(CONTROL_DEVICE, F_OK) < 0)
		(void)cot_doctor_add(f, "driver", COT_FINDING_OK,
				     "none is needed, as the GPU is emulated");
	else
		(void)cot_doctor_add(f, "driver", COT_FINDING_WARN,
				     "the version of the kernel driver is not shown here (%s)",
				     VERSION_FILE);
	fd = open(CONTROL_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		(void)close(fd);
		(void)cot_doctor_add(f, "device", COT_FINDING_OK,
				     "the control device %s can be used", CONTROL_DEVICE);
		return;
	}
	finding = cot_doctor_add(f, "device", COT_FINDING_FAIL,
				 "the control device %s cannot be opened: %s", CONTROL_DEVICE,
				 strerror(errno));
	if (errno == ENOENT)
		cot_doctor_advise(finding,
				  "load the driver (nvidia-modprobe), or start the container with "
				  "the GPU");
	else
		cot_doctor_advise(finding, "let this user read and write the device");
}

static void check_gpus(struct cot_findings *f)
{
	struct cot_finding *finding;
	struct cot_gpus gpus;
	unsigned i;

	cot_gpus_find(&gpus);
	for (i = 0; i < gpus.n && gpus.found; i++)
		(void)cot_doctor_add(f, "gpu", COT_FINDING_OK, "GPU %u%s%s%s%s", i,
				     gpus.gpu[i].model[0] ? ": " : "", gpus.gpu[i].model,
				     gpus.gpu[i].uuid[0] ? " " : "", gpus.gpu[i].uuid);
	if (gpus.found)
		return;
	finding =
		cot_doctor_add(f, "gpu", COT_FINDING_WARN,
			       "there is no NVIDIA GPU here: neither /proc/driver/nvidia nor /dev "
			       "shows one");
	cot_doctor_advise(finding, "'cotenant run --emulate h200 -- PROGRAM' runs CUDA programs "
				   "without one, and 'cotenant doctor --emulate h200' looks "
				   "at that; if there are GPUs that cannot be seen here, "
				   "COTENANT_GPUS=N says how many");
}

/* ---- things that load ---- */

/* In a child: a library that crashes while it loads must not end the doctor. Returns 0, or -1 with
 * the loader's words. */
static int try_load(const char *library, int (*then)(void *handle), char *text, size_t size)
{
	int ends[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
		const char *error = handle ? "" : dlerror();
		int code = 0;

		if (handle && then)
			code = then(handle);
		if (!handle)
			(void)!write(ends[1], error, strlen(error));
		_exit(handle ? code : 255);
	}
	(void)close(ends[1]);
	n = pid > 0 ? read(ends[0], text, size - 1) : 0;
	text[n > 0 ? n : 0] = '\0';
	(void)close(ends[0]);
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	if (pid < 0 || !WIFEXITED(status)) {
		(void)snprintf(text, size, "it crashes");
		return -1;
	}
	return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

/* cuInit(): its result, as an exit status. */
static int init_cuda(void *handle)
{
	int (*init)(unsigned) = NULL;
	void *symbol = dlsym(handle, "cuInit");
	int rc;

	if (!symbol)
		return 254;
	memcpy(&init, &symbol, sizeof(init)); /* ISO C knows no cast from data to code */
	rc = init(0);
	return rc > 253 || rc < 0 ? 253 : rc;
}

static bool check_cuda(struct cot_findings *f)
{
	struct cot_finding *finding;
	char text[256];
	int rc = try_load("libcuda.so.1", init_cuda, text, sizeof(text));

	if (!rc) {
		(void)cot_doctor_add(f, "cuda", COT_FINDING_OK, "libcuda.so.1 loads and starts");
		return true;
	}
	if (rc < 0) {
		finding = cot_doctor_add(f, "cuda", COT_FINDING_FAIL,
					 "libcuda.so.1 does not load: %s", text);
		cot_doctor_advise(finding, "install the driver's user part, or add its folder to "
					   "LD_LIBRARY_PATH");
		return false;
	}
	finding = cot_doctor_add(f, "cuda", COT_FINDING_FAIL,
				 "libcuda.so.1 loads, but cuInit() gives error %d", rc);
	if (rc == 100)
		cot_doctor_advise(finding, "no device: is CUDA_VISIBLE_DEVICES right?");
	else if (rc >= 803 && rc <= 804)
		cot_doctor_advise(finding, "the driver's kernel and user part differ in version");
	else
		cot_doctor_advise(finding, "see whether nvidia-smi works");
	return false;
}

static void check_library(struct cot_findings *f)
{
	char path[COT_PATH_TEXT_MAX], text[256];
	struct cot_finding *finding;
	struct cot_error err;

	if (cot_paths_library(path, &err) < 0) {
		(void)cot_doctor_add(f, "library", COT_FINDING_FAIL, "%s", err.text);
		return;
	}
	if (try_load(path, NULL, text, sizeof(text)) < 0) {
		(void)cot_doctor_add(f, "library", COT_FINDING_FAIL, "%s does not load: %s", path,
				     text);
		return;
	}
	if (strpbrk(path, " :")) {
		finding = cot_doctor_add(f, "library", COT_FINDING_FAIL,
					 "the path %s has a space or a colon", path);
		cot_doctor_advise(finding, "LD_PRELOAD cannot hold it: move it");
		return;
	}
	(void)cot_doctor_add(f, "library", COT_FINDING_OK, "%s loads", path);
}

static void check_mps(struct cot_findings *f, const struct cot_config *config)
{
	char path[COT_PATH_TEXT_MAX];
	struct cot_finding *finding;

	if (!config->use_mps) {
		(void)cot_doctor_add(f, "mps", COT_FINDING_WARN,
				     "the configuration says not to use MPS: programs take turns");
		return;
	}
	if (cot_paths_program(config->mps_program, path)) {
		(void)cot_doctor_add(f, "mps", COT_FINDING_OK, "the MPS control program is %s",
				     path);
		return;
	}
	finding = cot_doctor_add(f, "mps", COT_FINDING_WARN,
				 "the MPS control program '%s' is not in PATH: no pools, programs "
				 "take turns",
				 config->mps_program);
	cot_doctor_advise(finding, "install it (it comes with the driver), add its folder to "
				   "PATH, or set COTENANT_MPS_CONTROL");
}

static void check_config(struct cot_findings *f, struct cot_config *ret_config)
{
	char path[COT_PATH_TEXT_MAX];
	struct cot_error err = {{0}};
	int rc = cot_paths_config(path, &err);

	cot_config_default(ret_config);
	if (rc < 0 || (access(path, F_OK) < 0 && errno == ENOENT)) {
		(void)cot_doctor_add(f, "config", COT_FINDING_OK,
				     "no configuration file: the defaults apply");
		return;
	}
	rc = cot_config_read(path, ret_config, &err);
	if (rc < 0)
		(void)cot_doctor_add(f, "config", COT_FINDING_FAIL, "%s", err.text);
	else
		(void)cot_doctor_add(f, "config", COT_FINDING_OK, "%s is valid; policy %s", path,
				     ret_config->policy->name);
}

bool cot_doctor_machine(struct cot_findings *f)
{
	struct cot_config config;
	bool cuda;

	check_driver(f);
	check_gpus(f);
	cuda = check_cuda(f);
	check_library(f);
	check_config(f, &config);
	check_mps(f, &config);
	return cuda;
}

/* ---- the daemon ---- */

static void judge_policy(struct cot_findings *f, const json_t *daemon)
{
	const json_t *fault = json_object_get(daemon, "policy_fault");
	struct cot_finding *finding;
	char since[32], retry[32];

	if (!json_is_object(fault))
		return;
	cot_show_duration(cot_show_real(fault, "seconds"), since, sizeof(since));
	cot_show_duration(cot_show_real(fault, "retry_seconds"), retry, sizeof(retry));
	finding = cot_doctor_add(f, "policy", COT_FINDING_WARN,
				 "the policy '%s' failed %s ago (%s: %s); '%s' is used instead",
				 cot_show_text(daemon, "policy_wanted"), since,
				 cot_show_text(fault, "fault"), cot_show_text(fault, "reason"),
				 cot_show_text(daemon, "policy"));
	cot_doctor_advise(
		finding,
		"the daemon tries it again in %s, or at once if you send SIGHUP to process %lld",
		retry, cot_show_number(daemon, "pid"));
}

static bool was_lately(const json_t *timers, const char *key)
{
	const json_t *seconds = json_object_get(timers, key);

	return json_is_number(seconds) && json_number_value(seconds) <= LATELY_S;
}

/* The daemon's canary: where its deadlines come late, leases end and turns are late. */
static void judge_timers(struct cot_findings *f, const json_t *timers)
{
	static const struct {
		const char *times, *since, *worst, *why, *advice;
	} reasons[] = {
		{"waited", "waited_seconds", "worst_ms", "waited for a processor",
		 "the machine is overloaded: leave a processor free, or raise the daemon's "
		 "priority (renice, or Nice= and CPUWeight= in its unit)"},
		{"stolen", "stolen_seconds", "worst_ms", "was not run",
		 "the host gave this machine's processors to others (st in top), or the daemon "
		 "was stopped"},
		{"late", "late_seconds", "worst_own_ms", "was busy",
		 "the daemon has too much to do: 'users' in 'cotenant stats --json' says what "
		 "each user takes of it"},
	};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(reasons); i++) {
		struct cot_finding *finding;
		char since[32];

		if (!was_lately(timers, reasons[i].since))
			continue;
		cot_show_duration(cot_show_real(timers, reasons[i].since), since, sizeof(since));
		finding = cot_doctor_add(
			f, "timers", COT_FINDING_WARN,
			"the daemon %s and came late %lld times, by up to %.0f ms, last %s ago: "
			"frozen programs run meanwhile, and turns are late",
			reasons[i].why, cot_show_number(timers, reasons[i].times),
			cot_show_real(timers, reasons[i].worst), since);
		cot_doctor_advise(finding, "%s", reasons[i].advice);
	}
}

static void judge_order(struct cot_findings *f, const json_t *o, const char *prefix, bool thaw)
{
	const json_t *trouble = json_object_get(o, thaw ? "thaw_trouble" : "freeze_trouble");
	struct cot_finding *finding;
	char since[32];

	if (!json_is_object(trouble))
		return;
	cot_show_duration(cot_show_real(trouble, thaw ? "seconds" : "last_seconds"), since,
			  sizeof(since));
	finding = cot_doctor_add(
		f, "orders", COT_FINDING_WARN,
		thaw ? "%s%s: no thaw has been confirmed for %s, failures: %lld (%s)"
		     : "%s%s: the last freeze failed %s ago, failures: %lld (%s)",
		prefix, cot_show_text(o, "name"), since, cot_show_number(trouble, "failures"),
		cot_show_text(trouble, "reason"));
	if (thaw)
		cot_doctor_advise(finding, "it may hang: if its processes are not stopped and it "
					   "does not go on, end it");
	else if (cot_show_bool(o, "held"))
		cot_doctor_advise(finding, "it runs until its library freezes it; the daemon "
					   "repeats the order until 'cotenant thaw'");
	else
		cot_doctor_advise(
			finding,
			"it runs beside the others; start it with COTENANT_LOG=debug to see why");
}

static void judge_orders(struct cot_findings *f, const json_t *list, const char *prefix)
{
	json_t *o;
	size_t i;

	json_array_foreach (list, i, o) {
		judge_order(f, o, prefix, true);
		judge_order(f, o, prefix, false);
		if (cot_show_number(o, "slice_wrong_pid"))
			(void)cot_doctor_add(f, "slices", COT_FINDING_WARN,
					     "%s%s: process %lld does not have the slice that it "
					     "should have: %s",
					     prefix, cot_show_text(o, "name"),
					     cot_show_number(o, "slice_wrong_pid"),
					     cot_show_text(o, "slice_wrong_reason"));
	}
}

/* Programs on parts of the GPU, and those that should be and are not, or not with all they launch.
 */
static void judge_parts(struct cot_findings *f, const json_t *tenants)
{
	struct cot_finding *finding;
	char part[64], coverage[32];
	json_t *o;
	size_t i;

	json_array_foreach (tenants, i, o) {
		if (json_is_string(json_object_get(o, "part_effect"))) {
			finding = cot_doctor_add(f, "parts", COT_FINDING_WARN, "%s: %s",
						 cot_show_text(o, "name"),
						 cot_show_text(o, "part_effect"));
			cot_doctor_advise(finding, "'cotenant stats' has all reasons");
		} else if (json_is_object(json_object_get(o, "part"))) {
			cot_show_part(o, part, sizeof(part));
			cot_show_coverage(o, coverage, sizeof(coverage));
			(void)cot_doctor_add(f, "parts", COT_FINDING_OK,
					     "%s has SMs: %s; launches that followed: %s",
					     cot_show_text(o, "name"), part, coverage);
		}
	}
}

/* Programs with a quota or reservation: whether it holds for all that they launch. */
static void judge_shares(struct cot_findings *f, const json_t *tenants)
{
	struct cot_finding *finding;
	json_t *o;
	size_t i;

	json_array_foreach (tenants, i, o) {
		const json_t *l = json_object_get(o, "launches");

		if (json_is_string(json_object_get(o, "shares_effect"))) {
			finding = cot_doctor_add(f, "shares", COT_FINDING_WARN, "%s: %s",
						 cot_show_text(o, "name"),
						 cot_show_text(o, "shares_effect"));
			cot_doctor_advise(finding, "'cotenant stats' has all reasons");
		} else if (cot_show_has_shares(o) && json_is_object(l)) {
			(void)cot_doctor_add(f, "shares", COT_FINDING_OK,
					     "%s: all its launches are covered, %lld as workers, "
					     "%lld on its part",
					     cot_show_text(o, "name"),
					     cot_show_number(l, "workers"),
					     cot_show_number(l, "on_part"));
		}
	}
}

static void judge_daemon(struct cot_findings *f, const json_t *answer)
{
	const json_t *daemon = json_object_get(answer, "daemon");
	struct cot_finding *finding;

	(void)cot_doctor_add(f, "daemon", COT_FINDING_OK, "cotenantd (process %lld) answers on %s",
			     cot_show_number(daemon, "pid"), cot_show_text(daemon, "socket"));
	if (!*cot_show_text(answer, "library")) {
		finding = cot_doctor_add(f, "daemon", COT_FINDING_FAIL,
					 "the daemon does not find libcotenant.so: pools have no "
					 "slices");
		cot_doctor_advise(finding, "start the daemon with COTENANT_LIBRARY=/full/path");
	}
	if (cot_show_bool(answer, "mps_failed")) {
		finding = cot_doctor_add(f, "daemon", COT_FINDING_WARN,
					 "MPS did not start, so the policy is '%s'",
					 cot_show_text(daemon, "policy"));
		cot_doctor_advise(finding, "read the logs below %s/gpu0-*/log",
				  cot_show_text(daemon, "runtime_directory"));
	}
	judge_policy(f, daemon);
	judge_timers(f, json_object_get(answer, "timers"));
	judge_orders(f, json_object_get(answer, "pools"), "pool:");
	judge_orders(f, json_object_get(answer, "tenants"), "");
	judge_shares(f, json_object_get(answer, "tenants"));
	judge_parts(f, json_object_get(answer, "tenants"));
}

static void check_programs(struct cot_findings *f, int rc)
{
	struct cot_finding *finding;
	struct cot_error err;
	const json_t *first;
	json_t *answer, *list;

	if (!rc)
		rc = cot_show_query(COT_QUERY_PS, &answer, &err);
	list = cot_uncontrolled_find(rc ? NULL : answer, rc);
	first = json_array_get(list, 0);
	if (first) {
		finding = cot_doctor_add(
			f, "programs", COT_FINDING_WARN,
			"%zu program%s should be under control and %s not; '%s' (process %lld): %s",
			json_array_size(list), json_array_size(list) == 1 ? "" : "s",
			json_array_size(list) == 1 ? "is" : "are", cot_show_text(first, "name"),
			cot_show_number(first, "pid"), cot_show_text(first, "reason"));
		cot_doctor_advise(finding, "'cotenant ps' lists them; start them again when the "
					   "reason is gone");
	} else {
		(void)cot_doctor_add(
			f, "programs", COT_FINDING_OK,
			"no program was found that should be under control and is not");
	}
	json_decref(list);
	if (!rc)
		json_decref(answer);
}

bool cot_doctor_daemon(struct cot_findings *f, bool start)
{
	struct cot_client client;
	struct cot_finding *finding;
	struct cot_error err = {{0}};
	json_t *answer;
	int rc;

	rc = cot_client_open(&client, start, &err);
	cot_client_close(&client);
	if (!rc)
		rc = cot_show_query(COT_QUERY_DOCTOR, &answer, &err);
	if (rc < 0) {
		finding = cot_doctor_add(f, "daemon", start ? COT_FINDING_FAIL : COT_FINDING_WARN,
					 "%s", err.text);
		if (!start)
			cot_doctor_advise(finding, "'cotenant run' starts one when it needs it");
		check_programs(f, rc);
		return false;
	}
	judge_daemon(f, answer);
	check_programs(f, 0);
	json_decref(answer);
	return true;
}
