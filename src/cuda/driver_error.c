/* What a call of the driver answered, as a sentence; the shim has this, and opens the driver by
 * itself. */
#include "cuda/driver.h"

#include <errno.h>

/* `what` has n characters. */
static int say(const struct cot_driver *driver, CUresult result, const char *what, size_t n,
	       struct cot_error *err)
{
	const char *name = NULL;

	if (driver->cuGetErrorName)
		driver->cuGetErrorName(result, &name);
	return cot_error_set(err, -EIO, "%.*s failed: %s (%d)", (int)n, what,
			     name ? name : "unknown error", result);
}

int cot_driver_check(const struct cot_driver *driver, CUresult result, const char *what,
		     struct cot_error *err)
{
	return result ? say(driver, result, what, strlen(what), err) : 0;
}

int cot_driver_called(const struct cot_driver *driver, CUresult result, const char *function,
		      struct cot_error *err)
{
	size_t n = strlen(function);

	if (n > 3 && !strncmp(function + n - 3, "_v", 2))
		n -= 3;
	return result ? say(driver, result, function, n, err) : 0;
}
