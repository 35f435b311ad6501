/* For builds without libmicrohttpd: nothing is served. */
#include <errno.h>

#include "http/page.h"

int cot_http_open(int listener, const struct cot_http_page *page, struct cot_http **ret_http)
{
	(void)listener;
	(void)page;
	(void)ret_http;
	return -ENOSYS;
}

void cot_http_close(struct cot_http *http)
{
	(void)http;
}

int cot_http_fd(const struct cot_http *http)
{
	(void)http;
	return -1;
}

void cot_http_run(struct cot_http *http, uint64_t now_ns)
{
	(void)http;
	(void)now_ns;
}

uint64_t cot_http_due_ns(const struct cot_http *http, uint64_t now_ns)
{
	(void)http;
	(void)now_ns;
	return UINT64_MAX;
}
