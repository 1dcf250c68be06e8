package io.rdmaraw.ffi;

/**
 * An epoll(7) instance: which of many descriptors are ready. Its own descriptor is readable when one of them is. Level
 * triggered, never blocks. For one thread.
 */
public final class Epoll implements AutoCloseable {
    public static final int EPOLLIN = 1;
    private static final int EPOLL_CLOEXEC = 0x80000;
    private static final int EPOLL_CTL_ADD = 1;
    private static final int EPOLL_CTL_DEL = 2;
    /** {@code struct epoll_event} is packed on x86-64 alone (sys/epoll.h). */
    private static final boolean PACKED = "amd64".equals(System.getProperty("os.arch"));
    private static final int DATA_OFFSET = PACKED ? 4 : 8;
    private static final int EVENT_SIZE_BYTES = DATA_OFFSET + Long.BYTES;

    private static final long CREATE = Libc.address("epoll_create1");
    private static final long CTL = Libc.address("epoll_ctl");
    private static final long WAIT = Libc.address("epoll_wait");

    private final int fd;
    private final int maxEvents;
    private final long events;
    private boolean closed;

    /** @param maxEvents how many {@link #poll} finds at once */
    public Epoll(int maxEvents) {
        int result = NativeCall.intValue(CREATE, EPOLL_CLOEXEC, 0, 0);
        if (result < 0) {
            throw new IllegalStateException("epoll_create1 failed: " + Errno.describe(-result)
                    + "; EMFILE means that the limit of open files (ulimit -n) is reached");
        }
        fd = result;
        this.maxEvents = maxEvents;
        // One more for what is passed to epoll_ctl.
        events = Libc.allocateZeroed((maxEvents + 1L) * EVENT_SIZE_BYTES);
    }

    /** Returns the descriptor, to wait on. */
    public int fd() {
        return fd;
    }

    /** Watches a descriptor for {@link #EPOLLIN}; errors are reported too. */
    public void add(int watchedFd, int data) {
        long event = event(maxEvents);
        NativeMemory.putInt(event, EPOLLIN);
        NativeMemory.putInt(event + DATA_OFFSET, data);
        int errno = NativeCall.status(CTL, fd, EPOLL_CTL_ADD, watchedFd, event);
        if (errno != 0) {
            throw new IllegalStateException("epoll_ctl failed: " + Errno.describe(errno));
        }
    }

    /** Stops watching a descriptor, which may be closed already. */
    public void remove(int watchedFd) {
        NativeCall.status(CTL, fd, EPOLL_CTL_DEL, watchedFd, event(maxEvents));
    }

    /** Looks which descriptors are ready; returns how many {@link #data} and {@link #ready} describe. */
    public int poll() {
        return Math.max(0, NativeCall.intValue(WAIT, fd, events, maxEvents, 0));
    }

    /** Returns what was given to {@link #add}. */
    public int data(int index) {
        return NativeMemory.getInt(event(index) + DATA_OFFSET);
    }

    private long event(int index) {
        return events + (long) index * EVENT_SIZE_BYTES;
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            Libc.close(fd);
            Libc.free(events);
        }
    }
}
