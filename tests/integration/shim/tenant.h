/*
 * The program under control in test_shim: does what its standard input says, a line each, and
 * answers each with a line.
 *
 *   load WAY [FILE]         make a context, and load the kernels (data, dataex, fat, library, file)
 *   launch HOW BLOCKS ROUNDS   HOW: params, extra, ex, thread (the thread's own stream), legacy,
 *                           cluster, cooperative, graph; answers with the driver's result
 *   many N BLOCKS ROUNDS    as many of them, one behind the other
 *   streams N BLOCKS ROUNDS one each in N streams
 *   new                     another stream, for the launches to come
 *   say WHAT METHOD SHARE   WHAT: stream, legacy, thread; METHOD as in share.h; SHARE may be "-";
 *                           answers with what the call returns
 *   wait                    everything has ended; answers "wrong N most N": results that are not
 *                           right, and blocks that ran at a time
 *   query                   0: the stream has ended; else the driver's result
 *   count                   functions of the module
 *   global                  the value of the module's variable, which each launch adds 1 to
 *   shared BYTES            dynamic shared memory from now on, allowed by the attribute
 *   reload                  unload the module, load it again
 *   reset                   another context
 *   fork                    a child asks for the number of devices, launches nothing; its status
 *   threads                 threads of the process
 *   quit
 */
#ifndef COT_TESTS_TENANT_H
#define COT_TESTS_TENANT_H

int tenant_main(void);

#endif
