#include "meter/traffic.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define CLOCK_MEMORY	2u  /* NVML_CLOCK_MEM */
#define METRIC_DRAM	10u /* NVML_GPM_METRIC_DRAM_BW_UTIL: per cent of what the memory can */
#define VERSION		1u
#define PER_CLOCK	2.0 /* all of these memories move data on both edges */
#define BITS_PER_MB_MHZ 8.0

/* As NVML has them; it has room for hundreds of metrics, of which it looks at `n`. */
struct support {
	unsigned version, supported;
};

struct metric {
	unsigned id;
	int rc;
	double value;
	struct {
		char *short_name, *long_name, *unit;
	} info;
};

struct metrics {
	unsigned version, n;
	void *sample1, *sample2;
	struct metric metric[512];
};

struct calls {
	int (*by_index)(unsigned index, void **device);
	int (*by_uuid)(const char *uuid, void **device);
	int (*max_clock)(void *device, unsigned kind, unsigned *mhz);
	int (*bus_width)(void *device, unsigned *bits);
	int (*support)(void *device, struct support *s);
	int (*alloc)(void **sample);
	int (*release)(void *sample);
	int (*get)(void *device, void *sample);
	int (*metrics)(struct metrics *m);
};

static const struct cot_nvml_call names[] = {
	{"nvmlDeviceGetHandleByIndex_v2", offsetof(struct calls, by_index), false},
	{"nvmlDeviceGetHandleByUUID", offsetof(struct calls, by_uuid), false},
	{"nvmlDeviceGetMaxClockInfo", offsetof(struct calls, max_clock), false},
	{"nvmlDeviceGetMemoryBusWidth", offsetof(struct calls, bus_width), false},
	{"nvmlGpmQueryDeviceSupport", offsetof(struct calls, support), false},
	{"nvmlGpmSampleAlloc", offsetof(struct calls, alloc), false},
	{"nvmlGpmSampleFree", offsetof(struct calls, release), false},
	{"nvmlGpmSampleGet", offsetof(struct calls, get), false},
	{"nvmlGpmMetricsGet", offsetof(struct calls, metrics), false},
};

struct cot_traffic {
	struct calls calls;
	void *device, *first, *last;
	double most; /* bytes per second that the memory can move */
	struct metrics m;
};

static bool say(char why_not[COT_NVML_WHY_MAX], const char *what, int rc)
{
	(void)snprintf(why_not, COT_NVML_WHY_MAX, rc ? "%s (%d)" : "%s", what, rc);
	return false;
}

static bool open_device(struct cot_traffic *t, const char *uuid, uint32_t index,
			char why_not[COT_NVML_WHY_MAX])
{
	struct support support = {.version = VERSION};
	unsigned mhz = 0, bits = 0;
	int rc =
		uuid[0] ? t->calls.by_uuid(uuid, &t->device) : t->calls.by_index(index, &t->device);

	if (rc)
		return say(why_not, "NVML does not find the GPU", rc);
	rc = t->calls.support(t->device, &support);
	if (rc || !support.supported)
		return say(why_not, "NVML monitors no performance of this GPU", rc);
	rc = t->calls.max_clock(t->device, CLOCK_MEMORY, &mhz);
	rc = rc ? rc : t->calls.bus_width(t->device, &bits);
	if (rc || !mhz || !bits)
		return say(why_not, "NVML does not say what the memory can move", rc);
	t->most = 1e6 * mhz * PER_CLOCK * bits / BITS_PER_MB_MHZ;
	rc = t->calls.alloc(&t->first);
	rc = rc ? rc : t->calls.alloc(&t->last);
	rc = rc ? rc : t->calls.get(t->device, t->first);
	return !rc || say(why_not, "NVML gives no sample of the GPU's performance", rc);
}

struct cot_traffic *cot_traffic_open(const char *uuid, uint32_t index,
				     char why_not[COT_NVML_WHY_MAX])
{
	struct cot_traffic *t = calloc(1, sizeof(*t));

	if (!t) {
		(void)say(why_not, "out of memory", 0);
		return NULL;
	}
	if (cot_nvml_open(names, sizeof(names) / sizeof(names[0]), &t->calls, why_not) &&
	    open_device(t, uuid, index, why_not))
		return t;
	cot_traffic_close(t);
	return NULL;
}

void cot_traffic_close(struct cot_traffic *t)
{
	if (t && t->first)
		(void)t->calls.release(t->first);
	if (t && t->last)
		(void)t->calls.release(t->last);
	free(t);
}

int cot_traffic_begin(struct cot_traffic *t)
{
	return t->calls.get(t->device, t->first) ? -EIO : 0;
}

int cot_traffic_end(struct cot_traffic *t, double *ret_bytes_per_s)
{
	t->m = (struct metrics){
		.version = VERSION, .n = 1, .sample1 = t->first, .sample2 = t->last};
	t->m.metric[0].id = METRIC_DRAM;
	if (t->calls.get(t->device, t->last) || t->calls.metrics(&t->m) || t->m.metric[0].rc)
		return -EIO;
	/* No number, or a rate that no memory has, is not one. */
	if (!(t->m.metric[0].value >= 0.0 && t->m.metric[0].value <= 100.0))
		return -EIO;
	*ret_bytes_per_s = t->m.metric[0].value / 100.0 * t->most;
	return 0;
}
