/* Files of the daemon's own folder, which appear whole or not at all. */
#ifndef COT_DAEMON_FILE_H
#define COT_DAEMON_FILE_H

/* Writes the text under another name in the same folder, then gives it this one. 0 or -errno. */
int cot_file_write(const char *path, const char *text);

#endif
