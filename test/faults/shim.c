/*
 * A machine with faults, preloaded into a server or a child of a test (LD_PRELOAD). What it does is
 * chosen by the environment; each part is off without its variable.
 *
 * SHIM_LOG    A file that gets every write, truncation and sync of the database, its log and the
 *             test's `acks`, in their order: from it a test makes the files that a power cut leaves.
 * SHIM_FAULT  A file of two little-endian int64: an errno, and how many changes of files under the
 *             folder SHIM_UNDER succeed before all fail with it. No change fails while the errno is 0.
 * SHIM_POINTS A folder that gets a copy of SHIM_UNDER before each change of a file in it, which is
 *             what a kill at that moment leaves: 1, 2, and so on.
 * SHIM_CLOCK  A file of one little-endian int64: milliseconds by which wall time is set wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 65536, UNDER = 0x80 };
static unsigned char kinds[FILES];
static int log_fd = -1;
static const char *points, *under;
static const volatile int64_t *offset_ms;
static struct { volatile int64_t error; _Atomic int64_t left; } *fault;

static void *mapped(const char *path, int flags, int access, size_t size) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
  void *map = fd < 0 ? MAP_FAILED : mmap(0, size, access, MAP_SHARED, fd, 0);
  if (fd >= 0) syscall(SYS_close, fd);
  return map == MAP_FAILED ? 0 : map;
}

static void set_up(void) {
  static int done;
  if (done) return;
  done = 1;
  const char *log = getenv("SHIM_LOG"), *clock = getenv("SHIM_CLOCK"), *wrong = getenv("SHIM_FAULT");
  points = getenv("SHIM_POINTS");
  under = getenv("SHIM_UNDER");
  if (log)
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (clock) offset_ms = mapped(clock, O_RDONLY, PROT_READ, 8);
  if (wrong) fault = mapped(wrong, O_RDWR, PROT_READ | PROT_WRITE, 16);
}
__attribute__((constructor)) static void begin(void) { set_up(); }

static int ends(const char *text, const char *end) {
  size_t a = strlen(text), b = strlen(end);
  return a >= b && strcmp(text + a - b, end) == 0;
}
static int kind_of(const char *path) {
  int kind = ends(path, "/state.sqlite") ? 1 : ends(path, "/state.sqlite-wal") ? 2
           : ends(path, "/acks") ? 3 : 0;
  if (under && strncmp(path, under, strlen(under)) == 0) kind |= UNDER;
  return kind;
}
static int opened(int fd, const char *path) {
  if (fd >= 0 && fd < FILES) kinds[fd] = (unsigned char)kind_of(path);
  return fd;
}
static void copy_all(void) {
  static atomic_int count;
  char into[4096];
  snprintf(into, sizeof into, "%s/%d", points, ++count);
  char *args[] = {"cp", "-a", (char *)under, into, 0}, *none[] = {0};
  pid_t pid;
  int status = 1;
  if (posix_spawn(&pid, "/bin/cp", 0, 0, args, none) == 0)
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (status != 0) abort();
}
/* Comes before each change of a file under the folder; false with errno where it fails. A full disk
   still lets files go. */
static int may_change(int isUnder) {
  if (!isUnder) return 1;
  if (points) copy_all();
  if (!fault || fault->error == 0 || fault->left-- > 0) return 1;
  fault->left = 0;
  errno = (int)fault->error;
  return 0;
}
static int is_under(int fd) { return fd >= 0 && fd < FILES && (kinds[fd] & UNDER); }
/* One record: what, which file, where, how long, and the bytes of a write. */
static void note(char what, int fd, int64_t at, const void *data, size_t size) {
  int kind = fd >= 0 && fd < FILES ? kinds[fd] & ~UNDER : 0;
  if (log_fd < 0 || kind == 0) return;
  unsigned char head[14] = {(unsigned char)what, (unsigned char)kind};
  uint32_t length = (uint32_t)size;
  memcpy(head + 2, &at, 8);
  memcpy(head + 10, &length, 4);
  struct iovec parts[2] = {{head, sizeof head}, {(void *)data, data ? size : 0}};
  syscall(SYS_writev, log_fd, parts, 2);
}

static int open_at(int at, const char *path, int flags, mode_t mode) {
  set_up();
  int isChange = (flags & O_TRUNC) ||
                 ((flags & O_CREAT) && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0);
  if (!may_change(isChange && (kind_of(path) & UNDER))) return -1;
  return opened((int)syscall(SYS_openat, at, path, flags, mode), path);
}
#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | __O_TMPFILE)) { \
    va_list list; \
    va_start(list, flags); \
    mode = va_arg(list, mode_t); \
    va_end(list); \
  }
int open(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return open_at(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return open_at(at, path, flags | O_LARGEFILE, mode); }

int close(int fd) {
  if (fd >= 0 && fd < FILES) kinds[fd] = 0;
  return (int)syscall(SYS_close, fd);
}

static ssize_t done(int fd, int64_t at, const void *data, ssize_t count) {
  if (count > 0) note('W', fd, at, data, (size_t)count);
  return count;
}
ssize_t write(int fd, const void *data, size_t size) {
  if (!may_change(is_under(fd))) return -1;
  ssize_t count = syscall(SYS_write, fd, data, size);
  int isOurs = fd >= 0 && fd < FILES && (kinds[fd] & ~UNDER);
  return isOurs && count > 0 ? done(fd, syscall(SYS_lseek, fd, 0, SEEK_CUR) - count, data, count) : count;
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  if (!may_change(is_under(fd))) return -1;
  return done(fd, at, data, syscall(SYS_pwrite64, fd, data, size, at));
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return pwrite(fd, data, size, at); }

int ftruncate(int fd, off_t size) {
  if (!may_change(is_under(fd))) return -1;
  int result = (int)syscall(SYS_ftruncate, fd, size);
  if (result == 0) note('T', fd, size, 0, 0);
  return result;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int fsync(int fd) {
  if (!may_change(is_under(fd))) return -1;
  int result = (int)syscall(SYS_fsync, fd);
  if (result == 0) note('S', fd, 0, 0, 0);
  return result;
}
int fdatasync(int fd) {
  if (!may_change(is_under(fd))) return -1;
  int result = (int)syscall(SYS_fdatasync, fd);
  if (result == 0) note('S', fd, 0, 0, 0);
  return result;
}

/* What Node does first to the file that a copy makes, which is empty yet. */
int fchmod(int fd, mode_t mode) {
  return may_change(is_under(fd)) ? (int)syscall(SYS_fchmod, fd, mode) : -1;
}
int rename(const char *from, const char *to) {
  if (!may_change(kind_of(to) & UNDER)) return -1;
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int unlink(const char *path) {
  if (!may_change(kind_of(path) & UNDER) && errno != ENOSPC) return -1;
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
int mkdir(const char *path, mode_t mode) {
  int isThere = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
  if (!isThere && !may_change(kind_of(path) & UNDER)) return -1;
  return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

/* Wall time only: the monotonic clock can't be set. */
static int64_t wrong_ns(void) { return offset_ms ? *offset_ms * 1000000 : 0; }
int clock_gettime(clockid_t which, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(which, time);
  if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) {
    int64_t now = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + wrong_ns();
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
  }
  return result;
}
int gettimeofday(struct timeval *time, void *zone) {
  (void)zone;
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}
time_t time(time_t *into) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (into) *into = now.tv_sec;
  return now.tv_sec;
}
