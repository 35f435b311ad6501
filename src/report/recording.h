/*
 * A recording of a live run (record/record.h) for people: tables for a terminal, a page, a
 * timeline for Perfetto; and for other programs, JSON. Pure but for the streams.
 */
#ifndef COT_REPORT_RECORDING_H
#define COT_REPORT_RECORDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "record/record.h"
#include "report/origin.h"
#include "report/table.h"

/* The limit of a target in ms; 0: it has none in time. */
double cot_recording_limit_ms(const struct cot_record_program *p);
/* Responses where there are some, else services. */
const struct cot_record_times *cot_recording_times(const struct cot_record_total *t);

/* A row for each program. NULL when out of memory. */
struct cot_table *cot_recording_table(const struct cot_record *r);
/* "NVIDIA H200, policy slo, 2 programs, 60.0 s". */
#define COT_RECORDING_DESCRIPTION_MAX 192
void cot_recording_describe(const struct cot_record *r, char text[COT_RECORDING_DESCRIPTION_MAX]);

/* -ENOMEM. */
int cot_recording_print_html(const struct cot_record *r, const struct cot_origin *origin,
			     FILE *out);
/* "cotenant.report/1". NULL when out of memory. */
json_t *cot_recording_json(const struct cot_record *r);
void cot_recording_print_timeline(const struct cot_record *r, FILE *out);

/* Whether its requests come by themselves: they say when they arrived, and leave it time enough.
 * Else each comes a pause after the answer before. */
bool cot_recording_is_open(const struct cot_record_total *t);
/* Whether enough is known of a program to play it. */
bool cot_recording_can_play(const struct cot_record_program *p, const struct cot_record_total *t);
/* As it is called in the scenario, where names differ. */
#define COT_RECORDING_NAME_MAX 68
const char *cot_recording_name(const struct cot_record *r, uint32_t program,
			       char ret_name[COT_RECORDING_NAME_MAX]);
/* Whether the program was on one of these GPUs (a bit for each), or where is not known. */
bool cot_recording_is_on(const struct cot_record_program *p, uint32_t gpus);
/* A scenario of the programs on these GPUs that can be played, in their order, on one GPU of this
 * model with so many SMs. */
void cot_recording_print_scenario(const struct cot_record *r, uint32_t gpus, const char *model,
				  uint32_t n_sms, FILE *out);

#endif
