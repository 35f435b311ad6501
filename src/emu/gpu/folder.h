/*
 * The folder of an emulated machine, and the files in it.
 *
 * COTENANT_EMU_DIR names it. A user who may enter it and write there shares the machine, and the
 * others must trust that user: processes map the files, and truncating one ends the processes that
 * use it (a file with a name cannot be sealed). Without the variable it is the user's own folder in
 * a place where all users may make folders; there only a folder that really belongs to the user is
 * used.
 */
#ifndef COT_EMU_GPU_FOLDER_H
#define COT_EMU_GPU_FOLDER_H

#include <stddef.h>

/*
 * A descriptor of the folder, which is made if need be, or -errno. The user's own: -EPERM if
 * another user has made it, -ENOTDIR or -ELOOP if it is not a folder; no other user may enter it
 * afterwards.
 */
int cot_emu_folder_open(void);

/*
 * Opens a file in it, which is made if need be, with the folder's permissions. -errno; -EPERM for
 * what is no plain file, or, in a folder that only its owner may enter, not the owner's.
 */
int cot_emu_folder_file(int folder, const char *name, int flags);

/*
 * Gives the file so many bytes, with memory behind all of them, so that touching them never fails
 * for want of it. 0 or -errno (-ENOSPC).
 */
int cot_emu_folder_fill(int file, size_t bytes);

#endif
