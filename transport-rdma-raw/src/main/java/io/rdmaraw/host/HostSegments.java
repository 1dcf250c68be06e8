package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;
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
final class HostSegments {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(HostSegments.class);
    private static final Map<String, HostSegments> BY_LINK = new HashMap<>();
    private static final int PORTS = 1 << 16;
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final String name;
    private final String linkName;
    private final List<PortOwner> stacks = new CopyOnWriteArrayList<>();
    private final EventFd wakeup = new EventFd();
    /** Number of users of each port. This field and the following ones are guarded by this. */
    private final int[] holders = new int[PORTS];
    private final BitSet ports = new BitSet();
    private boolean portsChanged;
    /** Set when the thread has stopped reading the sockets. */
    private boolean ended;

    private HostSegments(String name, String linkName) {
        this.name = name;
        this.linkName = linkName;
    }

    /** Adds a stack to the instance for a link in the network namespace of the calling thread. Returns the instance. */
    static HostSegments join(String linkName, PortOwner stack) throws IOException {
        String name = Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net")) + " " + linkName;
        synchronized (BY_LINK) {
            HostSegments known = BY_LINK.get(name);
            if (known == null) {
                known = new HostSegments(name, linkName);
                BY_LINK.put(name, known);
                known.start();
            }
            known.stacks.add(stack);
            return known;
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
    synchronized void hold(int port) {
        if (holders[port]++ == 0) {
            ports.set(port);
            portsChange();
        }
    }

    /** Stops receiving segments for a port, unless it has another user. */
    synchronized void release(int port) {
        if (--holders[port] == 0) {
            ports.clear(port);
            portsChange();
        }
    }

    /** Makes the thread update the socket filters. One update may cover several changes. */
    private void portsChange() {
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

    private synchronized void end() {
        ended = true;
        wakeup.close();
    }

    private synchronized BitSet updatePortsIfChanged() {
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
            end();
            return;
        }
        Thread thread = new Thread(() -> run(socket), "rdma-raw-segments");
        thread.setDaemon(true);
        thread.start();
    }

    private void run(SegmentSocket socket) {
        try (socket; FdWaiter waiter = new FdWaiter(socket.fd(), socket.fdv6(), wakeup.fd())) {
            SnapshotRateLimiter budget = new SnapshotRateLimiter(System.nanoTime());
            while (!isOver()) {
                waiter.await(select(socket, budget));
                wakeup.drain();
                poll(socket);
            }
        } finally {
            end();
        }
    }

    /**
     * Updates the socket filters to the present ports. The kernel compiles the filters on each update, and every
     * connection changes the ports. So updates are limited to a share of the time. Returns how long to wait for the
     * next update in nanoseconds, or -1.
     */
    private long select(SegmentSocket socket, SnapshotRateLimiter budget) {
        long now = System.nanoTime();
        if (!budget.allows(now)) {
            return Math.max(1, budget.dueNanos() - now);
        }
        BitSet changed = updatePortsIfChanged();
        if (changed != null) {
            socket.select(changed);
            budget.spent(System.nanoTime() - now);
        }
        return -1;
    }

    /** An error such as a lack of memory loses the present segment, but later segments are still received. */
    private void poll(SegmentSocket socket) {
        try {
            socket.poll(this::dispatch);
            int bad = socket.pollBadChecksums();
            if (bad > 0) {
                stacks.stream().findFirst().ifPresent(stack -> stack.badSegmentsByKernel(bad));
            }
        } catch (Throwable e) {
            LOGGER.warn("dropped a TCP segment that the kernel has reassembled", e);
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private boolean isOver() {
        synchronized (BY_LINK) {
            return BY_LINK.get(name) != this;
        }
    }

    /** Passes a segment to one stack, which knows the other stacks of its device. */
    private void dispatch(ByteBuf frame) {
        for (PortOwner stack : stacks) {
            stack.segmentByKernel(frame);
            return;
        }
        frame.release();
    }
}
