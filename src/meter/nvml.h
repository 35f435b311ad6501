/*
 * NVML, opened at run time: libnvidia-ml.so.1, or the file that $COTENANT_NVML names. It is never
 * closed.
 */
#ifndef COT_METER_NVML_H
#define COT_METER_NVML_H

#include <stdbool.h>
#include <stddef.h>

#define COT_NVML_WHY_MAX 128u

/* One of its functions, and where its address belongs in a struct. */
struct cot_nvml_call {
	const char *name;
	size_t at;
	bool optional; /* NULL where the library has none */
};

/* Fills the struct `ret_calls`, and begins. False: `why_not` is a sentence. */
bool cot_nvml_open(const struct cot_nvml_call *calls, size_t n, void *ret_calls,
		   char why_not[COT_NVML_WHY_MAX]);

#endif
