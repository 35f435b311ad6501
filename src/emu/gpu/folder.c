#include "emu/gpu/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/gpu/config.h"

/* What others could enter, or have made in our place, is not ours. */
static int make_own(int folder)
{
	struct stat st;

	if (fstat(folder, &st))
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	return (st.st_mode & 07777) != 0700 && fchmod(folder, 0700) ? -errno : 0;
}

int cot_emu_folder_open(void)
{
	char path[PATH_MAX];
	bool own;
	int err = cot_emu_config_dir(path, &own), folder;

	if (err)
		return err;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (own ? O_NOFOLLOW : 0));
	if (folder < 0)
		return -errno;
	err = own ? make_own(folder) : 0;
	if (err) {
		close(folder);
		return err;
	}
	return folder;
}

static int check_file(int file, const struct stat *folder)
{
	bool own = !(folder->st_mode & 077);
	struct stat st;

	if (fstat(file, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (own && (st.st_uid != folder->st_uid || st.st_nlink != 1)))
		return -EPERM;
	/* The umask has no say here; the owner's call is the one that counts. */
	if ((st.st_mode & 0777) != (folder->st_mode & 0666) && st.st_uid == geteuid())
		(void)!fchmod(file, folder->st_mode & 0666);
	return 0;
}

int cot_emu_folder_file(int folder, const char *name, int flags)
{
	struct stat st;
	int file, err;

	if (fstat(folder, &st))
		return -errno;
	file = openat(folder, name, flags | O_CREAT | O_NOFOLLOW, st.st_mode & 0666);
	if (file < 0)
		return -errno;
	err = check_file(file, &st);
	if (err) {
		close(file);
		return err;
	}
	return file;
}

int cot_emu_folder_fill(int file, size_t bytes)
{
	if (ftruncate(file, (off_t)bytes))
		return -errno;
	return -posix_fallocate(file, 0, (off_t)bytes);
}
