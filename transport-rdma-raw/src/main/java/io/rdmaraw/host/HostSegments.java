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
 * The segments for our ports that come in by a link and reach the kernel, as it alone puts fragments together and skips
 * extension headers: a thread that reads raw sockets and hands them to a stack on that link. It runs while there is a
 * stack. Thread-safe.
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
    /** How many hold each port; guarded by this, as is what follows. */
    private final int[] holders = new int[PORTS];
    private final BitSet ports = new BitSet();
    private boolean portsChanged;
    /** The sockets are not read any more. */
    private boolean ended;

    private HostSegments(String name, String linkName) {
        this.name = name;
        this.linkName = linkName;
    }

    /** Returns the one of a link of the namespace that the calling thread lives in, with a stack more. */
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

    /** A stack ends; the last one takes the thread with it. */
    void leave(PortOwner stack) {
        synchronized (BY_LINK) {
            stacks.remove(stack);
            if (stacks.isEmpty()) {
                BY_LINK.remove(name, this);
                wake();
            }
        }
    }

    /** Segments for a port are wanted. */
    synchronized void hold(int port) {
        if (holders[port]++ == 0) {
            ports.set(port);
            portsChange();
        }
    }

    /** They are not any more, unless the port has another user. */
    synchronized void release(int port) {
        if (--holders[port] == 0) {
            ports.clear(port);
            portsChange();
        }
    }

    /** The sockets' filters follow when the thread comes to it: many changes may make one. */
    private void portsChange() {
        if (!portsChanged) {
            portsChanged = true;
            wake();
        }
    }

    /** Ports are given back after the last stack has left, and the thread with it. */
    private synchronized void wake() {
        if (!ended) {
            wakeup.signal();
        }
    }

    private synchronized void end() {
        ended = true;
        wakeup.close();
    }

    private synchronized BitSet takePortsIfChanged() {
        boolean changed = portsChanged;
        portsChanged = false;
        return changed ? (BitSet) ports.clone() : null;
    }

    private void start() {
        SegmentSocket socket;
        try {
            socket = new SegmentSocket(linkName);
        } catch (IOException e) {
            LOGGER.warn("TCP segments that come to {} in fragments or behind extension headers are lost: {}", linkName,
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
     * Has the filters follow the ports. The kernel compiles each, and connections that come and go change them all the
     * time, so that is held to a share of it. Returns for how long to wait until it may go on, or -1.
     */
    private long select(SegmentSocket socket, SnapshotRateLimiter budget) {
        long now = System.nanoTime();
        if (!budget.allows(now)) {
            return Math.max(1, budget.dueNanos() - now);
        }
        BitSet changed = takePortsIfChanged();
        if (changed != null) {
            socket.select(changed);
            budget.spent(System.nanoTime() - now);
        }
        return -1;
    }

    /** A failure, of want of memory perhaps, costs the segment that met it, and not all that follow. */
    private void poll(SegmentSocket socket) {
        try {
            socket.poll(this::hand);
            int bad = socket.takeBadChecksums();
            if (bad > 0) {
                stacks.stream().findFirst().ifPresent(stack -> stack.badSegmentsByKernel(bad));
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            LOGGER.warn("a TCP segment that the kernel has put together was lost", e);
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private boolean isOver() {
        synchronized (BY_LINK) {
            return BY_LINK.get(name) != this;
        }
    }

    /** Any stack knows the others of its device. */
    private void hand(ByteBuf frame) {
        for (PortOwner stack : stacks) {
            stack.segmentByKernel(frame);
            return;
        }
        frame.release();
    }
}
