#include "study/contention/power_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/contention.h"

#define LOWERED 0.98 /* part of the median clock: below, the GPU is at its power limit */
#define LINE	128.0
#define LANES	32.0

enum { INSTRUCTIONS, DOUBLE, SHARED, CACHE, DRAM, SCATTERED, N_EVENTS };

static const char *const event_names[N_EVENTS] = {
	"instructions", "double", "shared", "cache_bytes", "dram_bytes", "scattered",
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The clock of the GPU's SMs while its power does not limit it; 0: no memory, or no run. */
static double usual_mhz(const struct cot_contention *file)
{
	double *mhz = calloc(file->n_runs + 1, sizeof(*mhz)), usual = 0.0;
	uint32_t n = 0, i;

	for (i = 0; mhz && i < file->n_runs; i++)
		if (file->runs[i].n && file->runs[i].parts[0].mhz > 0)
			mhz[n++] = file->runs[i].parts[0].mhz;
	if (n) {
		qsort(mhz, n, sizeof(*mhz), ascending);
		usual = mhz[n / 2];
	}
	free(mhz);
	return usual;
}

/* The mean over all measurements of nothing. */
static int idle_power(const struct cot_contention *file, const char *name, double *ret_w,
		      struct cot_error *err)
{
	double joules = 0.0, seconds = 0.0;
	uint32_t i;

	for (i = 0; i < file->n_runs; i++) {
		const struct cot_contention_run *run = &file->runs[i];

		if (!run->is_power || run->n || run->benchmark[0])
			continue;
		joules += run->watts * run->seconds;
		seconds += run->seconds;
	}
	if (!(seconds > 0.0))
		return cot_error_set(err, -EINVAL,
				     "%s: no power was measured with nothing running; expected a "
				     "line of the kind 'power' with an empty 'mix'",
				     name);
	*ret_w = joules / seconds;
	return 0;
}

/* Sectors that are read one by one: by lanes far apart, or by one lane alone. */
static double scattered(const struct cot_contention_kernel *k)
{
	double accesses = k->loads + k->stores, bytes;

	if (!(accesses > 0.0))
		return 0.0;
	bytes = (k->read_bytes + k->written_bytes) / accesses;
	return bytes > LANES * 16.0 ? accesses * LANES : bytes < LINE ? accesses : 0.0;
}

static void add_events(const struct cot_contention_kernel *k,
		       const struct cot_contention_part *part, double seconds,
		       double events[N_EVENTS])
{
	double chunks = part->chunks_per_s * seconds, bytes = k->read_bytes + k->written_bytes;

	events[INSTRUCTIONS] += chunks * k->insts;
	events[DOUBLE] += chunks * k->dfma;
	events[SHARED] += chunks * k->shared;
	events[CACHE] += chunks * bytes;
	if (part->memory == COT_CONTENTION_DRAM)
		events[DRAM] += chunks * bytes;
	events[SCATTERED] += chunks * scattered(k);
}

/* "read16x2/64 in L2 + fma4/64" */
static void name_of(const struct cot_contention *file, const struct cot_contention_run *run,
		    char *buf, size_t size)
{
	size_t used = 0;
	uint32_t i;
	int n;

	buf[0] = '\0';
	for (i = 0; i < run->n && used < size; i++) {
		const struct cot_contention_part *p = &run->parts[i];

		n = snprintf(buf + used, size - used, "%s%s/%u%s", i ? " + " : "",
			     file->kernels[p->kernel].name, p->warps,
			     p->memory == COT_CONTENTION_L2 ? " in L2" : "");
		used += n > 0 ? (size_t)n : 0;
	}
}

/* Whether the list, with commas between, has the name. */
static bool is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == length && !strncmp(list, name, length))
			return true;
	return false;
}

static void print_run(const struct cot_contention *file, const struct cot_contention_run *run,
		      const char *train_with, double idle_w, FILE *out)
{
	double events[N_EVENTS] = {0};
	char name[256];
	uint32_t i;

	for (i = 0; i < run->n; i++)
		add_events(&file->kernels[run->parts[i].kernel], &run->parts[i], run->seconds,
			   events);
	name_of(file, run, name, sizeof(name));
	(void)fprintf(out, "%s,", name);
	if (train_with)
		(void)fprintf(out, "%s,", is_listed(train_with, name) ? "train" : "test");
	(void)fprintf(out, "%.6g,%.6g,%.6g,%u,%.6g", run->seconds, run->watts, idle_w, file->sms,
		      run->parts[0].mhz);
	for (i = 0; i < N_EVENTS; i++)
		(void)fprintf(out, ",%.8g", events[i]);
	(void)fputc('\n', out);
}

static void print_all(const struct cot_contention *file, const char *train_with, double idle_w,
		      double mhz, FILE *out)
{
	char name[256];
	uint32_t i;

	(void)fprintf(out, "# %s, %s; measured by: %s\n", file->gpu, file->date, file->command);
	(void)fprintf(out, "workload,%sseconds,power_w,idle_w,sms,clock_mhz",
		      train_with ? "set," : "");
	for (i = 0; i < N_EVENTS; i++)
		(void)fprintf(out, ",%s", event_names[i]);
	(void)fputc('\n', out);
	for (i = 0; i < file->n_runs; i++) {
		const struct cot_contention_run *run = &file->runs[i];

		if (!run->is_power || !run->n)
			continue;
		if (run->parts[0].mhz < LOWERED * mhz) {
			name_of(file, run, name, sizeof(name));
			(void)fprintf(out,
				      "# at its power limit, so left out: %s, %.1f W at %.0f MHz\n",
				      name, run->watts, run->parts[0].mhz);
			continue;
		}
		print_run(file, run, train_with, idle_w, out);
	}
}

int cot_power_table_write(const struct cot_origin *origin, const char *train_with, FILE *out,
			  struct cot_error *err)
{
	const char *name = cot_origin_name(origin);
	struct cot_contention file;
	double idle_w = 0.0;
	int rc;

	rc = cot_contention_parse(name, origin->bytes, origin->size, &file, err);
	if (rc)
		return rc;
	rc = idle_power(&file, name, &idle_w, err);
	if (!rc)
		print_all(&file, train_with, idle_w, usual_mhz(&file), out);
	cot_contention_finish(&file);
	return rc;
}
