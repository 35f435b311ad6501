/*
 * Where the daemon, the command line and the library find each other. Used by the daemon and the
 * commands; reads the environment, creates at most the runtime folder.
 *
 * Runtime folder: $COTENANT_RUNTIME_DIR, else /run/cotenant for root, else
 * $XDG_RUNTIME_DIR/cotenant, else $HOME/.cache/cotenant/run. Never below a folder that all users
 * may write to.
 */
#ifndef COT_DAEMON_PATHS_H
#define COT_DAEMON_PATHS_H

#include <stdbool.h>

#include "base/error.h"

#define COT_PATH_TEXT_MAX  512u /* a full path, with the NUL */
#define COT_SOCKET_NAME	   "cotenantd.sock"
#define COT_SOCKET_HIDDEN  ".cotenantd.new" /* until the daemon is ready; not longer */
#define COT_SYSTEM_RUNTIME "/run/cotenant"

/* What a daemon with --ready-fd writes there; nothing when it was killed before. */
#define COT_READY_SERVED "1" /* it serves, or another one does */
#define COT_READY_FAILED "0" /* and another try would fail, too */

int cot_paths_runtime(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err);
/* The folder of the machine's own daemon, which all users may use. */
bool cot_paths_is_system(const char *runtime);
/* Creates it (and missing parents of ours) with `mode` if it does not exist; refuses one that
 * belongs to another user or that others may write to. */
int cot_paths_make_private(const char *path, unsigned mode, struct cot_error *err);
int cot_paths_join(char ret_path[COT_PATH_TEXT_MAX], const char *folder, const char *name,
		   struct cot_error *err);

/* The file of the configuration that is read when none is named. */
int cot_paths_config(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err);

/*
 * A file that is installed beside this program: $COTENANT_LIBRARY for the library, else found
 * relative to the folder of the running program. -ENOENT with a sentence.
 */
int cot_paths_library(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err);
/* The library in front of the driver's (the shim), in a folder of its own. */
int cot_paths_shim(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err);
/* A library with CPU versions of kernels (cotenant/cpu.h) that is installed with ours, by name. */
int cot_paths_cpu(const char *name, char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err);
int cot_paths_daemon(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err);
int cot_paths_backend(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err);

/* Finds a program as execvp() would. */
bool cot_paths_program(const char *name, char ret_path[COT_PATH_TEXT_MAX]);

#endif
