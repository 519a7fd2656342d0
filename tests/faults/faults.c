/* Preloaded into a process: the n-th change below one folder fails, or kills the process.
 *
 * Counted are opening a file to write, write, pwrite, writev, sendfile, fsync, fdatasync, ftruncate,
 * fallocate, rename, link, mkdir, unlink and rmdir, of Python and of every library below it, but
 * not what the C library writes of its own buffers. Without names for files, there are no files
 * without a name.
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

static char root[PATH_MAX], told[1 << 22];
static long seen, first, last;
static size_t length;
static int number, named;

/* From call `from` to call `to` below `folder` fail with `error`; kill where it is 0. `only_named`:
 * the file system gives every file a name. */
void fault_arm(const char *folder, long from, long to, int error, int only_named) {
    strncpy(root, folder, sizeof root - 1);
    seen = 0, length = 0, first = from, last = to, number = error, named = only_named;
}

/* All changes since then, a line each: what was called, and the path. */
const char *fault_seen(void) { return told; }

static int fails(const char *call, const char *path) {
    if (!root[0] || !path || strncmp(path, root, strlen(root))) return 0;
    seen++;
    int more = snprintf(told + length, sizeof told - length, "%s %s\n", call, path);
    if (more > 0 && (size_t)more < sizeof told - length) length += more;
    if (seen < first || seen > last) return 0;
    if (!number) kill(getpid(), SIGKILL);
    errno = number;
    return 1;
}

static int path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return 1;
}

static int fails_file(const char *call, int file) {
    char path[PATH_MAX];
    return path_of(file, path) && fails(call, path);
}

static int fails_at(const char *call, int folder, const char *name) {
    char path[PATH_MAX], whole[2 * PATH_MAX];
    if (name[0] == '/' || folder == AT_FDCWD) return fails(call, name);
    if (!path_of(folder, path)) return 0;
    snprintf(whole, sizeof whole, "%s/%s", path, name);
    return fails(call, whole);
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                      \
    int name(const char *path, int flags, ...) {                        \
        va_list rest;                                                   \
        va_start(rest, flags);                                          \
        mode_t mode = va_arg(rest, mode_t);                             \
        va_end(rest);                                                   \
        if ((flags & O_TMPFILE) == O_TMPFILE && named) {                \
            errno = EOPNOTSUPP;                                         \
            return -1;                                                  \
        }                                                               \
        if ((flags & O_ACCMODE) != O_RDONLY && fails("open", path)) return -1; \
        return REAL(int, name, const char *, int, ...)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPEN_AT(name)                                                   \
    int name(int folder, const char *path, int flags, ...) {            \
        va_list rest;                                                   \
        va_start(rest, flags);                                          \
        mode_t mode = va_arg(rest, mode_t);                             \
        va_end(rest);                                                   \
        if ((flags & O_ACCMODE) != O_RDONLY && fails_at("open", folder, path)) return -1; \
        return REAL(int, name, int, const char *, int, ...)(folder, path, flags, mode); \
    }
OPEN_AT(openat)
OPEN_AT(openat64)

FILE *fopen(const char *path, const char *mode) {
    if (mode[0] != 'r' && fails("open", path)) return NULL;
    return REAL(FILE *, fopen, const char *, const char *)(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    if (mode[0] != 'r' && fails("open", path)) return NULL;
    return REAL(FILE *, fopen64, const char *, const char *)(path, mode);
}
ssize_t write(int file, const void *data, size_t size) {
    if (fails_file("write", file)) return -1;
    return REAL(ssize_t, write, int, const void *, size_t)(file, data, size);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    if (fails_file("write", file)) return -1;
    return REAL(ssize_t, pwrite, int, const void *, size_t, off_t)(file, data, size, at);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    if (fails_file("write", file)) return -1;
    return REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(file, data, size, at);
}
ssize_t writev(int file, const struct iovec *data, int count) {
    if (fails_file("write", file)) return -1;
    return REAL(ssize_t, writev, int, const struct iovec *, int)(file, data, count);
}
ssize_t sendfile(int to, int from, off_t *at, size_t size) {
    if (fails_file("write", to)) return -1;
    return REAL(ssize_t, sendfile, int, int, off_t *, size_t)(to, from, at, size);
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t size) {
    if (fails_file("write", to)) return -1;
    return REAL(ssize_t, sendfile64, int, int, off64_t *, size_t)(to, from, at, size);
}
int ftruncate(int file, off_t size) {
    if (fails_file("truncate", file)) return -1;
    return REAL(int, ftruncate, int, off_t)(file, size);
}
int ftruncate64(int file, off64_t size) {
    if (fails_file("truncate", file)) return -1;
    return REAL(int, ftruncate64, int, off64_t)(file, size);
}
int posix_fallocate64(int file, off64_t at, off64_t size) {
    if (fails_file("allocate", file)) return errno;
    return REAL(int, posix_fallocate64, int, off64_t, off64_t)(file, at, size);
}
int fsync(int file) {
    return fails_file("fsync", file) ? -1 : REAL(int, fsync, int)(file);
}
int fdatasync(int file) {
    return fails_file("fsync", file) ? -1 : REAL(int, fdatasync, int)(file);
}
int rename(const char *from, const char *to) {
    return fails("rename", from) ? -1 : REAL(int, rename, const char *, const char *)(from, to);
}
int link(const char *from, const char *to) {
    return fails("link", to) ? -1 : REAL(int, link, const char *, const char *)(from, to);
}
int linkat(int in, const char *from, int into, const char *to, int flags) {
    if (fails_at("link", into, to)) return -1;
    return REAL(int, linkat, int, const char *, int, const char *, int)(in, from, into, to, flags);
}
int mkdir(const char *path, mode_t mode) {
    return fails("mkdir", path) ? -1 : REAL(int, mkdir, const char *, mode_t)(path, mode);
}
int unlink(const char *path) {
    return fails("unlink", path) ? -1 : REAL(int, unlink, const char *)(path);
}
int unlinkat(int folder, const char *path, int flags) {
    if (fails_at(flags & AT_REMOVEDIR ? "rmdir" : "unlink", folder, path)) return -1;
    return REAL(int, unlinkat, int, const char *, int)(folder, path, flags);
}
int rmdir(const char *path) {
    return fails("rmdir", path) ? -1 : REAL(int, rmdir, const char *)(path);
}
