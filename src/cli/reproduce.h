/*
 * The studies of `cotenant reproduce`. To add one: a file of its own, a declaration here and a
 * line in the table of reproduce.c. argv[0] is "cotenant reproduce NAME".
 */
#ifndef COT_CLI_REPRODUCE_H
#define COT_CLI_REPRODUCE_H

int cot_reproduce_consolidation(int argc, char **argv);
int cot_reproduce_preemption(int argc, char **argv);
int cot_reproduce_smqos(int argc, char **argv);

#endif
