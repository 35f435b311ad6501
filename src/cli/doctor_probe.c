/*
 * The probe: a program that `cotenant doctor` runs through `cotenant run`, alone and in a pool, to
 * see that its slice can be set and that it really stops when it is frozen.
 *
 * It makes a CUDA context and says "ready MPS", MPS being 1 when it is a client of an MPS server.
 * For each byte on its input it then clears some memory on the GPU and says "done". It ends with
 * its input.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/doctor.h"
#include "cli/show.h"
#include "cuda/driver.h"
#include "emu/driver/builtin.h"

#define MEMORY_BYTES	  (64u << 20)
#define START_MS	  30000
#define WORK_MS		  20000
#define FROZEN_MS	  150 /* work must not be done in this time */
#define EMULATED_BLOCK_NS 100000
#define SETTLE_MS	  10000 /* the daemon leaves a context that is new alone for a while */
#define SETTLE_STEP_MS	  40
#define NO_SLICES_MS	  2000 /* channel groups without a slice for so long: the policy sets none */
#define ORDERS		  5    /* on a busy machine the answer to one may be late */

/* ---- the probe itself ---- */

bool cot_doctor_is_emulated(const struct cot_driver *cuda, int device)
{
	char name[64] = "";

	return !cuda->cuDeviceGetName(name, sizeof(name), device) && strstr(name, "emulated");
}

/* Memory is cleared by a kernel of the driver's. The emulated driver clears it without one, so
 * there a built-in kernel is launched as well. */
static int do_work(const struct cot_driver *cuda, CUdeviceptr memory, CUfunction kernel)
{
	uint64_t block_ns = EMULATED_BLOCK_NS, counter = 0;
	void *arguments[] = {&block_ns, &counter};
	CUresult rc = cuda->cuMemsetD8_v2(memory, 0, MEMORY_BYTES);

	if (!rc && kernel)
		rc = cuda->cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL);
	return rc ? rc : cuda->cuCtxSynchronize();
}

static CUfunction emulated_kernel(const struct cot_driver *cuda, int device)
{
	CUfunction kernel;
	CUmodule module;

	if (!cot_doctor_is_emulated(cuda, device) ||
	    cuda->cuModuleLoadData(&module, COT_EMU_BUILTIN_IMAGE) ||
	    cuda->cuModuleGetFunction(&kernel, module, "spin"))
		return NULL;
	return kernel;
}

int cot_doctor_probe(void)
{
	CUdeviceptr memory;
	int device, mps = 0, rc;
	struct cot_driver cuda;
	CUfunction kernel = NULL;
	CUcontext context;
	char byte;

	if (cot_driver_open(&cuda, NULL)) {
		(void)printf("error libcuda.so.1 does not load\n");
		return 1;
	}
	rc = cuda.cuInit(0);
	if (!rc)
		rc = cuda.cuDeviceGet(&device, 0);
	if (!rc && cuda.cuDeviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device))
		mps = -1;
	if (!rc)
		rc = cuda.cuDevicePrimaryCtxRetain(&context, device);
	if (!rc)
		rc = cuda.cuCtxSetCurrent(context);
	if (!rc)
		rc = cuda.cuMemAlloc_v2(&memory, MEMORY_BYTES);
	if (!rc)
		kernel = emulated_kernel(&cuda, device);
	(void)printf(rc ? "error the CUDA driver gives error %d\n" : "ready %d\n", rc ? rc : mps);
	(void)fflush(stdout);
	while (!rc && read(STDIN_FILENO, &byte, 1) == 1) {
		rc = do_work(&cuda, memory, kernel);
		(void)printf(rc ? "error the CUDA driver gives error %d\n" : "done\n", rc);
		(void)fflush(stdout);
	}
	return rc ? 1 : 0;
}

/* ---- running it ---- */

static bool work(struct cot_doctor_child *p, int timeout_ms)
{
	return cot_doctor_child_ask(p, timeout_ms, "w") && !strcmp(p->line, "done");
}

/* ---- what is tried ---- */

/* Sends a command about a program. The daemon's words, or the error, go into `text`. */
static int order_once(enum cot_proto_command what, uint64_t tenant, char *text, size_t size)
{
	struct cot_msg_command command = {.what = what, .tenant = tenant};
	struct cot_client client;
	struct cot_error err = {{0}};
	char *answer = NULL;
	int rc;

	rc = cot_client_open(&client, false, &err);
	if (!rc)
		rc = cot_client_command(&client, &command, &answer, &err);
	cot_client_close(&client);
	(void)snprintf(text, size, "%s", rc < 0 ? err.text : answer);
	free(answer);
	return rc;
}

static bool order(enum cot_proto_command what, uint64_t tenant, char *text, size_t size)
{
	int rc = -ETIMEDOUT, n;

	for (n = 0; n < ORDERS && rc == -ETIMEDOUT; n++)
		rc = order_once(what, tenant, text, size);
	return rc == 0;
}

/* The daemon's words about the tenant, or about the pool that it is in. NULL when there are none.
 */
static json_t *look_up(pid_t pid, uint64_t *ret_tenant)
{
	json_t *answer = NULL, *found = NULL, *o;
	struct cot_error err;
	const char *pool = NULL;
	size_t i;

	if (cot_show_query(COT_QUERY_STATS, &answer, &err) < 0)
		return NULL;
	json_array_foreach (json_object_get(answer, "tenants"), i, o) {
		if (cot_show_number(o, "pid") != pid)
			continue;
		*ret_tenant = (uint64_t)cot_show_number(o, "id");
		pool = json_string_value(json_object_get(o, "pool"));
		found = o;
	}
	json_array_foreach (json_object_get(answer, "pools"), i, o)
		if (pool && !strcmp(cot_show_text(o, "name"), pool))
			found = o;
	json_incref(found);
	json_decref(answer);
	return found;
}

/* Waits until the policy has set the slices, and judges them. */
static bool check_slices(struct cot_findings *f, const char *name, pid_t pid, uint64_t *ret_tenant)
{
	struct cot_finding *finding;
	long long groups = 0, wanted = 0, got = 0, doubts = 0;
	unsigned i, without = 0;

	for (i = 0; i < SETTLE_MS / SETTLE_STEP_MS && without < NO_SLICES_MS / SETTLE_STEP_MS &&
		    (!groups || !wanted || wanted != got);
	     i++) {
		json_t *o = look_up(pid, ret_tenant);

		groups = cot_show_number(o, "channel_groups");
		wanted = cot_show_number(o, "slice_us");
		got = cot_show_number(o, "slice_read_back_us");
		doubts = cot_show_number(o, "doubts");
		json_decref(o);
		without = groups && !wanted ? without + 1 : 0;
		(void)usleep(SETTLE_STEP_MS * 1000);
	}
	if (!groups) {
		finding = cot_doctor_add(f, name, COT_FINDING_FAIL,
					 "the library saw no channel groups of the driver");
		cot_doctor_advise(finding, "this driver allocates them in an unknown way: programs "
					   "run, but without control");
		return false;
	}
	if (wanted && wanted == got) {
		(void)cot_doctor_add(f, name, COT_FINDING_OK,
				     "slices work: %lld us was set and read back on %lld channel "
				     "groups%s",
				     got, groups, doubts ? " (with doubts)" : "");
		return true;
	}
	(void)cot_doctor_add(f, name, wanted ? COT_FINDING_FAIL : COT_FINDING_SKIP,
			     wanted ? "the slice should be %lld us, but %lld us was read back"
				    : "the policy sets no slices (%lld us, %lld us)",
			     wanted, got);
	return !wanted;
}

static void check_freeze(struct cot_findings *f, struct cot_doctor_child *p, uint64_t tenant)
{
	char frozen[256], thawed[256];
	struct cot_finding *finding;
	bool stopped, resumed;

	if (!order(COT_COMMAND_FREEZE, tenant, frozen, sizeof(frozen))) {
		(void)cot_doctor_add(f, "freeze", COT_FINDING_FAIL, "freezing failed: %s", frozen);
		return;
	}
	stopped = !work(p, FROZEN_MS);
	if (!order(COT_COMMAND_THAW, tenant, thawed, sizeof(thawed))) {
		(void)cot_doctor_add(f, "freeze", COT_FINDING_FAIL, "thawing failed: %s", thawed);
		return;
	}
	resumed = stopped ? cot_doctor_child_read(p, WORK_MS) && !strcmp(p->line, "done") : true;
	if (stopped && resumed) {
		(void)cot_doctor_add(f, "freeze", COT_FINDING_OK,
				     "freezing works: %s, and work waited; %s, and it went on",
				     frozen, thawed);
		return;
	}
	finding = cot_doctor_add(f, "freeze", COT_FINDING_FAIL, "%s",
				 stopped ? "the program does not go on after the thaw"
					 : "the driver says that the program is frozen, but its "
					   "work goes on");
	cot_doctor_advise(finding, "set 'policy: timeslice', or use pools only");
}

static void check_alone(struct cot_findings *f)
{
	struct cot_doctor_child p;
	uint64_t tenant = 0;

	if (!cot_doctor_child_start(&p, true, "slices") || !cot_doctor_child_read(&p, START_MS) ||
	    strncmp(p.line, "ready", 5)) {
		(void)cot_doctor_add(f, "slices", COT_FINDING_FAIL,
				     "a program alone on the GPU does not start: %s",
				     p.line[0] ? p.line : "no answer");
	} else if (!work(&p, WORK_MS)) {
		(void)cot_doctor_add(f, "slices", COT_FINDING_FAIL,
				     "a program alone on the GPU does not run: %s", p.line);
	} else if (check_slices(f, "slices", p.pid, &tenant) && tenant) {
		check_freeze(f, &p, tenant);
	}
	cot_doctor_child_stop(&p);
}

static void check_pool(struct cot_findings *f)
{
	struct cot_finding *finding;
	struct cot_doctor_child p;
	uint64_t tenant = 0;
	bool started, mps;

	started = cot_doctor_child_start(&p, false, "slices") &&
		  cot_doctor_child_read(&p, START_MS) && !strncmp(p.line, "ready ", 6);
	mps = started && strcmp(p.line, "ready 0") != 0;
	if (!started || !work(&p, WORK_MS)) {
		finding = cot_doctor_add(f, "pool", COT_FINDING_FAIL,
					 "a program in the batch pool does not run: %s",
					 p.line[0] ? p.line : "no answer");
		cot_doctor_advise(finding, "set 'mps: {use: false}' in the configuration; programs "
					   "then take turns");
	} else if (!mps) {
		(void)cot_doctor_add(f, "pool", COT_FINDING_WARN,
				     "the program ran outside MPS, so there are no pools");
	} else {
		(void)check_slices(f, "pool", p.pid, &tenant);
	}
	cot_doctor_child_stop(&p);
}

void cot_doctor_live(struct cot_findings *f)
{
	check_alone(f);
	check_pool(f);
}
