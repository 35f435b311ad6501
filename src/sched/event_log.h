/*
 * The event log of the policy core as text: one line per event and per action, so that what a
 * daemon decided can be read, kept, and played again in a test or a simulation. Actions are in the
 * log for readers and for comparison; playing needs the events only.
 *
 *     1000000 tenant 3 class=batch weight=100 gpus=0x1 pool=0 ready=1 block_us=0
 *             target=p99 amount=5000 quota=50% reserve=0 sms=0 key=0x1f
 *                                                                     (on the same line)
 *     1000000 > slice 3 seq=1 us=100
 *     1210000 done 3 seq=1 status=0
 *     1300000 work 7 tenant=3 gpu=0 sms=132 method=quota settle=1 grow=0 tasks=4096 per_sm=8
 *             want=0 task_ns=0                                        (on the same line)
 *     1300000 > grant 7 seq=2 capsms=66 settled=1
 *     1400000 parts 3 sms=132 unit=8 part=0+0
 *     1400000 > place 3 seq=3 part=0+64
 *     1500000 placed 3 seq=3 status=0 part=0+64
 *     1600000 window 3 horizon=1s source=marked responses=90 missed=2 p50_ns=3000000
 *             p95_ns=4100000 p99_ns=5200000 services=90 service_missed=0 service_p50_ns=2000000
 *             service_p95_ns=2000000 service_p99_ns=2100000           (on the same line)
 *     1600000 progress 3 launches=4096 span_ns=1000000000
 *     1700000 prediction 3 row=0 of=2 sms=64 duration_ns=364000 bytes_per_s=2100000000000
 *             ipc_milli=1500                                          (on the same line)
 *     0 lesson 0 key=0x1f kind=3 values=1,2,3,4,5,6
 *     1800000 query 9 tenant=3 size=64 arrived_ns=1790000 began_ns=1795000 in_ns=5000
 *             out_ns=2000 plan=0x2b                                   (on the same line)
 *     1800000 > place 4 seq=4 part=64+68/hold
 *     1900000 tasks 9 done=1 at_ns=1890000
 *     2000000 query-end 9
 *
 * A plan is named only: who plays a log sets `query.plan` by `query.plan_key` before the core gets
 * the event.
 *
 * The first number is the time in ns. Lines that begin with '#' and empty lines mean nothing.
 * Pure, stateless.
 */
#ifndef COT_SCHED_EVENT_LOG_H
#define COT_SCHED_EVENT_LOG_H

#include "sched/sched.h"

#define COT_EVENT_LOG_LINE_MAX 512

/* Write one line without a newline; cut if `size` is too small. */
void cot_event_log_print_event(char *line, size_t size, const struct cot_event *ev);
void cot_event_log_print_action(char *line, size_t size, const struct cot_action *a);

enum cot_event_log_kind { COT_EVENT_LOG_NOTHING, COT_EVENT_LOG_EVENT, COT_EVENT_LOG_ACTION };

/*
 * Reads one line (without a newline). Writes *ret_ev or *ret_action, as *ret_kind says. -EINVAL
 * with a sentence for anything that the functions above could not have written.
 */
int cot_event_log_parse(const char *line, enum cot_event_log_kind *ret_kind,
			struct cot_event *ret_ev, struct cot_action *ret_action,
			struct cot_error *err);

#endif
