#include "daemon/explain.h"

#include <errno.h>

#include "daemon/access.h"
#include "daemon/answer.h"
#include "daemon/conn.h"
#include "daemon/show.h"
#include "daemon/whom.h"

/* What a policy knows of a program is its user's affair. */
static int may_ask(const struct conn *c, const struct whom *w, struct cot_error *err)
{
	if (w->tenant)
		return cot_access_change(c, w->tenant, err);
	return cot_error_set(err, -EINVAL,
			     "'pool:%s' is a pool; expected a program, as cotenant ps lists them",
			     w->name);
}

void cot_explain_packet(struct conn *c, const struct cot_msg_explain *m)
{
	struct cot_error err;
	struct whom whom;
	char *text;
	int rc;

	if (c->out.text) /* it did not wait for the last answer */
		return;
	rc = cot_whom_find(c, m->tenant, m->name, &whom, &err);
	if (!rc)
		rc = may_ask(c, &whom, &err);
	if (rc < 0) {
		cot_answer_resultf(c, m->h.seq, rc, "%s", err.text);
		return;
	}
	text = cot_show_explain(c->in, whom.tenant);
	if (text)
		cot_answer_result(c, m->h.seq, 0, text);
	else
		cot_answer_resultf(c, m->h.seq, -ENOMEM, "cotenantd is out of memory");
}
