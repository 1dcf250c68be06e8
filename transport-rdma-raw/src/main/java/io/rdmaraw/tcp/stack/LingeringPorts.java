package io.rdmaraw.tcp.stack;

import io.netty.channel.EventLoop;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** The ports of a stack that are kept for connections in TIME-WAIT alone. For the loop's thread. */
final class LingeringPorts {
    /** Ports that are looked at for one to open a connection from, the oldest first. */
    private static final int MAX_LOOKS = 1024;

    private final EventLoop loop;
    /** With the time that the keeping began. */
    private final Map<TcpPort, Long> ports = new LinkedHashMap<>();
    private boolean closed;

    LingeringPorts(EventLoop loop) {
        this.loop = loop;
    }

    /** Keeps a port for a while. */
    void add(TcpPort port, long nanos) {
        if (closed) {
            port.closeIfUnused();
            return;
        }
        // It may be taken and kept again before that.
        long begunNanos = System.nanoTime();
        ports.put(port, begunNanos);
        loop.schedule(() -> {
            if (ports.remove(port, begunNanos)) {
                port.closeIfUnused();
            }
        }, nanos, TimeUnit.NANOSECONDS);
    }

    /** Takes a port that suits, for another connection; null when there is none. */
    TcpPort take(Predicate<TcpPort> suitable) {
        int looks = MAX_LOOKS;
        for (TcpPort port : ports.keySet()) {
            if (looks-- == 0) {
                break;
            }
            if (suitable.test(port) && port.retain()) {
                ports.remove(port);
                return port;
            }
        }
        return null;
    }

    /** The stack has ended: no port is kept any more. */
    void close() {
        closed = true;
        List.copyOf(ports.keySet()).forEach(TcpPort::closeIfUnused);
        ports.clear();
    }
}
