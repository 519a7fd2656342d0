/* Preloaded into a process: the n-th change below one folder fails, or kills the process.
 *
 * Counted are opening a file to write, write, pwrite, writev, fsync, fdatasync, ftruncate,
 * fallocate, rename, link, mkdir, unlink and rmdir, of Python and of every library below it. With
 * FAULTS_NO_TMPFILE in the environment there are no files without a name.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX];
static long seen, first, last;
static int number;

/* From call `from` to call `to` below `folder` fail with `error`; kill where it is 0. */
void fault_arm(const char *folder, long from, long to, int error) {
    strncpy(root, folder, sizeof root - 1);
    seen = 0, first = from, last = to, number = error;
}

long fault_seen(void) { return seen; }

static int fails(const char *path) {
    if (!root[0] || !path || strncmp(path, root, strlen(root))) return 0;
    seen++;
    if (seen < first || seen > last) return 0;
    if (!number) kill(getpid(), SIGKILL);
    errno = number;
    return 1;
}

static int fails_file(int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(path);
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                      \
    int name(const char *path, int flags, ...) {                        \
        va_list rest;                                                   \
        va_start(rest, flags);                                          \
        mode_t mode = va_arg(rest, mode_t);                             \
        va_end(rest);                                                   \
        if ((flags & O_TMPFILE) == O_TMPFILE && getenv("FAULTS_NO_TMPFILE")) { \
            errno = EOPNOTSUPP;                                         \
            return -1;                                                  \
        }                                                               \
        if ((flags & O_ACCMODE) != O_RDONLY && fails(path)) return -1;  \
        return REAL(int, name, const char *, int, ...)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

FILE *fopen(const char *path, const char *mode) {
    if (mode[0] != 'r' && fails(path)) return NULL;
    return REAL(FILE *, fopen, const char *, const char *)(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    if (mode[0] != 'r' && fails(path)) return NULL;
    return REAL(FILE *, fopen64, const char *, const char *)(path, mode);
}
ssize_t write(int file, const void *data, size_t size) {
    if (fails_file(file)) return -1;
    return REAL(ssize_t, write, int, const void *, size_t)(file, data, size);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    if (fails_file(file)) return -1;
    return REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(file, data, size, at);
}
ssize_t writev(int file, const struct iovec *data, int count) {
    if (fails_file(file)) return -1;
    return REAL(ssize_t, writev, int, const struct iovec *, int)(file, data, count);
}
int ftruncate64(int file, off64_t size) {
    if (fails_file(file)) return -1;
    return REAL(int, ftruncate64, int, off64_t)(file, size);
}
int posix_fallocate64(int file, off64_t at, off64_t size) {
    if (fails_file(file)) return errno;
    return REAL(int, posix_fallocate64, int, off64_t, off64_t)(file, at, size);
}
int fsync(int file) { return fails_file(file) ? -1 : REAL(int, fsync, int)(file); }
int fdatasync(int file) { return fails_file(file) ? -1 : REAL(int, fdatasync, int)(file); }
int rename(const char *from, const char *to) {
    return fails(from) ? -1 : REAL(int, rename, const char *, const char *)(from, to);
}
int link(const char *from, const char *to) {
    return fails(to) ? -1 : REAL(int, link, const char *, const char *)(from, to);
}
int linkat(int in, const char *from, int into, const char *to, int flags) {
    if (fails(to)) return -1;
    return REAL(int, linkat, int, const char *, int, const char *, int)(in, from, into, to, flags);
}
int mkdir(const char *path, mode_t mode) {
    return fails(path) ? -1 : REAL(int, mkdir, const char *, mode_t)(path, mode);
}
int unlink(const char *path) {
    return fails(path) ? -1 : REAL(int, unlink, const char *)(path);
}
int rmdir(const char *path) { return fails(path) ? -1 : REAL(int, rmdir, const char *)(path); }
