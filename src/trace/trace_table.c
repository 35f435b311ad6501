#include "trace/trace_table.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "trace/program.h"

#define WORK_KEY		 "insts_per_warp" /* a table with this column is about work */
#define INSTS_PER_WARP_MAX	 100000000u
#define COLUMN(key, member, ...) COT_FIELD(key, struct cot_trace_kernel, member, __VA_ARGS__)
#define TIME			 COT_NUMBER(COT_STEP_US_MIN, COT_STEP_US_MAX)

/* The columns of any kernel. */
#define BLOCKS COLUMN("num_tbs", n_blocks, COT_WHOLE(1, COT_MAX_BLOCKS), .required = true)
#define SIZES                                                                                     \
	COLUMN("shmem_per_tb_b", shmem_per_block, COT_WHOLE(0, COT_SHMEM_MAX), .required = true), \
		COLUMN("regs_per_tb", regs_per_block, COT_WHOLE(0, COT_REGS_MAX),                 \
		       .required = true),                                                         \
		COLUMN("tbs_per_sm", blocks_per_sm, COT_WHOLE(1, COT_MAX_BLOCKS_PER_SM),          \
		       .required = true)

/* The columns of Table 1 in Tanasic et al.; `benchmark` comes first and picks the rows. */
static const struct cot_field measured[] = {
	COLUMN("dataset", dataset, COT_TEXT),
	COLUMN("kernel", name, COT_TEXT, .required = true),
	COLUMN("launches", launches, COT_WHOLE(1, COT_MAX_LAUNCHES)),
	COLUMN("avg_time_us", avg_time_us, TIME, .required = true),
	BLOCKS,
	COLUMN("time_per_tb_us", time_per_block_us, TIME),
	SIZES,
	COLUMN("resource_pct", resource_pct, COT_NUMBER(0, 100)),
	COLUMN("save_time_us", save_time_us, COT_NUMBER(0, COT_STEP_US_MAX)),
	COLUMN("class1", kernel_class, COT_TEXT),
	COLUMN("class2", app_class, COT_TEXT),
	{0},
};

/* The columns of kernels that are known by what they do. */
static const struct cot_field worked[] = {
	COLUMN("kernel", name, COT_TEXT, .required = true),
	COLUMN("class", kernel_class, COT_TEXT),
	BLOCKS,
	SIZES,
	COLUMN("warps_per_tb", work.warps, COT_WHOLE(1, COT_WARPS_MAX), .required = true),
	COLUMN(WORK_KEY, insts_per_warp, COT_WHOLE(1, INSTS_PER_WARP_MAX), .required = true),
	COLUMN("cpi", work.cpi, COT_NUMBER(1, 100000), .required = true),
	COLUMN("mem_fraction", work.mem_fraction, COT_NUMBER(0, 1), .required = true),
	COLUMN("dram_bytes", work.dram_bytes, COT_NUMBER(0, 65536), .required = true),
	COLUMN("latency_cycles", work.latency, COT_NUMBER(1, 1000000), .required = true),
	COLUMN("mlp", work.mlp, COT_NUMBER(1, 1024), .required = true),
	COLUMN("gpu_ipc_max", work.gpu_ipc_max, COT_NUMBER(0, 65536)),
	{0},
};

static const struct cot_field *columns_of(const struct cot_csv *csv)
{
	return cot_csv_find(csv, WORK_KEY) == COT_CSV_NONE ? measured : worked;
}

static int fail_columns(const struct cot_field *columns, const char *name, const char *what,
			const char *column, struct cot_error *err)
{
	char list[256] = "benchmark", quote[COT_QUOTE_MAX];

	for (; columns->key; columns++)
		cot_text_add_word(list, sizeof(list), columns->key);
	return cot_error_set(err, -EINVAL, "%s:1:1: %s column '%s'; expected columns out of %s",
			     name, what, cot_text_quote(column, quote), list);
}

static int check_columns(const char *name, const struct cot_csv *csv, struct cot_error *err)
{
	const struct cot_field *columns = columns_of(csv), *f;
	uint32_t i;

	for (i = 0; i < cot_csv_columns(csv); i++)
		if (!cot_field_find(columns, cot_csv_name(csv, i)) &&
		    strcmp(cot_csv_name(csv, i), "benchmark"))
			return fail_columns(columns, name, "unknown", cot_csv_name(csv, i), err);
	if (cot_csv_find(csv, "benchmark") == COT_CSV_NONE)
		return fail_columns(columns, name, "no", "benchmark", err);
	for (f = columns; f->key; f++)
		if (f->required && cot_csv_find(csv, f->key) == COT_CSV_NONE)
			return fail_columns(columns, name, "no", f->key, err);
	return 0;
}

static int read_row(const struct cot_csv *csv, uint32_t row, struct cot_trace_kernel *kernels,
		    uint32_t n, struct cot_error *err)
{
	int rc = cot_csv_fill(csv, row, columns_of(csv), &kernels[n], err);
	uint32_t i;

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
