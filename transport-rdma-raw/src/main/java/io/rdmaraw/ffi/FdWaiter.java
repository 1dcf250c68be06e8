package io.rdmaraw.ffi;

/**
 * Waits with ppoll(2) until one of a fixed set of descriptors is readable. Not thread-safe. {@link #await} does
 * not allocate.
 */
public final class FdWaiter implements AutoCloseable {
    static final int POLLFD_SIZE_BYTES = 8;
    static final int POLLFD_EVENTS_OFFSET = 4;
    static final int POLLFD_REVENTS_OFFSET = 6;
    static final int TIMESPEC_SIZE_BYTES = 16;
    static final int TIMESPEC_TV_NSEC_OFFSET = 8;
    private static final short POLLIN = 1;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private final int count;
    private long timespec;
    private final long pollFds;

    /**
     * Creates a waiter for up to 32 descriptors. The position of a descriptor is its bit in the result of
     * {@link #await}.
     */
    public FdWaiter(int... fds) {
        if (fds.length == 0 || fds.length > Integer.SIZE) {
            throw new IllegalArgumentException("a waiter supports 1 to 32 descriptors, not " + fds.length);
        }
        count = fds.length;
        timespec = Libc.allocateZeroed(TIMESPEC_SIZE_BYTES + (long) count * POLLFD_SIZE_BYTES);
        pollFds = timespec + TIMESPEC_SIZE_BYTES;
        for (int i = 0; i < count; i++) {
            NativeMemory.putInt(pollFds + (long) i * POLLFD_SIZE_BYTES, fds[i]);
            NativeMemory.putShort(pollFds + (long) i * POLLFD_SIZE_BYTES + POLLFD_EVENTS_OFFSET, POLLIN);
        }
    }

    /**
     * Waits until a descriptor is readable or has an error, the time has elapsed, or a signal interrupts.
     *
     * @param timeoutNanos maximum time to wait; 0 returns at once, a negative value waits without limit
     * @return a bit mask of the ready descriptors, or 0 if none is ready
     */
    public int await(long timeoutNanos) {
        if (timespec == 0) {
            throw new IllegalStateException("the waiter is closed");
        }
        if (timeoutNanos >= 0) {
            NativeMemory.putLong(timespec, timeoutNanos / NANOS_PER_SECOND);
            NativeMemory.putLong(timespec + TIMESPEC_TV_NSEC_OFFSET, timeoutNanos % NANOS_PER_SECOND);
        }
        int ready = Libc.ppoll(pollFds, count, timeoutNanos < 0 ? 0 : timespec);
        if (ready < 0) {
            if (ready == -Errno.EINTR) {
                return 0;
            }
            throw new IllegalStateException("ppoll failed: " + Errno.describe(-ready));
        }
        return ready == 0 ? 0 : readyMask();
    }

    private int readyMask() {
        int mask = 0;
        for (int i = 0; i < count; i++) {
            if (NativeMemory.getShort(pollFds + (long) i * POLLFD_SIZE_BYTES + POLLFD_REVENTS_OFFSET) != 0) {
                mask |= 1 << i;
            }
        }
        return mask;
    }

    @Override
    public void close() {
        Libc.free(timespec);
        timespec = 0;
    }
}
