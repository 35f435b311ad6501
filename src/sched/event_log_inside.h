/* The words of the event log, shared by what prints it (event_log.c) and what reads it
 * (event_log_read.c). */
#ifndef COT_SCHED_EVENT_LOG_INSIDE_H
#define COT_SCHED_EVENT_LOG_INSIDE_H

#include <stddef.h>

#include "sched/event_log.h"

/* By their enums. */
extern const char *const cot_event_log_events[COT_EV_N_TYPES];
extern const char *const cot_event_log_actions[COT_N_ACTIONS];
extern const char *const cot_event_log_activities[3];
extern const char *const cot_event_log_methods[2];
extern const char *const cot_event_log_horizons[COT_N_HORIZONS];
extern const char *const cot_event_log_sources[2];

/* Of the members of cot_times, in their order. */
#define N_TIMES 5u
extern const char *const cot_event_log_responses[N_TIMES];
extern const char *const cot_event_log_services[N_TIMES];

/* Of a lesson. */
#define N_VALUES (sizeof(((struct cot_lesson *)NULL)->value) / sizeof(uint32_t))

#define N(names) ((unsigned)(sizeof(names) / sizeof((names)[0])))

#endif
