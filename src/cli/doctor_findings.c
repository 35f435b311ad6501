/* The list of findings of `cotenant doctor`. */
#include <stdarg.h>
#include <stdio.h>

#include "cli/doctor.h"

struct cot_finding *cot_doctor_add(struct cot_findings *f, const char *name,
				   enum cot_finding_grade grade, const char *fmt, ...)
{
	unsigned i = f->n < COT_FINDINGS_MAX ? f->n++ : COT_FINDINGS_MAX - 1;
	struct cot_finding *finding = &f->finding[i];
	va_list args;

	*finding = (struct cot_finding){.name = name, .grade = grade};
	va_start(args, fmt);
	(void)vsnprintf(finding->what, sizeof(finding->what), fmt, args);
	va_end(args);
	return finding;
}

void cot_doctor_advise(struct cot_finding *finding, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(finding->advice, sizeof(finding->advice), fmt, args);
	va_end(args);
}
