/*
 * The program under control in test_preload: does what its standard input says, one letter a line,
 * and answers each with a line.
 */
#ifndef COT_TESTS_TENANT_H
#define COT_TESTS_TENANT_H

/* c: allocate a context, answer how long its first group took (us)
 * g: allocate another group with a channel
 * d: free everything
 * t: answer the number of threads
 * f: fork a child that makes a context of its own; answer its pid
 * v: a child without fork's handlers makes a context
 * x: close every descriptor from 3 on, open the device again
 * l: leave no descriptor to be had
 * e: exec itself
 * m: answer the private memory of the library, KiB
 * q: end */
int tenant_main(char **argv);

#endif
