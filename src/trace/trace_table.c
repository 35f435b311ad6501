#include "trace/trace_table.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "trace/program.h"

enum type { TEXT, WHOLE, NUMBER };

struct column {
	const char *name;
	enum type type;
	bool required;
	size_t offset;
	double min, max;
};

#define WORK_KEY	   "insts_per_warp" /* a table with this column is about work */
#define INSTS_PER_WARP_MAX 100000000u
#define AT(member)	   offsetof(struct cot_trace_kernel, member)

/* The columns of Table 1 in Tanasic et al.; `benchmark` comes first and picks the rows. */
static const struct column columns[] = {
	{"dataset", TEXT, false, AT(dataset), 0, 0},
	{"kernel", TEXT, true, AT(name), 0, 0},
	{"launches", WHOLE, false, AT(launches), 1, COT_MAX_LAUNCHES},
	{"avg_time_us", NUMBER, true, AT(avg_time_us), COT_STEP_US_MIN, COT_STEP_US_MAX},
	{"num_tbs", WHOLE, true, AT(n_blocks), 1, COT_MAX_BLOCKS},
	{"time_per_tb_us", NUMBER, false, AT(time_per_block_us), COT_STEP_US_MIN, COT_STEP_US_MAX},
	{"shmem_per_tb_b", WHOLE, true, AT(shmem_per_block), 0, COT_SHMEM_MAX},
	{"regs_per_tb", WHOLE, true, AT(regs_per_block), 0, COT_REGS_MAX},
	{"tbs_per_sm", WHOLE, true, AT(blocks_per_sm), 1, COT_MAX_BLOCKS_PER_SM},
	{"resource_pct", NUMBER, false, AT(resource_pct), 0, 100},
	{"save_time_us", NUMBER, false, AT(save_time_us), 0, COT_STEP_US_MAX},
	{"class1", TEXT, false, AT(kernel_class), 0, 0},
	{"class2", TEXT, false, AT(app_class), 0, 0},
};

/* The columns of kernels that are known by what they do. */
static const struct column work_columns[] = {
	{"kernel", TEXT, true, AT(name), 0, 0},
	{"class", TEXT, false, AT(kernel_class), 0, 0},
	{"num_tbs", WHOLE, true, AT(n_blocks), 1, COT_MAX_BLOCKS},
	{"shmem_per_tb_b", WHOLE, true, AT(shmem_per_block), 0, COT_SHMEM_MAX},
	{"regs_per_tb", WHOLE, true, AT(regs_per_block), 0, COT_REGS_MAX},
	{"tbs_per_sm", WHOLE, true, AT(blocks_per_sm), 1, COT_MAX_BLOCKS_PER_SM},
	{"warps_per_tb", WHOLE, true, AT(work.warps), 1, COT_WARPS_MAX},
	{WORK_KEY, WHOLE, true, AT(insts_per_warp), 1, INSTS_PER_WARP_MAX},
	{"cpi", NUMBER, true, AT(work.cpi), 1, 100000},
	{"mem_fraction", NUMBER, true, AT(work.mem_fraction), 0, 1},
	{"dram_bytes", NUMBER, true, AT(work.dram_bytes), 0, 65536},
	{"latency_cycles", NUMBER, true, AT(work.latency), 1, 1000000},
	{"mlp", NUMBER, true, AT(work.mlp), 1, 1024},
};

struct layout {
	const struct column *columns;
	size_t n;
};

static const struct layout measured = {columns, COT_ARRAY_LEN(columns)};
static const struct layout worked = {work_columns, COT_ARRAY_LEN(work_columns)};

static const struct layout *layout_of(const struct cot_csv *csv)
{
	return cot_csv_find(csv, WORK_KEY) == COT_CSV_NONE ? &measured : &worked;
}

static int fail_columns(const struct layout *l, const char *name, const char *what,
			const char *column, struct cot_error *err)
{
	char list[256], quote[COT_QUOTE_MAX];
	size_t n, i;

	n = (size_t)snprintf(list, sizeof(list), "benchmark");
	for (i = 0; i < l->n; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, ", %s", l->columns[i].name);
	return cot_error_set(err, -EINVAL, "%s:1:1: %s column '%s'; expected columns out of %s",
			     name, what, cot_text_quote(column, quote), list);
}

static const struct column *find_column(const struct layout *l, const char *name)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (!strcmp(l->columns[i].name, name))
			return &l->columns[i];
	return NULL;
}

static int check_columns(const char *name, const struct cot_csv *csv, struct cot_error *err)
{
	const struct layout *l = layout_of(csv);
	uint32_t i;

	for (i = 0; i < cot_csv_columns(csv); i++)
		if (!find_column(l, cot_csv_name(csv, i)) &&
		    strcmp(cot_csv_name(csv, i), "benchmark"))
			return fail_columns(l, name, "unknown", cot_csv_name(csv, i), err);
	if (cot_csv_find(csv, "benchmark") == COT_CSV_NONE)
		return fail_columns(l, name, "no", "benchmark", err);
	for (i = 0; i < l->n; i++)
		if (l->columns[i].required && cot_csv_find(csv, l->columns[i].name) == COT_CSV_NONE)
			return fail_columns(l, name, "no", l->columns[i].name, err);
	return 0;
}

static int read_cell(const struct cot_csv *csv, uint32_t row, uint32_t i,
		     struct cot_trace_kernel *kernel, struct cot_error *err)
{
	const struct column *column = find_column(layout_of(csv), cot_csv_name(csv, i));
	const char *text = cot_csv_cell(csv, row, i);
	void *at;

	if (!column)
		return 0; /* benchmark */
	at = (char *)kernel + column->offset;
	switch (column->type) {
	case WHOLE:
		return cot_csv_u32(csv, row, i, (uint32_t)column->min, (uint32_t)column->max, at,
				   err);
	case NUMBER:
		return cot_csv_double(csv, row, i, column->min, column->max, at, err);
	default:
		break;
	}
	if (!*text || strlen(text) >= COT_NAME_MAX)
		return cot_csv_fail(csv, row, i, err, "%s has %zu bytes; expected 1 to %d",
				    column->name, strlen(text), COT_NAME_MAX - 1);
	memcpy(at, text, strlen(text) + 1);
	return 0;
}

static int read_row(const struct cot_csv *csv, uint32_t row, struct cot_trace_kernel *kernels,
		    uint32_t n, struct cot_error *err)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; !rc && i < cot_csv_columns(csv); i++)
		rc = read_cell(csv, row, i, &kernels[n], err);
	kernels[n].work.insts = (uint64_t)kernels[n].insts_per_warp * kernels[n].work.warps;
	for (i = 0; !rc && i < n; i++)
		if (!strcmp(kernels[i].name, kernels[n].name))
			rc = cot_csv_fail(csv, row, cot_csv_find(csv, "kernel"), err,
					  "the kernel '%s' has two rows; expected one",
					  kernels[n].name);
	return rc;
}

static int read_rows(const char *name, const struct cot_csv *csv, const char *benchmark,
		     struct cot_trace_kernel *kernels, uint32_t *ret_n, struct cot_error *err)
{
	uint32_t column = cot_csv_find(csv, "benchmark"), row, n = 0;
	char quote[COT_QUOTE_MAX];
	int rc;

	for (row = 0; row < cot_csv_rows(csv); row++) {
		if (strcmp(cot_csv_cell(csv, row, column), benchmark) != 0)
			continue;
		if (n == COT_MAX_KERNELS)
			return cot_csv_fail(csv, row, column, err,
					    "too many kernels; expected at most %u",
					    COT_MAX_KERNELS);
		rc = read_row(csv, row, kernels, n, err);
		if (rc)
			return rc;
		n++;
	}
	if (!n)
		return cot_error_set(err, -EINVAL,
				     "%s:1:1: no row for the benchmark '%s'; expected at least one",
				     name, cot_text_quote(benchmark, quote));
	*ret_n = n;
	return 0;
}

int cot_trace_table_read(const char *name, const void *bytes, size_t size, const char *benchmark,
			 struct cot_trace_kernel **ret_kernels, uint32_t *ret_n,
			 struct cot_error *err)
{
	struct cot_trace_kernel *kernels = NULL;
	struct cot_csv *csv;
	uint32_t n_max;
	int rc;

	rc = cot_csv_parse(name, bytes, size, &csv, err);
	if (rc)
		return rc;
	rc = check_columns(name, csv, err);
	if (!rc) {
		n_max = cot_csv_rows(csv) < COT_MAX_KERNELS ? cot_csv_rows(csv) : COT_MAX_KERNELS;
		kernels = calloc(n_max + 1, sizeof(*kernels));
		if (!kernels)
			rc = cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	}
	if (!rc)
		rc = read_rows(name, csv, benchmark, kernels, ret_n, err);
	cot_csv_destroy(csv);
	if (rc)
		free(kernels);
	else
		*ret_kernels = kernels;
	return rc;
}
