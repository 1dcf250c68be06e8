package io.rdmaraw.tcp.stack.port;

import io.netty.channel.EventLoop;
import io.rdmaraw.ffi.ProcessLimits;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/**
 * The ports of a stack that are reserved only for connections in TIME-WAIT. No other program may use such a port yet. A
 * new connection to the same peer may, if no other port is free. Used on the loop's thread only.
 *
 * <p>Each reserved port has a descriptor. So that a client with many short connections does not use up the process's
 * descriptors, all stacks together reserve at most a quarter of them ({@code ulimit -n}). Beyond it, the oldest port is
 * released early and counted: a segment that its peer repeats then reaches the kernel, which answers with a reset.
 */
public final class TimeWaitPorts {
    /** Maximum number of ports examined, oldest first, to find one for a new connection. */
    private static final int MAX_EXAMINED = 1024;
    /** Share of the process's descriptors that ports of all stacks may have: a quarter. */
    private static final int DESCRIPTOR_SHARE = 4;
    private static final int MAX_PORTS_OF_PROCESS = ProcessLimits.openFiles() / DESCRIPTOR_SHARE;
    private static final AtomicInteger PORTS_OF_PROCESS = new AtomicInteger();

    private final EventLoop loop;
    private final Runnable overflowListener;
    private final AtomicInteger portsOfProcess;
    private final int maxPortsOfProcess;
    /** Ports and the {@link System#nanoTime()} at which each was added. */
    private final Map<TcpPort, Long> ports = new LinkedHashMap<>();
    private boolean closed;

    /** @param overflowListener called whenever a port is released early */
    public TimeWaitPorts(EventLoop loop, Runnable overflowListener) {
        this(loop, overflowListener, PORTS_OF_PROCESS, MAX_PORTS_OF_PROCESS);
    }

    TimeWaitPorts(EventLoop loop, Runnable overflowListener, AtomicInteger portsOfProcess, int maxPortsOfProcess) {
        this.loop = loop;
        this.overflowListener = overflowListener;
        this.portsOfProcess = portsOfProcess;
        this.maxPortsOfProcess = maxPortsOfProcess;
    }

    /** Keeps a port reserved for {@code nanos} nanoseconds. If the stack has ended, releases the port at once. */
    void add(TcpPort port, long nanos) {
        if (closed) {
            port.closeIfUnused();
            return;
        }
        // The port may be taken and added again before the timeout; the start time distinguishes the two.
        long startNanos = System.nanoTime();
        boolean added = ports.put(port, startNanos) == null;
        loop.schedule(() -> {
            if (ports.remove(port, startNanos)) {
                portsOfProcess.decrementAndGet();
                port.closeIfUnused();
            }
        }, nanos, TimeUnit.NANOSECONDS);
        if (added && portsOfProcess.incrementAndGet() > maxPortsOfProcess) {
            overflowListener.run();
            TcpPort oldest = ports.keySet().iterator().next();
            remove(oldest);
            oldest.closeIfUnused();
        }
    }

    private void remove(TcpPort port) {
        ports.remove(port);
        portsOfProcess.decrementAndGet();
    }

    /**
     * Removes a suitable port from this set and retains it for another connection. Returns null if there is none among
     * the {@value #MAX_EXAMINED} oldest ports.
     */
    public TcpPort acquire(Predicate<TcpPort> suitable) {
        int remaining = MAX_EXAMINED;
        for (TcpPort port : ports.keySet()) {
            if (remaining-- == 0) {
                break;
            }
            if (suitable.test(port) && port.retain()) {
                remove(port);
                return port;
            }
        }
        return null;
    }

    /** Releases all ports because the stack has ended. */
    public void close() {
        closed = true;
        List<TcpPort> released = List.copyOf(ports.keySet());
        ports.clear();
        portsOfProcess.addAndGet(-released.size());
        released.forEach(TcpPort::closeIfUnused);
    }
}
