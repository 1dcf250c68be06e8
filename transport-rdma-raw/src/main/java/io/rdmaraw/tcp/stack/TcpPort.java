package io.rdmaraw.tcp.stack;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;

import java.util.concurrent.TimeUnit;

/**
 * A port that was taken for a connection, or for a server and its connections, with the rules that steer its segments.
 * Reserved until the last listener or connection on any event loop has released it, TIME-WAIT included. Thread-safe.
 */
abstract class TcpPort {
    /** As long as the core keeps connections in that state. */
    private static final long TIME_WAIT_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final TcpNetwork.Binding binding;
    private int users = 1;
    private boolean hadTimeWait;
    private long timeWaitEndNanos;
    private boolean closed;

    TcpPort(TcpNetwork.Binding binding) {
        this.binding = binding;
    }

    public final TcpNetwork.Binding binding() {
        return binding;
    }

    /** Tells whether the port was taken for a connection to this peer alone. */
    boolean isTowards(IpAddress peer, int peerPort) {
        return false;
    }

    /** Takes the rules away from all loops. */
    abstract void withdraw();

    /** One more lives by the port; returns false when it has been given back. */
    final synchronized boolean retain() {
        if (closed) {
            return false;
        }
        users++;
        return true;
    }

    /** Returns how many listeners and connections live by the port. */
    final synchronized int users() {
        return users;
    }

    /** A connection is in TIME-WAIT from now on: its segments must not reach the kernel, which would reset the peer. */
    final synchronized void timeWaitBegins() {
        timeWaitEndNanos = System.nanoTime() + TIME_WAIT_NANOS;
        hadTimeWait = true;
    }

    /**
     * One less lives by the port.
     *
     * @param onOrNull looks after the rest of TIME-WAIT; called on its loop
     */
    final void release(TcpStack onOrNull) {
        long leftNanos;
        synchronized (this) {
            if (--users > 0) {
                return;
            }
            leftNanos = hadTimeWait ? timeWaitEndNanos - System.nanoTime() : 0;
        }
        if (leftNanos > 0 && onOrNull != null) {
            onOrNull.lingering().add(this, leftNanos);
        } else {
            closeIfUnused();
        }
    }

    /** Releases the port, unless it is in use again. */
    final void closeIfUnused() {
        synchronized (this) {
            if (closed || users > 0) {
                return;
            }
            closed = true;
        }
        withdraw();
        binding.close();
    }
}
