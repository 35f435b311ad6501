#include "study/rows.h"

#include <errno.h>

#include "base/embedded.h"

int cot_rows_read(const char *name, const void *bytes, size_t size, const struct cot_field *fields,
		  uint32_t max, cot_row_reader *read, void *arg, struct cot_error *err)
{
	struct cot_csv *csv;
	uint32_t row;
	int rc;

	rc = cot_csv_parse(name, bytes, size, &csv, err);
	if (rc)
		return rc;
	rc = cot_csv_need(csv, fields, err);
	if (!rc && cot_csv_rows(csv) > max)
		rc = cot_csv_fail(csv, max, 0, err, "too many rows; expected at most %u", max);
	for (row = 0; row < cot_csv_rows(csv) && !rc; row++)
		rc = read(csv, row, arg, err);
	cot_csv_destroy(csv);
	return rc;
}

int cot_rows_load(const char *name, const struct cot_field *fields, uint32_t max,
		  cot_row_reader *read, void *arg, struct cot_error *err)
{
	const struct cot_embedded *file = cot_embedded_find(name);

	if (!file)
		return cot_error_set(err, -ENOENT, "the program was built without its table %s",
				     name);
	return cot_rows_read(name, file->bytes, file->size, fields, max, read, arg, err);
}
