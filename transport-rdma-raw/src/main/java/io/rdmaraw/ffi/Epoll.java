package io.rdmaraw.ffi;

/**
 * An epoll(7) instance, which reports which of many descriptors are ready. Its own descriptor is readable if
 * one of them is ready. Level-triggered unless {@link #EPOLLET} is set, non-blocking. Not thread-safe.
 */
public final class Epoll implements AutoCloseable {
    public static final int EPOLLIN = 1;
    public static final int EPOLLOUT = 4;
    public static final int EPOLLRDHUP = 0x2000;
    /** Reports a descriptor once for each event. */
    public static final int EPOLLET = 1 << 31;
    private static final int EPOLL_CLOEXEC = 0x80000;
    private static final int EPOLL_CTL_ADD = 1;
    private static final int EPOLL_CTL_DEL = 2;
    private static final int EPOLL_CTL_MOD = 3;
    /** {@code struct epoll_event} is packed only on x86-64 (sys/epoll.h). */
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

    /**
     * @param maxEvents maximum number of descriptors reported by one {@link #poll}
     */
    public Epoll(int maxEvents) {
        int result = NativeCall.intValue(CREATE, EPOLL_CLOEXEC, 0, 0);
        if (result < 0) {
            throw new IllegalStateException("epoll_create1 failed: " + Errno.describe(-result)
                    + "; EMFILE means that the limit of open files (ulimit -n) is reached");
        }
        fd = result;
        this.maxEvents = maxEvents;
        // One more for the argument of epoll_ctl.
        events = Libc.allocateZeroed((maxEvents + 1L) * EVENT_SIZE_BYTES);
    }

    /** Returns the descriptor to wait on. */
    public int fd() {
        return fd;
    }

    /**
     * Watches a descriptor for {@link #EPOLLIN} and errors.
     *
     * @param data a value that {@link #data} returns when the descriptor is ready
     */
    public void add(int watchedFd, int data) {
        control(EPOLL_CTL_ADD, watchedFd, EPOLLIN, data);
    }

    /**
     * Changes the events of a watched descriptor.
     *
     * @param wanted {@link #EPOLLIN}, {@link #EPOLLOUT}, {@link #EPOLLRDHUP} and {@link #EPOLLET}
     */
    public void change(int watchedFd, int wanted, int data) {
        control(EPOLL_CTL_MOD, watchedFd, wanted, data);
    }

    private void control(int operation, int watchedFd, int wanted, int data) {
        long event = event(maxEvents);
        NativeMemory.putInt(event, wanted);
        NativeMemory.putInt(event + DATA_OFFSET, data);
        int errno = NativeCall.status(CTL, fd, operation, watchedFd, event);
        if (errno != 0) {
            throw new IllegalStateException("epoll_ctl failed: " + Errno.describe(errno));
        }
    }

    /** Stops watching a descriptor, which may already be closed. */
    public void remove(int watchedFd) {
        NativeCall.status(CTL, fd, EPOLL_CTL_DEL, watchedFd, event(maxEvents));
    }

    /** Determines the ready descriptors and returns their number. */
    public int poll() {
        return Math.max(0, NativeCall.intValue(WAIT, fd, events, maxEvents, 0));
    }

    /**
     * Returns the value passed to {@link #add} for a ready descriptor.
     *
     * @param index index of the ready descriptor in the last {@link #poll}
     */
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
