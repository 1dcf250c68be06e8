package io.rdmaraw.host.kernel;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.host.SnapshotRateLimiter;
import io.rdmaraw.net.socket.SegmentSocket;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Receives the TCP segments for our ports that arrive on one link but reach only the kernel: fragments, which the
 * kernel reassembles, and packets with extension headers. A thread reads raw sockets and passes the segments to a stack
 * of the link. The thread runs as long as there is a stack. Thread-safe.
 */
final class KernelSegmentReader {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(KernelSegmentReader.class);
    private static final Map<String, KernelSegmentReader> BY_LINK = new HashMap<>();
    private static final int PORTS = 1 << 16;
    private static final long ERROR_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final String name;
    private final String linkName;
    private final List<PortOwner> stacks = new CopyOnWriteArrayList<>();
    private final EventFd wakeup = new EventFd();
    /** Number of users of each port. This field and the following ones are guarded by this. */
    private final int[] portUsers = new int[PORTS];
    private final BitSet ports = new BitSet();
    private boolean portsChanged;
    /** Set when the thread has stopped reading the sockets. */
    private boolean ended;

    private KernelSegmentReader(String name, String linkName) {
        this.name = name;
        this.linkName = linkName;
    }

    /** Adds a stack to the instance for a link in the network namespace of the calling thread. Returns the instance. */
    static KernelSegmentReader join(String linkName, PortOwner stack) throws IOException {
        String name = Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net")) + " " + linkName;
        synchronized (BY_LINK) {
            KernelSegmentReader instance = BY_LINK.get(name);
            if (instance == null) {
                instance = new KernelSegmentReader(name, linkName);
                BY_LINK.put(name, instance);
                instance.start();
            }
            instance.stacks.add(stack);
            return instance;
        }
    }

    /** Removes a stack. The thread ends with the last one. */
    void leave(PortOwner stack) {
        synchronized (BY_LINK) {
            stacks.remove(stack);
            if (stacks.isEmpty()) {
                BY_LINK.remove(name, this);
                wake();
            }
        }
    }

    /** Starts receiving segments for a port. */
    synchronized void acquirePort(int port) {
        if (portUsers[port]++ == 0) {
            ports.set(port);
            requestFilterUpdate();
        }
    }

    /** Stops receiving segments for a port, unless it has another user. */
    synchronized void releasePort(int port) {
        if (--portUsers[port] == 0) {
            ports.clear(port);
            requestFilterUpdate();
        }
    }

    /** Makes the thread update the socket filters. One update may cover several changes. */
    private void requestFilterUpdate() {
        if (!portsChanged) {
            portsChanged = true;
            wake();
        }
    }

    /** Wakes the thread, unless it has ended. Ports may be released after the last stack has left. */
    private synchronized void wake() {
        if (!ended) {
            wakeup.signal();
        }
    }

    private synchronized void markEnded() {
        ended = true;
        wakeup.close();
    }

    private synchronized BitSet takeChangedPorts() {
        boolean changed = portsChanged;
        portsChanged = false;
        return changed ? (BitSet) ports.clone() : null;
    }

    private void start() {
        SegmentSocket socket;
        try {
            socket = new SegmentSocket(linkName);
        } catch (IOException e) {
            LOGGER.warn("TCP segments to {} in fragments or with extension headers are lost: {}", linkName,
                    e.getMessage());
            markEnded();
            return;
        }
        Thread thread = new Thread(() -> run(socket), "rdma-raw-segments");
        thread.setDaemon(true);
        thread.start();
    }

    private void run(SegmentSocket socket) {
        try (socket; FdWaiter waiter = new FdWaiter(socket.fd(), socket.fdv6(), wakeup.fd())) {
            SnapshotRateLimiter updateLimiter = new SnapshotRateLimiter(System.nanoTime());
            while (!isObsolete()) {
                waiter.await(updateFiltersIfDue(socket, updateLimiter));
                wakeup.drain();
                poll(socket);
            }
        } finally {
            markEnded();
        }
    }

    /**
     * Updates the socket filters to the present ports. The kernel compiles the filters on each update, and every
     * connection changes the ports. So updates are limited to a share of the time. Returns how long to wait for the
     * next update in nanoseconds, or -1.
     */
    private long updateFiltersIfDue(SegmentSocket socket, SnapshotRateLimiter updateLimiter) {
        long now = System.nanoTime();
        if (!updateLimiter.allows(now)) {
            return Math.max(1, updateLimiter.dueNanos() - now);
        }
        BitSet changed = takeChangedPorts();
        if (changed != null) {
            socket.select(changed);
            updateLimiter.recordSpent(System.nanoTime() - now);
        }
        return -1;
    }

    /** An error such as a lack of memory loses the present segment, but later segments are still received. */
    private void poll(SegmentSocket socket) {
        try {
            socket.poll(this::dispatch);
            int bad = socket.pollBadChecksums();
            if (bad > 0) {
                stacks.stream().findFirst().ifPresent(stack -> stack.countBadKernelSegments(bad));
            }
        } catch (Throwable e) {
            LOGGER.warn("dropped a TCP segment that the kernel has reassembled", e);
            LockSupport.parkNanos(ERROR_PAUSE_NANOS);
        }
    }

    private boolean isObsolete() {
        synchronized (BY_LINK) {
            return BY_LINK.get(name) != this;
        }
    }

    /** Passes a segment to one stack, which knows the other stacks of its device. */
    private void dispatch(ByteBuf frame) {
        for (PortOwner stack : stacks) {
            stack.receiveKernelSegment(frame);
            return;
        }
        frame.release();
    }
}
