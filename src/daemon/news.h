/*
 * What goes wrong in the host, as lines of the log; and names and reasons as users read them.
 */
#ifndef COT_DAEMON_NEWS_H
#define COT_DAEMON_NEWS_H

#include <stdint.h>

#include "daemon/host.h"

struct daemon;

#define COT_NEWS_NAME_MAX 96

void cot_news_tell(void *arg, const struct cot_host_news *news); /* of struct cot_host_ops */
/* What the user calls a program or pool. */
const char *cot_news_entity(struct daemon *d, uint32_t id, char text[COT_NEWS_NAME_MAX]);
/* Why an order failed; why a policy is not at work. */
const char *cot_news_reason(int status);
const char *cot_news_fault(enum cot_fault fault);

#endif
