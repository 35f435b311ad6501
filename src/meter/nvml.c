#include "meter/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cot_nvml_open(const struct cot_nvml_call *calls, size_t n, void *ret_calls,
		   char why_not[COT_NVML_WHY_MAX])
{
	const char *file = getenv("COTENANT_NVML");
	void *library = dlopen(file && *file ? file : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(void) = NULL;
	size_t i;
	int rc;

	for (i = 0; library && i < n; i++) {
		void *symbol = dlsym(library, calls[i].name);

		if (!symbol && !calls[i].optional) {
			(void)snprintf(why_not, COT_NVML_WHY_MAX, "libnvidia-ml.so.1 has no %s",
				       calls[i].name);
			return false;
		}
		memcpy((char *)ret_calls + calls[i].at, &symbol, sizeof(symbol));
	}
	if (library)
		*(void **)&init = dlsym(library, "nvmlInit_v2");
	rc = init ? init() : -1;
	if (rc)
		(void)snprintf(why_not, COT_NVML_WHY_MAX,
			       init	 ? "nvmlInit failed (%d)"
			       : library ? "libnvidia-ml.so.1 has no nvmlInit_v2"
					 : "there is no libnvidia-ml.so.1",
			       rc);
	return !rc;
}
