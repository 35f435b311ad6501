#include "report/allocation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "base/quote.h"
#include "report/format.h"

struct cot_allocation {
	const struct cot_scenario *sc;
	FILE *scratch; /* one entry per line */
	bool changed;  /* since the last entry */
	uint32_t owner[COT_MAX_SMS];
	uint32_t n_sms[COT_MAX_APPS];
	uint32_t n_sms_written[COT_MAX_APPS];
};

int cot_allocation_create(const struct cot_scenario *sc, struct cot_allocation **ret_a,
			  struct cot_error *err)
{
	struct cot_allocation *a = calloc(1, sizeof(*a));
	unsigned i;
	int rc;

	if (!a)
		return cot_error_set(err, -ENOMEM, "out of memory");
	a->sc = sc;
	for (i = 0; i < COT_MAX_SMS; i++)
		a->owner[i] = COT_NO_APP;
	rc = cot_outfile_scratch(getenv("TMPDIR"), &a->scratch, err);
	if (rc < 0) {
		free(a);
		return rc;
	}
	*ret_a = a;
	return 0;
}

void cot_allocation_destroy(struct cot_allocation *a)
{
	if (!a)
		return;
	(void)fclose(a->scratch);
	free(a);
}

static void on_sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
			  uint32_t app, const char *kernel)
{
	struct cot_allocation *a = arg;

	(void)t_ps;
	(void)kernel;
	if (activity == COT_SM_IDLE)
		app = COT_NO_APP;
	if (app == a->owner[sm])
		return;
	if (a->owner[sm] != COT_NO_APP)
		a->n_sms[a->owner[sm]]--;
	if (app != COT_NO_APP)
		a->n_sms[app]++;
	a->owner[sm] = app;
	a->changed = true;
}

static void on_instant_done(void *arg, uint64_t t_ps)
{
	struct cot_allocation *a = arg;
	struct cot_text t;
	const char *comma = "";
	uint32_t i;

	if (!a->changed)
		return;
	a->changed = false;
	/* Two SMs may have changed hands within the instant and cancel each other out. */
	if (!memcmp(a->n_sms, a->n_sms_written, sizeof(a->n_sms)))
		return;
	memcpy(a->n_sms_written, a->n_sms, sizeof(a->n_sms));
	(void)fprintf(a->scratch, "{\"t_us\": %s, \"sms\": {", cot_format_exact_us(&t, t_ps, true));
	for (i = 0; i < a->sc->n_apps; i++) {
		if (!a->n_sms[i])
			continue;
		(void)fputs(comma, a->scratch);
		cot_quote_write(a->scratch, a->sc->apps[i].name);
		(void)fprintf(a->scratch, ": %" PRIu32, a->n_sms[i]);
		comma = ", ";
	}
	(void)fputs("}}\n", a->scratch);
}

const struct cot_sim_observer cot_allocation_observer = {
	.sm_changed = on_sm_changed,
	.instant_done = on_instant_done,
};

int cot_allocation_write(struct cot_allocation *a, FILE *out, const char *indent,
			 struct cot_error *err)
{
	const char *separator = "\n";
	bool line_begins = true;
	int c;

	errno = 0;
	if (fflush(a->scratch) || ferror(a->scratch) || fseek(a->scratch, 0, SEEK_SET))
		return cot_error_set(err, -EIO, "cannot write a temporary file: %s",
				     strerror(errno ? errno : EIO));
	(void)fputs("[", out);
	while ((c = getc(a->scratch)) != EOF) {
		if (line_begins)
			(void)fprintf(out, "%s%s  ", separator, indent);
		line_begins = c == '\n';
		separator = ",\n";
		if (!line_begins)
			(void)putc(c, out);
	}
	if (ferror(a->scratch))
		return cot_error_set(err, -EIO, "cannot read a temporary file: %s",
				     strerror(errno));
	(void)fprintf(out, "\n%s]", indent);
	return 0;
}
