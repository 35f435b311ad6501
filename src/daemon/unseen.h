/*
 * What other users may read of the daemon's memory: nothing. The kernel shows everybody the
 * arguments of a process (/proc/PID/cmdline), and holds a lock of its memory meanwhile. Who reads
 * them at the lowest priority, and is kept from a processor in the midst of it, makes the daemon
 * wait for that lock: for seconds, at each mmap() and fork().
 */
#ifndef COT_DAEMON_UNSEEN_H
#define COT_DAEMON_UNSEEN_H

/* From here on `ps` shows the name alone, in brackets. 0, or -errno: the kernel does not offer it.
 */
int cot_unseen_make(void);

#endif
