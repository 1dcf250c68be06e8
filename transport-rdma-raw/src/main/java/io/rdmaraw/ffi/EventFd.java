package io.rdmaraw.ffi;

/**
 * An eventfd(2). Any thread may signal it; one thread waits for its descriptor (see {@link FdWaiter}) and
 * drains it. {@link #signal} and {@link #drain} do not allocate.
 */
public final class EventFd implements AutoCloseable {
    private final int fd;
    /** Two words, one per direction, because threads may signal while the owner drains. */
    private final long words;
    private boolean closed;

    /** Creates a descriptor that is non-blocking and closed on exec. */
    public EventFd() {
        int result = Libc.eventfd(0, Libc.EFD_CLOEXEC | Libc.EFD_NONBLOCK);
        if (result < 0) {
            throw new IllegalStateException("eventfd failed: " + Errno.describe(-result)
                    + "; EMFILE means that the limit of open files (ulimit -n) is reached");
        }
        fd = result;
        words = Libc.allocateZeroed(2 * Long.BYTES);
        NativeMemory.putLong(words, 1);
    }

    /** Returns the descriptor. */
    public int fd() {
        return fd;
    }

    /** Makes the descriptor readable. Thread-safe, but must not run concurrently with {@link #close}. */
    public void signal() {
        // EAGAIN means that the counter is at its maximum and the descriptor is readable anyway.
        Libc.write(fd, words, Long.BYTES);
    }

    /** Makes the descriptor unreadable. Returns whether it was signalled. For the owning thread. */
    public boolean drain() {
        return Libc.read(fd, words + Long.BYTES, Long.BYTES) == Long.BYTES;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            Libc.close(fd);
            Libc.free(words);
        }
    }
}
