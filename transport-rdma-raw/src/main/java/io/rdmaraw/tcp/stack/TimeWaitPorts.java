package io.rdmaraw.tcp.stack;

import io.netty.channel.EventLoop;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * The ports of a stack that are reserved only for connections in TIME-WAIT. No other program may use such a port yet. A
 * new connection to the same peer may, if no other port is free. Used on the loop's thread only.
 */
final class TimeWaitPorts {
    /** Maximum number of ports examined, oldest first, to find one for a new connection. */
    private static final int MAX_EXAMINED = 1024;

    private final EventLoop loop;
    /** Ports and the {@link System#nanoTime()} at which each was added. */
    private final Map<TcpPort, Long> ports = new LinkedHashMap<>();
    private boolean closed;

    TimeWaitPorts(EventLoop loop) {
        this.loop = loop;
    }

    /** Keeps a port reserved for {@code nanos} nanoseconds. If the stack has ended, releases the port at once. */
    void add(TcpPort port, long nanos) {
        if (closed) {
            port.closeIfUnused();
            return;
        }
        // The port may be taken and added again before the timeout; the start time distinguishes the two.
        long startNanos = System.nanoTime();
        ports.put(port, startNanos);
        loop.schedule(() -> {
            if (ports.remove(port, startNanos)) {
                port.closeIfUnused();
            }
        }, nanos, TimeUnit.NANOSECONDS);
    }

    /**
     * Removes a suitable port from this set and retains it for another connection. Returns null if there is none among
     * the {@value #MAX_EXAMINED} oldest ports.
     */
    TcpPort acquire(Predicate<TcpPort> suitable) {
        int remaining = MAX_EXAMINED;
        for (TcpPort port : ports.keySet()) {
            if (remaining-- == 0) {
                break;
            }
            if (suitable.test(port) && port.retain()) {
                ports.remove(port);
                return port;
            }
        }
        return null;
    }

    /** Releases all ports because the stack has ended. */
    void close() {
        closed = true;
        List.copyOf(ports.keySet()).forEach(TcpPort::closeIfUnused);
        ports.clear();
    }
}
