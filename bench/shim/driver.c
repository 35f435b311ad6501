/*
 * A driver that does nothing: what stands behind the shim in bench_shim, so that only the shim's
 * own time is seen.
 */
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuInit(unsigned flags);
EXPORT int cuStreamQuery(void *stream);
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			  unsigned by, unsigned bz, unsigned shared_bytes, void *stream,
			  void **params, void **extra);
EXPORT int cuGetProcAddress(const char *symbol, void **function, int version,
			    unsigned long long flags);

int cuInit(unsigned flags)
{
	return flags != 0;
}

int cuStreamQuery(void *stream)
{
	return stream == NULL;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared_bytes, void *stream, void **params, void **extra)
{
	return !function + (int)(gx + gy + gz + bx + by + bz + shared_bytes) + !stream + !params +
	       (extra != NULL);
}

int cuGetProcAddress(const char *symbol, void **function, int version, unsigned long long flags)
{
	int (*found)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		     void *, void **, void **) = cuLaunchKernel;

	if (version < 4000 || flags || strcmp(symbol, "cuLaunchKernel") != 0)
		return 500;
	memcpy(function, &found, sizeof(found));
	return 0;
}
