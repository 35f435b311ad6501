/* What goes wrong in the host (freezes, thaws, a policy), as lines of the log. */
#ifndef COT_DAEMON_NEWS_H
#define COT_DAEMON_NEWS_H

#include "daemon/host.h"

struct roster;

void cot_news_tell(struct roster *r, const struct cot_host_news *news);
/* Why an order failed; why a policy is not at work. */
const char *cot_news_reason(int status);
const char *cot_news_fault(enum cot_fault fault);

#endif
