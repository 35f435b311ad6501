/* Rewritten modules from the store, and into it; see template.h. Whatever is wrong with it, the
 * module is rewritten as if there were none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/log.h"
#include "guest/shim/driver.h"
#include "guest/shim/template.h"
#include "ptx/pass/pass.h"
#include "ptx/ptx.h"

static int load(int dir, const char *key, struct cot_shim_rewritten *ret)
{
	unsigned char *bytes;
	size_t n;
	int rc = cot_shim_store_load(dir, key, &bytes, &n);

	if (!rc) {
		rc = cot_shim_template_read(bytes, n, key, ret);
		free(bytes);
	}
	return rc;
}

static int save(int dir, const char *key, const struct cot_shim_rewritten *r)
{
	unsigned char *bytes;
	size_t n;
	int rc = cot_shim_template_write(r, key, &bytes, &n);

	if (rc)
		return rc;
	rc = cot_shim_store_save(dir, key, bytes, n);
	free(bytes);
	return rc;
}

/* As when it was made. */
static void tell_refusals(const struct cot_shim_rewritten *r)
{
	unsigned i, reason;

	for (i = 0; i < r->n_refusals; i++) {
		reason = r->refusals[i].reason;
		cot_log(COT_LOG_INFO, "kernel %s: %s", r->refusals[i].name,
			reason < COT_N_REASONS ? cot_reason_why((enum cot_reason)reason)
					       : "it cannot be rewritten");
		cot_shim_count_refused(reason);
	}
}

static void say_not_kept(int rc)
{
	cot_log(COT_LOG_INFO, "templates in %s/cotenant/templates are not kept: error %d",
		cot_shim_settings.templates, -rc);
	cot_shim_count_template(COT_SHIM_TEMPLATE_NOT_KEPT);
}

static int make(int dir, const char *key, const char *text, size_t length, unsigned newest,
		struct cot_shim_rewritten *ret)
{
	int rc = cot_shim_rewrite_to_merge(text, length, newest, ret), kept;

	if (rc)
		return rc;
	cot_shim_count_template(COT_SHIM_TEMPLATE_MADE);
	kept = dir < 0 ? dir : save(dir, key, ret);
	if (kept)
		say_not_kept(kept);
	return 0;
}

int cot_shim_rewrite_kept(const char *text, size_t length, unsigned newest, unsigned target,
			  struct cot_shim_rewritten *ret)
{
	int saved = errno, dir, rc;
	char key[COT_SHA256_TEXT];

	if (!cot_shim_settings.templates[0] || length > COT_PTX_REWRITE_MAX)
		return cot_shim_rewrite_to_merge(text, length, newest, ret);
	(void)cot_shim_template_key(text, length, newest, target, key);
	dir = cot_shim_store_open(cot_shim_settings.templates);
	rc = dir < 0 ? dir : load(dir, key, ret);
	if (!rc) {
		cot_shim_count_template(COT_SHIM_TEMPLATE_FOUND);
		tell_refusals(ret);
	} else {
		if (dir >= 0 && rc != -ENOENT && rc != -ENOMEM) {
			cot_log(COT_LOG_INFO, "template %s is damaged, or not ours: left out", key);
			cot_shim_count_template(COT_SHIM_TEMPLATE_IGNORED);
		}
		rc = make(dir, key, text, length, newest, ret);
	}
	if (dir >= 0)
		close(dir);
	errno = saved;
	return rc;
}
